/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_steps.c - the steps of the cuda platform's collectives, without one. */
#include "tests/unit/cuda_steps.h"
#include "collectives/cuda/connect.h"
#include "collectives/kernels/fold.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    COPY,
    FOLD,
    KEYS,
    CLEAR,
    GROUP, /* sends and receives follow, until the next kind */
    SEND,
    RECEIVE,
    END,
    ALL_REDUCE,
    REDUCE_SCATTER,
    ALL_GATHER,
    BROADCAST,
};

struct step {
    enum kind kind;
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, bytes, rows;
    int member;
    bool is_done;
    struct jd_cuda_way way;
    struct jd_cuda_fold fold;
    enum jd_order_way order_way;
};

/* ---- queueing ----------------------------------------------------------- */

static struct steps_member *member_of(const struct jd_cuda_task *task)
{
    return (struct steps_member *)(void *)task->comm;
}

static void add(struct jd_cuda_task *task, struct step step)
{
    struct steps_member *m = member_of(task);
    if (m->num_steps == m->capacity) {
        m->capacity = m->capacity ? 2 * m->capacity : 64;
        m->steps = realloc(m->steps, (size_t)m->capacity * sizeof *m->steps);
        ck_assert_ptr_nonnull(m->steps);
    }
    m->steps[m->num_steps++] = step;
}

static bool is_in(struct steps_range range, const char *data, size_t bytes)
{
    size_t offset = (uintptr_t)data - (uintptr_t)range.begin;
    return offset <= range.bytes && bytes <= range.bytes - offset;
}

static void check_read(const struct jd_cuda_task *task, const void *data,
                       size_t bytes)
{
    const struct steps_member *m = member_of(task);
    ck_assert_msg(is_in(m->in, data, bytes) || is_in(m->out, data, bytes) ||
                      is_in(m->scratch, data, bytes),
                  "member %d reads %zu bytes that are not its own",
                  m->comm.index, bytes);
}

static void check_write(const struct jd_cuda_task *task, const void *data,
                        size_t bytes)
{
    const struct steps_member *m = member_of(task);
    ck_assert_msg(is_in(m->out, data, bytes) || is_in(m->scratch, data, bytes),
                  "member %d writes %zu bytes that are not its own",
                  m->comm.index, bytes);
}

void jd__task_begin_bare(struct jd_cuda_task *task, struct jd_comm *comm,
                         const struct jd_collective *call)
{
    memset(task, 0, sizeof *task);
    task->comm = comm;
    task->call = call;
    task->element = jd_dtype_size(call->dtype);
    memset(member_of(task)->wants, 0, sizeof member_of(task)->wants);
    memset(member_of(task)->is_connected, 0,
           sizeof member_of(task)->is_connected);
}

void jd__task_begin(struct jd_cuda_task *task, struct jd_comm *comm,
                    const struct jd_collective *call, size_t in_bytes,
                    size_t out_bytes, bool keeps_out)
{
    jd__task_begin_bare(task, comm, call);
    struct steps_member *m = member_of(task);
    m->in = (struct steps_range){ call->in, in_bytes };
    m->out = (struct steps_range){ call->out, out_bytes };
    m->keeps_out = keeps_out;
}

jd_status jd__task_end(struct jd_cuda_task *task)
{
    return task->status;
}

/* Where nothing was written there is 0xee. */
char *jd__task_scratch(struct jd_cuda_task *task, size_t bytes)
{
    struct steps_member *m = member_of(task);
    ck_assert_msg(!m->scratch.begin, "a second scratch in one call");
    char *memory = malloc(bytes);
    memset(memory, 0xee, bytes);
    m->scratch = (struct steps_range){ memory, bytes };
    m->most_scratch = bytes > m->most_scratch ? bytes : m->most_scratch;
    return memory;
}

void jd__task_copy_rows(struct jd_cuda_task *task, struct jd_cuda_rows to,
                        struct jd_cuda_rows from, size_t width, size_t rows)
{
    if (width == 0 || rows == 0)
        return;
    for (size_t i = 0; i < rows; i++) {
        check_read(task, (char *)from.data + i * from.pitch, width);
        check_write(task, (char *)to.data + i * to.pitch, width);
    }
    add(task, (struct step){ .kind = COPY,
                             .to = to.data,
                             .from = from.data,
                             .to_pitch = to.pitch,
                             .from_pitch = from.pitch,
                             .bytes = width,
                             .rows = rows });
}

void jd__task_meet(struct jd_cuda_task *task)
{
    (void)task;
}

