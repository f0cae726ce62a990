/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocked.c - waits that cannot end: for a process that is leaving the job, or
 * in a circle (circles.c). Processes tell the service of waits that last
 * (Blocked). What they said may be over, or the message that they wait for
 * under way; so a suspicion has them look again, twice and for a while, and
 * what all of them have then confirmed is a failure that is told to all.
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
    blocked->is_transfer = said->is_transfer;
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

double jd__blocked_seconds(const struct jd_blocked *blocked)
{
    return blocked->is_far ? FAR_SECONDS : NEAR_SECONDS;
}

void jd__blocked_suspect(struct jd_service *service, struct jd_blocked *blocked,
                         double seconds)
{
    blocked->suspected = service->now;
    blocked->due = service->now + seconds;
    ask(service, blocked);
}

bool jd__blocked_is_certain(const struct jd_blocked *blocked)
{
    return blocked->asked && blocked->look >= blocked->asked &&
           blocked->asked_at >= blocked->due;
}

static void suspect(struct jd_service *service, struct jd_blocked *blocked)
{
    jd__blocked_suspect(service, blocked, jd__blocked_seconds(blocked));
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
    else if (jd__blocked_is_certain(blocked))
        fail_leaving(service, blocked, leaving);
}

/* ---- all of it ---------------------------------------------------------- */

static void weigh(struct jd_service *service, struct jd_blocked *blocked)
{
    struct jd_service_process *leaving = find_leaving(service, blocked);
    if (service->has_failed || service->is_failing)
        return;
    if (leaving)
        weigh_leaving(service, blocked, leaving);
    else if (!jd__circles_weigh(service, blocked))
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
    if (!blocked->asked || blocked->asked_at >= blocked->due)
        return INFINITY;
    if (service->now < blocked->due)
        return blocked->due;
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
