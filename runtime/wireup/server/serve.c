/* SPDX-License-Identifier: BSD-3-Clause */
/* serve.c - the parts put together, and what ends them. */
#include "runtime/wireup/server/serve.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/options.h"
#include "base/text.h"
#include "runtime/wireup/server/log.h"
#include "runtime/wireup/server/namespace.h"
#include "runtime/wireup/server/pmi.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEATH_SECONDS 5 /* from SIGKILL to the end */
#define MAX_SECONDS 1e9 /* no deadline is one, for the clock */

/* ---- what the service says ---------------------------------------------- */

static void on_push(void *arg, const Jd__Message *message)
{
    struct serving *serving = arg;
    if (message->body_case != JD__MESSAGE__BODY_FAILURE)
        return;
    log_say(JD_LOG_DEBUG, "the job has failed: %s", message->failure->text);
    liveness_end(serving->liveness, LIVENESS_FAILED);
}

static void on_lost(void *arg, const char *why)
{
    struct serving *serving = arg;
    log_say(JD_LOG_DEBUG, "the coordination service is lost: %s", why);
    liveness_end(serving->liveness, LIVENESS_LOST);
}

/* ---- beginning ---------------------------------------------------------- */

/* What the starter's own launcher has said of another PMIx is not for this
 * one; munge may run on one host and not on another. */
static jd_status clean_environment(const struct jd_env *env)
{
    jd_status status = JD_OK;
    for (size_t i = 0; status == JD_OK && i < jd__env_count(env); i++) {
        const char *name = jd__env_at(env, i)->name;
        if (strncmp(name, "PMIX_", 5) == 0 &&
            strncmp(name, "PMIX_MCA_", 9) != 0)
            status = jd__env_export(name, NULL);
    }
    return status == JD_OK ? jd__env_export("PMIX_MCA_psec", "native") : status;
}

/* libpmix 4 puts a host's name, as far as its first digit, into 64 bytes. */
static bool has_long_name(const Jd__Plan *plan)
{
    enum { LONG = 56 };
    for (size_t i = 0; i < plan->n_hosts; i++)
        if (strcspn(plan->hosts[i]->name, "0123456789") >= LONG)
            return true;
    return false;
}

/* Where libpmix would crash: on such a name, whose map is left as it is then;
 * and where it looks for a home that nobody has said. */
static jd_status spare_libpmix(const struct jd_env *env, const Jd__Plan *plan)
{
    jd_status status = JD_OK;
    if (has_long_name(plan) && !jd__env_get_nonempty(env, "PMIX_MCA_preg"))
        status = jd__env_export("PMIX_MCA_preg", "raw");
    jd__env_lend_home();
    return status;
}

static jd_status read_settings(const struct jd_env *env,
                               struct serving *serving)
{
    struct jd_settings *settings;
    jd_status status = jd__options_resolve(env, NULL, 0, &settings);
    if (status != JD_OK)
        return status;
    serving->max_message =
        (size_t)jd__options_integer(settings, JD_OPTION_MAX_MESSAGE);
    jd__options_destroy(settings);
    return JD_OK;
}

static jd_status look_around(struct serving *serving)
{
    struct jd_env *env;
    jd_status status = jd__env_from_process(&env);
    if (status != JD_OK)
        return status;
    status = read_settings(env, serving);
    if (status == JD_OK)
        status = clean_environment(env);
    if (status == JD_OK)
        status = spare_libpmix(env, serving->plan);
    jd__env_destroy(env);
    return status;
}

static jd_status start_liveness(struct serving *serving)
{
    jd_status status = jd__loop_create("jd-serve", &serving->loop);
    struct liveness_spec spec = {
        .loop = serving->loop,
        .path = serving->directory->liveness,
        .processes = serving->own->processes,
        .count = serving->own->n_processes,
        .pipe_fd = serving->pipe_fd,
    };
    if (status == JD_OK)
        status = liveness_create(&spec, &serving->liveness);
    if (status == JD_OK && serving->plan->asks_by_pmi)
        status = pmi_open(serving);
    return status == JD_OK ? jd__loop_start(serving->loop) : status;
}

static jd_status meet_service(struct serving *serving)
{
    const Jd__Plan *plan = serving->plan;
    struct jd_auth auth = plan_auth(plan);
    struct jd_endpoints endpoints;
    struct jd_agent_spec spec = {
        .loop = serving->loop,
        .auth = &auth,
        .role = JD__ROLE__HELPER,
        .job = plan->job,
        .attempt = plan->attempt,
        .process = (int)plan->process,
        .count = (int)plan->count,
        .host = serving->own->name,
        .boot_id = "",
        .program = "jd-pmix-server",
        .pid = (uint32_t)getpid(),
        .fd = -1,
        .endpoints = &endpoints,
        .turn = jd__agent_turn((int)plan->host),
        .heartbeat_timeout =
            plan->heartbeat_timeout > 0 ? plan->heartbeat_timeout : -1,
        .notice = -1,
        .max_message = serving->max_message,
        .on_push = on_push,
        .on_lost = on_lost,
        .arg = serving,
    };
    jd_status status = jd__auth_start();
    if (status == JD_OK)
        status = plan_endpoints(plan, &endpoints);
    if (status == JD_OK)
        status = jd__agent_create(&spec, &serving->agent);
    return status == JD_OK ? jd__agent_meet(serving->agent, serving->deadline)
                           : status;
}

