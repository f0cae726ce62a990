/* SPDX-License-Identifier: BSD-3-Clause */
/* partings.c - where the members of a communicator part ways. */
#include "tools/jd-trace/partings.h"

#include <stdlib.h>

/* A member of a communicator: its calls there are the process's calls
 * order[first] to order[first + count - 1]. */
struct comm_row {
    uint64_t id, newest;
    const struct traced_process *process;
    const struct traced_comm *comm;
    uint32_t first, count;
};

struct call_ref {
    uint64_t sequence;
    uint32_t row, call;
};

struct aligning {
    const struct traced_job *job;
    struct comm_row *rows;
    size_t num_rows;
    uint32_t *order;
    struct call_ref *refs;
    char *has_row; /* for each process of the job, in one communicator */
    struct parting_list *list;
};

bool partings_alike(const struct traced_call *a, const struct traced_call *b)
{
    return a->name == b->name && a->dtype == b->dtype && a->count == b->count &&
           a->rest == b->rest;
}

/* It waits, or its GPU does, or it gave up. Of a job that runs each process was
 * looked at at another moment: a call in which it had only just come waits for
 * nobody. */
static bool is_stuck(const struct traced_call *call)
{
    bool waits = call->state == JD_CALL_ENTERED || call->gpu == JD_GPU_STARTED;
    return (waits && !call->is_fresh) ||
           (call->state == JD_CALL_DONE && call->status != JD_OK);
}

/* ---- rows --------------------------------------------------------------- */

static void add_row(struct aligning *aligning,
                    const struct traced_process *process, uint32_t comm,
                    uint32_t first, uint32_t count)
{
    struct comm_row row = { .id = process->comms[comm].id,
                            .process = process,
                            .comm = &process->comms[comm],
                            .first = first,
                            .count = count };
    for (uint32_t i = 0; i < count; i++) {
        uint64_t sequence = process->calls[aligning->order[first + i]].sequence;
        row.newest = sequence > row.newest ? sequence : row.newest;
    }
    if (count)
        aligning->rows[aligning->num_rows++] = row;
}

/* Its calls by communicator, in place from first on; starts has a place more
 * than it has communicators. */
static uint32_t add_process(struct aligning *aligning,
                            const struct traced_process *process,
                            uint32_t first, uint32_t *starts)
{
    for (uint32_t i = 0; i < process->num_calls; i++)
        if (process->calls[i].comm && process->calls[i].sequence)
            starts[process->calls[i].comm]++;
    for (uint32_t i = 1; i <= process->num_comms; i++)
        starts[i] += starts[i - 1];
    uint32_t count = starts[process->num_comms];
    for (uint32_t i = 0; i < process->num_calls; i++)
        if (process->calls[i].comm && process->calls[i].sequence)
            aligning->order[first + starts[process->calls[i].comm - 1]++] = i;
    for (uint32_t i = 0, begin = 0; i < process->num_comms; i++) {
        add_row(aligning, process, i, first + begin, starts[i] - begin);
        begin = starts[i];
    }
    return first + count;
}

static bool add_processes(struct aligning *aligning)
{
    uint32_t first = 0;
    for (int i = 0; i < aligning->job->count; i++) {
        const struct traced_process *process = &aligning->job->processes[i];
        uint32_t *starts = calloc(process->num_comms + 1, sizeof *starts);
        if (!starts)
            return false;
        first = add_process(aligning, process, first, starts);
        free(starts);
    }
    return true;
}

static int compare_rows(const void *one, const void *other)
{
    const struct comm_row *a = one, *b = other;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->process > b->process) - (a->process < b->process);
}

