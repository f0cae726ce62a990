/* SPDX-License-Identifier: BSD-3-Clause */
/* modules.c - which program or library an address lies in. */
#include "runtime/recorder/modules.h"

#include <link.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The program itself has no name there. */
static void write_path(const char *name, char *path, size_t size)
{
    if (name && name[0]) {
        snprintf(path, size, "%s", name);
        return;
    }
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = 0;
}

/* ---- by an address ------------------------------------------------------ */

struct address_search {
    uint64_t address;
    struct jd_ring_module *found;
};

static bool has_address(const struct dl_phdr_info *info, int i,
                        struct address_search *search)
{
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    uint64_t begin = info->dlpi_addr + header->p_vaddr;
    uint64_t end = begin + header->p_memsz;
    if (header->p_type != PT_LOAD || search->address < begin ||
        search->address >= end)
        return false;
    search->found->begin = begin;
    search->found->end = end;
    return true;
}

static int look_for_address(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct address_search *search = arg;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (!has_address(info, i, search))
            continue;
        search->found->base = info->dlpi_addr;
        write_path(info->dlpi_name, search->found->path,
                   sizeof search->found->path);
        return 1;
    }
    return 0;
}

bool jd__modules_find(const void *address, struct jd_ring_module *ret_module)
{
    struct address_search search = { (uint64_t)(uintptr_t)address, ret_module };
    return dl_iterate_phdr(look_for_address, &search) != 0;
}

static struct jd_ring_module *find_free(struct jd_ring *ring)
{
    for (int i = 0; i < JD_RING_MODULES; i++)
        if (!atomic_load_explicit(&ring->modules[i].begin,
                                  memory_order_relaxed))
            return &ring->modules[i];
    return NULL;
}

static void add_module(struct jd_ring *ring, const struct jd_ring_module *found)
{
    struct jd_ring_module *module = find_free(ring);
    if (!module)
        return;
    module->end = found->end;
    module->base = found->base;
    memcpy(module->path, found->path, sizeof module->path);
    atomic_store_explicit(&module->begin, found->begin, memory_order_release);
}

const struct jd_ring_module *jd__modules_note(struct jd_ring *ring,
                                              const void *address)
{
    uint64_t at = (uint64_t)(uintptr_t)address;
    const struct jd_ring_module *module = jd__ring_find_module(ring, at);
    struct jd_ring_module found;
    if (module || !jd__modules_find(address, &found))
        return module;
    pthread_mutex_lock(&lock);
    if (!jd__ring_find_module(ring, at))
        add_module(ring, &found);
    pthread_mutex_unlock(&lock);
    return jd__ring_find_module(ring, at);
}

/* ---- by a path ---------------------------------------------------------- */

struct path_search {
    const char *path;
    uint64_t base;
};

static int look_for_path(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct path_search *search = arg;
    struct jd_ring_module module;
    (void)size;
    write_path(info->dlpi_name, module.path, sizeof module.path);
    if (strcmp(module.path, search->path) != 0)
        return 0;
    search->base = info->dlpi_addr;
    return 1;
}

bool jd__modules_find_path(const char *path, uint64_t *ret_base)
{
    struct path_search search = { path, 0 };
    bool has = dl_iterate_phdr(look_for_path, &search) != 0;
    *ret_base = search.base;
    return has;
}
