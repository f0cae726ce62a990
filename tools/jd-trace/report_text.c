/* SPDX-License-Identifier: BSD-3-Clause */
/* report_text.c - a job's traces for people, what is wrong first. */
#include "base/ranges.h"
#include "base/text.h"
#include "tools/jd-trace/jd_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENDS = 8, MAX_GROUPS = 4, MAX_TEXT = 400 };

static const char *text_of(const struct analysis *analysis, uint32_t number)
{
    return text_set_at(&analysis->job.texts, number);
}

static void print_time(double seconds)
{
    if (seconds >= 1)
        printf("%.3g s", seconds);
    else if (seconds >= 1e-3)
        printf("%.3g ms", seconds * 1e3);
    else
        printf("%.3g us", seconds * 1e6);
}

static void print_bytes(double bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    size_t unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    printf("%.*f %s", unit ? 1 : 0, bytes, units[unit]);
}

/* Each on a line of its own, and how many more there are. */
static void print_groups(const struct group_list *groups, int most,
                         const char *before)
{
    for (int i = 0; i < groups->count && i < most; i++) {
        fputs(before, stdout);
        groups_print(stdout, &groups->groups[i]);
        printf(": %.*s\n", MAX_TEXT, groups->groups[i].text);
    }
    if (groups->count > most)
        printf("%sand %d more like these; --json has them\n", before,
               groups->count - most);
}

/* ---- the culprit -------------------------------------------------------- */

static const char *host_of(const struct analysis *analysis,
                           const struct group *group)
{
    const struct traced_process *process =
        group->count == 1 ? traced_job_find(&analysis->job, group->processes[0])
                          : NULL;
    return process ? process->host : "";
}

static void print_culprits(const struct analysis *analysis)
{
    const struct group_list *culprits = &analysis->culprits;
    if (!culprits->count)
        puts("culprit: none found; no process stands apart from the others");
    for (int i = 0; i < culprits->count && i < MAX_GROUPS; i++) {
        const char *host = host_of(analysis, &culprits->groups[i]);
        fputs("culprit: ", stdout);
        groups_print(stdout, &culprits->groups[i]);
        printf("%s%s: %.*s\n", host[0] ? " on " : "", host, MAX_TEXT,
               culprits->groups[i].text);
    }
    if (culprits->count > MAX_GROUPS)
        printf("and %d more like these; --json has them\n",
               culprits->count - MAX_GROUPS);
}

/* ---- partings ----------------------------------------------------------- */

static void print_parting(const struct analysis *analysis,
                          const struct parting *parting)
{
    struct group_list come = { .count = 0 }, absent = { .count = 0 };
    wording_of_come(&analysis->job, parting, &come);
    wording_of_absent(&analysis->job, parting, &absent);
    fputs("  ", stdout);
    wording_print_place(stdout, &analysis->job, parting);
    puts(parting->kind == PARTING_DIFFERS ? ": its members make different calls"
                                          : ": some wait for others");
    const char *verb = parting->kind == PARTING_DIFFERS ? "call" : "wait";
    const char *in = parting->kind == PARTING_DIFFERS ? "" : " in";
    for (int i = 0; i < come.count && i < MAX_GROUPS; i++) {
        fputs("    ", stdout);
        groups_print(stdout, &come.groups[i]);
        printf(" %s%s%s %.*s\n", verb, come.groups[i].count == 1 ? "s" : "", in,
               MAX_TEXT, come.groups[i].text);
    }
    if (come.count > MAX_GROUPS)
        printf("    and %d more groups; --json has them\n",
               come.count - MAX_GROUPS);
    print_groups(&absent, MAX_GROUPS, "    ");
    if (parting->num_unknown)
        printf("    of %d more of its members nothing is recorded\n",
               parting->num_unknown);
    groups_finish(&come);
    groups_finish(&absent);
}

static void print_partings(const struct analysis *analysis)
{
    const struct parting_list *list = &analysis->partings;
    puts(list->count
             ? "\nWhere they part ways:"
             : "\nNo process waits for another in a call that they share.");
    for (int i = 0; i < list->count && i < analysis->top; i++)
        print_parting(analysis, &list->partings[i]);
    if (list->count > analysis->top)
        printf("  and %d more communicators; --top %d shows them\n",
               list->count - analysis->top, list->count);
}

