/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.c - this process's way to the service: calls, what comes from
 * the service, and its life.
 */
#include "runtime/coordination/session/session.h"
#include "base/clock.h"
#include "base/forked.h"
#include "base/log.h"
#include "runtime/coordination/failure/failure_report.h"
#include "runtime/coordination/net/child.h"
#include "runtime/coordination/preemption/preemption.h"
#include "runtime/coordination/session/session_private.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FOREVER 1e9 /* seconds; some thirty years */

/* ---- calls -------------------------------------------------------------- */

static jd_status check_fork(const struct jd_coordination *coordination,
                            const char *operation)
{
    if (coordination->pid == getpid())
        return JD_OK;
    return jd__forked_fail(operation, coordination->pid);
}

jd_status jd__coordination_call(struct jd_coordination *coordination,
                                struct jd_call *call)
{
    jd_status status = check_fork(coordination, call->operation);
    if (status != JD_OK)
        return status;
    if (isnan(call->timeout))
        return jd_fail(JD_INVALID_ARGUMENT, "%s: its timeout is not a number",
                       call->operation);
    if (call->timeout > FOREVER)
        call->timeout = -1;
    call->request.timeout_ms =
        call->timeout < 0 ? -1 : (int64_t)ceil(1000 * call->timeout);
    return coordination->local ? jd__local_call(coordination->local, call)
                               : jd__agent_call(coordination->agent, call);
}

bool jd__coordination_tell(struct jd_coordination *coordination,
                           const Jd__Message *message)
{
    return coordination->agent && coordination->pid == getpid() &&
           jd__agent_tell(coordination->agent, message);
}

struct jd_loop *jd__coordination_loop(struct jd_coordination *coordination)
{
    return coordination->loop;
}

const struct jd_job_key *
jd__coordination_key(const struct jd_coordination *coordination)
{
    return &coordination->key;
}

uint64_t
jd__coordination_incarnation(const struct jd_coordination *coordination)
{
    return jd__agent_place(coordination->agent).incarnation;
}

int jd__coordination_host_of(const struct jd_coordination *coordination,
                             int process)
{
    const int *hosts = atomic_load(&coordination->hosts);
    return hosts ? hosts[process] : 0;
}

/* ---- what comes from the service ---------------------------------------- */

/* Process 0 stays while others' callbacks may use the store. */
static bool must_stay(void *arg)
{
    struct jd_coordination *coordination = arg;
    return coordination->server && jd__server_has_armed(coordination->server);
}

/* For a thread that is not the loop's. */
struct staying {
    struct jd_coordination *coordination;
    bool must;
};

static void look_whether_to_stay(void *arg)
{
    struct staying *staying = arg;
    staying->must = must_stay(staying->coordination);
}

static void begin_ending(struct jd_coordination *coordination,
                         const struct jd_report *report)
{
    if (coordination->agent)
        jd__agent_expect_end(coordination->agent);
    jd__preemption_on_failure();
    jd__ending_begin(coordination->loop, report, must_stay, coordination);
}

/*
 * One that is a culprit itself knows it, and ends as it likes; but one that
 * only seemed dead (it was stopped, and runs again) hears it here.
 */
static void on_failure(struct jd_coordination *coordination,
                       const Jd__Failure *failure)
{
    char *own = NULL;
    struct jd_report report = {
        .processes = (const int *)failure->processes, /* both have 32 bits */
        .num_processes = failure->n_processes,
        .text = failure->text,
        .age = (double)failure->age_ms / 1000,
        .speak = failure->speak || failure->includes_you,
        .silent = (int)failure->silent,
    };
    jd__preemption_on_failure();
    if (failure->includes_you && jd__ending_has_begun())
        return;
    if (failure->includes_you && !failure->is_stuck &&
        asprintf(&own, "the others take this process for dead: %s",
                 failure->text) >= 0)
        report.text = own;
    begin_ending(coordination, &report);
    free(own);
}

void jd__coordination_on_push(void *arg, const Jd__Message *message)
{
    switch (message->body_case) {
    case JD__MESSAGE__BODY_FAILURE:
        on_failure(arg, message->failure);
        break;
    case JD__MESSAGE__BODY_PREEMPTION:
        jd__preemption_on_notice(message->preemption);
        break;
    case JD__MESSAGE__BODY_DECISION:
        jd__preemption_on_decision(message->decision);
        break;
    case JD__MESSAGE__BODY_LOOK:
        jd__tell_on_look(message->look->number);
        break;
    default: /* of a later version */
        break;
    }
}

/* Of those but process 0. */
static bool is_first_of_host(const int *hosts, int index)
{
    for (int i = 1; i < index; i++)
        if (hosts[i] == hosts[index])
            return false;
    return true;
}

