/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quota.c - how much of the store one process may fill: its memory is process
 * 0's, and with it goes the job.
 */
#include "base/key_text.h"
#include "base/text.h"
#include "runtime/coordination/server/service_private.h"

#include <stdlib.h>

/* Helpers speak for many processes: all of them together have as much as all
 * processes may. */
static size_t owner_of(const struct jd_service *service,
                       const struct jd_connection *connection)
{
    return (size_t)(connection->member ? connection->member->index
                                       : service->count);
}

static size_t most_of(const struct jd_service *service,
                      const struct jd_connection *connection)
{
    size_t count = connection->member ? 1 : (size_t)service->count;
    return service->max_store <= SIZE_MAX / count ? service->max_store * count
                                                  : SIZE_MAX;
}

void jd__quota_begin(struct jd_service *service,
                     const struct jd_connection *connection)
{
    jd__store_act_for(service->store, owner_of(service, connection),
                      most_of(service, connection));
}

static void print_owner(FILE *out, const struct jd_connection *connection)
{
    if (connection->member)
        fprintf(out, "process %d has", connection->member->index);
    else
        fputs("the hosts' jd-pmix-servers have", out);
}

void jd__quota_refuse(struct jd_service *service,
                      struct jd_connection *connection, uint64_t id,
                      ProtobufCBinaryData key, size_t value)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out) {
        jd__key_text_print(out, key);
        fprintf(out, " with its %zu bytes has no room: ", value);
        print_owner(out, connection);
        fprintf(out,
                " stored %zu bytes (with the keys, and %d for each) of the %zu "
                "of JD_MAX_STORE on process 0; delete what is not needed any "
                "more, or raise JD_MAX_STORE",
                jd__store_owned(service->store, owner_of(service, connection)),
                (int)JD_STORE_ITEM, most_of(service, connection));
    }
    char *text = jd__text_end(&written);
    jd__service_reply(service, connection, id, JD_RESOURCE_EXHAUSTED, "%s",
                      text ? text : "JD_MAX_STORE is reached");
    free(text);
}
