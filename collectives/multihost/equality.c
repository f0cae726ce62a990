/* SPDX-License-Identifier: BSD-3-Clause */
/* equality.c - the rules by which two elements are equal. */
#include "collectives/multihost/equality.h"
#include "base/digest.h"
#include "collectives/kernels/elements.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static jd_status check_tolerance(const char *operation, const char *name,
                                 double tolerance)
{
    if (tolerance >= 0 && isfinite(tolerance))
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: equality.%s is %g; it is at least 0, and finite",
                   operation, name, tolerance);
}

static jd_status check_rules(const jd_equality *rules, const char *operation)
{
    jd_status status = check_tolerance(operation, "absolute", rules->absolute);
    if (status == JD_OK)
        status = check_tolerance(operation, "relative", rules->relative);
    if (status != JD_OK || !rules->bitwise)
        return status;
    const char *other = rules->nan_differs    ? "nan_differs"
                        : rules->absolute > 0 ? "absolute"
                        : rules->relative > 0 ? "relative"
                                              : NULL;
    if (!other)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: equality has bitwise and %s; bits are the same or they "
                   "are not, leave one of the two out",
                   operation, other);
}

/* A program of an older jd has whole members, and the later ones not at all. */
static bool ends_with_member(size_t size)
{
    static const size_t ends[] = { 0, offsetof(jd_equality, nan_differs),
                                   offsetof(jd_equality, absolute),
                                   offsetof(jd_equality, relative),
                                   sizeof(jd_equality) };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (size == ends[i])
            return true;
    return false;
}

jd_status jd__equality_read(const jd_equality *given, size_t size,
                            const char *operation, jd_equality *ret_rules)
{
    jd_equality rules = { .bitwise = 0 };
    if (!given != !size)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: equality is %s and its size is %zu; NULL goes with "
                       "0",
                       operation, given ? "not NULL" : "NULL", size);
    if (size > sizeof rules)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: the program's jd_equality has %zu bytes, this "
                       "library's %zu: the program was built for a newer jd; "
                       "run it with that library",
                       operation, size, sizeof rules);
    if (!ends_with_member(size))
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: the size is %zu, which ends inside a member of "
                       "jd_equality; give sizeof(jd_equality)",
                       operation, size);
    if (given)
        memcpy(&rules, given, size);
    rules.bitwise = rules.bitwise != 0;
    rules.nan_differs = rules.nan_differs != 0;
    jd_status status = check_rules(&rules, operation);
    if (status == JD_OK)
        *ret_rules = rules;
    return status;
}

bool jd__equality_holds(const jd_equality *rules, jd_dtype dtype, const void *a,
                        const void *b)
{
    if (rules->bitwise)
        return memcmp(a, b, jd_dtype_size(dtype)) == 0;
    if (rules->nan_differs &&
        (jd__element_has_nan(dtype, a) || jd__element_has_nan(dtype, b)))
        return false;
    return jd__element_close(dtype, a, b, rules->absolute, rules->relative);
}

bool jd__equality_trusts_bits(const jd_equality *rules, jd_dtype dtype)
{
    return !rules->nan_differs || !jd__element_can_be_nan(dtype);
}

uint64_t jd__equality_digest(const jd_equality *rules)
{
    double tolerance[2] = { rules->absolute, rules->relative };
    int flags[2] = { rules->bitwise, rules->nan_differs };
    uint64_t digest = jd__digest(0, flags, sizeof flags);
    return jd__digest(digest, tolerance, sizeof tolerance);
}

void jd__equality_print(const jd_equality *rules, char *text, size_t size)
{
    char within[96] = "";
    bool is_close = rules->absolute > 0 || rules->relative > 0;
    if (is_close)
        snprintf(within, sizeof within, "within %g + %g * |b|", rules->absolute,
                 rules->relative);
    if (rules->bitwise)
        snprintf(text, size, " (bitwise)");
    else if (is_close || rules->nan_differs)
        snprintf(text, size, " (%s%s%s)", within,
                 is_close && rules->nan_differs ? ", " : "",
                 rules->nan_differs ? "NaNs differ" : "");
    else
        snprintf(text, size, "%s", "");
}
