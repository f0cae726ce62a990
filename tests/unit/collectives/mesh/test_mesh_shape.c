/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_mesh_shape.c - jd_mesh_shape(): the sizes have the product, the order
 * and the evenness that the header promises, held against each choice there is.
 */
#include "jd_mesh.h"
#include "tests/unit/unit.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { MAX_AXES = 8, MAX_DIVISORS = 100 };

/* ---- each choice there is ----------------------------------------------- */

struct choices {
    int divisors[MAX_DIVISORS];
    int num_divisors;
    int ndim;
    int sizes[MAX_AXES]; /* that do not grow */
    int best[MAX_AXES];  /* of those that were tried */
    bool has_best;
};

/* They do not grow: the last is the least. */
static int spread_of(const int *sizes, int ndim)
{
    int least = sizes[0];
    for (int i = 1; i < ndim; i++)
        least = sizes[i];
    return sizes[0] - least;
}

static bool is_better(const struct choices *c)
{
    int spread = spread_of(c->sizes, c->ndim);
    int best = spread_of(c->best, c->ndim);
    if (!c->has_best || spread != best)
        return !c->has_best || spread < best;
    for (int i = 0; i < c->ndim; i++)
        if (c->sizes[i] != c->best[i])
            return c->sizes[i] < c->best[i];
    return false;
}

static void try_each(struct choices *c, int axis, int rest)
{
    if (axis == c->ndim) {
        if (rest != 1 || !is_better(c))
            return;
        memcpy(c->best, c->sizes, sizeof c->best);
        c->has_best = true;
        return;
    }
    for (int i = 0; i < c->num_divisors; i++) {
        c->sizes[axis] = c->divisors[i];
        if (rest % c->sizes[axis] == 0 &&
            (axis == 0 || c->sizes[axis] <= c->sizes[axis - 1]))
            try_each(c, axis + 1, rest / c->sizes[axis]);
    }
}

static void is_shape_of(int n, int ndim, const int *shape)
{
    int64_t product = 1;
    for (int i = 0; i < ndim; i++) {
        ck_assert_int_ge(shape[i], 1);
        ck_assert_int_le(shape[i], i > 0 ? shape[i - 1] : n);
        product *= shape[i];
        ck_assert_int_le(product, n);
    }
    ck_assert_int_eq(product, n);
}

static void is_best(int n, int ndim)
{
    struct choices c = { .ndim = ndim };
    int shape[MAX_AXES] = { 0 };
    UNIT_OK(jd_mesh_shape(n, ndim, shape));
    is_shape_of(n, ndim, shape);
    for (int i = 1; i <= n; i++)
        if (n % i == 0)
            c.divisors[c.num_divisors++] = i;
    try_each(&c, 0, n);
    for (int i = 0; i < ndim; i++)
        ck_assert_msg(shape[i] == c.best[i], "%d on %d axes: %d is %d, not %d",
                      n, ndim, i, shape[i], c.best[i]);
}

START_TEST(it_is_the_best_choice)
{
    for (int n = 1; n <= 10000; n++)
        for (int ndim = 1; ndim <= 4; ndim++)
            is_best(n, ndim);
}
END_TEST

START_TEST(it_is_the_best_choice_of_many_axes)
{
    for (int n = 1; n <= 512; n++)
        for (int ndim = 5; ndim <= MAX_AXES; ndim++)
            is_best(n, ndim);
}
END_TEST

