/* SPDX-License-Identifier: BSD-3-Clause */
/* sides.c - measurements whose jobs compare a few sides. */
#include "bench/engine/sides.h"
#include "bench/jd_bench.h"

#include <stdint.h>
#include <stdio.h>

double bench_row_median_us(const struct bench_row *row, int side)
{
    return 1e6 * bench_samples_median(&row->samples[side]);
}

/* ---- the job ------------------------------------------------------------ */

/* Those whose ranks share memory. */
static int count_hosts(MPI_Comm comm)
{
    MPI_Comm host;
    int rank, is_first, hosts;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_free(&host);
    is_first = rank == 0;
    MPI_Allreduce(&is_first, &hosts, 1, MPI_INT, MPI_SUM, comm);
    return hosts;
}

void bench_sides_print(const struct bench_turns *turns, int count,
                       const size_t *wrong, double (*samples)[BENCH_MAX_ROUNDS])
{
    char head[96];
    int rank, size, hosts = count_hosts(turns->comm);
    MPI_Comm_rank(turns->comm, &rank);
    MPI_Comm_size(turns->comm, &size);
    for (int side = 0; side < count && rank == 0; side++) {
        if (wrong[side] == SIZE_MAX)
            continue;
        snprintf(head, sizeof head, "cell %d %d %d %zu", side, size, hosts,
                 wrong[side]);
        bench_samples_print(head, samples[side], turns->rounds);
    }
    fflush(stdout);
}

/* ---- the parent --------------------------------------------------------- */

static bool take_line(void *arg, const char *line)
{
    struct bench_row *row = arg;
    size_t wrong;
    int side, processes, hosts, head = 0;
    if (sscanf(line, "cell %d %d %d %zu %n", &side, &processes, &hosts, &wrong,
               &head) != 4 ||
        side < 0 || side >= BENCH_MAX_SIDES ||
        !bench_samples_add(&row->samples[side], line + head))
        return false;
    row->processes = processes;
    row->hosts = hosts;
    row->wrong[side] += wrong;
    return true;
}

static void print(const struct bench_sides *sides, const void *options,
                  const struct bench_launch *launch, int kind,
                  const struct bench_row *row)
{
    if (!launch->json) {
        sides->print_row(options, row);
        fflush(stdout);
        return;
    }
    bench_json_begin_row(kind == 0);
    printf("{");
    sides->print_json(options, row);
    printf("}");
}

/* All launches of one number of processes; false where one failed or an element
 * was wrong. */
static bool measure(const struct bench_sides *sides,
                    const struct bench_launch *launch, struct bench_job job,
                    int kind)
{
    struct bench_row row = { .processes = 0 };
    job.take = take_line;
    job.results = &row;
    bool ok = bench_launch_all(launch, kind, &job);
    if (ok && row.samples[0].count == 0) {
        fprintf(stderr, "jd-bench: the job printed no figures\n");
        ok = false;
    }
    if (ok)
        print(sides, job.options, launch, kind, &row);
    for (int side = 0; side < sides->count; side++) {
        bench_samples_free(&row.samples[side]);
        ok = ok && row.wrong[side] == 0;
    }
    return ok;
}

int bench_sides_run(const struct bench_sides *sides,
                    const struct bench_launch *launch, struct bench_job job)
{
    bool ok = true;
    if (!launch->json) {
        bench_print_machine();
        sides->print_head(job.options);
        fflush(stdout);
    }
    for (int i = 0; i < bench_launch_kinds(launch) && ok; i++)
        ok = measure(sides, launch, job, i);
    if (launch->json && ok)
        bench_json_end();
    return ok ? 0 : 1;
}
