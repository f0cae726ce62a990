/* SPDX-License-Identifier: BSD-3-Clause */
/* liveness.c - connections that are held as long as their processes live. */
#include "runtime/wireup/server/liveness.h"
#include "base/clock.h"
#include "base/ranges.h"
#include "runtime/coordination/net/wire.h"
#include "runtime/wireup/server/listener.h"
#include "runtime/wireup/server/log.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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
    struct liveness *liveness;
    struct member *member; /* NULL: it has not said who it is */
    int fd;
    struct ucred who;
    struct event *event, *pid_event;
    uint8_t bytes[INDEX_BYTES];
    size_t got;
};

struct liveness {
    struct jd_loop *loop;
    int pipe_fd;
    size_t num_strangers; /* the loop's own, as the above */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct member *members; /* under the lock, as the rest; sorted */
    size_t count, num_absent, num_there;
    bool is_ending;
    enum liveness_outcome why;
};

/* ---- members: with the lock --------------------------------------------- */

static struct member *find_member(struct liveness *liveness, uint32_t process)
{
    for (size_t i = 0; i < liveness->count; i++)
        if (liveness->members[i].process == process)
            return &liveness->members[i];
    return NULL;
}

/* A supervisor that is gone reads no more; the server goes on. */
static void note_presence(struct liveness *liveness, pid_t pid, bool is_there)
{
    struct liveness_note line = { (int32_t)pid, is_there };
    while (pid > 0 && write(liveness->pipe_fd, &line, sizeof line) < 0 &&
           errno == EINTR)
        ;
}

/* NULL where it may not: it is no process of this host, or was here. */
static struct member *enter_member(struct liveness *liveness, uint32_t process,
                                   pid_t pid)
{
    struct member *member = find_member(liveness, process);
    if (!member || member->presence != ABSENT)
        return NULL;
    member->presence = THERE;
    member->pid = pid;
    member->pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    note_presence(liveness, pid, true);
    liveness->num_absent--;
    liveness->num_there++;
    pthread_cond_broadcast(&liveness->changed);
    return member;
}

static void leave_member(struct liveness *liveness, struct member *member)
{
    if (member->presence != THERE)
        return;
    member->presence = GONE;
    if (member->pidfd >= 0)
        close(member->pidfd);
    member->pidfd = -1;
    note_presence(liveness, member->pid, false);
    liveness->num_there--;
    pthread_cond_broadcast(&liveness->changed);
}

/* ---- visitors: on the loop ---------------------------------------------- */

static void drop_visitor(struct visitor *visitor)
{
    struct liveness *liveness = visitor->liveness;
    event_free(visitor->event);
    if (visitor->pid_event)
        event_free(visitor->pid_event);
    close(visitor->fd);
    if (visitor->member) {
        pthread_mutex_lock(&liveness->lock);
        leave_member(liveness, visitor->member);
        pthread_mutex_unlock(&liveness->lock);
    } else {
        liveness->num_strangers--;
    }
    free(visitor);
}

static void on_process_end(evutil_socket_t fd, short what, void *visitor)
{
    (void)fd, (void)what;
    drop_visitor(visitor);
}

static void watch_process(struct visitor *visitor)
{
    int pidfd = visitor->member->pidfd;
    if (pidfd < 0)
        return;
    visitor->pid_event = event_new(jd__loop_base(visitor->liveness->loop),
                                   pidfd, EV_READ, on_process_end, visitor);
    if (visitor->pid_event)
        event_add(visitor->pid_event, NULL);
}

static void introduce_visitor(struct visitor *visitor)
{
    struct liveness *liveness = visitor->liveness;
    uint32_t process = jd__wire_get_u32(visitor->bytes);
    pthread_mutex_lock(&liveness->lock);
    struct member *member = enter_member(liveness, process, visitor->who.pid);
    pthread_mutex_unlock(&liveness->lock);
    if (!member) {
        log_say(
            JD_LOG_WARNING,
            "pid %d says that it is process %u, which is not awaited here (it "
            "is another host's, or has come already); it is sent away",
            (int)visitor->who.pid, (unsigned)process);
        drop_visitor(visitor);
        return;
    }
    liveness->num_strangers--;
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
        drop_visitor(visitor);
        return;
    }
    if (is_known)
        return;
    visitor->got += (size_t)n;
    if (visitor->got == INDEX_BYTES)
        introduce_visitor(visitor);
}

static bool may_enter(const struct liveness *liveness)
{
    return liveness->num_strangers < liveness->count + SPARE_STRANGERS;
}

static void on_visitor(void *arg, int fd, const struct ucred *who)
{
    struct liveness *liveness = arg;
    struct visitor *visitor =
        may_enter(liveness) ? calloc(1, sizeof *visitor) : NULL;
    if (visitor)
        visitor->event = event_new(jd__loop_base(liveness->loop), fd,
                                   EV_READ | EV_PERSIST, on_readable, visitor);
    if (!visitor || !visitor->event) {
        free(visitor);
        close(fd);
        return;
    }
    visitor->liveness = liveness;
    visitor->fd = fd;
    visitor->who = *who;
    liveness->num_strangers++;
    event_add(visitor->event, NULL);
}

/* ---- the whole ----------------------------------------------------------- */

