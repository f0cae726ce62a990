/* SPDX-License-Identifier: BSD-3-Clause */
/* segment.c - the segments of this process's members of groups. */
#include "collectives/cpu/shm/segment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Given, but perhaps still read by others. */
static struct {
    pthread_mutex_t lock;
    struct jd_held_segment *first;
} given = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Pages behind the zeros are the system's until something is written there. */
static jd_status take_plain(const struct jd_segment_request *request,
                            size_t bytes, size_t zeros, void **ret_memory)
{
    size_t rounded = (bytes + JD_CONTROL_ALIGNMENT - 1) / JD_CONTROL_ALIGNMENT *
                     JD_CONTROL_ALIGNMENT;
    void *memory = aligned_alloc(JD_CONTROL_ALIGNMENT, rounded);
    if (!memory)
        return jd__fail_no_memory(request->operation, rounded);
    memset(memory, 0, zeros);
    *ret_memory = memory;
    return JD_OK;
}

static jd_status take_shared(struct jd_heap *heap,
                             const struct jd_segment_request *request,
                             size_t bytes, void **ret_memory)
{
    return jd__heap_alloc(heap,
                          &(struct jd_heap_request){
                              .operation = request->operation,
                              .bytes = bytes,
                              .alignment = JD_CONTROL_ALIGNMENT,
                              .numa_node = request->numa_node,
                          },
                          ret_memory);
}

jd_status jd__segment_take(struct jd_heap *heap,
                           const struct jd_segment_request *request,
                           struct jd_held_segment **ret_held)
{
    size_t bytes = request->is_alone ? jd__shm_segment_alone_size()
                                     : jd__shm_segment_size(request->most);
    size_t zeros = request->is_alone ? jd__shm_segment_zeros() : bytes;
    void *memory;
    if (request->is_alone)
        heap = NULL;
    jd__segment_sweep();
    struct jd_held_segment *held = calloc(1, sizeof *held);
    if (!held)
        return jd__fail_no_memory(request->operation, sizeof *held);
    jd_status status = heap ? take_shared(heap, request, bytes, &memory)
                            : take_plain(request, bytes, zeros, &memory);
    if (status != JD_OK) {
        free(held);
        return status;
    }
    held->control = memory;
    held->heap = heap;
    if (heap)
        jd__heap_offset(heap, memory, bytes, &held->offset);
    *ret_held = held;
    return JD_OK;
}

static void free_held(struct jd_held_segment *held)
{
    if (held->heap)
        jd__heap_free(held->heap, held->control);
    else
        free(held->control);
    free(held);
}

void jd__segment_give(struct jd_held_segment *held, int group_size)
{
    if (!held)
        return;
    held->group_size = group_size;
    pthread_mutex_lock(&given.lock);
    held->next = given.first;
    given.first = held;
    pthread_mutex_unlock(&given.lock);
    jd__segment_sweep();
}

/* Takes those out that nobody reads any more. */
static struct jd_held_segment *take_left(int *ret_remaining)
{
    struct jd_held_segment *left = NULL;
    int remaining = 0;
    pthread_mutex_lock(&given.lock);
    for (struct jd_held_segment **at = &given.first; *at;) {
        struct jd_held_segment *held = *at;
        if (!jd__shm_segment_is_left(held->control, held->group_size)) {
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

int jd__segment_sweep(void)
{
    int remaining;
    for (struct jd_held_segment *held = take_left(&remaining), *next; held;
         held = next) {
        next = held->next;
        free_held(held);
    }
    return remaining;
}
