/* SPDX-License-Identifier: BSD-3-Clause */
/* draw_nest.h - boxes of any shape, for tests of what copies them. */
#ifndef TESTS_UNIT_DRAW_NEST_H
#define TESTS_UNIT_DRAW_NEST_H

#include "collectives/kernels/nest.h"

#include <stdlib.h>

enum { DRAWN_NEST_ROOM = 1 << 17 };

static inline size_t draw(unsigned *seed, size_t most)
{
    return (size_t)rand_r(seed) % (most + 1);
}

/* A step over all that there is, up to *reach, and a gap of some units; *reach
 * becomes where so many of them end. */
static inline size_t draw_step(unsigned *seed, size_t unit, size_t count,
                               size_t *reach)
{
    size_t step = *reach + unit * draw(seed, 3);
    *reach += step * (count - 1);
    return step;
}

/* All of it is a multiple of unit, no byte of to is written twice, and both
 * sides end before DRAWN_NEST_ROOM. */
static inline struct jd_nest draw_nest(unsigned *seed, size_t unit,
                                       unsigned char *to,
                                       const unsigned char *from)
{
    struct jd_nest nest = { .rows = { .row = unit * (1 + draw(seed, 4)),
                                      .count = 1 + draw(seed, 3) } };
    size_t to_reach = nest.rows.row, from_reach = to_reach;
    nest.rows.to_pitch = draw_step(seed, unit, nest.rows.count, &to_reach);
    nest.rows.from_pitch = draw_step(seed, unit, nest.rows.count, &from_reach);
    nest.num_loops = (int)draw(seed, JD_NEST_LOOPS);
    for (int i = 0; i < nest.num_loops; i++) {
        struct jd_nest_loop *loop = &nest.loops[i];
        bool is_long = to_reach > 8192 || from_reach > 8192;
        loop->count = 1 + (is_long ? 0 : draw(seed, 2));
        loop->to_step = draw_step(seed, unit, loop->count, &to_reach);
        loop->from_step = draw_step(seed, unit, loop->count, &from_reach);
    }
    nest.rows.to = to + unit * draw(seed, 2);
    nest.rows.from = from + unit * draw(seed, 2);
    return nest;
}

#endif
