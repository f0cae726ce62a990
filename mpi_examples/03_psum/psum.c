/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psum.c - statistics of numbers that no process holds all of.
 *
 * Objective: use three collectives on real tasks.
 *
 * Steps:
 *   1. Join the job and lay all devices along the axis "data".
 *   2. Each device makes its own block of COUNT numbers.
 *   3. jd_psum: mean and deviation, from two small sums in one call.
 *   4. jd_psum in place, on integers: a histogram.
 *   5. jd_all_gather: what each member contributed, in member order.
 *   6. jd_pbroadcast: a value that only the last member knows.
 *   7. Check against the closed formulas; member 0 prints.
 */
#include <jd.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BINS = 10,  /* numbers are 0..9: one bin each */
    FAILED = 1, /* exit status: a result is wrong */
    USAGE = 2   /* exit status: the command line is */
};

static const int64_t MAX_COUNT = INT64_C(10000000000);

static const char usage[] =
    "usage: psum [COUNT]\n"
    "Adds up COUNT numbers (default 1000000) spread over all devices.\n";

/* The share of one device: numbers first..first + count of 0, 1, 2, ... */
struct block {
    int64_t first, count;
};

/* Number i of the data set: 0, 1, ..., 9, 0, 1, ... */
static int number(int64_t i)
{
    return (int)(i % BINS);
}

/* The share of member index of size: as even as can be, in member order. */
static struct block block_of(int64_t total, int index, int size)
{
    int64_t each = total / size, rest = total % size;
    int64_t first = each * index + (index < rest ? index : rest);
    return (struct block){ first, each + (index < rest) };
}

static void compute_mean(jd_shard *me, struct block mine, int64_t total,
                         double *ret_mean, double *ret_deviation)
{
    double sums[2] = { 0, 0 }; /* of the numbers, of their squares */
    for (int64_t i = mine.first; i < mine.first + mine.count; i++) {
        sums[0] += number(i);
        sums[1] += (double)number(i) * number(i);
    }
    double all[2];
    JD_CHECK(jd_psum(me, "data", sums, all, 2, JD_F64));
    *ret_mean = all[0] / (double)total;
    *ret_deviation =
        sqrt(fmax(0, all[1] / (double)total - *ret_mean * *ret_mean));
}

/* Every member's numbers, counted by value: in == out is "in place". */
static void compute_histogram(jd_shard *me, struct block mine,
                              int64_t bins[BINS])
{
    memset(bins, 0, BINS * sizeof *bins);
    for (int64_t i = mine.first; i < mine.first + mine.count; i++)
        bins[number(i)]++;
    JD_CHECK(jd_psum(me, "data", bins, bins, BINS, JD_S64));
}

/* How many numbers each member has; counts holds one entry per member. */
static void gather_counts(jd_shard *me, struct block mine, int64_t *counts)
{
    JD_CHECK(jd_all_gather(me, "data", &mine.count, counts, 1, JD_S64));
}

/* Where the last member's block ends: only that member works it out. */
static int64_t learn_end(jd_shard *me, struct block mine)
{
    int last = jd_axis_size(me, "data") - 1;
    int64_t end = mine.first + mine.count;
    JD_CHECK(jd_pbroadcast(me, "data", last, &end, &end, 1, JD_S64));
    return end;
}

static void print_list(const char *name, const int64_t *values, int n)
{
    printf("%-10s", name);
    for (int i = 0; i < n; i++)
        printf(" %" PRId64, values[i]);
    printf("\n");
}

/* Whether each bin holds what counting 0..total - 1 by hand would give. */
static int is_right(const int64_t bins[BINS], int64_t end, int64_t total)
{
    for (int i = 0; i < BINS; i++)
        if (bins[i] != total / BINS + (i < total % BINS))
            return 0;
    return end == total;
}

static int run(jd_shard *me, int64_t total)
{
    int size = jd_axis_size(me, "data"), index = jd_axis_index(me, "data");
    struct block mine = block_of(total, index, size);
    double mean, deviation;
    compute_mean(me, mine, total, &mean, &deviation);
    int64_t bins[BINS], *counts = calloc((size_t)size, sizeof *counts);
    if (!counts)
        jd_abort(FAILED, "no memory for one count per device");
    compute_histogram(me, mine, bins);
    gather_counts(me, mine, counts);
    int64_t end = learn_end(me, mine);
    int right = is_right(bins, end, total);
    if (index == 0) {
        printf("%d devices, %" PRId64 " numbers\n", size, total);
        print_list("counts", counts, size);
        print_list("histogram", bins, BINS);
        printf("%-10s %.6f\n%-10s %.6f\n", "mean", mean, "deviation",
               deviation);
        printf("result: %s\n", right ? "right" : "WRONG");
    }
    free(counts);
    return right ? 0 : FAILED;
}

/* Reads the whole of text as a number of 1..MAX_COUNT; 0 where it is none. */
static int64_t parse_count(const char *text)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < 1 || value > MAX_COUNT)
        return 0;
    return value;
}

/* Says on process 0 what is wrong with the command line. */
static int explain_usage(int argc, char **argv)
{
    int help = argc == 2 && strcmp(argv[1], "--help") == 0;
    if (jd_process_index() == 0 && !help) {
        if (argc > 2)
            fprintf(stderr, "psum: too many arguments\n");
        else
            fprintf(stderr,
                    "psum: COUNT must be a whole number from 1 to %" PRId64
                    ", not \"%s\"\n",
                    MAX_COUNT, argv[1]);
    }
    if (jd_process_index() == 0)
        fputs(usage, help ? stdout : stderr);
    return help ? 0 : USAGE;
}

static int make_mesh_and_run(int64_t total)
{
    jd_mesh *mesh;
    JD_CHECK(jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "data" },
                            NULL));
    jd_shard *me = jd_mesh_shard(mesh);
    if (!me)
        jd_abort(FAILED, jd_error_message());
    int status = run(me, total);
    jd_mesh_destroy(mesh);
    return status;
}

int main(int argc, char **argv)
{
    JD_CHECK(jd_initialize());

    int64_t total = 1000000;
    if (argc > 1)
        total = argc == 2 ? parse_count(argv[1]) : 0;
    int status = total ? make_mesh_and_run(total) : explain_usage(argc, argv);
    /* A launcher may end the job as soon as one process has failed: nobody
     * leaves before process 0 has said why. */
    JD_CHECK(jd_sync_global_devices("the end"));
    JD_CHECK(jd_shutdown());
    return status;
}
