/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * owners.h - which processes hold which blocks of a sharding, and which part
 * of each of them every one gives away: processes that hold the same block
 * give a part of it each, as long as the others'.
 *
 *     struct jd_owners owners;
 *     status = jd__owners_find("jd_x", sharding, &owners);
 *     struct jd_cursor at = { 0 };
 *     while (jd__owners_next(&owners, array, member, &at, room, &range))
 *         ... elements [range.begin, range.begin + range.count) of the block
 *             whose index is range.index, as it lies in memory ...
 *     jd__owners_finish(&owners);
 *
 * All processes find the same. Threads: any.
 */
#ifndef ARRAYS_ARRAY_OWNERS_H
#define ARRAYS_ARRAY_OWNERS_H

#include "arrays/array/array.h"

/* A process, and the distinct blocks that it has. */
struct jd_owner {
    const jd_device *device; /* its first one in the mesh */
    int first;               /* of owners.blocks */
    int count;
};

struct jd_owners {
    int num_members;
    struct jd_owner *members; /* by their first block, then by process */
    int *blocks;              /* of all members, each one's rising */
    int *ranks;  /* of each of those: how many members before have it */
    int *num_owners; /* by block: how many members give a part of it */
    int own;     /* this process among them; -1: it is none */
};

/* Returns JD_OK; RESOURCE_EXHAUSTED. */
jd_status jd__owners_find(const char *operation, const jd_sharding *sharding,
                          struct jd_owners *ret_owners);
void jd__owners_finish(struct jd_owners *owners);

/* Blocks that the member has are given by nobody from here on. */
void jd__owners_excuse(struct jd_owners *owners, int member);

/* How far a walk through what a member gives has come. */
struct jd_cursor {
    int at; /* of the member's blocks */
    size_t done;
};

/* Elements of a block that follow each other. */
struct jd_block_range {
    int block;
    jd_range index[JD_MAX_NDIM];
    size_t begin;
    size_t count;
};

/* What comes next, at most room elements (more than 0) and of one block; false
 * where the member has given all. */
bool jd__owners_next(const struct jd_owners *owners, const jd_array *array,
                     int member, struct jd_cursor *cursor, size_t room,
                     struct jd_block_range *ret_range);

/* How many elements a member gives in all. */
size_t jd__owners_load(const struct jd_owners *owners, const jd_array *array,
                       int member);

#endif
