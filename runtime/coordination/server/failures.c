/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * failures.c - who has failed, and how the others hear of it. The first
 * failure is held for a moment, so that processes that die together stand in
 * one sentence; then every survivor gets it, once, and of many so many at a
 * time, so that the service goes on to hear the others meanwhile.
 */
#include "base/ranges.h"
#include "base/text.h"
#include "runtime/coordination/server/service_private.h"
#include "runtime/coordination/server/speakers.h"

#include <math.h>
#include <search.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define GATHER_SECONDS 0.03   /* from the first death to the sentence */
#define SAME_TEXT_SECONDS 0.1 /* for others to fail with the same words */
#define MAX_NAMED 8           /* culprits that the sentence describes */
#define MAX_TEXT 4096         /* bytes of what a process says about itself */

/* ---- one fails ---------------------------------------------------------- */

void jd__failures_add(struct jd_service *service,
                      struct jd_service_process *member, const char *format,
                      ...)
{
    va_list args;
    if (!jd__processes_is_alive(member))
        return;
    va_start(args, format);
    if (vasprintf(&member->failure, format, args) < 0)
        member->failure = NULL;
    va_end(args);
    jd__processes_set_state(service, member, JD_PROCESS_STATE_FAILED);
    member->failed_at = service->now;
    service->somebody_went = true;
    jd__admission_unjoin(service, member);
    if (service->has_failed) {
        jd__barriers_abort(service, member);
        jd__processes_check_live(service);
    } else if (!service->is_failing) {
        service->is_failing = true;
        service->failing_at = service->now + GATHER_SECONDS;
    }
}

/* ---- the sentence ------------------------------------------------------- */

static bool is_culprit(const struct jd_service_process *member)
{
    return member->state == JD_PROCESS_STATE_FAILED;
}

static int *list_culprits(const struct jd_service *service, int *ret_count)
{
    int *culprits = malloc((size_t)service->count * sizeof *culprits);
    *ret_count = 0;
    for (int i = 0; culprits && i < service->count; i++)
        if (is_culprit(&service->members[i]))
            culprits[(*ret_count)++] = i;
    return culprits;
}

static void print_culprit(FILE *out, const struct jd_service *service,
                          const struct jd_service_process *member)
{
    jd__processes_print(out, service, member);
    fprintf(out, ": %s, %.2f s ago",
            member->failure ? member->failure : "it has failed",
            service->now - member->failed_at);
    jd__processes_print_doing(out, service, member);
}

/* The hosts that have no process left. */
static void print_lost_hosts(FILE *out, const struct jd_service *service)
{
    int *all = calloc((size_t)service->count * 2, sizeof *all), printed = 0;
    int *lost = all ? all + service->count : NULL;
    for (int i = 0; all && i < service->count; i++) {
        all[service->members[i].host]++;
        lost[service->members[i].host] += is_culprit(&service->members[i]);
    }
    for (int h = 0; all && h < service->num_hosts; h++)
        if (lost[h] > 1 && lost[h] == all[h])
            fprintf(out, "%s%s", printed++ ? ", " : " (all of ",
                    service->hosts[h].name);
    if (printed)
        fputc(')', out);
    free(all);
}

static char *describe_failure(const struct jd_service *service,
                              const int *culprits, int count)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    if (count > 1) {
        jd__ranges_print_processes(out, culprits, count);
        print_lost_hosts(out, service);
        fputs(" failed: ", out);
    }
    for (int i = 0; i < count && i < MAX_NAMED; i++) {
        fputs(i ? "; " : "", out);
        print_culprit(out, service, &service->members[culprits[i]]);
    }
    if (count > MAX_NAMED)
        fprintf(out, "; and %d more", count - MAX_NAMED);
    return jd__text_end(&text);
}

/* ---- who says it -------------------------------------------------------- */

static bool is_survivor(const struct jd_service_process *member)
{
    return jd__processes_is_alive(member) && member->connection;
}

static int count_survivors(const struct jd_service *service)
{
    int count = 0;
    for (int i = 0; i < service->count; i++)
        count += is_survivor(&service->members[i]);
    return count;
}

/* What the choice looks at of a host. */
struct host_facts {
    bool is_known; /* a survivor of it was asked */
    bool has_culprit;
};

static void note_culprits(const struct jd_service *service,
                          struct host_facts *hosts)
{
    for (int i = 0; i < service->count; i++)
        if (is_culprit(&service->members[i]))
            hosts[service->members[i].host].has_culprit = true;
}

