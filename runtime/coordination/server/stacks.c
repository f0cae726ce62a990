/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stacks.c - the stack of a process for who asks: the process is told to show
 * it (Show), and its answer (Stack) is passed on to all who had asked before
 * it was read. Of those that give up a wait for it only one gets it.
 */
#include "runtime/coordination/server/service_private.h"

#define SHOWN_SECONDS 60 /* those that give up then do so for the same reason  \
                          */

/* ---- what is said ------------------------------------------------------- */

/* One of those that give up prints it now; the end of the others would be its
 * own. */
static bool is_being_shown(const struct jd_service_process *member)
{
    return member->shower && member->shower->connection;
}

static bool is_shown(const struct jd_service *service,
                     const struct jd_service_process *member)
{
    return member->shown > 0 && service->now - member->shown < SHOWN_SECONDS;
}

static void reply_nothing(struct jd_service *service,
                          struct jd_connection *connection, uint64_t id)
{
    jd__service_reply(service, connection, id, JD_OK, "%s", "");
}

/* To one that waits, which ends. */
static void answer_waiter(struct jd_service *service,
                          struct jd_pending_request *waiter, jd_status status,
                          const char *between, const char *text)
{
    struct jd_service_process *member = waiter->owner;
    struct jd_service_process *asker = waiter->connection->member;
    if (waiter->gives_up && asker) {
        member->shown = service->now;
        member->shower = asker;
        asker->shows = member;
    }
    jd__processes_reply(service, waiter->connection, waiter->id, member, status,
                        "%s%s", between, text);
    jd__pending_end(service, waiter);
}

/* Those that give up, when one of them has shown it. */
static void answer_others(struct jd_service *service,
                          struct jd_service_process *member)
{
    struct jd_pending_request *next = service->stacks.first;
    member->shower = NULL;
    for (struct jd_pending_request *waiter; (waiter = next);) {
        next = waiter->next;
        if (waiter->owner != member || !waiter->gives_up)
            continue;
        reply_nothing(service, waiter->connection, waiter->id);
        jd__pending_end(service, waiter);
    }
}

/* ---- requests ----------------------------------------------------------- */

/* It is asked already for another that gives up, or has answered that one. */
static bool has_been_asked(const struct jd_service *service,
                           const struct jd_pending_request *waiter)
{
    const struct jd_pending_request *other = service->stacks.first;
    if (!waiter->gives_up)
        return false;
    while (other && !(other != waiter && other->gives_up &&
                      other->owner == waiter->owner))
        other = other->next;
    return other || is_being_shown(waiter->owner);
}

static void begin_to_wait(struct jd_service *service,
                          struct jd_connection *connection,
                          const Jd__Message *message,
                          struct jd_service_process *member)
{
    Jd__Show show = JD__SHOW__INIT;
    struct jd_pending_request *waiter = jd__pending_begin(
        service, &service->stacks, JD_WAIT_STACK, connection, message);
    if (!waiter)
        return;
    waiter->owner = member;
    waiter->gives_up = message->stack_of->gives_up;
    if (has_been_asked(service, waiter))
        return;
    waiter->show = show.number = ++service->num_shows;
    jd__service_send(service, member->connection, JD__MESSAGE__BODY_SHOW,
                     &show);
}

void jd__stacks_on_request(struct jd_service *service,
                           struct jd_connection *connection,
                           const Jd__Message *message)
{
    static const struct jd_processes_shown what = { "its stack", "stack",
                                                    "jd-info" };
    struct jd_service_process *member = jd__processes_find_shown(
        service, connection, message->id, message->stack_of->process, &what);
    if (!member)
        return;
    if (message->stack_of->gives_up && is_shown(service, member) &&
        !is_being_shown(member))
        reply_nothing(service, connection, message->id);
    else
        begin_to_wait(service, connection, message, member);
}

void jd__stacks_on_answer(struct jd_service *service,
                          struct jd_connection *connection,
                          const Jd__Message *message)
{
    const Jd__Stack *stack = message->stack;
    struct jd_pending_request *next = service->stacks.first;
    for (struct jd_pending_request *waiter; (waiter = next);) {
        next = waiter->next;
        if (waiter->owner == connection->member && waiter->show &&
            waiter->show <= stack->number)
            answer_waiter(service, waiter, (jd_status)stack->status,
                          stack->status ? ": " : ":\n", stack->text);
    }
}

void jd__stacks_on_shown(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Message *message)
{
    uint32_t process = message->stack_shown->process;
    if (process < (uint32_t)service->count &&
        service->members[process].shower == connection->member)
        answer_others(service, &service->members[process]);
}

/* ---- no answer ---------------------------------------------------------- */

void jd__stacks_expire(struct jd_service *service,
                       struct jd_pending_request *waiter)
{
    const struct jd_service_process *member = waiter->owner;
    jd__processes_reply(
        service, waiter->connection, waiter->id, member, JD_DEADLINE_EXCEEDED,
        " has not shown its stack within %.3g s, and was last heard "
        "%.3g s ago; one that is stopped (SIGSTOP, a debugger) cannot: "
        "see on its host what ps -o stat,wchan -p %u says",
        service->now - waiter->since, service->now - member->heard,
        (unsigned)member->pid);
    jd__pending_end(service, waiter);
}

void jd__stacks_end(struct jd_service *service,
                    struct jd_service_process *member)
{
    struct jd_pending_request *next = service->stacks.first;
    for (struct jd_pending_request *waiter; (waiter = next);) {
        next = waiter->next;
        if (waiter->owner == member)
            answer_waiter(service, waiter, JD_UNAVAILABLE,
                          " was asked for its stack, and then its connection "
                          "has ended",
                          "");
    }
    if (member->shows && member->shows->shower == member)
        answer_others(service, member->shows);
}
