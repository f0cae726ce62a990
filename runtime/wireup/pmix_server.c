/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_server.c - starts jd-pmix-server. */
#include "runtime/wireup/pmix_server.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/installed.h"
#include "base/status.h"
#include "base/prefix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "jd-pmix-server"
#define MAX_WORDS 2048 /* what it may say */
#define READY "ready\n"
#define REAP_SECONDS 2 /* for it to end after its words */

/* ---- where it is -------------------------------------------------------- */

jd_status jd__pmix_server_find(const char *libexec, char **ret_path)
{
    static const struct jd_installed file = {
        .name = PROGRAM,
        .folder = JD_LIBEXECDIR "/jd",
        .build_folder = "runtime/wireup/server",
        .mode = X_OK,
    };
    char *path =
        libexec ? jd__installed_try(&file, libexec) : jd__installed_find(&file);
    if (!path)
        return jd_fail(
            JD_NOT_FOUND,
            PROGRAM " is not in %s; it is built where libpmix's "
                    "server side is installed (libpmix-dev), and JD_LIBEXEC "
                    "says where it is",
            libexec ? libexec : "../" JD_LIBEXECDIR "/jd beside jd's library");
    *ret_path = path;
    return JD_OK;
}

/* What is asked for, and where the answer goes. */
struct server_request {
    const char *path;
    char *const *environment;
    struct jd_bytes plan; /* its frame */
    double deadline;
    struct jd_bytes *environments; /* what it says before it is ready */
    int *held; /* gets the other end of its standard input; may be NULL */
};

/* ---- the pipes ---------------------------------------------------------- */

struct pipes {
    int plan[2];  /* we write */
    int words[2]; /* it writes */
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_pipes(struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        close_fd(&pipes->plan[i]);
        close_fd(&pipes->words[i]);
    }
}

static jd_status fail_call(const char *call, int error)
{
    return jd_fail(JD_INTERNAL, "starting " PROGRAM ": %s failed: %s", call,
                   strerror(error));
}

static jd_status open_pipes(struct pipes *pipes)
{
    *pipes = (struct pipes){ { -1, -1 }, { -1, -1 } };
    if (pipe2(pipes->plan, O_CLOEXEC) != 0 ||
        pipe2(pipes->words, O_CLOEXEC) != 0) {
        int error = errno;
        close_pipes(pipes);
        return fail_call("pipe2", error);
    }
    fcntl(pipes->plan[1], F_SETFL, O_NONBLOCK);
    fcntl(pipes->words[0], F_SETFL, O_NONBLOCK);
    return JD_OK;
}

/* ---- the start ---------------------------------------------------------- */

/* Who looks for our process by its variables in /proc must not find the
 * server. */
static char **environment_of_no_process(const struct jd_cluster *cluster)
{
    const char *const names[] = { cluster->process_id.source,
                                  cluster->local_process_id.source };
    return jd__env_strings_without(names, sizeof names / sizeof *names);
}

/* No signal of ours is blocked or ignored there, and it has a group of its
 * own: what a launcher sends to ours is not for it. */
