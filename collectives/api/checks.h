/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checks.h - what a public collective looks at before it communicates. A call
 * that is refused here has sent nothing and changed nothing.
 *
 *     struct jd_axis_comm *axis_comm;
 *     status = jd__checks_call(shard, axes, &call, 1, &axis_comm);
 *     if (status == JD_OK)
 *         status = jd__checks_buffers(&call, &(struct jd_buffers){ ... });
 *     if (status == JD_OK)
 *         status = jd__axis_comm_enter(axis_comm, &call, 0);
 */
#ifndef COLLECTIVES_API_CHECKS_H
#define COLLECTIVES_API_CHECKS_H

#include "collectives/mesh/shard.h"

#include <stdint.h>

/*
 * The shard, its axes, the type, and that `rows` rows of the count from every
 * member fit into an address space. Fills in the call's detail.
 * Returns: JD_OK; INVALID_ARGUMENT; FAILED_PRECONDITION for a mesh of an
 *   earlier world, or inside a group of sends and receives (but for these).
 */
jd_status jd__checks_call(jd_shard *shard, const char *axes,
                          struct jd_collective *call, size_t rows,
                          struct jd_axis_comm **ret_axis_comm);

/* The elements of a call's two buffers, and how they may overlap: not at all,
 * or only with in beginning `place` elements after out. rule says that in
 * words, as what to do. */
struct jd_buffers {
    size_t in;  /* 0: in is not read */
    size_t out; /* 0: out is not written */
    ptrdiff_t place;
    const char *rule;
};
#define JD_NO_PLACE PTRDIFF_MIN
#define JD_SAME_BUFFER "or the same buffer twice"

/* INVALID_ARGUMENT for a NULL buffer that has elements, and for an overlap. */
jd_status jd__checks_buffers(const struct jd_collective *call,
                             const struct jd_buffers *buffers);

/* UNIMPLEMENTED, of a call that the platform of GPUs has not, with the remedy;
 * else as jd__checks_host. */
jd_status jd__checks_cpu(const jd_shard *shard,
                         const struct jd_collective *call, const char *remedy);

/* UNIMPLEMENTED, of a call that computes on the host, where the shard's device
 * is a cpu's, and in or out is in the memory of a GPU. */
jd_status jd__checks_host(const jd_shard *shard,
                          const struct jd_collective *call);

/* The same of another buffer, called name in the sentence. */
jd_status jd__checks_host_buffer(const jd_shard *shard,
                                 const struct jd_collective *call,
                                 const char *name, const void *buffer);

/* INVALID_ARGUMENT where index, called name in the sentence, is no member. */
jd_status jd__checks_member(const struct jd_axis_comm *axis_comm,
                            const struct jd_collective *call, const char *name,
                            int index);

#endif
