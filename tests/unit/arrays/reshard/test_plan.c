/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_plan.c - plans of all processes of jobs that do not exist: how they
 * move what, and whether the new blocks are right. With --time, what plans
 * cost.
 */
#include "tests/unit/plan_model.h"

#include <time.h>

#define SHAPE(...)                                                             \
    (const int64_t[])                                                          \
    {                                                                          \
        __VA_ARGS__                                                            \
    }
#define MUCH ((size_t)1 << 30)

START_TEST(rows_to_columns_are_swapped)
{
    struct layout rows = line(4, 0), columns = line(4, 1);
    make_devices(1, 1);
    ck_assert_int_eq(run(&rows, &columns, 2, SHAPE(8, 12), MUCH), JD_PLAN_SWAP);
    ck_assert_int_eq(run(&columns, &rows, 2, SHAPE(8, 12), MUCH), JD_PLAN_SWAP);
    ck_assert_int_eq(run(&columns, &rows, 3, SHAPE(8, 12, 3), MUCH),
                     JD_PLAN_SWAP);
    /* uneven */
    ck_assert_int_eq(run(&rows, &columns, 2, SHAPE(8, 11), MUCH),
                     JD_PLAN_EXCHANGE);
    /* many small calls */
    rows.cuts[0] = 1;
    columns.cuts[0] = 2;
    ck_assert_int_eq(run(&rows, &columns, 3, SHAPE(2, 8, 8), MUCH),
                     JD_PLAN_EXCHANGE);
}
END_TEST

START_TEST(a_mesh_of_another_shape_may_be_the_same_swap)
{
    struct layout rows = line(4, 0), columns = grid(2, 2, 1, 1);
    struct layout minor = grid(2, 2, 0, 1), other = grid(2, 2, 0, 0);
    make_devices(2, 1);
    ck_assert_int_eq(run(&rows, &columns, 2, SHAPE(8, 12), MUCH), JD_PLAN_SWAP);
    ck_assert_int_eq(run(&minor, &other, 2, SHAPE(8, 12), MUCH), JD_PLAN_SWAP);
    /* a block that goes nowhere along the way: other devices */
    columns.order[0] = 3;
    columns.order[3] = 0;
    ck_assert_int_eq(run(&rows, &columns, 2, SHAPE(8, 12), MUCH),
                     JD_PLAN_EXCHANGE);
}
END_TEST

START_TEST(fewer_cuts_are_a_gather)
{
    struct layout both = grid(2, 3, 0, 1), rows = grid(2, 3, 0, -1);
    struct layout columns = grid(2, 3, -1, 1), none = grid(2, 3, -1, -1);
    make_devices(1, 2);
    ck_assert_int_eq(run(&both, &rows, 2, SHAPE(8, 12), MUCH), JD_PLAN_GATHER);
    ck_assert_int_eq(run(&both, &columns, 2, SHAPE(8, 12), MUCH),
                     JD_PLAN_GATHER);
    ck_assert_int_eq(run(&rows, &none, 2, SHAPE(8, 12), MUCH), JD_PLAN_GATHER);
    ck_assert_int_eq(run(&columns, &none, 2, SHAPE(8, 12), MUCH),
                     JD_PLAN_GATHER);
    ck_assert_int_eq(run(&both, &rows, 2, SHAPE(8, 11), MUCH),
                     JD_PLAN_EXCHANGE);
}
END_TEST

START_TEST(more_cuts_are_local)
{
    struct layout both = grid(2, 3, 0, 1), rows = grid(2, 3, 0, -1);
    struct layout columns = grid(2, 3, -1, 1), none = grid(2, 3, -1, -1);
    make_devices(1, 2);
    ck_assert_int_eq(run(&none, &both, 2, SHAPE(8, 11), MUCH), JD_PLAN_LOCAL);
    ck_assert_int_eq(run(&none, &rows, 2, SHAPE(7, 11), MUCH), JD_PLAN_LOCAL);
    ck_assert_int_eq(run(&columns, &both, 2, SHAPE(7, 11), MUCH),
                     JD_PLAN_LOCAL);
    ck_assert_int_eq(run(&both, &both, 2, SHAPE(7, 11), MUCH), JD_PLAN_LOCAL);
    ck_assert_int_eq(run(&none, &none, 0, NULL, MUCH), JD_PLAN_LOCAL);
    ck_assert_int_eq(run(&both, &rows, 2, SHAPE(0, 11), MUCH), JD_PLAN_LOCAL);
    make_devices(6, 1); /* one process */
    ck_assert_int_eq(run(&both, &rows, 2, SHAPE(8, 12), MUCH), JD_PLAN_LOCAL);
}
END_TEST

