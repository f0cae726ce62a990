/* SPDX-License-Identifier: BSD-3-Clause */
/* data.c - the rows of each process. */
#include "data.h"

#include <jd.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- processes that agree --------------------------------------------- */

int agree(const char *why)
{
    int processes = jd_process_count(), failed = *why != '\0', lowest = 0;
    int *all = malloc((size_t)processes * sizeof *all);
    if (!all)
        jd_abort(FAILED, "no memory for one flag per process");
    jd_leaf in = { &failed, JD_S32, 0, NULL };
    jd_leaf out = { all, JD_S32, 1, (int64_t[]){ processes } };
    JD_CHECK(jd_process_allgather(&in, &out, 1, 0));
    while (lowest < processes && !all[lowest])
        lowest++;
    free(all);
    if (lowest == jd_process_index())
        fprintf(stderr, "%s: %s\n", program, why);
    return lowest < processes ? -1 : 0;
}

/* ---- data ------------------------------------------------------------- */

/* What one process has read; two S64 in a message. */
struct part {
    int64_t lines, bytes;
};

/* Prints who has what; parts holds one entry for each process. */
static void print_parts(const struct part *parts, const char *path)
{
    int devices, processes = jd_process_count();
    const jd_device *const *all = jd_devices(&devices);
    printf("processes: %d, devices: %d, data: %s\n", processes, devices, path);
    printf("%7s %8s %8s  %-16s %12s %7s\n", "process", "device", "platform",
           "host", "lines", "bytes");
    for (int d = 0; d < devices; d++) {
        int p = all[d]->process_index;
        int64_t before = 0;
        for (int i = 0; i < p; i++)
            before += parts[i].lines;
        char lines[48];
        snprintf(lines, sizeof lines, "%" PRId64 "-%" PRId64, before + 1,
                 before + parts[p].lines);
        printf("%7d %8" PRId64 " %8s  %-16s %12s %7" PRId64 "\n", p, all[d]->id,
               all[d]->platform, all[d]->host, parts[p].lines ? lines : "none",
               parts[p].bytes);
    }
}

/* Learns how many lines the processes before this one have, and all. */
static void number_lines(const struct share *share, struct data *data)
{
    int processes = jd_process_count(), me = jd_process_index();
    struct part own = { share->lines, (int64_t)share->bytes };
    struct part *all = malloc((size_t)processes * sizeof *all);
    if (!all)
        jd_abort(FAILED, "no memory for the counts of all processes");
    jd_leaf in = { &own, JD_S64, 1, (int64_t[]){ 2 } };
    jd_leaf out = { all, JD_S64, 2, (int64_t[]){ processes, 2 } };
    JD_CHECK(jd_process_allgather(&in, &out, 1, 0));
    data->first_line = 1;
    data->total = 0;
    for (int p = 0; p < processes; p++) {
        data->first_line += p < me ? all[p].lines : 0;
        data->total += all[p].lines;
    }
    if (me == 0)
        print_parts(all, share->path);
    free(all);
}

/* Turns a share into rows; all processes get the same return value. */
static int parse_share(const struct share *share, struct data *data)
{
    char why[512] = "";
    number_lines(share, data);
    data->count = share->lines;
    data->rows = calloc((size_t)share->lines + 1, sizeof *data->rows);
    if (data->total < HELD_OUT)
        snprintf(why, sizeof why,
                 "%s: fewer than %d lines; every fifth is held out",
                 share->path, HELD_OUT);
    else if (!data->rows)
        snprintf(why, sizeof why, "%s: no memory for %" PRId64 " rows",
                 share->path, share->lines);
    else
        parse_rows(share, data->first_line, data->rows, why, sizeof why);
    return agree(why);
}

int read_data(const char *path, struct data *data)
{
    char why[512] = "";
    struct share share = { .path = path };
    read_share(path, jd_process_index(), jd_process_count(), &share, why,
               sizeof why);
    if (agree(why) != 0) {
        free(share.text);
        return -1;
    }
    /* Another file under the same name on another host ends here. */
    jd_leaf size = { &share.file_bytes, JD_S64, 0, NULL };
    JD_CHECK(jd_assert_equal(&size, 1, path));
    int failed = parse_share(&share, data);
    free(share.text);
    return failed;
}
