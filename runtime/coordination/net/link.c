/* SPDX-License-Identifier: BSD-3-Clause */
/* link.c - one connected socket. */
#include "runtime/coordination/net/link.h"
#include "runtime/coordination/net/child.h"
#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BUFFER (256 << 10)    /* shared by the links of a pool */
#define MAX_READ ((size_t)1 << 20) /* of one link in one turn */
#define BACKLOG_FACTOR 8           /* messages of the largest size */
#define END_SECONDS 1              /* for the other side to read the rest */

struct jd_link_pool {
    struct jd_loop *loop;
    struct jd_wire_arena arena;
    uint8_t *buffer;
    bool is_gathering;     /* messages of one read are being handled */
    double reading_at;     /* since when */
    struct jd_link *dirty; /* those with something gathered */
};

struct jd_link {
    struct jd_link_pool *pool;
    const struct jd_link_hooks *hooks;
    void *arg;
    struct event *read_event;
    struct event *write_event;
    size_t limit;
    struct jd_bytes in;
    struct jd_seal received;
    bool is_ending; /* nothing more is read or sent but what waits */
    double ends_at; /* then, at the latest */
    bool is_gone;   /* destroyed or closed: only references are left */
    bool is_dirty;
    struct jd_link *next_dirty;

    pthread_mutex_t lock;
    int fd; /* under the lock, as the rest; -1: closed */
    int references;
    bool is_full;   /* the reader does not read: to be closed */
    bool is_broken; /* a send has failed: reading will tell why */
    struct jd_bytes out;
    struct jd_seal sent;
};

/* ---- pools -------------------------------------------------------------- */

jd_status jd__link_pool_create(struct jd_loop *loop,
                               struct jd_link_pool **ret_pool)
{
    struct jd_link_pool *pool = calloc(1, sizeof *pool);
    if (pool)
        pool->buffer = malloc(READ_BUFFER);
    if (!pool || !pool->buffer) {
        free(pool);
        return jd__fail_no_memory("the coordination service", READ_BUFFER);
    }
    pool->loop = loop;
    *ret_pool = pool;
    return JD_OK;
}

void jd__link_pool_destroy(struct jd_link_pool *pool)
{
    if (!pool)
        return;
    jd__wire_arena_finish(&pool->arena);
    free(pool->buffer);
    free(pool);
}

double jd__link_reading_at(const struct jd_link_pool *pool)
{
    return pool->reading_at;
}

/* ---- references --------------------------------------------------------- */

static void release_link(struct jd_link *link)
{
    pthread_mutex_lock(&link->lock);
    int left = --link->references;
    pthread_mutex_unlock(&link->lock);
    if (left)
        return;
    jd__wire_bytes_finish(&link->in);
    jd__wire_bytes_finish(&link->out);
    jd__seal_finish(&link->received);
    jd__seal_finish(&link->sent);
    pthread_mutex_destroy(&link->lock);
    free(link);
}

static void hold_link(struct jd_link *link)
{
    pthread_mutex_lock(&link->lock);
    link->references++;
    pthread_mutex_unlock(&link->lock);
}

/* Frees what the loop has of it; references may be left. */
static void close_link(struct jd_link *link)
{
    link->is_gone = true;
    if (link->read_event)
        event_free(link->read_event);
    if (link->write_event)
        event_free(link->write_event);
    link->read_event = link->write_event = NULL;
    pthread_mutex_lock(&link->lock);
    jd__child_forget(link->fd);
    close(link->fd);
    link->fd = -1;
    pthread_mutex_unlock(&link->lock);
}

static void report_closed(struct jd_link *link, int error, const char *why)
{
    if (link->is_gone)
        return;
    close_link(link);
    link->hooks->on_closed(link->arg, error, why);
}

/* ---- sending ------------------------------------------------------------ */

