/* SPDX-License-Identifier: BSD-3-Clause */
/* culprit.c - the processes that a failure most likely began with. */
#include "tools/jd-trace/culprit.h"
#include "base/ranges.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct search {
    const struct traced_job *job;
    const struct parting_list *list;
    struct group_list *groups;
    char *is_added; /* for each process of the job */
};

/* ---- words -------------------------------------------------------------- */

/* How it ended, and what it did last. */
static char *describe(const struct traced_job *job,
                      const struct traced_process *process)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    char *doing = wording_of_process(job, process);
    char *end = process ? wording_of_end(process) : NULL;
    if (out && end && end[0])
        fprintf(out, "%s; ", end);
    if (out && doing)
        fputs(doing, out);
    free(doing);
    free(end);
    return jd__text_end(&text);
}

static void add(struct search *search, int index,
                const struct traced_process *process)
{
    if (search->is_added[index])
        return;
    search->is_added[index] = 1;
    char *text = describe(search->job, process);
    groups_add(search->groups, index, text);
    free(text);
}

/* ---- who ---------------------------------------------------------------- */

/* Of calls that differ all groups but the largest; of two that are as large,
 * neither is right. */
static void add_differing(struct search *search, const struct parting *parting)
{
    struct group_list come = { .count = 0 };
    wording_of_come(search->job, parting, &come);
    int count = come.count;
    if (count > 1 &&
        come.groups[count - 1].count > come.groups[count - 2].count)
        count--;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < come.groups[i].count; k++)
            groups_add(search->groups, come.groups[i].processes[k],
                       come.groups[i].text);
    groups_finish(&come);
}

static void add_dead(struct search *search)
{
    for (int i = 0; i < search->job->count; i++) {
        const struct traced_process *process = &search->job->processes[i];
        if (traced_process_is_dead(process))
            add(search, process->index, process);
    }
}

static void add_absent(struct search *search, bool only_roots)
{
    for (int i = 0; i < search->list->count; i++) {
        const struct parting *parting = &search->list->partings[i];
        for (int k = 0; k < parting->num_absent; k++) {
            const struct parting_member *member =
                &parting->members[parting->num_come + k];
            if (!only_roots || !partings_stuck(search->list, member->process))
                add(search, member->index, member->process);
        }
    }
}

static void add_exited(struct search *search)
{
    static const char exit_code[] = JD_TRACE_EXIT_CODE;
    for (int i = 0; i < search->job->count; i++) {
        const struct traced_process *process = &search->job->processes[i];
        if (strncmp(process->end, exit_code, sizeof exit_code - 1) == 0)
            add(search, process->index, process);
    }
}

/* In no call that all members share, and another one is in another. While the
 * job runs, who is in the program's own code may be about to come. */
static void add_apart(struct search *search)
{
    struct group_list ends = { .count = 0 };
    bool has_outside = false;
    for (int i = 0; i < search->job->count; i++) {
        const struct traced_process *process = &search->job->processes[i];
        const struct traced_call *call = traced_process_end(process);
        bool is_in = call && call->state == JD_CALL_ENTERED && !call->is_fresh;
        groups_add(&ends, process->index,
                   is_in ? text_set_at(&search->job->texts, call->name) : "");
        has_outside = has_outside || !is_in;
    }
    groups_end(&ends);
    if (ends.count > 1 && !(has_outside && search->job->address))
        for (int k = 0; k < ends.groups[0].count; k++)
            add(search, ends.groups[0].processes[k],
                traced_job_find(search->job, ends.groups[0].processes[k]));
    groups_finish(&ends);
}

static void find(struct search *search)
{
    const struct group_list *groups = search->groups;
    if (search->list->count &&
        search->list->partings[0].kind == PARTING_DIFFERS)
        add_differing(search, &search->list->partings[0]);
    if (!groups->num_pairs)
        add_dead(search);
    if (!groups->num_pairs)
        add_absent(search, true);
    if (!groups->num_pairs)
        add_exited(search);
    if (!groups->num_pairs)
        add_absent(search, false);
    if (!groups->num_pairs && !search->list->count)
        add_apart(search);
}

void culprit_find(const struct traced_job *job, const struct parting_list *list,
                  struct group_list *groups)
{
    struct search search = {
        .job = job,
        .list = list,
        .groups = groups,
        .is_added = calloc((size_t)job->num_processes + 1, 1),
    };
    if (search.is_added)
        find(&search);
    else
        groups->is_cut = true;
    free(search.is_added);
    groups_end(groups);
}

bool culprit_is(const struct group_list *groups, int process)
{
    for (int i = 0; i < groups->count; i++)
        if (bsearch(&process, groups->groups[i].processes,
                    (size_t)groups->groups[i].count, sizeof(int),
                    jd__ranges_compare))
            return true;
    return false;
}
