/* SPDX-License-Identifier: BSD-3-Clause */
/* launch.c - starts jobs of this program and reads what they print. */
#include "bench/engine/launch.h"
#include "base/env.h"
#include "base/parse.h"
#include "bench/jd_bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_PROCESSES = 1024, MAX_LAUNCHES = 200 };

static bool read_processes(struct bench_launch *launch, const char *text)
{
    return bench_read_counts(text, MAX_PROCESSES, BENCH_MAX_JOBS,
                             launch->processes, &launch->num_processes);
}

bool bench_launch_take(struct bench_launch *launch, int flag, char *text,
                       const char **ret_wanted)
{
    *ret_wanted = NULL;
    switch (flag) {
    case 'p':
        if (!read_processes(launch, text))
            *ret_wanted = "a comma list of numbers from 1 to 1024";
        return true;
    case 'n':
        if (!bench_read_number(text, MAX_LAUNCHES, &launch->launches))
            *ret_wanted = "from 1 to 200";
        return true;
    case 'l':
        launch->launcher = text;
        return true;
    case 'j':
        launch->json = true;
        return true;
    default:
        return false;
    }
}

/* 1 where it is not said. */
static long long count_processes(void)
{
    struct jd_env *env;
    long long count = 1;
    if (jd__env_from_process(&env) != JD_OK)
        return 1;
    const char *text = jd__env_get(env, "OMPI_COMM_WORLD_SIZE");
    if (!text || !jd__parse_integer(text, &count))
        count = 1;
    jd__env_destroy(env);
    return count;
}

bool bench_launch_is_alone(void)
{
    long long count = count_processes();
    if (count > 1)
        fprintf(stderr,
                "jd-bench: this is one of %lld processes that mpirun started "
                "(OMPI_COMM_WORLD_SIZE), and each of them would start the jobs "
                "that are measured; run it once, without mpirun: --processes "
                "says how many processes a job has\n",
                count);
    return count <= 1;
}

int bench_launch_kinds(const struct bench_launch *launch)
{
    return launch->launcher ? 1 : launch->num_processes;
}

size_t bench_launch_append(char *text, size_t used, const char *format, ...)
{
    va_list arguments;
    if (used + 1 >= BENCH_COMMAND)
        return used;
    text[used++] = ' ';
    va_start(arguments, format);
    used +=
        (size_t)vsnprintf(text + used, BENCH_COMMAND - used, format, arguments);
    va_end(arguments);
    return used;
}

/* All sides wait alike: jd sets this where there are more processes than
 * cores, and a plain MPI program must not be slower for want of it. */
static size_t begin_mpirun(int processes, const struct bench_job *job,
                           char *text)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    bool is_bound = processes <= cores && !job->is_unbound;
    if (job->has_defaults)
        return (size_t)snprintf(text, BENCH_COMMAND,
                                "mpirun --oversubscribe -n %d", processes);
    return (size_t)snprintf(
        text, BENCH_COMMAND,
        "mpirun --oversubscribe %s --mca mpi_yield_when_idle %d -n %d",
        is_bound ? "--bind-to core" : "--bind-to none", processes > cores,
        processes);
}

static void make_command(const struct bench_launch *launch, int kind,
                         const struct bench_job *job, char *text)
{
    size_t used =
        launch->launcher
            ? (size_t)snprintf(text, BENCH_COMMAND, "%s", launch->launcher)
            : begin_mpirun(launch->processes[kind], job, text);
    used =
        bench_launch_append(text, used, "'%s' %s", bench_program(), job->name);
    job->append(job->options, text, used);
}

void bench_show_progress(const char *format, ...)
{
    va_list arguments;
    if (!isatty(STDERR_FILENO))
        return;
    fputc('\r', stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("\033[K", stderr);
}

static bool run(const struct bench_launch *launch, const char *command,
                bool is_shown, const struct bench_job *job)
{
    char *line = NULL;
    size_t size = 0;
    FILE *pipe = popen(command, "r");
    while (pipe && getline(&line, &size, pipe) > 0)
        if (!job->take(job->results, line) && is_shown && !launch->json)
            fputs(line, stdout);
    free(line);
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    if (pipe && pclose(pipe) == 0)
        return true;
    fprintf(stderr, "jd-bench: this failed; its own message is above: %s\n",
            command);
    return false;
}

bool bench_launch_one(const struct bench_launch *launch, int kind,
                      const struct bench_job *job, int number)
{
    char command[BENCH_COMMAND];
    make_command(launch, kind, job, command);
    bench_show_progress("%d processes, launch %d of %lld",
                        launch->processes[kind], number + 1, launch->launches);
    return run(launch, command, number == 0, job);
}

bool bench_launch_all(const struct bench_launch *launch, int kind,
                      const struct bench_job *job)
{
    bool ok = true;
    for (int i = 0; i < launch->launches && ok; i++)
        ok = bench_launch_one(launch, kind, job, i);
    return ok;
}