START_TEST(blocks_that_change_place_are_permuted)
{
    struct layout rows = line(4, 0), other = line(4, 0);
    make_devices(1, 2);
    for (int i = 0; i < 4; i++)
        other.order[i] = (i + 1) % 4;
    ck_assert_int_eq(run(&rows, &other, 2, SHAPE(8, 3), MUCH), JD_PLAN_PERMUTE);
    ck_assert_int_eq(run(&rows, &other, 2, SHAPE(7, 3), MUCH),
                     JD_PLAN_EXCHANGE);
    for (int i = 0; i < 4; i++)
        other.order[i] = i + 4; /* elsewhere */
    ck_assert_int_eq(run(&rows, &other, 2, SHAPE(8, 3), MUCH),
                     JD_PLAN_EXCHANGE);
}
END_TEST

/* A device that has all of its new block already keeps it. */
START_TEST(what_is_kept_is_known)
{
    struct layout rows = line(4, 0), other = line(4, 0);
    struct job job = { .from_layout = &rows,
                       .to_layout = &other,
                       .ndim = 1,
                       .shape = { 8 },
                       .memory = MUCH };
    make_devices(1, 2);
    struct jd_plan *plan = make_plan(&job, 1);
    ck_assert(plan->kind == JD_PLAN_LOCAL && plan->devices[0].keeps);
    jd__plan_destroy(plan);
    rows.cuts[0] = -1;
    plan = make_plan(&job, 1);
    ck_assert(plan->kind == JD_PLAN_LOCAL && !plan->devices[0].keeps);
    ck_assert_int_eq(plan->devices[0].num_copies, 1);
    jd__plan_destroy(plan);
}
END_TEST

