/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waits.h - what processes tell the service of waits that last, and what comes
 * of it; the service is service.h's.
 */
#ifndef TESTS_UNIT_WAITS_H
#define TESTS_UNIT_WAITS_H

#include "tests/unit/service.h"

/* A wait that process says it is in: wait, operation, seconds, for whom. */
struct said {
    uint64_t wait;
    const char *operation;
    double waited;
    uint32_t process;
    bool is_far, has_threads, is_transfer;
    uint32_t another; /* process plus 1; 0: for one alone */
    uint64_t other;   /* the wait of the process's other thread; 0: none */
    uint64_t third;   /* that of one more */
    uint64_t comm;
};

static inline void say_at(int process, const struct said *said, uint64_t look)
{
    Jd__Blocked body = JD__BLOCKED__INIT;
    uint32_t missing[] = { said->process, said->another - 1 };
    body.wait = said->wait;
    body.operation = (char *)said->operation;
    body.waited_ms = (uint64_t)(1000 * said->waited);
    body.processes = missing;
    body.n_processes = said->another ? 2 : 1;
    body.is_far = said->is_far;
    body.is_alone = !said->has_threads;
    body.is_transfer = said->is_transfer;
    uint64_t others[] = { said->other, said->third };
    body.others = others;
    body.n_others = (said->other != 0) + (said->third != 0);
    body.comm = said->comm;
    body.look = look;
    tell(&peers[process], JD__MESSAGE__BODY_BLOCKED, &body);
}

static inline void say(int process, struct said said)
{
    say_at(process, &said, 0);
}

/* The service asks, and the process says that it still waits. */
static inline void answer_look(int process, struct said said)
{
    Jd__Message *look = take(&peers[process], JD__MESSAGE__BODY_LOOK);
    say_at(process, &said, look->look->number);
    drop(look);
}

/* What it is in, for long, and where in its program. */
static inline void say_place(int process, const char *operation,
                             const char *call)
{
    beat_calling(&peers[process], operation, 7, true, 20000, call);
}

static inline void expect_failure_begins(struct peer *peer, const char *text)
{
    Jd__Message *message = take(peer, JD__MESSAGE__BODY_FAILURE);
    message->failure->text[strlen(text)] = '\0';
    ck_assert_str_eq(message->failure->text, text);
    drop(message);
}

static inline void expect_failures(int count, const char *text)
{
    for (int i = 0; i < count; i++) {
        Jd__Message *message = take(&peers[i], JD__MESSAGE__BODY_FAILURE);
        ck_assert_str_eq(message->failure->text, text);
        drop(message);
    }
}

static inline void start_noticing(int count, double notice)
{
    struct jd_service_spec spec = make_spec(count);
    spec.notice = notice;
    start_spec(&spec);
    start_joined(count);
}

static const struct said psum = { .wait = 1,
                                  .operation = "jd_psum over axis \"x\"",
                                  .waited = 0.5,
                                  .process = 1 };

#endif
