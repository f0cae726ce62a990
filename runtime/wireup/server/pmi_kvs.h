/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_kvs.h - what the processes have put by PMI: a host's own since the
 * last barrier, as text for the other hosts, and all that is known.
 *
 *     pmi_kvs_put(&kvs, "bc-0", "#ip$10.0.0.1$");
 *     ... kvs.fresh goes to the other hosts at a barrier ...
 *     pmi_kvs_merge(&kvs, data, size);
 *     value = pmi_kvs_get(&kvs, "bc-7");
 *
 * Threads: one at a time.
 */
#ifndef RUNTIME_WIREUP_SERVER_PMI_KVS_H
#define RUNTIME_WIREUP_SERVER_PMI_KVS_H

#include "runtime/coordination/net/wire.h"

#include <stdbool.h>

/* What MPI may send, and is told, with the NUL. */
enum { PMI_NAME_MOST = 256, PMI_KEY_MOST = 64, PMI_VALUE_MOST = 4096 };

struct pmi_kvs {
    void *tree;            /* of all entries, by key */
    struct jd_bytes fresh; /* "key=value\n" of each put since it was taken */
};

/* Replaces. False without memory, or where the key is empty or has a '=', a
 * blank or a newline in it. */
bool pmi_kvs_put(struct pmi_kvs *kvs, const char *key, const char *value);

/* As put, but not for other hosts. */
bool pmi_kvs_know(struct pmi_kvs *kvs, const char *key, const char *value);

/* Knows what other hosts' fresh says. False without memory, or where it is no
 * such text. */
bool pmi_kvs_merge(struct pmi_kvs *kvs, const void *data, size_t size);

/* NULL: nobody has put it. Until the key's next put. */
const char *pmi_kvs_get(const struct pmi_kvs *kvs, const char *key);

void pmi_kvs_finish(struct pmi_kvs *kvs);

#endif
