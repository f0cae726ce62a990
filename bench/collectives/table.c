/* SPDX-License-Identifier: BSD-3-Clause */
/* table.c - the results of `jd-bench collectives`: a table, or JSON. */
#include "bench/collectives/collectives.h"
#include "bench/jd_bench.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_op_names[BENCH_OPS] = {
#define NAME_ROW(name, parts) #name,
    BENCH_OP_MAP(NAME_ROW)
#undef NAME_ROW
};
const int bench_op_parts[BENCH_OPS] = {
#define PARTS_ROW(name, parts) parts,
    BENCH_OP_MAP(PARTS_ROW)
#undef PARTS_ROW
};

/* ---- reading ------------------------------------------------------------ */

static int find_op(const char *name)
{
    for (int i = 0; i < BENCH_OPS; i++)
        if (strcmp(name, bench_op_names[i]) == 0)
            return i;
    return -1;
}

/* The cell, made where it is not there. */
static struct bench_cell *cell_of(struct bench_results *results, int op,
                                  jd_dtype dtype, size_t bytes, int ranks)
{
    for (int i = 0; i < results->count; i++) {
        struct bench_cell *cell = &results->cells[i];
        if ((int)cell->op == op && cell->dtype == dtype &&
            cell->bytes == bytes && cell->ranks == ranks)
            return cell;
    }
    size_t count = (size_t)results->count + 1;
    struct bench_cell *more =
        realloc(results->cells, count * sizeof *results->cells);
    if (!more)
        return NULL;
    results->cells = more;
    more[results->count] = (struct bench_cell){ .op = (enum bench_op)op,
                                                .dtype = dtype,
                                                .bytes = bytes,
                                                .wrong = SIZE_MAX,
                                                .ranks = ranks };
    return &more[results->count++];
}

/* The sides' of that kind of line; NULL. */
static struct bench_samples *samples_of(struct bench_cell *cell,
                                        const char *kind)
{
    return strcmp(kind, "cell") == 0     ? cell->samples
           : strcmp(kind, "queue") == 0  ? cell->queued
           : strcmp(kind, "thread") == 0 ? cell->thread
                                         : NULL;
}

bool bench_results_read(struct bench_results *results, const char *line)
{
    char kind[8], op[32], type[16];
    size_t bytes, wrong = 0;
    int ranks, side = 0, used = 0;
    if (sscanf(line, "%7s %31s %15s %zu %d %n", kind, op, type, &bytes, &ranks,
               &used) != 5 ||
        find_op(op) < 0 || !bench_read_type(type))
        return false;
    struct bench_cell *cell =
        cell_of(results, find_op(op), bench_read_type(type), bytes, ranks);
    if (!cell)
        return false;
    if (strcmp(kind, "wrong") == 0 && sscanf(line + used, "%zu", &wrong) == 1) {
        cell->wrong = (cell->wrong == SIZE_MAX ? 0 : cell->wrong) + wrong;
        return true;
    }
    int head = 0;
    struct bench_samples *samples = samples_of(cell, kind);
    if (!samples || sscanf(line + used, "%d %n", &side, &head) != 1 ||
        side < 0 || side >= BENCH_SIDES)
        return false;
    return bench_samples_add(&samples[side], line + used + head);
}

static void free_cell_side(struct bench_cell *cell, int side)
{
    bench_samples_free(&cell->samples[side]);
    bench_samples_free(&cell->queued[side]);
    bench_samples_free(&cell->thread[side]);
}

void bench_results_free(struct bench_results *results)
{
    for (int i = 0; i < results->count; i++)
        for (int side = 0; side < BENCH_SIDES; side++)
            free_cell_side(&results->cells[i], side);
    free(results->cells);
}

/* ---- figures ------------------------------------------------------------ */

static double median_us(const struct bench_cell *cell, int side)
{
    return 1e6 * bench_samples_median(&cell->samples[side]);
}

/* nccl-tests' bandwidths: bytes by time; and what each link carries. */
static double algorithm_gbs(const struct bench_cell *cell, double us)
{
    return (double)cell->bytes / us * 1e-3;
}

static double bus_gbs(const struct bench_cell *cell, double us)
{
    int parts = bench_op_parts[cell->op], n = cell->ranks;
    double factor = parts ? (double)parts * (n - 1) / n : 1;
    return algorithm_gbs(cell, us) * factor;
}

static double microseconds(const struct bench_samples *samples)
{
    return 1e6 * bench_samples_median(samples);
}

static void print_medians(const struct bench_samples *samples)
{
    for (int side = 0; side < BENCH_APART; side++)
        if (samples[side].count)
            printf("  %9.2f", microseconds(&samples[side]));
}

static double ratio_of(const struct bench_cell *cell, int jd)
{
    return median_us(cell, jd + BENCH_PEER) / median_us(cell, jd);
}

static bool has_ratio(const struct bench_cell *cell, int jd)
{
    return cell->samples[jd].count && cell->samples[jd + BENCH_PEER].count;
}

static void print_in_place(const struct bench_cell *cell)
{
    const struct bench_samples *samples = cell->samples;
    int shown = samples[BENCH_JD_IN_PLACE].count ? BENCH_JD_IN_PLACE
                                                 : BENCH_PEER_IN_PLACE;
    for (int side = BENCH_JD_IN_PLACE; side <= BENCH_PEER_IN_PLACE; side++)
        if (samples[side].count)
            printf("  %13.2f", median_us(cell, side));
        else
            printf("  %13s", "-");
    if (samples[shown].count)
        printf("  %7.2f %7.2f", algorithm_gbs(cell, median_us(cell, shown)),
               bus_gbs(cell, median_us(cell, shown)));
    else
        printf("  %7s %7s", "-", "-");
    if (has_ratio(cell, BENCH_JD_IN_PLACE))
        printf("  %6.2f", ratio_of(cell, BENCH_JD_IN_PLACE));
    else
        printf("  %6s", "-");
}

