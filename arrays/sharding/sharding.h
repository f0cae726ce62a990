/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sharding.h - what a sharding is, for the files of this room.
 *
 *     jd_range index[JD_MAX_NDIM];
 *     status = jd__sharding_check_shape(s, "jd_array_zeros", ndim, shape);
 *     jd__sharding_block(s, s->blocks[place], ndim, shape, index);
 *
 * Threads: immutable once made; references are counted atomically.
 */
#ifndef ARRAYS_SHARDING_SHARDING_H
#define ARRAYS_SHARDING_SHARDING_H

#include "collectives/mesh/mesh.h"
#include "jd_array.h"

#include <stdatomic.h>
#include <stdbool.h>

/* One dimension: which axes of the mesh cut it, the most significant first,
 * and how many ways. */
struct jd_cut {
    struct jd_axes axes;
    int ways;
};

struct jd_sharding {
    atomic_int references;
    uint64_t world; /* the mesh's; see jd__sharding_check_world */
    bool is_even;   /* refuses what does not divide */
    int num_cuts;   /* dimensions up to the last one that is cut */
    struct jd_cut cuts[JD_MAX_NDIM]; /* the others too: one way */
    char *spec;                      /* in its shortest form */
    char *written;                   /* as it was given, */
    int num_entries;                 /* which had so many */

    /* A copy of what the mesh said. */
    int num_axes;
    int axis_sizes[JD_MAX_AXES];
    char *axis_names[JD_MAX_AXES];
    int num_devices;
    const jd_device **devices; /* row-major */
    int num_local;             /* of this process */
    int *local;                /* their places, in the mesh's order */
    int ways;                  /* product of all cuts: distinct blocks */
    int *blocks;      /* by place: the number of its block, row-major over the
                       * cuts */
    int *replica_ids; /* by place: how many before it have the same */
    int *by_device;   /* places, in the order of their devices' addresses */
};

/* One reference more. */
jd_sharding *jd__sharding_retain(const jd_sharding *sharding);

/* The place of a device, or -1; any pointer may be given. O(log devices). */
int jd__sharding_place(const jd_sharding *sharding, const jd_device *device);

/* A device of the process: its first in the mesh, else one of the same
 * platform; NULL where it has none. The same on every process. */
const jd_device *jd__sharding_device_of(const jd_sharding *sharding,
                                        int process);

/* FAILED_PRECONDITION naming the operation, where it is of a world that has
 * ended; INVALID_ARGUMENT for a NULL. */
jd_status jd__sharding_check_world(const jd_sharding *sharding,
                                   const char *operation);

/* INVALID_ARGUMENT naming operation, entry, axes and shape, where an array of
 * that shape cannot lie so: too many entries, a negative or uneven dimension,
 * more than JD_MAX_NDIM, more elements than an int64_t counts. */
jd_status jd__sharding_check_shape(const jd_sharding *sharding,
                                   const char *operation, int ndim,
                                   const int64_t *shape);

/* The part with that number of a dimension that is cut so many ways. */
jd_range jd__sharding_cut_range(int64_t length, int ways, int number);

/* The ranges of block number `block`, for a shape that was checked. */
void jd__sharding_block(const jd_sharding *sharding, int block, int ndim,
                        const int64_t *shape, jd_range *ret_index);

/* "[64,10]", "[]"; of at most JD_MAX_NDIM dimensions. */
#define JD_SHAPE_TEXT 192
void jd__sharding_shape_print(int ndim, const int64_t *shape, char *text,
                              size_t size);

/* Elements of a box; 1 where ndim is 0. */
int64_t jd__box_count(const jd_range *index, int ndim);

#endif
