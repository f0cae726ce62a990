/* SPDX-License-Identifier: BSD-3-Clause */
/* perfetto.c - a job's calls in the Trace Event format: a row for each process,
 * a box for each call whose times are known, and in it one for its wait; above
 * the calls the program's own ranges, each thread's in a row of its own. */
#include "base/text.h"
#include "jd_dtype.h"
#include "jd_status.h"
#include "tools/jd-trace/jd_trace.h"
#include "tools/jd-trace/print_buffer.h"
#include "tools/jd-trace/timeline.h"
#include "tools/json.h"

#include <inttypes.h>
#include <stdlib.h>

/* Calls of several threads of a process go side by side. */
enum { MAX_LANES = 16 };

/* The job's texts as JSON strings, each made once. */
struct json_texts {
    char *bytes;
    size_t *ends; /* in bytes, of each number's */
};

struct drawing {
    const struct analysis *analysis;
    struct timeline timeline;
    struct json_texts texts;
    const char *between;     /* before the next event */
    double lanes[MAX_LANES]; /* when the last call of each ends */
    struct print_buffer out;
};

/* ---- texts -------------------------------------------------------------- */

static bool make_texts(const struct text_set *set, struct json_texts *texts)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    texts->ends = calloc((size_t)set->count + 1, sizeof *texts->ends);
    for (uint32_t i = 0; out && texts->ends && i < set->count; i++) {
        json_write_string(out, text_set_at(set, i));
        texts->ends[i] = (size_t)ftell(out);
    }
    texts->bytes = jd__text_end(&text);
    return texts->bytes && texts->ends;
}

static void finish_texts(struct json_texts *texts)
{
    free(texts->bytes);
    free(texts->ends);
}

static void write_text(struct drawing *drawing, uint32_t number)
{
    const struct json_texts *texts = &drawing->texts;
    size_t begin = number ? texts->ends[number - 1] : 0;
    print_bytes(&drawing->out, texts->bytes + begin,
                texts->ends[number] - begin);
}

/* ---- rows --------------------------------------------------------------- */

static void begin_event(struct drawing *drawing)
{
    print_text(&drawing->out, drawing->between);
    drawing->between = ",\n";
}

/* What is said of a row is little: where to print it. */
static FILE *begin_row(struct drawing *drawing)
{
    begin_event(drawing);
    print_flush(&drawing->out);
    return drawing->out.out;
}

static void write_name(struct drawing *drawing,
                       const struct traced_process *process, bool is_culprit)
{
    struct jd_text text;
    FILE *words = jd__text_begin(&text);
    if (words)
        fprintf(words, "process %d on %s%s", process->index, process->host,
                is_culprit ? " (culprit)" : "");
    char *name = jd__text_end(&text);
    FILE *out = begin_row(drawing);
    fprintf(out,
            "{\"ph\": \"M\", \"pid\": %d, \"tid\": 0, \"name\": "
            "\"process_name\", \"args\": {\"name\": ",
            process->index);
    json_write_string(out, name ? name : "");
    fprintf(out,
            "}},\n{\"ph\": \"M\", \"pid\": %d, \"tid\": 0, \"name\": "
            "\"process_sort_index\", \"args\": {\"sort_index\": %d}}",
            process->index, process->index);
    free(name);
}

/* ---- calls -------------------------------------------------------------- */

static const char *state_of(const struct traced_call *call)
{
    return call->state == JD_CALL_ENTERED ? "entered"
           : call->state == JD_CALL_MET
               ? "met"
               : jd_status_name((jd_status)call->status);
}

static const char *gpu_of(const struct traced_call *call)
{
    return call->gpu == JD_GPU_QUEUED    ? "queued"
           : call->gpu == JD_GPU_STARTED ? "started"
                                         : "done";
}

static void write_args(struct drawing *drawing,
                       const struct traced_process *process,
                       const struct traced_call *call)
{
    struct print_buffer *out = &drawing->out;
    print_text(out, ", \"args\": {\"number\": ");
    print_number(out, call->number);
    if (call->comm) {
        print_text(out, ", \"communicator\": ");
        write_text(drawing, process->comms[call->comm - 1].text);
        print_text(out, ", \"sequence\": ");
        print_number(out, call->sequence);
    }
    print_text(out, ", \"count\": ");
    print_number(out, call->count);
    print_text(out, ", \"dtype\": \"");
    print_text(out, call->dtype ? jd_dtype_name((jd_dtype)call->dtype) : "");
    print_text(out, "\"");
    if (call->site) {
        print_text(out, ", \"site\": ");
        write_text(drawing, call->site);
    }
    print_text(out, ", \"state\": \"");
    print_text(out, state_of(call));
    if (call->gpu) {
        print_text(out, "\", \"gpu\": \"");
        print_text(out, gpu_of(call));
    }
    print_text(out, "\"}");
}

/* The first lane that is free then. */
static int choose_lane(struct drawing *drawing,
                       const struct timeline_span *span)
{
    int lane = 0;
    while (lane < MAX_LANES - 1 && drawing->lanes[lane] > span->begin)
        lane++;
    drawing->lanes[lane] = span->end;
    return lane;
}

/* The nearest. */
static int64_t whole_ns(double nanoseconds)
{
    return (int64_t)(nanoseconds < 0 ? nanoseconds - 0.5 : nanoseconds + 0.5);
}

