/* SPDX-License-Identifier: BSD-3-Clause */
/* trace_file.c - what processes have called, in files. */
#include "runtime/recorder/trace_file.h"
#include "base/log.h"
#include "base/write_all.h"
#include "runtime/recorder/recorder.h"
#include "runtime/recorder/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock; /* of all of it, and of writing */
    char dir[PATH_MAX];   /* "": none */
    char job[17], host[256];
    int self, processes;
    bool is_known, is_begun, is_written;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- settings ----------------------------------------------------------- */

static bool can_write_to(const char *dir)
{
    struct stat facts;
    if ((mkdir(dir, 0777) != 0 && errno != EEXIST) ||
        access(dir, W_OK | X_OK) != 0 || stat(dir, &facts) != 0)
        return false;
    errno = ENOTDIR;
    return S_ISDIR(facts.st_mode);
}

jd_status jd__trace_file_configure(const char *dir)
{
    if (!dir)
        dir = "";
    if (strlen(dir) >= sizeof state.dir)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "JD_TRACE_DIR is %zu bytes long, and a path has %zu at "
                       "most; choose a shorter one",
                       strlen(dir), sizeof state.dir - 1);
    if (dir[0] && !can_write_to(dir))
        return jd_fail(JD_INVALID_ARGUMENT,
                       "JD_TRACE_DIR is \"%s\", where this process cannot "
                       "write: %s; name a folder that it can make or write to, "
                       "or leave it out",
                       dir, strerror(errno));
    pthread_mutex_lock(&state.lock);
    strcpy(state.dir, dir);
    pthread_mutex_unlock(&state.lock);
    return JD_OK;
}

void jd__trace_file_begin(uint64_t job, const char *host, int self,
                          int processes)
{
    pthread_mutex_lock(&state.lock);
    snprintf(state.job, sizeof state.job, "%016" PRIx64, job);
    snprintf(state.host, sizeof state.host, "%s", host);
    state.self = self;
    state.processes = processes;
    state.is_known = true;
    state.is_begun = state.dir[0] != '\0';
    state.is_written = false;
    pthread_mutex_unlock(&state.lock);
}

void jd__trace_file_end(void)
{
    pthread_mutex_lock(&state.lock);
    state.is_known = state.is_begun = false;
    pthread_mutex_unlock(&state.lock);
}

/* ---- a file ------------------------------------------------------------- */

static bool write_beside(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool is_written = jd__write_all(fd, JD_TRACE_MAGIC, sizeof JD_TRACE_MAGIC) &&
                      jd__write_all(fd, bytes, size);
    return close(fd) == 0 && is_written;
}

/* What a process has written itself is not replaced by another. */
static bool put_in_place(const char *beside, const char *path, bool is_own)
{
    if (is_own)
        return rename(beside, path) == 0;
    if (link(beside, path) == 0 || errno == EEXIST)
        return unlink(beside) == 0;
    return rename(beside, path) == 0; /* no links there */
}

/* Two may write the same one. */
static void write_file(int process, const void *bytes, size_t size)
{
    char path[PATH_MAX + 64], beside[PATH_MAX + 96];
    snprintf(path, sizeof path, "%s/%s-%d" JD_TRACE_SUFFIX, state.dir,
             state.job, process);
    snprintf(beside, sizeof beside, "%s.by-%d", path, state.self);
    if (write_beside(beside, bytes, size) &&
        put_in_place(beside, path, process == state.self))
        return;
    jd__log(JD_LOG_WARNING,
            "JD_TRACE_DIR: what process %d has called could not be written to "
            "\"%s\": %s",
            process, path, strerror(errno));
    unlink(beside);
}

/* With the lock. */
static void write_ring(int process, const struct jd_ring *ring, const char *end)
{
    struct jd_trace_about about = { .job = state.job,
                                    .host = state.host,
                                    .end = end,
                                    .processes = state.processes,
                                    .writer = state.self };
    size_t size;
    void *bytes = jd__trace_pack(ring, &about, &size);
    if (bytes)
        write_file(process, bytes, size);
    free(bytes);
}

void jd__trace_file_write(const char *format, ...)
{
    const struct jd_ring *ring = jd__recorder_own();
    char end[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(end, sizeof end, format, args);
    va_end(args);
    pthread_mutex_lock(&state.lock);
    if (state.is_begun && !state.is_written && ring) {
        state.is_written = true;
        write_ring(state.self, ring, end);
    }
    pthread_mutex_unlock(&state.lock);
}

/* ---- those that cannot -------------------------------------------------- */

static bool is_among(int process, const int *processes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (processes[i] == process)
            return true;
    return false;
}

/* A process below this one, of this host, is alive and writes instead. */
static bool is_lowest_alive(const int *dead, size_t count)
{
    for (int process = 0; process < state.self; process++)
        if (!is_among(process, dead, count) && jd__recorder_ring_of(process))
            return false;
    return true;
}

void jd__trace_file_write_dead(const int *processes, size_t count,
                               const char *end)
{
    pthread_mutex_lock(&state.lock);
    bool writes = state.is_begun && is_lowest_alive(processes, count);
    for (size_t i = 0; writes && i < count; i++) {
        const struct jd_ring *ring = jd__recorder_ring_of(processes[i]);
        if (ring)
            write_ring(processes[i], ring, end);
    }
    pthread_mutex_unlock(&state.lock);
}

/* ---- while it runs ------------------------------------------------------ */

/* NULL: nobody has it. */
static const struct jd_ring *ring_at(int place, int *ret_places)
{
    struct jd_host_rings shared = jd__recorder_host_rings();
    const struct jd_ring *own = jd__recorder_own();
    bool is_shared = own && own >= shared.rings &&
                     own < shared.rings + (shared.rings ? shared.count : 0);
    *ret_places = !own ? 0 : is_shared ? shared.count : 1;
    if (place < 0 || place >= *ret_places)
        return NULL;
    const struct jd_ring *ring = is_shared ? &shared.rings[place] : own;
    return jd__ring_is_valid(ring) ? ring : NULL;
}

/* With its magic before it. */
static void *pack_as_file(const struct jd_ring *ring,
                          const struct jd_trace_about *about, size_t *ret_size)
{
    size_t size;
    void *packed = jd__trace_pack(ring, about, &size);
    uint8_t *bytes = packed ? malloc(sizeof JD_TRACE_MAGIC + size) : NULL;
    *ret_size = bytes ? sizeof JD_TRACE_MAGIC + size : 1;
    if (bytes) {
        memcpy(bytes, JD_TRACE_MAGIC, sizeof JD_TRACE_MAGIC);
        memcpy(bytes + sizeof JD_TRACE_MAGIC, packed, size);
    }
    free(packed);
    return bytes;
}

void *jd__trace_file_show(int place, int *ret_places, size_t *ret_size)
{
    char job[sizeof state.job], host[sizeof state.host];
    pthread_mutex_lock(&state.lock);
    bool is_known = state.is_known;
    struct jd_trace_about about = {
        .job = job, .host = host, .end = "", .processes = state.processes
    };
    memcpy(job, state.job, sizeof job);
    memcpy(host, state.host, sizeof host);
    pthread_mutex_unlock(&state.lock);
    const struct jd_ring *ring = ring_at(place, ret_places);
    *ret_size = 0;
    if (!is_known)
        *ret_places = 0;
    if (!is_known || !ring)
        return NULL;
    about.writer = atomic_load(&ring->process);
    return pack_as_file(ring, &about, ret_size);
}
