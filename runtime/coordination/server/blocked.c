/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocked.c - waits that cannot end: for a process that is leaving the job, or
 * in a circle (circles.c). Processes tell the service of waits that last
 * (Blocked). What they said may be over, or the message that they wait for
 * under way; so a suspicion has them look again, twice and for a while, and
 * what all of them have then confirmed is a failure that is told to all.
 * Where MPI carries a message, that while is as long as it may take; but
 * whoever leaves is asked how many it has sent, and where as many have come,
 * there is nothing to be waited for.
 */
#include "base/ranges.h"
#include "base/text.h"
#include "runtime/coordination/server/service_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WAITS 64    /* of one process; it has a thread for each device */
#define STALE_SECONDS 20 /* told at least every eight */
#define NEAR_SECONDS 0.4 /* that a suspicion must last */
#define FAR_SECONDS 5.0  /* and where MPI carries messages */

struct jd_blocked *jd__blocked_find(const struct jd_service_process *member,
                                    uint64_t wait)
{
    struct jd_blocked *blocked = member->blocked;
    while (blocked && blocked->wait != wait)
        blocked = blocked->next;
    return blocked;
}

/* ---- lists of waits ----------------------------------------------------- */

static void await_member(struct jd_service *service, struct jd_blocked *blocked,
                         int process, uint64_t messages)
{
    struct jd_service_process *member = &service->members[process];
    struct jd_awaited_member *awaited = &blocked->awaited[blocked->count++];
    *awaited = (struct jd_awaited_member){ blocked, process, messages,
                                           member->awaited_by, NULL };
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

static void enlist_suspect(struct jd_suspicions *list,
                           struct jd_blocked *blocked)
{
    blocked->list = list;
    blocked->next_suspected = NULL;
    blocked->previous_suspected = list->last;
    *(list->last ? &list->last->next_suspected : &list->first) = blocked;
    list->last = blocked;
}

static void unlist_suspect(struct jd_blocked *blocked)
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
        unlist_suspect(blocked);
        await_nobody(service, blocked);
        free(blocked->call);
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
    unlist_suspect(blocked);
    blocked->asked = 0;
}

static struct jd_blocked *add_blocked(struct jd_service *service,
                                      struct jd_service_process *member,
                                      uint64_t wait)
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

/* Whether the process is said to be in the same waits as before. */
static bool has_same_others(const struct jd_blocked *blocked,
                            const Jd__Blocked *said, bool is_alone)
{
    return blocked->is_alone == is_alone &&
           (!is_alone ||
            ((size_t)blocked->num_others == said->n_others &&
             (!said->n_others ||
              memcmp(blocked->others, said->others,
                     said->n_others * sizeof *said->others) == 0)));
}

/* One with more of them is taken to have a thread elsewhere. Where they are
 * others than before, what was asked was another question. */
static void keep_others(struct jd_blocked *blocked, const Jd__Blocked *said)
{
    bool is_alone = said->is_alone && said->n_others <= JD_BLOCKED_OTHERS;
    if (!has_same_others(blocked, said, is_alone))
        forget_suspicion(blocked);
    blocked->is_alone = is_alone;
    blocked->num_others = is_alone ? (int)said->n_others : 0;
    for (int i = 0; i < blocked->num_others; i++)
        blocked->others[i] = said->others[i];
}

static void keep_members(struct jd_blocked *blocked, const Jd__Blocked *said)
{
    size_t pairs = said->n_members / 2;
    blocked->num_members =
        (int)(pairs < JD_BLOCKED_NAMED ? pairs : JD_BLOCKED_NAMED);
    for (int i = 0; i < 2 * blocked->num_members; i++)
        blocked->members[i] = said->members[i];
}

/* Numbers that are no process's are left out: nobody waits for them. What is
 * far from now on is a new suspicion: it must last longer. */