void jd__task_copy(struct jd_cuda_task *task, void *to, const void *from,
                   size_t bytes)
{
    jd__task_copy_rows(task, (struct jd_cuda_rows){ to, bytes },
                       (struct jd_cuda_rows){ (void *)(uintptr_t)from, bytes },
                       bytes, 1);
}

void jd__task_clear(struct jd_cuda_task *task, void *to, size_t bytes)
{
    check_write(task, to, bytes);
    add(task, (struct step){ .kind = CLEAR, .to = to, .bytes = bytes });
}

void jd__task_fold(struct jd_cuda_task *task, struct jd_cuda_fold fold)
{
    if (fold.count == 0)
        return;
    fold.dtype = task->call->dtype;
    for (int i = 0; i < fold.terms; i++)
        check_read(task,
                   (const char *)fold.in +
                       (size_t)i * fold.stride * task->element,
                   fold.count * task->element);
    check_write(task, fold.out, fold.count * task->element);
    add(task, (struct step){ .kind = FOLD, .fold = fold });
}

void jd__task_keys(struct jd_cuda_task *task, enum jd_reduce op,
                   enum jd_order_way way, const void *in, void *out,
                   size_t count)
{
    check_read(task, in, count * task->element);
    check_write(task, out, count * task->element);
    add(task, (struct step){ .kind = KEYS,
                             .order_way = way,
                             .fold = { .dtype = task->call->dtype,
                                       .op = op,
                                       .in = in,
                                       .out = out,
                                       .count = count } });
}

void jd__task_all_reduce(struct jd_cuda_task *task, const void *in, void *out,
                         size_t count, struct jd_cuda_way way)
{
    check_read(task, in, count * task->element);
    check_write(task, out, count * task->element);
    add(task, (struct step){ .kind = ALL_REDUCE,
                             .to = out,
                             .from = in,
                             .bytes = count * task->element,
                             .way = way });
}

void jd__task_reduce_scatter(struct jd_cuda_task *task, const void *in,
                             void *out, size_t count, struct jd_cuda_way way)
{
    check_read(task, in, count * task->element * (size_t)task->comm->size);
    check_write(task, out, count * task->element);
    add(task, (struct step){ .kind = REDUCE_SCATTER,
                             .to = out,
                             .from = in,
                             .bytes = count * task->element,
                             .way = way });
}

void jd__task_all_gather(struct jd_cuda_task *task, const void *in, void *out,
                         size_t bytes)
{
    check_read(task, in, bytes);
    check_write(task, out, bytes * (size_t)task->comm->size);
    add(task, (struct step){
                  .kind = ALL_GATHER, .to = out, .from = in, .bytes = bytes });
}

void jd__task_broadcast(struct jd_cuda_task *task, const void *in, void *out,
                        size_t bytes, int source)
{
    check_read(task, in, bytes);
    check_write(task, out, bytes);
    add(task, (struct step){ .kind = BROADCAST,
                             .to = out,
                             .from = in,
                             .bytes = bytes,
                             .member = source });
}

void jd__connect_want_called(struct jd_comm *comm, int member)
{
    if (member >= 0)
        ((struct steps_member *)(void *)comm)->wants[member] = true;
}

/* Before the scratch, which the exchange may use too. */
char *jd__connect_prepare(struct jd_cuda_task *task)
{
    ck_assert_msg(!member_of(task)->scratch.begin, "a scratch before it");
    return NULL;
}

void jd__connect_in(struct jd_cuda_task *task, char *memory)
{
    struct steps_member *m = member_of(task);
    (void)memory;
    memcpy(m->is_connected, m->wants, sizeof m->wants);
}

void jd__connect(struct jd_cuda_task *task)
{
    jd__connect_in(task, jd__connect_prepare(task));
}

void jd__connect_all(struct jd_cuda_task *task)
{
    for (int i = 0; i < task->comm->size; i++)
        jd__connect_want_called(task->comm, i);
    jd__connect(task);
}

static void check_connected(const struct jd_cuda_task *task, int member)
{
    ck_assert_msg(
        member == task->comm->index || member_of(task)->is_connected[member],
        "member %d is not connected with member %d", task->comm->index, member);
}

bool jd__task_group_begin(struct jd_cuda_task *task)
{
    ck_assert(!task->use.connects);
    add(task, (struct step){ .kind = GROUP });
    return true;
}

