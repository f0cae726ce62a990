/* SPDX-License-Identifier: BSD-3-Clause */
/* inter_move.c - messages between members of different groups. */
#include "collectives/cpu/inter/inter_private.h"
#include "collectives/cpu/shm/shm_private.h"

jd_status jd__inter_post(struct jd_comm *comm, struct jd_inter_move *move,
                         struct jd_inter_end from, struct jd_inter_end to)
{
    jd_status status = JD_OK;
    move->requests[0] = move->requests[1] = MPI_REQUEST_NULL;
    move->ends[0] = move->ends[1] = jd__channel_end(comm->wire, comm->index);
    if (from.member >= 0 && from.bytes) {
        status = jd__channel_start_receive(comm->wire, from.member, from.data,
                                           from.bytes, &move->requests[0],
                                           &move->ends[0]);
    }
    if (to.member >= 0 && to.bytes && status == JD_OK) {
        status =
            jd__channel_start_send(comm->wire, to.member, to.data, to.bytes,
                                   &move->requests[1], &move->ends[1]);
    }
    return status;
}

jd_status jd__inter_finish(struct jd_comm *comm, struct jd_inter_move *move)
{
    return jd__channel_wait_for(comm->wire, move->requests, move->ends, 2);
}

jd_status jd__inter_break(struct jd_comm *comm, jd_status status)
{
    return jd__shm_let_go(comm->group, status);
}