static int spawn_server(const char *path, const struct pipes *pipes,
                        char *const *environment, pid_t *ret_pid)
{
    char *const words[] = { (char *)PROGRAM, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes->plan[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipes->words[1], STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    int error =
        posix_spawn(ret_pid, path, &actions, &attributes, words, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static jd_status await_pipe(int fd, short what, double deadline)
{
    struct pollfd poller = { .fd = fd, .events = what };
    double left = deadline - jd__clock_now();
    int ready = poll(&poller, 1, left > 0 ? (int)(1000 * left) + 1 : 0);
    if (ready < 0 && errno != EINTR)
        return fail_call("poll", errno);
    if (ready == 0 && jd__clock_now() >= deadline)
        return jd_fail(JD_DEADLINE_EXCEEDED,
                       PROGRAM " was not ready in time "
                               "(JD_INITIALIZATION_TIMEOUT)");
    return JD_OK;
}

/* A server that ends early leaves a broken pipe: its words say why. */
static jd_status write_all(int fd, const struct jd_bytes *bytes,
                           double deadline)
{
    jd_status status = JD_OK;
    for (size_t done = 0; status == JD_OK && done < bytes->end;) {
        ssize_t sent = write(fd, bytes->data + done, bytes->end - done);
        if (sent > 0)
            done += (size_t)sent;
        else if (errno == EAGAIN)
            status = await_pipe(fd, POLLOUT, deadline);
        else if (errno != EINTR)
            break;
    }
    return status;
}

/* What it says up to the end, which is the end of the pipe. */
static jd_status read_words(int fd, struct jd_bytes *words, double deadline)
{
    jd_status status = JD_OK;
    while (status == JD_OK) {
        uint8_t *at = jd__wire_bytes_reserve(words, MAX_WORDS);
        if (!at)
            return jd__fail_no_memory("what " PROGRAM " says", MAX_WORDS);
        ssize_t got = read(fd, at, MAX_WORDS);
        if (got == 0)
            break;
        if (got > 0)
            words->end += (size_t)got;
        else if (errno == EAGAIN)
            status = await_pipe(fd, POLLIN, deadline);
        else if (errno != EINTR)
            status = fail_call("read", errno);
    }
    return status;
}

static jd_status fail_words(const struct jd_bytes *words)
{
    char text[MAX_WORDS] = "";
    size_t size = jd__bytes_size(words);
    size = size < sizeof text ? size : sizeof text - 1;
    if (size)
        memcpy(text, words->data + words->begin, size);
    text[strcspn(text, "\n")] = '\0';
    return jd_fail(JD_UNAVAILABLE, "%s",
                   text[0] ? text : PROGRAM " ended without a word");
}

/* The last word is "ready"; what is before it are environments. */
static jd_status take_ready(struct jd_bytes *words)
{
    const size_t length = sizeof READY - 1;
    if (jd__bytes_size(words) < length ||
        memcmp(words->data + words->end - length, READY, length) != 0)
        return fail_words(words);
    words->end -= length;
    return JD_OK;
}

static jd_status converse_with_server(struct pipes *pipes,
                                      const struct server_request *request)
{
    jd_status status =
        write_all(pipes->plan[1], &request->plan, request->deadline);
    if (!request->held)
        close_fd(&pipes->plan[1]);
    if (status == JD_OK)
        status = read_words(pipes->words[0], request->environments,
                            request->deadline);
    return status == JD_OK ? take_ready(request->environments) : status;
}

/* The frame of the plan: a length and the message, as in wire.h. */
static bool pack_plan(const Jd__Plan *plan, struct jd_bytes *bytes)
{
    size_t size = jd__plan__get_packed_size(plan);
    uint8_t *at = jd__wire_bytes_reserve(bytes, JD_WIRE_HEADER + size);
    if (!at)
        return false;
    jd__wire_put_u32(at, (uint32_t)size);
    jd__plan__pack(plan, at + JD_WIRE_HEADER);
    bytes->end += JD_WIRE_HEADER + size;
    return true;
}

/* The first write to a server that has ended must not end us. */
static jd_status converse_without_sigpipe(struct pipes *pipes,
                                          const struct server_request *request)
{
    static const struct timespec at_once = { 0, 0 };
    sigset_t pipe_signal, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    jd_status status = converse_with_server(pipes, request);
    if (!sigismember(&before, SIGPIPE))
        while (sigtimedwait(&pipe_signal, NULL, &at_once) > 0)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* What was started ends when it has spoken; what stays is no child of ours.
 * Returns the signal that has ended it, or 0. */
static int reap_child(pid_t pid)
{
    static const struct timespec moment = { 0, 5000000 };
    double end = jd__clock_now() + REAP_SECONDS;
    pid_t ended;
    int how = 0;
    while ((ended = waitpid(pid, &how, WNOHANG)) == 0 && jd__clock_now() < end)
        nanosleep(&moment, NULL);
    return ended == pid && WIFSIGNALED(how) ? WTERMSIG(how) : 0;
}

static jd_status fail_killed(pid_t pid, int number)
{
    return jd_fail(JD_UNAVAILABLE,
                   PROGRAM " (pid %d) was killed by signal %d (%s) before it "
                           "was ready",
                   (int)pid, number, strsignal(number));
}

static jd_status start_server(const struct server_request *request)
{
    struct pipes pipes;
    pid_t pid;
    jd_status status = open_pipes(&pipes);
    if (status == JD_OK) {
        int error =
            spawn_server(request->path, &pipes, request->environment, &pid);
        close_fd(&pipes.plan[0]);
        close_fd(&pipes.words[1]);
        status = error ? fail_call(request->path, error)
                       : converse_without_sigpipe(&pipes, request);
        if (status == JD_OK && request->held) {
            *request->held = pipes.plan[1];
            pipes.plan[1] = -1;
        }
        close_pipes(&pipes);
        int killed_by = error ? 0 : reap_child(pid);
        if (killed_by && status == JD_UNAVAILABLE)
            status = fail_killed(pid, killed_by);
    }
    return status;
}

static jd_status start_with_plan(struct server_request *request,
                                 const Jd__Plan *plan)
{
    jd_status status = request->environment && pack_plan(plan, &request->plan)
                           ? start_server(request)
                           : jd__fail_no_memory("starting " PROGRAM, 0);
    jd__wire_bytes_finish(&request->plan);
    return status;
}

jd_status jd__pmix_server_start(const char *path, const Jd__Plan *plan,
                                const struct jd_cluster *cluster,
                                double deadline)
{
    struct jd_bytes none = { .data = NULL };
    char **environment = environment_of_no_process(cluster);
    struct server_request request = { .path = path,
                                      .environment = environment,
                                      .deadline = deadline,
                                      .environments = &none };
    jd_status status = start_with_plan(&request, plan);
    jd__wire_bytes_finish(&none);
    free(environment);
    return status;
}

jd_status jd__pmix_server_start_held(const char *path, const Jd__Plan *plan,
                                     char *const *environment, double deadline,
                                     int *ret_held,
                                     struct jd_bytes *ret_environments)
{
    struct jd_bytes environments = { .data = NULL };
    struct server_request request = { .path = path,
                                      .environment = environment,
                                      .deadline = deadline,
                                      .environments = &environments,
                                      .held = ret_held };
    jd_status status = start_with_plan(&request, plan);
    if (status == JD_OK)
        *ret_environments = environments;
    else
        jd__wire_bytes_finish(&environments);
    return status;
}
