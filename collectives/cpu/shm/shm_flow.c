/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_flow.c - bytes that go from members of a group to members of it. */
#include "collectives/cpu/shm/shm_flow.h"
#include "collectives/cpu/shm/shm_private.h"

/* Measured: bench/collectives.md. */
struct jd_shm_flow_limits jd__shm_flow_limits = {
    .inline_bytes = 512,
    .straight_bytes = 0,
    .piece_bytes = 128 << 10,
};

/* ---- streams ------------------------------------------------------------ */

static size_t bytes_to(const struct jd_shm_flow *flow, int consumer)
{
    return flow->ops->bytes(flow, flow->group->index, consumer);
}

static size_t bytes_from(const struct jd_shm_flow *flow, int producer)
{
    return flow->ops->bytes(flow, producer, flow->group->index);
}

static size_t longest_given(const struct jd_shm_flow *flow)
{
    size_t longest = 0;
    for (int i = 0; i < flow->group->size; i++)
        if (i != flow->group->index && bytes_to(flow, i) > longest)
            longest = bytes_to(flow, i);
    return longest;
}

/* Streams of one producer to several consumers share its half. */
static size_t piece_of(const struct jd_shm_flow *flow)
{
    size_t consumers = flow->is_shared ? 1 : (size_t)flow->group->size - 1;
    size_t most = JD_SHM_EARLY / (consumers ? consumers : 1);
    if (most > JD_CACHE_LINE)
        most -= most % JD_CACHE_LINE;
    size_t piece = jd__shm_flow_limits.piece_bytes;
    return piece < most ? piece : most;
}

/* Where a producer's piece for a consumer is. The first one's place changes
 * from meeting to meeting: some may not have taken that of the last one when it
 * is given. */
static char *cell_of(const struct jd_shm_flow *flow, int producer, int consumer,
                     size_t stage, uint64_t round)
{
    struct jd_segment *control = flow->group->members[producer].control;
    int cell = flow->is_shared       ? 0
               : consumer < producer ? consumer
                                     : consumer - 1;
    size_t offset = (size_t)cell * piece_of(flow);
    if (stage == 0 && !flow->is_late)
        return control->early[round % 2] + offset;
    return control->bounce + stage % 2 * JD_SHM_HALF + offset;
}

/* The bytes of a stream that are in the piece of that stage. */
static size_t part_of(size_t bytes, size_t stage, size_t piece)
{
    size_t begin = stage * piece;
    size_t rest = begin < bytes ? bytes - begin : 0;
    return rest < piece ? rest : piece;
}

/* ---- giving ------------------------------------------------------------- */

void jd__shm_flow_choose(const struct jd_shm_flow *flow,
                         struct jd_given *ret_given)
{
    struct jd_given given = { .place = JD_PLACE_PRIVATE,
                              .bytes = flow->in_bytes };
    jd__shm_cma_try(flow->group);
    size_t longest = longest_given(flow);
    bool is_straight =
        !flow->overwrites && longest >= jd__shm_flow_limits.straight_bytes;
    if (longest && is_straight)
        given.place = jd__shm_place(flow->group, flow->in, flow->in_bytes);
    if (longest && given.place == JD_PLACE_PRIVATE) {
        if (is_straight && jd__shm_cma_is_free(flow->group, longest))
            given.address = (uintptr_t)flow->in;
        else
            given.longest = longest;
    }
    *ret_given = given;
}

static void give_stage(const struct jd_shm_flow *flow, size_t stage,
                       uint64_t round)
{
    int own = flow->group->index;
    size_t piece = piece_of(flow);
    for (int i = 0; i < flow->group->size; i++) {
        size_t bytes = i == own ? 0 : part_of(bytes_to(flow, i), stage, piece);
        if (bytes == 0)
            continue;
        flow->ops->give(flow, i, stage * piece, bytes,
                        cell_of(flow, own, i, stage, round));
        if (flow->is_shared)
            return;
    }
}

void jd__shm_flow_give(const struct jd_shm_flow *flow,
                       struct jd_given *ret_given)
{
    jd__shm_flow_choose(flow, ret_given);
    if (ret_given->longest)
        give_stage(flow, 0, flow->group->round + 1);
}

/* ---- stages ------------------------------------------------------------- */

/* What a run knows from what all told. */
struct run {
    const struct jd_shm_flow *flow;
    size_t stages;
    size_t piece;
    uint64_t base;    /* the step that says that stage s has been given is
                       * base + s */
    bool is_straight; /* for somebody */
};

