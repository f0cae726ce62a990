/* SPDX-License-Identifier: BSD-3-Clause */
/* movement.c - the library's schedules, and MPI's, as passes with lengths. */
#include "bench/scale/compositions.h"

#include <math.h>

static const struct scale_step idle = { .to = -1, .from = -1 };

static struct jd_schedule schedule_of(const struct scale_movement *m, int kind,
                                      int party)
{
    return (struct jd_schedule){ .kind = (enum jd_schedule_kind)kind,
                                 .parties = m->parties,
                                 .self = party,
                                 .root = m->root };
}

static int merge_rounds(const struct scale_movement *m)
{
    struct jd_schedule s = schedule_of(m, JD_SCHEDULE_MERGE, 0);
    return jd__schedule_rounds(&s);
}

/* Whether some of a merge's parties give what they have to the next. */
static int has_extra(const struct scale_movement *m)
{
    return (m->parties & (m->parties - 1)) != 0;
}

/* ---- the library's --------------------------------------------------------
 */

static bool is_merge(int kind)
{
    return kind == JD_SCHEDULE_MERGE || kind == JD_SCHEDULE_MERGE_BY_FOURS;
}

static double bytes_of(const struct scale_movement *m, int kind,
                       const struct jd_blocks *blocks)
{
    double all = jd__schedule_count(blocks) * m->block;
    if (is_merge(kind))
        return m->head + m->whole + all;
    return kind == JD_SCHEDULE_BROADCAST ? m->whole : all;
}

static struct scale_step step_of_kind(const struct scale_movement *m, int kind,
                                      int round, int party)
{
    struct jd_schedule s = schedule_of(m, kind, party);
    struct jd_round r = jd__schedule_round(&s, round);
    struct scale_step step = { .to = r.to, .from = r.from };
    if (r.to >= 0)
        step.out = bytes_of(m, kind, &r.out);
    if (r.from >= 0)
        step.in = bytes_of(m, kind, &r.in);
    if (is_merge(kind) && r.then != JD_THEN_STORE)
        step.folded = r.from >= 0 ? m->head + m->whole : 0;
    if (is_merge(kind))
        step.copied = step.in - step.folded;
    if (kind == JD_SCHEDULE_REDUCE_SCATTER)
        step.folded = step.in;
    if (kind == JD_SCHEDULE_BRUCK) /* out of the slots and into them */
        step.copied = step.out + step.in;
    return step;
}

/* ---- MPI's ----------------------------------------------------------------
 */

/* Rabenseifner: first whole vectors to the core, then halves in it. */
static struct scale_step halve(const struct scale_movement *m, int round,
                               int party)
{
    struct scale_step step = step_of_kind(m, JD_SCHEDULE_MERGE, round, party);
    double bytes = ldexp(m->parties * m->block, has_extra(m) - 1 - round);
    step.out = step.to >= 0 ? bytes : 0;
    step.in = step.folded = step.from >= 0 ? bytes : 0;
    step.copied = 0;
    return step;
}

/* The same backwards, and at the end the whole from the core. */
static struct scale_step double_up(const struct scale_movement *m, int round,
                                   int party)
{
    int log = merge_rounds(m) - 2 * has_extra(m);
    bool is_last = round == log;
    int mirrored = is_last ? log + 1 : log - 1 - round + has_extra(m);
    struct scale_step step =
        step_of_kind(m, JD_SCHEDULE_MERGE, mirrored, party);
    double bytes = ldexp(m->parties * m->block, is_last ? 0 : round - log);
    step.out = step.to >= 0 ? bytes : 0;
    step.in = step.from >= 0 ? bytes : 0;
    step.folded = step.copied = 0;
    return step;
}

static struct scale_step to_the_next(const struct scale_movement *m, int kind,
                                     int party)
{
    return (struct scale_step){
        .to = (party + 1) % m->parties,
        .from = (party + m->parties - 1) % m->parties,
        .out = m->block,
        .in = m->block,
        .folded = kind == SCALE_RING_REDUCE ? m->block : 0,
    };
}

/* ---- all of them ----------------------------------------------------------
 */

static int rounds_of(const struct scale_movement *m, int kind)
{
    struct jd_schedule s = schedule_of(m, kind, 0);
    switch (kind) {
    case SCALE_NONE:
        return 0;
    case JD_SCHEDULE_PAIRS:
        return m->parties > 1;
    case SCALE_HALVING:
    case SCALE_DOUBLING:
        return merge_rounds(m) - has_extra(m);
    case SCALE_RING_REDUCE:
    case SCALE_RING_GATHER:
        return m->parties - 1;
    default:
        return jd__schedule_rounds(&s);
    }
}

static struct scale_step step(const void *arg, int task, int round, int party)
{
    const struct scale_movement *m = arg;
    bool is_second = round >= m->rounds[0];
    int kind = m->kinds[is_second], k = round - is_second * m->rounds[0];
    switch (kind) {
    case SCALE_NONE:
        return idle;
    case JD_SCHEDULE_PAIRS:
        return step_of_kind(m, kind, task, party);
    case SCALE_HALVING:
        return halve(m, k, party);
    case SCALE_DOUBLING:
        return double_up(m, k, party);
    case SCALE_RING_REDUCE:
    case SCALE_RING_GATHER:
        return to_the_next(m, kind, party);
    default:
        return step_of_kind(m, kind, k, party);
    }
}

/* Whether each party does in each round what the others do. */
static bool is_alike(int kind)
{
    switch (kind) {
    case JD_SCHEDULE_MERGE:
    case JD_SCHEDULE_MERGE_BY_FOURS:
    case JD_SCHEDULE_SCATTER:
    case JD_SCHEDULE_BROADCAST:
    case SCALE_HALVING:
    case SCALE_DOUBLING:
        return false;
    default:
        return true;
    }
}

struct scale_pass scale_movement_pass(struct scale_movement *movement)
{
    struct scale_movement *m = movement;
    for (int i = 0; i < 2; i++)
        m->rounds[i] = rounds_of(m, m->kinds[i]);
    bool is_apart = m->kinds[0] == JD_SCHEDULE_PAIRS;
    return (struct scale_pass){
        .parties = m->parties,
        .tasks = is_apart ? m->parties : 1,
        .depth = 1,
        .rounds = m->rounds[0] + m->rounds[1],
        .is_alike = is_alike(m->kinds[0]) && is_alike(m->kinds[1]),
        .step = step,
        .arg = m,
    };
}
