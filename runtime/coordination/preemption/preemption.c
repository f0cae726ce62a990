/* SPDX-License-Identifier: BSD-3-Clause */
/* preemption.c - agreeing on the step at which all stop. */
#include "runtime/coordination/preemption/preemption.h"
#include "base/clock.h"
#include "base/log.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/coordination/net/loop.h"
#include "runtime/coordination/preemption/preemption_callback.h"
#include "runtime/coordination/preemption/preemption_signal.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define DECISION_SECONDS 30.0

enum { RETRY_MILLISECONDS = 100 };

/* Why a poll has to look closer. */
enum attention {
    UNREADY = 1,   /* no handler yet */
    SIGNALLED = 2, /* the signal came, in a world of one */
    ROUND = 4,     /* a round has begun */
};

enum preemption_phase { QUIET, WAITING, DECIDED };

struct preemption_round {
    enum preemption_phase phase;
    uint64_t number;
    uint32_t process; /* who has received the signal */
    int64_t reported; /* the step that was sent */
    int64_t decision;
    bool given_up; /* polls wait no longer for the decision */
};

static struct {
    atomic_uint attention; /* 0: a poll is false, without another look */
    _Atomic int64_t step;  /* the last that was polled; -1: none */
    int fd;                /* the eventfd, once made; stays for the process */
    pthread_once_t once;
    /* Held while things are made and unmade, also by the loop: so the loop
     * must not want it. */
    pthread_mutex_t setup;
    struct jd_client *client; /* NULL: not started */
    atomic_int pid; /* who started it: a forked child has no threads of it */
    int signal_number;
    struct event *event; /* the loop's thread alone */
    struct event *retry; /* the same */
    /* Guards the round; held for moments. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct jd_clock *clock; /* under the lock, as the rest */
    bool is_started;
    struct preemption_round round;
} state = {
    .attention = UNREADY,
    .step = -1,
    .fd = -1,
    .once = PTHREAD_ONCE_INIT,
    .setup = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

static void make_condition(void)
{
    jd__clock_init_condition(&state.changed);
}

/* ---- in the handler ----------------------------------------------------- */

static void notify_alone(void)
{
    atomic_fetch_or(&state.attention, SIGNALLED);
    jd__preemption_callback_due();
}

static void notify_loop(void)
{
    static const uint64_t one = 1;
    /* It fails only where 2^64 - 2 signals wait already. */
    ssize_t written = write(state.fd, &one, sizeof one);
    (void)written;
}

/* ---- on the loop -------------------------------------------------------- */

/* Not lost while there is no connection: tried again until there is one. */
static void announce_notice(void)
{
    Jd__Preempted body = JD__PREEMPTED__INIT;
    Jd__Message message = JD__MESSAGE__INIT;
    message.body_case = JD__MESSAGE__BODY_PREEMPTED;
    message.preempted = &body;
    /* Launchers send the signal to the survivors of a failure too. */
    if (jd__failure_exit_has_begun())
        return;
    if (!jd__client_tell(state.client, &message))
        event_add(state.retry,
                  &(struct timeval){ .tv_usec = 1000 * RETRY_MILLISECONDS });
}

static void on_retry(evutil_socket_t fd, short what, void *unused)
{
    (void)fd, (void)what, (void)unused;
    announce_notice();
}

static void on_signal_read(evutil_socket_t fd, short what, void *unused)
{
    uint64_t count;
    (void)what, (void)unused;
    if (read(fd, &count, sizeof count) == sizeof count)
        announce_notice();
}

static void remove_events(void *unused)
{
    (void)unused;
    if (state.event)
        event_free(state.event);
    if (state.retry)
        event_free(state.retry);
    state.event = state.retry = NULL;
}

static void add_events(void *arg)
{
    struct jd_loop *loop = jd__client_loop(state.client);
    struct event_base *base = jd__loop_base(loop);
    bool *ret_added = arg;
    *ret_added = state.event;
    if (state.event)
        return;
    state.event =
        event_new(base, state.fd, EV_READ | EV_PERSIST, on_signal_read, NULL);
    state.retry = event_new(base, -1, 0, on_retry, NULL);
    *ret_added =
        state.event && state.retry && event_add(state.event, NULL) == 0;
    if (!*ret_added)
        remove_events(NULL);
}

static void tell_step(uint64_t round, int64_t step)
{
    Jd__Step body = JD__STEP__INIT;
    Jd__Message message = JD__MESSAGE__INIT;
    body.round = round;
    body.step = step;
    message.body_case = JD__MESSAGE__BODY_STEP;
    message.step = &body;
    /* Where the connection is lost, the service gives notice again. */
    jd__client_tell(state.client, &message);
}

/* Under the lock. From here on polls wait; the step is read after that. */
static void begin_round(const Jd__Preemption *notice)
{
    state.round = (struct preemption_round){
        .phase = WAITING,
        .number = notice->round,
        .process = notice->process,
    };
    atomic_fetch_or(&state.attention, ROUND);
    state.round.reported = atomic_load(&state.step);
}

void jd__preemption_on_notice(const Jd__Preemption *notice)
{
    pthread_mutex_lock(&state.lock);
    bool is_new = state.is_started && state.round.number != notice->round;
    if (is_new) {
        begin_round(notice);
        jd__preemption_callback_due();
    }
    bool is_open = state.is_started && state.round.phase == WAITING;
    int64_t step = state.round.reported;
    pthread_mutex_unlock(&state.lock);
    if (is_open)
        tell_step(notice->round, step);
}

void jd__preemption_on_decision(const Jd__Decision *decision)
{
    struct preemption_round *round = &state.round;
    pthread_mutex_lock(&state.lock);
    if (round->phase == WAITING && round->number == decision->round) {
        round->phase = DECIDED;
        round->decision = decision->step;
        pthread_cond_broadcast(&state.changed);
    }
    pthread_mutex_unlock(&state.lock);
}

void jd__preemption_on_failure(void)
{
    pthread_once(&state.once, make_condition);
    pthread_mutex_lock(&state.lock);
    state.round.given_up = true;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
}

/* ---- getting ready ------------------------------------------------------ */

static jd_status fail_resources(const char *what, const char *why)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "the preemption signal cannot be watched: %s: %s", what,
                   why);
}

