/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_pages.c - taking the range's pages from the system, and giving them
 * back. Pages that fallocate() has made are charged to this process's control
 * group then and there, and a later write to them cannot fail.
 */
#include "collectives/cpu/heap/heap_private.h"
#include "collectives/cpu/heap/heap_space.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How much is taken at least before it is asked again how much there is. */
#define SMALLEST_STEP ((uint64_t)4 << 20)

static bool is_huge(const struct jd_heap *heap, uint64_t bytes)
{
    return heap->takes_huge && bytes >= JD_HEAP_HUGE;
}

/* All failures of these are a matter of speed alone. */
static void advise_kernel(const struct jd_heap *heap, uint64_t begin,
                          uint64_t bytes, int advice)
{
    madvise(heap->base + begin, bytes, advice);
}

/* The node is preferred and not demanded: where it is full, another one's
 * pages are better than the end of the process. */
static void prefer_node(const struct jd_heap *heap,
                        const struct jd_pages *pages)
{
    unsigned long nodes[16] = { 0 };
    size_t bits = 8 * sizeof *nodes, node = (size_t)pages->numa_node;
    bool is_known = pages->numa_node >= 0 && node < 8 * sizeof nodes;
    if (!heap->takes_nodes)
        return;
    if (is_known)
        nodes[node / bits] |= 1ul << node % bits;
    syscall(SYS_mbind, heap->base + pages->begin, (unsigned long)pages->bytes,
            is_known ? MPOL_PREFERRED : MPOL_DEFAULT, is_known ? nodes : NULL,
            is_known ? 8 * sizeof nodes + 1 : 0, 0);
}

/* A core file would be written for hours if the whole range were looked
 * through for pages; what is open is not much more than what is in use. */
jd_status jd__heap_pages_open(struct jd_heap *heap, const char *operation,
                              uint64_t end)
{
    pthread_mutex_lock(&heap->lock);
    uint64_t before = heap->opened;
    bool is_open =
        jd__heap_open_range(heap->base, heap->size, end, &heap->opened);
    int error = errno;
    if (heap->opened > before)
        advise_kernel(heap, before, heap->opened - before, MADV_DODUMP);
    pthread_mutex_unlock(&heap->lock);
    if (is_open)
        return JD_OK;
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s: memory that this host's processes share cannot be "
                   "opened up to byte %llu (mprotect: %s); raise the limit on "
                   "mappings (sysctl vm.max_map_count)",
                   operation, (unsigned long long)end, strerror(error));
}

/* A signal may end fallocate() without any of the pages: shorter pieces get
 * done between two of them. */
static int allocate_pages(const struct jd_heap *heap, uint64_t begin,
                          uint64_t bytes)
{
    uint64_t piece = bytes, end = begin + bytes;
    if (!jd__heap_has_file(heap))
        return madvise(heap->base + begin, bytes, MADV_POPULATE_WRITE);
    while (begin < end) {
        if (piece > end - begin)
            piece = end - begin;
        if (fallocate(heap->fd, 0, (off_t)begin, (off_t)piece) == 0)
            begin += piece;
        else if (errno != EINTR)
            return -1;
        else if (piece > heap->page)
            piece = (piece / 2 + heap->page - 1) & ~(heap->page - 1);
    }
    return 0;
}

static jd_status fail_allocate(const struct jd_pages *pages)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s: %llu bytes of memory are needed, and the system "
                   "refused them (%s); free memory on this host",
                   pages->operation, (unsigned long long)pages->bytes,
                   strerror(errno));
}

/* Huge pages come by a fault in the advised addresses; what has no whole one
 * comes by fallocate, which also is what says whether there was enough. */
static jd_status take_part(struct jd_heap *heap, const struct jd_pages *pages,
                           uint64_t begin, uint64_t bytes)
{
    if (is_huge(heap, pages->bytes) && bytes >= JD_HEAP_HUGE)
        advise_kernel(heap, begin, bytes & ~(JD_HEAP_HUGE - 1),
                      MADV_POPULATE_WRITE);
    return allocate_pages(heap, begin, bytes) == 0 ? JD_OK
                                                   : fail_allocate(pages);
}

/* Others may take at the same moment what this process was told there is, so
 * no step is more than a thousandth of what would be left. */
static uint64_t choose_step(uint64_t left_behind, uint64_t left)
{
    uint64_t step = left_behind / 1024 & ~(JD_HEAP_HUGE - 1);
    if (step < SMALLEST_STEP)
        step = SMALLEST_STEP;
    return step < left ? step : left;
}

static jd_status take_all(struct jd_heap *heap, const struct jd_pages *pages)
{
    struct jd_space_request space = {
        .operation = pages->operation,
        .root = heap->root,
        .file = heap->is_limited ? heap->fd : -1,
        .bytes = pages->bytes,
    };
    while (space.taken < pages->bytes) {
        uint64_t left_behind = 0, left = pages->bytes - space.taken;
        jd_status status = jd__heap_space_check(&space, &left_behind);
        uint64_t step = choose_step(left_behind, left);
        if (status == JD_OK)
            status = take_part(heap, pages, pages->begin + space.taken, step);
        if (status != JD_OK)
            return status;
        space.taken += step;
    }
    return JD_OK;
}

jd_status jd__heap_pages_take(struct jd_heap *heap,
                              const struct jd_pages *pages)
{
    jd_status status = jd__heap_pages_open(heap, pages->operation,
                                           pages->begin + pages->bytes);
    if (status != JD_OK)
        return status;
    prefer_node(heap, pages);
    if (is_huge(heap, pages->bytes))
        advise_kernel(heap, pages->begin, pages->bytes & ~(JD_HEAP_HUGE - 1),
                      MADV_HUGEPAGE);
    status = take_all(heap, pages);
    if (status != JD_OK)
        jd__heap_pages_give(heap, pages->begin, pages->bytes);
    return status;
}

/* The file's way also serves memory that the program has locked; the other
 * one needs no descriptor. */
bool jd__heap_pages_punch(const struct jd_heap *heap, uint64_t begin,
                          uint64_t bytes)
{
    int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    while (jd__heap_has_file(heap)) {
        if (fallocate(heap->fd, mode, (off_t)begin, (off_t)bytes) == 0)
            return true;
        if (errno != EINTR)
            break;
    }
    return madvise(heap->base + begin, bytes, MADV_REMOVE) == 0;
}

void jd__heap_pages_give(const struct jd_heap *heap, uint64_t begin,
                         uint64_t bytes)
{
    if (is_huge(heap, bytes))
        advise_kernel(heap, begin, bytes & ~(JD_HEAP_HUGE - 1),
                      MADV_NOHUGEPAGE);
    if (!heap->keeps_pages && !jd__heap_pages_punch(heap, begin, bytes))
        memset(heap->base + begin, 0, bytes);
}
