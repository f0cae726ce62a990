/* SPDX-License-Identifier: BSD-3-Clause */
/* report_json.c - a job's traces as one JSON object. */
#include "tools/json.h"
#include "tools/jd-trace/jd_trace.h"

#include <inttypes.h>
#include <stdlib.h>

static void write_key(const char *before, const char *key)
{
    printf("%s\"%s\": ", before, key);
}

static void write_text(const char *before, const char *key, const char *text)
{
    write_key(before, key);
    json_write_string(stdout, text);
}

/* null where there is none. */
static void write_site(const struct analysis *analysis, uint32_t name,
                       uint32_t site)
{
    write_text("", "call", text_set_at(&analysis->job.texts, name));
    write_text(", ", "site",
               site ? text_set_at(&analysis->job.texts, site) : NULL);
}

static void write_group(const struct group *group, const char *key)
{
    fputs("{\"processes\": [", stdout);
    for (int i = 0; i < group->count; i++)
        printf("%s%d", i ? ", " : "", group->processes[i]);
    fputs("]", stdout);
    write_text(", ", key, group->text);
    fputs("}", stdout);
}

static void write_groups(const char *before, const char *key,
                         const struct group_list *groups, const char *text)
{
    write_key(before, key);
    fputs("[", stdout);
    for (int i = 0; i < groups->count; i++) {
        fputs(i ? ",\n    " : "\n    ", stdout);
        write_group(&groups->groups[i], text);
    }
    fputs("]", stdout);
}

/* ---- who ---------------------------------------------------------------- */

static void write_missing(const struct traced_job *job)
{
    write_key(",\n  ", "missing");
    fputs("[", stdout);
    const char *between = "";
    for (int i = 0, at = 0; i < job->num_processes; i++)
        if (at < job->count && job->processes[at].index == i) {
            at++;
        } else {
            printf("%s%d", between, i);
            between = ", ";
        }
    fputs("]", stdout);
}

static void write_unplaced(const struct traced_job *job)
{
    write_key(",\n  ", "without_index");
    fputs("[", stdout);
    for (int i = 0; i < job->num_unplaced; i++) {
        printf("%s{\"pid\": %" PRIu32, i ? ", " : "", job->unplaced[i].pid);
        write_text(", ", "host", job->unplaced[i].host);
        write_text(", ", "step", job->unplaced[i].step);
        write_text(", ", "end", job->unplaced[i].end);
        fputs("}", stdout);
    }
    fputs("]", stdout);
}

static void write_others(const struct traced_job *job)
{
    write_key(",\n  ", "other_jobs");
    fputs("[", stdout);
    for (uint32_t i = 1; i < job->others.count; i++) {
        fputs(i > 1 ? ", " : "", stdout);
        json_write_string(stdout, job->others.texts[i]);
    }
    fputs("]", stdout);
}

static void write_clocks(const struct alignment *alignment)
{
    write_key(",\n  ", "clock_offsets");
    fputs("[", stdout);
    for (int i = 0; i < alignment->count; i++) {
        const struct aligned_clock *clock = &alignment->clocks[i];
        write_text(i ? ",\n    {" : "\n    {", "host", clock->host);
        printf(", \"is_aligned\": %s, \"offset_s\": %.9f, "
               "\"error_s\": %.9f, \"jumps\": %s}",
               clock->is_aligned ? "true" : "false",
               (double)clock->offset * 1e-9, clock->error * 1e-9,
               clock->jumps ? "true" : "false");
    }
    fputs("]", stdout);
}

static void write_who(const struct analysis *analysis)
{
    const struct traced_job *job = &analysis->job;
    const struct traced_process *first =
        job->count ? job->processes : job->unplaced;
    write_text("{\n  ", "job", first->job);
    write_text(",\n  ", "address", job->address);
    printf(",\n  \"processes\": %d,\n  \"files\": %d,\n  \"hosts\": %d,\n"
           "  \"clocks\": %d",
           job->num_processes, job->count, traced_job_hosts(job),
           traced_job_clocks(job));
    write_clocks(&analysis->alignment);
    write_missing(job);
    write_unplaced(job);
    write_others(job);
    write_groups(",\n  ", "ends", &analysis->ends, "end");
}

