/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocked.c - waits that cannot end: for a process that is leaving the job, or
 * in a circle. Processes tell the service of waits that last (Blocked). What
 * they said may be over, or the message that they wait for under way; so a
 * suspicion has them look again, twice and for a while, and what all of them
 * have then confirmed is a failure that is told to all.
 */
#include "base/ranges.h"
#include "runtime/coordination/server/service_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WAITS 64    /* of one process; it has a thread for each device */
#define STALE_SECONDS 20 /* told at least every eight */
#define NEAR_SECONDS 0.4 /* that a suspicion must last */
#define FAR_SECONDS 5.0  /* and where messages cross a network */
#define LONGEST_CIRCLE 8 /* processes */

/* ---- what is told ------------------------------------------------------- */

static struct jd_blocked *find(const struct jd_service_process *member,
                               uint64_t wait)
{
    struct jd_blocked *blocked = member->blocked;
    while (blocked && blocked->wait != wait)
        blocked = blocked->next;
    return blocked;
}

static void forget_stale(struct jd_service *service,
                         struct jd_service_process *member, double before)
{
    struct jd_blocked **at = &member->blocked;
    while (*at) {
        struct jd_blocked *blocked = *at;
        if (blocked->told >= before) {
            at = &blocked->next;
            continue;
        }
        *at = blocked->next;
        service->num_suspected -= blocked->asked != 0;
        service->num_blocked--;
        free(blocked);
    }
}

void jd__blocked_forget(struct jd_service *service,
                        struct jd_service_process *member)
{
    forget_stale(service, member, INFINITY);
}

static struct jd_blocked *add(struct jd_service *service,
                              struct jd_service_process *member, uint64_t wait)
{
    int count = 0;
    forget_stale(service, member, service->now - STALE_SECONDS);
    for (struct jd_blocked *b = member->blocked; b; b = b->next)
        count++;
    struct jd_blocked *blocked =
        count < MOST_WAITS ? calloc(1, sizeof *blocked) : NULL;
    if (!blocked)
        return NULL;
    blocked->wait = wait;
    blocked->member = member;
    blocked->next = member->blocked;
    member->blocked = blocked;
    service->num_blocked++;
    return blocked;
}

/* Numbers that are no process's are left out: nobody waits for them. */
static void fill(const struct jd_service *service, struct jd_blocked *blocked,
                 const Jd__Blocked *said)
{
    snprintf(blocked->operation, sizeof blocked->operation, "%s",
             said->operation);
    blocked->since = service->now - (double)said->waited_ms / 1000;
    blocked->told = service->now;
    blocked->is_far = said->is_far;
    blocked->is_alone = said->is_alone;
    blocked->look = said->look;
    blocked->count = 0;
    for (size_t i = 0; i < said->n_processes; i++)
        if (said->processes[i] < (uint32_t)service->count &&
            blocked->count < JD_BLOCKED_NAMED)
            blocked->processes[blocked->count++] = (int)said->processes[i];
}

/* ---- suspicions --------------------------------------------------------- */

/* Those it waits for neither leave nor wait themselves. */
static void forget_suspicion(struct jd_service *service,
                             struct jd_blocked *blocked)
{
    service->num_suspected -= blocked->asked != 0;
    blocked->asked = 0;
}

void jd__blocked_look(struct jd_service *service,
                      struct jd_service_process *member)
{
    Jd__Look look = JD__LOOK__INIT;
    look.number = ++service->num_looks;
    jd__service_send(service, member->connection, JD__MESSAGE__BODY_LOOK,
                     &look);
}

/* Its process says again whether it waits, and for whom. */
static void ask(struct jd_service *service, struct jd_blocked *blocked)
{
    jd__blocked_look(service, blocked->member);
    service->num_suspected += blocked->asked == 0;
    blocked->asked = service->num_looks;
    blocked->asked_at = service->now;
}

static void suspect(struct jd_service *service, struct jd_blocked *blocked)
{
    blocked->suspected = service->now;
    ask(service, blocked);
}