void jd__task_send(struct jd_cuda_task *task, const void *from, size_t bytes,
                   int member)
{
    if (bytes == 0)
        return;
    check_read(task, from, bytes);
    check_connected(task, member);
    add(task,
        (struct step){
            .kind = SEND, .from = from, .bytes = bytes, .member = member });
}

void jd__task_receive(struct jd_cuda_task *task, void *to, size_t bytes,
                      int member)
{
    if (bytes == 0)
        return;
    check_write(task, to, bytes);
    check_connected(task, member);
    add(task,
        (struct step){
            .kind = RECEIVE, .to = to, .bytes = bytes, .member = member });
}

void jd__task_group_end(struct jd_cuda_task *task)
{
    add(task, (struct step){ .kind = END });
}

jd_status jd__cuda_check_calls(struct jd_comm *comm,
                               const struct jd_collective *call,
                               struct jd_cuda_terms terms)
{
    struct steps_member *m = (struct steps_member *)(void *)comm;
    (void)call;
    m->terms = terms;
    return JD_OK;
}

/* ---- doing -------------------------------------------------------------- */

static void fold(jd_dtype dtype, enum jd_reduce op, const void *const *ins,
                 int terms, void *out, size_t count, int divisor)
{
    jd__fold_find(dtype, op, JD_FOLD_WHOLE)(&(struct jd_fold){
        .ins = ins,
        .outs = &out,
        .num_ins = terms,
        .num_outs = 1,
        .count = count,
        .divisor = divisor,
    });
}

static void make_keys(const struct step *step)
{
    const struct jd_cuda_fold *keys = &step->fold;
    jd__order_keys_find(keys->dtype, keys->op, step->order_way)(
        &(struct jd_fold){ .ins = &keys->in,
                           .outs = (void *[]){ keys->out },
                           .num_ins = 1,
                           .num_outs = 1,
                           .count = keys->count });
}

/* True where the step needs nobody else. */
static bool do_alone(const struct step *step)
{
    const void *ins[STEPS_MEMBERS];
    switch (step->kind) {
    case COPY:
        for (size_t i = 0; i < step->rows; i++)
            memmove(step->to + i * step->to_pitch,
                    step->from + i * step->from_pitch, step->bytes);
        return true;
    case CLEAR:
        memset(step->to, 0, step->bytes);
        return true;
    case FOLD:
        for (int i = 0; i < step->fold.terms; i++)
            ins[i] =
                (const char *)step->fold.in +
                (size_t)i * step->fold.stride * jd_dtype_size(step->fold.dtype);
        fold(step->fold.dtype, step->fold.op, ins, step->fold.terms,
             step->fold.out, step->fold.count, step->fold.divisor);
        return true;
    case KEYS:
        make_keys(step);
        return true;
    default:
        return false;
    }
}

static struct step *current(struct steps *steps, int member)
{
    struct steps_member *m = &steps->members[member];
    return m->next < m->num_steps ? &m->steps[m->next] : NULL;
}

static enum jd_reduce op_of(struct jd_cuda_way way)
{
    return way.op == ncclSum   ? JD_REDUCE_SUM
           : way.op == ncclAvg ? JD_REDUCE_MEAN
           : way.op == ncclMax ? JD_REDUCE_MAX
           : way.op == ncclMin ? JD_REDUCE_MIN
                               : JD_REDUCE_PROD;
}

/* The type that NCCL reduces. */
static jd_dtype dtype_of(const struct steps *steps, struct jd_cuda_way way)
{
    return !way.is_keyed           ? steps->members[0].call.dtype
           : way.type == ncclInt8  ? JD_S8
           : way.type == ncclInt32 ? JD_S32
                                   : JD_S64;
}

static void do_reduction(struct steps *steps, const struct step *first)
{
    size_t size = (size_t)steps->size, bytes = first->bytes;
    jd_dtype dtype = dtype_of(steps, first->way);
    bool scatters = first->kind == REDUCE_SCATTER;
    size_t whole = scatters ? bytes * size : bytes;
    const void *ins[STEPS_MEMBERS];
    char *result = malloc(whole);
    for (int i = 0; i < steps->size; i++)
        ins[i] = current(steps, i)->from;
    fold(dtype, op_of(first->way), ins, steps->size, result,
         whole / jd_dtype_size(dtype), steps->size);
    for (int i = 0; i < steps->size; i++)
        memcpy(current(steps, i)->to,
               result + (scatters ? (size_t)i * bytes : 0), bytes);
    free(result);
}