/* With the lock: sends what the socket takes. True where some is left. */
static bool push_out(struct jd_link *link)
{
    jd__seal_close(&link->sent, &link->out);
    while (jd__bytes_size(&link->out)) {
        ssize_t sent =
            send(link->fd, link->out.data + link->out.begin,
                 jd__bytes_size(&link->out), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return true;
        if (sent < 0) {
            link->is_broken = true;
            sent = (ssize_t)jd__bytes_size(&link->out);
        }
        jd__wire_bytes_consume(&link->out, (size_t)sent);
    }
    return false;
}

/* On the loop: sends, and asks for a turn where some is left. */
static void flush_link(struct jd_link *link)
{
    if (link->is_gone)
        return;
    pthread_mutex_lock(&link->lock);
    bool is_left = push_out(link);
    bool is_full = link->is_full, is_broken = link->is_broken;
    pthread_mutex_unlock(&link->lock);
    if (is_broken) /* where the socket was closed by others, nothing comes */
        event_active(link->read_event, EV_READ, 1);
    if (is_full)
        event_active(link->write_event, EV_WRITE, 1);
    else if (is_left)
        event_add(link->write_event, NULL);
    else if (link->is_ending)
        shutdown(link->fd, SHUT_WR);
}

static void flush_and_release(void *link)
{
    flush_link(link);
    release_link(link);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct jd_link *link = arg;
    char why[80];
    (void)fd, (void)what;
    pthread_mutex_lock(&link->lock);
    bool is_full = link->is_full;
    size_t waiting = jd__bytes_size(&link->out);
    pthread_mutex_unlock(&link->lock);
    if (!is_full) {
        flush_link(link);
        return;
    }
    snprintf(why, sizeof why, "it does not read: %zu bytes wait for it",
             waiting);
    report_closed(link, ENOBUFS, why);
}

static void gather_dirty(struct jd_link *link)
{
    struct jd_link_pool *pool = link->pool;
    if (link->is_dirty)
        return;
    link->is_dirty = true;
    link->next_dirty = pool->dirty;
    pool->dirty = link;
    hold_link(link);
}

static void flush_gathered(struct jd_link_pool *pool)
{
    pool->is_gathering = false;
    while (pool->dirty) {
        struct jd_link *link = pool->dirty;
        pool->dirty = link->next_dirty;
        link->is_dirty = false;
        flush_and_release(link);
    }
}

/* With the lock: puts the message behind what waits. */
static bool append_message(struct jd_link *link, const Jd__Message *message)
{
    if (link->fd < 0 || link->is_broken || link->is_full)
        return false;
    if (!link->hooks->waits_for_reader &&
        jd__bytes_size(&link->out) > BACKLOG_FACTOR * link->limit) {
        link->is_full = true;
        return true; /* the loop closes it */
    }
    return jd__seal_append(&link->sent, &link->out, message);
}

bool jd__link_send(struct jd_link *link, const Jd__Message *message)
{
    bool on_loop = jd__loop_is_current(link->pool->loop);
    if (on_loop && link->is_ending)
        return false;
    pthread_mutex_lock(&link->lock);
    bool was_empty = !jd__bytes_size(&link->out);
    bool sent = append_message(link, message);
    bool is_left = sent && !on_loop && was_empty && push_out(link);
    bool is_errand = link->is_full || is_left || link->is_broken;
    if (is_errand)
        link->references++;
    pthread_mutex_unlock(&link->lock);
    if (is_errand && !jd__loop_call(link->pool->loop, flush_and_release, link))
        release_link(link);
    if (sent && on_loop) {
        if (link->pool->is_gathering)
            gather_dirty(link);
        else
            flush_link(link);
    }
    return sent;
}

bool jd__link_is_closed(struct jd_link *link)
{
    pthread_mutex_lock(&link->lock);
    bool is_closed = link->fd < 0 || link->is_broken || link->is_full;
    pthread_mutex_unlock(&link->lock);
    return is_closed;
}

size_t jd__link_backlog(struct jd_link *link)
{
    pthread_mutex_lock(&link->lock);
    size_t size = jd__bytes_size(&link->out);
    pthread_mutex_unlock(&link->lock);
    return size;
}

/* ---- reading ------------------------------------------------------------ */

/* Handles the frames of the data; returns how much of it they were. */
static size_t handle_frames(struct jd_link *link, uint8_t *data, size_t size)
{
    struct jd_link_pool *pool = link->pool;
    struct jd_wire_arena *arena =
        link->hooks->keeps_messages ? NULL : &pool->arena;
    struct jd_wire_frame frame;
    size_t used = 0;
    while (!link->is_gone && !link->is_ending) {
        enum jd_wire_result result =
            jd__seal_next(&link->received, data + used, size - used,
                          link->limit, arena, &frame);
        if (result == JD_WIRE_PARTIAL)
            break;
        if (result == JD_WIRE_BROKEN) {
            report_closed(link, EPROTO, frame.why);
            break;
        }
        used += frame.bytes;
        link->hooks->on_message(link->arg, frame.message);
        jd__wire_arena_reset(&pool->arena);
    }
    return used;
}

static ssize_t receive_bytes(struct jd_link *link, uint8_t *at, size_t size)
{
    ssize_t got;
    do
        got = recv(link->fd, at, size, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Some of a frame waits already: the rest is read behind it, in steps, so
 * that a length alone reserves no memory. */
static ssize_t receive_rest(struct jd_link *link)
{
    size_t has = jd__bytes_size(&link->in);
    size_t step = has < READ_BUFFER ? READ_BUFFER : has;
    size_t most = JD_WIRE_HEADER + link->limit + READ_BUFFER / 16;
    step = step > MAX_READ ? MAX_READ : step;
    step = step > most ? most : step; /* a stranger's frames are small */
    uint8_t *at = jd__wire_bytes_reserve(&link->in, step);
    if (!at) {
        errno = ENOMEM;
        return -1;
    }
    ssize_t got = receive_bytes(link, at, step);
    if (got <= 0)
        return got;
    link->in.end += (size_t)got;
    size_t used = handle_frames(link, link->in.data + link->in.begin,
                                jd__bytes_size(&link->in));
    jd__wire_bytes_consume(&link->in, used);
    return got;
}

static ssize_t receive_fresh(struct jd_link *link)
{
    uint8_t *buffer = link->pool->buffer;
    ssize_t got = receive_bytes(link, buffer, READ_BUFFER);
    if (got <= 0)
        return got;
    size_t used = handle_frames(link, buffer, (size_t)got);
    size_t left = (size_t)got - used;
    if (!left || link->is_gone || link->is_ending)
        return got;
    uint8_t *at = jd__wire_bytes_reserve(&link->in, left);
    if (!at) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(at, buffer + used, left);
    link->in.end += left;
    return got;
}

/* Reads away what comes after the end, so that the other side gets our last
 * words and not a reset. */
static void read_away(struct jd_link *link, short what)
{
    ssize_t got = what & EV_TIMEOUT || jd__clock_now() >= link->ends_at
                      ? 0
                      : receive_bytes(link, link->pool->buffer, READ_BUFFER);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        report_closed(link, 0, NULL);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct jd_link *link = arg;
    struct jd_link_pool *pool = link->pool;
    (void)fd;
    if (link->is_ending) {
        read_away(link, what);
        return;
    }
    hold_link(link);
    pool->is_gathering = true;
    pool->reading_at = jd__clock_now();
    ssize_t got =
        jd__bytes_size(&link->in) ? receive_rest(link) : receive_fresh(link);
    int error = got < 0 ? errno : 0;
    flush_gathered(pool);
    if (got == 0 || (got < 0 && error != EAGAIN))
        report_closed(link, error, NULL);
    release_link(link);
}

/* ---- life --------------------------------------------------------------- */

struct jd_link *jd__link_create(struct jd_link_pool *pool, int fd, size_t limit,
                                const struct jd_link_hooks *hooks, void *arg)
{
    struct jd_link *link = calloc(1, sizeof *link);
    if (!link) {
        close(fd);
        return NULL;
    }
    *link = (struct jd_link){ .pool = pool,
                              .hooks = hooks,
                              .arg = arg,
                              .limit = limit,
                              .fd = fd,
                              .references = 1 };
    pthread_mutex_init(&link->lock, NULL);
    jd__child_note(fd);
    struct event_base *base = jd__loop_base(pool->loop);
    link->read_event =
        event_new(base, fd, EV_READ | EV_PERSIST, on_readable, link);
    link->write_event = event_new(base, fd, EV_WRITE, on_writable, link);
    if (link->read_event && link->write_event)
        return link;
    jd__link_destroy(link);
    return NULL;
}

void jd__link_set_limit(struct jd_link *link, size_t limit)
{
    pthread_mutex_lock(&link->lock);
    link->limit = limit;
    pthread_mutex_unlock(&link->lock);
}

void jd__link_seal(struct jd_link *link, const uint8_t sending[JD_SEAL_KEY],
                   const uint8_t receiving[JD_SEAL_KEY])
{
    pthread_mutex_lock(&link->lock);
    jd__seal_begin(&link->sent, sending);
    pthread_mutex_unlock(&link->lock);
    jd__seal_begin(&link->received, receiving);
}

bool jd__link_start(struct jd_link *link)
{
    return event_add(link->read_event, NULL) == 0;
}

void jd__link_end(struct jd_link *link)
{
    static const struct timeval end = { END_SECONDS, 0 };
    if (link->is_gone || link->is_ending)
        return;
    link->is_ending = true;
    link->ends_at = jd__clock_now() + END_SECONDS; /* though it goes on */
    event_add(link->read_event, &end);
    if (link->pool->is_gathering)
        gather_dirty(link);
    else
        flush_link(link);
}

void jd__link_destroy(struct jd_link *link)
{
    if (!link)
        return;
    if (!link->is_gone)
        close_link(link);
    release_link(link);
}
