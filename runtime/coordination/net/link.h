/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link.h - one connected socket: frames go out, frames come in. The service
 * has one per agent, the agent one to the service.
 *
 * Reading and everything else happens on the loop's thread; only jd__link_send
 * may be called on any. What the socket does not take at once waits in the
 * link; a reader who does not read is closed when too much waits.
 */
#ifndef RUNTIME_COORDINATION_NET_LINK_H
#define RUNTIME_COORDINATION_NET_LINK_H

#include "runtime/coordination/net/loop.h"
#include "runtime/coordination/net/seal.h"
#include "runtime/coordination/net/wire.h"

struct jd_link;

struct jd_link_hooks {
    /* Messages are the hook's own, for jd__message__free_unpacked(); else
     * they stand until on_message returns. */
    bool keeps_messages;
    /* What the socket does not take waits, however much it is: the other side
     * is trusted to read in the end. */
    bool waits_for_reader;
    /* A message came. The link may be ended and destroyed in it. */
    void (*on_message)(void *arg, Jd__Message *message);
    /* The link is closed: error 0 is an end of file, EPROTO with its reason a
     * frame that is none, otherwise the errno. Comes once, and not after
     * jd__link_destroy. */
    void (*on_closed)(void *arg, int error, const char *why);
};

/*
 * What the links of one loop share. While messages of one read are handled,
 * what is sent on the loop's thread is gathered, and goes out in one call per
 * link.
 */
struct jd_link_pool;
jd_status jd__link_pool_create(struct jd_loop *loop,
                               struct jd_link_pool **ret_pool);
void jd__link_pool_destroy(struct jd_link_pool *pool);
/* On the loop: when the read began whose messages are handled (base/clock.h).
 */
double jd__link_reading_at(const struct jd_link_pool *pool);

/*
 * Takes over the connected, non-blocking socket. Frames over limit bytes are
 * broken. Returns NULL where there is no memory; the socket is closed then.
 */
struct jd_link *jd__link_create(struct jd_link_pool *pool, int fd, size_t limit,
                                const struct jd_link_hooks *hooks, void *arg);
void jd__link_set_limit(struct jd_link *link, size_t limit);

/* From the next message on in each direction: a MAC is behind it (seal.h), and
 * one that is wrong breaks the connection. On the loop's thread. */
void jd__link_seal(struct jd_link *link, const uint8_t sending[JD_SEAL_KEY],
                   const uint8_t receiving[JD_SEAL_KEY]);

/* On the loop: begins to read. */
bool jd__link_start(struct jd_link *link);

/*
 * Sends the message, now as far as the socket takes it. Returns false where
 * the link is closed or there is no memory. Threads: any.
 */
bool jd__link_send(struct jd_link *link, const Jd__Message *message);

/* Closes when all that was sent has gone, or after a second; then on_closed
 * with error 0. Nothing more is read. */
void jd__link_end(struct jd_link *link);

/* True where nothing can be sent any more. Threads: any. */
bool jd__link_is_closed(struct jd_link *link);

/* Bytes that wait to be sent. */
size_t jd__link_backlog(struct jd_link *link);

/* Frees it at once, without on_closed. NULL is nothing. */
void jd__link_destroy(struct jd_link *link);

#endif
