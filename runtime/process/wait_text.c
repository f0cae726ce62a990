/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_text.c - see wait_text.h. */
#include "runtime/process/wait_text.h"
#include "base/proc.h"
#include "base/ranges.h"
#include "base/text.h"
#include "runtime/recorder/recorder.h"
#include "runtime/recorder/site.h"
#include "runtime/topology/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LAST_CALLS 3 /* of processes that are waited for */
#define MAX_NAMED 8      /* processes that a sentence names one by one */

/* ---- what is seen of them here ------------------------------------------ */

bool jd__wait_sees(const struct jd_wait *wait, int process)
{
    const struct jd_process_info *all = wait->topology->processes;
    const struct jd_process_info *a = &all[wait->self], *b = &all[process];
    return a->host == b->host && a->pid_namespace &&
           a->pid_namespace == b->pid_namespace;
}

bool jd__wait_sees_running(const struct jd_wait *wait, int process)
{
    if (!jd__wait_sees(wait, process))
        return false;
    char state = jd__proc_state(wait->topology->processes[process].pid);
    return state && strchr("RSDI", state);
}

static bool sees_gone(const struct jd_wait *wait, int process)
{
    return jd__wait_sees(wait, process) &&
           !jd__wait_sees_running(wait, process);
}

int jd__wait_sees_gone(const struct jd_wait *wait,
                       const struct jd_missing *missing)
{
    int gone = 0;
    for (int i = 0; i < missing->count; i++)
        gone += sees_gone(wait, missing->processes[i]);
    return gone;
}

/* ---- who they are ------------------------------------------------------- */

/* A stopped or ended one is the culprit. */
static void print_gone(FILE *out, const struct jd_wait *wait,
                       const struct jd_missing *missing)
{
    int named = 0;
    for (int i = 0; i < missing->count; i++) {
        int index = missing->processes[i];
        const struct jd_process_info *p = &wait->topology->processes[index];
        if (!sees_gone(wait, index) || named++ >= MAX_NAMED)
            continue;
        fprintf(out, "; process %d (%s, pid %d on %s) ", index,
                jd__topology_text(wait->topology, p->program), p->pid,
                jd__topology_host_name(wait->topology, p->host));
        jd__proc_print_state(out, p->pid);
    }
    if (named > MAX_NAMED)
        fprintf(out, "; and %d more like these", named - MAX_NAMED);
}

/* Where nobody can be asked what they do. */
static void print_unasked(FILE *out, const struct jd_wait *wait,
                          const struct jd_missing *missing)
{
    int running = 0, hidden = 0;
    for (int i = 0; i < missing->count; i++) {
        running += jd__wait_sees_running(wait, missing->processes[i]);
        hidden += !jd__wait_sees(wait, missing->processes[i]);
    }
    if (running && running + hidden == missing->count)
        fputs(missing->count == 1
                  ? "; no message has come from it: it runs on this host, but "
                    "has not made this call, or waits for one that has not"
                  : "; no message has come from them: those on this host run, "
                    "but have not made this call, or wait for one that has not",
              out);
    if (hidden)
        fprintf(out, "; other hosts cannot be seen from here");
}

static void print_missing(FILE *out, const struct jd_wait *wait,
                          const struct jd_missing *missing)
{
    char *doing =
        missing->count && !jd__wait_sees_gone(wait, missing)
            ? jd__failure_report_ask(missing->processes, missing->count)
            : NULL;
    if (doing) {
        fputs(doing, out);
        free(doing);
        return;
    }
    jd__ranges_print_processes(out, missing->processes, missing->count);
    print_gone(out, wait, missing);
    print_unasked(out, wait, missing);
}

static void print_self(FILE *out, const struct jd_wait *wait,
                       const struct jd_missing *missing)
{
    fprintf(out, "process %d", wait->self);
    if (missing->num_members)
        fprintf(out, " (member %d)", wait->member);
}

static void print_members(FILE *out, const struct jd_missing *missing)
{
    int count = missing->num_members;
    int *numbers = malloc((size_t)(count ? count : 1) * sizeof *numbers);
    for (int i = 0; numbers && i < count; i++)
        numbers[i] = missing->members[i].member;
    if (numbers && count) {
        fprintf(out, "; member%s ", jd__text_s(count));
        jd__ranges_print(out, numbers, count);
        fputs(count == 1 ? " has not come" : " have not come", out);
    }
    free(numbers);
}

/* Those next to this one, who wait for the culprits too. Another device of this
 * process has its own sentence. */
static void print_neighbours(FILE *out, const struct jd_wait *wait,
                             const struct jd_missing *next)
{
    if (next->count == 1 && next->processes[0] == wait->self)
        return;
    fputs("; what comes next comes here from ", out);
    jd__ranges_print_processes(out, next->processes, next->count);
    fputs(next->count == 1 ? ", which waits too" : ", which wait too", out);
}

static bool is_same(const struct jd_missing *a, const struct jd_missing *b)
{
    return a->count == b->count &&
           memcmp(a->processes, b->processes,
                  (size_t)a->count * sizeof *a->processes) == 0;
}

/* Behind a note that has said the call already, only that. */
static void print_gpu(FILE *out, const struct jd_wait *wait, const char *note)
{
    char *call = wait->describe_gpu ? wait->describe_gpu(wait->gpu) : NULL;
    if (call && note && strstr(note, call))
        fputs(", which its GPU is in", out);
    else if (call)
        fprintf(out, "; its GPU is in %s", call);
    free(call);
}

char *jd__wait_describe(const struct jd_wait *wait,
                        const struct jd_missing *missing,
                        const struct jd_missing *next, double waited)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    fprintf(out, "%s%s: ", wait->operation, wait->detail ? wait->detail : "");
    print_self(out, wait, missing);
    fprintf(out, " has waited %.3g s for ", waited);
    print_missing(out, wait, missing);
    print_members(out, missing);
    if (missing->note)
        fputs(missing->note, out);
    print_gpu(out, wait, missing->note);
    if (wait->is_handed_on && next->count && !is_same(missing, next))
        print_neighbours(out, wait, next);
    return jd__text_end(&text);
}

/* ---- what they do instead ----------------------------------------------- */

/* The service's words may have the call already: what comes behind "in ". */
static bool is_said(const char *said, const char *call)
{
    static const char *const begins[] = { "was in ", "had returned from " };
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        size_t length = strlen(begins[i]);
        if (strncmp(call, begins[i], length) == 0)
            return said && strstr(said, call + length);
    }
    return false;
}

/* Where in the program this process waits, and, as far as it can be read on
 * this host, what those did last that are waited for. */
static void print_calls(FILE *out, const struct jd_missing *missing,
                        const char *said)
{
    struct jd_site_text site = jd__site_of_caller();
    if (site.text[0])
        fprintf(out, "; it was called at %s", site.text);
    for (int i = 0; i < missing->count && i < MAX_LAST_CALLS; i++) {
        char *call = jd__recorder_last_call(missing->processes[i]);
        if (call && !is_said(said, call))
            fprintf(out, "; process %d %s", missing->processes[i], call);
        free(call);
    }
}

char *jd__wait_describe_calls(const struct jd_missing *missing,
                              const char *said)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (out)
        print_calls(out, missing, said);
    return jd__text_end(&text);
}
