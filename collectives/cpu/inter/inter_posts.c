/* SPDX-License-Identifier: BSD-3-Clause */
/* inter_posts.c - messages between groups that are under way together. */
#include "collectives/cpu/inter/inter_private.h"
#include "collectives/cpu/shm/shm_private.h"

#include <stdlib.h>

bool jd__inter_make_posts(struct jd_posts *posts, int capacity)
{
    posts->requests = calloc((size_t)capacity, sizeof *posts->requests);
    posts->processes = calloc((size_t)capacity, sizeof *posts->processes);
    return posts->requests && posts->processes;
}

void jd__inter_free_posts(struct jd_posts *posts)
{
    free(posts->requests);
    free(posts->processes);
}

jd_status jd__inter_post(struct jd_comm *comm, struct jd_posts *posts, int from,
                         void *target, size_t in_bytes, int to,
                         const void *source, size_t out_bytes)
{
    jd_status status = JD_OK;
    if (in_bytes) {
        posts->processes[posts->count] = comm->processes[from];
        status = jd__channel_start_receive(comm->wire, from, target, in_bytes,
                                           &posts->requests[posts->count]);
        posts->count += status == JD_OK;
    }
    if (out_bytes && status == JD_OK) {
        posts->processes[posts->count] = comm->processes[to];
        status = jd__channel_start_send(comm->wire, to, source, out_bytes,
                                        &posts->requests[posts->count]);
        posts->count += status == JD_OK;
    }
    return status;
}

jd_status jd__inter_finish(struct jd_comm *comm, struct jd_posts *posts)
{
    jd_status status = jd__channel_wait_for(comm->wire, posts->requests,
                                            posts->processes, posts->count);
    if (status == JD_OK)
        posts->count = 0;
    return status;
}

jd_status jd__inter_break(struct jd_comm *comm, jd_status status)
{
    return jd__shm_let_go(comm->group, status);
}
