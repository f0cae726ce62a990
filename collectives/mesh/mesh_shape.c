/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh_shape.c - sizes that are as even as possible. */
#include "collectives/mesh/mesh.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#define SHAPE "jd_mesh_shape"

/* ---- the search --------------------------------------------------------- */

/* Factors, the least first, of one product. */
struct even_search {
    int count;
    int chosen[JD_MAX_AXES];
    int best[JD_MAX_AXES];
    int spread; /* of the best: the greatest less the least */
};

/* Of what is no int, some number beyond. */
static int64_t power_of(int64_t base, int exponent)
{
    int64_t result = 1;
    for (int i = 0; i < exponent && result <= INT_MAX; i++)
        result *= base;
    return result;
}

/* The greatest whole number whose power is at most the value. */
static int root_of(int value, int exponent)
{
    int64_t low = 1, high = value;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (power_of(middle, exponent) <= value)
            low = middle;
        else
            high = middle - 1;
    }
    return (int)low;
}

/* Of two of one spread, that whose greatest factor is less, then the second. */
static void keep_better(struct even_search *search)
{
    int last = search->count - 1;
    int spread = search->chosen[last] - search->chosen[0], i = last;
    while (i > 0 && search->chosen[i] == search->best[i])
        i--;
    if (spread > search->spread ||
        (spread == search->spread && search->chosen[i] > search->best[i]))
        return;
    search->spread = spread;
    memcpy(search->best, search->chosen, sizeof search->best);
}

/* Tries each factor that can stand there, the nearest to even ones first; done
 * where the others would have to be farther from the least than the best's. */
static void choose_factors(struct even_search *search, int rest, int place)
{
    int left = search->count - place - 1;
    int least = place > 0 ? search->chosen[place - 1] : 1;
    if (left == 0) {
        search->chosen[place] = rest;
        keep_better(search);
        return;
    }
    for (int factor = root_of(rest, left + 1); factor >= least; factor--) {
        search->chosen[place] = factor;
        int64_t most = (int64_t)search->chosen[0] + search->spread;
        if (rest / factor > power_of(most, left))
            return;
        if (rest % factor == 0)
            choose_factors(search, rest / factor, place + 1);
    }
}

/* ---- what is given ------------------------------------------------------ */

static jd_status check_arguments(int n, int ndim, const int *shape)
{
    if (!shape)
        return jd_fail(JD_INVALID_ARGUMENT, SHAPE ": shape is NULL");
    if (ndim < 1 || ndim > JD_MAX_AXES)
        return jd_fail(JD_INVALID_ARGUMENT,
                       SHAPE ": ndim is %d; a mesh has 1 to %d axes", ndim,
                       JD_MAX_AXES);
    if (n < 1)
        return jd_fail(JD_INVALID_ARGUMENT,
                       SHAPE ": n is %d; a mesh has at least one device", n);
    return JD_OK;
}

/* Divides *rest by the sizes that are given, and counts the others. */
static jd_status take_given(int n, int ndim, const int *shape, int *rest,
                            int *ret_open)
{
    int open = 0;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return jd_fail(JD_INVALID_ARGUMENT,
                           SHAPE ": shape[%d] is %d; a size is positive, or 0 "
                                 "for one that is to be found",
                           i, shape[i]);
        if (shape[i] > 0 && *rest % shape[i] != 0)
            return jd_fail(JD_INVALID_ARGUMENT,
                           SHAPE ": shape[%d] is %d, and the sizes before it "
                                 "leave %d of n, %d, which is no multiple; "
                                 "change the sizes that are not 0, or n",
                           i, shape[i], *rest, n);
        open += shape[i] == 0;
        *rest /= shape[i] > 0 ? shape[i] : 1;
    }
    if (open == 0 && *rest != 1)
        return jd_fail(JD_INVALID_ARGUMENT,
                       SHAPE ": the product of the sizes is %d, and n is %d; "
                             "make one of them 0, or change n",
                       n / *rest, n);
    *ret_open = open;
    return JD_OK;
}

jd_status jd_mesh_shape(int n, int ndim, int *shape)
{
    int rest = n, open = 0;
    jd_status status = check_arguments(n, ndim, shape);
    if (status == JD_OK)
        status = take_given(n, ndim, shape, &rest, &open);
    if (status != JD_OK || open == 0)
        return status;
    struct even_search search = { .count = open, .spread = INT_MAX };
    choose_factors(&search, rest, 0);
    for (int i = 0; i < ndim; i++)
        if (shape[i] == 0)
            shape[i] = search.best[--open];
    return JD_OK;
}
