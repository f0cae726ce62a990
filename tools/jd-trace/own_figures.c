/* SPDX-License-Identifier: BSD-3-Clause */
/* own_figures.c - how long the program's own ranges of each name lasted. */
#include "tools/jd-trace/own_figures.h"

#include <stdlib.h>

/* A range with its process, to be sorted by name and then by duration. */
struct lasting {
    uint32_t name;
    int process;
    double seconds; /* negative: not ended */
};

static size_t count_all(const struct traced_job *job)
{
    size_t count = 0;
    for (int i = 0; i < job->count; i++)
        count += job->processes[i].num_own;
    return count;
}

static double seconds_of(const struct traced_own *own)
{
    if (!own->end)
        return -1;
    double seconds = 1e-9 * ((double)own->end - (double)own->begin);
    return seconds > 0 ? seconds : 0;
}

static void collect(const struct traced_job *job, struct lasting *all)
{
    for (int i = 0; i < job->count; i++) {
        const struct traced_process *process = &job->processes[i];
        for (uint32_t k = 0; k < process->num_own; k++)
            *all++ =
                (struct lasting){ .name = process->own[k].name,
                                  .process = process->index,
                                  .seconds = seconds_of(&process->own[k]) };
    }
}

static int compare_lasting(const void *one, const void *other)
{
    const struct lasting *a = one, *b = other;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->seconds != b->seconds)
        return a->seconds < b->seconds ? -1 : 1;
    return (b->process > a->process) - (b->process < a->process);
}

static int compare_figures(const void *one, const void *other)
{
    const struct own_figure *a = one, *b = other;
    if (a->sum != b->sum)
        return a->sum > b->sum ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

/* Of ranges of one name, in the order of their durations. */
static struct own_figure figure_of(const struct lasting *first, size_t count)
{
    struct own_figure figure = { .name = first->name, .process = -1 };
    while (figure.num_open < count && first[figure.num_open].seconds < 0)
        figure.num_open++;
    first += figure.num_open;
    figure.count = count - figure.num_open;
    for (size_t i = 0; i < figure.count; i++)
        figure.sum += first[i].seconds;
    if (!figure.count)
        return figure;
    figure.median = first[figure.count / 2].seconds;
    figure.worst = first[figure.count - 1].seconds;
    figure.process = first[figure.count - 1].process;
    return figure;
}

static void add_figures(struct own_figures *figures, const struct lasting *all,
                        size_t count)
{
    for (size_t i = 0, next; i < count; i = next) {
        next = i + 1;
        while (next < count && all[next].name == all[i].name)
            next++;
        figures->figures[figures->count++] = figure_of(&all[i], next - i);
    }
    qsort(figures->figures, (size_t)figures->count, sizeof *figures->figures,
          compare_figures);
}

bool own_figures_make(const struct traced_job *job, struct own_figures *figures)
{
    size_t count = count_all(job);
    struct lasting *all = calloc(count + 1, sizeof *all);
    *figures = (struct own_figures){ .count = 0 };
    figures->figures =
        calloc((size_t)job->texts.count + 1, sizeof *figures->figures);
    bool is_made = all && figures->figures;
    if (is_made) {
        collect(job, all);
        qsort(all, count, sizeof *all, compare_lasting);
        add_figures(figures, all, count);
    }
    free(all);
    return is_made;
}

void own_figures_finish(struct own_figures *figures)
{
    free(figures->figures);
    *figures = (struct own_figures){ .count = 0 };
}
