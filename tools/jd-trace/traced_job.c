/* SPDX-License-Identifier: BSD-3-Clause */
/* traced_job.c - the traces of one job, out of files and folders, or of a job
 * that runs (traced_live.c). */
#include "tools/jd-trace/traced_pool.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_WARNINGS = 20 };

static bool fail_memory(void)
{
    fputs("jd-trace: there is no memory for these files; read fewer\n", stderr);
    return false;
}

void traced_pool_warn(struct traced_pool *pool, const char *what,
                      const char *why)
{
    if (pool->num_warnings++ < MAX_WARNINGS)
        fprintf(stderr, "jd-trace: warning: %s: %s\n", what,
                why ? why : "there is no memory for it");
}

/* Says how many more there were. */
static void end_warnings(const struct traced_pool *pool, const char *what)
{
    if (pool->num_warnings > MAX_WARNINGS)
        fprintf(stderr, "jd-trace: warning: %d more %s\n",
                pool->num_warnings - MAX_WARNINGS, what);
}

/* ---- files and folders -------------------------------------------------- */

static bool make_room(struct traced_pool *pool)
{
    if (pool->count < pool->room)
        return true;
    int room = pool->room ? 2 * pool->room : 64;
    void *grown =
        realloc(pool->processes, (size_t)room * sizeof *pool->processes);
    if (!grown)
        return false;
    pool->processes = grown;
    pool->room = room;
    return true;
}

static void warn_skipped(struct traced_pool *pool, const char *path,
                         const char *why)
{
    char what[PATH_MAX + 16];
    snprintf(what, sizeof what, "%s is skipped", path);
    traced_pool_warn(pool, what, why);
}

static bool add_file(struct traced_pool *pool, const char *path,
                     struct text_set *texts)
{
    char *why = NULL;
    pool->num_files++;
    if (!make_room(pool))
        return fail_memory();
    if (traced_process_read(&pool->processes[pool->count], path, texts, &why))
        pool->count++;
    else
        warn_skipped(pool, path, why);
    free(why);
    return true;
}

struct traced_process *traced_pool_add(struct traced_pool *pool,
                                       const char *name, const uint8_t *bytes,
                                       size_t size, struct text_set *texts)
{
    char *why = NULL;
    pool->num_files++;
    struct traced_process *added =
        make_room(pool) ? &pool->processes[pool->count] : NULL;
    if (added && traced_process_take(added, name, bytes, size, texts, &why)) {
        pool->count++;
        return added;
    }
    traced_pool_warn(pool, name, why);
    free(why);
    return NULL;
}

static int is_trace_name(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name), suffix = strlen(JD_TRACE_SUFFIX);
    return length > suffix &&
           strcmp(entry->d_name + length - suffix, JD_TRACE_SUFFIX) == 0;
}

static bool fail_folder(const char *path, const char *why)
{
    fprintf(stderr,
            "jd-trace: the folder %s %s; name the one that JD_TRACE_DIR was "
            "set to\n",
            path, why);
    return false;
}

static bool add_folder(struct traced_pool *pool, const char *path,
                       struct text_set *texts)
{
    struct dirent **entries;
    bool is_added = true;
    int count = scandir(path, &entries, is_trace_name, alphasort);
    if (count < 0)
        return fail_folder(path, strerror(errno));
    for (int i = 0; i < count; i++) {
        char whole[PATH_MAX];
        snprintf(whole, sizeof whole, "%s/%s", path, entries[i]->d_name);
        is_added = is_added && add_file(pool, whole, texts);
        free(entries[i]);
    }
    free(entries);
    return count ? is_added
                 : fail_folder(path, "has no file that ends in " JD_TRACE_SUFFIX);
}

static bool add_path(struct traced_pool *pool, const char *path,
                     struct text_set *texts)
{
    struct stat about;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return add_folder(pool, path, texts);
    return add_file(pool, path, texts);
}

static bool add_paths(struct traced_pool *pool, char *const *paths, int count,
                      struct text_set *texts)
{
    bool is_added = true;
    for (int i = 0; is_added && i < count; i++)
        is_added = add_path(pool, paths[i], texts);
    end_warnings(pool, "files are skipped");
    if (!is_added || pool->count)
        return is_added;
    fprintf(stderr,
            "jd-trace: of %d files none is a trace that can be read; the "
            "warnings say why\n",
            pool->num_files);
    return false;
}

/* ---- which of them ------------------------------------------------------ */

/* By one clock where they have it, else by the files'. */
static bool is_later(const struct traced_process *a,
                     const struct traced_process *b)
{
    if (strcmp(a->clock, b->clock) == 0)
        return a->written > b->written ||
               (a->written == b->written && traced_process_is_dead(a) &&
                !traced_process_is_dead(b));
    if (a->modified.tv_sec != b->modified.tv_sec)
        return a->modified.tv_sec > b->modified.tv_sec;
    return a->modified.tv_nsec > b->modified.tv_nsec;
}

static const char *choose_job(const struct traced_pool *pool)
{
    const struct traced_process *newest = &pool->processes[0];
    for (int i = 1; i < pool->count; i++)
        if (is_later(&pool->processes[i], newest))
            newest = &pool->processes[i];
    return newest->job;
}

