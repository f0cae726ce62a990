/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replicas.h - whether devices that have the same block hold the same in it:
 * what the files that compare them share.
 *
 * A device is suspect where the digest of its block is not that of the first
 * device that has it, its reference. All processes know who is.
 */
#ifndef ARRAYS_ARRAY_REPLICAS_H
#define ARRAYS_ARRAY_REPLICAS_H

#include "arrays/array/owners.h"
#include "collectives/multihost/equality.h"
#include "jd_shard.h"

/* Of the bits of one block. */
struct jd_block_digest {
    unsigned char bytes[32];
};

/* The first element of a device's block that is not the reference's. */
struct jd_replica_difference {
    int64_t exists;
    int64_t place;   /* of the device in the mesh */
    int64_t element; /* of the block */
    unsigned char value[16];
    unsigned char wanted[16];
};

struct jd_replicas {
    const char *operation;
    const jd_array *array;
    jd_equality rules;
    struct jd_owners owners;
    jd_shard *me;                       /* of a mesh of the owners' devices */
    bool *is_receiver;                  /* by owner: room for one for each */
    struct jd_block_digest *digests;    /* by place */
    int *references;                    /* by block: the place of replica 0 */
    struct jd_replica_difference found; /* of this process, the lowest place */
};

bool jd__replica_is_suspect(const struct jd_replicas *r, int place);

/* Compares elements of one of this process's blocks, from `first` on, with
 * those of wanted, device memory or not. Returns: as jd_device_copy(). */
jd_status jd__replica_compare(struct jd_replicas *r, int local, size_t first,
                              const void *wanted, size_t count);

/*
 * Compares all suspects with their references: those on other devices of the
 * process at once, others after the reference has sent its block.
 * Collective: the processes of the mesh. Returns: as the collectives.
 */
jd_status jd__replicas_compare_values(struct jd_replicas *r);

#endif
