/* SPDX-License-Identifier: BSD-3-Clause */
/* exchange.c - the bytes of all hosts, through the store. */
#include "runtime/wireup/server/exchange.h"
#include "base/clock.h"
#include "runtime/coordination/client/call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_AT_ONCE = 256, FRAME_ROOM = 256 };

static void host_key(const struct host_exchange *exchange, size_t host,
                     struct store_key *key)
{
    store_key(key, "fence/%s/%llu/%zu", exchange->who,
              (unsigned long long)exchange->number, host);
}

static bool append_bytes(struct jd_bytes *all, const void *data, size_t size)
{
    uint8_t *at = size ? jd__wire_bytes_reserve(all, size) : NULL;
    if (at) {
        memcpy(at, data, size);
        all->end += size;
    }
    return at || !size;
}

static double seconds_left(const struct host_exchange *exchange)
{
    return isinf(exchange->deadline)
               ? -1
               : fmax(0.001, exchange->deadline - jd__clock_now());
}

static jd_status take_values(struct host_exchange *exchange,
                             const Jd__Reply *reply)
{
    for (size_t i = 0; i < reply->n_entries; i++) {
        ProtobufCBinaryData value = reply->entries[i]->value;
        if (!append_bytes(&exchange->all, value.data, value.len))
            return jd__fail_no_memory("a fence", value.len);
    }
    return JD_OK;
}

/* Of the hosts from first to before end. Where all together are too much for
 * one message, each half is asked for. */
static jd_status collect_hosts(struct host_exchange *exchange, size_t first,
                               size_t end)
{
    struct store_key keys[KEYS_AT_ONCE];
    struct jd_call call;
    size_t count = end - first;
    if (count <= KEYS_AT_ONCE) {
        for (size_t i = 0; i < count; i++)
            host_key(exchange, exchange->hosts[first + i], &keys[i]);
        jd_status status = store_get(exchange->serving->agent, keys, count,
                                     seconds_left(exchange), &call);
        if (status == JD_OK) {
            status = take_values(exchange, call.reply);
            jd__call_finish(&call);
            return status;
        }
        if (status != JD_RESOURCE_EXHAUSTED || count == 1)
            return status;
    }
    jd_status status = collect_hosts(exchange, first, first + count / 2);
    return status == JD_OK ? collect_hosts(exchange, first + count / 2, end)
                           : status;
}

static void forget_last(const struct host_exchange *exchange)
{
    struct store_key key;
    if (exchange->number < 2 ||
        exchange->serving->plan->host != exchange->hosts[0])
        return;
    store_key(&key, "fence/%s/%llu", exchange->who,
              (unsigned long long)exchange->number - 1);
    store_forget(exchange->serving->agent, &key);
}

/* Asks for the others' right behind its own, without waiting for a reply in
 * between: when the last host's bytes have come, process 0 may go on and end,
 * and the service with it. */
static jd_status exchange_data(struct host_exchange *exchange)
{
    const struct serving *serving = exchange->serving;
    struct store_key key;
    if (exchange->own_size + FRAME_ROOM > serving->max_message)
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "the processes of this host have published %zu bytes, "
                       "more than a message of %zu takes (JD_MAX_MESSAGE)",
                       exchange->own_size, serving->max_message);
    host_key(exchange, serving->plan->host, &key);
    store_tell(serving->agent, &key, exchange->own, exchange->own_size);
    return collect_hosts(exchange, 0, exchange->num_hosts);
}

jd_status exchange_run(struct host_exchange *exchange)
{
    jd_status status = exchange_data(exchange);
    if (status == JD_OK)
        forget_last(exchange);
    else
        jd__wire_bytes_finish(&exchange->all);
    return status;
}

void exchange_finish(struct host_exchange *exchange)
{
    jd__wire_bytes_finish(&exchange->all);
    free(exchange->hosts);
    free(exchange->own);
}
