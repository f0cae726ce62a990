/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_model.h - jobs that do not exist: their devices, their shardings, the
 * plans of all their processes, and what these say done with numbers in
 * memory.
 *
 *     make_devices(2, 3);                      2 in a process, 3 hosts
 *     struct layout rows = line(4, 0), columns = line(4, 1);
 *     kind = run(&rows, &columns, 2, SHAPE(8, 12), MUCH);
 */
#ifndef TESTS_UNIT_PLAN_MODEL_H
#define TESTS_UNIT_PLAN_MODEL_H

#include "arrays/array/array.h"
#include "arrays/reshard/plan.h"
#include "jd_collectives.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { MOST = 4096 };

#define SHAPE(...)                                                             \
    (const int64_t[])                                                          \
    {                                                                          \
        __VA_ARGS__                                                            \
    }
#define MUCH ((size_t)1 << 30)

/* ---- jobs and shardings without a runtime ------------------------------- */

static jd_device devices[MOST];
static char host_names[MOST][16];

/* So many devices in each process, processes dealt out to the hosts. */
static void make_devices(int per_process, int hosts)
{
    for (int i = 0; i < MOST; i++) {
        int process = i / per_process;
        snprintf(host_names[i], sizeof host_names[i], "n%d", process % hosts);
        devices[i] =
            (jd_device){ .id = (int64_t)process << 17 | i % per_process,
                         .process_index = process,
                         .local_ordinal = i % per_process,
                         .platform = "cpu",
                         .host = host_names[i] };
    }
}

/* Axes and, for each of them, the dimension that it cuts, or -1. The later
 * one is the less significant. */
struct layout {
    int num_devices;
    int order[MOST]; /* which device is at each place */
    int num_axes;
    int sizes[4];
    int cuts[4];
};

static void set_block(jd_sharding *s, const struct layout *layout, int place)
{
    int at[JD_MAX_NDIM] = { 0 }, coordinates[4], rest = place, block = 0;
    for (int i = layout->num_axes - 1; i >= 0; i--) {
        coordinates[i] = rest % layout->sizes[i];
        rest /= layout->sizes[i];
    }
    for (int i = 0; i < layout->num_axes; i++)
        if (layout->cuts[i] >= 0)
            at[layout->cuts[i]] =
                at[layout->cuts[i]] * layout->sizes[i] + coordinates[i];
    for (int d = 0; d < JD_MAX_NDIM; d++)
        block = block * s->cuts[d].ways + at[d];
    s->blocks[place] = block;
}

static jd_sharding *make_sharding(const struct layout *layout, int process)
{
    size_t count = (size_t)layout->num_devices;
    jd_sharding *s = calloc(1, sizeof *s);
    s->num_devices = layout->num_devices;
    s->devices = calloc(count, sizeof *s->devices);
    s->blocks = calloc(4 * count, sizeof *s->blocks);
    s->replica_ids = s->blocks + count;
    s->local = s->blocks + 2 * count;
    int *counts = s->blocks + 3 * count;
    s->ways = 1;
    for (int d = 0; d < JD_MAX_NDIM; d++)
        s->cuts[d].ways = 1;
    for (int i = 0; i < layout->num_axes; i++)
        if (layout->cuts[i] >= 0) {
            s->cuts[layout->cuts[i]].ways *= layout->sizes[i];
            s->ways *= layout->sizes[i];
        }
    for (int i = 0; i < layout->num_devices; i++) {
        s->devices[i] = &devices[layout->order[i]];
        set_block(s, layout, i);
        s->replica_ids[i] = counts[s->blocks[i]]++;
        if (s->devices[i]->process_index == process)
            s->local[s->num_local++] = i;
    }
    return s;
}

static void free_sharding(jd_sharding *s)
{
    free(s->devices);
    free(s->blocks);
    free(s);
}

/* ---- arrays of numbers -------------------------------------------------- */

/* One reshard, as all processes plan it. */
struct job {
    const struct layout *from_layout, *to_layout;
    int ndim;
    int64_t shape[JD_MAX_NDIM];
    size_t memory;
    int num_processes;
    jd_sharding *from, *to; /* process 0's; only the local places differ */
    struct jd_plan **plans;
    int64_t *old[MOST], *new[MOST]; /* of each device; NULL where it has none */
    int64_t *in[MOST], *out[MOST];  /* packed, or the blocks */
};

