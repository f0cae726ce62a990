/* SPDX-License-Identifier: BSD-3-Clause */
/* tie.c - the kernel's signal at the end of a pipe. */
#include "base/tie.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The descriptor that the variable names, or -1 where it is not that pipe: the
 * number may be another file's by now, but the inode is not. */
static int find_pipe(const char *text)
{
    int fd, end = 0;
    unsigned long long inode;
    struct stat is;
    if (!text || sscanf(text, "%9d:%llu%n", &fd, &inode, &end) != 2 ||
        text[end] || fd <= STDERR_FILENO || fstat(fd, &is) != 0 ||
        !S_ISFIFO(is.st_mode) || is.st_ino != inode)
        return -1;
    return fd;
}

/* The whole job has the read end in common, and whom it signals with it: this
 * process needs one that is opened anew. */
static int open_anew(int fd)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static bool ask_for_signal(int fd)
{
    return fcntl(fd, F_SETOWN, getpid()) == 0 &&
           fcntl(fd, F_SETSIG, SIGKILL) == 0 &&
           fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC) == 0;
}

/* What has ended before sends no signal. */
static void end_if_alone(int fd)
{
    struct pollfd pipe = { .fd = fd, .events = POLLIN };
    if (poll(&pipe, 1, 0) > 0 && (pipe.revents & POLLHUP))
        kill(getpid(), SIGKILL);
}

static bool tie_descriptor(int fd)
{
    int own = open_anew(fd);
    if (own < 0)
        return false;
    bool ok = ask_for_signal(own) && dup3(own, fd, O_CLOEXEC) == fd;
    close(own);
    if (ok)
        end_if_alone(fd);
    return ok;
}

bool jd__tie_to_jd_run(const struct jd_env *env)
{
    static pid_t tied; /* a forked child is not */
    if (tied == getpid())
        return true;
    int fd = find_pipe(jd__env_get(env, JD_TIE_VARIABLE));
    if (fd < 0 || !tie_descriptor(fd))
        return false;
    tied = getpid();
    return true;
}
