/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join_search.c - the way to the service where only the hosts are known of
 * which process 0 is on one. Each is tried in turn, by one round of an agent
 * over its addresses, again and again until the deadline: process 0 may come
 * late. A port that is closed, somebody else's or another job's service is
 * passed over; what the job's own service says is the answer.
 */
#include "base/clock.h"
#include "base/text.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/session/session_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RESOLVE_SECONDS 2 /* for one look at a name */
#define MAX_PAUSE 1.0     /* seconds between two rounds over all hosts */
#define MAX_NAMES 8       /* of hosts that have one thing in common */

/* One host that may be process 0's. */
struct candidate {
    const char *address;           /* the cluster's */
    struct jd_endpoints endpoints; /* none: its name is not looked up yet */
    char *why;                     /* what came of it; NULL: not tried yet */
    bool is_printed;
};

struct service_search {
    struct jd_session *session;
    const struct jd_session_spec *spec;
    struct candidate *candidates;
    size_t count;
    double begin; /* by the clock of spec */
};

/* ---- one host ----------------------------------------------------------- */

static jd_status look_up(const struct service_search *search,
                         struct candidate *candidate)
{
    double timeout = jd__session_remaining(search->spec, RESOLVE_SECONDS);
    if (candidate->endpoints.count)
        return JD_OK;
    jd_status status =
        jd__resolve_address(candidate->address, timeout, &candidate->endpoints);
    if (status == JD_OK)
        jd__interfaces_sort(&candidate->endpoints);
    return status;
}

/* The agent stays where it is let in. */
static jd_status knock_at_candidate(const struct service_search *search,
                                    const struct candidate *candidate)
{
    struct jd_session *session = search->session;
    session->client.key.endpoints = candidate->endpoints;
    jd_status status = jd__session_open_agent(session, search->spec, true);
    if (status == JD_OK)
        status = jd__agent_meet(session->client.agent, search->spec->deadline);
    if (status == JD_OK)
        return JD_OK;
    jd__agent_destroy(session->client.agent);
    session->client.agent = NULL;
    return status;
}

static bool is_passed_over(jd_status status)
{
    return status == JD_NOT_FOUND || status == JD_DEADLINE_EXCEEDED;
}

/* Where time is up before it has answered, its last answer says more. */
static bool is_new(const struct service_search *search,
                   const struct candidate *candidate)
{
    return !candidate->why ||
           jd__clock_read(search->spec->clock) < search->spec->deadline;
}

static jd_status try_candidate(const struct service_search *search,
                               struct candidate *candidate)
{
    jd_status status = look_up(search, candidate);
    if (status == JD_OK)
        status = knock_at_candidate(search, candidate);
    if (is_passed_over(status) && is_new(search, candidate)) {
        free(candidate->why);
        candidate->why = strdup(jd_error_message());
    }
    return status;
}

/* ---- what was tried ----------------------------------------------------- */

/* Without the address where that is but one: "Connection refused". */
static const char *reason_of(const struct candidate *candidate)
{
    const char *why = candidate->why ? candidate->why : "not tried yet";
    const char *space = strchr(why, ' ');
    return candidate->endpoints.count == 1 && candidate->why && space
               ? space + 1
               : why;
}

/* All that share the first one's reason: "h0:99, h1:99 (reason)". */
static void print_alike(FILE *out, const struct service_search *search,
                        size_t first)
{
    const char *reason = reason_of(&search->candidates[first]);
    size_t count = 0;
    for (size_t i = first; i < search->count; i++) {
        struct candidate *candidate = &search->candidates[i];
        if (strcmp(reason_of(candidate), reason) != 0)
            continue;
        candidate->is_printed = true;
        if (count++ < MAX_NAMES)
            fprintf(out, "%s%s", count > 1 ? ", " : "", candidate->address);
    }
    if (count > MAX_NAMES)
        fprintf(out, " and %zu more", count - MAX_NAMES);
    fprintf(out, " (%s)", reason);
}

static void print_tried(FILE *out, const struct service_search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        if (search->candidates[i].is_printed)
            continue;
        fputs(i ? ", " : "", out);
        print_alike(out, search, i);
    }
}

static jd_status fail_to_find(const struct service_search *search)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out)
        print_tried(out, search);
    char *tried = jd__text_end(&written);
    jd_fail(JD_DEADLINE_EXCEEDED,
            "jd_initialize: process %d has not found the coordination service "
            "in %.3g s; %s, which were tried in turn: %s; see whether process "
            "0 has started, or set JD_COORDINATOR_ADDRESS to its host "
            "(JD_INITIALIZATION_TIMEOUT changes the deadline)",
            search->session->index,
            jd__clock_read(search->spec->clock) - search->begin,
            search->spec->cluster->coordinator_address.source,
            tried ? tried : "in vain");
    free(tried);
    return JD_DEADLINE_EXCEEDED;
}

/* ---- all hosts ---------------------------------------------------------- */

static jd_status try_all(const struct service_search *search)
{
    jd_status status = JD_NOT_FOUND;
    for (size_t i = 0;
         is_passed_over(status) && i < search->count &&
         jd__clock_read(search->spec->clock) < search->spec->deadline;
         i++)
        status = try_candidate(search, &search->candidates[i]);
    return status;
}

static void pause_search(const struct service_search *search, int round)
{
    double pause = fmin(MAX_PAUSE, ldexp(0.01, round));
    pause = jd__session_remaining(search->spec, pause);
    struct timespec wait = jd__clock_timespec(pause);
    nanosleep(&wait, NULL);
}

static jd_status find_service(const struct service_search *search)
{
    jd_status status = try_all(search);
    for (int round = 0; is_passed_over(status); round++) {
        if (jd__clock_read(search->spec->clock) >= search->spec->deadline)
            return fail_to_find(search);
        pause_search(search, round);
        status = try_all(search);
    }
    return status == JD_OK ? JD_OK : jd__fail_prefix(status, "jd_initialize: ");
}

static void free_candidates(struct service_search *search)
{
    for (size_t i = 0; i < search->count; i++)
        free(search->candidates[i].why);
    free(search->candidates);
}

jd_status jd__session_search(struct jd_session *session,
                             const struct jd_session_spec *spec)
{
    size_t count = spec->cluster->num_coordinator_candidates;
    struct service_search search = {
        .session = session,
        .spec = spec,
        .candidates = calloc(count, sizeof *search.candidates),
        .count = count,
        .begin = jd__clock_read(spec->clock),
    };
    if (!search.candidates)
        return jd__fail_no_memory("jd_initialize",
                                  count * sizeof *search.candidates);
    for (size_t i = 0; i < count; i++)
        search.candidates[i].address = spec->cluster->coordinator_candidates[i];
    jd_status status = jd__loop_start(session->client.loop);
    if (status == JD_OK)
        status = find_service(&search);
    free_candidates(&search);
    return status == JD_OK ? jd__session_enrol(session, spec) : status;
}
