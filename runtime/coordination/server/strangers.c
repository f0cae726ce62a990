/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strangers.c - connections that have not shown who they are: so many and no
 * more, those that were refused and still close among them.
 *
 * Whoever comes is heard, and one of the others goes. Of those who have had
 * time to speak it is the oldest. Where a flood leaves nobody that time, chance
 * decides: the oldest would be gone each time before it could answer, and with
 * it each of the job's own processes.
 */
#include "runtime/coordination/server/service_private.h"

#include <math.h>
#include <sodium.h>

#define STRANGER_SECONDS 5.0 /* to say who one is, from the connection on */
#define QUIET_SECONDS 0.5    /* who says nothing so long is not in a hurry */
#define CANDIDATES 64        /* of a list, so that choosing takes no time */
#define TOLD_SECONDS 0.01    /* from one that hears why it goes to the next */

/* ---- who goes ----------------------------------------------------------- */

static void drop_stranger(struct jd_service *service,
                          struct jd_connection *connection)
{
    void *peer = connection->peer;
    jd__service_connection_destroy(service, connection);
    service->hooks->drop(peer);
}

static struct jd_connection *
nth_connection(const struct jd_connection_list *list, uint32_t n)
{
    struct jd_connection *connection = list->first;
    while (n--)
        connection = connection->next;
    return connection;
}

static uint32_t count_candidates(const struct jd_connection_list *list)
{
    return (uint32_t)(list->count < CANDIDATES ? list->count : CANDIDATES);
}

/* NULL: nobody but the newcomer, which is the last of the strangers, or those
 * that munge is asked about already. */
static struct jd_connection *choose_victim(const struct jd_service *service,
                                           const struct jd_connection *newcomer)
{
    struct jd_connection *oldest = service->strangers.first;
    if (oldest && oldest != newcomer &&
        service->now - oldest->accepted_at >= QUIET_SECONDS)
        return oldest;
    uint32_t silent = count_candidates(&service->strangers);
    uint32_t queued = count_candidates(&service->queued);
    if (newcomer && service->strangers.count <= CANDIDATES)
        silent--;
    if (silent + queued == 0)
        return service->vouching.first;
    uint32_t n = randombytes_uniform(silent + queued);
    return n < silent ? nth_connection(&service->strangers, n)
                      : nth_connection(&service->queued, n - silent);
}

static int count_strangers(const struct jd_service *service)
{
    return service->strangers.count + service->queued.count +
           service->vouching.count + service->refused.count;
}

/* Of a flood few hear why they go: to tell one costs as much as to let it come,
 * and all of them would take the processor from the job. */
static void tell_why(struct jd_service *service,
                     struct jd_connection *connection, int allowed)
{
    if (connection->state == JD_CONNECTION_ENDED ||
        service->now < service->stranger_told + TOLD_SECONDS)
        return;
    service->stranger_told = service->now;
    jd__greet_refuse(service, connection, JD_RESOURCE_EXHAUSTED,
                     "more than %d connections have not shown yet who they "
                     "are, and it is one of them; it may come again",
                     allowed);
}

void jd__strangers_make_room(struct jd_service *service,
                             const struct jd_connection *newcomer)
{
    int allowed =
        JD_SERVICE_STRANGERS + service->count - service->tally.connected;
    while (count_strangers(service) > allowed) {
        struct jd_connection *connection = service->refused.first;
        if (!connection && !(connection = choose_victim(service, newcomer)))
            return;
        tell_why(service, connection, allowed);
        drop_stranger(service, connection);
    }
}

bool jd__strangers_shed(struct jd_service *service, double now)
{
    service->now = now;
    struct jd_connection *connection = service->refused.first;
    if (!connection)
        connection = choose_victim(service, NULL);
    if (connection)
        drop_stranger(service, connection);
    return connection != NULL;
}

/* ---- their time --------------------------------------------------------- */

/* The list is by age. */
static double end_slow(struct jd_service *service,
                       struct jd_connection_list *list)
{
    struct jd_connection *connection;
    while ((connection = list->first)) {
        double end = connection->accepted_at + STRANGER_SECONDS;
        if (service->now < end)
            return end;
        jd__greet_refuse(service, connection, JD_DEADLINE_EXCEEDED,
                         "it has not said who it is in %g s", STRANGER_SECONDS);
    }
    return INFINITY;
}

double jd__strangers_end_slow(struct jd_service *service)
{
    double next = end_slow(service, &service->strangers);
    return fmin(next, end_slow(service, &service->vouching));
}