static int compare_refs(const void *one, const void *other)
{
    const struct call_ref *a = one, *b = other;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* The calls of rows [begin, end), by their sequence. */
static size_t sort_calls(struct aligning *aligning, size_t begin, size_t end)
{
    size_t count = 0;
    for (size_t row = begin; row < end; row++)
        for (uint32_t i = 0; i < aligning->rows[row].count; i++) {
            uint32_t call = aligning->order[aligning->rows[row].first + i];
            aligning->refs[count++] = (struct call_ref){
                aligning->rows[row].process->calls[call].sequence,
                (uint32_t)row, call
            };
        }
    qsort(aligning->refs, count, sizeof *aligning->refs, compare_refs);
    return count;
}

/* ---- one parting -------------------------------------------------------- */

static const struct traced_call *call_of(const struct aligning *aligning,
                                         const struct call_ref *ref)
{
    return &aligning->rows[ref->row].process->calls[ref->call];
}

static struct parting_member member_of(const struct comm_row *row,
                                       const struct traced_call *call)
{
    return (struct parting_member){ .index = row->process->index,
                                    .process = row->process,
                                    .call = call,
                                    .made = row->newest };
}

static int size_of(const struct aligning *aligning, size_t begin, size_t end)
{
    int size = 0;
    for (size_t row = begin; row < end; row++)
        if (aligning->rows[row].comm->size > size)
            size = aligning->rows[row].comm->size;
    return size;
}

/* Members of which nothing is recorded there: where as many processes as are
 * wanted have no call there, these are they. */
static void add_unseen(struct aligning *aligning, struct parting *parting,
                       size_t begin, size_t end)
{
    const struct traced_job *job = aligning->job;
    int unseen = size_of(aligning, begin, end) - (int)(end - begin);
    int others = job->num_processes;
    for (int i = 0; i < job->num_processes; i++)
        aligning->has_row[i] = 0;
    for (size_t row = begin; row < end; row++) {
        char *has = &aligning->has_row[aligning->rows[row].process->index];
        others -= !*has;
        *has = 1;
    }
    if (unseen != others) {
        parting->num_unknown = unseen > 0 ? unseen : 0;
        return;
    }
    for (int i = 0; i < job->num_processes; i++)
        if (!aligning->has_row[i])
            parting->members[parting->num_come + parting->num_absent++] =
                (struct parting_member){ .index = i,
                                         .process = traced_job_find(job, i) };
}

/* Of rows [begin, end), those of refs have come. */
static bool add_parting(struct aligning *aligning, enum parting_kind kind,
                        size_t begin, size_t end, const struct call_ref *refs,
                        size_t count)
{
    const struct comm_row *rows = aligning->rows;
    struct parting *grown =
        realloc(aligning->list->partings,
                ((size_t)aligning->list->count + 1) * sizeof *grown);
    if (!grown)
        return false;
    aligning->list->partings = grown;
    struct parting *parting = &grown[aligning->list->count];
    *parting = (struct parting){ .kind = kind,
                                 .comm = rows[begin].id,
                                 .sequence = refs->sequence,
                                 .text = rows[begin].comm->text };
    size_t room = count + (end - begin) + (size_t)aligning->job->num_processes;
    parting->members = calloc(room, sizeof *parting->members);
    if (!parting->members)
        return false;
    aligning->list->count++;
    for (size_t i = 0; i < count; i++)
        parting->members[parting->num_come++] =
            member_of(&rows[refs[i].row], call_of(aligning, &refs[i]));
    for (size_t row = begin; row < end; row++)
        if (rows[row].newest < refs->sequence)
            parting->members[parting->num_come + parting->num_absent++] =
                member_of(&rows[row], NULL);
    add_unseen(aligning, parting, begin, end);
    return true;
}

/* Whether the calls of one sequence went as they should. */
static bool is_right(const struct aligning *aligning,
                     const struct call_ref *refs, size_t count,
                     uint64_t least_newest, bool has_unseen,
                     enum parting_kind *ret_kind)
{
    bool has_stuck = false, differs = false;
    for (size_t i = 0; i < count; i++) {
        const struct traced_call *call = call_of(aligning, &refs[i]);
        has_stuck = has_stuck || is_stuck(call);
        differs = differs || !partings_alike(call, call_of(aligning, refs));
    }
    *ret_kind = differs ? PARTING_DIFFERS : PARTING_WAITS;
    bool is_short = least_newest < refs->sequence || has_unseen;
    return !has_stuck || (!differs && !is_short);
}

static bool align_comm(struct aligning *aligning, size_t begin, size_t end)
{
    size_t count = sort_calls(aligning, begin, end), next;
    uint64_t least = UINT64_MAX;
    bool has_unseen = size_of(aligning, begin, end) > (int)(end - begin);
    for (size_t row = begin; row < end; row++)
        if (aligning->rows[row].newest < least)
            least = aligning->rows[row].newest;
    for (size_t i = 0; i < count; i = next) {
        const struct call_ref *refs = &aligning->refs[i];
        enum parting_kind kind;
        for (next = i + 1; next < count; next++)
            if (aligning->refs[next].sequence != refs->sequence)
                break;
        if (!is_right(aligning, refs, next - i, least, has_unseen, &kind))
            return add_parting(aligning, kind, begin, end, refs, next - i);
    }
    return true;
}

/* ---- their order -------------------------------------------------------- */

const struct traced_call *partings_stuck(const struct parting_list *list,
                                         const struct traced_process *process)
{
    const struct traced_call *at = process ? traced_process_end(process) : NULL;
    for (int i = 0; at && i < list->count; i++)
        for (int k = 0; k < list->partings[i].num_come; k++)
            if (list->partings[i].members[k].call == at && is_stuck(at))
                return at;
    return NULL;
}

static bool has_root(const struct parting_list *list,
                     const struct parting *parting)
{
    for (int i = 0; i < parting->num_absent; i++)
        if (!partings_stuck(list,
                            parting->members[parting->num_come + i].process))
            return true;
    return parting->num_unknown > 0;
}

static int compare_partings(const void *one, const void *other)
{
    const struct parting *a = one, *b = other;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->is_root != b->is_root)
        return a->is_root ? -1 : 1;
    if (a->num_come != b->num_come)
        return a->num_come > b->num_come ? -1 : 1;
    return (a->comm > b->comm) - (a->comm < b->comm);
}

