/* SPDX-License-Identifier: BSD-3-Clause */
/* wording.c - calls, processes and where they part ways, in words. */
#include "tools/jd-trace/wording.h"
#include "base/text.h"
#include "jd_dtype.h"
#include "jd_status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void wording_print_call(FILE *out, const struct traced_job *job,
                        const struct traced_call *call)
{
    const char *name = text_set_at(&job->texts, call->name);
    fputs(name[0] ? name : "a call without a name", out);
    if (call->count && call->dtype && jd_dtype_size((jd_dtype)call->dtype))
        fprintf(out, " of %" PRIu64 " x %s", call->count,
                jd_dtype_name((jd_dtype)call->dtype));
    if (call->site)
        fprintf(out, " at %s", text_set_at(&job->texts, call->site));
}

static void print_where(FILE *out, const struct traced_job *job,
                        const struct traced_process *process,
                        const struct traced_call *call)
{
    if (!call->comm)
        return;
    fprintf(out, " over %s (call %" PRIu64 " there)",
            text_set_at(&job->texts, process->comms[call->comm - 1].text),
            call->sequence);
}

/* What the process did with the call until its file was written. */
static void print_state(FILE *out, const struct traced_process *process,
                        const struct traced_call *call)
{
    double since = ((double)process->written - (double)call->left) * 1e-9;
    if (call->state == JD_CALL_ENTERED)
        fputs(", entered and not left", out);
    else if (call->state == JD_CALL_MET)
        fputs(", in which all have come, not left", out);
    else if (call->status != JD_OK)
        fprintf(out, ", which failed with %s",
                jd_status_name((jd_status)call->status));
    else if (call->gpu == JD_GPU_QUEUED)
        fputs(", queued, and not begun by its GPU", out);
    else if (call->gpu == JD_GPU_STARTED)
        fputs(", queued, and its GPU is in it", out);
    else
        fputs(", done", out);
    if (call->state == JD_CALL_DONE && call->left && since > 0.001)
        fprintf(out, " %.3g s before its record ends", since);
}

static void print_last_call(FILE *out, const struct traced_job *job,
                            const struct traced_process *process)
{
    const struct traced_call *call = traced_process_end(process);
    if (!call) {
        fputs("no call of jd is recorded", out);
        if (process->step[0])
            fprintf(out, ", jd_initialize's last step: %s", process->step);
        return;
    }
    fputs("last call of jd: ", out);
    wording_print_call(out, job, call);
    print_where(out, job, process, call);
    print_state(out, process, call);
}

/* "was killed by SIGKILL" of "process 2 (node0) was killed by SIGKILL": who it
 * is stands before it already. */
static const char *without_name(const struct traced_process *process)
{
    char name[32];
    int length = snprintf(name, sizeof name, "process %d (", process->index);
    const char *rest = strncmp(process->end, name, (size_t)length) == 0
                           ? strstr(process->end + length, ") ")
                           : NULL;
    return rest ? rest + 2 : process->end;
}

char *wording_of_end(const struct traced_process *process)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (out && traced_process_is_dead(process))
        fprintf(out, "%s (process %d wrote this)",
                process->end[0] ? without_name(process) : "it could not write",
                process->writer);
    else if (out && strcmp(process->end, JD_TRACE_LEFT) != 0)
        fputs(process->end, out);
    return jd__text_end(&text);
}

char *wording_of_process(const struct traced_job *job,
                         const struct traced_process *process)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (out && !process) {
        fputs(job->address ? "its calls were not shown" : "no trace file", out);
    } else if (out) {
        if (strcmp(process->end, JD_TRACE_LEFT) == 0)
            fputs("left the job; ", out);
        print_last_call(out, job, process);
    }
    return jd__text_end(&text);
}

/* ---- partings ----------------------------------------------------------- */

void wording_print_place(FILE *out, const struct traced_job *job,
                         const struct parting *parting)
{
    const char *text = text_set_at(&job->texts, parting->text);
    if (text[0])
        fputs(text, out);
    else
        fprintf(out, "communicator %016" PRIx64, parting->comm);
    fprintf(out, ", call %" PRIu64, parting->sequence);
}

/* Whether their texts do not tell the two apart. */
static bool hides_rest(const struct parting *parting,
                       const struct traced_call *call)
{
    for (int i = 0; i < parting->num_come; i++) {
        const struct traced_call *other = parting->members[i].call;
        if (other->name == call->name && other->dtype == call->dtype &&
            other->count == call->count && other->rest != call->rest)
            return true;
    }
    return false;
}

static char *word_come(const struct traced_job *job,
                       const struct parting *parting,
                       const struct traced_call *call)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    wording_print_call(out, job, call);
    if (parting->kind == PARTING_DIFFERS && hides_rest(parting, call))
        fprintf(out, ", with other arguments (their digest is %" PRIx64 ")",
                call->rest);
    if (call->state == JD_CALL_DONE && call->status != JD_OK)
        fprintf(out, ", which failed with %s",
                jd_status_name((jd_status)call->status));
    return jd__text_end(&text);
}

void wording_of_come(const struct traced_job *job,
                     const struct parting *parting, struct group_list *groups)
{
    for (int i = 0; i < parting->num_come; i++) {
        const struct parting_member *member = &parting->members[i];
        char *text = word_come(job, parting, member->call);
        groups_add(groups, member->index, text);
        free(text);
    }
    groups_end(groups);
}

static char *word_absent(const struct traced_job *job,
                         const struct parting_member *member)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    char *doing = wording_of_process(job, member->process);
    if (out && member->process)
        fprintf(out, "%" PRIu64 " call%s there, %s", member->made,
                jd__text_s((int64_t)member->made), doing ? doing : "");
    else if (out)
        fputs(doing ? doing : "", out);
    free(doing);
    return jd__text_end(&text);
}

void wording_of_absent(const struct traced_job *job,
                       const struct parting *parting, struct group_list *groups)
{
    for (int i = 0; i < parting->num_absent; i++) {
        const struct parting_member *member =
            &parting->members[parting->num_come + i];
        char *text = word_absent(job, member);
        groups_add(groups, member->index, text);
        free(text);
    }
    groups_end(groups);
}
