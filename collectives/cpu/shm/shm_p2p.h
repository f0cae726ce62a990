/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_p2p.h - sends and receives between pairs of a group's members.
 *
 *     jd__shm_begin(group, "jd_group_end", detail);
 *     status = jd__shm_p2p_transfer(group, transfers, count);
 *
 * No meeting: a transfer concerns its two members alone, while the others may
 * be in a collective. Each member has a box for every other one, in its own
 * segment, and writes to its own alone:
 *   send_descs  the sender's: what it sends, and where that is
 *   recv_descs  the receiver's: what it expects
 *   a ring      bytes from this member to that one, which the receiver cannot
 *               read where they are
 * The transfers of an ordered pair are numbered. Both members compare the
 * two descriptions of a number, and come to the same answer; short data are in
 * the sender's, and a sender is free as soon as it sees that it is expected.
 * What its receiver reads straight it guards until the receiver says that it
 * is done.
 *
 * A short send that is alone in its call is left: its data are in the box or
 * the ring, and its sender returns. Eight at most lie there, or 64 of up to 24
 * bytes. The receiver alone compares; where they do not match it leaves a
 * complaint, with what both said, and the sender's next transfer with it says
 * so. What a member left is there after its end is destroyed, and not after it
 * has given up.
 *
 * Threads and failures: as shm.h.
 */
#ifndef COLLECTIVES_CPU_SHM_SHM_P2P_H
#define COLLECTIVES_CPU_SHM_SHM_P2P_H

#include "collectives/cpu/shm/shm.h"
#include "collectives/platform/platform.h"

#include <stddef.h>

/* This end's part of it; shm.c's. */
struct jd_shm_p2p;

/* NULL where there is no memory. */
struct jd_shm_p2p *jd__shm_p2p_create(int group_size);
void jd__shm_p2p_destroy(struct jd_shm_p2p *p2p);

/* What the boxes of a member need, after the rest of its segment. */
size_t jd__shm_p2p_size(int group_size);

/* Makes every word that another member may wait for JD_SHM_REVOKED. */
void jd__shm_p2p_revoke(struct jd_shm_group *group);

/*
 * platform.h's transfer inside a group: all of them proceed, whatever their
 * order in the list.
 * Returns: JD_OK; INVALID_ARGUMENT naming the first pair that does not match,
 *   also on its other member, once all others are done; as jd__shm_await_all.
 */
jd_status jd__shm_p2p_transfer(struct jd_shm_group *group,
                               const struct jd_transfer *transfers, int count);

#endif
