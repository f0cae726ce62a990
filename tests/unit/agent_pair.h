/* SPDX-License-Identifier: BSD-3-Clause */
/* agent_pair.h - the processes of test_agent*.c, and a service for them. */
#ifndef UNIT_AGENT_PAIR_H
#define UNIT_AGENT_PAIR_H

#include "tests/unit/agent.h"

static struct process first, other;

static inline void begin(int count)
{
    start_service(count, &secret_auth);
    enter(&first, 1, count);
}

/* The first process is as well as before. */
static inline void end(void)
{
    int64_t sum;
    UNIT_OK(add_to(&first, "still here", 1, &sum));
    ck_assert_int_eq(first.num_lost, 0);
    close_agent(&first);
    stop_service();
}

#endif
