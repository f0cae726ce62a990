/* SPDX-License-Identifier: BSD-3-Clause */
/* inter_posts.c - messages between teams that are under way together. */
#include "collectives/cpu/inter/inter_private.h"
#include "collectives/cpu/shm/shm_private.h"

#include <stdlib.h>

bool jd__between_make_posts(struct jd_posts *posts, int capacity)
{
    posts->requests = calloc((size_t)capacity, sizeof *posts->requests);
    posts->processes = calloc((size_t)capacity, sizeof *posts->processes);
    return posts->requests && posts->processes;
}

void jd__between_free_posts(struct jd_posts *posts)
{
    free(posts->requests);
    free(posts->processes);
}

jd_status jd__between_post(struct jd_clique *clique, struct jd_posts *posts,
                           int from, void *target, size_t in_bytes, int to,
                           const void *source, size_t out_bytes)
{
    jd_status status = JD_OK;
    if (in_bytes) {
        posts->processes[posts->count] = clique->processes[from];
        status = jd__group_start_receive(clique->wire, from, target, in_bytes,
                                         &posts->requests[posts->count]);
        posts->count += status == JD_OK;
    }
    if (out_bytes && status == JD_OK) {
        posts->processes[posts->count] = clique->processes[to];
        status = jd__group_start_send(clique->wire, to, source, out_bytes,
                                      &posts->requests[posts->count]);
        posts->count += status == JD_OK;
    }
    return status;
}

jd_status jd__between_finish(struct jd_clique *clique, struct jd_posts *posts)
{
    jd_status status = jd__group_wait_for(clique->wire, posts->requests,
                                          posts->processes, posts->count);
    if (status == JD_OK)
        posts->count = 0;
    return status;
}

jd_status jd__between_break(struct jd_clique *clique, jd_status status)
{
    return jd__team_let_go(clique->team, status);
}