START_TEST(great_numbers_take_no_time)
{
    static const int numbers[] = {
        INT_MAX,    /* prime */
        2095133040, /* has 1536 divisors, more than any other */
        1 << 30,
        1162261467 /* 3^19 */,
        46337 * 46337,
        46327 * 46337,
        223092870 /* the first nine primes */,
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (int ndim = 1; ndim <= MAX_AXES; ndim++) {
            int shape[MAX_AXES] = { 0 };
            UNIT_OK(jd_mesh_shape(numbers[i], ndim, shape));
            is_shape_of(numbers[i], ndim, shape);
        }
}
END_TEST

/* ---- what is given ------------------------------------------------------ */

static void gives(int n, int ndim, const int *given, const int *wanted)
{
    int shape[MAX_AXES];
    memcpy(shape, given, (size_t)ndim * sizeof *shape);
    UNIT_OK(jd_mesh_shape(n, ndim, shape));
    for (int i = 0; i < ndim; i++)
        ck_assert_int_eq(shape[i], wanted[i]);
}

#define SIZES(...) ((int[]){ __VA_ARGS__ })

START_TEST(sizes_that_are_given_stay)
{
    gives(12, 2, SIZES(0, 0), SIZES(4, 3));
    gives(12, 2, SIZES(0, 2), SIZES(6, 2));
    gives(12, 2, SIZES(2, 6), SIZES(2, 6));
    gives(24, 3, SIZES(0, 0, 0), SIZES(4, 3, 2));
    gives(24, 3, SIZES(0, 1, 0), SIZES(6, 1, 4));
    gives(24, 3, SIZES(2, 0, 0), SIZES(2, 4, 3));
    gives(30, 4, SIZES(0, 5, 0, 3), SIZES(2, 5, 1, 3));
    gives(7, 2, SIZES(0, 0), SIZES(7, 1));
    gives(1, 1, SIZES(0), SIZES(1));
    gives(1, 3, SIZES(0, 1, 0), SIZES(1, 1, 1));
}
END_TEST

/* And not 10 x 6 x 6, nor 5 x 4 x 1 x 1. */
START_TEST(of_two_as_even_the_greatest_is_least)
{
    gives(360, 3, SIZES(0, 0, 0), SIZES(9, 8, 5));
    gives(20, 4, SIZES(0, 0, 0, 0), SIZES(5, 2, 2, 1));
}
END_TEST

static void refuses(int n, int ndim, const int *given, const char *sentence)
{
    int shape[MAX_AXES];
    memcpy(shape, given, sizeof shape);
    UNIT_FAILS(jd_mesh_shape(n, ndim, shape), JD_INVALID_ARGUMENT, sentence);
    ck_assert_int_eq(memcmp(shape, given, sizeof shape), 0);
}

START_TEST(bad_input_is_named)
{
    static const int open[MAX_AXES], given[MAX_AXES] = { 2, 0, 5 },
                                     all[MAX_AXES] = { 2, 3 },
                                     negative[MAX_AXES] = { 0, -1 };
    UNIT_FAILS(jd_mesh_shape(4, 1, NULL), JD_INVALID_ARGUMENT,
               "jd_mesh_shape: shape is NULL");
    refuses(4, 0, open, "jd_mesh_shape: ndim is 0; a mesh has 1 to 8 axes");
    refuses(4, 9, open, "jd_mesh_shape: ndim is 9; a mesh has 1 to 8 axes");
    refuses(4, INT_MIN, open,
            "jd_mesh_shape: ndim is -2147483648; a mesh has 1 to 8 axes");
    refuses(0, 2, open,
            "jd_mesh_shape: n is 0; a mesh has at least one device");
    refuses(-1, 2, open,
            "jd_mesh_shape: n is -1; a mesh has at least one device");
    refuses(4, 2, negative,
            "jd_mesh_shape: shape[1] is -1; a size is positive, or 0 for one "
            "that is to be found");
    refuses(24, 3, given,
            "jd_mesh_shape: shape[2] is 5, and the sizes before it leave 12 of "
            "n, 24, which is no multiple; change the sizes that are not 0, or "
            "n");
    refuses(12, 2, all,
            "jd_mesh_shape: the product of the sizes is 6, and n is 12; make "
            "one of them 0, or change n");
    refuses(INT_MAX, 2, SIZES(INT_MAX, INT_MAX, 0, 0, 0, 0, 0, 0),
            "jd_mesh_shape: shape[1] is 2147483647, and the sizes before it "
            "leave 1 of n, 2147483647, which is no multiple; change the sizes "
            "that are not 0, or n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mesh_shape");
    TCase *choices = unit_case(suite, "choices");
    tcase_add_test(choices, it_is_the_best_choice);
    tcase_add_test(choices, it_is_the_best_choice_of_many_axes);
    tcase_add_test(choices, great_numbers_take_no_time);
    TCase *given = unit_case(suite, "given");
    tcase_add_test(given, sizes_that_are_given_stay);
    tcase_add_test(given, of_two_as_even_the_greatest_is_least);
    tcase_add_test(given, bad_input_is_named);
    return unit_main(suite);
}
