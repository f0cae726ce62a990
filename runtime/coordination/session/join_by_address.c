/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join_by_address.c - the way to the service where there is no world yet:
 * process 0 listens at the coordinator address that the launcher's variables or
 * the user gave, and the others go there, or look for it where the launcher
 * tells only the hosts (join_search.c). The secret is what JD_SECRET_FILE,
 * JD_SECRET or munge give; where there is none, process 0 says that its port is
 * open.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/session/session_private.h"

#include <stdio.h>
#include <time.h>

#define RESOLVE_SECONDS 10 /* for one look at a name */

/* A job's name and attempt, where its launcher gives them: two jobs of one
 * user that meet at one port by mistake find out, and so does a process that
 * an earlier attempt left behind. */
static void name_job(const struct jd_env *env, struct jd_job_key *key)
{
    const char *job = jd__env_get_nonempty(env, "SLURM_JOB_ID");
    const char *step = jd__env_get_nonempty(env, "SLURM_STEP_ID");
    const char *run = jd__env_get_nonempty(env, "TORCHELASTIC_RUN_ID");
    const char *attempt = NULL;
    if (job && step) {
        snprintf(key->job, sizeof key->job, "slurm-%.20s.%.20s", job, step);
        attempt = jd__env_get_nonempty(env, "SLURM_RESTART_COUNT");
    } else if (run) {
        snprintf(key->job, sizeof key->job, "torchrun-%.40s", run);
        attempt = jd__env_get_nonempty(env, "TORCHELASTIC_RESTART_COUNT");
    } else {
        snprintf(key->job, sizeof key->job, "explicit");
    }
    long long number = 0;
    if (attempt && jd__parse_integer(attempt, &number) && number > 0 &&
        number <= UINT32_MAX)
        key->attempt = (uint32_t)number;
}

static void pause_a_moment(void)
{
    static const struct timespec moment = { 0, 200000000 };
    nanosleep(&moment, NULL);
}

/* A pod's name may be known a while after the pod has started. */
static jd_status resolve_coordinator(const struct jd_session_spec *spec,
                                     struct jd_endpoints *endpoints)
{
    const struct jd_cluster_text *address = &spec->cluster->coordinator_address;
    for (;;) {
        jd_status status = jd__resolve_address(
            address->value, jd__session_remaining(spec, RESOLVE_SECONDS),
            endpoints);
        if (status == JD_OK || status == JD_INVALID_ARGUMENT ||
            jd__clock_read(spec->clock) >= spec->deadline)
            return status == JD_OK
                       ? JD_OK
                       : jd__fail_prefix(status, "jd_initialize: %s (%s): ",
                                         "the coordinator address",
                                         address->source);
        pause_a_moment();
    }
}

/* ---- a loopback address ------------------------------------------------- */

static bool is_loopback(const struct jd_session *session,
                        const struct jd_session_spec *spec)
{
    return jd__session_says_loopback(spec->cluster->coordinator_address.value,
                                     &session->client.key.endpoints);
}

/* Every process knows at once where the launcher tells of other hosts. */
static jd_status check_reach(const struct jd_session *session,
                             const struct jd_session_spec *spec)
{
    const struct jd_cluster_text *address = &spec->cluster->coordinator_address;
    const struct jd_cluster_number *here = &spec->cluster->local_num_processes;
    if (!here->known || here->value >= spec->count ||
        !is_loopback(session, spec))
        return JD_OK;
    return jd_fail(
        JD_INVALID_ARGUMENT,
        "jd_initialize: %s is %s, which only processes of process 0's own host "
        "can reach, but %lld of %d processes are on this host (%s); give "
        "process 0's host by a name or address that the others can reach, or "
        "none",
        address->source, address->value, here->value, spec->count,
        here->source);
}

/* Else those of other hosts knock at their own host, and process 0 waits for
 * them: both hear what may be wrong when they give up. */
static jd_status explain_reach(jd_status status,
                               const struct jd_session *session,
                               const struct jd_session_spec *spec)
{
    const struct jd_cluster_text *address = &spec->cluster->coordinator_address;
    if (status != JD_DEADLINE_EXCEEDED || !is_loopback(session, spec))
        return status;
    return jd_fail(status,
                   "%s; %s (%s) is a loopback address, which only processes of "
                   "process 0's own host can reach: where there are others, "
                   "give its host by a name or address that they can reach",
                   jd_error_message(), address->value, address->source);
}

/* ---- the meeting -------------------------------------------------------- */

/* On loopback alone the other side must be of our own user. */
static void warn_open(const struct jd_session *session,
                      const struct jd_session_spec *spec)
{
    bool is_bound =
        jd__options_text(spec->settings, JD_OPTION_COORDINATOR_BIND_ADDRESS);
    if (session->client.key.auth.way != JD_AUTH_OPEN ||
        (is_loopback(session, spec) && !is_bound))
        return;
    jd__log(JD_LOG_WARNING,
            "the job has no secret: whoever reaches port %d of this host can "
            "come in as one of its processes, read and change what they tell "
            "each other and end the job, and whoever has that port first can "
            "play its coordination service; set JD_SECRET_FILE, the same for "
            "all processes (JD_REQUIRE_SECRET=1 makes this an error)",
            session->client.key.endpoints.items[0].port);
}

static jd_status check_secret(const struct jd_session *session,
                              const struct jd_session_spec *spec)
{
    if (session->client.key.auth.way != JD_AUTH_OPEN ||
        !jd__options_integer(spec->settings, JD_OPTION_REQUIRE_SECRET))
        return JD_OK;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "JD_REQUIRE_SECRET is set, and the job has neither a secret "
                   "nor, on this host, munge of a Slurm job; write one: "
                   "(umask 077; head -c 32 /dev/urandom | base64 >FILE), copy "
                   "it to each host and set JD_SECRET_FILE=FILE for all "
                   "processes");
}

static jd_status start_service(struct jd_session *session,
                               const struct jd_session_spec *spec)
{
    const struct jd_cluster_text *address = &spec->cluster->coordinator_address;
    struct jd_listeners listeners;
    jd_status status = jd__session_allow_files(spec);
    if (status == JD_OK)
        status = jd__session_listen(spec, address->value, address->source,
                                    &session->client.key.endpoints, &listeners);
    if (status == JD_OK)
        status = jd__session_start_server(session, spec, &listeners);
    if (status != JD_OK)
        return jd__fail_prefix(
            status, "jd_initialize: the coordination service cannot start: ");
    warn_open(session, spec);
    return JD_OK;
}

jd_status jd__session_meet_by_address(struct jd_session *session,
                                      const struct jd_session_spec *spec)
{
    struct jd_job_key *key = &session->client.key;
    name_job(spec->env, key);
    jd_status status =
        jd__secret_find(spec->env, spec->settings, spec->clock, &key->auth);
    if (status == JD_OK)
        status = check_secret(session, spec);
    if (status != JD_OK)
        return jd__fail_prefix(status, "jd_initialize: ");
    if (!spec->cluster->coordinator_address.value)
        return jd__session_search(session, spec);
    status = resolve_coordinator(spec, &key->endpoints);
    if (status == JD_OK)
        status = check_reach(session, spec);
    if (status == JD_OK && session->index == 0)
        status = start_service(session, spec);
    if (status != JD_OK)
        return status;
    jd__interfaces_sort(&key->endpoints);
    status = jd__session_join(session, spec);
    return explain_reach(status, session, spec);
}
