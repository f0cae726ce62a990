/* SPDX-License-Identifier: BSD-3-Clause */
/* test_agent_clock.c - an agent whose clock is off by up to 100 s learns by how
 * much, from the service itself. */
#include "tests/unit/agent.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { TRIALS = 100, IN_A_ROW = 8 };

/* ---- a clock that is off ------------------------------------------------ */

static double hidden;

static double hidden_now(void)
{
    return jd__clock_now() + hidden;
}

static int hidden_wait(pthread_cond_t *condition, pthread_mutex_t *lock,
                       double until)
{
    return jd__clock_wait(NULL, condition, lock, until - hidden);
}

static const struct jd_clock hidden_clock = { hidden_now, hidden_wait };

static struct jd_clock_sample samples[2 * IN_A_ROW];
static atomic_int num_samples;

static void note(const struct jd_clock_sample *sample)
{
    samples[num_samples] = *sample;
    atomic_fetch_add(&num_samples, 1);
}

static void enter_hidden(struct process *p)
{
    struct jd_agent_spec spec = make_spec(1, 2);
    spec.clock = &hidden_clock;
    spec.note_clock = note;
    num_samples = 0;
    open_agent(p, &spec);
    UNIT_OK(jd__agent_meet(p->agent, hidden_now() + 30));
}

/* ---- what it learns ----------------------------------------------------- */

/* The service's clock is the machine's. */
static void expect_holds(const struct jd_clock_sample *sample)
{
    double off = (double)sample->offset + 1e9 * hidden;
    ck_assert_msg(fabs(off) <= (double)sample->error,
                  "the offset is %.0f ns, and %" PRId64 " was said, off by "
                  "%" PRId64 " at most",
                  -1e9 * hidden, sample->offset, sample->error);
    ck_assert_int_lt(sample->error, 30000000000);
}

START_TEST(what_it_says_holds)
{
    static struct process p;
    uint64_t seed = (uint64_t)getpid();
    start_service(2, &secret_auth);
    printf("# seed %" PRIu64 "\n", seed);
    srand48((long)seed);
    for (int i = 0; i < TRIALS; i++) {
        hidden = 200 * drand48() - 100;
        enter_hidden(&p);
        while (num_samples < IN_A_ROW)
            sched_yield();
        close_agent(&p);
        ck_assert_int_eq(num_samples, IN_A_ROW);
        for (int k = 0; k < IN_A_ROW; k++)
            expect_holds(&samples[k]);
    }
    stop_service();
}
END_TEST

/* Also one that comes late, when another was asked. */
START_TEST(an_answer_to_no_question_says_nothing)
{
    static struct process p;
    struct stop stop;
    start_service(2, &secret_auth);
    hidden = 7;
    enter_hidden(&p);
    while (num_samples < IN_A_ROW)
        sched_yield();
    stop_loop(home.loop, &stop);
    Jd__Reply reply = JD__REPLY__INIT;
    reply.clock_ns = 1; /* which answers no question */
    jd__agent_heartbeat_on_clock(p.agent, &reply);
    reply.asked_ns = 12345;
    jd__agent_heartbeat_on_clock(p.agent, &reply);
    ck_assert_int_eq(num_samples, IN_A_ROW);
    let_go_on(&stop);
    close_agent(&p);
    stop_service();
}
END_TEST

/* Without a recorder nothing is asked. */
START_TEST(who_does_not_want_it_asks_for_none)
{
    static struct process p;
    int64_t sum;
    start_service(2, &secret_auth);
    enter(&p, 1, 2);
    UNIT_OK(add_to(&p, "n", 1, &sum));
    ck_assert_double_eq(p.agent->clock_asked_at, 0);
    close_agent(&p);
    stop_service();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_clock");
    TCase *tcase = unit_case(suite, "clock");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, what_it_says_holds);
    tcase_add_test(tcase, an_answer_to_no_question_says_nothing);
    tcase_add_test(tcase, who_does_not_want_it_asks_for_none);
    return unit_main(suite);
}
