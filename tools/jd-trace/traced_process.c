/* SPDX-License-Identifier: BSD-3-Clause */
/* traced_process.c - one trace file, checked and taken into memory. */
#include "runtime/recorder/trace_columns.h"
#include "tools/json.h"
#include "tools/jd-trace/traced.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILE_BYTES = 1 << 30, MAX_PROCESSES = 1 << 24 };
#define MAX_OFFSET (INT64_C(1) << 60) /* nanoseconds: 36 years */

/* A file while it is read. */
struct reading {
    const char *path;
    struct text_set *texts;
    /* Places in the file to numbers of texts. */
    uint32_t *names, *sites, *own_names;
    char *why;
};

__attribute__((format(printf, 2, 3))) static bool
refuse(struct reading *reading, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&reading->why, format, arguments) < 0)
        reading->why = NULL;
    va_end(arguments);
    return false;
}

static bool refuse_memory(struct reading *reading)
{
    return refuse(reading, "there is no memory for it; read fewer files");
}

/* ---- bytes -------------------------------------------------------------- */

static bool read_whole(struct reading *reading, FILE *file, size_t size,
                       uint8_t **ret_bytes)
{
    uint8_t *bytes = malloc(size + 1);
    if (!bytes)
        return refuse_memory(reading);
    size_t got = fread(bytes, 1, size, file);
    if (got == size) {
        *ret_bytes = bytes;
        return true;
    }
    free(bytes);
    return refuse(reading,
                  "of its %zu bytes %zu could be read: %s; wait until it is "
                  "written, or copy it again",
                  size, got, ferror(file) ? strerror(errno) : "it ends there");
}

static bool check_length(struct reading *reading, long long size)
{
    if (size < 8)
        return refuse(reading,
                      "it is %lld bytes long, and a trace has 8 before its "
                      "message; it was cut, or is no trace",
                      size);
    if (size > MAX_FILE_BYTES)
        return refuse(reading,
                      "it is %lld bytes long, and a trace has %d at most; it "
                      "is no trace",
                      size, MAX_FILE_BYTES);
    return true;
}

static bool check_size(struct reading *reading, const struct stat *about)
{
    if (!S_ISREG(about->st_mode))
        return refuse(reading, "it is no file; name trace files or folders "
                               "that have them");
    return check_length(reading, (long long)about->st_size);
}

static bool read_bytes(struct reading *reading, struct timespec *ret_modified,
                       uint8_t **ret_bytes, size_t *ret_size)
{
    struct stat about;
    FILE *file = fopen(reading->path, "rbe");
    if (!file || fstat(fileno(file), &about) != 0) {
        int error = errno;
        if (file)
            fclose(file);
        return refuse(reading, "it cannot be opened: %s", strerror(error));
    }
    bool is_read = check_size(reading, &about) &&
                   read_whole(reading, file, (size_t)about.st_size, ret_bytes);
    *ret_size = (size_t)about.st_size;
    *ret_modified = about.st_mtim;
    fclose(file);
    return is_read;
}

/* ---- checks ------------------------------------------------------------- */

static bool check_magic(struct reading *reading, const uint8_t *bytes)
{
    if (memcmp(bytes, JD_TRACE_MAGIC, sizeof JD_TRACE_MAGIC) == 0)
        return true;
    return refuse(reading,
                  "its first 8 bytes are %02x%02x%02x%02x%02x%02x%02x%02x, "
                  "and those of a trace \"%s\" and a 0; it is no trace",
                  bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5],
                  bytes[6], bytes[7], JD_TRACE_MAGIC);
}

static bool check_about(struct reading *reading, const Jd__Trace *trace)
{
    if (trace->version != JD_TRACE_VERSION)
        return refuse(reading,
                      "it is of version %" PRIu32 ", and this jd-trace reads "
                      "version %d; take the jd-trace of the jd that wrote it",
                      trace->version, JD_TRACE_VERSION);
    if (!trace->calls)
        return refuse(reading, "it has no field \"calls\"; it was cut, or is "
                               "no trace");
    int32_t most = trace->processes ? trace->processes : MAX_PROCESSES;
    if (trace->process < -1 || trace->process >= most || trace->processes < 0 ||
        trace->processes > MAX_PROCESSES)
        return refuse(reading,
                      "its process is %" PRId32 " of %" PRId32
                      ", and one is -1 or from 0 to below their number, of %d "
                      "at most; it is damaged",
                      trace->process, trace->processes, MAX_PROCESSES);
    return true;
}

struct column {
    const char *name;
    size_t count;
};

