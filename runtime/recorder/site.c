/* SPDX-License-Identifier: BSD-3-Clause */
/* site.c - a place in the program, in words. */
#include "runtime/recorder/site.h"
#include "base/digest.h"
#include "base/progress.h"
#include "runtime/recorder/lines.h"
#include "runtime/recorder/modules.h"
#include "runtime/recorder/named_sites.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The function around an address of this process; dladdr gives the nearest one
 * before it, which may have ended long before. */
static bool find_function(uint64_t address, Dl_info *info)
{
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr1((void *)(uintptr_t)address, info, (void **)&symbol,
                 RTLD_DL_SYMENT) ||
        !info->dli_sname || !symbol)
        return false;
    uint64_t begin = (uint64_t)(uintptr_t)info->dli_saddr;
    return address <= begin + symbol->st_size;
}

/* With a line where it is known: "train.c:120 (step+0x4c)". */
static bool print_line(const char *file, uint64_t offset, uint64_t own,
                       struct jd_site_text *text)
{
    struct jd_line line;
    char function[112] = "";
    if (!jd__lines_find((const void *)(uintptr_t)own, &line))
        return false;
    if (line.function[0])
        snprintf(function, sizeof function, "%s+0x%" PRIx64, line.function,
                 line.offset);
    if (!line.number)
        snprintf(text->text, sizeof text->text, "%s (%.40s+0x%" PRIx64 ")",
                 function, file, offset);
    else if (line.function[0])
        snprintf(text->text, sizeof text->text, "%.40s:%d (%s)", line.file,
                 line.number, function);
    else
        snprintf(text->text, sizeof text->text,
                 "%.40s:%d (%.40s+0x%" PRIx64 ")", line.file, line.number, file,
                 offset);
    return true;
}

static void print_symbol(const char *file, uint64_t offset, uint64_t own,
                         struct jd_site_text *text)
{
    Dl_info info;
    if (own && find_function(own, &info))
        snprintf(text->text, sizeof text->text,
                 "%.80s+0x%" PRIx64 " (%.40s+0x%" PRIx64 ")", info.dli_sname,
                 own - (uint64_t)(uintptr_t)info.dli_saddr, file, offset);
    else
        snprintf(text->text, sizeof text->text, "%.120s+0x%" PRIx64, file,
                 offset);
}

/* own is the address here, 0 where this process does not have the file. */
static struct jd_site_text print_site(const char *path, uint64_t offset,
                                      uint64_t own)
{
    struct jd_site_text text = { "" };
    const char *file = base_name(path);
    if (!own || !print_line(file, offset, own, &text))
        print_symbol(file, offset, own, &text);
    return text;
}

/* Of a ring, which others write: no more than it has. NULL: nothing. */
static struct jd_site_text copy_text(const char *text)
{
    struct jd_site_text copy = { "" };
    const size_t most = sizeof((struct jd_ring_named_site *)0)->text - 1;
    if (text)
        snprintf(copy.text, sizeof copy.text, "%.*s", (int)most, text);
    return copy;
}

struct jd_site_text jd__site_of(const void *address)
{
    struct jd_ring_module module;
    uint64_t own = (uint64_t)(uintptr_t)address;
    if (jd__named_sites_has(own))
        return copy_text(jd__named_sites_text(own));
    if (!address || !jd__modules_find(address, &module))
        return (struct jd_site_text){ "" };
    return print_site(module.path, own - module.base, own);
}

struct jd_site_text jd__site_of_caller(void)
{
    return jd__site_of(jd__progress_thread.caller);
}

void jd__site_fail_both(jd_status status, int one, const char *one_site,
                        int other, const char *other_site)
{
    if (one_site[0] && other_site[0])
        jd__fail_suffix(status, "; process %d calls at %s, process %d at %s",
                        one, one_site, other, other_site);
}

/* ---- compared ------------------------------------------------------------ */

static atomic_bool compares;

void jd__site_configure(bool is_on)
{
    atomic_store(&compares, is_on);
}

/* Programs lie at other addresses, and in other folders, in each process; named
 * sites have other numbers. */
static uint32_t digest_of(const void *address)
{
    struct jd_ring_module module;
    uint64_t own = (uint64_t)(uintptr_t)address;
    if (jd__named_sites_has(own))
        return jd__named_sites_digest(own);
    if (!jd__modules_find(address, &module))
        return 0;
    const char *file = base_name(module.path);
    uint64_t digest = jd__digest(own - module.base, file, strlen(file));
    return (uint32_t)(digest ^ digest >> 32) | 1;
}

/*
 * Of places that were asked for before: the loader takes 3 us to find one, and
 * a program calls from few. An entry is the digest and, by it, the address:
 * what two threads have written at once belongs to neither. Not of each thread:
 * a library that is loaded late has little room for that. What was loaded anew
 * at an address has the digest of what lay there, in every process alike.
 */
enum { KNOWN_SITES = 64 }; /* a power of two */
static struct {
    _Atomic uint64_t key; /* the address and the digest, by exclusive or */
    _Atomic uint64_t digest;
} known[KNOWN_SITES];

uint32_t jd__site_compared(void)
{
    uint64_t caller = (uintptr_t)jd__progress_thread.caller;
    if (!atomic_load_explicit(&compares, memory_order_relaxed) || !caller)
        return 0;
    unsigned place = (unsigned)(caller * 0x9e3779b1u >> 20) % KNOWN_SITES;
    uint64_t digest =
        atomic_load_explicit(&known[place].digest, memory_order_relaxed);
    uint64_t key =
        atomic_load_explicit(&known[place].key, memory_order_relaxed);
    if ((key ^ digest) == caller)
        return (uint32_t)digest;
    digest = digest_of(jd__progress_thread.caller);
    atomic_store_explicit(&known[place].digest, digest, memory_order_relaxed);
    atomic_store_explicit(&known[place].key, caller ^ digest,
                          memory_order_relaxed);
    return (uint32_t)digest;
}

/* ---- of another process -------------------------------------------------- */

/* One whose path ends: a ring may be a file, and that anybody's. */
static const struct jd_ring_module *
find_whole_module(const struct jd_ring *ring, uint64_t address)
{
    const struct jd_ring_module *module = jd__ring_find_module(ring, address);
    bool ends =
        module && memchr(module->path, '\0', sizeof module->path) != NULL;
    return ends ? module : NULL;
}

struct jd_site_text jd__site_in(const struct jd_ring *ring, uint64_t address)
{
    if (jd__named_sites_has(address))
        return copy_text(jd__named_sites_text_in(ring, address));
    const struct jd_ring_module *module = find_whole_module(ring, address);
    uint64_t base;
    if (!module || !jd__modules_find_path(module->path, &base))
        return jd__site_in_file(ring, address);
    uint64_t offset = address - module->base;
    return print_site(module->path, offset, base + offset);
}

struct jd_site_text jd__site_in_file(const struct jd_ring *ring,
                                     uint64_t address)
{
    if (jd__named_sites_has(address))
        return copy_text(jd__named_sites_text_in(ring, address));
    const struct jd_ring_module *module = find_whole_module(ring, address);
    return module ? print_site(module->path, address - module->base, 0)
                  : (struct jd_site_text){ "" };
}