static int number_of(const jd_device *device)
{
    return (int)(device - devices);
}

/* The number at a place of an array: its own, plus 1. */
static int64_t value_at(const struct job *job, const int64_t *at)
{
    int64_t value = 0;
    for (int d = 0; d < job->ndim; d++)
        value = value * job->shape[d] + at[d];
    return value + 1;
}

/* Steps through a box, row-major; false after its last element. */
static bool step_on(const jd_range *box, int ndim, int64_t *at)
{
    for (int d = ndim - 1; d >= 0; d--) {
        if (++at[d] < box[d].end)
            return true;
        at[d] = box[d].begin;
    }
    return false;
}

static void begin_at(const jd_range *box, int ndim, int64_t *at)
{
    for (int d = 0; d < ndim; d++)
        at[d] = box[d].begin;
}

static int64_t *place_in(const jd_range *box, int ndim, int64_t *block,
                         const int64_t *at)
{
    int64_t place = 0;
    for (int d = 0; d < ndim; d++) {
        ck_assert_int_ge(at[d], box[d].begin);
        ck_assert_int_lt(at[d], box[d].end);
        place = place * (box[d].end - box[d].begin) + at[d] - box[d].begin;
    }
    return &block[place];
}

static void box_of(const struct job *job, const jd_sharding *s, int device,
                   jd_range *ret_box)
{
    int place = 0;
    while (number_of(s->devices[place]) != device)
        place++;
    int block = s->blocks[place];
    for (int d = JD_MAX_NDIM - 1; d >= 0; d--) {
        int ways = s->cuts[d].ways, number = block % ways;
        block /= ways;
        if (d >= job->ndim)
            continue;
        int64_t length = job->shape[d], size = (length + ways - 1) / ways;
        ret_box[d].begin = number * size < length ? number * size : length;
        ret_box[d].end =
            (number + 1) * size < length ? (number + 1) * size : length;
    }
}

static int64_t *make_block(const struct job *job, const jd_sharding *s,
                           int device, bool is_filled)
{
    jd_range box[JD_MAX_NDIM];
    int64_t at[JD_MAX_NDIM];
    box_of(job, s, device, box);
    int64_t count = jd__box_count(box, job->ndim);
    int64_t *block = calloc((size_t)count + 1, sizeof *block), i = 0;
    begin_at(box, job->ndim, at);
    if (count > 0 && is_filled)
        do
            block[i++] = value_at(job, at);
        while (step_on(box, job->ndim, at));
    return block;
}

static void expect_blocks(const struct job *job)
{
    for (int i = 0; i < job->to->num_devices; i++) {
        int device = number_of(job->to->devices[i]);
        jd_range box[JD_MAX_NDIM];
        box_of(job, job->to, device, box);
        int64_t *wanted = make_block(job, job->to, device, true);
        for (int64_t k = 0; k < jd__box_count(box, job->ndim); k++)
            ck_assert_msg(job->new[device][k] == wanted[k],
                          "device %d, element %lld: %lld, not %lld", device,
                          (long long)k, (long long)job->new[device][k],
                          (long long)wanted[k]);
        free(wanted);
    }
}

/* ---- doing what plans say ----------------------------------------------- */

/* Elements [begin, end) of a piece between a block and plain memory. */
static void move_share(const struct job *job, const struct jd_piece *piece,
                       const jd_range *box, int64_t *block, int64_t *packed,
                       int64_t begin, int64_t end, bool is_packing)
{
    int64_t at[JD_MAX_NDIM];
    begin_at(piece->index, job->ndim, at);
    for (int64_t i = 0; i < end; i++) {
        if (i >= begin) {
            int64_t *place = place_in(box, job->ndim, block, at);
            if (is_packing)
                packed[i - begin] = *place;
            else
                *place = packed[i - begin];
        }
        step_on(piece->index, job->ndim, at);
    }
}

static void copy_pieces(struct job *job, const struct jd_plan *plan,
                        const struct jd_plan_device *device, int process)
{
    int self = number_of(plan->members[device->member]);
    for (int i = 0; i < device->num_copies; i++) {
        const struct jd_piece *piece = &device->copies[i];
        jd_sharding *from = make_sharding(job->from_layout, process);
        int source = number_of(from->devices[from->local[piece->source]]);
        jd_range old[JD_MAX_NDIM], new[JD_MAX_NDIM];
        int64_t at[JD_MAX_NDIM];
        box_of(job, job->from, source, old);
        box_of(job, job->to, self, new);
        begin_at(piece->index, job->ndim, at);
        do
            *place_in(new, job->ndim, job->new[self], at) =
                *place_in(old, job->ndim, job->old[source], at);
        while (step_on(piece->index, job->ndim, at));
        free_sharding(from);
    }
}