static double seconds_of(const struct jd_blocked *blocked)
{
    return blocked->is_far ? FAR_SECONDS : NEAR_SECONDS;
}

/* It was asked at the end of that time, and has said the same. */
static bool is_certain(const struct jd_blocked *blocked)
{
    return blocked->asked && blocked->look >= blocked->asked &&
           blocked->asked_at >= blocked->suspected + seconds_of(blocked);
}

/* ---- for one that leaves ------------------------------------------------ */

/* In jd_shutdown, or out of it: it has given up waiting for the others. */
static bool is_leaving(const struct jd_service_process *member)
{
    return member->state == JD_PROCESS_STATE_LEAVING ||
           member->state == JD_PROCESS_STATE_LEFT;
}

static struct jd_service_process *find_leaving(const struct jd_service *service,
                                               const struct jd_blocked *blocked)
{
    for (int i = 0; i < blocked->count; i++)
        if (is_leaving(&service->members[blocked->processes[i]]))
            return &service->members[blocked->processes[i]];
    return NULL;
}

/* One that has left counts as leaving once more: only so can it fail. */
static void fail_leaving(struct jd_service *service,
                         const struct jd_blocked *blocked,
                         struct jd_service_process *leaving)
{
    const char *where = leaving->state == JD_PROCESS_STATE_LEFT
                            ? "has left the job"
                            : "is in jd_shutdown";
    jd__processes_set_state(service, leaving, JD_PROCESS_STATE_LEAVING);
    jd__failures_add(
        service, leaving,
        "it %s, and process %d has waited %.3g s for it in %s; all "
        "members must make the same calls before they leave",
        where, blocked->member->index, service->now - blocked->since,
        blocked->operation);
    leaving->is_stuck = true;
}

static void weigh_leaving(struct jd_service *service,
                          struct jd_blocked *blocked,
                          struct jd_service_process *leaving)
{
    if (!blocked->asked)
        suspect(service, blocked);
    else if (is_certain(blocked))
        fail_leaving(service, blocked, leaving);
}

/* ---- in a circle -------------------------------------------------------- */

/* One way through who waits for whom. */
struct path {
    struct jd_blocked *steps[LONGEST_CIRCLE];
    int count;
};

/* One with several devices has other threads, which may yet do what others
 * wait for. */
static bool can_be_in_circle(const struct jd_service *service,
                             const struct jd_blocked *blocked)
{
    return blocked->is_alone && service->notice >= 0 &&
           service->now - blocked->since >= service->notice;
}

static bool is_on(const struct path *path, const struct jd_blocked *blocked)
{
    for (int i = 0; i < path->count; i++)
        if (path->steps[i] == blocked)
            return true;
    return false;
}

/* The member's wait, where one of the call can be waiting for it in vain.
 * Processes in the same call may wait for what is under way between them. */
static struct jd_blocked *step_to(const struct jd_service *service,
                                  const struct jd_blocked *from, int process)
{
    const struct jd_service_process *member = &service->members[process];
    bool is_step = jd__blocked_now(service, member) &&
                   can_be_in_circle(service, member->blocked) &&
                   strcmp(member->blocked->operation, from->operation) != 0;
    return is_step ? member->blocked : NULL;
}

/* Whether the way can be gone on until it comes back to its begin. */
static bool follow(const struct jd_service *service, struct path *path)
{
    const struct jd_blocked *last = path->steps[path->count - 1];
    for (int i = 0; i < last->count; i++) {
        struct jd_blocked *next = step_to(service, last, last->processes[i]);
        if (next && next == path->steps[0])
            return true;
        if (!next || is_on(path, next) || path->count == LONGEST_CIRCLE)
            continue;
        path->steps[path->count++] = next;
        if (follow(service, path))
            return true;
        path->count--;
    }
    return false;
}

