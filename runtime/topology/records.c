/* SPDX-License-Identifier: BSD-3-Clause */
/* records.c - what each process says of itself, gathered and checked. */
#include "runtime/topology/records.h"
#include "runtime/mpi/service.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const int32_t *jd__record_device_ids(const struct jd_record *record)
{
    return (const int32_t *)&record
        ->devices[record->num_devices + record->num_spare];
}

/* ---- gathering ---------------------------------------------------------- */

static jd_status create(int count, int self, size_t bytes,
                        struct jd_records **ret_records)
{
    struct jd_records *records = calloc(1, sizeof *records);
    if (records) {
        records->count = count;
        records->self = self;
        records->items = calloc((size_t)count, sizeof *records->items);
        records->storage = malloc(bytes);
    }
    if (!records || !records->items || !records->storage) {
        jd__records_destroy(records);
        return jd__fail_no_memory("jd_initialize", bytes);
    }
    *ret_records = records;
    return JD_OK;
}

void jd__records_destroy(struct jd_records *records)
{
    if (!records)
        return;
    free(records->items);
    free(records->storage);
    free(records);
}

static jd_status copy_own(const struct jd_record *own,
                          struct jd_records **ret_records)
{
    jd_status status = create(1, 0, own->bytes, ret_records);
    if (status != JD_OK)
        return status;
    memcpy((*ret_records)->storage, own, own->bytes);
    (*ret_records)->items[0] = (*ret_records)->storage;
    return JD_OK;
}

/* Offsets of each rank's bytes; OUT_OF_RANGE where MPI cannot count them. */
static jd_status find_offsets(const int *sizes, int count, int *offsets,
                              size_t *ret_total)
{
    size_t total = 0;
    for (int i = 0; i < count; i++) {
        offsets[i] = (int)total;
        total += (size_t)sizes[i];
        if (total > INT_MAX)
            return jd_fail(JD_OUT_OF_RANGE,
                           "jd_initialize: the records of %d processes have "
                           "more than %d bytes, which MPI cannot gather; use "
                           "fewer cpu devices (JD_NUM_CPU_DEVICES)",
                           count, INT_MAX);
    }
    *ret_total = total;
    return JD_OK;
}

static void point_to_items(struct jd_records *records, const int *offsets)
{
    for (int i = 0; i < records->count; i++)
        records->items[i] =
            (struct jd_record *)((char *)records->storage + offsets[i]);
}

/* sizes and offsets have one entry per rank. */
static jd_status gather(const struct jd_world *world,
                        const struct jd_record *own, int *sizes, int *offsets,
                        struct jd_records **ret_records)
{
    int size = (int)own->bytes;
    size_t total = 0;
    jd_status status = jd__mpi_check(
        MPI_Allgather(&size, 1, MPI_INT, sizes, 1, MPI_INT, world->comm),
        "MPI_Allgather", "jd_initialize");
    if (status == JD_OK)
        status = find_offsets(sizes, world->count, offsets, &total);
    struct jd_records *records = NULL;
    if (status == JD_OK)
        status = create(world->count, world->index, total, &records);
    if (status != JD_OK)
        return status;
    point_to_items(records, offsets);
    status =
        jd__mpi_check(MPI_Allgatherv(own, size, MPI_BYTE, records->storage,
                                     sizes, offsets, MPI_BYTE, world->comm),
                      "MPI_Allgatherv", "jd_initialize");
    if (status == JD_OK)
        *ret_records = records;
    else
        jd__records_destroy(records);
    return status;
}

jd_status jd__records_gather(const struct jd_world *world,
                             const struct jd_record *own,
                             struct jd_records **ret_records)
{
    if (!world->has_mpi)
        return copy_own(own, ret_records);
    int *sizes = calloc(2 * (size_t)world->count, sizeof *sizes);
    if (!sizes)
        return jd__fail_no_memory("jd_initialize",
                                  2 * (size_t)world->count * sizeof *sizes);
    jd_status status =
        gather(world, own, sizes, sizes + world->count, ret_records);
    free(sizes);
    return status;
}

/* ---- checking ----------------------------------------------------------- */

/* Other versions may lay their records out otherwise: nothing but the first
 * member is read here. */
static jd_status verify_versions(const struct jd_records *records)
{
    const struct jd_record *first = records->items[0];
    for (int i = 1; i < records->count; i++) {
        const struct jd_record *r = records->items[i];
        if (strcmp(r->version, first->version) != 0)
            return jd_fail(JD_FAILED_PRECONDITION,
                           "jd_initialize: MPI rank 0 runs jd %s and MPI rank "
                           "%d runs jd %s; install the same version on all "
                           "hosts",
                           first->version, i, r->version);
    }
    return JD_OK;
}

