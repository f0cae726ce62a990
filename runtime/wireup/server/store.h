/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.h - the key-value store of the coordination service, for the servers:
 * their keys begin with a NUL byte, where no program's keys are.
 *
 *     struct store_key key;
 *     store_key(&key, "env/%u", process);       "\0jd/wireup/env/3"
 *     store_set(agent, &key, data, size);
 *     store_get(agent, &key, 1, -1, &call);     call.reply->entries[0]->value
 *     jd__call_finish(&call);
 *
 * Threads: any but the loop's.
 */
#ifndef RUNTIME_WIREUP_SERVER_STORE_H
#define RUNTIME_WIREUP_SERVER_STORE_H

#include "runtime/coordination/client/agent.h"
#include "runtime/coordination/client/call.h"

struct store_key {
    char bytes[160];
    size_t size;
};

__attribute__((format(printf, 2, 3))) void store_key(struct store_key *key,
                                                     const char *format, ...);

/* Overwrites. Returns as jd__agent_call. */
jd_status store_set(struct jd_agent *agent, const struct store_key *key,
                    const void *data, size_t size);
/* The same without waiting for a reply; false where it cannot be sent. */
bool store_tell(struct jd_agent *agent, const struct store_key *key,
                const void *data, size_t size);

/* Waits at most timeout seconds (negative: none) until all keys are there. The
 * reply is the caller's, after JD_OK. */
jd_status store_get(struct jd_agent *agent, const struct store_key *keys,
                    size_t count, double timeout, struct jd_call *ret_call);

/* The next number of a key: 1, 2, 3, ... */
jd_status store_count(struct jd_agent *agent, const struct store_key *key,
                      int64_t *ret_number);

/* Without waiting: the key and all under it. */
void store_forget(struct jd_agent *agent, const struct store_key *key);

#endif