/* By a jd that did not have it yet. */
static bool is_left_out(const struct column *column)
{
    return !column->count && strcmp(column->name, "gpu") == 0;
}

static bool check_lengths(struct reading *reading, const Jd__TraceCalls *calls)
{
#define COLUMN(type, name) { #name, calls->n_##name },
    const struct column columns[] = { JD_TRACE_COLUMNS(COLUMN) };
#undef COLUMN
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (columns[i].count != calls->n_number && !is_left_out(&columns[i]))
            return refuse(reading,
                          "its column \"%s\" has %zu values, and \"number\" "
                          "%zu; it is damaged",
                          columns[i].name, columns[i].count, calls->n_number);
    return true;
}

static bool refuse_value(struct reading *reading, const char *column,
                         size_t call, int64_t value, int64_t first,
                         int64_t last)
{
    return refuse(reading,
                  "its column \"%s\" has %" PRId64 " in place %zu, and may "
                  "have %" PRId64 " to %" PRId64 "; it is damaged",
                  column, value, call, first, last);
}

static bool check_call(struct reading *reading, const Jd__Trace *trace,
                       size_t i)
{
    const Jd__TraceCalls *calls = trace->calls;
    int32_t processes = trace->processes ? trace->processes : INT32_MAX;
    if (calls->name[i] >= trace->n_names)
        return refuse_value(reading, "name", i, calls->name[i], 0,
                            (int64_t)trace->n_names - 1);
    if (calls->comm[i] > trace->n_comms)
        return refuse_value(reading, "comm", i, calls->comm[i], 0,
                            (int64_t)trace->n_comms);
    if (calls->site[i] > trace->n_sites)
        return refuse_value(reading, "site", i, calls->site[i], 0,
                            (int64_t)trace->n_sites);
    if (calls->state[i] > JD_CALL_DONE)
        return refuse_value(reading, "state", i, calls->state[i], 0,
                            JD_CALL_DONE);
    if (calls->n_gpu && calls->gpu[i] > JD_GPU_DONE)
        return refuse_value(reading, "gpu", i, calls->gpu[i], 0, JD_GPU_DONE);
    if (calls->last[i] < -1 || calls->last[i] >= processes)
        return refuse_value(reading, "last", i, calls->last[i], -1,
                            processes - 1);
    return true;
}

static bool check_own_lengths(struct reading *reading,
                              const Jd__TraceOwnRanges *ranges)
{
#define COLUMN(type, name) { #name, ranges->n_##name },
    const struct column columns[] = { JD_TRACE_OWN_COLUMNS(COLUMN) };
#undef COLUMN
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (columns[i].count != ranges->n_name)
            return refuse(reading,
                          "its column \"%s\" of own ranges has %zu values, "
                          "and \"name\" %zu; it is damaged",
                          columns[i].name, columns[i].count, ranges->n_name);
    return true;
}

static bool check_own(struct reading *reading, const Jd__TraceOwnRanges *ranges)
{
    if (!ranges)
        return true;
    if (!check_own_lengths(reading, ranges))
        return false;
    for (size_t i = 0; i < ranges->n_name; i++)
        if (ranges->name[i] >= ranges->n_names)
            return refuse_value(reading, "name", i, ranges->name[i], 0,
                                (int64_t)ranges->n_names - 1);
    return true;
}

static bool check_sample(struct reading *reading, const Jd__TraceClocks *clocks,
                         size_t i)
{
    if (clocks->offset[i] < -MAX_OFFSET || clocks->offset[i] > MAX_OFFSET)
        return refuse_value(reading, "offset", i, clocks->offset[i],
                            -MAX_OFFSET, MAX_OFFSET);
    if (clocks->error[i] < 0 || clocks->error[i] > MAX_OFFSET)
        return refuse_value(reading, "error", i, clocks->error[i], 0,
                            MAX_OFFSET);
    return true;
}

static bool check_clocks(struct reading *reading, const Jd__TraceClocks *clocks)
{
    if (!clocks)
        return true;
    if (clocks->n_offset != clocks->n_at || clocks->n_error != clocks->n_at)
        return refuse(reading,
                      "its column \"at\" of clocks has %zu values, \"offset\" "
                      "%zu and \"error\" %zu; it is damaged",
                      clocks->n_at, clocks->n_offset, clocks->n_error);
    bool is_right = true;
    for (size_t i = 0; is_right && i < clocks->n_at; i++)
        is_right = check_sample(reading, clocks, i);
    return is_right;
}

