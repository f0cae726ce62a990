/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_move.h - calls that move bytes between the members of a crowd, from
 * memory of every kind, and what should be in them.
 *
 *     struct member m = make_member(crowd, index);
 *     char *in = memory_of(&m, &call);
 *     ... memcpy(in, stream(&call, index, consumer, row), bytes) ...
 *     meet(&m, payload, bytes);
 *     expect(&call, &m, producer, out, stream(&call, producer, index, row),
 * bytes);
 */
#ifndef TESTS_UNIT_SHM_MOVE_H
#define TESTS_UNIT_SHM_MOVE_H

#include "collectives/cpu/shm/shm_flow.h"
#include "collectives/cpu/shm/shm_move.h"
#include "tests/unit/shm.h"

#include <sched.h>

enum op { GATHER, GATHER_ROWS, SWAP, SWAP_ROWS, PERMUTE, BROADCAST, NUM_OPS };

enum kind { PRIVATE, HEAP, MIXED, NUM_KINDS };

enum { LONGEST = 65537, PIECE = 4096, HALF_OF_MEMORY = 2 << 20, ROWS = 3 };

/* One call, as all members know it. */
struct test_call {
    enum op op;
    size_t count;
    enum kind kind;
    bool in_place;
    unsigned number;
};

struct member {
    struct jd_shm_group *group;
    int index, size;
    char *private;
    char *heap;
    unsigned seed;
};

/* ---- what is in a stream ------------------------------------------------ */

static unsigned char pattern[LONGEST + 65536];

static inline void make_pattern(void)
{
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (unsigned char)(rand_r(&seed) >> 8);
}

/* Row `row` of what producer has for consumer (-1: for all). */
static inline const unsigned char *
stream(const struct test_call *call, int producer, int consumer, size_t row)
{
    unsigned seed = call->number * 97 + (unsigned)producer * 31 +
                    (unsigned)(consumer + 1) * 1009 + (unsigned)row * 11;
    return pattern + (unsigned)rand_r(&seed) % 65536;
}

/* ---- memory ------------------------------------------------------------- */

/* Half of the members have a heap where kinds are mixed: other ones in each
 * call. Buffers are aligned to nothing. */
static inline char *memory_of(const struct member *m,
                              const struct test_call *call)
{
    bool is_heap =
        call->kind == HEAP ||
        (call->kind == MIXED && ((unsigned)m->index + call->number) % 2 == 0);
    return (is_heap ? m->heap : m->private) + call->number % 9;
}

static inline void come_at_any_time(struct member *m)
{
    unsigned turns = rand_r(&m->seed) % 4 ? 0 : (unsigned)rand_r(&m->seed) % 20;
    while (turns--)
        sched_yield();
}

static inline void meet(struct member *m, const void *payload, size_t bytes)
{
    struct jd_signature mine = { .activity = JD_ACTIVITY_PPERMUTE };
    come_at_any_time(m);
    UNIT_OK(jd__shm_meet(m->group, &mine, payload, bytes));
    come_at_any_time(m);
}

static inline void fail_where(const struct test_call *call,
                              const struct member *m, int producer)
{
    ck_abort_msg("op %d count %zu kind %d in place %d: member %d of %d has "
                 "wrong data of %d",
                 call->op, call->count, call->kind, call->in_place, m->index,
                 m->size, producer);
}

static inline void expect(const struct test_call *call, const struct member *m,
                          int producer, const char *out, const void *wanted,
                          size_t bytes)
{
    if (memcmp(out, wanted, bytes) != 0)
        fail_where(call, m, producer);
}

static inline struct member make_member(struct crowd *crowd, int index)
{
    struct member m = { .group = crowd->groups[index],
                        .index = index,
                        .size = crowd->size,
                        .private = calloc(1, 2 * HALF_OF_MEMORY),
                        .heap = crowd_memory(crowd, index),
                        .seed = (unsigned)index + 1 };
    ck_assert_ptr_nonnull(m.private);
    return m;
}

static const int sizes[] = { 1, 2, 3, 4, 5, 6, 8 };
enum { NUM_SIZES = sizeof sizes / sizeof *sizes };

static inline void run_crowd(int size, crowd_body *body, void *arg)
{
    struct crowd crowd;
    make_pattern();
    crowd_start(&crowd, size);
    crowd_run(&crowd, body, arg);
    crowd_stop(&crowd);
}

#endif
