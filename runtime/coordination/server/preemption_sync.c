/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preemption_sync.c - preemption: from the first signal anywhere, the last
 * polled steps of all are gathered, and the step after the highest is where all
 * stop. A round ends when all have acknowledged it; then the next can begin.
 */
#include "runtime/coordination/server/service_private.h"

static void send_all(struct jd_service *service, Jd__Message__BodyCase body,
                     void *message)
{
    for (int i = 0; i < service->count; i++)
        if (jd__processes_is_in(&service->members[i]))
            jd__service_send(service, service->members[i].connection, body,
                             message);
}

static void open_round(struct jd_service *service, uint32_t process)
{
    Jd__Preemption notice = JD__PREEMPTION__INIT;
    service->round++;
    service->round_is_wanted = false;
    service->round_is_open = true;
    service->round_is_decided = false;
    service->round_step = -1;
    for (int i = 0; i < service->count; i++)
        service->members[i].has_stepped = service->members[i].has_acknowledged =
            false;
    service->tally = jd__processes_count(service);
    service->round_process = process;
    notice.round = service->round;
    notice.process = process;
    send_all(service, JD__MESSAGE__BODY_PREEMPTION, &notice);
}

static void fill_decision(const struct jd_service *service,
                          Jd__Decision *decision)
{
    int64_t highest = service->round_step;
    decision->round = service->round;
    decision->step = highest < INT64_MAX ? highest + 1 : highest;
}

static void decide_round(struct jd_service *service)
{
    Jd__Decision decision = JD__DECISION__INIT;
    service->round_is_decided = true;
    fill_decision(service, &decision);
    send_all(service, JD__MESSAGE__BODY_DECISION, &decision);
}

/* It has been away: it may have missed what the others heard. */
void jd__preemption_sync_tell(struct jd_service *service,
                              struct jd_service_process *member)
{
    Jd__Preemption notice = JD__PREEMPTION__INIT;
    Jd__Decision decision = JD__DECISION__INIT;
    if (!service->round_is_open || member->has_acknowledged)
        return;
    notice.round = service->round;
    notice.process = service->round_process;
    jd__service_send(service, member->connection, JD__MESSAGE__BODY_PREEMPTION,
                     &notice);
    if (!service->round_is_decided)
        return;
    fill_decision(service, &decision);
    jd__service_send(service, member->connection, JD__MESSAGE__BODY_DECISION,
                     &decision);
}

void jd__preemption_sync_check(struct jd_service *service)
{
    if (!service->round_is_open)
        return;
    if (!service->round_is_decided && !service->tally.to_step)
        decide_round(service);
    if (!service->round_is_decided || service->tally.to_acknowledge)
        return;
    service->round_is_open = false;
    if (service->round_is_wanted)
        open_round(service, service->round_wanted_by);
}

void jd__preemption_sync_on_preempted(struct jd_service *service,
                                      struct jd_connection *connection,
                                      const Jd__Message *message)
{
    uint32_t process = (uint32_t)connection->member->index;
    (void)message;
    if (!service->is_complete)
        return;
    if (!service->round_is_open) {
        open_round(service, process);
    } else if (connection->member->has_acknowledged) { /* others have not yet */
        service->round_is_wanted = true;
        service->round_wanted_by = process;
    }
}

void jd__preemption_sync_on_step(struct jd_service *service,
                                 struct jd_connection *connection,
                                 const Jd__Message *message)
{
    const Jd__Step *step = message->step;
    if (!service->round_is_open || step->round != service->round ||
        service->round_is_decided)
        return;
    jd__processes_set(service, connection->member,
                      &connection->member->has_stepped, true);
    if (step->step > service->round_step)
        service->round_step = step->step;
    jd__preemption_sync_check(service);
}

void jd__preemption_sync_on_acknowledge(struct jd_service *service,
                                        struct jd_connection *connection,
                                        const Jd__Message *message)
{
    if (!service->round_is_open ||
        message->acknowledge->round != service->round)
        return;
    jd__processes_set(service, connection->member,
                      &connection->member->has_acknowledged, true);
    jd__preemption_sync_check(service);
}