static void pack(struct job *job, const struct jd_plan *plan,
                 const struct jd_plan_device *device, int round)
{
    int self = number_of(plan->members[device->member]);
    jd_range box[JD_MAX_NDIM];
    for (int i = 0; i < device->num_sent; i++) {
        const struct jd_piece *piece = &device->sent[i];
        int64_t begin = jd__plan_share(piece->count, round, plan->rounds);
        int64_t end = jd__plan_share(piece->count, round + 1, plan->rounds);
        int64_t place = jd__plan_place(&piece->spot, begin, plan->rounds);
        ck_assert(piece->spot.is_packed == device->packs);
        box_of(job, job->from, self, box);
        if (!device->packs)
            continue;
        ck_assert_int_le(place + end - begin, device->pack_count);
        for (int64_t k = 0; k < end - begin; k++) /* nobody else's place */
            ck_assert_int_eq(job->in[self][place + k], 0);
        move_share(job, piece, box, job->old[self], job->in[self] + place,
                   begin, end, true);
    }
}

/* What is received says how much; the sender's send says where to. */
static void receive(struct job *job, const struct jd_plan *plan,
                    const struct jd_plan_device *device, int round)
{
    int self = number_of(plan->members[device->member]);
    for (int i = 0; i < device->num_receives; i++) {
        const struct jd_piece *piece = &device->receives[i];
        const jd_device *sender = plan->members[piece->source];
        const struct jd_plan *other = job->plans[sender->process_index];
        const struct jd_plan_device *from = other->devices;
        while (from->member != piece->source)
            from++;
        int k = 0;
        while (from->sends[k].member != device->member)
            ck_assert_int_lt(++k, from->num_sends);
        const struct jd_piece *sent = &from->sent[from->sends[k].piece];
        ck_assert_int_eq(sent->count, piece->count);
        int64_t begin = jd__plan_share(sent->count, round, plan->rounds);
        int64_t end = jd__plan_share(sent->count, round + 1, plan->rounds);
        int64_t in = jd__plan_place(&sent->spot, begin, plan->rounds);
        int64_t out = jd__plan_place(&from->sends[k].spot, begin, plan->rounds);
        ck_assert(device->unpacks == from->sends[k].spot.is_packed);
        ck_assert_int_eq(out,
                         jd__plan_place(&piece->spot, begin, plan->rounds));
        if (device->unpacks)
            ck_assert_int_le(out + end - begin, device->unpack_count);
        for (int64_t e = 0; e < end - begin; e++) {
            ck_assert_int_eq(job->out[self][out + e], 0);
            job->out[self][out + e] = job->in[number_of(sender)][in + e];
        }
    }
}

static void unpack(struct job *job, const struct jd_plan *plan,
                   const struct jd_plan_device *device, int round)
{
    int self = number_of(plan->members[device->member]);
    jd_range box[JD_MAX_NDIM];
    for (int i = 0; i < device->num_receives && device->unpacks; i++) {
        const struct jd_piece *piece = &device->receives[i];
        int64_t begin = jd__plan_share(piece->count, round, plan->rounds);
        int64_t end = jd__plan_share(piece->count, round + 1, plan->rounds);
        int64_t place = jd__plan_place(&piece->spot, begin, plan->rounds);
        box_of(job, job->to, self, box);
        move_share(job, piece, box, job->new[self], job->out[self] + place,
                   begin, end, false);
    }
}

static void for_each_device(struct job *job, int round,
                            void (*visit)(struct job *job,
                                          const struct jd_plan *plan,
                                          const struct jd_plan_device *device,
                                          int argument))
{
    for (int i = 0; i < job->num_processes; i++)
        for (int k = 0; k < job->plans[i]->num_devices; k++)
            visit(job, job->plans[i], &job->plans[i]->devices[k],
                  round < 0 ? i : round);
}

