/* SPDX-License-Identifier: BSD-3-Clause */
/* liveness.c - connections that are held as long as their processes live. */
#include "runtime/wireup/server/liveness.h"
#include "base/clock.h"
#include "base/ranges.h"
#include "runtime/coordination/net/wire.h"
#include "runtime/wireup/server/log.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { INDEX_BYTES = 4, SPARE_STRANGERS = 64 };

enum presence { ABSENT, THERE, GONE };

struct member {
    uint32_t process;
    enum presence presence;
    bool is_finalized;
    pid_t pid;
    int pidfd; /* -1: the kernel has none */
};

/* One connection; the loop's own. */
struct visitor {
    struct life *life;
    struct member *member; /* NULL: it has not said who it is */
    int fd;
    struct ucred who;
    struct event *event, *pid_event;
    uint8_t bytes[INDEX_BYTES];
    size_t got;
};

struct life {
    struct jd_loop *loop;
    struct event *accept_event;
    int listen_fd, roll;
    size_t num_strangers; /* the loop's own, as the above */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct member *members; /* under the lock, as the rest; sorted */
    size_t count, num_absent, num_there;
    bool is_ending;
    enum life_news why;
};

/* ---- members: with the lock --------------------------------------------- */

static struct member *find(struct life *life, uint32_t process)
{
    for (size_t i = 0; i < life->count; i++)
        if (life->members[i].process == process)
            return &life->members[i];
    return NULL;
}

/* A keeper that is gone reads no more; the server goes on. */
static void note(struct life *life, pid_t pid, bool is_there)
{
    struct life_note line = { (int32_t)pid, is_there };
    while (pid > 0 && write(life->roll, &line, sizeof line) < 0 &&
           errno == EINTR)
        ;
}

/* NULL where it may not: it is no process of this host, or was here. */
static struct member *enter(struct life *life, uint32_t process, pid_t pid)
{
    struct member *member = find(life, process);
    if (!member || member->presence != ABSENT)
        return NULL;
    member->presence = THERE;
    member->pid = pid;
    member->pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    note(life, pid, true);
    life->num_absent--;
    life->num_there++;
    pthread_cond_broadcast(&life->changed);
    return member;
}

static void leave(struct life *life, struct member *member)
{
    if (member->presence != THERE)
        return;
    member->presence = GONE;
    if (member->pidfd >= 0)
        close(member->pidfd);
    member->pidfd = -1;
    note(life, member->pid, false);
    life->num_there--;
    pthread_cond_broadcast(&life->changed);
}

/* ---- visitors: on the loop ---------------------------------------------- */

static void drop(struct visitor *visitor)
{
    struct life *life = visitor->life;
    event_free(visitor->event);
    if (visitor->pid_event)
        event_free(visitor->pid_event);
    close(visitor->fd);
    if (visitor->member) {
        pthread_mutex_lock(&life->lock);
        leave(life, visitor->member);
        pthread_mutex_unlock(&life->lock);
    } else {
        life->num_strangers--;
    }
    free(visitor);
}

static void on_process_end(evutil_socket_t fd, short what, void *visitor)
{
    (void)fd, (void)what;
    drop(visitor);
}

static void watch_process(struct visitor *visitor)
{
    int pidfd = visitor->member->pidfd;
    if (pidfd < 0)
        return;
    visitor->pid_event = event_new(jd__loop_base(visitor->life->loop), pidfd,
                                   EV_READ, on_process_end, visitor);
    if (visitor->pid_event)
        event_add(visitor->pid_event, NULL);
}

static void introduce(struct visitor *visitor)
{
    struct life *life = visitor->life;
    uint32_t process = jd__wire_get_u32(visitor->bytes);
    pthread_mutex_lock(&life->lock);
    struct member *member = enter(life, process, visitor->who.pid);
    pthread_mutex_unlock(&life->lock);
    if (!member) {
        say(JD_LOG_WARNING,
            "pid %d says that it is process %u, which is not awaited here (it "
            "is another host's, or has come already); it is sent away",
            (int)visitor->who.pid, (unsigned)process);
        drop(visitor);
        return;
    }
    life->num_strangers--;
    visitor->member = member;
    watch_process(visitor);
}