static bool check_trace(struct reading *reading, const Jd__Trace *trace)
{
    bool is_right = check_about(reading, trace) &&
                    check_lengths(reading, trace->calls) &&
                    check_own(reading, trace->own_ranges) &&
                    check_clocks(reading, trace->clocks);
    for (size_t i = 0; is_right && i < trace->calls->n_number; i++)
        is_right = check_call(reading, trace, i);
    return is_right;
}

/* What terminals and pages cannot take is replaced, so that every printer may
 * print what it finds. */
static char *clean_text(const char *text)
{
    char *copy = strdup(text);
    unsigned char *at = (unsigned char *)copy;
    while (at && *at) {
        size_t length = json_sequence_length(at);
        if (length < 1)
            *at = '?';
        else if (*at < 0x20 || *at == 0x7f)
            *at = ' ';
        at += length ? length : 1;
    }
    return copy;
}

static bool add_text(struct reading *reading, const char *text,
                     uint32_t *ret_number)
{
    char *copy = clean_text(text);
    bool is_added = copy && text_set_add(reading->texts, copy, ret_number);
    free(copy);
    return is_added ? true : refuse_memory(reading);
}

/* ---- into memory -------------------------------------------------------- */

static bool take_texts(struct reading *reading, char *const *texts,
                       size_t count, uint32_t **ret_numbers)
{
    uint32_t *numbers = calloc(count + 1, sizeof *numbers);
    *ret_numbers = numbers;
    for (size_t i = 0; numbers && i < count; i++)
        if (!add_text(reading, texts[i], &numbers[i]))
            return false;
    return numbers ? true : refuse_memory(reading);
}

static bool take_comms(struct reading *reading, struct traced_process *process,
                       const Jd__Trace *trace)
{
    process->comms = calloc(trace->n_comms + 1, sizeof *process->comms);
    if (!process->comms)
        return refuse_memory(reading);
    for (size_t i = 0; i < trace->n_comms; i++) {
        const Jd__TraceComm *from = trace->comms[i];
        struct traced_comm *to = &process->comms[process->num_comms++];
        *to = (struct traced_comm){ .id = from->id,
                                    .member = from->member,
                                    .size = from->size };
        if (!add_text(reading, from->text, &to->text))
            return false;
    }
    return true;
}

static struct traced_call take_call(const struct reading *reading,
                                    const Jd__TraceCalls *calls, size_t i)
{
    uint32_t site = calls->site[i];
    return (struct traced_call){
        .number = calls->number[i],
        .sequence = calls->sequence[i],
        .count = calls->count[i],
        .rest = calls->rest[i],
        .came = calls->came_ns[i],
        .met = calls->met_ns[i],
        .left = calls->left_ns[i],
        .name = reading->names[calls->name[i]],
        .site = site ? reading->sites[site - 1] : 0,
        .comm = calls->comm[i],
        .status = calls->status[i],
        .last = calls->last[i],
        .dtype = (uint8_t)(calls->dtype[i] < 255 ? calls->dtype[i] : 255),
        .state = (uint8_t)calls->state[i],
        .gpu = (uint8_t)(calls->n_gpu ? calls->gpu[i] : JD_GPU_NONE),
    };
}

static int compare_calls(const void *one, const void *other)
{
    const struct traced_call *a = one, *b = other;
    return (a->number > b->number) - (a->number < b->number);
}

static bool take_calls(struct reading *reading, struct traced_process *process,
                       const Jd__TraceCalls *calls)
{
    bool is_sorted = true;
    process->calls = calloc(calls->n_number + 1, sizeof *process->calls);
    if (!process->calls)
        return refuse_memory(reading);
    for (size_t i = 0; i < calls->n_number; i++) {
        process->calls[i] = take_call(reading, calls, i);
        is_sorted =
            is_sorted && (i == 0 || calls->number[i - 1] <= calls->number[i]);
    }
    process->num_calls = (uint32_t)calls->n_number;
    if (!is_sorted)
        qsort(process->calls, process->num_calls, sizeof *process->calls,
              compare_calls);
    return true;
}

/* Files of earlier versions have none. */
static bool take_own(struct reading *reading, struct traced_process *process,
                     const Jd__TraceOwnRanges *ranges)
{
    if (!ranges)
        return true;
    if (!take_texts(reading, ranges->names, ranges->n_names,
                    &reading->own_names))
        return false;
    process->own = calloc(ranges->n_name + 1, sizeof *process->own);
    if (!process->own)
        return refuse_memory(reading);
    for (size_t i = 0; i < ranges->n_name; i++)
        process->own[process->num_own++] = (struct traced_own){
            .begin = ranges->begin_ns[i],
            .end = ranges->end_ns[i],
            .name = reading->own_names[ranges->name[i]],
            .thread = ranges->thread[i],
            .depth = ranges->depth[i],
        };
    return true;
}

