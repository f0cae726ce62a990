/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array_agree.h - how the processes of one or two shardings come to a call:
 * they see that they mean the same, and give each other small records.
 *
 *     struct jd_agree_list *agree;
 *     struct jd_invited invited = { .a = sharding, .extra = -1 };
 *     status = jd__array_agree_enter("jd_device_put", &invited, &agree);
 *     if (status != JD_OK || !agree)
 *         return status;                            not one of them
 *     status = jd__array_agree_share(agree, status, "F32[8]", &own,
 *                                  sizeof own, all);
 *     ... all[i] is of agree->processes[i] ...
 *     return jd__array_agree_leave(agree, status);
 *
 * Messages go by MPI, with no memory of a device and no communicator; one share
 * is some 10 us. What has been opened for a list of processes is kept for the
 * next call among them.
 *
 * Collective: all processes of the list, the same calls in the same order.
 * Blocks: share, with the collective deadline. After a failure that leaves
 *   processes out of step each later call of any list is ABORTED.
 * Threads: one at a time.
 */
#ifndef ARRAYS_ARRAY_ARRAY_AGREE_H
#define ARRAYS_ARRAY_ARRAY_AGREE_H

#include "arrays/sharding/sharding.h"
#include "collectives/mesh/agree_list.h"

#include <stddef.h>

/* Who: every process that has a device in one of the meshes. */
struct jd_invited {
    const jd_sharding *a;
    const jd_sharding *b; /* NULL: only a's */
    int extra;            /* one process more; -1: none */
};

/*
 * Begins the call. ret_list is NULL where this process is none of them;
 * then there is nothing to share and nothing to leave. operation stays for
 * ever.
 * Returns: JD_OK; ABORTED after a failure; RESOURCE_EXHAUSTED; what
 *   jd__runtime_get says.
 */
jd_status jd__array_agree_enter(const char *operation,
                                const struct jd_invited *invited,
                                struct jd_agree_list **ret_list);

/*
 * Everybody gives a record of the same size (0 is allowed), and gets all, in
 * the order of the list. status is with which this process comes: what it has
 * failed in alone, so that nobody waits for it. what describes the call in
 * some words, the same on all.
 * Returns: JD_OK; the status of the lowest process that came with one;
 *   INVALID_ARGUMENT on all where operations, words or sizes differ, naming
 *   two processes and what each calls; the failures of a wait.
 */
jd_status jd__array_agree_share(struct jd_agree_list *list, jd_status status,
                                const char *what, const void *own, size_t bytes,
                                void *all);

/* The end of each call that entered, whatever came of it. Returns status. */
jd_status jd__array_agree_leave(struct jd_agree_list *list, jd_status status);

#endif
