/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h - what has to move when an array gets another sharding, as far as one
 * process takes part in it. No communication: every process works out the same.
 *
 *     struct jd_plan *plan;
 *     status = jd__plan_create(&spec, &plan);
 *     ... plan->kind, plan->devices[i].receives[k].index ...
 *     jd__plan_destroy(plan);
 *
 * Each device that gets a block takes each part of it from one of those that
 * have it: from itself, else from its process, else from its host, else they
 * take turns. Who, is found by dividing coordinates: a plan costs what the
 * blocks of this process meet, not what all do.
 *
 * What is packed or unpacked lies behind each other in the order of the blocks
 * that it comes from or goes to, so that both ends of a piece know where it is
 * without asking. With several rounds, each moves the same share of each piece.
 *
 * Threads: immutable once made.
 */
#ifndef ARRAYS_RESHARD_PLAN_H
#define ARRAYS_RESHARD_PLAN_H

#include "arrays/sharding/sharding.h"

struct jd_plan_spec {
    const char *operation; /* for sentences */
    const jd_sharding *from, *to;
    int ndim;
    const int64_t *shape; /* that both allow */
    size_t element;       /* bytes */
    size_t memory;        /* bytes that a device may use beside the arrays */
    bool packs;  /* old blocks are no devices' memory: nothing goes from them
                  * unpacked */
    int process; /* this one */
};

/* How it is done; the same on every process. */
enum jd_plan_kind {
    JD_PLAN_LOCAL,    /* every device has it, or there is one process */
    JD_PLAN_SWAP,     /* one dimension's cut goes to another: all_to_all_2d */
    JD_PLAN_GATHER,   /* one dimension is cut less: all_gather_2d */
    JD_PLAN_PERMUTE,  /* blocks change place whole: ppermute */
    JD_PLAN_EXCHANGE, /* pieces: ragged_all_to_all */
};

/* Where a piece is in a device's memory, in elements. */
struct jd_spot {
    bool is_packed; /* or in its block */
    int64_t at;     /* before it */
    int64_t number; /* pieces before it */
};

struct jd_piece {
    const jd_range *index; /* of the array */
    int64_t count;
    struct jd_spot spot;
    int source; /* received from that member, copied from that shard of this
                 * process's old blocks; sent: -1 */
};

/* A piece that goes to a member, and where it goes there. */
struct jd_send {
    int piece; /* of the device's sent ones */
    int member;
    struct jd_spot spot;
};

/* What a device of this process does. */
struct jd_plan_device {
    int member;
    int from, to;        /* its shards of the two arrays; -1: it has none */
    bool keeps;          /* its new block is its old one */
    bool packs, unpacks; /* or sends from, receives into, its block */
    int64_t pack_count;  /* elements of one round, at most */
    int64_t unpack_count;
    int num_copies, num_sent, num_sends, num_receives;
    struct jd_piece *receives; /* from others */
    struct jd_piece *copies;   /* from old blocks of this process; behind the
                                * receives */
    struct jd_piece *sent;     /* each once, however many get it */
    struct jd_send *sends;
    jd_range *received_ranges, *sent_ranges; /* the pieces' */
};

struct jd_plan {
    enum jd_plan_kind kind;
    int ndim;
    int rounds;
    uint64_t digest; /* of what it is for */

    /* The devices of both shardings, in rows of group_size: the collectives
     * are along a row. */
    int num_members;
    const jd_device **members;
    int group_size;

    int split, concat; /* SWAP: the dimensions; GATHER: concat */
    struct jd_route *routes;
    int num_routes;

    int num_devices; /* of this process */
    struct jd_plan_device *devices;
};

/*
 * Returns: JD_OK; UNIMPLEMENTED naming both platforms, where they differ;
 *   RESOURCE_EXHAUSTED.
 */
jd_status jd__plan_create(const struct jd_plan_spec *spec,
                          struct jd_plan **ret_plan);
void jd__plan_destroy(struct jd_plan *plan);

/* Of all in spec that has to be the same on every process. */
uint64_t jd__plan_digest(const struct jd_plan_spec *spec);

/* The first element of a piece's share in a round; count in the round after
 * the last one. */
int64_t jd__plan_share(int64_t count, int round, int rounds);

/* Where that share is in the device's memory: begin is the share's first. */
int64_t jd__plan_place(const struct jd_spot *spot, int64_t begin, int rounds);

#endif
