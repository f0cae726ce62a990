/* SPDX-License-Identifier: BSD-3-Clause */
/* shm.c - the members of a communicator that can see each other's memory. */
#include "collectives/cpu/shm/shm.h"
#include "collectives/cpu/heap/heap.h"
#include "collectives/cpu/shm/shm_cma.h"
#include "collectives/cpu/shm/shm_p2p.h"
#include "collectives/cpu/shm/shm_private.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

size_t jd__shm_segment_size(int group_size)
{
    return sizeof(struct jd_segment) + jd__shm_p2p_size(group_size);
}

size_t jd__shm_segment_alone_size(void)
{
    return offsetof(struct jd_segment, bounce) + JD_SHM_BOUNCE_ALONE;
}

/* The flags, and the begin of what is shared. */
size_t jd__shm_segment_zeros(void)
{
    return offsetof(struct jd_segment, bounce) + JD_CONTROL_ALIGNMENT;
}

static bool make_arrays(struct jd_shm_group *group,
                        const struct jd_shm_spec *spec)
{
    size_t size = (size_t)spec->size;
    group->members = malloc(size * sizeof *group->members);
    group->processes = malloc(size * sizeof *group->processes);
    group->ins = malloc(size * sizeof *group->ins);
    group->outs = malloc((size + 1) * sizeof *group->outs);
    group->p2p = jd__shm_p2p_create(spec->size);
    group->levels = spec->subgroups ? jd__shm_levels_create(spec) : NULL;
    if (!group->members || !group->processes || !group->ins || !group->outs ||
        !group->p2p || (spec->subgroups && !group->levels))
        return false;
    memcpy(group->members, spec->members, size * sizeof *group->members);
    group->is_one_process = true;
    for (int i = 0; i < spec->size; i++) {
        group->processes[i] = spec->members[i].process;
        if (group->processes[i] != group->processes[0])
            group->is_one_process = false;
    }
    return true;
}

static void free_group(struct jd_shm_group *group)
{
    free(group->members);
    free(group->processes);
    free(group->ins);
    free(group->outs);
    free(group->levels);
    free(group->scratch);
    jd__shm_p2p_destroy(group->p2p);
    free(group);
}

jd_status jd__shm_create(const struct jd_shm_spec *spec, const char *operation,
                         struct jd_shm_group **ret_group)
{
    struct jd_shm_group *group = calloc(1, sizeof *group);
    if (!group || !make_arrays(group, spec)) {
        if (group)
            free_group(group);
        return jd__fail_no_memory(operation,
                                  (size_t)spec->size * sizeof *group->members);
    }
    group->spec = *spec;
    group->spec.members = group->members;
    group->spec.subgroups = NULL;
    group->size = spec->size;
    group->index = spec->index;
    group->own = group->members[spec->index].control;
    group->spins = jd__shm_spins(spec);
    jd__shm_cma_publish(group);
    *ret_group = group;
    return JD_OK;
}

void jd__shm_destroy(struct jd_shm_group *group)
{
    if (!group)
        return;
    for (int i = 0; i < group->size; i++)
        if (i != group->index)
            atomic_fetch_add(&group->members[i].control->departed, 1);
    free_group(group);
}

bool jd__shm_segment_is_left(const struct jd_segment *control, int group_size)
{
    return atomic_load(&control->departed) >= (uint64_t)group_size - 1;
}

int jd__shm_size(const struct jd_shm_group *group)
{
    return group->size;
}

int jd__shm_index(const struct jd_shm_group *group)
{
    return group->index;
}

/* ---- meeting ------------------------------------------------------------ */

void jd__shm_begin(struct jd_shm_group *group, const char *operation,
                   const char *detail)
{
    group->spec.wait.operation = operation;
    group->spec.wait.detail = detail;
}

static struct jd_slot *slot_of(const struct jd_shm_group *group, int member)
{
    return &group->members[member].control->slots[group->round % 2];
}

/* Most calls are as the last but one, whose signature is there. */
static void tell_signature(struct jd_shm_group *group,
                           const struct jd_signature *signature)
{
    uint64_t turn = group->round % 2, digest = jd__signature_digest(signature);
    struct jd_signature *told = &group->own->signatures[turn];
    if (digest == group->digests[turn] && told->status == signature->status)
        return;
    group->digests[turn] = digest;
    *told = *signature;
}

/* Either this member then reads another's revocation, or that one reads this
 * round and waits until this member is revoked too: the one that gives up pays
 * for that order (shm_wait.c). */
static void post_signature(struct jd_shm_group *group,
                           const struct jd_signature *signature,
                           const void *payload, size_t bytes)
{
    group->round++;
    struct jd_slot *slot = slot_of(group, group->index);
    tell_signature(group, signature);
    slot->digest = group->digests[group->round % 2];
    if (bytes && payload != slot->payload)
        memcpy(slot->payload, payload, bytes);
    atomic_store_explicit(&slot->round, group->round, memory_order_release);
}

