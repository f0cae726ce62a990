/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join_by_mpi.c - the way to the service where there is an MPI world already:
 * process 0 listens, and MPI tells all where and with which secret.
 */
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/session/session_private.h"

#include <stdio.h>

#define RESOLVE_SECONDS 30 /* for the name in an explicit address */

/* What process 0 tells all. Plain data. */
struct join_answer {
    int32_t status; /* of the service's start, with its sentence */
    char text[1024];
    struct jd_job_key key;
};

/* ---- where the service is ----------------------------------------------- */

static const struct jd_setting *
coordinator_setting(const struct jd_session_spec *spec)
{
    return jd__options_find(spec->settings, JD_OPTION_COORDINATOR_ADDRESS);
}

static bool is_explicit(const struct jd_session_spec *spec)
{
    return jd__options_is_explicit(spec->settings,
                                   JD_OPTION_COORDINATOR_ADDRESS);
}

static jd_status resolve_explicit(const struct jd_session_spec *spec,
                                  struct jd_endpoints *endpoints)
{
    jd_status status = jd__resolve_address(
        coordinator_setting(spec)->text,
        jd__session_remaining(spec, RESOLVE_SECONDS), endpoints);
    if (status != JD_OK)
        return jd__fail_prefix(status,
                               "%s: ", coordinator_setting(spec)->origin);
    jd__interfaces_sort(endpoints);
    return JD_OK;
}

/* An explicit address on loopback cannot be reached from another host. */
static jd_status check_reach(const struct jd_session_spec *spec,
                             const struct jd_endpoints *endpoints)
{
    const char *text = coordinator_setting(spec)->text;
    if (!jd__session_says_loopback(text, endpoints) ||
        spec->topology->num_hosts == 1)
        return JD_OK;
    return jd_fail(
        JD_INVALID_ARGUMENT,
        "%s is %s, which only processes of process 0's own host can reach, but "
        "the job is on %d hosts; give an address of process 0's host that the "
        "others can reach, or none",
        coordinator_setting(spec)->origin, text, spec->topology->num_hosts);
}

static jd_status listen_explicit(const struct jd_session_spec *spec,
                                 struct jd_endpoints *endpoints,
                                 struct jd_listeners *listeners)
{
    jd_status status = resolve_explicit(spec, endpoints);
    if (status == JD_OK)
        status = check_reach(spec, endpoints);
    if (status == JD_OK)
        status = jd__session_listen(spec, coordinator_setting(spec)->text,
                                    coordinator_setting(spec)->origin,
                                    endpoints, listeners);
    return status;
}

/* Nothing is said: any port, and what this host has, for all to know. */
static jd_status listen_anywhere(const struct jd_session_spec *spec,
                                 struct jd_endpoints *endpoints,
                                 struct jd_listeners *listeners)
{
    const struct jd_setting *bind =
        jd__options_find(spec->settings, JD_OPTION_COORDINATOR_BIND_ADDRESS);
    struct jd_listen listen = {
        .bind = bind->text,
        .variable = bind->text ? bind->origin : "JD_COORDINATOR_ADDRESS",
        .timeout = jd__session_remaining(spec, RESOLVE_SECONDS),
        .loopback = spec->topology->num_hosts == 1,
    };
    jd_status status = jd__listen_open(&listen, listeners);
    if (status != JD_OK)
        return status;
    status = jd__interfaces_list(
        jd__options_text(spec->settings, JD_OPTION_INTERFACE),
        spec->topology->num_hosts == 1, listeners->port, endpoints);
    if (status != JD_OK)
        jd__listen_close(listeners);
    return status;
}

/* ---- the service, on process 0 ------------------------------------------ */

static void make_job(struct jd_job_key *key)
{
    uint64_t number;
    jd__auth_random(&number, sizeof number);
    snprintf(key->job, sizeof key->job, "mpi-%016llx",
             (unsigned long long)number);
    jd__auth_make(&key->auth);
}

static jd_status start_service(struct jd_session *session,
                               const struct jd_session_spec *spec)
{
    struct jd_endpoints *endpoints = &session->client.key.endpoints;
    struct jd_listeners listeners;
    make_job(&session->client.key);
    jd_status status = jd__session_allow_files(spec);
    if (status == JD_OK)
        status = is_explicit(spec)
                     ? listen_explicit(spec, endpoints, &listeners)
                     : listen_anywhere(spec, endpoints, &listeners);
    if (status == JD_OK)
        status = jd__session_start_server(session, spec, &listeners);
    return status;
}

/* ---- MPI tells all ------------------------------------------------------ */

static jd_status share_answer(const struct jd_session_spec *spec,
                              struct join_answer *answer)
{
    jd_status status = jd__mpi_check(
        MPI_Bcast(answer, (int)sizeof *answer, MPI_BYTE, 0, spec->world->comm),
        "MPI_Bcast", "jd_initialize");
    if (status != JD_OK)
        return status;
    return answer->status == JD_OK
               ? JD_OK
               : jd_fail((jd_status)answer->status, "%s", answer->text);
}

/* The same failure on every process. */
static jd_status hand_out(struct jd_session *session,
                          const struct jd_session_spec *spec)
{
    struct join_answer answer = { .status = JD_OK };
    if (session->index == 0) {
        jd_status status = start_service(session, spec);
        answer.status = (int32_t)status;
        answer.key = session->client.key;
        if (status != JD_OK)
            snprintf(answer.text, sizeof answer.text,
                     "jd_initialize: the coordination service cannot start: "
                     "%s",
                     jd_error_message());
    }
    jd_status status = share_answer(spec, &answer);
    session->client.key = answer.key;
    jd__auth_wipe(&answer.key, sizeof answer.key);
    return status;
}

/* An explicit address is what each process makes of it. */
static jd_status find_service(struct jd_session *session,
                              const struct jd_session_spec *spec)
{
    if (session->index == 0)
        return JD_OK;
    if (is_explicit(spec))
        return resolve_explicit(spec, &session->client.key.endpoints);
    jd__interfaces_sort(&session->client.key.endpoints);
    return JD_OK;
}

jd_status jd__session_meet_by_mpi(struct jd_session *session,
                                  const struct jd_session_spec *spec)
{
    jd_status status = hand_out(session, spec);
    if (status == JD_OK)
        status = find_service(session, spec);
    return status == JD_OK ? jd__session_join(session, spec) : status;
}
