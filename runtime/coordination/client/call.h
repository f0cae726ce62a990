/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.h - a request to the coordination service and its reply, whoever
 * answers.
 *
 *     Jd__Increment body = JD__INCREMENT__INIT;
 *     struct jd_call call = { .operation = "jd_kv_increment", ... };
 *     jd__call_init(&call, JD__MESSAGE__BODY_INCREMENT, &body);
 *     status = jd__client_call(client, &call);
 *     ... call.reply->number ...
 *     jd__call_finish(&call);
 */
#ifndef RUNTIME_COORDINATION_CLIENT_CALL_H
#define RUNTIME_COORDINATION_CLIENT_CALL_H

#include "base/status.h"
#include "runtime/coordination/net/wire.h"

/* One request and its reply. */
struct jd_call {
    const char *operation; /* "jd_kv_get" */
    const char *detail;    /* " of key \"a\"", or NULL: follows operation */
    double timeout;        /* seconds; negative: none; 0: answered at once */
    double grace;          /* seconds for the service to answer; 0: timeout
                                 and two seconds, or 60 s */
    const char *variable;  /* what changes it: "the timeout argument" */
    int missing;           /* of an Arrive whose time is up: the lowest process
                            * that has not come; else -1 */
    Jd__Message request;   /* its body; id and timeout_ms are filled in */
    Jd__Message *answer;   /* the reply's message, until jd__call_finish */
    Jd__Reply *reply;      /* within answer */
};

/* Sets the request's body; the other members are the caller's. */
void jd__call_init(struct jd_call *call, Jd__Message__BodyCase body,
                   void *body_message);
void jd__call_finish(struct jd_call *call);
/* The answer has come: it is the call's now. Returns its status, with the
 * sentence. */
jd_status jd__call_take(struct jd_call *call, Jd__Message *answer);

#endif
