/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint.c - jd_array_save and jd_array_restore beside dd: starts
 * the jobs, prints the table.
 */
#include "bench/checkpoint/checkpoint.h"
#include "base/parse.h"
#include "bench/checkpoint/files.h"
#include "bench/engine/flags.h"
#include "bench/engine/launch.h"
#include "bench/engine/samples.h"
#include "bench/jd_bench.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB 1048576.0
#define TARGET 0.8         /* of what dd does */
#define MOST_RESIDENT 0.01 /* in memory, of what is called cold */

static const char usage[] =
    "Usage: jd-bench checkpoint [options]\n"
    "\n"
    "Measures jd_array_save(), with its fsync, and jd_array_restore() of\n"
    "files that are not in memory, between processes that it starts, with dd\n"
    "beside them on the same file system, by turns: dd conv=fsync of the\n"
    "same values out of memory into a new file, and dd of that file, which\n"
    "is not in memory, into nothing. A sample is the slowest process's time\n"
    "of a call, and the time from the start of dd to its end. Each save is\n"
    "into a new directory.\n"
    "\n"
    "  --bytes N          of the array, in whole MiB (default 256MiB);\n"
    "                     the directory and the memory hold twice as many\n"
    "  --dir DIR          where (default: here); a new directory in it is\n"
    "                     used and removed\n"
    "  --processes LIST   numbers of processes (default 2)\n"
    "  --launcher TEXT    what starts the processes, instead of mpirun with\n"
    "                     --processes: \"srun --mpi=pmix -N2 -n4\"\n"
    "  --launches N       of each number (default 1)\n"
    "  --rounds N         samples of a launch (default 5)\n"
    "  --json             rows with what, bytes, processes, file_system,\n"
    "                     jd_s, dd_s, ratio and more\n"
    "  --help             print this and exit\n";

struct options {
    struct checkpoint_request request;
    struct bench_launch launch;
    const char *place; /* the new directory in the one asked for */
    bool is_job;
};

/* What one number of processes gave. */
struct row {
    int processes;
    double resident;
    struct bench_samples samples[CHECKPOINT_STEPS];
};

/* ---- jobs --------------------------------------------------------------- */

static bool take_line(void *arg, const char *line)
{
    struct row *row = arg;
    double resident;
    int step, processes, head = 0;
    if (sscanf(line, "cell %d %d %lf %n", &step, &processes, &resident,
               &head) != 3 ||
        step < 0 || step >= CHECKPOINT_STEPS ||
        !bench_samples_add(&row->samples[step], line + head))
        return false;
    row->processes = processes;
    row->resident = resident > row->resident ? resident : row->resident;
    return true;
}

static void append_flags(const void *options, char *command, size_t used)
{
    const struct options *o = options;
    bench_launch_append(command, used,
                        "--job --dir '%s' --bytes %zu --rounds %d", o->place,
                        o->request.bytes, o->request.rounds);
}

/* ---- what came out ------------------------------------------------------ */

static void print_side(const struct row *row, const char *what,
                       const char *name, int step, size_t bytes, double ratio)
{
    const struct bench_samples *samples = &row->samples[step];
    printf("%9d  %-8s %-5s", row->processes, what, name);
    bench_samples_print_columns(samples, &bench_s);
    printf("  %9.1f  %6.2f\n",
           (double)bytes / MIB / bench_samples_median(samples), ratio);
}

static double ratio_of(const struct row *row, int step)
{
    return bench_samples_median(&row->samples[step + 1]) /
           bench_samples_median(&row->samples[step]);
}

static void print_pair(const struct row *row, const char *what, int step,
                       size_t bytes)
{
    char name[64];
    double ratio = ratio_of(row, step);
    print_side(row, what, "jd", step, bytes, 1);
    print_side(row, what, "dd", step + 1, bytes, ratio);
    snprintf(name, sizeof name, "%s: dd's time / jd's", what);
    bench_report_least(name, ratio, "", TARGET);
}

static void print_row(const struct options *o, const struct row *row)
{
    print_pair(row, "save", CHECKPOINT_SAVE, o->request.bytes);
    print_pair(row, "restore", CHECKPOINT_RESTORE, o->request.bytes);
    if (row->resident > MOST_RESIDENT)
        printf("  not cold: the file system keeps %.0f %% of the files in "
               "memory\n",
               100 * row->resident);
    fflush(stdout);
}

static void print_json_row(const struct options *o, const struct row *row,
                           const char *what, int step)
{
    char system[BENCH_FILE_SYSTEM];
    bench_file_system(o->request.dir, system);
    printf("{\"what\": \"%s\", \"bytes\": %zu, \"processes\": %d, "
           "\"file_system\": \"%s\", \"resident\": %.4g",
           what, o->request.bytes, row->processes, system, row->resident);
    bench_samples_print_json(&row->samples[step], &bench_s, "jd");
    bench_samples_print_json(&row->samples[step + 1], &bench_s, "dd");
    printf(", \"ratio\": %.4g}", ratio_of(row, step));
}

static void print_json(const struct options *o, const struct row *row,
                       bool is_first)
{
    bench_json_begin_row(is_first);
    print_json_row(o, row, "save", CHECKPOINT_SAVE);
    bench_json_begin_row(false);
    print_json_row(o, row, "restore", CHECKPOINT_RESTORE);
}

