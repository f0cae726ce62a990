/* SPDX-License-Identifier: BSD-3-Clause */
/* inter_move.c - messages between members of different groups. */
#include "collectives/cpu/inter/inter_private.h"
#include "collectives/cpu/shm/shm_private.h"

jd_status jd__inter_post(struct jd_comm *comm, struct jd_inter_move *move,
                         struct jd_inter_end from, struct jd_inter_end to)
{
    jd_status status = JD_OK;
    move->requests[0] = move->requests[1] = MPI_REQUEST_NULL;
    move->from = from.bytes ? from.member : -1;
    move->bytes = from.bytes;
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

jd_status jd__inter_fail_length(const struct jd_comm *comm, int member,
                                int came, size_t wanted)
{
    return jd_fail(JD_INTERNAL,
                   "%s: %d bytes came from process %d (member %d), whose call "
                   "has %zu; messages between the two are out of step, and the "
                   "job should end; do all processes run the same version of "
                   "jd?",
                   jd__channel_operation(comm->wire), came,
                   comm->processes[member], member, wanted);
}

jd_status jd__inter_finish_any(struct jd_comm *comm, struct jd_inter_move *move)
{
    struct jd_wait *wait = jd__channel_next_wait(comm->wire);
    wait->came = move->came;
    jd_status status =
        jd__channel_wait_for(comm->wire, move->requests, move->ends, 2);
    wait->came = NULL;
    return status;
}

jd_status jd__inter_finish(struct jd_comm *comm, struct jd_inter_move *move)
{
    jd_status status = jd__inter_finish_any(comm, move);
    if (status != JD_OK || move->from < 0 ||
        (size_t)move->came[0] == move->bytes)
        return status;
    return jd__channel_note(
        comm->wire,
        jd__inter_fail_length(comm, move->from, move->came[0], move->bytes));
}

jd_status jd__inter_break(struct jd_comm *comm, jd_status status)
{
    return jd__shm_let_go(comm->group, status);
}