/* ---- partings ----------------------------------------------------------- */

static void write_parting(const struct analysis *analysis,
                          const struct parting *parting)
{
    struct group_list come = { .count = 0 }, absent = { .count = 0 };
    wording_of_come(&analysis->job, parting, &come);
    wording_of_absent(&analysis->job, parting, &absent);
    write_text("\n    {", "communicator",
               text_set_at(&analysis->job.texts, parting->text));
    printf(", \"id\": \"%016" PRIx64 "\", \"sequence\": %" PRIu64,
           parting->comm, parting->sequence);
    write_text(", ", "kind",
               parting->kind == PARTING_DIFFERS ? "differs" : "waits");
    write_groups(",\n    ", "come", &come, "call");
    write_groups(",\n    ", "absent", &absent, "why");
    printf(",\n    \"unknown_members\": %d}", parting->num_unknown);
    groups_finish(&come);
    groups_finish(&absent);
}

static void write_partings(const struct analysis *analysis)
{
    write_groups(",\n  ", "culprits", &analysis->culprits, "why");
    write_key(",\n  ", "partings");
    fputs("[", stdout);
    for (int i = 0; i < analysis->partings.count; i++) {
        fputs(i ? "," : "", stdout);
        write_parting(analysis, &analysis->partings.partings[i]);
    }
    fputs("]", stdout);
}

/* ---- figures ------------------------------------------------------------ */

static void write_straggler(const struct analysis *analysis,
                            const struct straggler *straggler)
{
    printf("\n    {\"process\": %d, \"waited_s\": %.9g, \"sites\": [",
           straggler->process, straggler->waited);
    for (int i = 0; i < straggler->num_sites; i++) {
        fputs(i ? ", {" : "{", stdout);
        write_site(analysis, straggler->sites[i].name,
                   straggler->sites[i].site);
        printf(", \"waited_s\": %.9g}", straggler->sites[i].waited);
    }
    fputs("]}", stdout);
}

static void write_site_figures(const struct analysis *analysis,
                               const struct site_figures *site)
{
    fputs("\n    {", stdout);
    write_site(analysis, site->name, site->site);
    printf(", \"calls\": %" PRIu64 ", \"bytes\": %.17g, \"waits\": %" PRIu64
           ", \"median_s\": %.9g, \"worst_s\": %.9g",
           site->calls, site->bytes, site->waits, site->median, site->worst);
    write_key(", ", "last");
    if (site->last < 0)
        fputs("null", stdout);
    else
        printf("%d", site->last);
    printf(", \"times_last\": %" PRIu64 "}", site->times_last);
}

static void write_figures(const struct analysis *analysis)
{
    const struct figures *figures = &analysis->figures;
    write_key(",\n  ", "stragglers");
    fputs("[", stdout);
    for (int i = 0; i < figures->num_stragglers; i++) {
        fputs(i ? "," : "", stdout);
        write_straggler(analysis, &figures->stragglers[i]);
    }
    write_key("],\n  ", "sites");
    fputs("[", stdout);
    for (int i = 0; i < figures->num_sites; i++) {
        fputs(i ? "," : "", stdout);
        write_site_figures(analysis, &figures->sites[i]);
    }
    fputs("]", stdout);
}

static void write_own(const struct analysis *analysis)
{
    write_key(",\n  ", "ranges");
    fputs("[", stdout);
    for (int i = 0; i < analysis->own.count; i++) {
        const struct own_figure *own = &analysis->own.figures[i];
        write_text(i ? ",\n    {" : "\n    {", "name",
                   text_set_at(&analysis->job.texts, own->name));
        printf(", \"count\": %" PRIu64 ", \"not_ended\": %" PRIu64
               ", \"sum_s\": %.9g, \"median_s\": %.9g, \"worst_s\": %.9g",
               own->count, own->num_open, own->sum, own->median, own->worst);
        write_key(", ", "worst_process");
        if (own->process < 0)
            fputs("null}", stdout);
        else
            printf("%d}", own->process);
    }
    fputs("]\n}\n", stdout);
}

void jd_trace_print_json(const struct analysis *analysis)
{
    write_who(analysis);
    write_partings(analysis);
    write_figures(analysis);
    write_own(analysis);
}