/* What comes after the index means nothing. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct visitor *visitor = arg;
    uint8_t rest[64];
    bool is_known = visitor->got == INDEX_BYTES;
    ssize_t n = is_known ? read(fd, rest, sizeof rest)
                         : read(fd, visitor->bytes + visitor->got,
                                INDEX_BYTES - visitor->got);
    (void)what;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        drop(visitor);
        return;
    }
    if (is_known)
        return;
    visitor->got += (size_t)n;
    if (visitor->got == INDEX_BYTES)
        introduce(visitor);
}

static bool may_enter(const struct life *life, const struct ucred *who)
{
    return (who->uid == geteuid() || who->uid == 0) &&
           life->num_strangers < life->count + SPARE_STRANGERS;
}

static void on_accept(evutil_socket_t listen_fd, short what, void *arg)
{
    struct life *life = arg;
    struct ucred who;
    socklen_t size = sizeof who;
    (void)what;
    int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct visitor *visitor = calloc(1, sizeof *visitor);
    if (visitor)
        visitor->event = event_new(jd__loop_base(life->loop), fd,
                                   EV_READ | EV_PERSIST, on_readable, visitor);
    if (!visitor || !visitor->event ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 ||
        !may_enter(life, &who)) {
        if (visitor && visitor->event)
            event_free(visitor->event);
        free(visitor);
        close(fd);
        return;
    }
    visitor->life = life;
    visitor->fd = fd;
    visitor->who = who;
    life->num_strangers++;
    event_add(visitor->event, NULL);
}

/* ---- life --------------------------------------------------------------- */

static jd_status fail(const char *call, const char *path)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "the socket %s cannot be made: %s failed: %s", path, call,
                   strerror(errno));
}

static jd_status open_socket(struct life *life, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    memcpy(address.sun_path, path, strlen(path) + 1);
    life->listen_fd =
        socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (life->listen_fd < 0)
        return fail("socket", path);
    if (bind(life->listen_fd, (struct sockaddr *)&address, sizeof address) != 0)
        return fail("bind", path);
    if (listen(life->listen_fd, SOMAXCONN) != 0)
        return fail("listen", path);
    life->accept_event = event_new(jd__loop_base(life->loop), life->listen_fd,
                                   EV_READ | EV_PERSIST, on_accept, life);
    if (!life->accept_event || event_add(life->accept_event, NULL) != 0)
        return fail("event_add", path);
    return JD_OK;
}

static void fill_members(struct life *life, const uint32_t *processes)
{
    for (size_t i = 0; i < life->count; i++)
        life->members[i] =
            (struct member){ .process = processes[i], .pidfd = -1 };
}

jd_status life_create(const struct life_spec *spec, struct life **ret_life)
{
    struct life *life = calloc(1, sizeof *life);
    struct member *members = calloc(spec->count, sizeof *members);
    if (!life || !members) {
        free(life);
        free(members);
        return jd__fail_no_memory("the host's processes",
                                  spec->count * sizeof *members);
    }
    life->loop = spec->loop;
    life->roll = spec->roll;
    life->members = members;
    life->count = life->num_absent = spec->count;
    fill_members(life, spec->processes);
    pthread_mutex_init(&life->lock, NULL);
    jd__clock_init_condition(&life->changed);
    jd_status status = open_socket(life, spec->path);
    if (status == JD_OK)
        *ret_life = life;
    return status;
}

void life_note_finalized(struct life *life, uint32_t process)
{
    pthread_mutex_lock(&life->lock);
    struct member *member = find(life, process);
    if (member)
        member->is_finalized = true;
    pthread_mutex_unlock(&life->lock);
}

