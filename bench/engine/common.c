/* SPDX-License-Identifier: BSD-3-Clause */
/* common.c - what all measurements share. */
#include "base/parse.h"
#include "bench/jd_bench.h"
#include "jd_array.h"
#include "jd_process.h"
#include "runtime/mpi/library.h"
#include "runtime/topology/host.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

const char *bench_program(void)
{
    static char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0)
        return "jd-bench";
    path[length] = '\0';
    return path;
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double bench_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double bench_maximum(const double *values, int n)
{
    double greatest = values[0];
    for (int i = 1; i < n; i++)
        greatest = values[i] > greatest ? values[i] : greatest;
    return greatest;
}

double bench_minimum(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    return values[0];
}

bool bench_read_number(const char *text, long long most, long long *ret_value)
{
    return jd__parse_integer(text, ret_value) && *ret_value >= 1 &&
           *ret_value <= most;
}

bool bench_read_counts(const char *text, int most, int room, int *values,
                       int *ret_count)
{
    int *read;
    size_t count;
    if (!jd__parse_integers(text, &read, &count))
        return false;
    bool is_good = count <= (size_t)room;
    for (size_t i = 0; i < count && is_good; i++) {
        values[i] = read[i];
        is_good = read[i] >= 1 && read[i] <= most;
    }
    *ret_count = (int)count;
    free(read);
    return is_good;
}

/* MPI counts elements in an int. */
const char *bench_read_shape(const char *text, int *ret_ndim, int64_t *shape)
{
    static const char wanted[] =
        "lengths with x between them, as in 4096x4096, of fewer than "
        "2147483648 elements";
    long long elements = 1;
    for (*ret_ndim = 0;; text++) {
        char *end;
        if (!isdigit((unsigned char)*text) || *ret_ndim == JD_MAX_NDIM)
            return wanted;
        long long length = strtoll(text, &end, 10);
        if (length < 1 || length > INT_MAX || elements > INT_MAX / length)
            return wanted;
        elements *= length;
        shape[(*ret_ndim)++] = length;
        text = end;
        if (*text != 'x')
            return *text == '\0' ? NULL : wanted;
    }
}

jd_dtype bench_read_type(const char *name)
{
    static const jd_dtype all[] = {
#define TYPE_ROW(type, number, size) JD_##type,
        JD_DTYPE_MAP(TYPE_ROW)
#undef TYPE_ROW
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcasecmp(name, jd_dtype_name(all[i])) == 0)
            return all[i];
    return (jd_dtype)0;
}

void bench_print_machine(void)
{
    struct jd_local_facts facts;
    if (jd__host_discover(&facts) == JD_OK)
        printf("# CPU: %s, %d cores, %d allowed; %s; %s; jd %s\n",
               facts.cpu_model, facts.num_cores, facts.cores_allowed,
               facts.caches, jd__mpi_library_name(), jd_version());
}
