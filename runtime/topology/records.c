/* SPDX-License-Identifier: BSD-3-Clause */
/* records.c - what each process says of itself, gathered and checked. */
#include "runtime/topology/records.h"
#include "runtime/mpi/library.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const int32_t *jd__record_device_ids(const struct jd_record *record)
{
    return (const int32_t *)&record
        ->devices[record->num_devices + record->num_unowned];
}

/* ---- gathering ---------------------------------------------------------- */

void jd__records_destroy(struct jd_records *records)
{
    if (!records)
        return;
    free(records->items);
    free(records->storage);
    free(records);
}

/* What travels before each record, in every version of jd. */
struct envelope {
    uint32_t rank;
    uint32_t bytes;
};

/* Envelopes and records, one behind the other. */
struct parcel {
    char *data;
    int bytes;
};

/* Offsets of each one's bytes; OUT_OF_RANGE where MPI cannot count them. */
static jd_status find_offsets(const int *sizes, int count, int processes,
                              int *offsets, int *ret_total)
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
                           processes, INT_MAX);
    }
    *ret_total = (int)total;
    return JD_OK;
}

static jd_status pack_own(const struct jd_record *own, int rank,
                          struct parcel *ret_parcel)
{
    struct envelope envelope = { (uint32_t)rank, own->bytes };
    size_t bytes = sizeof envelope + own->bytes;
    char *data = malloc(bytes);
    if (!data)
        return jd__fail_no_memory("jd_initialize", bytes);
    memcpy(data, &envelope, sizeof envelope);
    memcpy(data + sizeof envelope, own, own->bytes);
    *ret_parcel = (struct parcel){ data, (int)bytes };
    return JD_OK;
}

/* ---- two levels of gathering -------------------------------------------- */

/* Who sends how many bytes to where; the parcels that come, in that order. */
struct gathering {
    MPI_Comm comm;
    int count;     /* of those who send */
    int processes; /* of the job */
    bool is_root;  /* of a group: who gets them */
    bool is_all;   /* all get them, as leaders do */
    int *sizes, *offsets;
};

static jd_status gather_sizes(struct gathering *g, int size)
{
    int code =
        g->is_all
            ? MPI_Allgather(&size, 1, MPI_INT, g->sizes, 1, MPI_INT, g->comm)
            : MPI_Gather(&size, 1, MPI_INT, g->sizes, 1, MPI_INT, 0, g->comm);
    return jd__mpi_check(code, g->is_all ? "MPI_Allgather" : "MPI_Gather",
                         "jd_initialize");
}

static jd_status gather_data(struct gathering *g, const struct parcel *own,
                             struct parcel *all)
{
    int code = g->is_all
                   ? MPI_Allgatherv(own->data, own->bytes, MPI_BYTE, all->data,
                                    g->sizes, g->offsets, MPI_BYTE, g->comm)
                   : MPI_Gatherv(own->data, own->bytes, MPI_BYTE, all->data,
                                 g->sizes, g->offsets, MPI_BYTE, 0, g->comm);
    return jd__mpi_check(code, g->is_all ? "MPI_Allgatherv" : "MPI_Gatherv",
                         "jd_initialize");
}

/* Room for what comes, where anything does. */
static jd_status make_room(struct gathering *g, struct parcel *all)
{
    if (!g->is_all && !g->is_root)
        return JD_OK;
    jd_status status =
        find_offsets(g->sizes, g->count, g->processes, g->offsets, &all->bytes);
    if (status != JD_OK)
        return status;
    all->data = malloc((size_t)all->bytes);
    return all->data ? JD_OK
                     : jd__fail_no_memory("jd_initialize", (size_t)all->bytes);
}