static void fill_members(struct liveness *liveness, const uint32_t *processes)
{
    for (size_t i = 0; i < liveness->count; i++)
        liveness->members[i] =
            (struct member){ .process = processes[i], .pidfd = -1 };
}

jd_status liveness_create(const struct liveness_spec *spec,
                          struct liveness **ret_liveness)
{
    struct liveness *liveness = calloc(1, sizeof *liveness);
    struct member *members = calloc(spec->count, sizeof *members);
    if (!liveness || !members) {
        free(liveness);
        free(members);
        return jd__fail_no_memory("the host's processes",
                                  spec->count * sizeof *members);
    }
    liveness->loop = spec->loop;
    liveness->pipe_fd = spec->pipe_fd;
    liveness->members = members;
    liveness->count = liveness->num_absent = spec->count;
    fill_members(liveness, spec->processes);
    pthread_mutex_init(&liveness->lock, NULL);
    jd__clock_init_condition(&liveness->changed);
    struct listener_spec listener = { .loop = spec->loop,
                                      .path = spec->path,
                                      .on_visitor = on_visitor,
                                      .arg = liveness };
    jd_status status = listener_open(&listener);
    if (status == JD_OK)
        *ret_liveness = liveness;
    return status;
}

void liveness_note_finalized(struct liveness *liveness, uint32_t process)
{
    pthread_mutex_lock(&liveness->lock);
    struct member *member = find_member(liveness, process);
    if (member)
        member->is_finalized = true;
    pthread_mutex_unlock(&liveness->lock);
}

void liveness_end(struct liveness *liveness, enum liveness_outcome why)
{
    pthread_mutex_lock(&liveness->lock);
    if (!liveness->is_ending) {
        liveness->is_ending = true;
        liveness->why = why;
        pthread_cond_broadcast(&liveness->changed);
    }
    pthread_mutex_unlock(&liveness->lock);
}

/* ---- waiting ------------------------------------------------------------ */

/* With the lock; false where the deadline has passed. */
static bool wait_until(struct liveness *liveness, double deadline)
{
    if (isinf(deadline)) {
        pthread_cond_wait(&liveness->changed, &liveness->lock);
        return true;
    }
    struct timespec at = jd__clock_timespec(deadline);
    return pthread_cond_timedwait(&liveness->changed, &liveness->lock, &at) !=
           ETIMEDOUT;
}

enum liveness_outcome liveness_wait(struct liveness *liveness, double deadline)
{
    enum liveness_outcome outcome = LIVENESS_ALL_GONE;
    bool in_time = true;
    pthread_mutex_lock(&liveness->lock);
    while (!liveness->is_ending && liveness->num_absent + liveness->num_there &&
           in_time)
        in_time =
            wait_until(liveness, liveness->num_absent ? deadline : INFINITY);
    if (liveness->is_ending)
        outcome = liveness->why;
    else if (liveness->num_absent)
        outcome = LIVENESS_ABSENT;
    pthread_mutex_unlock(&liveness->lock);
    return outcome;
}

size_t liveness_wait_for_nobody(struct liveness *liveness, double deadline)
{
    bool in_time = true;
    pthread_mutex_lock(&liveness->lock);
    while (liveness->num_there && in_time)
        in_time = wait_until(liveness, deadline);
    size_t left = liveness->num_there;
    pthread_mutex_unlock(&liveness->lock);
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

size_t liveness_kill(struct liveness *liveness, bool spare_finalized)
{
    size_t killed = 0;
    pthread_mutex_lock(&liveness->lock);
    for (size_t i = 0; i < liveness->count; i++) {
        const struct member *member = &liveness->members[i];
        if (member->presence != THERE ||
            (spare_finalized && member->is_finalized))
            continue;
        kill_member(member);
        killed++;
    }
    pthread_mutex_unlock(&liveness->lock);
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
static void print_members(FILE *out, struct liveness *liveness,
                          bool (*is_so)(const struct member *member))
{
    int *numbers = malloc(liveness->count * sizeof *numbers), count = 0;
    pthread_mutex_lock(&liveness->lock);
    for (size_t i = 0; numbers && i < liveness->count; i++)
        if (is_so(&liveness->members[i]))
            numbers[count++] = (int)liveness->members[i].process;
    pthread_mutex_unlock(&liveness->lock);
    if (count)
        jd__ranges_print_processes(out, numbers, count);
    free(numbers);
}

void liveness_print_absent(FILE *out, struct liveness *liveness)
{
    print_members(out, liveness, is_absent);
}

size_t liveness_print_unfinalized(FILE *out, struct liveness *liveness)
{
    size_t finalized = 0;
    print_members(out, liveness, is_gone_unfinalized);
    pthread_mutex_lock(&liveness->lock);
    for (size_t i = 0; i < liveness->count; i++)
        finalized += liveness->members[i].is_finalized;
    pthread_mutex_unlock(&liveness->lock);
    return finalized;
}

void liveness_print_process(FILE *out, struct liveness *liveness,
                            uint32_t process)
{
    fprintf(out, "process %u", (unsigned)process);
    pthread_mutex_lock(&liveness->lock);
    struct member *member = find_member(liveness, process);
    if (member && member->pid > 0)
        fprintf(out, " (pid %d)", (int)member->pid);
    pthread_mutex_unlock(&liveness->lock);
}