/* Each replica sends as much as any other, on one host and to another. */
static void expect_shares(int hosts)
{
    struct layout from = line(4, -1), to = line(8, 0);
    struct job job = { .from_layout = &from,
                       .to_layout = &to,
                       .ndim = 1,
                       .shape = { 64 },
                       .memory = MUCH };
    make_devices(4, hosts);
    for (int i = 0; i < 8; i++)
        to.order[i] = 4 + i;
    struct jd_plan *plan = make_plan(&job, 0);
    ck_assert_int_eq(plan->num_devices, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(plan->devices[i].num_sends, 2);
    jd__plan_destroy(plan);
    plan = make_plan(&job, 3);
    ck_assert_int_eq(plan->num_devices, 0);
    jd__plan_destroy(plan);
}

START_TEST(replicas_share_the_sending)
{
    expect_shares(1);
    expect_shares(4);
}
END_TEST

/* One that goes to many is packed once. */
START_TEST(pieces_are_packed_once)
{
    struct layout from = line(4, 1), to = line(4, -1);
    struct job job = { .from_layout = &from,
                       .to_layout = &to,
                       .ndim = 2,
                       .shape = { 7, 9 },
                       .memory = MUCH };
    make_devices(1, 4);
    for (int i = 0; i < 4; i++)
        to.order[i] = 4 + i;
    struct jd_plan *plan = make_plan(&job, 0);
    ck_assert_int_eq(plan->kind, JD_PLAN_EXCHANGE);
    ck_assert_int_eq(plan->devices[0].num_sent, 1);
    ck_assert_int_eq(plan->devices[0].num_sends, 4);
    ck_assert(!plan->devices[0].packs);
    jd__plan_destroy(plan);
}
END_TEST

/* ---- rounds ------------------------------------------------------------- */

START_TEST(shares_are_all_of_it)
{
    const int64_t counts[] = { 0, 1, 7, 64, 1000003, INT64_MAX / 2 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int rounds = 1; rounds < 70; rounds += 17) {
            int64_t before = 0;
            ck_assert_int_eq(jd__plan_share(counts[i], 0, rounds), 0);
            for (int r = 1; r <= rounds; r++) {
                int64_t next = jd__plan_share(counts[i], r, rounds);
                ck_assert_int_ge(next, before);
                ck_assert_int_le(next - before, counts[i] / rounds + 1);
                before = next;
            }
            ck_assert_int_eq(before, counts[i]);
        }
}
END_TEST

START_TEST(rounds_keep_to_the_memory)
{
    struct layout rows = line(4, 1), columns = line(4, 2);
    struct job job = { .from_layout = &rows,
                       .to_layout = &columns,
                       .ndim = 3,
                       .shape = { 64, 64, 63 },
                       .memory = 64 << 10 };
    make_devices(1, 1);
    struct jd_plan *plan = make_plan(&job, 0);
    ck_assert_int_eq(plan->kind, JD_PLAN_EXCHANGE);
    ck_assert_int_gt(plan->rounds, 15);
    ck_assert_int_lt(plan->rounds, 20);
    ck_assert(plan->devices[0].packs && plan->devices[0].unpacks);
    ck_assert_int_le(
        (plan->devices[0].pack_count + plan->devices[0].unpack_count) * 8,
        64 << 10);
    jd__plan_destroy(plan);
    ck_assert_int_eq(run(&rows, &columns, 3, SHAPE(8, 16, 15), 2 << 10),
                     JD_PLAN_EXCHANGE);
    ck_assert_int_eq(run(&rows, &columns, 3, SHAPE(8, 16, 15), 1),
                     JD_PLAN_EXCHANGE);
}
END_TEST

START_TEST(platforms_do_not_mix)
{
    struct layout rows = line(2, 0), other = line(2, 0);
    other.order[0] = 2;
    other.order[1] = 3;
    make_devices(1, 1);
    devices[2].platform = devices[3].platform = "cuda";
    jd_sharding *from = make_sharding(&rows, 0), *to = make_sharding(&other, 0);
    struct jd_plan_spec spec = { .operation = "jd_array_reshard",
                                 .from = from,
                                 .to = to,
                                 .ndim = 1,
                                 .shape = SHAPE(8),
                                 .element = 8,
                                 .memory = MUCH };
    struct jd_plan *plan = NULL;
    UNIT_FAILS(jd__plan_create(&spec, &plan), JD_UNIMPLEMENTED,
               "jd_array_reshard: the array is on cpu devices, and the "
               "sharding on cuda ones; between platforms nothing is moved: "
               "jd_array_to_host() or jd_process_allgather_array(), then "
               "jd_device_put(), does it");
    free_sharding(from);
    free_sharding(to);
}
END_TEST

/* ---- any ---------------------------------------------------------------- */

static unsigned draw(unsigned below)
{
    static uint64_t state = 20261122;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static struct layout draw_layout(int ndim, int available)
{
    struct layout layout = { .num_devices = 1, .num_axes = 1 + (int)draw(3) };
    for (int i = 0; i < layout.num_axes; i++) {
        int most = available / layout.num_devices;
        layout.sizes[i] = 1 + (int)draw((unsigned)(most < 4 ? most : 4));
        layout.num_devices *= layout.sizes[i];
        layout.cuts[i] = (int)draw((unsigned)ndim + 1) - 1;
    }
    int all[64];
    for (int i = 0; i < available; i++)
        all[i] = i;
    for (int i = 0; i < layout.num_devices; i++) {
        unsigned k = draw(2) ? 0 : draw((unsigned)(available - i));
        layout.order[i] = all[(unsigned)i + k];
        all[(unsigned)i + k] = all[i];
    }
    return layout;
}

static void turn(const struct layout *from, struct layout *to)
{
    *to = *from;
    for (int i = 0; i < to->num_devices; i++)
        to->order[i] = from->order[(i + 1) % to->num_devices];
}

static void recut(const struct layout *from, struct layout *to)
{
    int cuts[4];
    memcpy(cuts, to->cuts, sizeof cuts);
    *to = *from;
    memcpy(to->cuts, cuts, sizeof cuts);
}

START_TEST(any_to_any)
{
    int kinds[5] = { 0 };
    for (int i = 0; i < UNIT_PART(4000); i++) {
        int ndim = (int)draw(4), available = 1 + (int)draw(16);
        int64_t shape[JD_MAX_NDIM];
        make_devices(1 + (int)draw(3), 1 + (int)draw(3));
        struct layout from = draw_layout(ndim, available);
        struct layout to = draw_layout(ndim, available);
        unsigned change = draw(4); /* all, the order, or the spec */
        if (change == 1)
            turn(&from, &to);
        if (change == 2)
            recut(&from, &to);
        for (int d = 0; d < ndim; d++)
            shape[d] = draw(4) ? 4 * draw(4) : draw(13);
        kinds[run(&from, &to, ndim, shape, draw(2) ? MUCH : draw(2000))]++;
    }
    for (int i = 0; i < 5; i++)
        ck_assert_msg(kinds[i] > (UNIT_STRIDE > 1 ? 0 : 10),
                      "kind %d: %d times", i, kinds[i]);
}
END_TEST

/* ---- many devices ------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void time_plans(const char *what, const struct layout *from,
                       const struct layout *to)
{
    int count = from->num_devices;
    jd_sharding *a = make_sharding(from, 1), *b = make_sharding(to, 1);
    struct jd_plan_spec spec = { .operation = "jd_array_reshard",
                                 .from = a,
                                 .to = b,
                                 .ndim = 2,
                                 .shape = SHAPE(4097 * 3, 4098 * 5),
                                 .element = 4,
                                 .memory = (size_t)64 << 20,
                                 .process = 1 };
    int times = count < 1000 ? 1000 : 20;
    double begin = now();
    struct jd_plan *plan = NULL;
    for (int i = 0; i < times; i++) {
        jd__plan_destroy(plan);
        if (jd__plan_create(&spec, &plan) != JD_OK)
            exit(EXIT_FAILURE);
    }
    printf("%d devices, %s, kind %d: %.1f us\n", count, what, plan->kind,
           (now() - begin) / times * 1e6);
    jd__plan_destroy(plan);
    free_sharding(a);
    free_sharding(b);
}

static void time_all(void)
{
    for (int side = 8; side <= 64; side *= 8) {
        static struct layout rows, columns, both, none, shuffled;
        rows = line(side * side, 0);
        columns = line(side * side, 1);
        both = grid(side, side, 1, 0);
        none = line(side * side, -1);
        shuffled = both;
        for (int i = 0; i < side * side; i++)
            shuffled.order[i] = (i * 37 + 5) % (side * side);
        time_plans("rows to columns", &rows, &columns);
        time_plans("rows to both", &rows, &both);
        time_plans("both to shuffled", &both, &shuffled);
        time_plans("shuffled to rows", &shuffled, &rows);
        time_plans("rows to all", &rows, &none);
        time_plans("all to rows", &none, &rows);
    }
}

START_TEST(thousands_of_devices_have_a_plan)
{
    static struct layout rows, columns;
    struct job job = { .from_layout = &rows,
                       .to_layout = &columns,
                       .ndim = 2,
                       .shape = { 9000, 8200 },
                       .memory = MUCH };
    rows = line(4096, 0);
    columns = line(4096, 1);
    make_devices(8, 512);
    struct jd_plan *plan = make_plan(&job, 100);
    int64_t received = 0;
    ck_assert_int_eq(plan->kind, JD_PLAN_EXCHANGE);
    ck_assert_int_eq(plan->num_devices, 8);
    for (int i = 0; i < plan->devices[0].num_receives; i++)
        received += plan->devices[0].receives[i].count;
    for (int i = 0; i < plan->devices[0].num_copies; i++)
        received += plan->devices[0].copies[i].count;
    ck_assert_int_eq(received, 9000 * 3);
    ck_assert_int_eq(plan->devices[0].num_copies, 8);
    jd__plan_destroy(plan);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("plan");
    TCase *tcase = unit_case(suite, "kinds");
    tcase_add_test(tcase, rows_to_columns_are_swapped);
    tcase_add_test(tcase, a_mesh_of_another_shape_may_be_the_same_swap);
    tcase_add_test(tcase, fewer_cuts_are_a_gather);
    tcase_add_test(tcase, more_cuts_are_local);
    tcase_add_test(tcase, blocks_that_change_place_are_permuted);
    tcase_add_test(tcase, what_is_kept_is_known);
    tcase_add_test(tcase, platforms_do_not_mix);
    tcase = unit_case(suite, "pieces");
    tcase_add_test(tcase, replicas_share_the_sending);
    tcase_add_test(tcase, pieces_are_packed_once);
    tcase_add_test(tcase, shares_are_all_of_it);
    tcase_add_test(tcase, rounds_keep_to_the_memory);
    tcase_add_test(tcase, thousands_of_devices_have_a_plan);
    tcase = unit_case(suite, "any");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, any_to_any);
    return suite;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--time") == 0) {
        make_devices(8, 512);
        time_all();
        return 0;
    }
    return unit_main(make_suite());
}
