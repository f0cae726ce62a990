/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * failure.c - how soon a job of 8 processes knows of a death among
 * them, and is gone. This process kills or stops process 3 itself, reads the
 * others' stderr and watches their ends (pidfd), so that all times are of one
 * clock. The survivors are all in a blocking MPI_Barrier. Their stderr is a
 * pipe of this process's: launchers may lose the last words of a job.
 */
#include "base/clock.h"
#include "bench/service/parts.h"
#include "bench/jd_bench.h"
#include "jd_mpi.h"
#include "jd_process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 8, VICTIM = 3, MAX_WORDS = 16, LINE = 1024 };
#define HEARTBEAT_SECONDS 3
#define START_SECONDS 60.0
#define END_SECONDS 20.0

/* ---- in the job --------------------------------------------------------- */

int bench_failure_child(const char *stderr_path)
{
    char host[256] = "";
    int fd = open(stderr_path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        dup2(fd, STDERR_FILENO);
    JD_CHECK(jd_initialize());
    gethostname(host, sizeof host - 1);
    printf("ready %d %d %s\n", jd_process_index(), (int)getpid(), host);
    fflush(stdout);
    if (jd_process_index() != VICTIM)
        MPI_Barrier(jd_mpi_comm()); /* never returns */
    for (;;)
        pause();
}

/* ---- kinds of jobs ------------------------------------------------------ */

struct kind {
    const char *name;
    int signal_number;
    double most_told, most_gone; /* seconds; gone 0: no target */
    const char *words[MAX_WORDS];
};

static const struct kind kinds[] = {
    { .name = "SIGKILL, mpirun",
      .signal_number = SIGKILL,
      .most_told = 0.5,
      .most_gone = 2,
      .words = { "mpirun", "--oversubscribe", "-n", "8" } },
    { .name = "SIGKILL, mpirun --enable-recovery",
      .signal_number = SIGKILL,
      .most_told = 0.5,
      .most_gone = 2,
      .words = { "mpirun", "--oversubscribe", "--enable-recovery", "--mca",
                 "orte_abort_on_non_zero_status", "0", "-n", "8" } },
    { .name = "SIGKILL, srun --mpi=pmix",
      .signal_number = SIGKILL,
      .most_told = 0.5,
      .most_gone = 2,
      .words = { "srun", "--mpi=pmix", "--overcommit", "-N", "1", "-n", "8" } },
    { .name = "SIGSTOP, mpirun, JD_HEARTBEAT_TIMEOUT=3",
      .signal_number = SIGSTOP,
      .most_told = HEARTBEAT_SECONDS + 1,
      .words = { "mpirun", "--oversubscribe", "-x", "JD_HEARTBEAT_TIMEOUT=3",
                 "-n", "8" } },
};
enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

/* ---- one job ------------------------------------------------------------ */

/* What is read of it: the launcher's output, the processes' stderr. */
enum { OUT, ERR, OWN, NUM_STREAMS };
enum { FIRST_PROCESS = NUM_STREAMS, NUM_WATCHED = FIRST_PROCESS + PROCESSES };

struct job {
    struct bench_program program;
    struct pollfd watched[NUM_WATCHED]; /* fd -1: it has ended */
    int own[2];                         /* the pipe for stderr */
    char lines[NUM_STREAMS][LINE];
    size_t used[NUM_STREAMS];
    char words[4 * LINE]; /* on stderr before the signal */
    int signal_number;
    int ready;
    bool is_elsewhere; /* on another host, where we cannot look */
    bool has_told[PROCESSES];
    int sentences, ends; /* of the survivors */
    double struck;       /* when the victim got its signal; 0: not yet */
    double told, gone;   /* seconds since then; INFINITY: not all */
};

static void strike(struct job *job)
{
    int victim = job->watched[FIRST_PROCESS + VICTIM].fd;
    job->struck = jd__clock_now();
    syscall(SYS_pidfd_send_signal, victim, job->signal_number, NULL, 0);
}

static void on_ready(struct job *job, const char *line)
{
    char host[256], own[256] = "";
    int process, pid;
    gethostname(own, sizeof own - 1);
    if (sscanf(line, "ready %d %d %255s", &process, &pid, host) != 3 ||
        process < 0 || process >= PROCESSES)
        return;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    job->is_elsewhere = strcmp(host, own) != 0 || fd < 0;
    job->watched[FIRST_PROCESS + process].fd = fd;
    if (++job->ready == PROCESSES && !job->is_elsewhere)
        strike(job);
}

static void on_sentence(struct job *job, int process)
{
    if (process < 0 || process >= PROCESSES || process == VICTIM ||
        job->has_told[process])
        return;
    job->has_told[process] = true;
    if (++job->sentences == PROCESSES - 1)
        job->told = jd__clock_now() - job->struck;
}

static void on_line(struct job *job, int stream, const char *line)
{
    int process;
    size_t used = strlen(job->words);
    if (stream == OUT)
        on_ready(job, line);
    else if (job->struck == 0)
        snprintf(job->words + used, sizeof job->words - used, "%s\n", line);
    else if (sscanf(line, "jd %d/", &process) == 1 &&
             strstr(line, " process 3 "))
        on_sentence(job, process);
}

static void on_output(struct job *job, int stream)
{
    char *line = job->lines[stream];
    size_t *used = &job->used[stream];
    ssize_t got = read(job->watched[stream].fd, line + *used, LINE - 1 - *used);
    if (got <= 0) {
        job->watched[stream].fd = -1;
        return;
    }
    *used += (size_t)got;
    line[*used] = '\0';
    char *end;
    while ((end = strchr(line, '\n'))) {
        *end = '\0';
        on_line(job, stream, line);
        *used -= (size_t)(end + 1 - line);
        memmove(line, end + 1, *used + 1);
    }
    if (*used == LINE - 1) /* a line that is too long is of no use */
        *used = 0;
}

static void on_gone(struct job *job, int process)
{
    struct pollfd *watched = &job->watched[FIRST_PROCESS + process];
    close(watched->fd);
    watched->fd = -1;
    if (job->struck > 0 && process != VICTIM && ++job->ends == PROCESSES - 1)
        job->gone = jd__clock_now() - job->struck;
}

static bool is_over(const struct job *job)
{
    for (int i = 0; i < NUM_WATCHED; i++)
        if (i != OWN && job->watched[i].fd >= 0)
            return false;
    return true;
}

static void drain(struct job *job)
{
    while (poll(&job->watched[OWN], 1, 0) > 0)
        on_output(job, OWN);
}

static void watch(struct job *job)
{
    double start = jd__clock_now(), left;
    while (!is_over(job) && !job->is_elsewhere) {
        left = (job->struck > 0 ? job->struck + END_SECONDS
                                : start + START_SECONDS) -
               jd__clock_now();
        if (left <= 0)
            break;
        if (poll(job->watched, NUM_WATCHED, (int)(1e3 * left) + 1) <= 0)
            continue;
        for (int i = 0; i < NUM_WATCHED; i++) {
            if (job->watched[i].fd < 0 || !job->watched[i].revents)
                continue;
            if (i < NUM_STREAMS)
                on_output(job, i);
            else
                on_gone(job, i - FIRST_PROCESS);
        }
    }
    drain(job);
}

/* Nothing of the job is left. */
static void clear(struct job *job)
{
    close(job->own[0]);
    close(job->own[1]);
    for (int i = FIRST_PROCESS; i < NUM_WATCHED; i++) {
        if (job->watched[i].fd < 0)
            continue;
        syscall(SYS_pidfd_send_signal, job->watched[i].fd, SIGKILL, NULL, 0);
        poll(&job->watched[i], 1, (int)(1e3 * END_SECONDS));
        close(job->watched[i].fd);
    }
    bench_program_end(&job->program,
                      jd__clock_now() + (job->struck > 0 ? 10 : 0));
}

static bool start_job(const struct kind *kind, struct job *job)
{
    const char *command[MAX_WORDS + 5];
    char path[64];
    int n = 0;
    if (pipe2(job->own, O_CLOEXEC) != 0)
        return bench_complain("a pipe cannot be made: %s", strerror(errno));
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), job->own[1]);
    for (; kind->words[n]; n++)
        command[n] = kind->words[n];
    command[n++] = bench_program();
    command[n++] = "--child";
    command[n++] = "failure";
    command[n++] = path;
    command[n] = NULL;
    if (bench_program_start(command, SIGTERM, &job->program))
        return true;
    close(job->own[0]);
    close(job->own[1]);
    return false;
}

