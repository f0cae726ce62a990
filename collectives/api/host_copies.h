/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_copies.h - the buffers of a call that computes on the host, where the
 * shard's device is a GPU: what the host cannot touch is copied there and back.
 *
 *     struct jd_host_copies copies;
 *     jd__host_copies_begin(&copies, shard, "jd_scan");
 *     call.in = jd__host_copies_in(&copies, in, bytes);
 *     call.out = jd__host_copies_out(&copies, out, bytes);
 *     if (copies.status == JD_OK)
 *         ... the call, by which out is written ...
 *     status = jd__host_copies_end(&copies, status);
 *
 * On the cpu's devices buffers are used where they are, and nothing is done.
 * Threads: any; a struct belongs to one.
 */
#ifndef COLLECTIVES_API_HOST_COPIES_H
#define COLLECTIVES_API_HOST_COPIES_H

#include "collectives/mesh/shard.h"

#include <stdbool.h>
#include <stddef.h>

enum { JD_HOST_COPIES = 4 };

struct jd_host_copies {
    const char *operation; /* for sentences */
    jd_status status;      /* the first failure */
    int count;
    struct jd_host_copy {
        void *host, *apart;
        size_t bytes;
        bool is_out;
    } copies[JD_HOST_COPIES];
};

/* Waits until what is queued on the shard's stream is done, with its deadline;
 * where it has none it does nothing. */
void jd__host_copies_begin(struct jd_host_copies *copies,
                           const struct jd_shard *shard, const char *operation);

/* The buffer, or a copy of it that the host can read. NULL stays NULL, and is
 * the answer after a failure. */
const void *jd__host_copies_in(struct jd_host_copies *copies,
                               const void *buffer, size_t bytes);

/* The buffer, or memory that goes to it at the end. */
void *jd__host_copies_out(struct jd_host_copies *copies, void *buffer,
                          size_t bytes);

/* Brings what is out back, where status is JD_OK, and frees. Gives status, or
 * the first failure: RESOURCE_EXHAUSTED, and as jd_device_copy(). */
jd_status jd__host_copies_end(struct jd_host_copies *copies, jd_status status);

#endif