static bool take_clocks(struct reading *reading, struct traced_process *process,
                        const Jd__TraceClocks *clocks)
{
    if (!clocks)
        return true;
    process->samples = calloc(clocks->n_at + 1, sizeof *process->samples);
    if (!process->samples)
        return refuse_memory(reading);
    for (size_t i = 0; i < clocks->n_at; i++)
        process->samples[process->num_samples++] = (struct jd_clock_sample){
            .at = clocks->at[i],
            .offset = clocks->offset[i],
            .error = clocks->error[i],
        };
    return true;
}

static bool take_about(struct reading *reading, struct traced_process *process,
                       const Jd__Trace *trace)
{
    process->path = strdup(reading->path);
    process->job = clean_text(trace->job);
    process->host = clean_text(trace->host);
    process->clock =
        clean_text(trace->boot_id[0] ? trace->boot_id : trace->host);
    process->step = clean_text(trace->step);
    process->end = clean_text(trace->end);
    process->index = trace->process;
    process->processes = trace->processes;
    process->writer = trace->writer;
    process->pid = trace->pid;
    process->written = trace->written_ns;
    if (process->path && process->job && process->host && process->clock &&
        process->step && process->end)
        return true;
    return refuse_memory(reading);
}

static bool take_trace(struct reading *reading, struct traced_process *process,
                       const Jd__Trace *trace)
{
    return check_trace(reading, trace) && take_about(reading, process, trace) &&
           take_texts(reading, trace->names, trace->n_names, &reading->names) &&
           take_texts(reading, trace->sites, trace->n_sites, &reading->sites) &&
           take_comms(reading, process, trace) &&
           take_calls(reading, process, trace->calls) &&
           take_own(reading, process, trace->own_ranges) &&
           take_clocks(reading, process, trace->clocks);
}

static bool take_bytes(struct reading *reading, struct traced_process *process,
                       const uint8_t *bytes, size_t size)
{
    if (!check_magic(reading, bytes))
        return false;
    Jd__Trace *trace = jd__trace__unpack(NULL, size - 8, bytes + 8);
    if (!trace)
        return refuse(reading,
                      "what follows byte 8 of its %zu is no message jd.Trace; "
                      "it was cut: copy it again",
                      size);
    bool is_taken = take_trace(reading, process, trace);
    jd__trace__free_unpacked(trace, NULL);
    return is_taken;
}

/* The texts stay with the process; the rest of the reading goes. */
static bool end_reading(struct reading *reading, struct traced_process *process,
                        bool is_read, char **ret_why)
{
    free(reading->names);
    free(reading->sites);
    free(reading->own_names);
    if (!is_read)
        traced_process_finish(process);
    *ret_why = reading->why;
    return is_read;
}

bool traced_process_read(struct traced_process *process, const char *path,
                         struct text_set *texts, char **ret_why)
{
    struct reading reading = { .path = path, .texts = texts };
    uint8_t *bytes = NULL;
    size_t size = 0;
    *process = (struct traced_process){ .index = -1 };
    bool is_read = read_bytes(&reading, &process->modified, &bytes, &size) &&
                   take_bytes(&reading, process, bytes, size);
    free(bytes);
    return end_reading(&reading, process, is_read, ret_why);
}

bool traced_process_take(struct traced_process *process, const char *name,
                         const uint8_t *bytes, size_t size,
                         struct text_set *texts, char **ret_why)
{
    struct reading reading = { .path = name, .texts = texts };
    *process = (struct traced_process){ .index = -1 };
    bool is_read = check_length(&reading, (long long)size) &&
                   take_bytes(&reading, process, bytes, size);
    return end_reading(&reading, process, is_read, ret_why);
}

void traced_process_finish(struct traced_process *process)
{
    free(process->path);
    free(process->job);
    free(process->host);
    free(process->clock);
    free(process->step);
    free(process->end);
    free(process->comms);
    free(process->calls);
    free(process->own);
    free(process->samples);
    *process = (struct traced_process){ .index = -1 };
}

const struct traced_call *
traced_process_end(const struct traced_process *process)
{
    for (uint32_t i = process->num_calls; i-- > 0;)
        if (process->calls[i].state != JD_CALL_DONE)
            return &process->calls[i];
    return process->num_calls ? &process->calls[process->num_calls - 1] : NULL;
}
