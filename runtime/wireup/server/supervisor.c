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
static const char *supervisor_name = "jd-pmix-keeper";

/* ---- apart -------------------------------------------------------------- */

void supervisor_name_for_jd_run(void)
{
    server_name = "jd-run-server";
    supervisor_name = "jd-run-keeper";
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

void supervisor_detach(void)
{
    ignore_signals();
    closefrom(STDERR_FILENO + 1);
    umask(077);
}

void supervisor_close_standard(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0)
        return;
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    if (nothing > STDERR_FILENO)
        close(nothing);
}

void supervisor_say_ready(const struct supervisor *supervisor)
{
    while (write(supervisor->ready, "!", 1) < 0 && errno == EINTR)
        ;
    close(supervisor->ready);
}

/* ---- the starter's child ------------------------------------------------ */

/* Until the server is ready, or nobody is left who could say so. */
JD_NORETURN static void wait_for_ready(int ready)
{
    char byte;
    ssize_t n;
    supervisor_close_standard();
    do
        n = read(ready, &byte, 1);
    while (n < 0 && errno == EINTR);
    _exit(n == 1 ? 0 : 1);
}

/* ---- who is there ------------------------------------------------------- */

/* Who is there, by pidfds: a pid may soon be another's. */
struct present {
    struct pollfd *items;
    int32_t *pids;
    size_t count, capacity;
};

static bool grow_present(struct present *present)
{
    size_t capacity = present->capacity ? 2 * present->capacity : 64;
    struct pollfd *items = realloc(present->items, capacity * sizeof *items);
    if (items)
        present->items = items;
    int32_t *pids = realloc(present->pids, capacity * sizeof *pids);
    if (pids)
        present->pids = pids;
    if (items && pids)
        present->capacity = capacity;
    return items && pids;
}

static void enter_pid(struct present *present, int32_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return; /* it is gone, or the kernel has none */
    if (present->count == present->capacity && !grow_present(present)) {
        close(fd);
        return;
    }
    present->items[present->count] =
        (struct pollfd){ .fd = fd, .events = POLLIN };
    present->pids[present->count++] = pid;
}

static void leave_pid(struct present *present, int32_t pid)
{
    for (size_t i = 0; i < present->count; i++)
        if (present->pids[i] == pid) {
            close(present->items[i].fd);
            present->items[i] = present->items[--present->count];
            present->pids[i] = present->pids[present->count];
            return;
        }
}

/* Until the server has closed it, by its end. A note is whole: it is written
 * at once. */
static void follow_notes(struct present *present, int fd)
{
    struct liveness_note note;
    ssize_t n;
    while ((n = read(fd, &note, sizeof note)) > 0 || (n < 0 && errno == EINTR))
        if (n == sizeof note && note.is_there)
            enter_pid(present, note.pid);
        else if (n == sizeof note)
            leave_pid(present, note.pid);
}

/* Waits for the end of all; returns how many are left at the deadline. */
static size_t await_all(struct present *present, double deadline)
{
    double left;
    while (present->count && (left = deadline - jd__clock_now()) > 0) {
        if (poll(present->items, present->count, (int)(1e3 * left) + 1) <= 0)
            continue;
        for (size_t i = present->count; i-- > 0;)
            if (present->items[i].revents)
                leave_pid(present, present->pids[i]);
    }
    return present->count;
}

/* libpmix ends some of them, with exit code 195; not where it is of version 5,
 * and not before MPI_Init. */
static void end_all(struct present *present)
{
    await_all(present, jd__clock_now() + LIVENESS_GRACE_SECONDS);
    for (size_t i = 0; i < present->count; i++)
        syscall(SYS_pidfd_send_signal, present->items[i].fd, SIGKILL, NULL, 0);
    await_all(present, jd__clock_now() + LIVENESS_GRACE_SECONDS);
}

/* ---- the supervisor ------------------------------------------------------ */

void supervisor_clean(const struct directory *directory, const char *nspace)
{
    directory_remove(directory);
    directory_remove_segments(nspace);
}

/* The server does not die by itself: libpmix has crashed, or somebody or the
 * kernel, short of memory, has killed it. */
static void after_murder(pid_t server, int status, struct present *present)
{
    const char *name = strsignal(WTERMSIG(status));
    if (!present->count)
        log_say(JD_LOG_ERROR,
                "the PMIx server of this host (pid %d) was killed by signal %d "
                "(%s); processes that have their MPI from it cannot go on",
                (int)server, WTERMSIG(status), name);
    else
        log_say(
            JD_LOG_ERROR,
            "the PMIx server of this host (pid %d) was killed by signal %d "
            "(%s); the host's %zu processes cannot go on without it, and are "
            "ended",
            (int)server, WTERMSIG(status), name, present->count);
    end_all(present);
}

JD_NORETURN static void keep(pid_t server, int fd,
                             const struct directory *directory,
                             const char *nspace)
{
    struct present present = { .items = NULL };
    int status = 0;
    follow_notes(&present, fd);
    while (waitpid(server, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        after_murder(server, status, &present);
    supervisor_clean(directory, nspace);
    _exit(0);
}

/* Becomes the supervisor, or returns as the server. It is never called as the
 * server is: a supervisor that is slow to run would be taken for one. */
static void split_off(const struct directory *directory, const char *nspace,
                      const int pipe_fds[2], int ready)
{
    setsid();
    if (chdir("/") != 0)
        log_say(JD_LOG_DEBUG, "chdir to / failed: %s", strerror(errno));
    prctl(PR_SET_NAME, supervisor_name);
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_NAME, server_name);
        close(pipe_fds[0]);
        return;
    }
    close(ready);
    close(pipe_fds[1]);
    supervisor_close_standard();
    if (server > 0)
        keep(server, pipe_fds[0], directory, nspace);
    log_say(JD_LOG_ERROR, "the PMIx server cannot start: fork failed: %s",
            strerror(errno));
    directory_remove(directory);
    _exit(1);
}

static jd_status fail_supervisor(const char *call)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "the PMIx server cannot start: %s failed: %s", call,
                   strerror(errno));
}

jd_status supervisor_start(const struct directory *directory,
                           const char *nspace,
                           struct supervisor *ret_supervisor)
{
    int ready[2], pipe_fds[2];
    if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(pipe_fds, O_CLOEXEC) != 0)
        return fail_supervisor("pipe2");
    pid_t supervisor = fork();
    if (supervisor < 0)
        return fail_supervisor("fork");
    if (supervisor > 0) {
        close(ready[1]);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        wait_for_ready(ready[0]);
    }
    close(ready[0]);
    split_off(directory, nspace, pipe_fds, ready[1]);
    *ret_supervisor =
        (struct supervisor){ .ready = ready[1], .pipe_fd = pipe_fds[1] };
    return JD_OK;
}
