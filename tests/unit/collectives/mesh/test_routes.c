/* SPDX-License-Identifier: BSD-3-Clause */
/* test_routes.c - lists of routes that differ have digests that differ. DRAWS
 * in the environment: how many are drawn. */
#include "collectives/mesh/routes.h"
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, SMALL = 6, LISTS = 13327 }; /* partial lists of 6 members */

static struct {
    uint64_t *items;
    size_t count;
} seen;

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void no_two_are_equal(void)
{
    qsort(seen.items, seen.count, sizeof *seen.items, compare);
    for (size_t i = 1; i < seen.count; i++)
        ck_assert_uint_ne(seen.items[i - 1], seen.items[i]);
}

static void begin(size_t most)
{
    seen.items = calloc(most, sizeof *seen.items);
    seen.count = 0;
    ck_assert_ptr_nonnull(seen.items);
}

/* Every list of members that has the routes and some of from, from + 1, ... */
static void list_all(int members, int from, unsigned taken, jd_route *routes,
                     int count)
{
    if (from == members) {
        seen.items[seen.count++] = jd__routes_digest(routes, count);
        return;
    }
    list_all(members, from + 1, taken, routes, count);
    for (int to = 0; to < members; to++) {
        if (taken >> to & 1)
            continue;
        routes[count] = (jd_route){ from, to };
        list_all(members, from + 1, taken | 1u << to, routes, count + 1);
    }
}

START_TEST(no_two_lists_of_few_members_are_equal)
{
    jd_route routes[SMALL];
    begin(LISTS);
    list_all(_i, 0, 0, routes, 0);
    ck_assert_uint_eq(seen.count,
                      ((size_t[]){ 1, 2, 7, 34, 209, 1546, LISTS })[_i]);
    no_two_are_equal();
    free(seen.items);
}
END_TEST

START_TEST(no_two_rings_are_equal)
{
    jd_route routes[MOST];
    for (int members = 1; members <= MOST; members++) {
        begin(MOST);
        for (int shift = 0; shift < members; shift++) {
            for (int i = 0; i < members; i++)
                routes[i] = (jd_route){ i, (i + shift) % members };
            seen.items[seen.count++] = jd__routes_digest(routes, members);
        }
        no_two_are_equal();
        free(seen.items);
    }
}
END_TEST

/* ---- drawn -------------------------------------------------------------- */

static uint64_t state = 1311;

static int draw(int limit)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

static size_t num_draws(void)
{
    const char *draws = getenv("DRAWS");
    return draws ? strtoull(draws, NULL, 10) : 50000;
}

static void exchange_ends(jd_route *routes, int a, int b)
{
    int to = routes[a].to;
    routes[a].to = routes[b].to;
    routes[b].to = to;
}

static void shuffle(jd_route *routes, int members)
{
    for (int i = 0; i < members; i++)
        routes[i] = (jd_route){ i, i };
    for (int i = members - 1; i > 0; i--)
        exchange_ends(routes, i, draw(i + 1));
}

/* One, and one that has some routes less or other ends. */
START_TEST(two_that_are_alike_differ)
{
    jd_route routes[MOST], other[MOST];
    for (size_t n = num_draws(); n; n--) {
        int members = 2 + draw(MOST - 1), count = members;
        shuffle(routes, members);
        memcpy(other, routes, sizeof other);
        if (draw(2))
            count = draw(members);
        for (int i = draw(3); i >= 0; i--)
            exchange_ends(other, draw(members), draw(members));
        if (count == members &&
            memcmp(routes, other, sizeof *routes * (size_t)members) == 0)
            continue;
        ck_assert_uint_ne(jd__routes_digest(routes, members),
                          jd__routes_digest(other, count));
    }
}
END_TEST

/* 21! is more than 2^64: none is drawn twice. */
START_TEST(no_two_of_many_are_equal)
{
    jd_route routes[MOST];
    begin(num_draws());
    while (seen.count < num_draws()) {
        int members = 21 + draw(MOST - 20);
        shuffle(routes, members);
        seen.items[seen.count++] = jd__routes_digest(routes, members);
    }
    no_two_are_equal();
    free(seen.items);
}
END_TEST

START_TEST(the_order_of_a_list_has_no_meaning)
{
    jd_route routes[3] = { { 0, 2 }, { 5, 1 }, { 1, 0 } };
    jd_route other[3] = { { 5, 1 }, { 1, 0 }, { 0, 2 } };
    ck_assert_uint_eq(jd__routes_digest(routes, 3),
                      jd__routes_digest(other, 3));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("routes");
    TCase *digests = unit_case(suite, "digests");
    tcase_set_timeout(digests, 600);
    tcase_add_loop_test(digests, no_two_lists_of_few_members_are_equal, 0,
                        SMALL + 1);
    tcase_add_test(digests, no_two_rings_are_equal);
    tcase_add_test(digests, two_that_are_alike_differ);
    tcase_add_test(digests, no_two_of_many_are_equal);
    tcase_add_test(digests, the_order_of_a_list_has_no_meaning);
    return unit_main(suite);
}
