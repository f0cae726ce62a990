/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * circle_search.h - a circle among who waits for whom, as processes have told
 * it (blocked.c) and as the service sees it at barriers. What is found is but a
 * suspicion: what was told may be over (circles.c).
 *
 *     jd__circle_search_begin(&path, service);
 *     count = jd__circle_search_list(service, member, own);
 *     if (count && jd__circle_search_find(&path, &own[0]))
 *         steps[path.first .. path.end) is a circle, ... path.count) hold it
 *
 * A thread waits for processes; one of those that cannot come is enough that it
 * waits in vain. A process cannot come where each of its threads waits in vain.
 * Threads: the service's.
 */
#ifndef RUNTIME_COORDINATION_SERVER_CIRCLE_SEARCH_H
#define RUNTIME_COORDINATION_SERVER_CIRCLE_SEARCH_H

#include "runtime/coordination/server/service_private.h"

#define JD_CIRCLE_STEPS 1024                  /* with those that hold others */
#define JD_CIRCLE_OWN (1 + JD_BLOCKED_OTHERS) /* waits of a process */

/* What a thread of a process waits for: one of the two, the other is NULL. */
struct jd_circle_step {
    struct jd_service_process *member;
    struct jd_blocked *blocked;
    const struct jd_pending_request *barrier;
    int number; /* among the waits of its process */
    /* Of those that hold others: it is being looked at, and so many ways to
     * other calls were on the way to it. */
    bool is_open;
    int ways;
};

/* One way through who waits for whom. */
struct jd_circle_path {
    struct jd_service *service;
    struct jd_circle_step steps[JD_CIRCLE_STEPS];
    int first;      /* of those in the circle; the way may lead to it */
    int end;        /* behind the last of them */
    int count;      /* with what holds the other waits of their processes */
    int ways;       /* to other calls, on the way to what is looked at now */
    int depth;      /* of that way */
    int looked;     /* at processes */
};

/* What earlier ones found is forgotten. */
void jd__circle_search_begin(struct jd_circle_path *path,
                             struct jd_service *service);

/* The member's waits, each as long as a notice takes; 0: one of its threads may
 * yet do what others wait for. Where one is at the service, what it told before
 * is over. */
int jd__circle_search_list(const struct jd_service *service,
                           struct jd_service_process *member,
                           struct jd_circle_step steps[JD_CIRCLE_OWN]);

/* Whether there is a circle that this step leads to. */
bool jd__circle_search_find(struct jd_circle_path *path,
                            const struct jd_circle_step *step);

/* Processes in the same call may wait for what is under way between them; of a
 * transfer nothing is. */
bool jd__circle_search_is_one_call(const struct jd_circle_step *from,
                                   const struct jd_circle_step *to);

#endif