/* The memory of a round: zeros, and the blocks where nothing is packed. */
static void open_memory(struct job *job, const struct jd_plan *plan,
                        const struct jd_plan_device *device, int round)
{
    int self = number_of(plan->members[device->member]);
    (void)round;
    job->in[self] = device->packs ? calloc((size_t)device->pack_count + 1, 8)
                                  : job->old[self];
    job->out[self] = device->unpacks
                         ? calloc((size_t)device->unpack_count + 1, 8)
                         : job->new[self];
}

static void close_memory(struct job *job, const struct jd_plan *plan,
                         const struct jd_plan_device *device, int round)
{
    int self = number_of(plan->members[device->member]);
    (void)round;
    if (device->packs)
        free(job->in[self]);
    if (device->unpacks)
        free(job->out[self]);
}

/* Not with so little that there is an element for each piece. */
static void expect_little(struct job *job, const struct jd_plan *plan,
                          const struct jd_plan_device *device, int round)
{
    int64_t count = (device->packs ? device->pack_count : 0) +
                    (device->unpacks ? device->unpack_count : 0);
    int64_t pieces = device->num_sent + device->num_receives +
                     device->num_copies + plan->num_members;
    (void)round;
    if (pieces * 8 < (int64_t)job->memory / 8)
        ck_assert_int_le(count * 8, (int64_t)job->memory);
}

static void run_rounds(struct job *job)
{
    for_each_device(job, 0, expect_little);
    for (int round = 0; round < job->plans[0]->rounds; round++) {
        for_each_device(job, round, open_memory);
        for_each_device(job, round, pack);
        for_each_device(job, round, receive);
        for_each_device(job, round, unpack);
        for_each_device(job, round, close_memory);
    }
}

/* An all_to_all_2d or an all_gather_2d: all that the row's old blocks have of
 * the new one; each of them has to have the right part. */
static void run_rows(struct job *job)
{
    const struct jd_plan *plan = job->plans[0];
    ck_assert_int_eq(plan->num_members % plan->group_size, 0);
    for (int i = 0; i < plan->num_members; i++) {
        int self = number_of(plan->members[i]);
        int first = i / plan->group_size * plan->group_size;
        jd_range new[JD_MAX_NDIM], old[JD_MAX_NDIM], both[JD_MAX_NDIM];
        int64_t at[JD_MAX_NDIM], step = 0;
        box_of(job, job->to, self, new);
        step = (new[plan->concat].end - new[plan->concat].begin) /
               plan->group_size;
        for (int k = 0; k < plan->group_size; k++) {
            int source = number_of(plan->members[first + k]);
            box_of(job, job->from, source, old);
            ck_assert(jd__box_intersect(old, new, job->ndim, both));
            ck_assert_int_eq(both[plan->concat].begin,
                             new[plan->concat].begin + k *step);
            begin_at(both, job->ndim, at);
            do
                *place_in(new, job->ndim, job->new[self], at) =
                    *place_in(old, job->ndim, job->old[source], at);
            while (step_on(both, job->ndim, at));
        }
    }
}

static void run_routes(struct job *job)
{
    const struct jd_plan *plan = job->plans[0];
    ck_assert_int_eq(plan->num_routes, plan->num_members);
    for (int i = 0; i < plan->num_routes; i++) {
        int from = number_of(plan->members[plan->routes[i].from]);
        int to = number_of(plan->members[plan->routes[i].to]);
        jd_range box[JD_MAX_NDIM];
        box_of(job, job->to, to, box);
        memcpy(job->new[to], job->old[from],
               (size_t)jd__box_count(box, job->ndim) * 8);
    }
}

static enum jd_plan_kind run_plans(struct job *job)
{
    enum jd_plan_kind kind = job->plans[0]->kind;
    for_each_device(job, -1, copy_pieces);
    if (kind == JD_PLAN_SWAP || kind == JD_PLAN_GATHER)
        run_rows(job);
    else if (kind == JD_PLAN_PERMUTE)
        run_routes(job);
    else if (kind == JD_PLAN_EXCHANGE)
        run_rounds(job);
    expect_blocks(job);
    return kind;
}

/* All say the same of what all have to know. */
static void expect_agreement(const struct job *job)
{
    const struct jd_plan *first = job->plans[0];
    for (int i = 1; i < job->num_processes; i++) {
        const struct jd_plan *plan = job->plans[i];
        ck_assert_int_eq(plan->kind, first->kind);
        ck_assert_int_eq(plan->rounds, first->rounds);
        ck_assert_int_eq(plan->num_members, first->num_members);
        ck_assert_int_eq(plan->group_size, first->group_size);
        ck_assert_int_eq(plan->split, first->split);
        ck_assert_int_eq(plan->concat, first->concat);
        ck_assert(memcmp(plan->members, first->members,
                         (size_t)plan->num_members * sizeof *plan->members) ==
                  0);
    }
}

