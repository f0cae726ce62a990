/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap.h - memory of this process that the host's other processes can map:
 * one sparse range of addresses, a file without a name behind it, from which
 * jd_device_alloc() on cpu and the communicators' own blocks are cut.
 *
 *     struct jd_heap *heap = jd__heap_get("jd_device_alloc");
 *     status = jd__heap_alloc(heap, &(struct jd_heap_request){ ... }, &p);
 *     ...
 *     jd__heap_describe(heap, &desc);             to a neighbour, who
 *     status = jd__heap_map(&desc, &view);         maps all of it, once,
 *     jd__heap_view_open(view, offset + bytes)     as far as it looks
 *     p_there = jd__heap_view_base(view) + offset;
 *
 * A process has one heap, made at its first use and kept until the process
 * ends, across jd_shutdown(): what a program has allocated stays its own. The
 * kernel frees it with the last process that maps it; nothing is left behind,
 * whatever kills a process. Space is taken from the system before a pointer is
 * handed out, and given back when it is freed, so that too little memory is
 * RESOURCE_EXHAUSTED and never a signal in the middle of a collective.
 *
 * The range is readable as far as memory was handed out, and a step further;
 * neighbours open what they have mapped as far as they need it. A program that
 * calls mlockall(MCL_CURRENT) once it is made locks, and so takes, what is
 * open; MCL_FUTURE before that does no harm.
 *
 * A forked child shares the memory with its parent, and must not use it; its
 * own first use makes a heap of its own.
 * Threads: any.
 */
#ifndef COLLECTIVES_CPU_HEAP_HEAP_H
#define COLLECTIVES_CPU_HEAP_HEAP_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_heap;
struct jd_heap_view;

/*
 * This process's heap; NULL with RESOURCE_EXHAUSTED or PERMISSION_DENIED in
 * jd_error_message() naming operation where the system allows none (memfd and
 * a file in /dev/shm both refused, no address space): then memory is plain,
 * and neighbours are reached by MPI.
 */
struct jd_heap *jd__heap_get(const char *operation);

/*
 * How many processes of the job share this host, said before the heap is
 * made: they share the addresses that each of them has. Not said, one for each
 * core is assumed. Later it changes nothing.
 */
void jd__heap_expect(int processes);

struct jd_heap_request {
    const char *operation; /* for sentences */
    size_t bytes;          /* > 0 */
    size_t alignment;      /* a power of two; 0: 64 */
    int numa_node;         /* where its pages are put first; -1: anywhere */
};

/*
 * Zeroed memory, reserved. Returns JD_OK; RESOURCE_EXHAUSTED naming
 * the operation, the size asked for, what there is (cgroup limit, MemAvailable,
 * room in the file system, heap) and what limits it.
 */
jd_status jd__heap_alloc(struct jd_heap *heap,
                         const struct jd_heap_request *request,
                         void **ret_memory);

/* memory is what jd__heap_alloc gave; NULL is allowed. Whole pages go back
 * to the system. False where no allocation begins there: nothing is done. */
bool jd__heap_free(struct jd_heap *heap, void *memory);

/* The bytes that jd__heap_alloc was asked for, or 0 where memory is not the
 * begin of an allocation. */
size_t jd__heap_size_of(struct jd_heap *heap, const void *memory);

/*
 * Whether all of [data, data + bytes) lies inside the heap's range; its offset
 * from the base. A few instructions, no lock. heap may be NULL (false).
 */
bool jd__heap_offset(const struct jd_heap *heap, const void *data, size_t bytes,
                     uint64_t *ret_offset);

/* ---- neighbours --------------------------------------------------------- */

/* What a neighbour needs to map a heap and to know that it is the right
 * one: plain bytes, for a message. */
struct jd_heap_desc {
    uint64_t size;           /* bytes of addresses */
    unsigned char nonce[16]; /* also at the begin of the heap */
    char host[48];           /* boot id: others need not try */
    int32_t pid;             /* in its own namespace */
    int32_t descriptor;      /* /proc/PID/fd/DESCRIPTOR */
};

void jd__heap_describe(const struct jd_heap *heap,
                       struct jd_heap_desc *ret_desc);

/*
 * Maps a neighbour's heap, or finds that it is mapped already (also this
 * process's own: the view is then the heap itself). Kept while views of it
 * are open.
 * Returns JD_OK; UNAVAILABLE with the reason (another host, the descriptor
 * cannot be opened, no address space, a nonce that is not there): then this
 * neighbour is reached by MPI.
 */
jd_status jd__heap_map(const struct jd_heap_desc *desc,
                       struct jd_heap_view **ret_view);
void jd__heap_unmap(struct jd_heap_view *view);

char *jd__heap_view_base(const struct jd_heap_view *view);

/*
 * Makes the first end bytes readable and writable here, where they are not
 * yet. Returns how many are: less than end where the system refused, or where
 * the heap has not so many.
 */
uint64_t jd__heap_view_open(struct jd_heap_view *view, uint64_t end);

/* What is in use, for tests and for reports: bytes handed out and how many
 * allocations. */
void jd__heap_usage(struct jd_heap *heap, size_t *ret_bytes,
                    size_t *ret_allocations);

#endif