static jd_status watch_on_loop(struct jd_loop *loop)
{
    bool added = false;
    if (state.fd < 0)
        state.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (state.fd < 0)
        return fail_resources("eventfd() failed", strerror(errno));
    if (!jd__loop_run(loop, add_events, &added) || !added)
        return fail_resources("no event can be made", "no memory");
    return JD_OK;
}

/* Under life: the handler, and where it is heard. */
static jd_status prepare_watch(void)
{
    struct jd_loop *loop = jd__client_loop(state.client);
    jd_status status = loop ? watch_on_loop(loop) : JD_OK;
    if (status != JD_OK)
        return status;
    return jd__preemption_signal_catch(state.signal_number,
                                       loop ? notify_loop : notify_alone);
}

/* Under life. */
static jd_status prepare_once(void)
{
    jd_status status = JD_OK;
    if (!state.client || !(atomic_load(&state.attention) & UNREADY))
        return JD_OK;
    status = prepare_watch();
    if (status == JD_OK)
        atomic_fetch_and(&state.attention, ~(unsigned)UNREADY);
    return status;
}

static bool is_forked(void)
{
    int pid = atomic_load(&state.pid);
    return pid && pid != getpid();
}

bool jd__preemption_is_unready(void)
{
    return (atomic_load(&state.attention) & UNREADY) && !is_forked();
}

bool jd__preemption_is_started(void)
{
    pthread_mutex_lock(&state.lock);
    bool is_started = state.is_started;
    pthread_mutex_unlock(&state.lock);
    return is_started;
}

jd_status jd__preemption_prepare(const char *operation)
{
    if (!jd__preemption_is_unready())
        return JD_OK;
    pthread_mutex_lock(&state.setup);
    jd_status status = prepare_once();
    pthread_mutex_unlock(&state.setup);
    return status == JD_OK ? JD_OK : jd__fail_prefix(status, "%s: ", operation);
}

/* ---- the poll ----------------------------------------------------------- */

static void warn_of_wait(const struct preemption_round *round, int64_t step)
{
    jd__log(JD_LOG_WARNING,
            "jd_reached_preemption_sync_point(%" PRId64 ") has waited %g s for "
            "process 0 to say at which step all stop (process %" PRIu32
            " has received %s); it goes on, and may stop at another step than "
            "the others",
            step, DECISION_SECONDS, round->process,
            jd__preemption_signal_name(state.signal_number));
}

void jd__preemption_warn_of_failure(void)
{
    static atomic_bool is_said;
    if (!atomic_exchange(&is_said, true))
        jd__log(JD_LOG_WARNING, "%s", jd_error_message());
}

static bool must_wait(void)
{
    return state.round.phase == WAITING && !state.round.given_up &&
           !jd__failure_exit_has_begun();
}

/* Under the lock. True where the time was up. */
static bool await_decision(void)
{
    double until = jd__clock_read(state.clock) + DECISION_SECONDS;
    int error = 0;
    while (must_wait() && error == 0)
        error = jd__clock_wait(state.clock, &state.changed, &state.lock, until);
    if (!must_wait())
        return false;
    state.round.given_up = true;
    pthread_cond_broadcast(&state.changed);
    return true;
}

/* Under the lock: a world of one needs nobody's word. */
static void decide_alone(int64_t last)
{
    if (!(atomic_load(&state.attention) & SIGNALLED) ||
        state.round.phase != QUIET)
        return;
    state.round.phase = DECIDED;
    state.round.decision = last < INT64_MAX ? last + 1 : last;
}

