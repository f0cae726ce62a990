/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_bench.c - jd-bench: measures jd with its peer beside it in the same run.
 * Here are the names and what all measurements share. */
#include "bench/jd_bench.h"
#include "base/env.h"
#include "base/parse.h"
#include "jd_process.h"
#include "runtime/mpi/service.h"
#include "runtime/topology/host.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

static const struct bench *const benches[] = {
    &bench_checkpoint, &bench_collectives, &bench_coordination,
    &bench_init,       &bench_reshard,
};
enum { NUM_BENCHES = sizeof benches / sizeof *benches };

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

static void print_usage(FILE *out)
{
    fputs("Usage: jd-bench NAME [options]\n"
          "       jd-bench NAME --help\n"
          "       jd-bench --help | --version\n"
          "\n"
          "Measures jd with its peer beside it in the same run.\n\n",
          out);
    for (int i = 0; i < NUM_BENCHES; i++)
        fprintf(out, "  %-14s %s\n", benches[i]->name, benches[i]->doc);
}

static int fail_usage(const char *name)
{
    if (name)
        fprintf(stderr, "jd-bench: there is no measurement \"%s\"\n", name);
    print_usage(stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    /* Its peers are the host's, unless a measurement is told otherwise. */
    if (jd__env_export("JD_PLATFORM", "cpu") != JD_OK)
        return EXIT_FAILURE;
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name)
        return fail_usage(NULL);
    if (strcmp(name, "--help") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        printf("jd-bench %s\n", jd_version());
        return 0;
    }
    for (int i = 0; i < NUM_BENCHES; i++)
        if (strcmp(name, benches[i]->name) == 0)
            return benches[i]->run(argc - 1, argv + 1);
    return fail_usage(name);
}
