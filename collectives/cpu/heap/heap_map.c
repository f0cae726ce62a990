/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_map.c - neighbours' heaps. A desc's descriptor is opened by way of
 * /proc, which the kernel allows to whoever could also look into the process
 * with a debugger: the same user, on the same host, in a pid namespace that
 * sees it. Whether that is the right memory, the nonce says.
 */
#include "collectives/cpu/heap/heap_private.h"
#include "runtime/topology/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct jd_heap_view {
    struct jd_heap_view *next;
    char *base;
    uint64_t size, opened;
    unsigned char nonce[16];
    int count;   /* of those who have it */
    bool is_own; /* this process's heap: it stays mapped */
};

static struct jd_heap_view *views; /* under jd__heap_globals */

void jd__heap_describe(const struct jd_heap *heap,
                       struct jd_heap_desc *ret_desc)
{
    struct jd_heap_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.size = heap->size;
    memcpy(desc.nonce, heap->nonce, sizeof desc.nonce);
    memcpy(desc.host, heap->boot_id, sizeof heap->boot_id);
    desc.pid = getpid();
    desc.descriptor = heap->fd;
    *ret_desc = desc;
}

/* ---- mapping ------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static jd_status
fail_map(const struct jd_heap_desc *desc, const char *format, ...)
{
    char reason[256];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return jd_fail(JD_UNAVAILABLE,
                   "the memory of the process with pid %d cannot be mapped: "
                   "%s; data to and from it goes by MPI",
                   (int)desc->pid, reason);
}

static jd_status check_host(const struct jd_heap_desc *desc)
{
    char own[sizeof desc->host];
    jd__host_boot_id(own, sizeof own);
    if (strncmp(own, desc->host, sizeof own) == 0)
        return JD_OK;
    return fail_map(desc, "it runs on another host (boot id %.*s, here %s)",
                    (int)sizeof desc->host, desc->host, own);
}

/* Looks before it opens: behind the descriptor of another process that
 * happens to have the pid may be anything. */
static jd_status open_descriptor(const struct jd_heap_desc *desc, int *ret_fd)
{
    char path[64];
    struct stat facts;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)desc->pid,
             (int)desc->descriptor);
    if (stat(path, &facts) != 0)
        return fail_map(desc,
                        "%s: %s (a process that has ended, of another "
                        "user, or in another container)",
                        path, strerror(errno));
    if (!S_ISREG(facts.st_mode) || facts.st_size != (off_t)desc->size)
        return fail_map(desc, "%s is another process's file", path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return fail_map(desc, "%s cannot be opened: %s", path, strerror(errno));
    *ret_fd = fd;
    return JD_OK;
}

static jd_status check_nonce(const struct jd_heap_desc *desc, int fd)
{
    struct jd_heap_head head;
    if (pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
        memcmp(head.magic, JD_HEAP_MAGIC, sizeof head.magic) == 0 &&
        head.size == desc->size &&
        memcmp(head.nonce, desc->nonce, sizeof head.nonce) == 0)
        return JD_OK;
    return fail_map(desc, "another process has that pid here");
}

static jd_status map_checked(const struct jd_heap_desc *desc, int fd,
                             struct jd_heap_view *view)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0 || facts.st_size != (off_t)desc->size)
        return fail_map(desc, "its size is not what it has said");
    jd_status status = check_nonce(desc, fd);
    if (status != JD_OK)
        return status;
    view->base = jd__heap_map_file(fd, desc->size);
    if (!view->base)
        return fail_map(desc,
                        "no addresses for its %llu bytes (mmap: %s); "
                        "ulimit -v or ulimit -l keeps them away",
                        (unsigned long long)desc->size, strerror(errno));
    madvise(view->base, desc->size, MADV_DONTDUMP); /* its core file has it */
    return JD_OK;
}

static jd_status map_desc(const struct jd_heap_desc *desc,
                          struct jd_heap_view *view)
{
    int fd = -1;
    jd_status status = check_host(desc);
    if (status == JD_OK)
        status = open_descriptor(desc, &fd);
    if (status != JD_OK)
        return status;
    status = map_checked(desc, fd, view);
    close(fd); /* the mapping keeps the file */
    return status;
}

/* ---- views, under the lock ---------------------------------------------- */

static struct jd_heap_view *find_view(const struct jd_heap_desc *desc)
{
    struct jd_heap_view *view = views;
    while (view && memcmp(view->nonce, desc->nonce, sizeof view->nonce) != 0)
        view = view->next;
    return view;
}

static jd_status fill_view(const struct jd_heap_desc *desc,
                           struct jd_heap_view *view)
{
    struct jd_heap *own = jd__heap_existing();
    *view = (struct jd_heap_view){ .size = desc->size };
    memcpy(view->nonce, desc->nonce, sizeof view->nonce);
    if (!own || memcmp(own->nonce, desc->nonce, sizeof own->nonce) != 0)
        return map_desc(desc, view);
    view->base = own->base;
    view->opened = own->size; /* whatever anybody was given is open */
    view->is_own = true;
    return JD_OK;
}

static jd_status open_view(const struct jd_heap_desc *desc,
                           struct jd_heap_view **ret_view)
{
    struct jd_heap_view *view = find_view(desc);
    if (!view) {
        view = malloc(sizeof *view);
        if (!view)
            return fail_map(desc, "no memory for what is known of it");
        jd_status status = fill_view(desc, view);
        if (status != JD_OK) {
            free(view);
            return status;
        }
        view->next = views;
        views = view;
    }
    view->count++;
    *ret_view = view;
    return JD_OK;
}

static void close_view(struct jd_heap_view *view)
{
    if (--view->count > 0)
        return;
    struct jd_heap_view **link = &views;
    while (*link != view)
        link = &(*link)->next;
    *link = view->next;
    if (!view->is_own)
        munmap(view->base, view->size);
    free(view);
}

jd_status jd__heap_map(const struct jd_heap_desc *desc,
                       struct jd_heap_view **ret_view)
{
    jd__heap_watch_forks();
    pthread_mutex_lock(&jd__heap_globals);
    jd_status status = open_view(desc, ret_view);
    pthread_mutex_unlock(&jd__heap_globals);
    return status;
}

void jd__heap_unmap(struct jd_heap_view *view)
{
    if (!view)
        return;
    pthread_mutex_lock(&jd__heap_globals);
    close_view(view);
    pthread_mutex_unlock(&jd__heap_globals);
}

char *jd__heap_view_base(const struct jd_heap_view *view)
{
    return view->base;
}

uint64_t jd__heap_view_open(struct jd_heap_view *view, uint64_t end)
{
    pthread_mutex_lock(&jd__heap_globals);
    if (end <= view->size)
        jd__heap_open_range(view->base, view->size, end, &view->opened);
    uint64_t opened = view->opened;
    pthread_mutex_unlock(&jd__heap_globals);
    return opened;
}