static void print_row(const struct bench_cell *cell, bool has_both)
{
    char wrong[24] = "-";
    printf("%-13s %-8s %10zu", bench_op_names[cell->op],
           jd_dtype_name(cell->dtype), cell->bytes);
    for (int side = 0; side < BENCH_APART; side++) {
        if (!cell->samples[side].count) {
            printf("  %29s", "-");
            continue;
        }
        bench_samples_print_columns(&cell->samples[side], &bench_us);
    }
    int shown = cell->samples[BENCH_JD].count ? BENCH_JD : BENCH_PEER;
    printf("  %7.2f %7.2f", algorithm_gbs(cell, median_us(cell, shown)),
           bus_gbs(cell, median_us(cell, shown)));
    if (has_ratio(cell, BENCH_JD))
        printf("  %6.2f", ratio_of(cell, BENCH_JD));
    else
        printf("  %6s", "-");
    if (cell->wrong != SIZE_MAX)
        snprintf(wrong, sizeof wrong, "%zu", cell->wrong);
    printf("  %5s", wrong);
    if (has_both)
        print_in_place(cell);
    print_medians(cell->queued);
    print_medians(cell->thread);
    putchar('\n');
}

/* Whether calls only queue. */
static bool is_queued(const struct bench_results *results)
{
    return results->count && results->cells[0].queued[BENCH_JD].count;
}

/* Whether any was measured in place beside. */
static bool has_places(const struct bench_results *results)
{
    for (int i = 0; i < results->count; i++)
        for (int side = BENCH_APART; side < BENCH_SIDES; side++)
            if (results->cells[i].samples[side].count)
                return true;
    return false;
}

void bench_results_print(const struct bench_results *results, const char *peer)
{
    bool has_both = has_places(results);
    char queue[64] = "", place[80] = "", in_place[32];
    printf("# microseconds: minimum, median, 99th percentile of the rounds' "
           "slowest rank; GB/s of jd's\n# median (algbw, busbw: as nccl-tests "
           "has them); ratio: %s's median / jd's\n",
           peer);
    if (has_both) {
        puts("# in place: of the same call with one buffer for both, the "
             "medians, and GB/s and\n# ratio by them");
        snprintf(in_place, sizeof in_place, "%s in place", peer);
        snprintf(place, sizeof place, "  %13s  %13s  %7s %7s  %6s",
                 "jd in place", in_place, "algbw", "busbw", "ratio");
    }
    if (is_queued(results)) {
        puts("# queue: the median of the microseconds until a call that queues "
             "returns;\n# thread: those of the processor that the calling "
             "thread takes for it (NCCL may\n# have threads of its own)");
        snprintf(queue, sizeof queue, "   queue jd %10s  thread jd %10s", peer,
                 peer);
    }
    printf("%-13s %-8s %10s  %29s  %29s  %7s %7s  %6s  %5s%s%s\n", "op", "type",
           "bytes", "jd", peer, "algbw", "busbw", "ratio", "wrong", place,
           queue);
    for (int i = 0; i < results->count; i++)
        print_row(&results->cells[i], has_both);
}

static void print_json_side(const struct bench_cell *cell, int side,
                            const char *name)
{
    if (cell->samples[side].count)
        bench_samples_print_json(&cell->samples[side], &bench_us, name);
    if (cell->queued[side].count)
        printf(", \"%s_queue_us\": %.4g, \"%s_queue_thread_us\": %.4g", name,
               microseconds(&cell->queued[side]), name,
               microseconds(&cell->thread[side]));
}

void bench_results_print_json(const struct bench_results *results,
                              const char *peer, const char *against,
                              const char *measure)
{
    char place[32];
    for (int i = 0; i < results->count; i++) {
        const struct bench_cell *cell = &results->cells[i];
        bench_json_begin_row(i == 0);
        printf("{\"op\": \"%s\", \"type\": \"%s\", \"bytes\": %zu, "
               "\"ranks\": %d, \"measure\": \"%s\", \"against\": \"%s\"",
               bench_op_names[cell->op], jd_dtype_name(cell->dtype),
               cell->bytes, cell->ranks, measure, against);
        print_json_side(cell, BENCH_JD, "jd");
        print_json_side(cell, BENCH_PEER, peer);
        print_json_side(cell, BENCH_JD_IN_PLACE, "jd_in_place");
        snprintf(place, sizeof place, "%s_in_place", peer);
        print_json_side(cell, BENCH_PEER_IN_PLACE, place);
        if (has_ratio(cell, BENCH_JD))
            printf(", \"ratio\": %.4g", ratio_of(cell, BENCH_JD));
        if (has_ratio(cell, BENCH_JD_IN_PLACE))
            printf(", \"ratio_in_place\": %.4g",
                   ratio_of(cell, BENCH_JD_IN_PLACE));
        if (cell->wrong != SIZE_MAX)
            printf(", \"wrong\": %zu", cell->wrong);
        printf("}");
    }
    if (results->count == 0)
        putchar('[');
    bench_json_end();
}
