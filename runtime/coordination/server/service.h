/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * service.h - the coordination service as a state machine: messages and the
 * time go in, messages come out. It has no socket, no thread and no clock, so
 * that one process can hold it alone, and a fuzzer can drive it.
 *
 *     jd__service_create(&spec, &service);
 *     connection = jd__service_accept(service, peer, "10.0.0.2:5555", now);
 *     jd__service_receive(service, connection, message, now);
 *     jd__service_lost(service, connection, error, NULL, now);
 *     next = jd__service_tick(service, now);
 *
 * coordination.proto says what each message does. The parts: connections and
 * requests (service.c), who shows what (greet.c), who is let in and how all
 * meet and part (admission.c), who is there (processes.c), waits and their
 * deadlines (pending.c), the store's requests (kv.c), barriers
 * (barriers.c), waits of processes for each other (blocked.c), who makes
 * others wait (stragglers.c), stacks of processes (stacks.c), what they have
 * called (traces.c), failures (failures.c), preemption (preemption_sync.c), how
 * many strangers there may be (strangers.c). Threads: one at a time.
 */
#ifndef RUNTIME_COORDINATION_SERVER_SERVICE_H
#define RUNTIME_COORDINATION_SERVER_SERVICE_H

#include "base/status.h"
#include "runtime/coordination/auth/auth.h"
#include "runtime/coordination/auth/munge.h"
#include "runtime/coordination/net/wire.h"
#include "runtime/coordination/server/speakers.h"

struct jd_service;
struct jd_connection; /* one connection */

/* What the service does to the other end of a connection. */
enum jd_peer_owner {
    JD_OWNER_OURS,   /* of the service's own user, or root's, on this host */
    JD_OWNER_OTHER,  /* of another user of this host */
    JD_OWNER_ANYBODY /* on another host */
};

struct jd_service_hooks {
    void (*send)(void *peer, const Jd__Message *message);
    /* It has shown who it is: its frames may be as large as max_message, and
     * from here on have MACs of these keys both ways; NULL: there are none. */
    void (*welcome)(void *peer, const struct jd_auth_keys *keys);
    /* Close it after what was sent; jd__service_lost comes then. */
    void (*end)(void *peer);
    /* Close it now: its connection is gone, and nothing is said of it any more.
     */
    void (*drop)(void *peer);
    /* Ask munge, and call jd__service_vouched; false where that cannot begin.
     * The spec's timeout is the hook's. */
    bool (*vouch)(void *peer, const struct jd_munge_spec *spec);
    /* Bytes that were sent to it and that it has not taken. */
    size_t (*backlog)(void *peer);
    /* Where nobody has said a secret: whose the other end is. */
    enum jd_peer_owner (*owner)(void *peer);
};

enum {
    /* Connections that have not shown who they are, or were refused and are
     * closing, beside one for each of the job's processes that is missing. Of
     * more than these one is closed where another comes. */
    JD_SERVICE_STRANGERS = 64,
    JD_SERVICE_QUESTIONS = 64, /* to munge at once; others wait their turn */
};

struct jd_service_spec {
    const struct jd_service_hooks *hooks;
    const struct jd_auth *auth;          /* of processes and helpers */
    const struct jd_auth *observer_auth; /* of observers; NULL: the same */
    const char *job;
    uint32_t attempt;
    int count;                /* of the job's processes */
    double heartbeat_timeout; /* seconds; negative: none */
    size_t max_message;
    size_t max_store; /* bytes that one process may store; 0: any */
    enum jd_failure_speakers speakers;
    double notice;    /* seconds that waits in a circle must last */
    const char *host; /* of the service */
    const char *program;
    uint32_t pid;
};

/* Copies what it needs. Returns JD_OK, RESOURCE_EXHAUSTED. */
jd_status jd__service_create(const struct jd_service_spec *spec,
                             struct jd_service **ret_service);
/* Frees it with all connections. NULL is nothing. */
void jd__service_destroy(struct jd_service *service);

/* A connection has come; from is its address, for sentences. Sends the
 * Challenge. NULL where there is no memory. */
struct jd_connection *jd__service_accept(struct jd_service *service, void *peer,
                                         const char *from, double now);

/* This connection comes from the service's own process: it is no stranger,
 * however many there are. Before anything else is done to the connection. */
void jd__service_own(struct jd_service *service,
                     struct jd_connection *connection);

/* Descriptors are short: drops a stranger, one that is closing first. False
 * where there is none. */
bool jd__strangers_shed(struct jd_service *service, double now);

/* A connection that needs no meeting: the one process of a world of one. */
struct jd_connection *jd__service_accept_alone(struct jd_service *service,
                                               void *peer);

/* The message stands until this returns. */
void jd__service_receive(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Message *message, double now);

/* munge's answer: a credential over what the spec said, or a sentence. */
void jd__service_vouched(struct jd_service *service,
                         struct jd_connection *connection, jd_status status,
                         const char *text, double now);

/* The connection is closed: 0 is an end of file, EPROTO garbage (why says
 * what). Frees the connection. */
void jd__service_lost(struct jd_service *service,
                      struct jd_connection *connection, int error,
                      const char *why, double now);

/* Does what is due; returns when to call again at the latest. */
double jd__service_tick(struct jd_service *service, double now);

/* True while processes that are not dead are connected, except this host's
 * process 0: those may still use the store. */
bool jd__service_is_used(const struct jd_service *service);

/* As above, but counts only those that live and have a callback for
 * failures. */
bool jd__service_has_armed(const struct jd_service *service);

#endif
