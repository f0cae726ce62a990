/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lines.c - lines of the source, read by a thread of its own: who asks leaves
 * it behind when it is late, and asks nobody else until it has come back.
 */
#include "runtime/recorder/lines.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/thread.h"
#include "runtime/recorder/modules.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the library --------------------------------------------------------- */

#define LIBRARY "libdw.so.1"

/* Its functions, by their own types. */
#define FUNCTIONS(X)                                                           \
    X(dwfl_begin)                                                              \
    X(dwfl_end)                                                                \
    X(dwfl_report_offline)                                                     \
    X(dwfl_report_end)                                                         \
    X(dwfl_offline_section_address)                                            \
    X(dwfl_module_build_id)                                                    \
    X(dwfl_module_getelf)                                                      \
    X(dwfl_module_addrinfo)                                                    \
    X(dwfl_module_nextcu)                                                      \
    X(dwarf_haspc)                                                             \
    X(dwarf_getsrc_die)                                                        \
    X(dwarf_linesrc)                                                           \
    X(dwarf_lineno)                                                            \
    X(dwarf_child)                                                             \
    X(dwarf_siblingof)                                                         \
    X(dwarf_tag)                                                               \
    X(dwarf_attr)                                                              \
    X(dwarf_formudata)                                                         \
    X(dwarf_getsrcfiles)                                                       \
    X(dwarf_filesrc)

static struct {
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
} dw;

/* Only the reading thread comes here, one at a time. */
static bool load_library(void)
{
    static void *library;
    bool has_all = true;
    if (library)
        return true;
    void *opened = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!opened)
        return false;
#define FIND(name)                                                             \
    *(void **)&dw.name = dlsym(opened, #name);                                 \
    has_all = has_all && dw.name;
    FUNCTIONS(FIND)
#undef FIND
    if (has_all)
        library = opened;
    else
        dlclose(opened);
    return has_all;
}

/* ---- the file that was started ------------------------------------------- */

struct build_id {
    uint64_t base; /* of the module that is looked for */
    unsigned char bytes[64];
    size_t length; /* 0: it has none */
};

/* A note is a header, a name and a description, each padded to 4 bytes. */
static void find_in_notes(const char *at, size_t size, struct build_id *id)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        size_t name = ((size_t)note->n_namesz + 3) & ~(size_t)3;
        size_t text = ((size_t)note->n_descsz + 3) & ~(size_t)3;
        size_t whole = sizeof *note + name + text;
        if (whole > size)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
            note->n_descsz <= sizeof id->bytes &&
            memcmp(note + 1, "GNU", 4) == 0) {
            id->length = note->n_descsz;
            memcpy(id->bytes, (const char *)(note + 1) + name, id->length);
            return;
        }
        at += whole;
        size -= whole;
    }
}

static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * part)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && part->p_vaddr >= header->p_vaddr &&
            part->p_vaddr + part->p_memsz <= header->p_vaddr + header->p_memsz)
            return true;
    }
    return false;
}

static int look_for_build_id(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct build_id *id = arg;
    (void)size;
    if (info->dlpi_addr != id->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum && !id->length; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t begin = (uintptr_t)(info->dlpi_addr + header->p_vaddr);
        if (header->p_type == PT_NOTE && is_loaded(info, header))
            find_in_notes((const char *)begin, header->p_memsz, id);
    }
    return 1;
}

/* A file that was built anew has other lines. */
static bool is_same_file(Dwfl_Module *module, uint64_t base)
{
    struct build_id own = { .base = base };
    const unsigned char *bytes = NULL;
    GElf_Addr address;
    dl_iterate_phdr(look_for_build_id, &own);
    int length = dw.dwfl_module_build_id(module, &bytes, &address);
    return length == (int)own.length &&
           (!length || memcmp(bytes, own.bytes, own.length) == 0);
}

/* ---- reading ------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Files of debugging information elsewhere, on the network perhaps, are not
 * looked for. */
static int find_no_debuginfo(Dwfl_Module *module, void **data, const char *name,
                             Dwarf_Addr base, const char *file,
                             const char *link, GElf_Word crc, char **ret_path)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link;
    (void)crc, (void)ret_path;
    return -1;
}

/* As C++ has it, where the program has its library; malloc'ed, else NULL. */
static char *name_in_cxx(const char *name)
{
    char *(*find)(const char *, char *, size_t *, int *);
    int status = -1;
    *(void **)&find = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    return find && strncmp(name, "_Z", 2) == 0 ? find(name, NULL, NULL, &status)
                                               : NULL;
}

static void read_function(Dwfl_Module *module, Dwarf_Addr at,
                          struct jd_line *line)
{
    GElf_Off offset;
    GElf_Sym symbol;
    const char *name = dw.dwfl_module_addrinfo(module, at - 1, &offset, &symbol,
                                               NULL, NULL, NULL);
    if (!name || !name[0] || offset >= symbol.st_size)
        return;
    char *plain = name_in_cxx(name);
    snprintf(line->function, sizeof line->function, "%s", plain ? plain : name);
    line->offset = offset + 1;
    free(plain);
}