static struct run make_run(const struct jd_shm_flow *flow)
{
    struct run run = { .flow = flow,
                       .piece = piece_of(flow),
                       .base = jd__shm_steps(flow->group) + flow->is_late };
    size_t longest = 0;
    for (int i = 0; i < flow->group->size; i++) {
        const struct jd_given *given = flow->ops->given(flow, i);
        if (given->longest > longest)
            longest = given->longest;
        if (given->place != JD_PLACE_PRIVATE || given->address)
            run.is_straight = true;
    }
    run.stages = (longest + run.piece - 1) / run.piece;
    return run;
}

static bool is_announced(const struct run *run, size_t stage)
{
    return stage > 0 || run->flow->is_late;
}

/* A consumer that has given a stage has taken the one before it. */
static jd_status await_consumers(const struct run *run, size_t stage)
{
    struct jd_shm_group *group = run->flow->group;
    jd_status status = JD_OK;
    for (int i = 0; i < group->size && status == JD_OK; i++)
        if (i != group->index && bytes_to(run->flow, i))
            status = jd__shm_await(group, i, run->base + stage - 1);
    return status;
}

static jd_status give_to_all(const struct run *run, size_t stage)
{
    struct jd_shm_group *group = run->flow->group;
    bool gives = run->flow->ops->given(run->flow, group->index)->longest;
    jd_status status = JD_OK;
    if (gives && stage >= 2)
        status = await_consumers(run, stage);
    if (status != JD_OK)
        return status;
    if (gives)
        give_stage(run->flow, stage, group->round);
    jd__shm_advance(group);
    return JD_OK;
}

static jd_status take_from(const struct run *run, int producer, size_t stage)
{
    const struct jd_shm_flow *flow = run->flow;
    struct jd_shm_group *group = flow->group;
    if (flow->ops->given(flow, producer)->longest == 0)
        return JD_OK;
    size_t bytes = part_of(bytes_from(flow, producer), stage, run->piece);
    if (bytes == 0)
        return JD_OK;
    if (is_announced(run, stage)) {
        jd_status status = jd__shm_await(group, producer, run->base + stage);
        if (status != JD_OK)
            return status;
    }
    flow->ops->take(flow, producer, stage * run->piece, bytes,
                    cell_of(flow, producer, group->index, stage, group->round));
    return JD_OK;
}

/* Each member begins with the one after itself. */
static jd_status take_from_all(const struct run *run, size_t stage)
{
    const struct jd_shm_group *group = run->flow->group;
    jd_status status = JD_OK;
    for (int i = 1; i < group->size && status == JD_OK; i++)
        status = take_from(run, (group->index + i) % group->size, stage);
    return status;
}

static jd_status run_stages(const struct run *run)
{
    jd_status status = JD_OK;
    for (size_t i = 0; i < run->stages && status == JD_OK; i++) {
        if (is_announced(run, i))
            status = give_to_all(run, i);
        if (status == JD_OK)
            status = take_from_all(run, i);
    }
    return status;
}

/* ---- straight ----------------------------------------------------------- */

static jd_status copy_from(const struct jd_shm_flow *flow, int producer)
{
    const struct jd_given *given = flow->ops->given(flow, producer);
    struct jd_shm_cma cma = { .data = (uintptr_t)flow->in };
    if (bytes_from(flow, producer) == 0)
        return JD_OK;
    if (producer != flow->group->index) {
        if (given->place == JD_PLACE_PRIVATE && !given->address)
            return JD_OK;
        cma = jd__shm_cma_of(flow->group, producer, given->place,
                             given->address, given->bytes);
    }
    jd_status status = flow->ops->copy(flow, producer, cma);
    return status == JD_OK ? JD_OK : jd__shm_let_go(flow->group, status);
}

/* After all pieces have been given: what is taken here may lie over them. */
static jd_status copy_all(const struct jd_shm_flow *flow)
{
    const struct jd_shm_group *group = flow->group;
    jd_status status = JD_OK;
    for (int i = 1; i <= group->size && status == JD_OK; i++)
        status = copy_from(flow, (group->index + i) % group->size);
    return status;
}

jd_status jd__shm_flow_run(const struct jd_shm_flow *flow)
{
    struct run run = make_run(flow);
    jd_status status = run_stages(&run);
    if (status == JD_OK)
        status = copy_all(flow);
    if (status != JD_OK)
        return status;
    bool has_steps = run.stages > 1 || (run.stages && flow->is_late);
    return run.is_straight || has_steps ? jd__shm_step(flow->group) : JD_OK;
}
