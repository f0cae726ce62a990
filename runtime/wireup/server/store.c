/* SPDX-License-Identifier: BSD-3-Clause */
/* store.c - Set, Get, Increment and Delete as calls. */
#include "runtime/wireup/server/store.h"
#include "runtime/coordination/client/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "\0jd/wireup/"
enum { PREFIX_SIZE = sizeof PREFIX - 1 };

void store_key(struct store_key *key, const char *format, ...)
{
    va_list args;
    memcpy(key->bytes, PREFIX, PREFIX_SIZE);
    va_start(args, format);
    int length = vsnprintf(key->bytes + PREFIX_SIZE,
                           sizeof key->bytes - PREFIX_SIZE, format, args);
    va_end(args);
    key->size = PREFIX_SIZE + (length > 0 ? (size_t)length : 0);
    if (key->size > sizeof key->bytes - 1)
        key->size = sizeof key->bytes - 1;
}

static ProtobufCBinaryData key_bytes(const struct store_key *key)
{
    return jd__wire_bytes(key->bytes, key->size);
}

/* ---- set ---------------------------------------------------------------- */

/* A Set of one entry; its parts point to each other. */
struct setting {
    Jd__Set body;
    Jd__Entry entry, *entries;
};

static void fill_set(struct setting *set, const struct store_key *key,
                     const void *data, size_t size)
{
    jd__set__init(&set->body);
    jd__entry__init(&set->entry);
    set->entry.key = key_bytes(key);
    set->entry.value = jd__wire_bytes(data, size);
    set->entries = &set->entry;
    set->body.entries = &set->entries;
    set->body.n_entries = 1;
    set->body.overwrite = true;
}

jd_status store_set(struct jd_agent *agent, const struct store_key *key,
                    const void *data, size_t size)
{
    struct setting set;
    struct jd_call call = { .operation = "jd-pmix-server: set" };
    char detail[sizeof key->bytes + 4];
    snprintf(detail, sizeof detail, " of %s", key->bytes + 1);
    call.detail = detail;
    fill_set(&set, key, data, size);
    jd__call_init(&call, JD__MESSAGE__BODY_SET, &set.body);
    jd_status status = jd__agent_call(agent, &call);
    jd__call_finish(&call);
    return status;
}

bool store_tell(struct jd_agent *agent, const struct store_key *key,
                const void *data, size_t size)
{
    Jd__Message message = JD__MESSAGE__INIT;
    struct setting set;
    fill_set(&set, key, data, size);
    message.body_case = JD__MESSAGE__BODY_SET;
    message.set = &set.body;
    return jd__agent_tell(agent, &message);
}

/* ---- get, count, forget ------------------------------------------------- */

jd_status store_get(struct jd_agent *agent, const struct store_key *keys,
                    size_t count, double timeout, struct jd_call *ret_call)
{
    Jd__Get body = JD__GET__INIT;
    struct jd_call call = { .operation = "jd-pmix-server: get",
                            .timeout = timeout,
                            .variable = "JD_INITIALIZATION_TIMEOUT" };
    body.keys = malloc(count * sizeof *body.keys);
    if (!body.keys)
        return jd__fail_no_memory("jd-pmix-server: get",
                                  count * sizeof *body.keys);
    for (size_t i = 0; i < count; i++)
        body.keys[i] = key_bytes(&keys[i]);
    body.n_keys = count;
    jd__call_init(&call, JD__MESSAGE__BODY_GET, &body);
    call.request.timeout_ms = timeout < 0 ? -1 : (int64_t)(1e3 * timeout);
    jd_status status = jd__agent_call(agent, &call);
    free(body.keys);
    if (status != JD_OK)
        return status;
    if (call.reply->n_entries != count) {
        jd__call_finish(&call);
        return jd_fail(JD_INTERNAL,
                       "jd-pmix-server: get: the reply has not one value for "
                       "each of %zu keys",
                       count);
    }
    *ret_call = call;
    return JD_OK;
}

jd_status store_count(struct jd_agent *agent, const struct store_key *key,
                      int64_t *ret_number)
{
    Jd__Increment body = JD__INCREMENT__INIT;
    struct jd_call call = { .operation = "jd-pmix-server: increment" };
    body.key = key_bytes(key);
    body.by = 1;
    jd__call_init(&call, JD__MESSAGE__BODY_INCREMENT, &body);
    jd_status status = jd__agent_call(agent, &call);
    if (status == JD_OK)
        *ret_number = call.reply->number;
    jd__call_finish(&call);
    return status;
}

void store_forget(struct jd_agent *agent, const struct store_key *key)
{
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Delete body = JD__DELETE__INIT;
    body.key = key_bytes(key);
    message.body_case = JD__MESSAGE__BODY_DELETE;
    message.delete_ = &body;
    jd__agent_tell(agent, &message);
}
