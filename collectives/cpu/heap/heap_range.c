/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_range.c - making a heap: how large its range may be, the file
 * behind it, where it is mapped, and the nonce by which others know it.
 */
#include "collectives/cpu/heap/heap_private.h"
#include "base/memfd.h"
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

#define SMALLEST ((uint64_t)16 << 20)

/* Half of the addresses that a process has on x86-64; each process of a host
 * maps all their heaps. */
#define ADDRESSES ((uint64_t)1 << 46)

/* ---- how large ---------------------------------------------------------- */

static uint64_t smaller_of(uint64_t one, uint64_t other)
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

/* The addresses that RLIMIT_AS leaves for each of the heaps: half, as the
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

static jd_status choose_size(const struct jd_heap_spec *spec,
                             const char *operation, uint64_t *ret_size)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int processes = spec->processes > 0 ? spec->processes
                    : cores > 0         ? (int)cores
                                        : 1;
    uint64_t file = limit_of(RLIMIT_FSIZE);
    uint64_t addresses = address_share(processes);
    uint64_t size = spec->size ? spec->size : host_size();
    size = smaller_of(size, smaller_of(file, addresses)) & ~(JD_HEAP_HUGE - 1);
    *ret_size = size;
    if (size >= SMALLEST)
        return JD_OK;
    bool is_file = file <= addresses;
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s: memory that this host's processes share needs at "
                   "least %" PRIu64 " bytes, and the limit on %s leaves "
                   "%" PRIu64 "; raise it (%s)",
                   operation, SMALLEST, is_file ? "files" : "addresses",
                   smaller_of(file, addresses),
                   is_file ? "ulimit -f" : "ulimit -v");
}

/* ---- the file ----------------------------------------------------------- */

/* The file never has a name, so nothing has to be removed. */
static jd_status open_file(const struct jd_heap_spec *spec,
                           const char *operation, struct jd_heap *heap)
{
    errno = EPERM;
    heap->fd = spec->without_memfd ? -1 : jd__memfd_create("jd-heap");
    int first = errno;
    if (heap->fd < 0) {
        heap->fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        heap->is_limited = true;
    }
    if (heap->fd < 0)
        return jd_fail(JD_PERMISSION_DENIED,
                       "%s: no memory can be shared with this host's other "
                       "processes: memfd_create: %s; a file in /dev/shm: %s",
                       operation, strerror(first), strerror(errno));
    struct stat facts;
    fstat(heap->fd, &facts);
    heap->device = facts.st_dev;
    heap->inode = facts.st_ino;
    return JD_OK;
}

/* Nobody who opens the file can make it shorter under the others' feet. */
static jd_status size_file(struct jd_heap *heap, const char *operation)
{
    if (ftruncate(heap->fd, (off_t)heap->size) != 0)
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "%s: a sparse file of %" PRIu64 " bytes for memory that "
                       "this host's processes share was refused (ftruncate: "
                       "%s)",
                       operation, heap->size, strerror(errno));
    fcntl(heap->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    return JD_OK;
}

bool jd__heap_has_file(const struct jd_heap *heap)
{
    struct stat facts;
    return heap->fd >= 0 && fstat(heap->fd, &facts) == 0 &&
           facts.st_dev == heap->device && facts.st_ino == heap->inode;
}

/* ---- the mapping -------------------------------------------------------- */

/* How much is opened at a time at least; a quarter of what is open already
 * where that is more, so that a large range takes few steps. */
#define OPEN_STEP ((uint64_t)64 << 20)

/* Addresses that begin at a multiple of a huge page, for the kernel to map
 * huge pages there. */
static char *reserve_addresses(uint64_t size)
{
    char *all = mmap(NULL, size + JD_HEAP_HUGE, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    uint64_t before = -(uintptr_t)all & (JD_HEAP_HUGE - 1);
    if (before)
        munmap(all, before);
    munmap(all + before + size, JD_HEAP_HUGE - before);
    return all + before;
}

/*
 * Mapped without access: a process that has called mlockall(MCL_FUTURE) would
 * otherwise get every page of it here and now, and a debugger that keeps track
 * of each byte, as valgrind does, would be at it for minutes.
 */
char *jd__heap_map_file(int fd, uint64_t size)
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

bool jd__heap_open_range(char *base, uint64_t size, uint64_t end,
                         uint64_t *opened)
{
    uint64_t step = *opened / 4 > OPEN_STEP ? *opened / 4 : OPEN_STEP;
    uint64_t wanted = smaller_of(*opened + step, size);
    if (end <= *opened)
        return true;
    if (wanted < end)
        wanted =
            smaller_of((end + OPEN_STEP - 1) / OPEN_STEP * OPEN_STEP, size);
    if (mprotect(base + *opened, wanted - *opened, PROT_READ | PROT_WRITE) != 0)
        return false;
    *opened = wanted;
    return true;
}

/* Where there is no room for the whole range, a smaller one may do. */
static jd_status map_range(struct jd_heap *heap, const char *operation)
{
    uint64_t first = heap->size;
    while (!(heap->base = jd__heap_map_file(heap->fd, heap->size)) &&
           heap->size / 2 >= SMALLEST)
        heap->size = heap->size / 2 & ~(JD_HEAP_HUGE - 1);
    if (heap->base)
        return JD_OK;
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s: no addresses for memory that this host's processes "
                   "share, neither for %" PRIu64 " bytes nor for %" PRIu64
                   " (mmap: %s); raise the limits (ulimit -v, ulimit -l)",
                   operation, first, heap->size, strerror(errno));
}