void *jd__shm_payload_space(const struct jd_shm_group *group)
{
    return group->own->slots[(group->round + 1) % 2].payload;
}

static jd_status check_usable(struct jd_shm_group *group)
{
    if (atomic_load_explicit(&group->own->is_aborted, memory_order_relaxed))
        jd__shm_revoke(group);
    return group->is_revoked ? jd__shm_fail_revoked(group) : JD_OK;
}

jd_status jd__shm_meet_alone(struct jd_shm_group *group)
{
    jd_status status = check_usable(group);
    if (status == JD_OK)
        group->round++;
    return status;
}

jd_status jd__shm_meet_merging(struct jd_shm_group *group,
                               const struct jd_signature *signature,
                               const void *payload, size_t bytes,
                               const struct jd_shm_merge *merge)
{
    assert(bytes <= JD_SHM_PAYLOAD);
    jd_status status = check_usable(group);
    if (status != JD_OK)
        return status;
    post_signature(group, signature, payload, bytes);
    return group->levels
               ? jd__shm_levels_meet(group, merge)
               : jd__shm_await_flags(group, JD_FLAG_ROUND, group->round);
}

jd_status jd__shm_meet(struct jd_shm_group *group,
                       const struct jd_signature *signature,
                       const void *payload, size_t bytes)
{
    return jd__shm_meet_merging(group, signature, payload, bytes, NULL);
}

const void *jd__shm_merged(const struct jd_shm_group *group)
{
    if (!group->levels)
        return NULL;
    const struct jd_handover *released = jd__shm_levels_released(group);
    return released->has_data ? released->data : NULL;
}

const struct jd_signature *jd__shm_signature(const struct jd_shm_group *group,
                                             int member)
{
    return &group->members[member].control->signatures[group->round % 2];
}

bool jd__shm_agrees(const struct jd_shm_group *group)
{
    uint64_t own = group->digests[group->round % 2];
    if (group->levels)
        return jd__shm_levels_released(group)->agrees;
    for (int i = 0; i < group->size; i++)
        if (i != group->index && slot_of(group, i)->digest != own)
            return false;
    return true;
}

const void *jd__shm_payload(const struct jd_shm_group *group, int member)
{
    return slot_of(group, member)->payload;
}

void jd__shm_leave(struct jd_shm_group *group)
{
    atomic_store_explicit(&group->own->left, group->round,
                          memory_order_release);
}

/* ---- steps -------------------------------------------------------------- */

/* A member that has revoked leaves its flags as they are. */
uint64_t jd__shm_advance(struct jd_shm_group *group)
{
    group->step++;
    if (!group->is_revoked)
        atomic_store_explicit(&group->own->step, group->step,
                              memory_order_release);
    return group->step;
}

uint64_t jd__shm_steps(const struct jd_shm_group *group)
{
    return group->step;
}

jd_status jd__shm_await(struct jd_shm_group *group, int member, uint64_t step)
{
    return jd__shm_await_word(group, member,
                              &group->members[member].control->step, step);
}

jd_status jd__shm_await_all(struct jd_shm_group *group, uint64_t step)
{
    return jd__shm_await_flags(group, JD_FLAG_STEP, step);
}

jd_status jd__shm_step(struct jd_shm_group *group)
{
    return jd__shm_await_all(group, jd__shm_advance(group));
}

/* ---- memory ------------------------------------------------------------- */

uint64_t jd__shm_place(const struct jd_shm_group *group, const void *data,
                       size_t bytes)
{
    const struct jd_shm_member *own = &group->members[group->index];
    uint64_t offset = (uintptr_t)data - (uintptr_t)own->heap;
    if (!own->heap || offset >= own->heap_size ||
        bytes > own->heap_size - offset)
        return JD_PLACE_PRIVATE;
    return offset;
}

/* Another thread may have opened it; asking is rare all the same. */
static bool is_open(struct jd_shm_member *member, uint64_t end)
{
    if (end > member->opened)
        member->opened = member->view ? jd__heap_view_open(member->view, end)
                                      : member->heap_size;
    return end <= member->opened;
}

void *jd__shm_at(const struct jd_shm_group *group, int member, uint64_t place,
                 size_t bytes)
{
    struct jd_shm_member *m = &group->members[member];
    if (!m->heap || place >= m->heap_size || bytes > m->heap_size - place)
        return NULL;
    return is_open(m, place + bytes) ? m->heap + place : NULL;
}

char *jd__shm_bounce(const struct jd_shm_group *group, int member)
{
    return group->members[member].control->bounce;
}
