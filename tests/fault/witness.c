/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * witness COMMAND... - runs a process of a job and writes its exit code, or
 * 128 and its signal, to $FAULT_DIR/code.RANK: launchers return the first
 * one's only. Where $FAULT_STDERR names a file, its standard error goes to the
 * file's end: an mpirun that ends a job drops what it has not read. It outlives
 * a launcher's SIGTERM, which is meant for the command. Where its rank is one
 * of $FAULT_STAY ("0 1 4"), it stays until all of these have written their
 * codes: mpirun kills the others when it sees a process end, and sooner with
 * each that it sees. Not an MPI program.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void ignore(int number)
{
    (void)number;
}

static int wait_for(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 99;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int own_rank(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    rank = rank ? rank : getenv("SLURM_PROCID");
    rank = rank ? rank : getenv("JD_PROCESS_ID");
    return rank ? atoi(rank) : -1;
}

enum { MAX_PATH = 4096 };

static void code_path(int rank, char path[MAX_PATH])
{
    const char *dir = getenv("FAULT_DIR");
    snprintf(path, MAX_PATH, "%s/code.%d", dir ? dir : ".", rank);
}

static void write_code(int code)
{
    char path[MAX_PATH], part[MAX_PATH + 8];
    code_path(own_rank(), path);
    snprintf(part, sizeof part, "%s.part", path);
    FILE *out = fopen(part, "w");
    if (!out)
        return;
    fprintf(out, "%d\n", code);
    fclose(out);
    rename(part, path); /* whole, or not there */
}

/* Calls the function with each rank of $FAULT_STAY; whether all were true. */
static int each_that_stays(int (*is_so)(int rank))
{
    const char *at = getenv("FAULT_STAY");
    int all = 1;
    char *end;
    for (long rank; at && (rank = strtol(at, &end, 10), end != at); at = end)
        all = is_so((int)rank) && all;
    return all;
}

static int is_another(int rank)
{
    return rank != own_rank();
}

static int has_ended(int rank)
{
    char path[MAX_PATH];
    code_path(rank, path);
    return access(path, F_OK) == 0;
}

static void stay(void)
{
    static const struct timespec moment = { 0, 5000000 };
    if (each_that_stays(is_another))
        return;
    while (!each_that_stays(has_ended))
        nanosleep(&moment, NULL);
}

static void run(char **command)
{
    const char *path = getenv("FAULT_STDERR");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!path || freopen(path, "a", stderr))
        execv(command[0], command);
    _exit(98);
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = ignore };
    sigaction(SIGTERM, &action, NULL); /* a handler: exec takes it away */
    pid_t child = argc > 1 ? fork() : -1;
    if (child < 0)
        return 99;
    if (child == 0)
        run(argv + 1);
    int code = wait_for(child);
    write_code(code);
    stay();
    return code;
}