/* ---- the heap ----------------------------------------------------------- */

/* What this system is, as far as it makes a difference. */
static void look_around(struct jd_heap *heap, const struct jd_heap_spec *spec)
{
    char text[128];
    heap->root = spec->root ? spec->root : "";
    heap->page = (uint64_t)sysconf(_SC_PAGESIZE);
    jd__host_boot_id(heap->boot_id, sizeof heap->boot_id);
    jd__host_read_line(heap->root,
                       "/sys/kernel/mm/transparent_hugepage/shmem_enabled",
                       text, sizeof text);
    heap->takes_huge =
        text[0] && !strstr(text, "[never]") && !strstr(text, "[deny]");
    heap->gets_huge = heap->takes_huge && !strstr(text, "[advise]");
    jd__host_read_line(heap->root, "/sys/devices/system/node/online", text,
                       sizeof text);
    heap->takes_nodes = spec->with_nodes || strpbrk(text, ",-");
}

/* The first page is the head's; everything else is free. */
static jd_status prepare_heap(struct jd_heap *heap, const char *operation)
{
    struct jd_pages first = { .operation = operation,
                              .bytes = heap->page,
                              .numa_node = -1 };
    struct jd_heap_head head = { .size = heap->size };

    madvise(heap->base, heap->size, MADV_DONTDUMP);
    if (heap->takes_huge)
        madvise(heap->base, heap->size, MADV_NOHUGEPAGE);
    jd_status status = jd__heap_pages_open(heap, operation, heap->page);
    if (status != JD_OK)
        return status;
    heap->keeps_pages = !jd__heap_pages_punch(heap, 0, heap->page);
    if (!jd__heap_extents_reserve(&heap->free, 2))
        return jd__fail_no_memory(operation, sizeof *heap->free.at);
    jd__heap_extents_put_back(&heap->free, heap->page, heap->size - heap->page);
    status = jd__heap_pages_take(heap, &first);
    if (status != JD_OK)
        return status;
    randombytes_buf(heap->nonce, sizeof heap->nonce);
    memcpy(head.magic, JD_HEAP_MAGIC, sizeof head.magic);
    memcpy(head.nonce, heap->nonce, sizeof head.nonce);
    memcpy(heap->base, &head, sizeof head);
    return JD_OK;
}

static jd_status build_heap(struct jd_heap *heap,
                            const struct jd_heap_spec *spec,
                            const char *operation)
{
    jd_status status = choose_size(spec, operation, &heap->size);
    if (status == JD_OK)
        status = open_file(spec, operation, heap);
    if (status == JD_OK)
        status = size_file(heap, operation);
    if (status == JD_OK)
        status = map_range(heap, operation);
    return status == JD_OK ? prepare_heap(heap, operation) : status;
}

jd_status jd__heap_create(const struct jd_heap_spec *spec,
                          const char *operation, struct jd_heap **ret_heap)
{
    struct jd_heap *heap = calloc(1, sizeof *heap);
    if (!heap)
        return jd__fail_no_memory(operation, sizeof *heap);
    if (sodium_init() < 0) {
        free(heap);
        return jd_fail(JD_INTERNAL, "%s: libsodium cannot start", operation);
    }
    heap->fd = -1;
    pthread_mutex_init(&heap->lock, NULL);
    look_around(heap, spec);
    jd_status status = build_heap(heap, spec, operation);
    if (status == JD_OK)
        *ret_heap = heap;
    else
        jd__heap_destroy(heap);
    return status;
}

void jd__heap_destroy(struct jd_heap *heap)
{
    if (!heap)
        return;
    for (size_t i = 0; i < heap->used.count; i++)
        jd__heap_slab_destroy(heap->used.at[i].slab);
    if (heap->base)
        munmap(heap->base, heap->size);
    if (jd__heap_has_file(heap))
        close(heap->fd);
    jd__heap_extents_finish(&heap->used);
    jd__heap_extents_finish(&heap->free);
    pthread_mutex_destroy(&heap->lock);
    free(heap);
}