/* Process 0 is gone, and nobody is left to choose who speaks: each process
 * knows for itself whether it would be chosen (failures.c has the rule). */
static bool speaks_without_service(const struct jd_coordination *coordination,
                                   const int *hosts, int index)
{
    int hosts_before = 0, survivors = coordination->count - 1;
    switch (coordination->speakers) {
    case JD_SPEAK_ALL:
        return true;
    case JD_SPEAK_ONE:
        return index == 1;
    case JD_SPEAK_NONE:
        return false;
    case JD_SPEAK_SOME:
        break;
    }
    if (survivors <= JD_MAX_SPEAKERS || !hosts)
        return true;
    for (int i = 1; i < index && hosts_before < JD_MAX_SPEAKERS; i++) {
        if (hosts[i] == hosts[index])
            return false; /* another is the lowest there */
        hosts_before += is_first_of_host(hosts, i);
    }
    return hosts_before < JD_MAX_SPEAKERS;
}

/* Asked by those who speak: so there is one at least. */
static int count_silent(const struct jd_coordination *coordination,
                        const int *hosts)
{
    int survivors = coordination->count - 1, speakers = 0;
    if (coordination->speakers == JD_SPEAK_ONE)
        return survivors - 1;
    if (coordination->speakers == JD_SPEAK_ALL ||
        survivors <= JD_MAX_SPEAKERS || !hosts)
        return 0;
    for (int i = 1; i <= survivors && speakers < JD_MAX_SPEAKERS; i++)
        speakers += is_first_of_host(hosts, i);
    return survivors - speakers;
}

void jd__coordination_on_lost(void *arg, const char *why)
{
    static const int process_0 = 0;
    struct jd_coordination *coordination = arg;
    const int *hosts = atomic_load(&coordination->hosts);
    struct jd_service_place place = jd__agent_place(coordination->agent);
    char text[640];
    snprintf(text, sizeof text, "process 0 (%s, pid %u on %s): %s, 0.00 s ago",
             place.program, (unsigned)place.pid, place.host, why);
    struct jd_report report = {
        .processes = &process_0,
        .num_processes = 1,
        .text = text,
        .speak =
            speaks_without_service(coordination, hosts, coordination->index),
    };
    if (report.speak)
        report.silent = count_silent(coordination, hosts);
    begin_ending(coordination, &report);
}

/* Begun first: the service's own report of it comes to this process too. */
void jd__coordination_give_up(struct jd_coordination *coordination,
                              jd_status error, const char *why)
{
    struct jd_report report = { .text = why, .speak = true };
    Jd__Report body = JD__REPORT__INIT;
    Jd__Message message = JD__MESSAGE__INIT;
    jd__preemption_on_failure();
    jd__ending_begin(coordination->loop, &report, must_stay, coordination);
    body.kind = JD__REPORT__KIND__ERROR;
    body.code = (int)error;
    body.text = (char *)why; /* only read */
    message.body_case = JD__MESSAGE__BODY_REPORT;
    message.report = &body;
    jd__coordination_tell(coordination, &message);
    jd__agent_expect_end(coordination->agent);
}

/* ---- life --------------------------------------------------------------- */

static enum jd_failure_speakers
read_speakers(const struct jd_settings *settings)
{
    static const char *const names[] = { "some", "all", "one", "none" };
    const char *text = jd__settings_text(settings, JD_OPTION_FAILURE_REPORT);
    for (int i = 0; i < 4; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum jd_failure_speakers)i;
    return JD_SPEAK_SOME;
}

static jd_status create_empty(struct jd_coordination **ret_coordination)
{
    struct jd_coordination *coordination = calloc(1, sizeof *coordination);
    if (!coordination)
        return jd__fail_no_memory("jd_initialize", sizeof *coordination);
    coordination->pid = getpid();
    jd__ending_reset();
    jd_status status = jd__auth_start();
    if (status != JD_OK) {
        free(coordination);
        return status;
    }
    jd__child_watch();
    *ret_coordination = coordination;
    return JD_OK;
}

static void say_where(const struct jd_coordination *coordination)
{
    char address[JD_ENDPOINT_TEXT];
    if (coordination->index != 0)
        return;
    jd__endpoint_format(&coordination->key.endpoints.items[0], address);
    jd__log(JD_LOG_INFO,
            "the coordination service listens at %s (jd-info --job shows what "
            "each process does)",
            address);
}

/* A failure on the way is jd_initialize's to return, as one in jd_shutdown is:
 * it does not end the process. */