/* The parcel becomes all parcels, or nothing where others get them. */
static jd_status gather_parcels(struct gathering *g, struct parcel *parcel)
{
    struct parcel all = { .data = NULL };
    size_t bytes = 2 * (size_t)g->count * sizeof *g->sizes;
    g->sizes = calloc(1, bytes);
    if (!g->sizes)
        return jd__fail_no_memory("jd_initialize", bytes);
    g->offsets = g->sizes + g->count;
    jd_status status = gather_sizes(g, parcel->bytes);
    if (status == JD_OK)
        status = make_room(g, &all);
    if (status == JD_OK)
        status = gather_data(g, parcel, &all);
    free(g->sizes);
    free(parcel->data);
    *parcel = all;
    return status;
}

/* First inside the group, to its leader; then all leaders tell each other. */
static jd_status gather_levels(const struct jd_world *world,
                               const struct jd_host_group *group,
                               struct parcel *parcel)
{
    struct gathering inside = { .comm = group->comm,
                                .count = group->count,
                                .processes = world->count,
                                .is_root = group->index == 0 };
    struct gathering among = { .comm = group->leaders,
                               .count = group->num_leaders,
                               .processes = world->count,
                               .is_all = true };
    jd_status status = JD_OK;
    if (group->count > 1)
        status = gather_parcels(&inside, parcel);
    if (status == JD_OK && group->index == 0 && group->num_leaders > 1)
        status = gather_parcels(&among, parcel);
    return status;
}

/* ---- what has come ------------------------------------------------------ */

static jd_status fail_unreadable(int count)
{
    return jd_fail(JD_INTERNAL,
                   "jd_initialize: what the %d processes say of themselves "
                   "cannot be read; install the same version of jd on all "
                   "hosts",
                   count);
}

/* Each rank's record, once. */
static jd_status find_items(struct jd_records *records, size_t bytes)
{
    char *at = records->storage, *end = at + bytes;
    struct envelope envelope;
    int found = 0;
    for (; at < end; at += envelope.bytes, found++) {
        memcpy(&envelope, at, sizeof envelope);
        at += sizeof envelope;
        if (envelope.rank >= (uint32_t)records->count ||
            records->items[envelope.rank] || at + envelope.bytes > end ||
            envelope.bytes % 8)
            return fail_unreadable(records->count);
        records->items[envelope.rank] = (struct jd_record *)(void *)at;
    }
    return found == records->count ? JD_OK : fail_unreadable(records->count);
}

/* Takes the parcel, on failure too. */
static jd_status unpack_records(const struct jd_world *world,
                                struct parcel *parcel,
                                struct jd_records **ret_records)
{
    struct jd_records *records = calloc(1, sizeof *records);
    if (records)
        records->items = calloc((size_t)world->count, sizeof *records->items);
    if (!records || !records->items) {
        free(parcel->data);
        free(records);
        return jd__fail_no_memory("jd_initialize",
                                  (size_t)world->count * sizeof(void *));
    }
    records->count = world->count;
    records->self = world->index;
    records->storage = parcel->data;
    jd_status status = find_items(records, (size_t)parcel->bytes);
    if (status == JD_OK)
        *ret_records = records;
    else
        jd__records_destroy(records);
    return status;
}

jd_status jd__records_gather(const struct jd_world *world,
                             const struct jd_host_group *group,
                             const struct jd_record *own,
                             struct jd_records **ret_records)
{
    struct parcel parcel = { .data = NULL };
    jd_status status = pack_own(own, world->index, &parcel);
    if (status == JD_OK)
        status = gather_levels(world, group, &parcel);
    if (status == JD_OK && group->index == 0)
        return unpack_records(world, &parcel, ret_records);
    free(parcel.data);
    if (status == JD_OK)
        *ret_records = NULL;
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
    const struct jd_mpi_flavour *flavour = jd__mpi_library_flavour();
    return jd_fail(
        JD_FAILED_PRECONDITION,
        "jd_initialize: the job has %d processes (%s), but the world of %s "
        "has this process alone (pid %d on %s): each process has a world of "
        "its own; start the program with the %s of this MPI, or under Slurm "
        "with `srun --mpi=%s`, or call jd_initialize() before MPI_Init, where "
        "jd makes the world itself",
        r->num_processes, r->num_processes_source, jd__mpi_library_name(),
        r->facts.pid, r->facts.host, flavour->launcher, flavour->srun);
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
