/* SPDX-License-Identifier: BSD-3-Clause */
/* handshake.c - the members of a clique-to-be find each other. */
#include "collectives/handshake.h"

#include <string.h>

/* To the lowest. From it, where beliefs differ: two processes and what they
 * believe; processes, as members who disagree may be numbered differently. */
struct hello {
    int32_t odd, other; /* odd is -1 where all agree */
    struct jd_belief belief;
    struct jd_belief other_belief;
};

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
    if (answer->odd < 0)
        return JD_OK;
    return jd_fail(
        JD_INVALID_ARGUMENT,
        "%s: process %d comes with a mesh %s, process %d with a mesh %s; "
        "all processes of a mesh make it of the same devices in the same "
        "order, with the same axes, and use their meshes in the same order",
        jd__group_operation(group), answer->odd, answer->belief.text,
        answer->other, answer->other_belief.text);
}

jd_status jd__compare_beliefs(struct jd_group *group,
                              const struct jd_belief *belief)
{
    int size = jd__group_size(group), index = jd__group_index(group);
    size_t bytes = (size_t)(size + 1) * sizeof(struct hello);
    if (size == 1)
        return JD_OK;
    struct hello *hellos = jd__group_scratch(group, bytes);
    if (!hellos)
        return jd__fail_no_memory(jd__group_operation(group), bytes);
    memset(hellos, 0, bytes);
    struct hello *answer = &hellos[size];
    hellos[index].belief = *belief;
    int lowest = lowest_member(group);
    jd_status status = index == lowest
                           ? answer_all(group, hellos, answer)
                           : ask(group, lowest, &hellos[index], answer);
    return status == JD_OK ? read_answer(group, answer) : status;
}