/* The unit that has the address. All are asked: clang writes no .debug_aranges,
 * which libdw's own search goes by. */
static Dwarf_Die *find_unit(Dwfl_Module *module, Dwarf_Addr at,
                            Dwarf_Addr *ret_bias)
{
    Dwarf_Die *unit = NULL;
    do
        unit = dw.dwfl_module_nextcu(module, unit, ret_bias);
    while (unit && dw.dwarf_haspc(unit, at - *ret_bias) <= 0);
    return unit;
}

/* Of jd's headers for C++, whose functions are compiled into the program. */
static bool is_jds(const char *path)
{
    const char *name = base_name(path);
    size_t length = strlen(name);
    return strncmp(name, "jd", 2) == 0 && length > 4 &&
           strcmp(name + length - 4, ".hpp") == 0;
}

static bool read_number(Dwarf_Die *die, unsigned name, Dwarf_Word *ret_number)
{
    Dwarf_Attribute attribute;
    return dw.dwarf_attr(die, name, &attribute) &&
           dw.dwarf_formudata(&attribute, ret_number) == 0;
}

/* The file and the line of a call that was inlined; NULL: not known. */
static const char *read_call(Dwarf_Die *unit, Dwarf_Die *call, int *ret_number)
{
    Dwarf_Files *files;
    Dwarf_Word file, number;
    if (!read_number(call, DW_AT_call_file, &file) ||
        !read_number(call, DW_AT_call_line, &number) ||
        dw.dwarf_getsrcfiles(unit, &files, NULL) != 0)
        return NULL;
    *ret_number = (int)number;
    return dw.dwarf_filesrc(files, file, NULL, NULL);
}

enum { MOST_CALLS = 32, MOST_DEPTH = 64 };

/* What was inlined at an address, the outermost first. */
struct inlined {
    Dwarf_Addr at;
    Dwarf_Die calls[MOST_CALLS];
    int count;
};

/* In all that is within the entry: dwarf_getscopes() looks into those alone
 * that have the address, and a lambda's code lies elsewhere. */
static void find_inlined(Dwarf_Die *parent, struct inlined *found, int depth)
{
    Dwarf_Die die;
    int ends = dw.dwarf_child(parent, &die);
    for (; ends == 0 && depth < MOST_DEPTH;
         ends = dw.dwarf_siblingof(&die, &die)) {
        if (dw.dwarf_tag(&die) == DW_TAG_inlined_subroutine &&
            found->count < MOST_CALLS && dw.dwarf_haspc(&die, found->at) > 0)
            found->calls[found->count++] = die;
        find_inlined(&die, found, depth + 1);
    }
}

/* What is inlined from jd's headers is the program's call, not jd's line. */
static const char *leave_headers(Dwarf_Die *unit, Dwarf_Addr at,
                                 const char *path, int *number)
{
    struct inlined found = { .at = at };
    find_inlined(unit, &found, 0);
    while (found.count-- > 0 && is_jds(path)) {
        int line = *number;
        const char *outer = read_call(unit, &found.calls[found.count], &line);
        path = outer ? outer : path;
        *number = outer ? line : *number;
    }
    return path;
}

static void read_line(Dwfl_Module *module, Dwarf_Addr at, struct jd_line *line)
{
    int number = 0;
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = find_unit(module, at - 1, &bias);
    Dwarf_Line *found = unit ? dw.dwarf_getsrc_die(unit, at - 1 - bias) : NULL;
    const char *path = found ? dw.dwarf_linesrc(found, NULL, NULL) : NULL;
    if (!path || dw.dwarf_lineno(found, &number) || number <= 0)
        return;
    if (is_jds(path))
        path = leave_headers(unit, at - 1 - bias, path, &number);
    snprintf(line->file, sizeof line->file, "%s", base_name(path));
    line->number = number;
}

static void read_module(Dwfl *dwfl, const struct jd_ring_module *found,
                        uint64_t address, struct jd_line *line)
{
    GElf_Addr bias = 0;
    Dwfl_Module *module =
        dw.dwfl_report_offline(dwfl, found->path, found->path, -1);
    dw.dwfl_report_end(dwfl, NULL, NULL);
    if (!module || !dw.dwfl_module_getelf(module, &bias) ||
        !is_same_file(module, found->base))
        return;
    Dwarf_Addr at = address - found->base + bias;
    read_function(module, at, line);
    read_line(module, at, line);
}

