/* SPDX-License-Identifier: BSD-3-Clause */
/* test_shm_reduce.c - every way of a reduction inside a group, held against
 * one fold of all inputs. */
#include "collectives/cpu/shm/shm_cma.h"
#include "collectives/cpu/shm/shm_private.h"
#include "collectives/cpu/shm/shm_reduce.h"
#include "tests/unit/shm.h"

#include <sched.h>
#include <unistd.h>

enum { LONGEST = 70000, SCATTERED = 9000 };

/* Where a member's buffers are. */
enum kind { PRIVATE, HEAP, IN_PLACE, PRIVATE_IN_PLACE, MIXED, KINDS };

/* Whether the sums of a group in two levels are in the order of the members,
 * or of whole numbers, whose order does not matter. */
static bool is_ordered, is_whole;

struct trial {
    enum kind kind;
    jd_dtype dtype;
    enum jd_reduce op;
    size_t count;
    bool scatter;
    size_t rows;
    unsigned seed;
};

static size_t in_count(const struct trial *t, int size)
{
    return t->scatter ? t->count * t->rows * (size_t)size : t->count;
}

static size_t out_count(const struct trial *t)
{
    return t->scatter ? t->count * t->rows : t->count;
}

/* Bits without a meaning, but no NaN: their payloads may differ by path. */
static void fill(const struct trial *t, int member, void *in, size_t count)
{
    unsigned seed = t->seed + 77 * (unsigned)member;
    for (size_t i = 0; i < count; i++) {
        if (is_whole && t->dtype == JD_F32)
            ((float *)in)[i] = (float)(rand_r(&seed) % 1000);
        else if (is_whole && t->dtype == JD_F64)
            ((double *)in)[i] = rand_r(&seed) % 1000;
        else if (t->dtype == JD_F32)
            ((float *)in)[i] = (float)(rand_r(&seed) % 1000) * 0.37f - 100;
        else if (t->dtype == JD_S8)
            ((signed char *)in)[i] = (signed char)rand_r(&seed);
        else
            ((double *)in)[i] = (double)rand_r(&seed) / 3 - 1e8;
    }
}

/* What member's output must be. */
static void *expect(const struct trial *t, int size, int member)
{
    size_t element = jd_dtype_size(t->dtype), count = in_count(t, size);
    void *ins[CROWD_MAX];
    char *result = malloc(out_count(t) * element + 1);
    for (int i = 0; i < size; i++) {
        ins[i] = malloc(count * element + 1);
        fill(t, i, ins[i], count);
    }
    size_t rows = t->scatter ? t->rows : 1;
    for (size_t row = 0; row < rows; row++) {
        const void *from[CROWD_MAX];
        void *to = result + row * t->count * element;
        size_t block = t->scatter ? row * (size_t)size + (size_t)member : 0;
        for (int i = 0; i < size; i++)
            from[i] = (char *)ins[i] + block * t->count * element;
        if (t->count)
            jd__fold_find(t->dtype, t->op, JD_FOLD_WHOLE)(&(struct jd_fold){
                .ins = from,
                .num_ins = size,
                .outs = &to,
                .num_outs = 1,
                .count = t->count,
                .divisor = size,
            });
    }
    for (int i = 0; i < size; i++)
        free(ins[i]);
    return result;
}

static enum kind kind_of(const struct trial *t, int member)
{
    return t->kind == MIXED ? (enum kind)((member + (int)t->seed) % MIXED)
                            : t->kind;
}

static void dawdle(unsigned *seed)
{
    for (int i = rand_r(seed) % 4 == 0 ? rand_r(seed) % 50 : 0; i; i--)
        sched_yield();
}

static void reduce_once(struct crowd *crowd, int member, const struct trial *t)
{
    struct jd_shm_group *group = crowd->groups[member];
    size_t element = jd_dtype_size(t->dtype);
    size_t in_bytes = in_count(t, crowd->size) * element;
    size_t out_bytes = out_count(t) * element;
    enum kind kind = kind_of(t, member);
    bool own = kind == PRIVATE || kind == PRIVATE_IN_PLACE;
    char *memory = own ? malloc(2 * (in_bytes + out_bytes) + 64)
                       : crowd_memory(crowd, member);
    char *in = memory, *out = memory + (in_bytes + 63) / 64 * 64;
    if (kind == IN_PLACE || kind == PRIVATE_IN_PLACE)
        out = t->scatter && t->rows == 1 ? in + (size_t)member * out_bytes
              : t->scatter               ? out
                                         : in;
    unsigned seed = t->seed + (unsigned)member;
    fill(t, member, in, in_count(t, crowd->size));
    void *expected = expect(t, crowd->size, member);
    struct jd_collective call = { .activity = JD_ACTIVITY_PSUM,
                                  .in = in,
                                  .out = out,
                                  .count = t->count,
                                  .dtype = t->dtype };
    struct jd_shm_reduction r = { .call = &call,
                                  .op = t->op,
                                  .divisor = crowd->size,
                                  .scatter = t->scatter,
                                  .rows = t->rows,
                                  .is_ordered = is_ordered };
    struct jd_signature mine = { .activity = JD_ACTIVITY_PSUM };
    unsigned char payload[JD_SHM_PAYLOAD];
    dawdle(&seed);
    size_t bytes = jd__shm_reduce_tell(group, &r, payload);
    UNIT_OK(jd__shm_meet_merging(group, &mine, payload, bytes,
                                 jd__shm_reduce_merge(&r)));
    bool may_merge = crowd_subgroup_size && !is_ordered && !t->scatter;
    if (!may_merge || (t->count && t->count <= 17))
        ck_assert_int_eq(jd__shm_merged(group) != NULL, may_merge && t->count);
    UNIT_OK(jd__shm_reduce(group, &r));
    ck_assert_msg(memcmp(out, expected, out_bytes) == 0,
                  "kind %d, type %s, op %d, count %zu, scatter %d, rows %zu",
                  kind, jd_dtype_name(t->dtype), (int)t->op, t->count,
                  t->scatter, t->rows);
    /* Nobody touches it any more. */
    memset(out, 1, out_bytes);
    memset(in, 2, in_bytes);
    free(expected);
    if (own)
        free(memory);
}

