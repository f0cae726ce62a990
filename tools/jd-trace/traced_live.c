/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * traced_live.c - what the processes of a job that runs have called so far. One
 * process of each host that is alive shows that of all whose calls it can read
 * there, dead ones too; those that it cannot are asked themselves.
 */
#include "base/options.h"
#include "base/text.h"
#include "jd_status.h"
#include "runtime/coordination/client/observe.h"
#include "tools/jd-trace/traced_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_SECONDS 5 /* for a service that is there */
#define PART_SECONDS                                                           \
    15                  /* for a process to make a trace, and to send a part   \
                         */
#define FRESH_SECONDS 1 /* who waits so long waits for somebody */

enum {
    MAX_SILENT = 2, /* of a host, before the others there are not asked */
    MAX_AGAIN = 3,  /* a trace that is gone before it is read */
    MAX_BYTES = 1 << 30,
};

/* A process of the job, as its service knows it. */
struct live_process {
    const Jd__Row *row; /* NULL: it has no row */
    bool is_shown;
};

struct live {
    struct traced_pool *pool;
    struct traced_job *job;
    struct jd_observer *observer;
    struct live_process *processes;
    int count;
    bool is_over; /* the service answers no more */
};

/* A trace while it comes. */
struct coming {
    uint8_t *bytes;
    size_t size, got;
    int places;
};

static bool fail(void)
{
    fprintf(stderr, "jd-trace: %s\n", jd_error_message());
    return false;
}

/* ---- one trace ---------------------------------------------------------- */

static jd_status fail_parts(const char *what)
{
    return jd_fail(JD_INTERNAL,
                   "the parts of what it has called %s; its jd is broken",
                   what);
}

static jd_status take_part(struct coming *coming, const Jd__TracePart *part)
{
    if (!coming->bytes && part->size) {
        if (part->size > MAX_BYTES)
            return fail_parts("have more than 1 GiB");
        coming->bytes = malloc(part->size);
        if (!coming->bytes)
            return jd__fail_no_memory("jd-trace", part->size);
        coming->size = part->size;
    }
    if (part->size != coming->size ||
        part->bytes.len > coming->size - coming->got)
        return fail_parts("do not fit together");
    if (part->size && !part->bytes.len)
        return fail_parts("are empty");
    if (part->bytes.len)
        memcpy(coming->bytes + coming->got, part->bytes.data, part->bytes.len);
    coming->got += part->bytes.len;
    coming->places = (int)part->places;
    return JD_OK;
}

static jd_status read_parts(struct live *live, int process, int place,
                            struct coming *coming)
{
    jd_status status = JD_OK;
    do {
        Jd__Message *answer;
        status = jd__observe_trace(live->observer, process, place, coming->got,
                                   PART_SECONDS, &answer);
        if (status != JD_OK)
            break;
        status = take_part(coming, answer->reply->trace);
        jd__message__free_unpacked(answer, NULL);
    } while (status == JD_OK && coming->got < coming->size);
    return status;
}

/* Another reader may take the place of one that was slow. */
static jd_status read_trace(struct live *live, int process, int place,
                            struct coming *coming)
{
    jd_status status = JD_ABORTED;
    for (int i = 0; i < MAX_AGAIN && status == JD_ABORTED; i++) {
        free(coming->bytes);
        *coming = (struct coming){ .bytes = NULL };
        status = read_parts(live, process, place, coming);
    }
    return status;
}

/* ---- what it says ------------------------------------------------------- */

/* Since when a GPU is in its call is not known. */
static void set_fresh(struct traced_process *process)
{
    int64_t long_ago = process->written - FRESH_SECONDS * INT64_C(1000000000);
    for (uint32_t i = 0; i < process->num_calls; i++) {
        struct traced_call *call = &process->calls[i];
        bool is_new = !call->came || call->came > long_ago;
        call->is_fresh = (call->state != JD_CALL_DONE && is_new) ||
                         call->gpu == JD_GPU_STARTED;
    }
}

static bool set_end(struct traced_process *process, const char *end)
{
    char *copy = strdup(end);
    if (!copy)
        return false;
    free(process->end);
    process->end = copy;
    return true;
}

/* Of those that are no more the service knows how they went. */
static bool take_state(struct live *live, struct traced_process *process,
                       int shown_by)
{
    bool is_known = process->index >= 0 && process->index < live->count;
    struct live_process *of =
        is_known ? &live->processes[process->index] : NULL;
    set_fresh(process);
    if (of)
        of->is_shown = true;
    if (of && of->row && of->row->state == JD__ROW__STATE__LEFT)
        return set_end(process, JD_TRACE_LEFT);
    if (!of || !of->row || of->row->state != JD__ROW__STATE__FAILED)
        return true;
    process->writer = shown_by;
    return set_end(process, of->row->failure);
}

/* Where nobody has that ring, nothing was sent. */
static bool add_trace(struct live *live, const struct coming *coming,
                      int process, int place)
{
    char name[96];
    snprintf(name, sizeof name, "what process %d shows as number %d of %d",
             process, place + 1, coming->places);
    if (!coming->size)
        return true;
    struct traced_process *added = traced_pool_add(
        live->pool, name, coming->bytes, coming->size, &live->job->texts);
    return !added || take_state(live, added, process);
}