static void sort_partings(struct parting_list *list)
{
    for (int i = 0; i < list->count; i++)
        list->partings[i].is_root = has_root(list, &list->partings[i]);
    if (list->count)
        qsort(list->partings, (size_t)list->count, sizeof *list->partings,
              compare_partings);
}

/* ---- the whole ---------------------------------------------------------- */

static bool make_rooms(struct aligning *aligning)
{
    size_t num_rows = 1, num_calls = 1;
    for (int i = 0; i < aligning->job->count; i++) {
        num_rows += aligning->job->processes[i].num_comms;
        num_calls += aligning->job->processes[i].num_calls;
    }
    aligning->rows = calloc(num_rows, sizeof *aligning->rows);
    aligning->order = calloc(num_calls, sizeof *aligning->order);
    aligning->refs = calloc(num_calls, sizeof *aligning->refs);
    aligning->has_row = calloc((size_t)aligning->job->num_processes + 1, 1);
    return aligning->rows && aligning->order && aligning->refs &&
           aligning->has_row;
}

static bool align_all(struct aligning *aligning)
{
    struct comm_row *rows = aligning->rows;
    size_t next;
    qsort(rows, aligning->num_rows, sizeof *rows, compare_rows);
    for (size_t i = 0; i < aligning->num_rows; i = next) {
        for (next = i + 1; next < aligning->num_rows; next++)
            if (rows[next].id != rows[i].id)
                break;
        if (!align_comm(aligning, i, next))
            return false;
    }
    sort_partings(aligning->list);
    return true;
}

bool partings_find(const struct traced_job *job, struct parting_list *list)
{
    struct aligning aligning = { .job = job, .list = list };
    bool is_found = make_rooms(&aligning) && add_processes(&aligning) &&
                    align_all(&aligning);
    free(aligning.rows);
    free(aligning.order);
    free(aligning.refs);
    free(aligning.has_row);
    return is_found;
}

void partings_finish(struct parting_list *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->partings[i].members);
    free(list->partings);
    *list = (struct parting_list){ .count = 0 };
}