static jd_status meet(struct jd_coordination *coordination,
                      const struct jd_coordination_spec *spec)
{
    jd_status status = jd__loop_create("jd-coordinate", &coordination->loop);
    jd__ending_set_leaving(true);
    if (status == JD_OK)
        status = spec->world
                     ? jd__coordination_meet_by_mpi(coordination, spec)
                     : jd__coordination_meet_by_address(coordination, spec);
    jd__ending_set_leaving(false);
    return status == JD_OK ? jd__ending_check("jd_initialize") : status;
}

jd_status jd__coordination_create(const struct jd_coordination_spec *spec,
                                  struct jd_coordination **ret_coordination)
{
    struct jd_coordination *coordination = NULL;
    jd_status status = create_empty(&coordination);
    if (status != JD_OK)
        return status;
    coordination->index = spec->index;
    coordination->count = spec->count;
    coordination->speakers = read_speakers(spec->settings);
    coordination->grace =
        jd__settings_seconds(spec->settings, JD_OPTION_FAILURE_GRACE);
    jd__ending_configure(coordination->grace);
    jd__address_raise_files();
    status = meet(coordination, spec);
    if (status != JD_OK) {
        jd__coordination_destroy(coordination);
        return status;
    }
    say_where(coordination);
    jd__telling_open(coordination);
    *ret_coordination = coordination;
    return JD_OK;
}

jd_status
jd__coordination_create_local(const struct jd_settings *settings,
                              struct jd_coordination **ret_coordination)
{
    struct jd_coordination *coordination = NULL;
    jd_status status = create_empty(&coordination);
    if (status != JD_OK)
        return status;
    coordination->count = 1;
    status = jd__local_create(
        (size_t)jd__settings_integer(settings, JD_OPTION_MAX_MESSAGE),
        (size_t)jd__settings_integer(settings, JD_OPTION_MAX_STORE),
        &coordination->local);
    if (status == JD_OK)
        status = jd__preemption_start(
            coordination,
            jd__settings_text(settings, JD_OPTION_PREEMPTION_SIGNAL));
    if (status == JD_OK)
        *ret_coordination = coordination;
    else
        jd__coordination_destroy(coordination);
    return status;
}

/* The job has failed while process 0 was leaving: what others' callbacks use
 * is here. */
static void stay_for_others(struct jd_coordination *coordination)
{
    static const struct timespec moment = { 0, 20000000 };
    double end = jd__clock_now() + coordination->grace;
    struct staying staying = { coordination, true };
    while (coordination->server && staying.must && jd__clock_now() < end) {
        if (!jd__loop_run(coordination->loop, look_whether_to_stay, &staying))
            return;
        if (staying.must)
            nanosleep(&moment, NULL);
    }
}

jd_status jd__coordination_leave(struct jd_coordination *coordination,
                                 double timeout)
{
    Jd__Leave body = JD__LEAVE__INIT;
    struct jd_call call = {
        .operation = "jd_shutdown",
        .timeout = timeout,
        .variable = "JD_SHUTDOWN_TIMEOUT",
    };
    if (coordination->local || coordination->pid != getpid())
        return JD_OK;
    jd__ending_set_leaving(true);
    jd__ending_await(); /* one that began just before */
    body.at_once = jd__ending_has_begun();
    jd__call_init(&call, JD__MESSAGE__BODY_LEAVE, &body);
    jd_status status = jd__ending_check("jd_shutdown");
    if (status == JD_OK)
        status = jd__coordination_call(coordination, &call);
    else
        jd__coordination_tell(coordination, &call.request);
    jd__call_finish(&call);
    jd__agent_expect_end(coordination->agent);
    if (status != JD_OK)
        stay_for_others(coordination);
    return status;
}

void jd__coordination_keep_service(struct jd_coordination *coordination)
{
    coordination->keeps_service = true;
}

/* MPI starts once, so there is one at most; the process's end takes it. Its
 * port is free: the next jd_initialize() may be given the same address. */
static void end_service(struct jd_coordination *coordination)
{
    static struct jd_server *kept;
    static struct jd_loop *kept_loop;
    if (coordination->keeps_service && coordination->server) {
        kept = coordination->server;
        kept_loop = coordination->loop;
        jd__server_stop_listening(kept);
        (void)kept, (void)kept_loop; /* only to be found by leak checkers */
        return;
    }
    jd__server_destroy(coordination->server);
    jd__loop_destroy(coordination->loop);
}

void jd__coordination_destroy(struct jd_coordination *coordination)
{
    if (!coordination)
        return;
    if (coordination->pid == getpid()) {
        jd__telling_close();
        jd__preemption_stop();
        jd__agent_destroy(coordination->agent);
        end_service(coordination);
        jd__local_destroy(coordination->local);
        jd__ending_set_leaving(false);
    }
    free(atomic_load(&coordination->hosts));
    jd__auth_wipe(&coordination->key, sizeof coordination->key);
    free(coordination);
}