static void fill_blocked(struct jd_service *service, struct jd_blocked *blocked,
                         const Jd__Blocked *said)
{
    if (blocked->is_far != said->is_far)
        forget_suspicion(blocked);
    snprintf(blocked->operation, sizeof blocked->operation, "%s",
             said->operation);
    blocked->since = service->now - (double)said->waited_ms / 1000;
    blocked->told = service->now;
    blocked->turn = ++service->num_blocked;
    blocked->comm = said->comm;
    blocked->is_far = said->is_far;
    blocked->is_transfer = said->is_transfer;
    blocked->look = said->look;
    keep_others(blocked, said);
    keep_members(blocked, said);
    await_nobody(service, blocked);
    for (size_t i = 0; i < said->n_processes; i++)
        if (said->processes[i] < (uint32_t)service->count &&
            blocked->count < JD_BLOCKED_NAMED)
            await_member(service, blocked, (int)said->processes[i],
                         i < said->n_messages ? said->messages[i] : 0);
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

/* In jd_shutdown, or out of it: it has given up waiting for the others. */
static bool is_leaving(const struct jd_service_process *member)
{
    return member->state == JD_PROCESS_STATE_LEAVING ||
           member->state == JD_PROCESS_STATE_LEFT;
}

static const struct jd_awaited_member *
find_leaving(const struct jd_service *service, const struct jd_blocked *blocked)
{
    for (int i = 0; i < blocked->count; i++)
        if (is_leaving(&service->members[blocked->awaited[i].process]))
            return &blocked->awaited[i];
    return NULL;
}

/* Whether the one that leaves can say that nothing of it is under way. */
static bool can_be_counted(const struct jd_service *service,
                           const struct jd_awaited_member *leaving)
{
    return leaving->blocked->is_far && leaving->messages &&
           service->members[leaving->process].state == JD_PROCESS_STATE_LEAVING;
}

static void ask_sender(struct jd_service *service, struct jd_blocked *blocked)
{
    const struct jd_awaited_member *leaving = find_leaving(service, blocked);
    Jd__Look look = JD__LOOK__INIT;
    blocked->sender_asked = 0;
    if (!leaving || !can_be_counted(service, leaving))
        return;
    look.number = blocked->sender_asked = ++service->num_looks;
    look.receiver = 1 + (uint32_t)blocked->member->index;
    blocked->sender = leaving->process;
    blocked->has_sent = false;
    jd__service_send(service, service->members[leaving->process].connection,
                     JD__MESSAGE__BODY_LOOK, &look);
}

/* Its process says again whether it waits, and for whom. */
static void ask_member(struct jd_service *service, struct jd_blocked *blocked)
{
    jd__blocked_look(service, blocked->member);
    blocked->asked = service->num_looks;
    blocked->asked_at = service->now;
    ask_sender(service, blocked);
}

double jd__blocked_seconds(const struct jd_blocked *blocked)
{
    return blocked->is_far ? FAR_SECONDS : NEAR_SECONDS;
}

static void await_due(struct jd_service *service, struct jd_blocked *blocked,
                      double seconds)
{
    blocked->due = blocked->suspected + seconds;
    unlist_suspect(blocked);
    enlist_suspect(seconds > NEAR_SECONDS ? &service->far : &service->near,
                   blocked);
}

void jd__blocked_suspect(struct jd_service *service, struct jd_blocked *blocked,
                         double seconds)
{
    blocked->suspected = service->now;
    await_due(service, blocked, seconds);
    ask_member(service, blocked);
}

/* It was asked when the suspicion had lasted so long, and has said the same. */
static bool is_confirmed(const struct jd_blocked *blocked, double seconds)
{
    return blocked->asked && blocked->look >= blocked->asked &&
           blocked->asked_at >= blocked->suspected + seconds;
}

bool jd__blocked_is_certain(const struct jd_blocked *blocked)
{
    return is_confirmed(blocked, blocked->due - blocked->suspected);
}

/* ---- for one that leaves ------------------------------------------------ */

/* As many messages have come as were ever sent: there is none under way, and
 * none will follow. */
static bool has_all(const struct jd_awaited_member *leaving)
{
    const struct jd_blocked *blocked = leaving->blocked;
    return leaving->messages && blocked->sender_asked && blocked->has_sent &&
           blocked->sender == leaving->process &&
           leaving->messages - 1 == blocked->sent;
}

static void suspect_leaving(struct jd_service *service,
                            const struct jd_awaited_member *leaving)
{
    struct jd_blocked *blocked = leaving->blocked;
    jd__blocked_suspect(service, blocked,
                        can_be_counted(service, leaving)
                            ? NEAR_SECONDS
                            : jd__blocked_seconds(blocked));
}

/* Of several threads the call that is known of their process may be another's.
 */
void jd__blocked_print_place(FILE *out, const struct jd_blocked *blocked)
{
    if (blocked->is_alone && !blocked->num_others)
        jd__processes_print_place(out, blocked->member, blocked->since);
    else if (blocked->call)
        jd__processes_print_place_of(out, blocked->call);
}

static void print_leaving(FILE *out, const struct jd_service *service,
                          const struct jd_awaited_member *awaited)
{
    const struct jd_blocked *blocked = awaited->blocked;
    bool has_left =
        service->members[awaited->process].state == JD_PROCESS_STATE_LEFT;
    fprintf(out, "it %s%s, and process %d has waited %.3g s for it in %s",
            has_left ? "has left the job" : "is in jd_shutdown",
            has_all(awaited) ? ", all of its messages have come" : "",
            blocked->member->index, service->now - blocked->since,
            blocked->operation);
    jd__blocked_print_place(out, blocked);
    fputs("; all members must make the same calls before they leave", out);
}

/* One that has left counts as leaving once more: only so can it fail. */
static void fail_leaving(struct jd_service *service,
                         const struct jd_awaited_member *awaited)
{
    struct jd_service_process *leaving = &service->members[awaited->process];
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out)
        print_leaving(out, service, awaited);
    char *text = jd__text_end(&written);
    jd__processes_set_state(service, leaving, JD_PROCESS_STATE_LEAVING);
    jd__failures_add(service, leaving, "%s",
                     text ? text : "it leaves, and another waits for it");
    leaving->is_stuck = true;
    free(text);
}