/* Where each of them is, if they are not in the same place. */
static void print_last_calls(const struct analysis *analysis)
{
    struct group_list groups = { .count = 0 };
    for (int i = 0; i < analysis->job.count; i++) {
        const struct traced_process *process = &analysis->job.processes[i];
        const struct traced_call *call = traced_process_end(process);
        struct jd_text text;
        FILE *out = jd__text_begin(&text);
        if (out && call) {
            wording_print_call(out, &analysis->job, call);
            fputs(call->state == JD_CALL_DONE ? ", returned" : ", not left",
                  out);
        } else if (out) {
            fputs("no call", out);
        }
        char *words = jd__text_end(&text);
        groups_add(&groups, process->index, words);
        free(words);
    }
    groups_end(&groups);
    puts("\nThe last call of each:");
    for (int i = 0; i < groups.count && i < analysis->top; i++) {
        fputs("  ", stdout);
        groups_print(stdout, &groups.groups[i]);
        printf(": %.*s\n", MAX_TEXT, groups.groups[i].text);
    }
    if (groups.count > analysis->top)
        printf("  and %d more\n", groups.count - analysis->top);
    groups_finish(&groups);
}

/* ---- who ---------------------------------------------------------------- */

static void print_missing(const struct traced_job *job)
{
    int missing = job->num_processes - job->count, count = 0;
    int *numbers =
        missing > 0 ? malloc((size_t)missing * sizeof *numbers) : NULL;
    if (!numbers)
        return;
    for (int i = 0, at = 0; i < job->num_processes; i++)
        if (at < job->count && job->processes[at].index == i)
            at++;
        else
            numbers[count++] = i;
    fputs(job->address ? "  not shown: " : "  no file: ", stdout);
    jd__ranges_print_processes(stdout, numbers, count);
    fputc('\n', stdout);
    free(numbers);
}

static void print_unplaced(const struct traced_job *job)
{
    for (int i = 0; i < job->num_unplaced && i < MAX_GROUPS; i++) {
        const struct traced_process *process = &job->unplaced[i];
        printf("  a process without an index, pid %" PRIu32
               " on %s, step \"%s\": %.*s\n",
               process->pid, process->host, process->step, MAX_TEXT,
               process->end);
    }
    if (job->num_unplaced > MAX_GROUPS)
        printf("  and %d more without an index\n",
               job->num_unplaced - MAX_GROUPS);
}

static void print_others(const struct traced_job *job)
{
    if (job->others.count < 2)
        return;
    fputs("  other jobs there, which --job-id chooses:", stdout);
    for (uint32_t i = 1; i < job->others.count && i <= MAX_ENDS; i++)
        printf("%s %s", i > 1 ? "," : "", job->others.texts[i]);
    if (job->others.count - 1 > MAX_ENDS)
        printf(" and %" PRIu32 " more", job->others.count - 1 - MAX_ENDS);
    fputc('\n', stdout);
}

/* The hosts whose clocks are not process 0's, and what they were off by. */
static void print_aligned(const struct alignment *alignment)
{
    int said = 0;
    for (int i = 0; i < alignment->count; i++) {
        const struct aligned_clock *clock = &alignment->clocks[i];
        if (!clock->is_aligned || (!clock->offset && clock->error <= 0) ||
            said++ >= MAX_GROUPS)
            continue;
        printf("  times of %s are aligned to the clock of process 0's host: "
               "%+.6f s, off by ",
               clock->host, (double)clock->offset * 1e-9);
        print_time(clock->error * 1e-9);
        printf(" at most%s\n",
               clock->jumps ? "; its clock was stopped or set meanwhile" : "");
    }
    if (said <= MAX_GROUPS)
        return;
    printf("  and those of %d more hosts, off by ", said - MAX_GROUPS);
    print_time(alignment->error * 1e-9);
    puts(" at most; --json has them");
}

static void print_who(const struct analysis *analysis)
{
    const struct traced_job *job = &analysis->job;
    const char *id = job->count          ? job->processes[0].job
                     : job->num_unplaced ? job->unplaced[0].job
                                         : "";
    int hosts = traced_job_hosts(job), clocks = traced_job_clocks(job);
    printf("\nJob %s%s%s: %s of %d of %d process%s, of %d host%s\n",
           id[0] ? id : "without a name",
           job->address ? ", which runs at " : "",
           job->address ? job->address : "", job->address ? "calls" : "files",
           job->count, job->num_processes, jd__text_es(job->num_processes),
           hosts, jd__text_s(hosts));
    print_missing(job);
    print_unplaced(job);
    print_groups(&analysis->ends, MAX_ENDS, "  not left: ");
    print_others(job);
    print_aligned(&analysis->alignment);
    if (clocks > 1)
        printf("  times are of %d clocks, which are not aligned: compare them "
               "within a host only\n",
               clocks);
}

