/* SPDX-License-Identifier: BSD-3-Clause */
/* perfetto.c - a job's calls in the Trace Event format: a row for each process,
 * a box for each call whose times are known, and in it one for its wait; above
 * the calls the program's own ranges, each thread's in a row of its own. */
#include "base/text.h"
#include "jd_dtype.h"
#include "jd_status.h"
#include "tools/json.h"
#include "tools/jd-trace/jd_trace.h"
#include "tools/jd-trace/timeline.h"

#include <inttypes.h>
#include <stdlib.h>

/* Calls of several threads of a process go side by side. */
enum { MAX_LANES = 16 };

struct drawing {
    FILE *out;
    const struct analysis *analysis;
    const struct timeline *timeline;
    const char *between;     /* before the next event */
    double lanes[MAX_LANES]; /* when the last call of each ends */
};

static void begin_event(struct drawing *drawing)
{
    fputs(drawing->between, drawing->out);
    drawing->between = ",\n";
}

static void write_name(struct drawing *drawing,
                       const struct traced_process *process, bool is_culprit)
{
    FILE *out = drawing->out;
    struct jd_text text;
    FILE *words = jd__text_begin(&text);
    if (words)
        fprintf(words, "process %d on %s%s", process->index, process->host,
                is_culprit ? " (culprit)" : "");
    char *name = jd__text_end(&text);
    begin_event(drawing);
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

static void write_args(const struct drawing *drawing,
                       const struct traced_process *process,
                       const struct traced_call *call)
{
    const struct text_set *texts = &drawing->analysis->job.texts;
    fprintf(drawing->out, ", \"args\": {\"number\": %" PRIu64, call->number);
    if (call->comm) {
        fputs(", \"communicator\": ", drawing->out);
        json_write_string(
            drawing->out,
            text_set_at(texts, process->comms[call->comm - 1].text));
        fprintf(drawing->out, ", \"sequence\": %" PRIu64, call->sequence);
    }
    fprintf(drawing->out, ", \"count\": %" PRIu64 ", \"dtype\": \"%s\"",
            call->count,
            call->dtype ? jd_dtype_name((jd_dtype)call->dtype) : "");
    if (call->site) {
        fputs(", \"site\": ", drawing->out);
        json_write_string(drawing->out, text_set_at(texts, call->site));
    }
    fprintf(drawing->out, ", \"state\": \"%s\"",
            call->state == JD_CALL_ENTERED ? "entered"
            : call->state == JD_CALL_MET
                ? "met"
                : jd_status_name((jd_status)call->status));
    if (call->gpu)
        fprintf(drawing->out, ", \"gpu\": \"%s\"",
                call->gpu == JD_GPU_QUEUED    ? "queued"
                : call->gpu == JD_GPU_STARTED ? "started"
                                              : "done");
    fputs("}", drawing->out);
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

static void write_event(struct drawing *drawing, int process, int lane,
                        double begin, double end)
{
    begin_event(drawing);
    fprintf(drawing->out,
            "{\"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f, "
            "\"dur\": %.3f, \"name\": ",
            process, lane, begin * 1e-3, (end - begin) * 1e-3);
}

static void write_call(struct drawing *drawing, int place,
                       const struct traced_call *call)
{
    const struct traced_job *job = &drawing->analysis->job;
    const struct traced_process *process = &job->processes[place];
    struct timeline_span span = timeline_span(drawing->timeline, place, call);
    if (span.end <= span.begin)
        return;
    int lane = choose_lane(drawing, &span);
    write_event(drawing, process->index, lane, span.begin, span.end);
    json_write_string(drawing->out, text_set_at(&job->texts, call->name));
    write_args(drawing, process, call);
    fputs("}", drawing->out);
    if (span.wait_end <= span.wait_begin)
        return;
    write_event(drawing, process->index, lane, span.wait_begin, span.wait_end);
    if (call->last >= 0)
        fprintf(drawing->out, "\"waits for process %d\"}", call->last);
    else
        fputs("\"waits\"}", drawing->out);
}

/* Threads of own ranges are numbered behind the lanes, and shown before them.
 */
static void write_own_thread(struct drawing *drawing, int process,
                             uint32_t thread)
{
    begin_event(drawing);
    fprintf(drawing->out,
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
    const struct traced_job *job = &drawing->analysis->job;
    const struct traced_process *process = &job->processes[place];
    for (uint32_t i = 0; i < process->num_own; i++) {
        const struct traced_own *own = &process->own[i];
        struct timeline_span span =
            timeline_own_span(drawing->timeline, place, own);
        if (is_first_of_thread(process, i))
            write_own_thread(drawing, process->index, own->thread);
        if (span.end <= span.begin)
            continue;
        write_event(drawing, process->index, MAX_LANES + (int)own->thread,
                    span.begin, span.end);
        json_write_string(drawing->out, text_set_at(&job->texts, own->name));
        fprintf(drawing->out, ", \"args\": {\"ended\": %s}}",
                own->end ? "true" : "false");
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

bool jd_trace_write_perfetto(const struct analysis *analysis, FILE *out)
{
    struct timeline timeline;
    struct drawing drawing = {
        .out = out, .between = "", .analysis = analysis, .timeline = &timeline
    };
    bool is_made = timeline_make(&analysis->job, &timeline);
    fprintf(out,
            "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"clocks\": %d, "
            "\"clock_error_us\": %.3f, \"note\": \"%s\", "
            "\"calls_without_times\": %" PRIu64 "}, \"traceEvents\": [\n",
            timeline.num_clocks, analysis->alignment.error * 1e-3,
            timeline.num_clocks > 1
                ? "each host begins at its own first time; hosts are not "
                  "aligned"
            : analysis->alignment.count > 1
                ? "hosts are aligned to the clock of process 0's"
                : "all times are of one clock",
            timeline.num_untimed);
    if (is_made)
        write_processes(&drawing);
    fputs("\n]}\n", out);
    timeline_finish(&timeline);
    return is_made;
}