static void do_gather(struct steps *steps, size_t bytes)
{
    char *all = malloc(bytes * (size_t)steps->size);
    for (int i = 0; i < steps->size; i++) {
        char *place = current(steps, i)->to + (size_t)i * bytes;
        const char *from = current(steps, i)->from;
        ck_assert_msg(from == place || from + bytes <= current(steps, i)->to ||
                          from >= current(steps, i)->to +
                                      bytes * (size_t)steps->size,
                      "an in that overlaps out elsewhere than in its place");
        memcpy(all + (size_t)i * bytes, from, bytes);
    }
    for (int i = 0; i < steps->size; i++)
        memcpy(current(steps, i)->to, all, bytes * (size_t)steps->size);
    free(all);
}

/* All members are at one, and it is the same. */
static bool do_together(struct steps *steps)
{
    struct step *first = current(steps, 0);
    if (!first || first->kind < ALL_REDUCE)
        return false;
    for (int i = 0; i < steps->size; i++) {
        struct step *step = current(steps, i);
        ck_assert(
            step && step->kind == first->kind && step->bytes == first->bytes &&
            step->member == first->member && step->way.op == first->way.op &&
            step->way.type == first->way.type);
    }
    if (first->kind == ALL_GATHER)
        do_gather(steps, first->bytes);
    else if (first->kind != BROADCAST)
        do_reduction(steps, first);
    else
        for (int i = 0; i < steps->size; i++)
            memmove(current(steps, i)->to, current(steps, first->member)->from,
                    first->bytes);
    for (int i = 0; i < steps->size; i++)
        steps->members[i].next++;
    steps->collectives++;
    return true;
}

/* The first of a member's group that is not done; NULL. */
static struct step *find(struct steps *steps, int member, enum kind kind,
                         int other)
{
    struct step *step = current(steps, member);
    if (!step || step->kind != GROUP)
        return NULL;
    for (step++; step->kind != END; step++)
        if (!step->is_done && step->kind == kind && step->member == other)
            return step;
    return NULL;
}

static bool pass_message(struct steps *steps, int from, int to)
{
    struct step *sent = find(steps, from, SEND, to);
    struct step *wanted = find(steps, to, RECEIVE, from);
    if (!sent || !wanted)
        return false;
    ck_assert_uint_eq(sent->bytes, wanted->bytes);
    memmove(wanted->to, sent->from, sent->bytes);
    sent->is_done = wanted->is_done = true;
    return true;
}

static bool end_group(struct steps *steps, int member)
{
    struct step *step = current(steps, member);
    if (!step || step->kind != GROUP)
        return false;
    int length = 1;
    for (; step[length].kind != END; length++)
        if (!step[length].is_done)
            return false;
    steps->members[member].next += length + 1;
    steps->messages += length > 1;
    return true;
}

static bool do_groups(struct steps *steps)
{
    bool moved = false;
    for (int i = 0; i < steps->size; i++)
        for (int j = 0; j < steps->size; j++)
            while (pass_message(steps, i, j))
                moved = true;
    for (int i = 0; i < steps->size; i++)
        moved |= end_group(steps, i);
    return moved;
}

void steps_run(struct steps *steps)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < steps->size; i++)
            while (current(steps, i) && do_alone(current(steps, i))) {
                steps->members[i].next++;
                moved = true;
            }
        moved |= do_groups(steps);
        if (!moved)
            moved = do_together(steps);
    }
    for (int i = 0; i < steps->size; i++) {
        struct steps_member *m = &steps->members[i];
        ck_assert_msg(m->next == m->num_steps, "member %d hangs at step %d", i,
                      m->next);
        m->num_steps = m->next = 0;
        free((char *)(uintptr_t)m->scratch.begin);
        m->scratch = (struct steps_range){ 0 };
    }
}

/* ---- members ------------------------------------------------------------ */

struct steps *steps_of(int size, bool is_deterministic)
{
    struct steps *steps = calloc(1, sizeof *steps);
    struct jd_env *env = unit_env(is_deterministic ? "JD_DETERMINISTIC=1" : "");
    UNIT_OK(jd__options_resolve(env, NULL, 0, &steps->runtime.settings));
    jd__env_destroy(env);
    steps->size = size;
    for (int i = 0; i < size; i++)
        steps->members[i].comm = (struct jd_comm){ .runtime = &steps->runtime,
                                                   .size = size,
                                                   .index = i };
    return steps;
}

void steps_free(struct steps *steps)
{
    for (int i = 0; i < steps->size; i++)
        free(steps->members[i].steps);
    jd__options_destroy(steps->runtime.settings);
    free(steps);
}
