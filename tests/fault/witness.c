/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * witness COMMAND... - runs a process of a job and writes its exit code, or
 * 128 and its signal, to $FAULT_DIR/code.RANK: launchers return the first
 * one's only. It outlives a launcher's SIGTERM, which is meant for the
 * command. Not an MPI program.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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

static void write_code(int code)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    const char *dir = getenv("FAULT_DIR");
    char path[4096], part[4096 + 8];
    rank = rank ? rank : getenv("SLURM_PROCID");
    snprintf(path, sizeof path, "%s/code.%s", dir ? dir : ".",
             rank ? rank : "unknown");
    snprintf(part, sizeof part, "%s.part", path);
    FILE *out = fopen(part, "w");
    if (!out)
        return;
    fprintf(out, "%d\n", code);
    fclose(out);
    rename(part, path); /* whole, or not there */
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = ignore };
    sigaction(SIGTERM, &action, NULL); /* a handler: exec takes it away */
    pid_t child = argc > 1 ? fork() : -1;
    if (child < 0)
        return 99;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(argv[1], argv + 1);
        _exit(98);
    }
    int code = wait_for(child);
    write_code(code);
    return code;
}
