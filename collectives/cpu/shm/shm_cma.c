/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_cma.c - another member's buffer as it can be read from here. */
#include "collectives/cpu/shm/shm_cma.h"
#include "collectives/cpu/shm/shm_private.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>

/* Measured: bench/collectives.md. */
size_t jd__shm_cma_shortest = (size_t)32 << 10;

/* ---- may it be read? ---------------------------------------------------- */

/* What control->reads says. */
enum { NOT_TRIED, READS_ALL, READS_SOME };

void jd__shm_cma_publish(struct jd_shm_group *group)
{
    if (getrandom(&group->secret, sizeof group->secret, GRND_NONBLOCK) !=
        sizeof group->secret)
        return;
    group->own->secret = group->secret;
    atomic_store_explicit(&group->own->secret_at, (uintptr_t)&group->secret,
                          memory_order_release);
}

/* The word lies in private memory: a process that happens to have the number
 * which another has in its own namespace has something else there. */
static bool can_read(const struct jd_shm_group *group, int member)
{
    const struct jd_shm_member *m = &group->members[member];
    uint64_t address =
        atomic_load_explicit(&m->control->secret_at, memory_order_acquire);
    uint64_t word = 0;
    struct iovec to = { &word, sizeof word };
    struct iovec from = { (void *)(uintptr_t)address, sizeof word };
    if (!m->pid)
        return false;
    return process_vm_readv(m->pid, &to, 1, &from, 1, 0) == sizeof word &&
           word == m->control->secret;
}

/* Whether every other member's end exists. */
static bool all_are_there(const struct jd_shm_group *group)
{
    for (int i = 0; i < group->size; i++)
        if (!atomic_load_explicit(&group->members[i].control->secret_at,
                                  memory_order_acquire))
            return false;
    return true;
}

void jd__shm_cma_try(struct jd_shm_group *group)
{
    if (group->has_tried || !all_are_there(group))
        return;
    bool reads_all = true;
    for (int i = 0; i < group->size && reads_all; i++)
        reads_all = group->processes[i] == group->processes[group->index] ||
                    can_read(group, i);
    group->has_tried = true;
    atomic_store_explicit(&group->own->reads,
                          reads_all ? READS_ALL : READS_SOME,
                          memory_order_relaxed);
}

static bool all_read_all(struct jd_shm_group *group)
{
    for (int i = 0; i < group->size && !group->is_read_by_all; i++)
        if (atomic_load_explicit(&group->members[i].control->reads,
                                 memory_order_relaxed) != READS_ALL)
            return false;
    group->is_read_by_all = true;
    return true;
}

bool jd__shm_cma_is_free(struct jd_shm_group *group, size_t bytes)
{
    if (group->is_one_process)
        return true;
    return bytes >= jd__shm_cma_shortest && all_read_all(group);
}

/* ---- reading ------------------------------------------------------------ */

struct jd_shm_cma jd__shm_cma_of(const struct jd_shm_group *group, int member,
                                 uint64_t place, uint64_t address, size_t bytes)
{
    struct jd_shm_cma cma = { .member = member };
    if (place != JD_PLACE_PRIVATE)
        cma.data = (uintptr_t)jd__shm_at(group, member, place, bytes);
    else
        cma.data = address;
    if (place == JD_PLACE_PRIVATE &&
        group->processes[member] != group->processes[group->index])
        cma.pid = group->members[member].pid;
    return cma;
}

static jd_status fail_place(const struct jd_shm_group *group, int member)
{
    const struct jd_wait *wait = &group->spec.wait;
    return jd_fail(JD_INTERNAL,
                   "%s%s: process %d (member %d) told of a buffer that is not "
                   "in its memory; please report this",
                   wait->operation, wait->detail ? wait->detail : "",
                   group->processes[member], member);
}

static jd_status fail_reading(const struct jd_shm_group *group, int member,
                              int error)
{
    const struct jd_wait *wait = &group->spec.wait;
    return jd_fail(JD_UNAVAILABLE,
                   "%s%s: the memory of process %d (member %d) cannot be read "
                   "any more: %s; has it ended?",
                   wait->operation, wait->detail ? wait->detail : "",
                   group->processes[member], member, strerror(error));
}

/* The system takes at most so many rows and bytes in one call. */
enum { MOST_ROWS = 64 };
#define MOST_BYTES ((size_t)1 << 30)

struct rows {
    struct iovec to[MOST_ROWS], from[MOST_ROWS];
    unsigned long count;
};

/* The rows from byte `begin` of the stream on. */
static void find_rows(struct rows *rows, const struct jd_strided *to,
                      uint64_t from, size_t pitch, size_t begin)
{
    size_t row = begin / to->width, column = begin % to->width;
    for (rows->count = 0; rows->count < MOST_ROWS && row < to->rows; row++) {
        size_t bytes = to->width - column;
        uint64_t address = from + row * pitch + column;
        bytes = bytes < MOST_BYTES ? bytes : MOST_BYTES;
        rows->to[rows->count].iov_base = to->base + row * to->pitch + column;
        rows->from[rows->count].iov_base = (void *)(uintptr_t)address;
        rows->to[rows->count].iov_len = bytes;
        rows->from[rows->count++].iov_len = bytes;
        if (bytes == MOST_BYTES)
            return;
        column = 0;
    }
}

static jd_status read_process(const struct jd_shm_group *group,
                              struct jd_shm_cma cma, size_t offset,
                              size_t pitch, struct jd_strided to)
{
    struct rows rows;
    size_t bytes = jd__strided_bytes(&to), begin = 0;
    if (jd__strided_is_flat(&to) && (pitch == to.width || to.rows == 1))
        to = jd__strided_flat(to.base, bytes);
    while (begin < bytes) {
        find_rows(&rows, &to, cma.data + offset, pitch, begin);
        ssize_t got = process_vm_readv(cma.pid, rows.to, rows.count, rows.from,
                                       rows.count, 0);
        if (got <= 0)
            return fail_reading(group, cma.member, got ? errno : EFAULT);
        begin += (size_t)got;
    }
    return JD_OK;
}

jd_status jd__shm_cma_copy(struct jd_shm_group *group, struct jd_shm_cma cma,
                           size_t offset, size_t pitch,
                           const struct jd_strided *to)
{
    if (!cma.data)
        return fail_place(group, cma.member);
    if (cma.pid)
        return read_process(group, cma, offset, pitch, *to);
    char *data = (char *)(uintptr_t)cma.data;
    struct jd_strided from = { data + offset, to->rows, to->width, pitch };
    jd__strided_copy(to, &from);
    return JD_OK;
}