static void reduce_all(struct crowd *crowd, int member, void *arg)
{
    static const size_t counts[] = {
        0, 1, 3, 17, 250, 1000, 1500, 4099, 65537
    };
    const bool *scatter = arg;
    unsigned number = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (size_t rows = 1; rows <= (*scatter ? 3 : 1); rows += 2) {
                struct trial t = { .kind = (enum kind)kind,
                                   .count = counts[i],
                                   .scatter = *scatter,
                                   .rows = rows };
                if (in_count(&t, crowd->size) > 120000)
                    continue;
                t.seed = ++number;
                t.dtype = number % 3 == 0   ? JD_S8
                          : number % 3 == 1 ? JD_F32
                                            : JD_F64;
                t.op = number % 2 && t.dtype != JD_S8 ? JD_REDUCE_MEAN
                                                      : JD_REDUCE_SUM;
                reduce_once(crowd, member, &t);
            }
}

static void run_trials(int size, bool scatter)
{
    struct crowd crowd;
    crowd_start(&crowd, size);
    crowd_run(&crowd, reduce_all, &scatter);
    crowd_stop(&crowd);
}

START_TEST(an_all_reduce_is_one_fold)
{
    run_trials(_i, false);
}
END_TEST

START_TEST(a_reduce_scatter_is_one_fold_of_each_block)
{
    run_trials(_i, true);
}
END_TEST

/* The ways do not depend on the build's limits: short pieces go round often. */
START_TEST(every_way_gives_the_same)
{
    jd__reduce_limits = (struct jd_reduce_limits){
        .inline_bytes = _i & 1 ? 0 : 64,
        .short_bytes = _i & 2 ? 0 : 256,
        .zero_copy_bytes = _i & 4 ? 0 : 4096,
        .stream_bytes = _i & 8 ? 0 : 1 << 20,
        .bounce_bytes = _i & 1 ? 64 : 1024,
        .cma_bytes = _i & 1 ? 256 : 1 << 20,
        .read_bytes = _i & 2 ? 64 : 1024,
    };
    run_trials(3, _i & 2);
}
END_TEST

/* The members' memory is read by the system, though it is all one. */
START_TEST(private_memory_is_read)
{
    bool scatter = _i & 1;
    struct crowd crowd;
    jd__shm_cma_shortest = 0;
    jd__reduce_limits.cma_bytes = 256;
    jd__reduce_limits.read_bytes = _i & 2 ? 192 : 8192;
    crowd_start(&crowd, 3);
    for (int i = 0; i < 9; i++)
        crowd.groups[i / 3]->members[i % 3].pid = getpid();
    crowd_run(&crowd, reduce_all, &scatter);
    for (int i = 0; i < 3; i++)
        ck_assert(crowd.groups[i]->is_read_by_all);
    crowd_stop(&crowd);
}
END_TEST

START_TEST(one_process_needs_no_copy)
{
    bool scatter = _i & 1;
    struct crowd crowd;
    crowd_start(&crowd, 3);
    for (int i = 0; i < 3; i++) {
        memset(crowd.groups[i]->processes, 0, 3 * sizeof(int));
        crowd.groups[i]->is_one_process = true;
    }
    crowd_run(&crowd, reduce_all, &scatter);
    crowd_stop(&crowd);
}
END_TEST

START_TEST(leaders_fold_what_is_short)
{
    crowd_subgroup_size = 2;
    is_whole = true;
    run_trials(_i, false);
    run_trials(_i, true);
}
END_TEST

START_TEST(an_order_that_is_asked_for_is_kept)
{
    crowd_subgroup_size = 2;
    is_ordered = true;
    run_trials(_i, false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("team_reduce");
    TCase *all = unit_case(suite, "reductions");
    tcase_set_timeout(all, 100);
    tcase_add_loop_test(all, an_all_reduce_is_one_fold, 1, 6);
    tcase_add_loop_test(all, a_reduce_scatter_is_one_fold_of_each_block, 1, 6);
    tcase_add_loop_test(all, every_way_gives_the_same, 0, 16);
    tcase_add_loop_test(all, private_memory_is_read, 0, 4);
    tcase_add_loop_test(all, one_process_needs_no_copy, 0, 2);
    tcase_add_loop_test(all, leaders_fold_what_is_short, 3, 6);
    tcase_add_loop_test(all, an_order_that_is_asked_for_is_kept, 3, 6);
    return unit_main(suite);
}
