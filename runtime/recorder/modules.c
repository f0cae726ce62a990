/* SPDX-License-Identifier: BSD-3-Clause */
/* modules.c - which program or library an address lies in. */
#include "runtime/recorder/modules.h"

#include <link.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct module_search {
    uint64_t address;
    uint64_t begin, end, base;
    const char *name; /* "": the program itself */
};

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct module_search *search = arg;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t begin = info->dlpi_addr + header->p_vaddr;
        uint64_t end = begin + header->p_memsz;
        if (header->p_type != PT_LOAD || search->address < begin ||
            search->address >= end)
            continue;
        search->begin = begin;
        search->end = end;
        search->base = info->dlpi_addr;
        search->name = info->dlpi_name ? info->dlpi_name : "";
        return 1;
    }
    return 0;
}

static void write_path(struct jd_ring_module *module, const char *name)
{
    ssize_t length = 0;
    if (name[0]) {
        snprintf(module->path, sizeof module->path, "%s", name);
        return;
    }
    length = readlink("/proc/self/exe", module->path, sizeof module->path - 1);
    module->path[length > 0 ? length : 0] = 0;
}

static struct jd_ring_module *find_free(struct jd_ring *ring)
{
    for (int i = 0; i < JD_RING_MODULES; i++)
        if (!atomic_load_explicit(&ring->modules[i].begin,
                                  memory_order_relaxed))
            return &ring->modules[i];
    return NULL;
}

static void add(struct jd_ring *ring, const struct module_search *found)
{
    struct jd_ring_module *module = find_free(ring);
    if (!module)
        return;
    module->end = found->end;
    module->base = found->base;
    write_path(module, found->name);
    atomic_store_explicit(&module->begin, found->begin, memory_order_release);
}

const struct jd_ring_module *jd__modules_note(struct jd_ring *ring,
                                              const void *address)
{
    struct module_search search = { .address = (uint64_t)(uintptr_t)address };
    const struct jd_ring_module *module =
        jd__ring_find_module(ring, search.address);
    if (module || !dl_iterate_phdr(look_at, &search))
        return module;
    pthread_mutex_lock(&lock);
    if (!jd__ring_find_module(ring, search.address))
        add(ring, &search);
    pthread_mutex_unlock(&lock);
    return jd__ring_find_module(ring, search.address);
}
