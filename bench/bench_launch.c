/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_launch.c - starts jobs of this program and reads what they print. */
#include "bench/bench_launch.h"
#include "base/env.h"
#include "base/parse.h"
#include "bench/jd_bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_PROCESSES = 1024, MAX_LAUNCHES = 100 };

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
            *ret_wanted = "from 1 to 100";
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
size_t bench_launch_command(const struct bench_launch *launch, int processes,
                            const char *name, char *text)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t used;
    if (launch->launcher)
        used = (size_t)snprintf(text, BENCH_COMMAND, "%s", launch->launcher);
    else
        used = (size_t)snprintf(
            text, BENCH_COMMAND,
            "mpirun --oversubscribe %s --mca mpi_yield_when_idle %d -n %d",
            processes <= cores ? "--bind-to core" : "--bind-to none",
            processes > cores, processes);
    return bench_launch_append(text, used, "'%s' %s", bench_program(), name);
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

bool bench_launch_run(const struct bench_launch *launch, const char *command,
                      bool is_shown, bool (*take)(void *arg, const char *line),
                      void *arg)
{
    char *line = NULL;
    size_t size = 0;
    FILE *pipe = popen(command, "r");
    while (pipe && getline(&line, &size, pipe) > 0)
        if (!take(arg, line) && is_shown && !launch->json)
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
