/* SPDX-License-Identifier: BSD-3-Clause */
/* shm.c - the members of a clique that can see each other's memory. */
#include "collectives/cpu/shm/shm.h"
#include "collectives/cpu/heap/heap.h"
#include "collectives/cpu/shm/shm_cma.h"
#include "collectives/cpu/shm/shm_p2p.h"
#include "collectives/cpu/shm/shm_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

size_t jd__control_size(int team_size)
{
    return sizeof(struct jd_control) + jd__mail_size(team_size);
}

static bool make_arrays(struct jd_team *team, const struct jd_team_spec *spec)
{
    size_t size = (size_t)spec->size;
    team->members = malloc(size * sizeof *team->members);
    team->processes = malloc(size * sizeof *team->processes);
    team->ins = malloc(size * sizeof *team->ins);
    team->outs = malloc((size + 1) * sizeof *team->outs);
    team->mail = jd__mail_create(spec->size);
    if (!team->members || !team->processes || !team->ins || !team->outs ||
        !team->mail)
        return false;
    memcpy(team->members, spec->members, size * sizeof *team->members);
    team->is_one_process = true;
    for (int i = 0; i < spec->size; i++) {
        team->processes[i] = spec->members[i].process;
        if (team->processes[i] != team->processes[0])
            team->is_one_process = false;
    }
    return true;
}

static void free_team(struct jd_team *team)
{
    free(team->members);
    free(team->processes);
    free(team->ins);
    free(team->outs);
    free(team->scratch);
    jd__mail_destroy(team->mail);
    free(team);
}

jd_status jd__team_create(const struct jd_team_spec *spec,
                          const char *operation, struct jd_team **ret_team)
{
    struct jd_team *team = calloc(1, sizeof *team);
    if (!team || !make_arrays(team, spec)) {
        if (team)
            free_team(team);
        return jd__fail_no_memory(operation,
                                  (size_t)spec->size * sizeof *team->members);
    }
    team->spec = *spec;
    team->spec.members = team->members;
    team->size = spec->size;
    team->index = spec->index;
    team->own = team->members[spec->index].control;
    team->spins = jd__team_spins(spec);
    jd__sight_publish(team);
    *ret_team = team;
    return JD_OK;
}

void jd__team_destroy(struct jd_team *team)
{
    if (!team)
        return;
    for (int i = 0; i < team->size; i++)
        if (i != team->index)
            atomic_fetch_add(&team->members[i].control->departed, 1);
    free_team(team);
}

bool jd__control_is_left(const struct jd_control *control, int team_size)
{
    return atomic_load(&control->departed) >= (uint64_t)team_size - 1;
}

int jd__team_size(const struct jd_team *team)
{
    return team->size;
}

int jd__team_index(const struct jd_team *team)
{
    return team->index;
}

/* ---- meeting ------------------------------------------------------------ */

void jd__team_begin(struct jd_team *team, const char *operation,
                    const char *detail)
{
    team->spec.wait.operation = operation;
    team->spec.wait.detail = detail;
}

static struct jd_slot *slot_of(const struct jd_team *team, int member)
{
    return &team->members[member].control->slots[team->round % 2];
}

/* Most calls are as the last but one, whose signature is there. */
static void tell_signature(struct jd_team *team,
                           const struct jd_signature *signature)
{
    uint64_t turn = team->round % 2, digest = jd__signature_digest(signature);
    struct jd_signature *told = &team->own->signatures[turn];
    if (digest == team->digests[turn] && told->status == signature->status)
        return;
    team->digests[turn] = digest;
    *told = *signature;
}

/* Either this member then reads another's revocation, or that one reads this
 * round and waits until this member is revoked too: the one that gives up pays
 * for that order (shm_wait.c). */
static void post(struct jd_team *team, const struct jd_signature *signature,
                 const void *payload, size_t bytes)
{
    team->round++;
    struct jd_slot *slot = slot_of(team, team->index);
    tell_signature(team, signature);
    slot->digest = team->digests[team->round % 2];
    if (bytes && payload != slot->payload)
        memcpy(slot->payload, payload, bytes);
    atomic_store_explicit(&slot->round, team->round, memory_order_release);
}

void *jd__team_payload_space(const struct jd_team *team)
{
    return team->own->slots[(team->round + 1) % 2].payload;
}

jd_status jd__team_meet(struct jd_team *team,
                        const struct jd_signature *signature,
                        const void *payload, size_t bytes)
{
    assert(bytes <= JD_TEAM_PAYLOAD);
    if (atomic_load_explicit(&team->own->is_aborted, memory_order_relaxed))
        jd__team_revoke(team);
    if (team->is_revoked)
        return jd__team_fail_revoked(team);
    post(team, signature, payload, bytes);
    return jd__team_await_flags(team, JD_FLAG_ROUND, team->round);
}

const struct jd_signature *jd__team_signature(const struct jd_team *team,
                                              int member)
{
    return &team->members[member].control->signatures[team->round % 2];
}

bool jd__team_agrees(const struct jd_team *team)
{
    uint64_t own = team->digests[team->round % 2];
    for (int i = 0; i < team->size; i++)
        if (i != team->index && slot_of(team, i)->digest != own)
            return false;
    return true;
}

const void *jd__team_payload(const struct jd_team *team, int member)
{
    return slot_of(team, member)->payload;
}

void jd__team_leave(struct jd_team *team)
{
    atomic_store_explicit(&team->own->left, team->round, memory_order_release);
}

/* ---- steps -------------------------------------------------------------- */

/* A member that has revoked leaves its flags as they are. */
uint64_t jd__team_advance(struct jd_team *team)
{
    team->step++;
    if (!team->is_revoked)
        atomic_store_explicit(&team->own->step, team->step,
                              memory_order_release);
    return team->step;
}

uint64_t jd__team_steps(const struct jd_team *team)
{
    return team->step;
}

jd_status jd__team_await(struct jd_team *team, int member, uint64_t step)
{
    return jd__team_await_word(team, member,
                               &team->members[member].control->step, step);
}

jd_status jd__team_await_all(struct jd_team *team, uint64_t step)
{
    return jd__team_await_flags(team, JD_FLAG_STEP, step);
}

jd_status jd__team_step(struct jd_team *team)
{
    return jd__team_await_all(team, jd__team_advance(team));
}

/* ---- memory ------------------------------------------------------------- */

uint64_t jd__team_place(const struct jd_team *team, const void *data,
                        size_t bytes)
{
    const struct jd_team_member *own = &team->members[team->index];
    uint64_t offset = (uintptr_t)data - (uintptr_t)own->arena;
    if (!own->arena || offset >= own->arena_size ||
        bytes > own->arena_size - offset)
        return JD_PLACE_PRIVATE;
    return offset;
}

/* Another thread may have opened it; asking is rare all the same. */
static bool is_open(struct jd_team_member *member, uint64_t end)
{
    if (end > member->opened)
        member->opened = member->view ? jd__arena_view_open(member->view, end)
                                      : member->arena_size;
    return end <= member->opened;
}

void *jd__team_at(const struct jd_team *team, int member, uint64_t place,
                  size_t bytes)
{
    struct jd_team_member *m = &team->members[member];
    if (!m->arena || place >= m->arena_size || bytes > m->arena_size - place)
        return NULL;
    return is_open(m, place + bytes) ? m->arena + place : NULL;
}

char *jd__team_bounce(const struct jd_team *team, int member)
{
    return team->members[member].control->bounce;
}
