/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * service_crowd.h - a service with UNIT_MAX_PEERS processes, eight on each
 * host, whose messages the test counts instead of keeping them.
 *
 *     static void crowd_send(void *arg, const Jd__Message *message)
 *     {
 *         struct peer *peer = arg;
 *         if (!crowd_is_let_in(peer, message))
 *             ... count it ...
 *     }
 *
 *     crowd_start(crowd_send);
 *     for (int i = 0; i < COUNT; i++)
 *         crowd_come(i);
 */
#ifndef TESTS_UNIT_SERVICE_CROWD_H
#define TESTS_UNIT_SERVICE_CROWD_H

#include "tests/unit/service.h"

enum { COUNT = UNIT_MAX_PEERS, PER_HOST = 8 };

/* Whether the message was of how it is let in; nothing more is to be done. */
static inline bool crowd_is_let_in(struct peer *peer,
                                   const Jd__Message *message)
{
    if (message->body_case == JD__MESSAGE__BODY_CHALLENGE)
        memcpy(peer->challenge, message->challenge->nonce.data, JD_AUTH_NONCE);
    else if (message->body_case == JD__MESSAGE__BODY_ADMITTED)
        peer->is_welcome = true;
    else
        return false;
    return true;
}

static inline void crowd_start(void (*send)(void *, const Jd__Message *))
{
    static struct jd_service_hooks crowd_hooks = {
        .welcome = hook_welcome,
        .end = hook_end,
        .drop = hook_drop,
        .vouch = hook_vouch,
        .owner = hook_owner,
    };
    struct jd_service_spec spec = make_spec(COUNT);
    crowd_hooks.send = send;
    spec.hooks = &crowd_hooks;
    start_spec(&spec);
}

/* Process i comes, and is let in. */
static inline void crowd_come(int i)
{
    char host[16];
    snprintf(host, sizeof host, "n%d", i / PER_HOST);
    Jd__Hello hello = make_hello(i, COUNT, host);
    peers[i].connection =
        jd__service_accept(service, &peers[i], "10.0.0.9:5555", now);
    say_hello(&peers[i], &open_auth, &hello);
    ck_assert(peers[i].is_welcome);
}

#endif