static bool find_circle(const struct jd_service *service,
                        struct jd_blocked *first, struct path *ret_path)
{
    *ret_path = (struct path){ { first }, 1 };
    return first == first->member->blocked &&
           can_be_in_circle(service, first) && follow(service, ret_path);
}

static char *describe_circle(const struct jd_service *service,
                             const struct path *path)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (int i = 0; i < path->count; i++)
        fprintf(out, "%s %s for process %d",
                i ? ", which waits in" : "it waits in",
                path->steps[i]->operation,
                path->steps[(i + 1) % path->count]->member->index);
    fprintf(out,
            ", for %.3g s: none of them can go on; all members must make the "
            "same calls in the same order",
            service->now - path->steps[0]->since);
    fclose(out);
    return text;
}

static void fail_circle(struct jd_service *service, const struct path *path)
{
    char *text = describe_circle(service, path);
    jd__failures_add(service, path->steps[0]->member, "%s",
                     text ? text : "it waits in a circle of processes");
    path->steps[0]->member->is_stuck = true;
    free(text);
}

/* Each of its waits is asked about, and each must be certain. */
static void weigh_circle(struct jd_service *service, const struct path *path)
{
    bool certain = true;
    for (int i = 0; i < path->count; i++) {
        if (!path->steps[i]->asked)
            suspect(service, path->steps[i]);
        certain = certain && is_certain(path->steps[i]);
    }
    if (certain)
        fail_circle(service, path);
}

/* ---- all of it ---------------------------------------------------------- */

static void weigh(struct jd_service *service, struct jd_blocked *blocked)
{
    struct path path;
    struct jd_service_process *leaving = find_leaving(service, blocked);
    if (service->has_failed || service->is_failing)
        return;
    if (leaving)
        weigh_leaving(service, blocked, leaving);
    else if (find_circle(service, blocked, &path))
        weigh_circle(service, &path);
    else
        forget_suspicion(service, blocked);
}

void jd__blocked_on_message(struct jd_service *service,
                            struct jd_connection *connection,
                            const Jd__Message *message)
{
    struct jd_service_process *member = connection->member;
    struct jd_blocked *blocked = find(member, message->blocked->wait);
    if (!blocked)
        blocked = add(service, member, message->blocked->wait);
    if (!blocked)
        return;
    fill(service, blocked, message->blocked);
    weigh(service, blocked);
}

void jd__blocked_on_leaving(struct jd_service *service)
{
    for (int i = 0; service->num_blocked && i < service->count; i++)
        for (struct jd_blocked *b = service->members[i].blocked; b; b = b->next)
            if (!b->asked && find_leaving(service, b))
                suspect(service, b);
}

/* A suspicion that has lasted is asked about once more. */
static double tick(struct jd_service *service, struct jd_blocked *blocked)
{
    double due = blocked->suspected + seconds_of(blocked);
    if (!blocked->asked || blocked->asked_at >= due)
        return INFINITY;
    if (service->now < due)
        return due;
    ask(service, blocked);
    return INFINITY;
}

double jd__blocked_tick(struct jd_service *service)
{
    double next = INFINITY;
    if (service->has_failed)
        return next;
    for (int i = 0; service->num_suspected && i < service->count; i++)
        for (struct jd_blocked *b = service->members[i].blocked; b; b = b->next)
            next = fmin(next, tick(service, b));
    return next;
}

const struct jd_blocked *
jd__blocked_now(const struct jd_service *service,
                const struct jd_service_process *member)
{
    const struct jd_blocked *newest = member->blocked;
    bool is_stale = newest && newest->told < service->now - STALE_SECONDS;
    return is_stale ? NULL : newest;
}

void jd__blocked_describe(FILE *out, const struct jd_service *service,
                          const struct jd_blocked *blocked)
{
    fprintf(out, "waits in %s for process%s ", blocked->operation,
            blocked->count == 1 ? "" : "es");
    jd__ranges_print(out, blocked->processes, blocked->count);
    fprintf(out, ", for %.3g s", service->now - blocked->since);
}
