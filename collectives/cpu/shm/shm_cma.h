/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_cma.h - another member's buffer as it can be read from here: mapped,
 * or in a process whose memory the system lets this one read.
 *
 *     struct jd_sight in = jd__sight_of(team, member, place, address, bytes);
 *     status = jd__sight_copy(team, in, offset, pitch, &to);
 *
 * Threads: as shm.h.
 */
#ifndef COLLECTIVES_CPU_SHM_SHM_CMA_H
#define COLLECTIVES_CPU_SHM_SHM_CMA_H

#include "collectives/cpu/shm/shm.h"
#include "collectives/cpu/shm/shm_block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_sight {
    uint64_t data; /* an address; 0: cannot be seen */
    int pid;       /* in whose memory that is; 0: in this process's */
    int member;
};

/* Lets the others find out whether they can read this member; shm.c's. */
void jd__sight_publish(struct jd_team *team);

/*
 * Finds out, once per team, whether this member may read the others' private
 * memory, and tells them: yama, seccomp, a namespace of processes, or a process
 * that may not be dumped can forbid it. To be called now and then until it is
 * known of all; a flag, then.
 */
void jd__sight_try(struct jd_team *team);

/* Whether all other members can read this one's private memory, and faster
 * than a stream of that length goes through bounce memory. */
bool jd__sight_is_free(struct jd_team *team, size_t bytes);

/* member's buffer of that length: at place where that is not JD_PLACE_PRIVATE,
 * else at address in its process. */
struct jd_sight jd__sight_of(const struct jd_team *team, int member,
                             uint64_t place, uint64_t address, size_t bytes);

/*
 * Copies rows, the first of which is offset after the sight's data and the next
 * ones pitch apart, to a block of as many.
 * Returns: JD_OK; INTERNAL where member told of a buffer that is not in its
 *   memory; UNAVAILABLE naming the process, where that cannot be read any more.
 *   Then all members have to give up.
 */
jd_status jd__sight_copy(struct jd_team *team, struct jd_sight sight,
                         size_t offset, size_t pitch,
                         const struct jd_block *to);

/* For measuring: shorter streams are not read out of other processes. */
extern size_t jd__sight_shortest;

#endif
