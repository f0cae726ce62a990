/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_range.c - making an arena: how large its range may be, the file
 * behind it, where it is mapped, and the nonce by which others know it.
 */
#include "collectives/cpu/heap/heap_private.h"
#include "runtime/topology/host.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

#define SMALLEST ((uint64_t)16 << 20)

/* Half of the addresses that a process has on x86-64; each process of a host
 * maps all their arenas. */
#define ADDRESSES ((uint64_t)1 << 46)

/* ---- how large ---------------------------------------------------------- */

static uint64_t minimum(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Twice the host's memory, so that holes between allocations do not make the
 * range too small before memory is. */
static uint64_t host_size(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 ? 2 * (uint64_t)pages * (uint64_t)page : SMALLEST;
}

static uint64_t limit_of(int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

/* The addresses that RLIMIT_AS leaves for each of the arenas: half, as the
 * program needs some too. */
static uint64_t address_share(int processes)
{
    uint64_t limit = limit_of(RLIMIT_AS);
    unsigned long long pages = 0;
    if (limit == UINT64_MAX)
        return ADDRESSES / (uint64_t)processes;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file) {
        if (fscanf(file, "%llu", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return used < limit ? (limit - used) / 2 / (uint64_t)processes : 0;
}

static jd_status choose_size(const struct jd_arena_spec *spec,
                             const char *operation, uint64_t *ret_size)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int processes = spec->processes > 0 ? spec->processes
                    : cores > 0         ? (int)cores
                                        : 1;
    uint64_t file = limit_of(RLIMIT_FSIZE);
    uint64_t addresses = address_share(processes);
    uint64_t size = spec->size ? spec->size : host_size();
    size = minimum(size, minimum(file, addresses)) & ~(JD_ARENA_HUGE - 1);
    *ret_size = size;
    if (size >= SMALLEST)
        return JD_OK;
    bool is_file = file <= addresses;
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s: memory that this host's processes share needs at "
                   "least %" PRIu64 " bytes, and the limit on %s leaves "
                   "%" PRIu64 "; raise it (%s)",
                   operation, SMALLEST, is_file ? "files" : "addresses",
                   minimum(file, addresses),
                   is_file ? "ulimit -f" : "ulimit -v");
}

/* ---- the file ----------------------------------------------------------- */

static int open_memfd(void)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("jd-arena", flags | MFD_NOEXEC_SEAL);
    return fd < 0 && errno == EINVAL ? memfd_create("jd-arena", flags) : fd;
}

/* The file never has a name, so nothing has to be removed. */
static jd_status open_file(const struct jd_arena_spec *spec,
                           const char *operation, struct jd_arena *arena)
{
    errno = EPERM;
    arena->fd = spec->without_memfd ? -1 : open_memfd();
    int first = errno;
    if (arena->fd < 0) {
        arena->fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        arena->is_limited = true;
    }
    if (arena->fd < 0)
        return jd_fail(JD_PERMISSION_DENIED,
                       "%s: no memory can be shared with this host's other "
                       "processes: memfd_create: %s; a file in /dev/shm: %s",
                       operation, strerror(first), strerror(errno));
    struct stat facts;
    fstat(arena->fd, &facts);
    arena->device = facts.st_dev;
    arena->inode = facts.st_ino;
    return JD_OK;
}

/* Nobody who opens the file can make it shorter under the others' feet. */
static jd_status size_file(struct jd_arena *arena, const char *operation)
{
    if (ftruncate(arena->fd, (off_t)arena->size) != 0)
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "%s: a sparse file of %" PRIu64 " bytes for memory that "
                       "this host's processes share was refused (ftruncate: "
                       "%s)",
                       operation, arena->size, strerror(errno));
    fcntl(arena->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    return JD_OK;
}

bool jd__arena_has_file(const struct jd_arena *arena)
{
    struct stat facts;
    return arena->fd >= 0 && fstat(arena->fd, &facts) == 0 &&
           facts.st_dev == arena->device && facts.st_ino == arena->inode;
}

/* ---- the mapping -------------------------------------------------------- */

/* How much is opened at a time at least; a quarter of what is open already
 * where that is more, so that a large range takes few steps. */
#define OPEN_STEP ((uint64_t)64 << 20)

/* Addresses that begin at a multiple of a huge page, for the kernel to map
 * huge pages there. */
static char *reserve_addresses(uint64_t size)
{
    char *all = mmap(NULL, size + JD_ARENA_HUGE, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    uint64_t before = -(uintptr_t)all & (JD_ARENA_HUGE - 1);
    if (before)
        munmap(all, before);
    munmap(all + before + size, JD_ARENA_HUGE - before);
    return all + before;
}

/*
 * Mapped without access: a process that has called mlockall(MCL_FUTURE) would
 * otherwise get every page of it here and now, and a debugger that keeps track
 * of each byte, as valgrind does, would be at it for minutes.
 */
char *jd__arena_map_file(int fd, uint64_t size)
{
    char *base = reserve_addresses(size);
    if (!base)
        return NULL;
    void *mapped = mmap(base, size, PROT_NONE,
                        MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
    if (mapped != MAP_FAILED && munlock(base, size) == 0)
        return base;
    int error = errno;
    munmap(base, size);
    errno = error;
    return NULL;
}

bool jd__arena_open_range(char *base, uint64_t size, uint64_t end,
                          uint64_t *opened)
{
    uint64_t step = *opened / 4 > OPEN_STEP ? *opened / 4 : OPEN_STEP;
    uint64_t wanted = minimum(*opened + step, size);
    if (end <= *opened)
        return true;
    if (wanted < end)
        wanted = minimum((end + OPEN_STEP - 1) / OPEN_STEP * OPEN_STEP, size);
    if (mprotect(base + *opened, wanted - *opened, PROT_READ | PROT_WRITE) != 0)
        return false;
    *opened = wanted;
    return true;
}

/* Where there is no room for the whole range, a smaller one may do. */
static jd_status map_range(struct jd_arena *arena, const char *operation)
{
    uint64_t first = arena->size;
    while (!(arena->base = jd__arena_map_file(arena->fd, arena->size)) &&
           arena->size / 2 >= SMALLEST)
        arena->size = arena->size / 2 & ~(JD_ARENA_HUGE - 1);
    if (arena->base)
        return JD_OK;
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s: no addresses for memory that this host's processes "
                   "share, neither for %" PRIu64 " bytes nor for %" PRIu64
                   " (mmap: %s); raise the limits (ulimit -v, ulimit -l)",
                   operation, first, arena->size, strerror(errno));
}

/* ---- the arena ---------------------------------------------------------- */

/* What this system is, as far as it makes a difference. */
static void look_around(struct jd_arena *arena,
                        const struct jd_arena_spec *spec)
{
    char text[128];
    arena->root = spec->root ? spec->root : "";
    arena->page = (uint64_t)sysconf(_SC_PAGESIZE);
    jd__host_boot_id(arena->boot_id, sizeof arena->boot_id);
    jd__host_read_line(arena->root,
                       "/sys/kernel/mm/transparent_hugepage/shmem_enabled",
                       text, sizeof text);
    arena->takes_huge =
        text[0] && !strstr(text, "[never]") && !strstr(text, "[deny]");
    arena->gets_huge = arena->takes_huge && !strstr(text, "[advise]");
    jd__host_read_line(arena->root, "/sys/devices/system/node/online", text,
                       sizeof text);
    arena->takes_nodes = spec->with_nodes || strpbrk(text, ",-");
}

/* The first page is the head's; everything else is free. */
static jd_status prepare(struct jd_arena *arena, const char *operation)
{
    struct jd_pages first = { .operation = operation,
                              .bytes = arena->page,
                              .numa_node = -1 };
    struct jd_arena_head head = { .size = arena->size };

    madvise(arena->base, arena->size, MADV_DONTDUMP);
    if (arena->takes_huge)
        madvise(arena->base, arena->size, MADV_NOHUGEPAGE);
    jd_status status = jd__pages_open(arena, operation, arena->page);
    if (status != JD_OK)
        return status;
    arena->keeps_pages = !jd__pages_punch(arena, 0, arena->page);
    if (!jd__extents_reserve(&arena->free, 2))
        return jd__fail_no_memory(operation, sizeof *arena->free.at);
    jd__extents_put_back(&arena->free, arena->page, arena->size - arena->page);
    status = jd__pages_take(arena, &first);
    if (status != JD_OK)
        return status;
    randombytes_buf(arena->nonce, sizeof arena->nonce);
    memcpy(head.magic, JD_ARENA_MAGIC, sizeof head.magic);
    memcpy(head.nonce, arena->nonce, sizeof head.nonce);
    memcpy(arena->base, &head, sizeof head);
    return JD_OK;
}

static jd_status build(struct jd_arena *arena, const struct jd_arena_spec *spec,
                       const char *operation)
{
    jd_status status = choose_size(spec, operation, &arena->size);
    if (status == JD_OK)
        status = open_file(spec, operation, arena);
    if (status == JD_OK)
        status = size_file(arena, operation);
    if (status == JD_OK)
        status = map_range(arena, operation);
    return status == JD_OK ? prepare(arena, operation) : status;
}

jd_status jd__arena_create(const struct jd_arena_spec *spec,
                           const char *operation, struct jd_arena **ret_arena)
{
    struct jd_arena *arena = calloc(1, sizeof *arena);
    if (!arena)
        return jd__fail_no_memory(operation, sizeof *arena);
    if (sodium_init() < 0) {
        free(arena);
        return jd_fail(JD_INTERNAL, "%s: libsodium cannot start", operation);
    }
    arena->fd = -1;
    pthread_mutex_init(&arena->lock, NULL);
    look_around(arena, spec);
    jd_status status = build(arena, spec, operation);
    if (status == JD_OK)
        *ret_arena = arena;
    else
        jd__arena_destroy(arena);
    return status;
}

void jd__arena_destroy(struct jd_arena *arena)
{
    if (!arena)
        return;
    for (size_t i = 0; i < arena->used.count; i++)
        jd__slab_destroy(arena->used.at[i].slab);
    if (arena->base)
        munmap(arena->base, arena->size);
    if (jd__arena_has_file(arena))
        close(arena->fd);
    jd__extents_finish(&arena->used);
    jd__extents_finish(&arena->free);
    pthread_mutex_destroy(&arena->lock);
    free(arena);
}
