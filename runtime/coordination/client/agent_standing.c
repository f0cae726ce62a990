/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent_standing.c - the words of the calls in which the threads of this
 * process stand, where several do: one that is asked where it waits (Look) says
 * them all. Those of a wait are looked for once.
 */
#include "runtime/coordination/client/agent_private.h"

#include <stdlib.h>
#include <string.h>

static struct jd_agent_stand *find_stand(struct jd_agent *agent, uint64_t wait)
{
    for (int i = 0; i < agent->num_stands; i++)
        if (agent->stands[i].wait == wait)
            return &agent->stands[i];
    return NULL;
}

void jd__agent_standing_forget(struct jd_agent *agent)
{
    for (int i = 0; i < agent->num_stands; i++)
        free(agent->stands[i].call);
    agent->num_stands = 0;
}

/* What is known of those that still stand is kept. */
bool jd__agent_standing_look(struct jd_agent *agent)
{
    uint64_t waits[JD_STANDING_MOST], calls[JD_STANDING_MOST];
    struct jd_agent_stand now[JD_STANDING_MOST];
    int count = jd__standing_list(waits, calls);
    if (count < 2 || !agent->spec.describe_call)
        return false;
    for (int i = 0; i < count; i++) {
        struct jd_agent_stand *known = find_stand(agent, waits[i]);
        now[i].wait = waits[i];
        now[i].call = known ? known->call : agent->spec.describe_call(calls[i]);
        if (known)
            known->call = NULL;
    }
    jd__agent_standing_forget(agent);
    memcpy(agent->stands, now, (size_t)count * sizeof *now);
    agent->num_stands = count;
    return true;
}
