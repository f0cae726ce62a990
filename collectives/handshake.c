/* SPDX-License-Identifier: BSD-3-Clause */
/* handshake.c - the members of a clique-to-be find each other. */
#include "collectives/handshake.h"

#include <stdatomic.h>
#include <string.h>

/* To the lowest: tag is the sender's next one. From it: the group's tag (0:
 * none is left), or, where beliefs differ, two processes and their beliefs:
 * processes, as members who disagree may be numbered differently. */
struct hello {
    int32_t tag;
    int32_t odd, other; /* odd is -1 where all agree */
    int32_t padding;
    struct jd_belief belief;
    struct jd_belief other_belief;
};

/* Never given back, so that a message of a failed group meets nobody. */
static atomic_int next_tag = JD_TAG_FIRST_CLIQUE;

void jd__handshake_set_next_tag(int tag)
{
    atomic_store(&next_tag, tag);
}

static int lowest_member(const struct jd_group *group)
{
    int lowest = 0;
    for (int i = 1; i < jd__group_size(group); i++)
        if (jd__group_process(group, i) < jd__group_process(group, lowest))
            lowest = i;
    return lowest;
}

static bool differs(const struct hello *a, const struct hello *b)
{
    return a->belief.digest != b->belief.digest;
}

/* Writes two that differ into the answer: who agrees with the lowest is right
 * unless nobody does. */
static void compare(const struct jd_group *group, const struct hello *hellos,
                    struct hello *answer)
{
    int size = jd__group_size(group), lowest = jd__group_index(group);
    int differing = 0, odd = -1, other = lowest;
    for (int i = 0; i < size; i++)
        if (differs(&hellos[i], &hellos[lowest]) && differing++ == 0)
            odd = i;
    if (differing == size - 1 && size > 2) {
        other = odd;
        odd = lowest;
    }
    answer->odd = -1;
    if (differing) {
        answer->odd = jd__group_process(group, odd);
        answer->other = jd__group_process(group, other);
        answer->belief = hellos[odd].belief;
        answer->other_belief = hellos[other].belief;
    }
}

/* The highest that anybody offers: nobody has used it or one above it. */
static int choose_tag(const struct jd_group *group, const struct hello *hellos)
{
    int tag = 0, *limit = NULL, found = 0;
    for (int i = 0; i < jd__group_size(group); i++)
        tag = hellos[i].tag > tag ? hellos[i].tag : tag;
    MPI_Comm_get_attr(jd__group_runtime(group)->world.comm, MPI_TAG_UB, &limit,
                      &found);
    return found && tag >= *limit ? 0 : tag;
}

static jd_status answer_all(struct jd_group *group, struct hello *hellos,
                            struct hello *answer)
{
    int size = jd__group_size(group), index = jd__group_index(group);
    jd_status status = JD_OK;
    for (int i = 0; i < size && status == JD_OK; i++)
        if (i != index)
            status = jd__group_receive(group, i, &hellos[i], sizeof *hellos);
    if (status == JD_OK)
        status = jd__group_wait(group);
    if (status != JD_OK)
        return status;
    compare(group, hellos, answer);
    answer->tag = choose_tag(group, hellos);
    for (int i = 0; i < size && status == JD_OK; i++)
        if (i != index)
            status = jd__group_send(group, i, answer, sizeof *answer);
    return status == JD_OK ? jd__group_wait(group) : status;
}

static jd_status ask(struct jd_group *group, int lowest,
                     const struct hello *hello, struct hello *answer)
{
    jd_status status = jd__group_receive(group, lowest, answer, sizeof *answer);
    if (status == JD_OK)
        status = jd__group_send(group, lowest, hello, sizeof *hello);
    return status == JD_OK ? jd__group_wait(group) : status;
}

static jd_status read_answer(struct jd_group *group, const struct hello *answer)
{
    const char *operation = jd__group_operation(group);
    if (answer->odd >= 0)
        return jd_fail(
            JD_INVALID_ARGUMENT,
            "%s: process %d comes with a mesh %s, process %d with a mesh %s; "
            "all processes of a mesh make it of the same devices in the same "
            "order, with the same axes, and use their meshes in the same order",
            operation, answer->odd, answer->belief.text, answer->other,
            answer->other_belief.text);
    if (answer->tag == 0)
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "%s: this MPI has no tag left for another mesh; use a "
                       "mesh again instead of making new ones",
                       operation);
    int next = atomic_load(&next_tag);
    if (next <= answer->tag)
        atomic_store(&next_tag, answer->tag + 1);
    jd__group_set_tag(group, answer->tag);
    return JD_OK;
}

jd_status jd__handshake(struct jd_group *group, const struct jd_belief *belief)
{
    int size = jd__group_size(group), index = jd__group_index(group);
    if (size == 1)
        return JD_OK;
    size_t bytes = (size_t)(size + 1) * sizeof(struct hello);
    struct hello *hellos = jd__group_scratch(group, bytes);
    if (!hellos)
        return jd__fail_no_memory(jd__group_operation(group), bytes);
    memset(hellos, 0, bytes);
    struct hello *answer = &hellos[size];
    hellos[index].tag = atomic_load(&next_tag);
    hellos[index].belief = *belief;
    int lowest = lowest_member(group);
    jd_status status = index == lowest
                           ? answer_all(group, hellos, answer)
                           : ask(group, lowest, &hellos[index], answer);
    return status == JD_OK ? read_answer(group, answer) : status;
}