static bool fail_no_job(const struct traced_pool *pool, const char *id)
{
    fprintf(stderr,
            "jd-trace: --job-id is \"%s\", and of %d files none is of that "
            "job; there is",
            id, pool->count);
    struct text_set seen = { .count = 0 };
    for (int i = 0; i < pool->count; i++) {
        uint32_t before = seen.count, number;
        if (!text_set_add(&seen, pool->processes[i].job, &number))
            break;
        if (number && seen.count > before)
            fprintf(stderr, "%s \"%s\"", number > 1 ? "," : "",
                    pool->processes[i].job);
    }
    fputc('\n', stderr);
    text_set_finish(&seen);
    return false;
}

static bool has_job(const struct traced_pool *pool, const char *id)
{
    for (int i = 0; i < pool->count; i++)
        if (strcmp(pool->processes[i].job, id) == 0)
            return true;
    return false;
}

/* Leaves those of the job; the names of the others are noted. */
static bool keep_job(struct traced_pool *pool, struct traced_job *job,
                     const char *id)
{
    int left = 0;
    uint32_t number;
    bool is_whole = true;
    for (int i = 0; i < pool->count; i++) {
        struct traced_process *process = &pool->processes[i];
        if (strcmp(process->job, id) == 0) {
            pool->processes[left++] = *process;
            continue;
        }
        is_whole =
            text_set_add(&job->others, process->job, &number) && is_whole;
        traced_process_finish(process);
    }
    pool->count = left;
    return is_whole;
}

/* Of one process the later ones come first. */
static int compare_processes(const void *one, const void *other)
{
    const struct traced_process *a = one, *b = other;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return is_later(b, a) - is_later(a, b);
}

/* Of each index the first one; those without an index are apart. */
static bool place(struct traced_pool *pool, struct traced_job *job)
{
    size_t room = (size_t)pool->count + 1;
    job->processes = calloc(room, sizeof *job->processes);
    job->unplaced = calloc(room, sizeof *job->unplaced);
    if (!job->processes || !job->unplaced)
        return fail_memory();
    qsort(pool->processes, (size_t)pool->count, sizeof *pool->processes,
          compare_processes);
    for (int i = 0; i < pool->count; i++) {
        struct traced_process *process = &pool->processes[i];
        if (process->processes > job->num_processes)
            job->num_processes = process->processes;
        if (process->index < 0)
            job->unplaced[job->num_unplaced++] = *process;
        else if (job->count &&
                 job->processes[job->count - 1].index == process->index)
            traced_process_finish(process);
        else
            job->processes[job->count++] = *process;
    }
    pool->count = 0;
    if (job->count &&
        job->processes[job->count - 1].index >= job->num_processes)
        job->num_processes = job->processes[job->count - 1].index + 1;
    return true;
}

static bool choose(struct traced_pool *pool, struct traced_job *job,
                   const char *id)
{
    if (id && !has_job(pool, id))
        return fail_no_job(pool, id);
    char *chosen = strdup(id ? id : choose_job(pool));
    bool is_kept = chosen && keep_job(pool, job, chosen);
    free(chosen);
    return is_kept ? place(pool, job) : fail_memory();
}

static void finish_pool(struct traced_pool *pool)
{
    for (int i = 0; i < pool->count; i++)
        traced_process_finish(&pool->processes[i]);
    free(pool->processes);
}

bool traced_job_read(struct traced_job *job, char *const *paths, int count,
                     const char *id)
{
    struct traced_pool pool = { .count = 0 };
    bool is_read =
        add_paths(&pool, paths, count, &job->texts) && choose(&pool, job, id);
    finish_pool(&pool);
    return is_read;
}

bool traced_job_ask(struct traced_job *job, const char *address)
{
    struct traced_pool pool = { .count = 0 };
    job->address = address;
    bool is_read = traced_live_read(&pool, job, address);
    end_warnings(&pool, "like these");
    is_read = is_read && choose(&pool, job, NULL);
    finish_pool(&pool);
    return is_read;
}

void traced_job_finish(struct traced_job *job)
{
    for (int i = 0; i < job->count; i++)
        traced_process_finish(&job->processes[i]);
    for (int i = 0; i < job->num_unplaced; i++)
        traced_process_finish(&job->unplaced[i]);
    free(job->processes);
    free(job->unplaced);
    text_set_finish(&job->texts);
    text_set_finish(&job->others);
}

/* ---- questions ---------------------------------------------------------- */

static int compare_index(const void *key, const void *process)
{
    int left = *(const int *)key;
    int right = ((const struct traced_process *)process)->index;
    return (left > right) - (left < right);
}

const struct traced_process *traced_job_find(const struct traced_job *job,
                                             int index)
{
    if (!job->count)
        return NULL;
    return bsearch(&index, job->processes, (size_t)job->count,
                   sizeof *job->processes, compare_index);
}

static int count_distinct(const struct traced_job *job, size_t offset)
{
    struct text_set seen = { .count = 0 };
    uint32_t number;
    int count = 0;
    for (int i = 0; i < job->count; i++) {
        const char *at = (const char *)&job->processes[i] + offset;
        uint32_t before = seen.count;
        if (text_set_add(&seen, *(char *const *)at, &number) && number &&
            seen.count > before)
            count++;
    }
    text_set_finish(&seen);
    return count;
}

int traced_job_hosts(const struct traced_job *job)
{
    return count_distinct(job, offsetof(struct traced_process, host));
}

int traced_job_clocks(const struct traced_job *job)
{
    return count_distinct(job, offsetof(struct traced_process, clock));
}
