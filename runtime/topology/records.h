/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * records.h - what each process says of itself, gathered once: to one process
 * of each host, which checks it the same way as all others, so that all come to
 * the same end, and say it in the same words.
 *
 *     struct jd_records *records;
 *     jd__records_gather(&world, &group, &own, &records);
 *     if (records)
 *         jd__records_verify(records);
 *     struct jd_record *r = records->items[process_index];
 */
#ifndef RUNTIME_TOPOLOGY_RECORDS_H
#define RUNTIME_TOPOLOGY_RECORDS_H

#include "runtime/mpi/world.h"
#include "runtime/topology/device_source.h"
#include "runtime/topology/host_group.h"

#include <stddef.h>

struct jd_device_record {
    char platform[16];
    struct jd_local_device device;
};

/* Plain data: travels as bytes between equal builds of jd. */
struct jd_record {
    char version[24];
    uint32_t bytes; /* of this record with its devices */
    int32_t rank;   /* in the world before it was ordered */
    int32_t process_id;
    int32_t num_processes;
    int32_t num_slices;  /* 0: not said */
    int32_t slice_index; /* -1: not said */
    int32_t num_devices; /* its own: after the choice (device_choice.h) */
    int32_t num_unowned; /* behind them: those that it only sees */
    int32_t num_device_ids;
    int32_t shares_devices;   /* JD_OVERSUBSCRIBE */
    int32_t absent_is_fault;  /* jd_found_devices.is_fault of what is absent */
    char wanted_platform[16]; /* JD_PLATFORM; "": not said */
    char absent[16];          /* a platform that it has no device of; "" */
    char why_absent[320];
    char device_ids_source[64]; /* "JD_LOCAL_DEVICE_IDS" */
    char process_id_source[160];
    char num_processes_source[160];
    struct jd_local_facts facts;
    struct jd_device_record devices[]; /* and then its local_device_ids */
};

/* The num_device_ids numbers, behind the devices. */
const int32_t *jd__record_device_ids(const struct jd_record *record);

struct jd_records {
    int count;
    int self;                 /* this process's place in items */
    struct jd_record **items; /* by rank; after verify, by process id */
    bool in_order;            /* rank and process id were the same order */
    void *storage;
};

/*
 * A leader of a group gets all records, any other process NULL.
 * Collective over the world. Blocks: until all have come; the watchdog of
 * jd_initialize() ends that. Returns JD_OK; INTERNAL when MPI fails, or where
 * others are of a version that is no record's; OUT_OF_RANGE where there are
 * more bytes than MPI can count; RESOURCE_EXHAUSTED.
 */
jd_status jd__records_gather(const struct jd_world *world,
                             const struct jd_host_group *group,
                             const struct jd_record *own,
                             struct jd_records **ret_records);
void jd__records_destroy(struct jd_records *records);

/*
 * Checks counts, ids and slices of all against each other and sorts the
 * records by process id. Returns JD_OK; FAILED_PRECONDITION where the world
 * has another size than a process was told (N worlds of one among them);
 * INVALID_ARGUMENT for ids that are out of range or there twice, and slices
 * that only some give; each names the processes.
 */
jd_status jd__records_verify(struct jd_records *records);

#endif