static bool measure(const struct options *o, int kind)
{
    struct row row = { .processes = 0 };
    const struct bench_job job = { .name = "checkpoint",
                                   .append = append_flags,
                                   .options = o,
                                   .take = take_line,
                                   .results = &row };
    bool ok = bench_launch_all(&o->launch, kind, &job);
    if (ok && row.samples[CHECKPOINT_DD_READ].count == 0) {
        fprintf(stderr, "jd-bench: the job printed no figures\n");
        ok = false;
    }
    if (ok && o->launch.json)
        print_json(o, &row, kind == 0);
    else if (ok)
        print_row(o, &row);
    for (int step = 0; step < CHECKPOINT_STEPS; step++)
        bench_samples_free(&row.samples[step]);
    return ok;
}

/* ---- the directory ------------------------------------------------------ */

/* An interrupt ends the job, whose files are then removed. */
static void stay(int signal)
{
    (void)signal;
}

/* A new directory; false where that cannot be, which stderr says. */
static bool make_directory(const struct options *o, char path[PATH_MAX])
{
    char absolute[PATH_MAX];
    if (!bench_has_room(o->request.dir, 2 * o->request.bytes + (16 << 20)))
        return false;
    if (!realpath(o->request.dir, absolute) ||
        snprintf(path, PATH_MAX, "%s/jd-bench-XXXXXX", absolute) >= PATH_MAX ||
        !mkdtemp(path)) {
        fprintf(stderr, "jd-bench: no directory can be made in %s: %s\n",
                o->request.dir, strerror(errno));
        return false;
    }
    return true;
}

static void print_head(const struct options *o)
{
    char system[BENCH_FILE_SYSTEM];
    bench_file_system(o->request.dir, system);
    bench_print_machine();
    printf("# %zu bytes of F32 on %s; dd bs=1M, with conv=fsync to write\n"
           "# seconds: minimum, median, 99th percentile of the rounds' slowest "
           "rank; MiB/s and\n"
           "# ratio (dd's median / jd's) of medians. Files are dropped from "
           "memory before they\n"
           "# are read (posix_fadvise, seen by mincore); what a disk, or a "
           "host below a virtual\n"
           "# machine, keeps is not\n",
           o->request.bytes, system);
    printf("%9s  %-8s %-5s  %29s  %9s  %6s\n", "processes", "what", "side", "s",
           "MiB/s", "ratio");
    fflush(stdout);
}

static int run_parent(struct options *o)
{
    char dir[PATH_MAX];
    bool ok = true;
    if (!make_directory(o, dir))
        return 1;
    o->place = dir;
    sigaction(SIGINT,
              &(struct sigaction){ .sa_handler = stay, .sa_flags = SA_RESTART },
              NULL);
    if (!o->launch.json)
        print_head(o);
    for (int i = 0; i < bench_launch_kinds(&o->launch) && ok; i++)
        ok = measure(o, i);
    if (o->launch.json && ok)
        bench_json_end();
    bench_remove(dir);
    return ok ? 0 : 1;
}

/* ---- the flags ---------------------------------------------------------- */

static bool read_bytes(struct options *o, const char *text)
{
    long long bytes;
    if (!jd__parse_bytes(text, &bytes) || bytes < 1 || bytes % (1 << 20) != 0)
        return false;
    o->request.bytes = (size_t)bytes;
    return true;
}

/* The shell that starts the job takes it between quotes. */
static bool read_dir(struct options *o, const char *text)
{
    struct stat info;
    o->request.dir = text;
    return !strchr(text, '\'') && stat(text, &info) == 0 &&
           S_ISDIR(info.st_mode);
}

static const char *set(void *arg, int flag, char *text)
{
    struct options *o = arg;
    const char *wanted;
    if (bench_launch_take(&o->launch, flag, text, &wanted))
        return wanted;
    switch (flag) {
    case 'b':
        return read_bytes(o, text) ? NULL : "whole MiB, as in 256MiB";
    case 'd':
        return read_dir(o, text) ? NULL : "a directory without ' in its name";
    case 'r':
        return bench_read_rounds(text, &o->request.rounds);
    default:
        o->is_job = true;
        return NULL;
    }
}

static int run(int argc, char **argv)
{
    static const struct option words[] = {
        { "bytes", required_argument, NULL, 'b' },
        { "dir", required_argument, NULL, 'd' },
        { "processes", required_argument, NULL, 'p' },
        { "launcher", required_argument, NULL, 'l' },
        { "launches", required_argument, NULL, 'n' },
        { "rounds", required_argument, NULL, 'r' },
        { "json", no_argument, NULL, 'j' },
        { "job", no_argument, NULL, 'o' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    const struct bench_flags flags = { "checkpoint", usage, words, set };
    struct options o = {
        .request = { .dir = ".", .bytes = (size_t)256 << 20, .rounds = 5 },
        .launch = { .processes = { 2 }, .num_processes = 1, .launches = 1 },
    };
    int status = bench_read_flags(&flags, argc, argv, &o);
    if (status >= 0)
        return status;
    if (o.is_job)
        return checkpoint_job(&o.request);
    return bench_launch_is_alone() ? run_parent(&o) : 2;
}

const struct bench bench_checkpoint = {
    .name = "checkpoint",
    .doc = "saving and restoring arrays beside dd",
    .run = run,
};