/* Up to its name's value. */
static void write_event(struct drawing *drawing, int process, int lane,
                        double begin, double end)
{
    struct print_buffer *out = &drawing->out;
    begin_event(drawing);
    print_text(out, "{\"ph\": \"X\", \"pid\": ");
    print_signed(out, process);
    print_text(out, ", \"tid\": ");
    print_number(out, (uint64_t)lane);
    print_text(out, ", \"ts\": ");
    print_us(out, whole_ns(begin));
    print_text(out, ", \"dur\": ");
    print_us(out, whole_ns(end - begin));
    print_text(out, ", \"name\": ");
}

static void write_wait(struct drawing *drawing, int process, int lane,
                       const struct timeline_span *span, int last)
{
    write_event(drawing, process, lane, span->wait_begin, span->wait_end);
    if (last < 0) {
        print_text(&drawing->out, "\"waits\"}");
        return;
    }
    print_text(&drawing->out, "\"waits for process ");
    print_number(&drawing->out, (uint64_t)last);
    print_text(&drawing->out, "\"}");
}

static void write_call(struct drawing *drawing, int place,
                       const struct traced_call *call)
{
    const struct traced_process *process =
        &drawing->analysis->job.processes[place];
    struct timeline_span span = timeline_span(&drawing->timeline, place, call);
    if (span.end <= span.begin)
        return;
    int lane = choose_lane(drawing, &span);
    write_event(drawing, process->index, lane, span.begin, span.end);
    write_text(drawing, call->name);
    write_args(drawing, process, call);
    print_text(&drawing->out, "}");
    if (span.wait_end > span.wait_begin)
        write_wait(drawing, process->index, lane, &span, call->last);
}

/* ---- own ranges --------------------------------------------------------- */

/* Threads of own ranges are numbered behind the lanes, and shown before them.
 */
static void write_own_thread(struct drawing *drawing, int process,
                             uint32_t thread)
{
    fprintf(begin_row(drawing),
            "{\"ph\": \"M\", \"pid\": %d, \"tid\": %" PRIu32
            ", \"name\": \"thread_name\", \"args\": {\"name\": "
            "\"own ranges of thread %" PRIu32 "\"}},\n"
            "{\"ph\": \"M\", \"pid\": %d, \"tid\": %" PRIu32
            ", \"name\": \"thread_sort_index\", \"args\": "
            "{\"sort_index\": -1}}",
            process, MAX_LANES + thread, thread, process, MAX_LANES + thread);
}

static bool is_first_of_thread(const struct traced_process *process, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (process->own[k].thread == process->own[i].thread)
            return false;
    return true;
}

static void write_own(struct drawing *drawing, int place)
{
    const struct traced_process *process =
        &drawing->analysis->job.processes[place];
    for (uint32_t i = 0; i < process->num_own; i++) {
        const struct traced_own *own = &process->own[i];
        struct timeline_span span =
            timeline_own_span(&drawing->timeline, place, own);
        if (is_first_of_thread(process, i))
            write_own_thread(drawing, process->index, own->thread);
        if (span.end <= span.begin)
            continue;
        write_event(drawing, process->index, MAX_LANES + (int)own->thread,
                    span.begin, span.end);
        write_text(drawing, own->name);
        print_text(&drawing->out, own->end ? ", \"args\": {\"ended\": true}}"
                                           : ", \"args\": {\"ended\": false}}");
    }
}

static void write_processes(struct drawing *drawing)
{
    const struct traced_job *job = &drawing->analysis->job;
    for (int i = 0; i < job->count; i++) {
        const struct traced_process *process = &job->processes[i];
        write_name(drawing, process,
                   culprit_is(&drawing->analysis->culprits, process->index));
        for (int k = 0; k < MAX_LANES; k++)
            drawing->lanes[k] = 0;
        for (uint32_t k = 0; k < process->num_calls; k++)
            write_call(drawing, i, &process->calls[k]);
        write_own(drawing, i);
    }
}

static void write_head(const struct drawing *drawing, FILE *out)
{
    const struct alignment *alignment = &drawing->analysis->alignment;
    const struct timeline *timeline = &drawing->timeline;
    fprintf(out,
            "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"clocks\": %d, "
            "\"clock_error_us\": %.3f, \"note\": \"%s\", "
            "\"calls_without_times\": %" PRIu64 "}, \"traceEvents\": [\n",
            timeline->num_clocks, alignment->error * 1e-3,
            timeline->num_clocks > 1
                ? "each host begins at its own first time; hosts are not "
                  "aligned"
            : alignment->count > 1
                ? "hosts are aligned to the clock of process 0's"
                : "all times are of one clock",
            timeline->num_untimed);
}

bool jd_trace_write_perfetto(const struct analysis *analysis, FILE *out)
{
    struct drawing *drawing = calloc(1, sizeof *drawing);
    if (!drawing)
        return false;
    drawing->analysis = analysis;
    drawing->between = "";
    drawing->out.out = out;
    bool is_made = timeline_make(&analysis->job, &drawing->timeline) &&
                   make_texts(&analysis->job.texts, &drawing->texts);
    write_head(drawing, out);
    if (is_made)
        write_processes(drawing);
    print_text(&drawing->out, "\n]}\n");
    print_flush(&drawing->out);
    finish_texts(&drawing->texts);
    timeline_finish(&drawing->timeline);
    free(drawing);
    return is_made;
}