/* Sets speaks[i] for those who print, and who tells what was called last. */
static void choose_speakers(const struct jd_service *service,
                            struct jd_saying *saying)
{
    int survivors = count_survivors(service);
    struct jd_speakers rule = { .which = service->speakers,
                                .survivors = survivors,
                                .teller = -1 };
    struct host_facts *hosts = calloc((size_t)service->count, sizeof *hosts);
    if (hosts)
        note_culprits(service, hosts);
    for (int i = 0; hosts && i < service->count; i++) {
        const struct jd_service_process *member = &service->members[i];
        struct host_facts *host = &hosts[member->host];
        if (!is_survivor(member))
            continue;
        saying->speaks[i] =
            jd__speakers_next(&rule, i, !host->is_known, host->has_culprit);
        host->is_known = true;
    }
    free(hosts);
    saying->silent = survivors - rule.chosen;
    saying->teller = rule.teller;
}

static double oldest_failure(const struct jd_service *service)
{
    double oldest = service->now;
    for (int i = 0; i < service->count; i++)
        if (is_culprit(&service->members[i]))
            oldest = fmin(oldest, service->members[i].failed_at);
    return oldest;
}

/* ---- saying it ---------------------------------------------------------- */

/* It had failed before the others were told: it is one of those named. */
static bool is_named(const struct jd_service *service,
                     const struct jd_service_process *member)
{
    return is_culprit(member) && member->failed_at <= service->saying.since;
}

/* Those who work for a host's processes are no member: they end with them, and
 * say nothing. */
static void say_to(struct jd_service *service, struct jd_connection *connection,
                   const struct jd_service_process *member)
{
    const struct jd_saying *saying = &service->saying;
    Jd__Failure failure = JD__FAILURE__INIT;
    failure.ranges = saying->ranges;
    failure.n_ranges = saying->n_ranges;
    failure.text = service->failure_text;
    failure.age_ms = (uint64_t)(1000 * (service->now - saying->oldest));
    failure.silent = (uint32_t)saying->silent;
    failure.speak = member && saying->speaks[member->index];
    failure.tells_calls = member && saying->teller == member->index;
    failure.includes_you = member && is_named(service, member);
    failure.is_stuck = member && member->is_stuck;
    jd__service_send(service, connection, JD__MESSAGE__BODY_FAILURE, &failure);
}

/* Looks at the next process, from 1 on; true where it was told. */
static bool say_to_next(struct jd_service *service)
{
    struct jd_saying *saying = &service->saying;
    const struct jd_service_process *member = &service->members[saying->next];
    bool is_its_turn = saying->speaks[saying->next] == saying->is_for_speakers;
    if (++saying->next == service->count && saying->is_for_speakers) {
        saying->is_for_speakers = false;
        saying->next = 1;
    }
    if (!is_its_turn || !member->connection)
        return false;
    say_to(service, member->connection, member);
    return true;
}

static bool say_to_next_helper(struct jd_service *service)
{
    struct jd_connection *connection = service->saying.next_helper;
    service->saying.next_helper = connection->next;
    if (connection->role != JD__ROLE__HELPER)
        return false;
    say_to(service, connection, NULL);
    return true;
}

/* True when all have been told. */
static bool say_some(struct jd_service *service)
{
    struct jd_saying *saying = &service->saying;
    int said = 0;
    while (saying->next < service->count && said < JD_SAID_AT_ONCE)
        said += say_to_next(service);
    while (saying->next_helper && said < JD_SAID_AT_ONCE)
        said += say_to_next_helper(service);
    if (saying->next < service->count || saying->next_helper)
        return false;
    say_to(service, service->members[0].connection, &service->members[0]);
    return true;
}

/* Waits that the dead would have ended. */
static void end_hopeless_waits(struct jd_service *service)
{
    int count;
    int *culprits = list_culprits(service, &count);
    jd__pending_end_all(service, &service->joining, JD_ABORTED,
                        service->failure_text);
    jd__pending_end_all(service, &service->leaving, JD_ABORTED,
                        service->failure_text);
    for (int i = 0; i < count; i++)
        jd__barriers_abort(service, &service->members[culprits[i]]);
    jd__processes_check_live(service);
    free(culprits);
}

static void forget_saying(struct jd_service *service)
{
    free(service->saying.ranges);
    free(service->saying.speaks);
    service->saying = (struct jd_saying){ .is_on = false };
}