static bool run_job(const struct kind *kind, struct job *job)
{
    memset(job, 0, sizeof *job);
    job->told = job->gone = INFINITY;
    job->signal_number = kind->signal_number;
    for (int i = 0; i < NUM_WATCHED; i++)
        job->watched[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
    if (!start_job(kind, job))
        return false;
    job->watched[OUT].fd = job->program.out;
    job->watched[ERR].fd = job->program.err;
    job->watched[OWN].fd = job->own[0];
    watch(job);
    clear(job);
    if (job->struck > 0 || job->is_elsewhere)
        return true;
    return bench_complain("only %d of %d processes of %s began; they said:\n%s",
                          job->ready, PROCESSES, kind->words[0], job->words);
}

/* ---- all of them -------------------------------------------------------- */

/* A Slurm that answers. */
static bool has_slurm(void)
{
    static const char *const command[] = { "scontrol", "ping", NULL };
    struct bench_program program;
    return bench_program_start(command, SIGKILL, &program) &&
           bench_program_end(&program, jd__clock_now() + 10) == 0;
}

static void print_times(const char *what, double *values, int n)
{
    double median = bench_median(values, n);
    printf("  %-20s %6.3f / %.3f / %.3f s\n", what, values[0], median,
           values[n - 1]);
}

static bool measure(const struct kind *kind, int runs)
{
    double told[BENCH_MAX_SAMPLES], gone[BENCH_MAX_SAMPLES];
    int least = PROCESSES;
    for (int i = 0; i < runs; i++) {
        struct job job;
        if (!run_job(kind, &job))
            return false;
        if (job.is_elsewhere) {
            printf("%s: not measured, the job is on another host\n",
                   kind->name);
            return true;
        }
        told[i] = job.told;
        gone[i] = job.gone;
        least = job.sentences < least ? job.sentences : least;
    }
    printf("%s: %d of %d survivors said it\n", kind->name, least,
           PROCESSES - 1);
    print_times("the last sentence", told, runs);
    print_times("the last one gone", gone, runs);
    bench_report_most("the last sentence, at worst", bench_maximum(told, runs),
                      " s", kind->most_told);
    if (kind->most_gone > 0)
        bench_report_most("the last one gone, at worst",
                          bench_maximum(gone, runs), " s", kind->most_gone);
    fflush(stdout);
    return true;
}

bool bench_failures(const struct bench_plan *plan)
{
    bool is_well = true;
    printf("\n# Failure: of %d processes on this host process %d gets the "
           "signal while the others\n"
           "# are in MPI_Barrier; seconds from there, least / median / "
           "greatest of %d jobs\n",
           PROCESSES, VICTIM, plan->failures);
    fflush(stdout);
    for (int i = 0; is_well && i < NUM_KINDS; i++) {
        if (strcmp(kinds[i].words[0], "srun") == 0 && !has_slurm())
            printf("%s: not measured, no Slurm answers here\n", kinds[i].name);
        else
            is_well = measure(&kinds[i], plan->failures);
    }
    printf("host cut off: not measured, it needs two hosts "
           "(tests/cluster)\n");
    return is_well;
}
