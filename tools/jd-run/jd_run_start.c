/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_run_start.c - starts one process, and says why it could not. */
#include "tools/jd-run/jd_run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXEC_MILLISECONDS 10000 /* a file system that does not answer */

/* ---- the child ---------------------------------------------------------- */

/* PR_SET_PDEATHSIG survives exec: whatever ends jd-run ends the process. */
static void end_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(RUN_EXIT_FAILURE);
}

static void become(const struct run_start *start, pid_t parent, int report)
{
    end_with(parent);
    setrlimit(RLIMIT_NOFILE, start->files);
    if (dup2(start->in, STDIN_FILENO) >= 0 &&
        dup2(start->out, STDOUT_FILENO) >= 0 &&
        dup2(start->err, STDERR_FILENO) >= 0) {
        run_signals_restore(start->signals);
        execvpe(start->argv[0], start->argv, start->env);
    }
    int error = errno;
    if (write(report, &error, sizeof error) < 0)
        _exit(RUN_EXIT_NOT_EXECUTABLE);
    _exit(RUN_EXIT_NOT_FOUND);
}

/* ---- jd-run ------------------------------------------------------------- */

static int fail_missing(const char *program)
{
    if (access(program, F_OK) != 0)
        jd_fail(JD_NOT_FOUND, "%s cannot be started: there is no %s%s", program,
                strchr(program, '/') ? "such file"
                                     : "program of that "
                                       "name in PATH",
                strchr(program, '/') ? "" : ", nor a file here");
    else if (!strchr(program, '/'))
        jd_fail(JD_NOT_FOUND,
                "%s cannot be started: it is not in PATH; for the file in "
                "this folder write ./%s",
                program, program);
    else
        jd_fail(JD_NOT_FOUND,
                "%s cannot be started: the file is there, but not the "
                "interpreter that it names (its #! line, or its dynamic "
                "loader; file %s shows it)",
                program, program);
    return RUN_EXIT_NOT_FOUND;
}

static int fail_exec(const char *program, int error)
{
    if (error == ENOENT || error == ENOTDIR)
        return fail_missing(program);
    struct stat file;
    bool is_there = stat(program, &file) == 0;
    if (error == EACCES && is_there && S_ISDIR(file.st_mode))
        jd_fail(JD_INVALID_ARGUMENT, "%s cannot be started: it is a directory",
                program);
    else if (error == EACCES)
        jd_fail(JD_PERMISSION_DENIED,
                "%s cannot be started: it is not executable for this user; "
                "chmod +x it if it is a program",
                program);
    else
        jd_fail(JD_INTERNAL, "%s cannot be started: %s", program,
                strerror(error));
    return RUN_EXIT_NOT_EXECUTABLE;
}

/* The child's errno, or 0: exec closes the pipe. */
static int read_error(int fd)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    int error = 0;
    if (poll(&wait, 1, EXEC_MILLISECONDS) <= 0 ||
        read(fd, &error, sizeof error) != (ssize_t)sizeof error)
        return 0;
    return error;
}

static int fork_with(const struct run_start *start, const int report[2],
                     pid_t *ret_pid)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become(start, parent, report[1]);
    if (pid < 0) {
        jd_fail(JD_RESOURCE_EXHAUSTED,
                "process %d cannot be started: fork: %s; fewer processes "
                "(-n), or a higher limit of this user's (ulimit -u)",
                start->index, strerror(errno));
        return RUN_EXIT_FAILURE;
    }
    *ret_pid = pid;
    return 0;
}

int run_start(const struct run_start *start, pid_t *ret_pid)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        jd_fail(JD_RESOURCE_EXHAUSTED, "process %d cannot be started: pipe: %s",
                start->index, strerror(errno));
        return RUN_EXIT_FAILURE;
    }
    pid_t pid = 0;
    int code = fork_with(start, report, &pid);
    close(report[1]);
    int error = code ? 0 : read_error(report[0]);
    close(report[0]);
    if (error) {
        waitpid(pid, NULL, 0);
        return fail_exec(start->argv[0], error);
    }
    *ret_pid = pid;
    return code;
}
