/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * requests.h - a request with sense, of the bytes of an input: few keys and
 * names, so that requests meet.
 *
 *     struct request request;
 *     fuzz_request(&input, &request);
 *     ... request.message, while request stands ...
 */
#ifndef TESTS_FUZZ_REQUESTS_H
#define TESTS_FUZZ_REQUESTS_H

#include "runtime/coordination/net/wire.h"
#include "tests/fuzz/fuzz.h"

enum { REQUEST_MAX_LIST = 4, REQUEST_OTHERS = 17 };

/* A message and all that it points to. Its id is left to the caller. */
struct request {
    Jd__Message message;
    union {
        Jd__Heartbeat heartbeat;
        Jd__Join join;
        Jd__Leave leave;
        Jd__Set set;
        Jd__Get get;
        Jd__List list;
        Jd__Delete delete;
        Jd__Increment increment;
        Jd__Arrive arrive;
        Jd__Cancel cancel;
        Jd__Live live;
        Jd__Report report;
        Jd__Preempted preempted;
        Jd__Step step;
        Jd__Acknowledge acknowledge;
        Jd__Armed armed;
        Jd__Inquiry inquiry;
        Jd__Withdraw withdraw;
        Jd__Blocked blocked;
        Jd__Sent sent;
        Jd__StackOf stack_of;
        Jd__Stack stack;
        Jd__StackShown stack_shown;
        Jd__TraceOf trace_of;
        Jd__TracePart trace_part;
        Jd__SiteNamed site_named;
    } body;
    Jd__Progress progress;
    Jd__Waited waited;
    Jd__Waited *waited_pointers[2];
    Jd__Entry entries[REQUEST_MAX_LIST];
    Jd__Entry *entry_pointers[REQUEST_MAX_LIST];
    ProtobufCBinaryData keys[REQUEST_MAX_LIST];
    uint32_t processes[REQUEST_MAX_LIST], members[2];
    uint64_t others[REQUEST_OTHERS];
    Jd__Standing standing, *standing_pointer;
    uint64_t messages[1];
};

/* Takes the body, the timeout and what the body needs. */
void fuzz_request(struct fuzz_input *input, struct request *request);

#endif