/* ---- figures ------------------------------------------------------------ */

static void print_site(const struct analysis *analysis, uint32_t name,
                       uint32_t site)
{
    const char *text = text_of(analysis, name);
    fputs(text[0] ? text : "a call", stdout);
    if (site)
        printf(" at %s", text_of(analysis, site));
}

static void print_straggler(const struct analysis *analysis,
                            const struct straggler *straggler)
{
    printf("  process %d: ", straggler->process);
    print_time(straggler->waited);
    fputs(" in ", stdout);
    for (int i = 0; i < straggler->num_sites; i++) {
        fputs(i ? ", " : "", stdout);
        print_site(analysis, straggler->sites[i].name,
                   straggler->sites[i].site);
        fputs(" (", stdout);
        print_time(straggler->sites[i].waited);
        fputs(")", stdout);
    }
    fputc('\n', stdout);
}

static void print_stragglers(const struct analysis *analysis)
{
    const struct figures *figures = &analysis->figures;
    if (!figures->num_stragglers) {
        puts("\nNo recorded wait names the process that it was for.");
        return;
    }
    puts("\nHow long the others together waited for each:");
    for (int i = 0; i < figures->num_stragglers && i < analysis->top; i++)
        print_straggler(analysis, &figures->stragglers[i]);
    if (figures->num_stragglers > analysis->top)
        printf("  and %d more processes\n",
               figures->num_stragglers - analysis->top);
}

static void print_site_figures(const struct analysis *analysis,
                               const struct site_figures *site)
{
    fputs("  ", stdout);
    print_site(analysis, site->name, site->site);
    printf(": %" PRIu64 " call%s, ", site->calls,
           jd__text_s((int64_t)site->calls));
    print_bytes(site->bytes);
    if (site->waits) {
        fputs("; waits: median ", stdout);
        print_time(site->median);
        fputs(", worst ", stdout);
        print_time(site->worst);
    }
    if (site->last >= 0)
        printf("; last most often: process %d (%" PRIu64 " times)", site->last,
               site->times_last);
    fputc('\n', stdout);
}

static void print_sites(const struct analysis *analysis)
{
    const struct figures *figures = &analysis->figures;
    if (!figures->num_sites)
        return;
    puts("\nCall sites, the longest waits first:");
    for (int i = 0; i < figures->num_sites && i < analysis->top; i++)
        print_site_figures(analysis, &figures->sites[i]);
    if (figures->num_sites > analysis->top)
        printf("  and %d more; --top %d shows them\n",
               figures->num_sites - analysis->top, figures->num_sites);
}

/* ---- the program's own ranges ------------------------------------------- */

static void print_own_figure(const struct analysis *analysis,
                             const struct own_figure *own)
{
    printf("  %s: %" PRIu64 " time%s", text_of(analysis, own->name), own->count,
           jd__text_s((int64_t)own->count));
    if (own->count) {
        fputs(", ", stdout);
        print_time(own->sum);
        fputs(" in all; median ", stdout);
        print_time(own->median);
        fputs(", worst ", stdout);
        print_time(own->worst);
        printf(" in process %d", own->process);
    }
    if (own->num_open)
        printf("; not ended: %" PRIu64, own->num_open);
    fputc('\n', stdout);
}

static void print_own(const struct analysis *analysis)
{
    const struct own_figures *own = &analysis->own;
    if (!own->count)
        return;
    puts("\nThe program's own ranges, the longest sums first:");
    for (int i = 0; i < own->count && i < analysis->top; i++)
        print_own_figure(analysis, &own->figures[i]);
    if (own->count > analysis->top)
        printf("  and %d more; --top %d shows them\n",
               own->count - analysis->top, own->count);
}

void jd_trace_print_text(const struct analysis *analysis)
{
    print_culprits(analysis);
    print_partings(analysis);
    print_last_calls(analysis);
    print_who(analysis);
    print_stragglers(analysis);
    print_sites(analysis);
    print_own(analysis);
}
