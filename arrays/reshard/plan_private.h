/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_private.h - what the files that make a plan share.
 *
 *     plan.c          the order of things, and how many rounds
 *     plan_members.c  who takes part, and who gives what
 *     plan_kind.c     whether one collective does it all
 *     plan_pieces.c   what each device of this process sends and receives
 */
#ifndef ARRAYS_RESHARD_PLAN_PRIVATE_H
#define ARRAYS_RESHARD_PLAN_PRIVATE_H

#include "arrays/reshard/plan.h"

/* A device of the two shardings. */
struct jd_plan_member {
    const jd_device *device;
    int host;        /* a number */
    int from, to;    /* its places in the two meshes; -1: none */
    int process_end; /* members up to there are of the same process */
    int host_begin;  /* from there to host_end are of the same host */
    int host_end;
    int process_begin;
};

/* A sharding as it cuts the shape. */
struct jd_plan_side {
    const jd_sharding *sharding;
    int ways[JD_MAX_NDIM];
    int64_t size[JD_MAX_NDIM]; /* of a block */
    int replicas;              /* of each block */
    int *owners;               /* by block, then ascending: members */
};

struct jd_planning {
    const struct jd_plan_spec *spec;
    struct jd_plan *plan;
    struct jd_plan_side from, to;
    int num_members;
    struct jd_plan_member *members; /* by host, process, ordinal */
    int *order;    /* the member at each place of the plan's rows */
    int64_t count; /* elements of the array */
};

/* A block and the other side's blocks that meet it. */
struct jd_plan_grid {
    jd_range box[JD_MAX_NDIM];
    int first[JD_MAX_NDIM]; /* the lowest of the other's, in each dimension */
    int span[JD_MAX_NDIM];  /* how many */
    int64_t count;          /* elements */
    int64_t steps[JD_MAX_NDIM]; /* elements from one to the next */
    bool is_packed;             /* some of its pieces have gaps */
};

/* ---- members ------------------------------------------------------------ */

jd_status jd__plan_list_members(struct jd_planning *p);

/* For each block of the sides, who has it. */
jd_status jd__plan_list_owners(struct jd_planning *p);

/* Who gives that block of from to a member; rank counts all who get something
 * of it. */
int jd__plan_choose(const struct jd_planning *p, int block, int member,
                    int64_t rank);

/* ---- blocks ------------------------------------------------------------- */

/* In each dimension, the number of a block. */
void jd__plan_coordinates(const struct jd_plan_side *side, int ndim, int block,
                          int *ret_at);
int jd__plan_block(const struct jd_plan_side *side, int ndim, const int *at);
void jd__plan_box(const struct jd_planning *p, const struct jd_plan_side *side,
                  const int *at, jd_range *ret_box);

/* ---- kinds and pieces --------------------------------------------------- */

/* JD_PLAN_EXCHANGE where none of the others fits; those that are collectives
 * are written down whole. */
jd_status jd__plan_find_kind(struct jd_planning *p);

/* The pieces of this process's devices, for LOCAL and EXCHANGE. */
jd_status jd__plan_list_pieces(struct jd_planning *p);

#endif
