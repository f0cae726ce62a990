/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor.c - forks that part the server from its starter. */
#include "runtime/wireup/server/supervisor.h"
#include "base/clock.h"
#include "runtime/wireup/server/liveness.h"
#include "runtime/wireup/server/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *server_name = "jd-pmix-server";
static const char *keeper_name = "jd-pmix-keeper";

/* ---- apart -------------------------------------------------------------- */

void keeper_name_for_jd_run(void)
{
    server_name = "jd-run-server";
    keeper_name = "jd-run-keeper";
    prctl(PR_SET_NAME, server_name);
}

static void ignore_signals(void)
{
    static const int signals[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE,
                                   SIGALRM, SIGTERM, SIGUSR1, SIGUSR2,
                                   SIGTSTP, SIGTTIN, SIGTTOU, SIGXCPU };
    sigset_t none;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void keeper_detach(void)
{
    ignore_signals();
    closefrom(STDERR_FILENO + 1);
    umask(077);
}

void keeper_close_standard(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0)
        return;
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    if (nothing > STDERR_FILENO)
        close(nothing);
}

void keeper_say_ready(const struct keeper *keeper)
{
    while (write(keeper->ready, "!", 1) < 0 && errno == EINTR)
        ;
    close(keeper->ready);
}

/* ---- the starter's child ------------------------------------------------ */

/* Until the server is ready, or nobody is left who could say so. */
JD_NORETURN static void wait_for_ready(int ready)
{
    char byte;
    ssize_t n;
    keeper_close_standard();
    do
        n = read(ready, &byte, 1);
    while (n < 0 && errno == EINTR);
    _exit(n == 1 ? 0 : 1);
}

/* ---- the roll ----------------------------------------------------------- */

/* Who is there, by pidfds: a pid may soon be another's. */
struct roll {
    struct pollfd *items;
    int32_t *pids;
    size_t count, capacity;
};

static bool grow(struct roll *roll)
{
    size_t capacity = roll->capacity ? 2 * roll->capacity : 64;
    struct pollfd *items = realloc(roll->items, capacity * sizeof *items);
    if (items)
        roll->items = items;
    int32_t *pids = realloc(roll->pids, capacity * sizeof *pids);
    if (pids)
        roll->pids = pids;
    if (items && pids)
        roll->capacity = capacity;
    return items && pids;
}

static void enter(struct roll *roll, int32_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return; /* it is gone, or the kernel has none */
    if (roll->count == roll->capacity && !grow(roll)) {
        close(fd);
        return;
    }
    roll->items[roll->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
    roll->pids[roll->count++] = pid;
}

static void leave(struct roll *roll, int32_t pid)
{
    for (size_t i = 0; i < roll->count; i++)
        if (roll->pids[i] == pid) {
            close(roll->items[i].fd);
            roll->items[i] = roll->items[--roll->count];
            roll->pids[i] = roll->pids[roll->count];
            return;
        }
}

/* Until the server has closed it, by its end. A note is whole: it is written
 * at once. */
static void follow(struct roll *roll, int fd)
{
    struct life_note note;
    ssize_t n;
    while ((n = read(fd, &note, sizeof note)) > 0 || (n < 0 && errno == EINTR))
        if (n == sizeof note && note.is_there)
            enter(roll, note.pid);
        else if (n == sizeof note)
            leave(roll, note.pid);
}

/* Waits for the end of all; returns how many are left at the deadline. */
static size_t await_all(struct roll *roll, double deadline)
{
    double left;
    while (roll->count && (left = deadline - jd__clock_now()) > 0) {
        if (poll(roll->items, roll->count, (int)(1e3 * left) + 1) <= 0)
            continue;
        for (size_t i = roll->count; i-- > 0;)
            if (roll->items[i].revents)
                leave(roll, roll->pids[i]);
    }
    return roll->count;
}

/* libpmix ends some of them, with exit code 195; not where it is of version 5,
 * and not before MPI_Init. */
static void end_all(struct roll *roll)
{
    await_all(roll, jd__clock_now() + LIFE_GRACE_SECONDS);
    for (size_t i = 0; i < roll->count; i++)
        syscall(SYS_pidfd_send_signal, roll->items[i].fd, SIGKILL, NULL, 0);
    await_all(roll, jd__clock_now() + LIFE_GRACE_SECONDS);
}

/* ---- the keeper --------------------------------------------------------- */

void keeper_clean(const struct directory *directory, const char *nspace)
{
    directory_remove(directory);
    directory_remove_segments(nspace);
}

/* The server does not die by itself: libpmix has crashed, or somebody or the
 * kernel, short of memory, has killed it. */
static void after_murder(pid_t server, int status, struct roll *roll)
{
    const char *name = strsignal(WTERMSIG(status));
    if (!roll->count)
        say(JD_LOG_ERROR,
            "the PMIx server of this host (pid %d) was killed by signal %d "
            "(%s); processes that have their MPI from it cannot go on",
            (int)server, WTERMSIG(status), name);
    else
        say(JD_LOG_ERROR,
            "the PMIx server of this host (pid %d) was killed by signal %d "
            "(%s); the host's %zu processes cannot go on without it, and are "
            "ended",
            (int)server, WTERMSIG(status), name, roll->count);
    end_all(roll);
}

JD_NORETURN static void keep(pid_t server, int fd,
                             const struct directory *directory,
                             const char *nspace)
{
    struct roll roll = { .items = NULL };
    int status = 0;
    follow(&roll, fd);
    while (waitpid(server, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        after_murder(server, status, &roll);
    keeper_clean(directory, nspace);
    _exit(0);
}

/* Becomes the keeper, or returns as the server. It is never called as the
 * server is: a keeper that is slow to run would be taken for one. */
static void split(const struct directory *directory, const char *nspace,
                  const int roll[2], int ready)
{
    setsid();
    if (chdir("/") != 0)
        say(JD_LOG_DEBUG, "chdir to / failed: %s", strerror(errno));
    prctl(PR_SET_NAME, keeper_name);
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_NAME, server_name);
        close(roll[0]);
        return;
    }
    close(ready);
    close(roll[1]);
    keeper_close_standard();
    if (server > 0)
        keep(server, roll[0], directory, nspace);
    say(JD_LOG_ERROR, "the PMIx server cannot start: fork failed: %s",
        strerror(errno));
    directory_remove(directory);
    _exit(1);
}

static jd_status fail(const char *call)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "the PMIx server cannot start: %s failed: %s", call,
                   strerror(errno));
}

jd_status keeper_start(const struct directory *directory, const char *nspace,
                       struct keeper *ret_keeper)
{
    int ready[2], roll[2];
    if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(roll, O_CLOEXEC) != 0)
        return fail("pipe2");
    pid_t keeper = fork();
    if (keeper < 0)
        return fail("fork");
    if (keeper > 0) {
        close(ready[1]);
        close(roll[0]);
        close(roll[1]);
        wait_for_ready(ready[0]);
    }
    close(ready[0]);
    split(directory, nspace, roll, ready[1]);
    *ret_keeper = (struct keeper){ .ready = ready[1], .roll = roll[1] };
    return JD_OK;
}
