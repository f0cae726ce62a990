/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_cma.h - another member's buffer as it can be read from here: mapped,
 * or in a process whose memory the system lets this one read.
 *
 *     struct jd_shm_cma in = jd__shm_cma_of(group, member, place, address,
 * bytes); status = jd__shm_cma_copy(group, in, offset, pitch, &to);
 *
 * Threads: as shm.h.
 */
#ifndef COLLECTIVES_CPU_SHM_SHM_CMA_H
#define COLLECTIVES_CPU_SHM_SHM_CMA_H

#include "collectives/cpu/shm/shm.h"
#include "collectives/kernels/strided.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_shm_cma {
    uint64_t data; /* an address; 0: cannot be seen */
    int pid;       /* in whose memory that is; 0: in this process's */
    int member;
};

/* Lets the others find out whether they can read this member; shm.c's. */
void jd__shm_cma_publish(struct jd_shm_group *group);

/*
 * Finds out, once per group, whether this member may read the others' private
 * memory, and tells them: yama, seccomp, a namespace of processes, or a process
 * that may not be dumped can forbid it. To be called now and then until it is
 * known of all; a flag, then.
 */
void jd__shm_cma_try(struct jd_shm_group *group);

/* Whether all other members can read this one's private memory, and faster
 * than a stream of that length goes through bounce memory. */
bool jd__shm_cma_is_free(struct jd_shm_group *group, size_t bytes);

/* member's buffer of that length: at place where that is not JD_PLACE_PRIVATE,
 * else at address in its process. */
struct jd_shm_cma jd__shm_cma_of(const struct jd_shm_group *group, int member,
                                 uint64_t place, uint64_t address,
                                 size_t bytes);

/*
 * Copies rows, the first of which is offset after the buffer's data and the
 * next ones pitch apart, to a block of as many. Returns: JD_OK; INTERNAL where
 * member told of a buffer that is not in its memory; UNAVAILABLE naming the
 * process, where that cannot be read any more. Then all members have to give
 * up.
 */
jd_status jd__shm_cma_copy(struct jd_shm_group *group, struct jd_shm_cma cma,
                           size_t offset, size_t pitch,
                           const struct jd_strided *to);

/* For measuring: shorter streams are not read out of other processes. */
extern size_t jd__shm_cma_shortest;

#endif