static jd_status read_all_of(struct live *live, int process)
{
    jd_status status = JD_OK;
    struct coming coming = { .bytes = NULL };
    for (int place = 0, places = 1; status == JD_OK && place < places;
         place++) {
        status = read_trace(live, process, place, &coming);
        places = coming.places;
        if (status == JD_OK && !add_trace(live, &coming, process, place))
            status = jd__fail_no_memory("jd-trace", coming.size);
    }
    free(coming.bytes);
    return status;
}

/* ---- a job -------------------------------------------------------------- */

static bool can_be_asked(const struct live_process *process)
{
    return !process->is_shown && process->row &&
           (process->row->state == JD__ROW__STATE__CONNECTED ||
            process->row->state == JD__ROW__STATE__LEAVING);
}

/* With process 0 the job is over. */
static void look_whether_over(struct live *live)
{
    Jd__Message *answer = NULL;
    if (jd__observe_ask(live->observer, ANSWER_SECONDS, &answer) == JD_OK) {
        jd__message__free_unpacked(answer, NULL);
        return;
    }
    live->is_over = true;
    fprintf(stderr,
            "jd-trace: warning: the job has ended meanwhile; what came before "
            "is shown: %s\n",
            jd_error_message());
}

static void warn_of(struct live *live, const struct live_process *process)
{
    char what[160];
    snprintf(what, sizeof what, "host %.80s, process %u shows nothing",
             process->row->host, (unsigned)process->row->process);
    traced_pool_warn(live->pool, what, jd_error_message());
}

static void warn_of_host(struct live *live, const Jd__Row *row)
{
    char what[160];
    snprintf(what, sizeof what, "host %.80s", row->host);
    traced_pool_warn(live->pool, what,
                     "two of its processes have shown nothing in time, and "
                     "those of its others that they would have shown are not "
                     "asked");
}

/* Those of a host of which two were silent are not waited for. */
static bool is_given_up(const struct text_set *silent, const Jd__Row *row)
{
    int count = 0;
    for (uint32_t i = 1; i < silent->count; i++) {
        const char *at = strchr(silent->texts[i], ' ');
        count += at && strcmp(at + 1, row->host) == 0;
    }
    return count >= MAX_SILENT;
}

static void note_silent(struct live *live, struct text_set *silent,
                        const Jd__Row *row)
{
    char text[128];
    uint32_t number;
    snprintf(text, sizeof text, "%u %.80s", (unsigned)row->process, row->host);
    if (text_set_add(silent, text, &number) && is_given_up(silent, row))
        warn_of_host(live, row);
}

static void ask_process(struct live *live, int process, struct text_set *silent)
{
    struct live_process *asked = &live->processes[process];
    if (is_given_up(silent, asked->row))
        return;
    jd_status status = read_all_of(live, process);
    if (status == JD_OK)
        return;
    warn_of(live, asked);
    if (status == JD_DEADLINE_EXCEEDED)
        note_silent(live, silent, asked->row);
    if (status == JD_UNAVAILABLE || status == JD_DEADLINE_EXCEEDED)
        look_whether_over(live);
}

static void ask_processes(struct live *live)
{
    struct text_set silent = { .count = 0 };
    for (int i = 0; i < live->count && !live->is_over; i++)
        if (can_be_asked(&live->processes[i]))
            ask_process(live, i, &silent);
    text_set_finish(&silent);
}

static bool take_rows(struct live *live, const Jd__Reply *table)
{
    live->count = (int)table->count;
    live->processes = calloc((size_t)live->count + 1, sizeof *live->processes);
    for (size_t i = 0; live->processes && i < table->n_rows; i++)
        if (table->rows[i]->process < table->count)
            live->processes[table->rows[i]->process].row = table->rows[i];
    return live->processes;
}

static bool read_job(struct live *live, const char *address)
{
    Jd__Message *table = NULL;
    if (jd__observe_ask(live->observer, ANSWER_SECONDS, &table) != JD_OK)
        return fail();
    bool is_taken = take_rows(live, table->reply);
    if (is_taken)
        ask_processes(live);
    else
        traced_pool_warn(live->pool, address, NULL);
    if (is_taken && live->job->num_processes < live->count)
        live->job->num_processes = live->count;
    jd__message__free_unpacked(table, NULL);
    free(live->processes);
    if (live->pool->count)
        return true;
    fprintf(stderr,
            "jd-trace: the job at %s: none of its %d process%s has shown what "
            "it has called\n",
            address, live->count, jd__text_es(live->count));
    return false;
}

static jd_status open_observer(const char *address,
                               struct jd_observer **ret_observer)
{
    struct jd_env *env;
    struct jd_settings *settings = NULL;
    jd_status status = jd__env_from_process(&env);
    if (status != JD_OK)
        return status;
    status = jd__options_resolve(env, NULL, 0, &settings);
    if (status == JD_OK)
        status = jd__observe_open(env, settings, address, ANSWER_SECONDS,
                                  ret_observer);
    jd__options_destroy(settings);
    jd__env_destroy(env);
    return status;
}

bool traced_live_read(struct traced_pool *pool, struct traced_job *job,
                      const char *address)
{
    struct live live = { .pool = pool, .job = job };
    if (open_observer(address, &live.observer) != JD_OK)
        return fail();
    bool is_read = read_job(&live, address);
    jd__observe_close(live.observer);
    return is_read;
}
