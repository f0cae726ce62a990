/* SPDX-License-Identifier: BSD-3-Clause */
/* segment.c - the control blocks of this process's members of teams. */
#include "collectives/cpu/shm/segment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Given, but perhaps still read by others. */
static struct {
    pthread_mutex_t lock;
    struct jd_held_control *first;
} given = { .lock = PTHREAD_MUTEX_INITIALIZER };

static jd_status take_plain(const struct jd_control_request *request,
                            size_t bytes, void **ret_memory)
{
    size_t rounded = (bytes + JD_CONTROL_ALIGNMENT - 1) / JD_CONTROL_ALIGNMENT *
                     JD_CONTROL_ALIGNMENT;
    void *memory = aligned_alloc(JD_CONTROL_ALIGNMENT, rounded);
    if (!memory)
        return jd__fail_no_memory(request->operation, rounded);
    memset(memory, 0, rounded);
    *ret_memory = memory;
    return JD_OK;
}

static jd_status take_shared(struct jd_arena *arena,
                             const struct jd_control_request *request,
                             size_t bytes, void **ret_memory)
{
    return jd__arena_alloc(arena,
                           &(struct jd_arena_request){
                               .operation = request->operation,
                               .bytes = bytes,
                               .alignment = JD_CONTROL_ALIGNMENT,
                               .numa_node = request->numa_node,
                           },
                           ret_memory);
}

jd_status jd__control_take(struct jd_arena *arena,
                           const struct jd_control_request *request,
                           struct jd_held_control **ret_held)
{
    size_t bytes = jd__control_size(request->most);
    void *memory;
    jd__controls_sweep();
    struct jd_held_control *held = calloc(1, sizeof *held);
    if (!held)
        return jd__fail_no_memory(request->operation, sizeof *held);
    jd_status status = arena ? take_shared(arena, request, bytes, &memory)
                             : take_plain(request, bytes, &memory);
    if (status != JD_OK) {
        free(held);
        return status;
    }
    held->control = memory;
    held->arena = arena;
    if (arena)
        jd__arena_offset(arena, memory, bytes, &held->offset);
    *ret_held = held;
    return JD_OK;
}

static void free_held(struct jd_held_control *held)
{
    if (held->arena)
        jd__arena_free(held->arena, held->control);
    else
        free(held->control);
    free(held);
}

void jd__control_give(struct jd_held_control *held, int team_size)
{
    if (!held)
        return;
    held->team_size = team_size;
    pthread_mutex_lock(&given.lock);
    held->next = given.first;
    given.first = held;
    pthread_mutex_unlock(&given.lock);
    jd__controls_sweep();
}

/* Takes those out that nobody reads any more. */
static struct jd_held_control *take_left(int *ret_remaining)
{
    struct jd_held_control *left = NULL;
    int remaining = 0;
    pthread_mutex_lock(&given.lock);
    for (struct jd_held_control **at = &given.first; *at;) {
        struct jd_held_control *held = *at;
        if (!jd__control_is_left(held->control, held->team_size)) {
            at = &held->next;
            remaining++;
            continue;
        }
        *at = held->next;
        held->next = left;
        left = held;
    }
    pthread_mutex_unlock(&given.lock);
    *ret_remaining = remaining;
    return left;
}

int jd__controls_sweep(void)
{
    int remaining;
    for (struct jd_held_control *held = take_left(&remaining), *next; held;
         held = next) {
        next = held->next;
        free_held(held);
    }
    return remaining;
}