void life_end(struct life *life, enum life_news why)
{
    pthread_mutex_lock(&life->lock);
    if (!life->is_ending) {
        life->is_ending = true;
        life->why = why;
        pthread_cond_broadcast(&life->changed);
    }
    pthread_mutex_unlock(&life->lock);
}

/* ---- waiting ------------------------------------------------------------ */

/* With the lock; false where the deadline has passed. */
static bool wait_until(struct life *life, double deadline)
{
    if (isinf(deadline)) {
        pthread_cond_wait(&life->changed, &life->lock);
        return true;
    }
    struct timespec at = jd__clock_timespec(deadline);
    return pthread_cond_timedwait(&life->changed, &life->lock, &at) !=
           ETIMEDOUT;
}

enum life_news life_wait(struct life *life, double deadline)
{
    enum life_news news = LIFE_ALL_GONE;
    bool in_time = true;
    pthread_mutex_lock(&life->lock);
    while (!life->is_ending && life->num_absent + life->num_there && in_time)
        in_time = wait_until(life, life->num_absent ? deadline : INFINITY);
    if (life->is_ending)
        news = life->why;
    else if (life->num_absent)
        news = LIFE_ABSENT;
    pthread_mutex_unlock(&life->lock);
    return news;
}

size_t life_wait_for_nobody(struct life *life, double deadline)
{
    bool in_time = true;
    pthread_mutex_lock(&life->lock);
    while (life->num_there && in_time)
        in_time = wait_until(life, deadline);
    size_t left = life->num_there;
    pthread_mutex_unlock(&life->lock);
    return left;
}

/* ---- ending ------------------------------------------------------------- */

static void kill_member(const struct member *member)
{
    if (member->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, member->pidfd, SIGKILL, NULL, 0);
    else if (member->pid > 0)
        kill(member->pid, SIGKILL);
}

size_t life_kill(struct life *life, bool spare_finalized)
{
    size_t killed = 0;
    pthread_mutex_lock(&life->lock);
    for (size_t i = 0; i < life->count; i++) {
        const struct member *member = &life->members[i];
        if (member->presence != THERE ||
            (spare_finalized && member->is_finalized))
            continue;
        kill_member(member);
        killed++;
    }
    pthread_mutex_unlock(&life->lock);
    return killed;
}

/* ---- in words ----------------------------------------------------------- */

static bool is_absent(const struct member *member)
{
    return member->presence == ABSENT;
}

static bool is_gone_unfinalized(const struct member *member)
{
    return member->presence == GONE && !member->is_finalized;
}

/* Nothing where it is so with nobody. */
static void print_members(FILE *out, struct life *life,
                          bool (*is_so)(const struct member *member))
{
    int *numbers = malloc(life->count * sizeof *numbers), count = 0;
    pthread_mutex_lock(&life->lock);
    for (size_t i = 0; numbers && i < life->count; i++)
        if (is_so(&life->members[i]))
            numbers[count++] = (int)life->members[i].process;
    pthread_mutex_unlock(&life->lock);
    if (count)
        jd__ranges_print_processes(out, numbers, count);
    free(numbers);
}

void life_print_absent(FILE *out, struct life *life)
{
    print_members(out, life, is_absent);
}

size_t life_print_unfinalized(FILE *out, struct life *life)
{
    size_t finalized = 0;
    print_members(out, life, is_gone_unfinalized);
    pthread_mutex_lock(&life->lock);
    for (size_t i = 0; i < life->count; i++)
        finalized += life->members[i].is_finalized;
    pthread_mutex_unlock(&life->lock);
    return finalized;
}

void life_print_process(FILE *out, struct life *life, uint32_t process)
{
    fprintf(out, "process %u", (unsigned)process);
    pthread_mutex_lock(&life->lock);
    struct member *member = find(life, process);
    if (member && member->pid > 0)
        fprintf(out, " (pid %d)", (int)member->pid);
    pthread_mutex_unlock(&life->lock);
}