/* What may be under way has its time. */
static void weigh_leaving(struct jd_service *service,
                          const struct jd_awaited_member *leaving)
{
    struct jd_blocked *blocked = leaving->blocked;
    double seconds = jd__blocked_seconds(blocked);
    if (!blocked->asked)
        suspect_leaving(service, leaving);
    else if (is_confirmed(blocked, has_all(leaving) ? NEAR_SECONDS : seconds))
        fail_leaving(service, leaving);
    else if (is_confirmed(blocked, NEAR_SECONDS) &&
             blocked->due < blocked->suspected + seconds)
        await_due(service, blocked, seconds);
}

/* ---- all of it ---------------------------------------------------------- */

static void weigh_blocked(struct jd_service *service,
                          struct jd_blocked *blocked)
{
    const struct jd_awaited_member *leaving = find_leaving(service, blocked);
    if (service->has_failed || service->is_failing)
        return;
    if (leaving)
        weigh_leaving(service, leaving);
    else if (!jd__circles_weigh(service, blocked))
        forget_suspicion(blocked);
}

void jd__blocked_on_message(struct jd_service *service,
                            struct jd_connection *connection,
                            const Jd__Message *message)
{
    struct jd_service_process *member = connection->member;
    struct jd_blocked *blocked =
        jd__blocked_find(member, message->blocked->wait);
    if (!blocked)
        blocked = add_blocked(service, member, message->blocked->wait);
    if (!blocked)
        return;
    fill_blocked(service, blocked, message->blocked);
    weigh_blocked(service, blocked);
}

void jd__blocked_on_leaving(struct jd_service *service,
                            const struct jd_service_process *member)
{
    for (struct jd_awaited_member *a = member->awaited_by; a; a = a->next)
        if (!a->blocked->asked)
            suspect_leaving(service, a);
}

/* The number of the Look says whose wait it was about. */
void jd__blocked_on_sent(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Message *message)
{
    struct jd_awaited_member *a = connection->member->awaited_by;
    while (a && (a->blocked->sender != a->process ||
                 a->blocked->sender_asked != message->sent->look))
        a = a->next;
    if (!a || !message->sent->look)
        return;
    a->blocked->has_sent = true;
    a->blocked->sent = message->sent->messages;
    weigh_blocked(service, a->blocked);
}

/* Suspicions that have lasted are asked about once more; returns when the next
 * has. */
static double ask_again(struct jd_service *service, struct jd_suspicions *list)
{
    struct jd_blocked *blocked;
    while ((blocked = list->first)) {
        if (service->now < blocked->due)
            return blocked->due;
        unlist_suspect(blocked);
        ask_member(service, blocked);
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

void jd__blocked_on_heartbeat(struct jd_service_process *member,
                              const Jd__Heartbeat *heartbeat)
{
    for (size_t i = 0; i < heartbeat->n_standing; i++) {
        const Jd__Standing *stand = heartbeat->standing[i];
        struct jd_blocked *blocked = jd__blocked_find(member, stand->wait);
        if (blocked)
            jd__processes_take_call(&blocked->call, stand->call);
    }
}

bool jd__blocked_is_fresh(const struct jd_service *service,
                          const struct jd_blocked *blocked)
{
    return blocked->told >= service->now - STALE_SECONDS;
}

const struct jd_blocked *
jd__blocked_now(const struct jd_service *service,
                const struct jd_service_process *member)
{
    const struct jd_blocked *newest = member->blocked;
    return newest && jd__blocked_is_fresh(service, newest) ? newest : NULL;
}

static void print_members(FILE *out, const struct jd_blocked *blocked)
{
    int count = blocked->num_members, numbers[JD_BLOCKED_NAMED];
    for (int i = 0; i < count; i++)
        numbers[i] = (int)blocked->members[2 * i + 1];
    if (!count)
        return;
    fprintf(out, " (member%s ", jd__text_s(count));
    jd__ranges_print(out, numbers, jd__ranges_sort(numbers, count));
    fputs(")", out);
}

void jd__blocked_describe(FILE *out, const struct jd_service *service,
                          const struct jd_blocked *blocked)
{
    int processes[JD_BLOCKED_NAMED];
    for (int i = 0; i < blocked->count; i++)
        processes[i] = blocked->awaited[i].process;
    fprintf(out, "waits in %s for ", blocked->operation);
    jd__ranges_print_processes(out, processes, blocked->count);
    print_members(out, blocked);
    fprintf(out, ", for %.3g s", service->now - blocked->since);
}