static jd_status fail_worlds_of_one(const struct jd_record *r)
{
    return jd_fail(
        JD_FAILED_PRECONDITION,
        "jd_initialize: the job has %d processes (%s), but the world of %s "
        "has this process alone (pid %d on %s): each process has a world of "
        "its own; start the program with the mpirun of this MPI, or under "
        "Slurm with `srun --mpi=pmix`",
        r->num_processes, r->num_processes_source, jd__mpi_library_name(),
        r->facts.pid, r->facts.host);
}

static jd_status verify_counts(const struct jd_records *records)
{
    for (int i = 0; i < records->count; i++) {
        const struct jd_record *r = records->items[i];
        if (r->num_processes == records->count)
            continue;
        if (records->count == 1)
            return fail_worlds_of_one(r);
        return jd_fail(JD_FAILED_PRECONDITION,
                       "jd_initialize: MPI rank %d (pid %d on %s) was told "
                       "that the job has %d processes (%s), but the MPI world "
                       "has %d; correct that, or leave it out to have it "
                       "detected",
                       i, r->facts.pid, r->facts.host, r->num_processes,
                       r->num_processes_source, records->count);
    }
    return JD_OK;
}

static jd_status fail_twice(const struct jd_record *a,
                            const struct jd_record *b)
{
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_initialize: two processes have the index %d: MPI rank "
                   "%d (pid %d on %s, from %s) and MPI rank %d (pid %d on %s, "
                   "from %s); give each process an index of its own",
                   a->process_id, a->rank, a->facts.pid, a->facts.host,
                   a->process_id_source, b->rank, b->facts.pid, b->facts.host,
                   b->process_id_source);
}

/* Each id once, and sorted by it. */
static jd_status sort_by_id(struct jd_records *records)
{
    size_t count = records->count > 0 ? (size_t)records->count : 0;
    struct jd_record **sorted = calloc(count, sizeof *sorted);
    if (!sorted)
        return jd__fail_no_memory("jd_initialize", count * sizeof *sorted);
    int self = records->items[records->self]->process_id;
    bool in_order = true;
    for (int i = 0; i < records->count; i++) {
        struct jd_record *r = records->items[i];
        if (sorted[r->process_id]) {
            jd_status status = fail_twice(sorted[r->process_id], r);
            free(sorted);
            return status;
        }
        sorted[r->process_id] = r;
        in_order = in_order && r->process_id == i;
    }
    free(records->items);
    records->items = sorted;
    records->self = self;
    records->in_order = in_order;
    return JD_OK;
}

static jd_status verify_ids(const struct jd_records *records)
{
    for (int i = 0; i < records->count; i++) {
        const struct jd_record *r = records->items[i];
        if (r->process_id < 0 || r->process_id >= records->count)
            return jd_fail(JD_INVALID_ARGUMENT,
                           "jd_initialize: MPI rank %d (pid %d on %s) has the "
                           "process index %d (%s), but it must be from 0 to "
                           "%d",
                           i, r->facts.pid, r->facts.host, r->process_id,
                           r->process_id_source, records->count - 1);
    }
    return JD_OK;
}

/* All say their slice, of the same number of slices, or none does. */
static jd_status verify_slices(const struct jd_records *records)
{
    const struct jd_record *first = records->items[0];
    for (int i = 0; i < records->count; i++) {
        const struct jd_record *r = records->items[i];
        if ((r->slice_index < 0) != (first->slice_index < 0) ||
            r->num_slices != first->num_slices)
            return jd_fail(JD_INVALID_ARGUMENT,
                           "jd_initialize: process 0 says slice %d of %d and "
                           "process %d says slice %d of %d (-1 and 0 stand "
                           "for nothing said); all processes must say their "
                           "slice of the same number, or none (JD_NUM_SLICES, "
                           "JD_SLICE_INDEX)",
                           first->slice_index, first->num_slices, i,
                           r->slice_index, r->num_slices);
        if ((r->num_slices > 0) != (r->slice_index >= 0))
            return jd_fail(JD_INVALID_ARGUMENT,
                           "jd_initialize: process %d says slice %d of %d (-1 "
                           "and 0 stand for nothing said); say both, or "
                           "neither (JD_NUM_SLICES, JD_SLICE_INDEX)",
                           i, r->slice_index, r->num_slices);
        if (r->num_slices && r->slice_index >= r->num_slices)
            return jd_fail(JD_INVALID_ARGUMENT,
                           "jd_initialize: process %d says slice %d of %d; it "
                           "must be from 0 to %d (JD_SLICE_INDEX)",
                           i, r->slice_index, r->num_slices, r->num_slices - 1);
    }
    return JD_OK;
}

jd_status jd__records_verify(struct jd_records *records)
{
    jd_status status = verify_versions(records);
    if (status == JD_OK)
        status = verify_counts(records);
    if (status == JD_OK)
        status = verify_ids(records);
    if (status == JD_OK)
        status = sort_by_id(records);
    if (status == JD_OK)
        status = verify_slices(records);
    return status;
}
