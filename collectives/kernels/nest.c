/* SPDX-License-Identifier: BSD-3-Clause */
/* nest.c - loops around rows. */
#include "collectives/kernels/nest.h"

static void move_rows(struct jd_rows *rows, ptrdiff_t to, ptrdiff_t from)
{
    rows->to = (char *)rows->to + to;
    rows->from = (const char *)rows->from + from;
}

bool jd__nest_next(struct jd_nest *nest, size_t *at)
{
    for (int i = 0; i < nest->num_loops; i++) {
        const struct jd_nest_loop *loop = &nest->loops[i];
        ptrdiff_t to = (ptrdiff_t)loop->to_step;
        ptrdiff_t from = (ptrdiff_t)loop->from_step;
        ptrdiff_t back = (ptrdiff_t)loop->count - 1;
        if (++at[i] < loop->count) {
            move_rows(&nest->rows, to, from);
            return true;
        }
        move_rows(&nest->rows, -to * back, -from * back);
        at[i] = 0;
    }
    return false;
}
