/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.h - the other ends of the service's sessions, as a fuzz target has
 * them: they note what they asked, and check all that the service does.
 *
 *     struct model model = { .job = "job", ... };
 *     struct connection *c = model_accept(&model);
 *     model_receive(c, message);        what c sends to the service
 *     model_lose(c, ECONNRESET, NULL);
 *     model_tick(&model);               time passes; what is due has come
 *     model_finish(&model);
 *
 * What is checked, besides what the sanitizers see: a Challenge comes first, a
 * Welcome once, and nothing else before it; nothing comes on a session that
 * was ended or lost; a reply was asked for, comes once, and not after a
 * Withdraw; whatever can be answered at once is, and the rest by its
 * deadline; a round of preemption has one decision; a failure comes once; and
 * the service never asks to be called again at once.
 */
#ifndef TESTS_FUZZ_MODEL_H
#define TESTS_FUZZ_MODEL_H

#include "runtime/coordination/server/service.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/steps.h"

enum { MODEL_MAX_CONNECTIONS = 64, MODEL_MAX_ROUNDS = 64 };

/* A request with an id. */
struct asked {
    uint64_t id;
    Jd__Message__BodyCase body;
    double deadline; /* of its reply; INFINITY: none */
    bool is_answered, is_withdrawn;
};

struct connection {
    struct model *model;
    struct jd_connection *session;
    bool has_challenge, is_welcome, is_ended, is_lost, has_failed;
    bool is_vouching; /* munge is asked */
    bool has_twins;   /* an id was used twice: which reply is whose? */
    uint8_t challenge[JD_AUTH_NONCE];
    uint64_t last_id;
    size_t limit;          /* of a frame, for the service */
    struct jd_bytes bytes; /* that are not yet a frame */
    struct asked *asked;
    size_t num_asked, max_asked;
};

struct model {
    struct jd_service *service;
    struct jd_auth auth;
    int count; /* of processes */
    size_t max_message;
    double now;
    bool can_vouch; /* munge can be asked */
    struct connection *all[MODEL_MAX_CONNECTIONS];
    size_t num_all;
    struct connection *slots[FUZZ_SLOTS];
    bool is_decided[MODEL_MAX_ROUNDS];
    int64_t decisions[MODEL_MAX_ROUNDS];
};

extern const struct jd_service_hooks model_hooks;

/* NULL where there have been enough. */
struct connection *model_accept(struct model *model);
/* The one process of a world of one. */
struct connection *model_accept_alone(struct model *model);
void model_receive(struct connection *connection, const Jd__Message *message);
void model_lose(struct connection *connection, int error, const char *why);
void model_vouch(struct connection *connection, jd_status status);
/* Every reply that is due must have come. */
void model_tick(struct model *model);
/* Destroys the service, and frees everything. */
void model_finish(struct model *model);

#endif
