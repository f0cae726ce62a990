/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_private.h - what the arena's files share. The process's own arena is
 * made from a spec of all zeros; tests make as many as they like.
 *
 *     struct jd_arena_spec spec = { .root = "/tmp/made-up" };
 *     status = jd__arena_create(&spec, "test", &arena);
 *     jd__arena_destroy(arena);
 */
#ifndef COLLECTIVES_CPU_HEAP_HEAP_PRIVATE_H
#define COLLECTIVES_CPU_HEAP_HEAP_PRIVATE_H

#include "collectives/cpu/heap/heap.h"
#include "collectives/cpu/heap/heap_extents.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

/* A huge page, and what a larger allocation is aligned to. */
#define JD_ARENA_HUGE ((uint64_t)2 << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* An allocation of this size or less is an object of a slab. */
#define JD_ARENA_SMALL ((size_t)64 << 10)
#define JD_ARENA_CLASSES 11 /* 64 bytes to 64 KiB */

/* What stands at the begin of the range, for neighbours. */
struct jd_arena_head {
    char magic[8]; /* "jdarena1" */
    uint64_t size;
    unsigned char nonce[16];
};
#define JD_ARENA_MAGIC "jdarena1"

struct jd_arena {
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
    struct jd_arena *inherited; /* the next of a forked child's */

    pthread_mutex_t lock; /* of what follows; not held while the system is
                           * asked for pages */
    struct jd_extents used, free;
    struct jd_slab *with_room[JD_ARENA_CLASSES];
    size_t bytes, allocations;
    uint64_t opened; /* what comes before it can be read and written, and
                      * would be in a core file */
};

/* Of the process's arena, the neighbours' and plain memory's list; also
 * taken around fork(). */
extern pthread_mutex_t jd__arena_globals;
void jd__arena_watch_forks(void);

/* The process's arena, where there is one already. */
struct jd_arena *jd__arena_existing(void);

/* ---- the range (heap_range.c) ------------------------------------------- */

struct jd_arena_spec {
    const char *root;   /* of the files that tell what there is; NULL: "" */
    uint64_t size;      /* 0: chosen */
    int processes;      /* that share this host; 0: one for each core */
    bool without_memfd; /* as if the system refused it */
    bool with_nodes;    /* as if there were several NUMA nodes */
};

/* Returns JD_OK; RESOURCE_EXHAUSTED, PERMISSION_DENIED naming operation. */
jd_status jd__arena_create(const struct jd_arena_spec *spec,
                           const char *operation, struct jd_arena **ret_arena);
void jd__arena_destroy(struct jd_arena *arena);

/* The whole file, at a multiple of a huge page, for nobody to read or write
 * yet; NULL with errno. */
char *jd__arena_map_file(int fd, uint64_t size);

/*
 * Opens such a mapping for reading and writing, up to end at least: *opened is
 * how far it is open. In steps, some of them ahead, so that few calls need one.
 * end is at most size. False with errno: the system has no room for another
 * mapping. Threads: one at a time for each mapping.
 */
bool jd__arena_open_range(char *base, uint64_t size, uint64_t end,
                          uint64_t *opened);

/* ---- pages (heap_pages.c) ----------------------------------------------- */

struct jd_pages {
    const char *operation;
    uint64_t begin, bytes; /* whole pages of the range */
    int numa_node;
};

/* Makes the pages exist, zeroed. Returns JD_OK; RESOURCE_EXHAUSTED, and
 * nothing is taken. Without the lock. */
jd_status jd__pages_take(struct jd_arena *arena, const struct jd_pages *pages);
void jd__pages_give(const struct jd_arena *arena, uint64_t begin,
                    uint64_t bytes);

/* The range up to end can be read and written. Returns JD_OK;
 * RESOURCE_EXHAUSTED naming operation. Without the lock. */
jd_status jd__pages_open(struct jd_arena *arena, const char *operation,
                         uint64_t end);

/* Whether the system took them back. */
bool jd__pages_punch(const struct jd_arena *arena, uint64_t begin,
                     uint64_t bytes);

/* Whether fd still is the arena's: a program may close what it has not
 * opened, and its own file may have the number now. Async-signal-safe. */
bool jd__arena_has_file(const struct jd_arena *arena);

/* ---- whole extents (heap_blocks.c) -------------------------------------- */

/* An extent with its pages; nobody's yet (asked is 0). */
jd_status jd__block_take(struct jd_arena *arena,
                         const struct jd_arena_request *request,
                         uint64_t *ret_begin);
/* The lock is not held, and the extent's asked and slab are 0. */
void jd__block_give(struct jd_arena *arena, uint64_t begin);

/* ---- small allocations (heap_slabs.c) ----------------------------------- */

/* The request's alignment is a power of two, at most JD_ARENA_SMALL. */
jd_status jd__slab_alloc(struct jd_arena *arena,
                         const struct jd_arena_request *request,
                         void **ret_memory);

/* With the lock. The bytes asked for the object that begins at the offset,
 * or 0. */
size_t jd__slab_size_of(const struct jd_slab *slab, uint64_t offset);

/* With the lock. The object is one that jd__slab_size_of knows. True where
 * the slab is empty and not to be kept: its block is then to be given. */
bool jd__slab_free(struct jd_arena *arena, struct jd_slab *slab,
                   uint64_t offset);
void jd__slab_destroy(struct jd_slab *slab);

#endif