static bool poll_closer(int64_t before, int64_t step)
{
    if (is_forked())
        return false;
    if (jd__preemption_prepare("jd_reached_preemption_sync_point") != JD_OK)
        jd__preemption_warn_of_failure();
    pthread_mutex_lock(&state.lock);
    decide_alone(before);
    bool timed_out = await_decision();
    struct preemption_round round = state.round;
    pthread_mutex_unlock(&state.lock);
    if (timed_out)
        warn_of_wait(&round, step);
    return round.phase == DECIDED && step >= round.decision;
}

bool jd__preemption_poll(int64_t step)
{
    int64_t before = atomic_exchange(&state.step, step);
    return atomic_load(&state.attention) && poll_closer(before, step);
}

/* ---- life --------------------------------------------------------------- */

/* What a handler that was late has left behind goes too. */
static void set_started(bool is_started, const struct jd_clock *clock)
{
    pthread_mutex_lock(&state.lock);
    state.is_started = is_started;
    state.clock = clock;
    state.round = (struct preemption_round){ .phase = QUIET };
    atomic_store(&state.attention, UNREADY);
    atomic_store(&state.step, -1);
    jd__preemption_callback_forget();
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
}

jd_status jd__preemption_start(struct jd_client *client,
                               const char *signal_name,
                               const struct jd_clock *clock)
{
    int number;
    jd_status status = jd__preemption_signal_parse(signal_name, &number);
    if (status != JD_OK)
        return status;
    pthread_once(&state.once, make_condition);
    pthread_mutex_lock(&state.setup);
    state.client = client;
    state.signal_number = number;
    atomic_store(&state.pid, getpid());
    set_started(true, clock);
    pthread_mutex_unlock(&state.setup);
    return JD_OK;
}

/* A signal that nobody has read is none of the next world's. */
static void drain_eventfd(void)
{
    uint64_t count;
    ssize_t size = state.fd >= 0 ? read(state.fd, &count, sizeof count) : 0;
    (void)size;
}

/* Under life. */
static void take_down(void)
{
    struct jd_loop *loop = jd__client_loop(state.client);
    set_started(false, NULL);
    if (loop)
        jd__loop_run(loop, remove_events, NULL);
    state.client = NULL;
    drain_eventfd();
}

void jd__preemption_stop(void)
{
    if (is_forked())
        return;
    pthread_mutex_lock(&state.lock);
    if (state.round.phase != QUIET)
        jd__preemption_signal_expect_copy();
    const struct jd_clock *clock = state.clock;
    pthread_mutex_unlock(&state.lock);
    jd__preemption_signal_release();
    /* All still stands for a callback that runs. */
    jd__preemption_callback_stop(clock);
    pthread_mutex_lock(&state.setup);
    if (state.client)
        take_down();
    pthread_mutex_unlock(&state.setup);
}

/* ---- the acknowledgement ------------------------------------------------ */

/* The next round may begin as soon as the service hears of it, so polls are
 * false before that; where it cannot hear, the round goes on. */
static jd_status tell_end(const struct preemption_round *round)
{
    Jd__Acknowledge body = JD__ACKNOWLEDGE__INIT;
    Jd__Message message = JD__MESSAGE__INIT;
    body.round = round->number;
    message.body_case = JD__MESSAGE__BODY_ACKNOWLEDGE;
    message.acknowledge = &body;
    if (jd__client_tell(state.client, &message))
        return JD_OK;
    pthread_mutex_lock(&state.lock);
    if (state.is_started && state.round.number == round->number) {
        state.round = *round;
        atomic_fetch_or(&state.attention, ROUND);
    }
    pthread_mutex_unlock(&state.lock);
    return jd_fail(JD_UNAVAILABLE,
                   "jd_acknowledge_preemption: there is no connection to "
                   "process 0 at present; call it again");
}

/* Under the lock. A signal that comes before the last line is a second one. */
static void end_round(void)
{
    if (state.round.phase != QUIET)
        jd__preemption_signal_expect_copy();
    state.round.phase = QUIET;
    atomic_fetch_and(&state.attention, ~(unsigned)(SIGNALLED | ROUND));
    jd__preemption_callback_forget();
    pthread_cond_broadcast(&state.changed);
    jd__preemption_signal_rearm();
}

jd_status jd__preemption_acknowledge(void)
{
    jd_status status = JD_OK;
    pthread_mutex_lock(&state.setup);
    pthread_mutex_lock(&state.lock);
    struct preemption_round round = state.round;
    end_round();
    pthread_mutex_unlock(&state.lock);
    if (round.phase != QUIET && state.client && jd__client_loop(state.client))
        status = tell_end(&round);
    pthread_mutex_unlock(&state.setup);
    return status;
}