/* False where there is no memory to tell anybody. */
static bool begin_saying(struct jd_service *service)
{
    struct jd_saying *saying = &service->saying;
    int count;
    int *culprits = list_culprits(service, &count);
    saying->is_on = saying->is_for_speakers = true;
    saying->since = service->now;
    saying->oldest = oldest_failure(service);
    saying->next = 1;
    saying->next_helper = service->known.first;
    saying->ranges = jd__processes_ranges(culprits, count, &saying->n_ranges);
    saying->speaks = calloc((size_t)service->count, sizeof *saying->speaks);
    if (saying->speaks)
        choose_speakers(service, saying);
    service->failure_text =
        culprits ? describe_failure(service, culprits, count) : NULL;
    if (!service->failure_text)
        service->failure_text = strdup("a process has failed");
    free(culprits);
    return saying->ranges && saying->speaks && service->failure_text;
}

static void finish_saying(struct jd_service *service)
{
    forget_saying(service);
    service->is_failing = false;
    service->has_failed = true;
    service->tally = jd__processes_count(service); /* process 0 may not count */
    if (service->failure_text)
        end_hopeless_waits(service);
}

static void say_failure(struct jd_service *service)
{
    bool can_say = service->saying.is_on || begin_saying(service);
    if (!can_say || say_some(service))
        finish_saying(service);
    else
        service->failing_at = service->now + JD_SAYING_SECONDS;
}

/* ---- silence ------------------------------------------------------------ */

static double longest_silence(const struct jd_service *service)
{
    double longest = 0;
    for (int i = 0; i < service->count; i++)
        if (jd__processes_is_alive(&service->members[i]))
            longest = fmax(longest, service->now - service->members[i].heard);
    return longest;
}

/* A host that is cut off falls silent as a whole, but its processes' last
 * heartbeats are up to a tenth of the timeout apart: when the time of one is
 * up, those that have missed eight are silent too. A service that was stopped
 * itself reads first what has come meanwhile. */
static void look_for_silent(struct jd_service *service)
{
    double timeout = service->heartbeat_timeout;
    bool has_slept = service->now - service->next_look > timeout / 10;
    service->next_look = service->now + fmin(1, timeout / 20);
    if (has_slept || longest_silence(service) <= timeout)
        return;
    for (int i = 0; i < service->count; i++) {
        struct jd_service_process *member = &service->members[i];
        double silent = service->now - member->heard;
        if (silent > 0.8 * timeout)
            jd__failures_add(service, member,
                             "no sign of life for %.3g s (its host is down or "
                             "cut off, or it is stopped; JD_HEARTBEAT_TIMEOUT "
                             "is %.3g s)",
                             silent, timeout);
    }
}

/* ---- what processes report ---------------------------------------------- */

/* Those that fail with the same words within a moment. */
struct jd_same_text {
    struct jd_same_text *next; /* younger */
    double ends_at;
    struct jd_queue queue;
    char text[]; /* without what is over MAX_TEXT */
};

static void fail_by_report(struct jd_service *service,
                           struct jd_service_process *member,
                           const Jd__Report *report)
{
    switch (report->kind) {
    case JD__REPORT__KIND__ABORT:
        jd__failures_add(service, member, "called jd_abort(%d): %.*s",
                         (int)report->code, MAX_TEXT, report->text);
        break;
    case JD__REPORT__KIND__EXIT:
        jd__failures_add(service, member,
                         "exited with code %d without jd_shutdown",
                         (int)report->code);
        break;
    case JD__REPORT__KIND__CHECK:
        jd__failures_add(service, member, "%.*s", MAX_TEXT, report->text);
        break;
    default:
        jd__failures_add(service, member, "reported an error: %s: %.*s",
                         jd_status_name((jd_status)report->code), MAX_TEXT,
                         report->text);
    }
}

static int compare_texts(const void *a, const void *b)
{
    const struct jd_same_text *left = a, *right = b;
    return strcmp(left->text, right->text);
}

static struct jd_same_text *create_same(struct jd_service *service,
                                        const char *text)
{
    size_t length = strnlen(text, MAX_TEXT);
    struct jd_same_text *same = calloc(1, sizeof *same + length + 1);
    if (!same)
        return NULL;
    memcpy(same->text, text, length);
    same->ends_at = service->now + SAME_TEXT_SECONDS;
    return same;
}

/* The one with the text, new where there is none; NULL without memory. */
static struct jd_same_text *find_same(struct jd_service *service,
                                      const char *text)
{
    struct jd_same_text *same = create_same(service, text);
    struct jd_same_text **node =
        same ? tsearch(same, &service->same_texts_by_text, compare_texts)
             : NULL;
    if (!node || *node != same) {
        free(same);
        return node ? *node : NULL;
    }
    *(service->last_same_text ? &service->last_same_text->next
                              : &service->same_texts) = same;
    service->last_same_text = same;
    return same;
}

