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

static struct jd_blocked *find(const struct jd_service_process *member,
                               uint64_t wait)
{
    struct jd_blocked *blocked = member->blocked;
    while (blocked && blocked->wait != wait)
        blocked = blocked->next;
    return blocked;
}

/* ---- lists of waits ----------------------------------------------------- */

static void await_member(struct jd_service *service, struct jd_blocked *blocked,
                         int process)
{
    struct jd_service_process *member = &service->members[process];
    struct jd_awaited_member *awaited = &blocked->awaited[blocked->count++];
    *awaited = (struct jd_awaited_member){ blocked, process, member->awaited_by,
                                           NULL };
    if (member->awaited_by)
        member->awaited_by->previous = awaited;
    member->awaited_by = awaited;
}

static void await_nobody(struct jd_service *service, struct jd_blocked *blocked)
{
    for (int i = 0; i < blocked->count; i++) {
        struct jd_awaited_member *awaited = &blocked->awaited[i];
        struct jd_awaited_member *next = awaited->next;
        *(awaited->previous ? &awaited->previous->next
                            : &service->members[awaited->process].awaited_by) =
            next;
        if (next)
            next->previous = awaited->previous;
    }
    blocked->count = 0;
}

static void enlist(struct jd_suspicions *list, struct jd_blocked *blocked)
{
    blocked->list = list;
    blocked->next_suspected = NULL;
    blocked->previous_suspected = list->last;
    *(list->last ? &list->last->next_suspected : &list->first) = blocked;
    list->last = blocked;
}

static void unlist(struct jd_blocked *blocked)
{
    struct jd_suspicions *list = blocked->list;
    struct jd_blocked *next = blocked->next_suspected;
    struct jd_blocked *previous = blocked->previous_suspected;
    if (!list)
        return;
    *(previous ? &previous->next_suspected : &list->first) = next;
    *(next ? &next->previous_suspected : &list->last) = previous;
    blocked->list = NULL;
}

/* ---- what is told, and when it is forgotten ----------------------------- */

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
        unlist(blocked);
        await_nobody(service, blocked);
        free(blocked);
    }
}

void jd__blocked_forget(struct jd_service *service,
                        struct jd_service_process *member)
{
    forget_stale(service, member, INFINITY);
}

/* Those it waits for neither leave nor wait themselves. */
static void forget_suspicion(struct jd_blocked *blocked)
{
    unlist(blocked);
    blocked->asked = 0;
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
    return blocked;
}

/* Numbers that are no process's are left out: nobody waits for them. What is
 * far from now on is a new suspicion: it must last longer. */
static void fill(struct jd_service *service, struct jd_blocked *blocked,
                 const Jd__Blocked *said)
{
    if (blocked->is_far != said->is_far)
        forget_suspicion(blocked);
    snprintf(blocked->operation, sizeof blocked->operation, "%s",
             said->operation);
    blocked->since = service->now - (double)said->waited_ms / 1000;
    blocked->told = service->now;
    blocked->is_far = said->is_far;
    blocked->is_alone = said->is_alone;
    blocked->look = said->look;
    await_nobody(service, blocked);
    for (size_t i = 0; i < said->n_processes; i++)
        if (said->processes[i] < (uint32_t)service->count &&
            blocked->count < JD_BLOCKED_NAMED)
            await_member(service, blocked, (int)said->processes[i]);
}

/* ---- suspicions --------------------------------------------------------- */

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
    blocked->asked = service->num_looks;
    blocked->asked_at = service->now;
}

static void suspect(struct jd_service *service, struct jd_blocked *blocked)
{
    blocked->suspected = service->now;
    enlist(blocked->is_far ? &service->far : &service->near, blocked);
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
    for (int i = 0; i < blocked->count; i++) {
        struct jd_service_process *member =
            &service->members[blocked->awaited[i].process];
        if (is_leaving(member))
            return member;
    }
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
    uint64_t search; /* its number */
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

/* This search has come by with as many steps left, and found nothing: many ways
 * may lead to one wait. */
static bool is_vain(const struct path *path, struct jd_blocked *blocked)
{
    int left = LONGEST_CIRCLE - path->count;
    if (left <= 0 ||
        (blocked->search == path->search && blocked->steps_left >= left))
        return true;
    blocked->search = path->search;
    blocked->steps_left = left;
    return false;
}

/* Whether the way can be gone on until it comes back to its begin. */
static bool follow(const struct jd_service *service, struct path *path)
{
    const struct jd_blocked *last = path->steps[path->count - 1];
    for (int i = 0; i < last->count; i++) {
        struct jd_blocked *next =
            step_to(service, last, last->awaited[i].process);
        if (next && next == path->steps[0])
            return true;
        if (!next || is_on(path, next) || is_vain(path, next))
            continue;
        path->steps[path->count++] = next;
        if (follow(service, path))
            return true;
        path->count--;
    }
    return false;
}

static bool find_circle(struct jd_service *service, struct jd_blocked *first,
                        struct path *ret_path)
{
    *ret_path = (struct path){ { first }, 1, ++service->num_searches };
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
        forget_suspicion(blocked);
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

void jd__blocked_on_leaving(struct jd_service *service,
                            const struct jd_service_process *member)
{
    for (struct jd_awaited_member *a = member->awaited_by; a; a = a->next)
        if (!a->blocked->asked)
            suspect(service, a->blocked);
}

/* Suspicions that have lasted are asked about once more; returns when the next
 * has. */
static double ask_again(struct jd_service *service, struct jd_suspicions *list)
{
    struct jd_blocked *blocked;
    while ((blocked = list->first)) {
        double due = blocked->suspected + seconds_of(blocked);
        if (service->now < due)
            return due;
        unlist(blocked);
        ask(service, blocked);
    }
    return INFINITY;
}

double jd__blocked_tick(struct jd_service *service)
{
    if (service->has_failed)
        return INFINITY;
    double next = ask_again(service, &service->near);
    return fmin(next, ask_again(service, &service->far));
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
    int processes[JD_BLOCKED_NAMED];
    for (int i = 0; i < blocked->count; i++)
        processes[i] = blocked->awaited[i].process;
    fprintf(out, "waits in %s for process%s ", blocked->operation,
            blocked->count == 1 ? "" : "es");
    jd__ranges_print(out, processes, blocked->count);
    fprintf(out, ", for %.3g s", service->now - blocked->since);
}