static jd_status begin_serving(struct serving *serving)
{
    jd_status status = look_around(serving);
    if (status == JD_OK)
        status = start_liveness(serving);
    if (status == JD_OK && !serving->plan->is_held)
        status = meet_service(serving);
    if (status != JD_OK)
        return status;
    return serving->plan->asks_by_pmi ? pmi_hand_out(serving)
                                      : namespace_serve(serving);
}

/* ---- ending ------------------------------------------------------------- */

static void say_absent(struct serving *serving)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (!out)
        return;
    liveness_print_absent(out, serving->liveness);
    char *who = jd__text_end(&written);
    log_say(
        JD_LOG_ERROR,
        "%s of this host did not connect to the server in %.3g s; it ends, and "
        "the host's other processes with it",
        who ? who : "a process", serving->plan->timeout);
    free(who);
}

/* Where others have finalised, the job has not failed, and nobody else says
 * who was killed in the middle of it. */
static void say_unfinalized(struct serving *serving)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (!out)
        return;
    size_t finalized = liveness_print_unfinalized(out, serving->liveness);
    char *who = jd__text_end(&written);
    if (who && who[0] && finalized)
        log_say(JD_LOG_WARNING,
                "%s of this host ended before MPI_Finalize was done (killed, "
                "crashed, or by _exit); the host's others have finalised MPI",
                who);
    free(who);
}

static void say_killed(size_t killed)
{
    if (killed)
        log_say(
            JD_LOG_WARNING,
            "the job has ended, but %zu of this host's processes were still "
            "there %d s later; they were killed",
            killed, LIVENESS_GRACE_SECONDS);
}

/* Whoever has finalised MPI needs nobody, and is let be where only the
 * service has gone: it may have gone because all is done. */
static void end_processes(struct serving *serving, bool spare_finalized)
{
    struct liveness *liveness = serving->liveness;
    liveness_wait_for_nobody(liveness,
                             jd__clock_now() + LIVENESS_GRACE_SECONDS);
    say_killed(liveness_kill(liveness, spare_finalized));
    liveness_wait_for_nobody(
        liveness, spare_finalized ? INFINITY : jd__clock_now() + DEATH_SECONDS);
}

/* Until every process of the host has come and gone, or the job has failed. */
static void serve_members(struct serving *serving)
{
    enum liveness_outcome outcome = liveness_wait(
        serving->liveness,
        jd__clock_now() + fmin(serving->plan->timeout, MAX_SECONDS));
    if (outcome == LIVENESS_ABSENT)
        say_absent(serving);
    if (outcome != LIVENESS_ALL_GONE)
        end_processes(serving, outcome == LIVENESS_LOST);
    if (outcome == LIVENESS_ALL_GONE || outcome == LIVENESS_LOST)
        say_unfinalized(serving);
}

/* Whether a process of jd-run comes at all, to MPI or here, is its program's
 * affair, and jd-run sees how each ends. */
static void serve_until_end_of(int held)
{
    char byte;
    ssize_t n;
    do
        n = read(held, &byte, 1);
    while (n > 0 || (n < 0 && errno == EINTR));
}

/* Standard input is given up when the server is ready. */
static jd_status take_held(const Jd__Plan *plan, int *ret_held)
{
    *ret_held = -1;
    if (!plan->is_held)
        return JD_OK;
    *ret_held = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return *ret_held >= 0
               ? JD_OK
               : jd_fail(JD_RESOURCE_EXHAUSTED,
                         "standard input cannot be held: %s", strerror(errno));
}

jd_status serve(const Jd__Plan *plan, const struct directory *directory,
                int pipe_fd,
                void (*on_ready)(const struct jd_bytes *environments))
{
    int held;
    static struct serving serving; /* libpmix may call until the end */
    static char nspace[PLAN_NAME_SIZE];
    plan_print_name(plan, nspace);
    serving = (struct serving){
        .plan = plan,
        .own = plan->hosts[plan->host],
        .directory = directory,
        .nspace = nspace,
        .pipe_fd = pipe_fd,
        .deadline = jd__clock_now() + fmin(plan->timeout, MAX_SECONDS),
    };
    jd_status status = take_held(plan, &held);
    if (status == JD_OK)
        status = begin_serving(&serving);
    if (status != JD_OK)
        return status;
    on_ready(&serving.environments);
    jd__wire_bytes_finish(&serving.environments);
    log_say(JD_LOG_DEBUG, "serves %zu of %u processes",
            serving.own->n_processes, (unsigned)plan->count);
    if (plan->is_held)
        serve_until_end_of(held);
    else
        serve_members(&serving);
    return JD_OK;
}