/* Who waits, sorted, each once though several of its threads may; malloc'ed. */
static int *list_waiting(const struct jd_queue *queue, int *ret_count)
{
    int *numbers = malloc((size_t)(queue->count + 1) * sizeof *numbers);
    int all = 0;
    for (struct jd_pending_request *w = queue->first; numbers && w; w = w->next)
        numbers[all++] = w->connection->member->index;
    *ret_count = jd__ranges_sort(numbers, all);
    return numbers;
}

/* The lowest prints for all, and is told who they are. */
static void answer_same(struct jd_service *service, struct jd_queue *queue)
{
    int count;
    int *numbers = list_waiting(queue, &count);
    size_t n = 0;
    uint32_t *ranges = jd__processes_ranges(numbers, count, &n);
    while (queue->first) {
        struct jd_pending_request *waiter = queue->first;
        Jd__Reply reply = JD__REPLY__INIT;
        reply.number =
            !ranges || numbers[0] == waiter->connection->member->index;
        reply.ranges = reply.number ? ranges : NULL;
        reply.n_ranges = reply.number ? n : 0;
        jd__service_answer(service, waiter->connection, waiter->id, &reply);
        jd__pending_end(service, waiter);
    }
    free(numbers);
    free(ranges);
}

static void drop_oldest_same(struct jd_service *service)
{
    struct jd_same_text *same = service->same_texts;
    service->same_texts = same->next;
    if (!same->next)
        service->last_same_text = NULL;
    tdelete(same, &service->same_texts_by_text, compare_texts);
    free(same);
}

/* Those whose moment is over; returns when that of the next is. None while the
 * others are told: one of them may be process 0, with which the service goes.
 */
static double end_same_texts(struct jd_service *service)
{
    if (service->is_failing)
        return INFINITY;
    while (service->same_texts &&
           service->same_texts->ends_at <= service->now) {
        answer_same(service, &service->same_texts->queue);
        drop_oldest_same(service);
    }
    return service->same_texts ? service->same_texts->ends_at : INFINITY;
}

/* What the reply waits for; NULL: nothing. */
static struct jd_queue *find_company(struct jd_service *service,
                                     const Jd__Report *report)
{
    if (report->kind != JD__REPORT__KIND__CHECK)
        return service->is_failing ? &service->reporting : NULL;
    struct jd_same_text *same = find_same(service, report->text);
    return same ? &same->queue : NULL;
}

/* Each prints its own. */
static void answer_told(struct jd_service *service)
{
    Jd__Reply reply = JD__REPLY__INIT;
    uint32_t range[] = { 0, 1 };
    reply.number = 1;
    reply.ranges = range;
    reply.n_ranges = 2;
    while (service->reporting.first) {
        struct jd_pending_request *waiter = service->reporting.first;
        range[0] = (uint32_t)waiter->connection->member->index;
        jd__service_answer(service, waiter->connection, waiter->id, &reply);
        jd__pending_end(service, waiter);
    }
}

/* The reply comes when the others have been told: who has it may end at once,
 * and the service with it where that is process 0. */
void jd__failures_on_report(struct jd_service *service,
                            struct jd_connection *connection,
                            const Jd__Message *message)
{
    Jd__Reply reply = JD__REPLY__INIT;
    fail_by_report(service, connection->member, message->report);
    struct jd_queue *company =
        message->id ? find_company(service, message->report) : NULL;
    if (company) {
        jd__pending_begin(service, company, JD_WAIT_SAME_TEXT, connection,
                          message);
        return;
    }
    reply.number = 1;
    jd__service_answer(service, connection, message->id, &reply);
}

/* ---- time --------------------------------------------------------------- */

double jd__failures_tick(struct jd_service *service)
{
    bool watches = service->heartbeat_timeout >= 0 && service->is_complete;
    if (watches && service->now >= service->next_look)
        look_for_silent(service);
    if (service->is_failing && service->now >= service->failing_at)
        say_failure(service);
    if (!service->is_failing)
        answer_told(service);
    double next = end_same_texts(service);
    if (service->is_failing)
        next = fmin(next, service->failing_at);
    return watches ? fmin(next, service->next_look) : next;
}

void jd__failures_finish(struct jd_service *service)
{
    while (service->same_texts)
        drop_oldest_same(service);
    forget_saying(service);
    free(service->failure_text);
}