static void read_address(const void *address, struct jd_line *line)
{
    struct jd_ring_module found;
    if (!load_library() || !jd__modules_find(address, &found))
        return;
    Dwfl_Callbacks callbacks = {
        .find_debuginfo = find_no_debuginfo,
        .section_address = dw.dwfl_offline_section_address,
    };
    Dwfl *dwfl = dw.dwfl_begin(&callbacks);
    if (!dwfl)
        return;
    read_module(dwfl, &found, (uint64_t)(uintptr_t)address, line);
    dw.dwfl_end(dwfl);
}

/* ---- asking -------------------------------------------------------------- */

enum { NUM_KEPT = 16 };

/* What was found: a program waits at few places. */
struct known_line {
    uint64_t key; /* of the file and the address; 0: not in use */
    struct jd_line line;
};

/* Of one who waits for the answer. */
struct question {
    struct jd_line line;
    bool is_answered;
};

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    pthread_cond_t has_come;
    pthread_t reader;
    bool has_reader, is_reading;
    double late_from; /* when whoever reads now is given up */
    const void *address;
    struct question *question; /* that is read for; NULL: it was given up */
    struct known_line kept[NUM_KEPT];
    unsigned num_kept;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

static void init_condition(void)
{
    jd__clock_init_condition(&state.has_come);
}

static void *answer_questions(void *unused)
{
    struct jd_line line = { .number = 0 };
    pthread_mutex_lock(&state.lock);
    const void *address = state.address;
    pthread_mutex_unlock(&state.lock);
    read_address(address, &line);
    pthread_mutex_lock(&state.lock);
    if (state.question)
        *state.question = (struct question){ line, true };
    state.question = NULL;
    state.is_reading = false;
    pthread_cond_broadcast(&state.has_come);
    pthread_mutex_unlock(&state.lock);
    return unused;
}

/* With the lock. A reader that has answered is at its end: no thread is left
 * to programs that end. */
static void join_reader(void)
{
    if (state.has_reader)
        pthread_join(state.reader, NULL);
    state.has_reader = false;
}

/* With the lock. The one before may be of a question that was given up: then
 * nobody waits for it again. */
static bool await_turn(const struct timespec *deadline)
{
    if (state.is_reading && jd__clock_now() > state.late_from)
        return false;
    while (state.is_reading)
        if (pthread_cond_timedwait(&state.has_come, &state.lock, deadline) ==
            ETIMEDOUT)
            return false;
    join_reader();
    return true;
}

/* With the lock. */
static bool start_reader(void)
{
    if (jd__thread_start(&state.reader, answer_questions, NULL))
        return false;
    pthread_setname_np(state.reader, "jd-lines");
    state.has_reader = state.is_reading = true;
    return true;
}

/* With the lock. The next question may be asked before this one's answer is
 * looked at. */
static bool ask_thread(const void *address, const struct timespec *deadline,
                       struct jd_line *ret_line)
{
    struct question own = { .is_answered = false };
    if (!await_turn(deadline) || !start_reader())
        return false;
    state.late_from = jd__clock_now() + jd__lines_timeout();
    state.address = address;
    state.question = &own;
    while (!own.is_answered)
        if (pthread_cond_timedwait(&state.has_come, &state.lock, deadline) ==
            ETIMEDOUT)
            break;
    if (!own.is_answered)
        state.question = NULL;
    else if (!state.is_reading)
        join_reader();
    *ret_line = own.line;
    return own.is_answered;
}

/* Another library may lie there by now. 0: it is nobody's. */
static uint64_t key_of(const void *address)
{
    struct jd_ring_module module;
    if (!jd__modules_find(address, &module))
        return 0;
    uint64_t key = (uint64_t)(uintptr_t)address - module.base;
    return jd__digest(key, module.path, strlen(module.path)) | 1;
}

/* With the lock. */
static bool find_kept(uint64_t key, struct jd_line *ret_line)
{
    for (int i = 0; i < NUM_KEPT; i++)
        if (state.kept[i].key == key) {
            *ret_line = state.kept[i].line;
            return true;
        }
    return false;
}

/* With the lock. What is not known may be by and by. */
static bool keep_line(uint64_t key, const struct jd_line *line)
{
    bool is_known = line->function[0] || line->number;
    if (is_known)
        state.kept[state.num_kept++ % NUM_KEPT] =
            (struct known_line){ key, *line };
    return is_known;
}

bool jd__lines_find(const void *address, struct jd_line *ret_line)
{
    struct timespec deadline;
    uint64_t key = key_of(address);
    *ret_line = (struct jd_line){ .number = 0 };
    if (!key)
        return false;
    pthread_once(&state.once, init_condition);
    deadline = jd__clock_timespec(jd__clock_now() + jd__lines_timeout());
    pthread_mutex_lock(&state.lock);
    bool is_known =
        find_kept(key, ret_line) ||
        (ask_thread(address, &deadline, ret_line) && keep_line(key, ret_line));
    pthread_mutex_unlock(&state.lock);
    return is_known;
}
