/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_private.h - what the heap's files share. The process's own heap is
 * made from a spec of all zeros; tests make as many as they like.
 *
 *     struct jd_heap_spec spec = { .root = "/tmp/made-up" };
 *     status = jd__heap_create(&spec, "test", &heap);
 *     jd__heap_destroy(heap);
 */
#ifndef COLLECTIVES_CPU_HEAP_HEAP_PRIVATE_H
#define COLLECTIVES_CPU_HEAP_HEAP_PRIVATE_H

#include "collectives/cpu/heap/heap.h"
#include "collectives/cpu/heap/heap_extents.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

/* A huge page, and what a larger allocation is aligned to. */
#define JD_HEAP_HUGE ((uint64_t)2 << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* An allocation of this size or less is an object of a slab. */
#define JD_HEAP_SMALL ((size_t)64 << 10)
#define JD_HEAP_CLASSES 11 /* 64 bytes to 64 KiB */

/* What stands at the begin of the range, for neighbours. */
struct jd_heap_head {
    char magic[8]; /* "jdarena1" */
    uint64_t size;
    unsigned char nonce[16];
};
#define JD_HEAP_MAGIC "jdarena1"

struct jd_heap {
    /* From here on nothing changes once it is made. */
    char *base;
    uint64_t size;
    uint64_t page;
    int fd;
    uint64_t device, inode; /* what fd is, unless the program has closed it */
    bool is_limited;        /* by the size of the file system it is in */
    bool takes_huge;        /* pages, where they are asked for */
    bool gets_huge;         /* pages, also where nobody asks */
    bool takes_nodes;       /* there is more than one NUMA node */
    bool keeps_pages;       /* they cannot be given back one by one */
    const char *root;       /* "" or where tests have put limits */
    unsigned char nonce[16];
    char boot_id[40];
    struct jd_heap *inherited; /* the next of a forked child's */

    pthread_mutex_t lock; /* of what follows; not held while the system is
                           * asked for pages */
    struct jd_extents used, free;
    struct jd_slab *with_room[JD_HEAP_CLASSES];
    size_t bytes, allocations;
    uint64_t opened; /* what comes before it can be read and written, and
                      * would be in a core file */
};

/* Of the process's heap, the neighbours' and plain memory's list; also
 * taken around fork(). */
extern pthread_mutex_t jd__heap_globals;
void jd__heap_watch_forks(void);

/* The process's heap, where there is one already. */
struct jd_heap *jd__heap_existing(void);

/* ---- the range (heap_range.c) ------------------------------------------- */

struct jd_heap_spec {
    const char *root;   /* of the files that tell what there is; NULL: "" */
    uint64_t size;      /* 0: chosen */
    int processes;      /* that share this host; 0: one for each core */
    bool without_memfd; /* as if the system refused it */
    bool with_nodes;    /* as if there were several NUMA nodes */
};

/* Returns JD_OK; RESOURCE_EXHAUSTED, PERMISSION_DENIED naming operation. */
jd_status jd__heap_create(const struct jd_heap_spec *spec,
                          const char *operation, struct jd_heap **ret_heap);
void jd__heap_destroy(struct jd_heap *heap);

/* The whole file, at a multiple of a huge page, for nobody to read or write
 * yet; NULL with errno. */
char *jd__heap_map_file(int fd, uint64_t size);

/*
 * Opens such a mapping for reading and writing, up to end at least: *opened is
 * how far it is open. In steps, some of them ahead, so that few calls need one.
 * end is at most size. False with errno: the system has no room for another
 * mapping. Threads: one at a time for each mapping.
 */
bool jd__heap_open_range(char *base, uint64_t size, uint64_t end,
                         uint64_t *opened);

/* ---- pages (heap_pages.c) ----------------------------------------------- */

struct jd_pages {
    const char *operation;
    uint64_t begin, bytes; /* whole pages of the range */
    int numa_node;
};

/* Makes the pages exist, zeroed. Returns JD_OK; RESOURCE_EXHAUSTED, and
 * nothing is taken. Without the lock. */
jd_status jd__heap_pages_take(struct jd_heap *heap,
                              const struct jd_pages *pages);
void jd__heap_pages_give(const struct jd_heap *heap, uint64_t begin,
                         uint64_t bytes);

/* The range up to end can be read and written. Returns JD_OK;
 * RESOURCE_EXHAUSTED naming operation. Without the lock. */
jd_status jd__heap_pages_open(struct jd_heap *heap, const char *operation,
                              uint64_t end);

/* Whether the system took them back. */
bool jd__heap_pages_punch(const struct jd_heap *heap, uint64_t begin,
                          uint64_t bytes);

/* Whether fd still is the heap's: a program may close what it has not
 * opened, and its own file may have the number now. Async-signal-safe. */
bool jd__heap_has_file(const struct jd_heap *heap);

/* ---- whole extents (heap_blocks.c) -------------------------------------- */

/* An extent with its pages; nobody's yet (asked is 0). */
jd_status jd__heap_block_take(struct jd_heap *heap,
                              const struct jd_heap_request *request,
                              uint64_t *ret_begin);
/* The lock is not held, and the extent's asked and slab are 0. */
void jd__heap_block_give(struct jd_heap *heap, uint64_t begin);

/* ---- small allocations (heap_slabs.c) ----------------------------------- */

/* The request's alignment is a power of two, at most JD_HEAP_SMALL. */
jd_status jd__heap_slab_alloc(struct jd_heap *heap,
                              const struct jd_heap_request *request,
                              void **ret_memory);

/* With the lock. The bytes asked for the object that begins at the offset,
 * or 0. */
size_t jd__heap_slab_size_of(const struct jd_slab *slab, uint64_t offset);

/* With the lock. The object is one that jd__heap_slab_size_of knows. True where
 * the slab is empty and not to be kept: its block is then to be given. */
bool jd__heap_slab_free(struct jd_heap *heap, struct jd_slab *slab,
                        uint64_t offset);
void jd__heap_slab_destroy(struct jd_slab *slab);

#endif