static struct jd_plan *make_plan(const struct job *job, int process)
{
    jd_sharding *from = make_sharding(job->from_layout, process);
    jd_sharding *to = make_sharding(job->to_layout, process);
    struct jd_plan_spec spec = { .operation = "jd_array_reshard",
                                 .from = from,
                                 .to = to,
                                 .ndim = job->ndim,
                                 .shape = job->shape,
                                 .element = 8,
                                 .memory = job->memory,
                                 .process = process };
    struct jd_plan *plan = NULL;
    UNIT_OK(jd__plan_create(&spec, &plan));
    free_sharding(from);
    free_sharding(to);
    return plan;
}

/* Whether nothing that is on the device, in its process or on its host comes
 * from further away. */
static void expect_near(const struct job *job)
{
    for (int i = 0; i < job->num_processes; i++)
        for (int k = 0; k < job->plans[i]->num_devices; k++) {
            const struct jd_plan *plan = job->plans[i];
            const struct jd_plan_device *device = &plan->devices[k];
            const jd_device *self = plan->members[device->member];
            for (int n = 0; n < device->num_receives; n++) {
                const jd_device *sender =
                    plan->members[device->receives[n].source];
                jd_range box[JD_MAX_NDIM], both[JD_MAX_NDIM];
                for (int s = 0; s < job->from->num_devices; s++) {
                    const jd_device *other = job->from->devices[s];
                    box_of(job, job->from, number_of(other), box);
                    if (!jd__box_intersect(box, device->receives[n].index,
                                           job->ndim, both))
                        continue;
                    ck_assert(other->process_index != self->process_index);
                    ck_assert(strcmp(other->host, self->host) != 0 ||
                              strcmp(sender->host, self->host) == 0);
                }
            }
        }
}

static enum jd_plan_kind run_job(struct job *job)
{
    int last = 0;
    job->from = make_sharding(job->from_layout, 0);
    job->to = make_sharding(job->to_layout, 0);
    for (int i = 0; i < job->from->num_devices; i++) {
        int device = number_of(job->from->devices[i]);
        job->old[device] = make_block(job, job->from, device, true);
        last = device > last ? device : last;
    }
    for (int i = 0; i < job->to->num_devices; i++) {
        int device = number_of(job->to->devices[i]);
        job->new[device] = make_block(job, job->to, device, false);
        last = device > last ? device : last;
    }
    job->num_processes = devices[last].process_index + 1;
    job->plans = calloc((size_t)job->num_processes, sizeof *job->plans);
    for (int i = 0; i < job->num_processes; i++)
        job->plans[i] = make_plan(job, i);
    expect_agreement(job);
    expect_near(job);
    enum jd_plan_kind kind = run_plans(job);
    for (int i = 0; i < job->num_processes; i++)
        jd__plan_destroy(job->plans[i]);
    for (int i = 0; i <= last; i++) {
        free(job->old[i]);
        free(job->new[i]);
    }
    free_sharding(job->from);
    free_sharding(job->to);
    free(job->plans);
    return kind;
}

/* ---- layouts ------------------------------------------------------------ */

static void set_order(struct layout *layout)
{
    for (int i = 0; i < layout->num_devices; i++)
        layout->order[i] = i;
}

static struct layout line(int count, int cut)
{
    struct layout layout = {
        .num_devices = count, .num_axes = 1, .sizes = { count }, .cuts = { cut }
    };
    set_order(&layout);
    return layout;
}

static struct layout grid(int rows, int columns, int cut_rows, int cut_columns)
{
    struct layout layout = { .num_devices = rows * columns,
                             .num_axes = 2,
                             .sizes = { rows, columns },
                             .cuts = { cut_rows, cut_columns } };
    set_order(&layout);
    return layout;
}

static enum jd_plan_kind run(const struct layout *from, const struct layout *to,
                             int ndim, const int64_t *shape, size_t memory)
{
    struct job job = {
        .from_layout = from, .to_layout = to, .ndim = ndim, .memory = memory
    };
    if (ndim)
        memcpy(job.shape, shape, (size_t)ndim * sizeof *shape);
    return run_job(&job);
}

#endif
