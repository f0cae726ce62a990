/* SPDX-License-Identifier: BSD-3-Clause */
/* axis_comm_numbers.c - which index along its axes each of an axis
 * communicator's processes has, for sentences that name processes where the
 * program counts by indices.  */
#include "collectives/mesh/shard.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

/* How many processes are listed; jd_mesh_visualize() draws all. */
enum { MOST = 8 };

struct number {
    int process, index;
};

static int compare_numbers(const void *one, const void *other)
{
    const struct number *a = one, *b = other;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Sorted by process; NULL where there is no memory, where each index is its
 * process's, and where there is one process. */
static struct number *list_numbers(const struct jd_axis_comm *axis_comm)
{
    struct number *numbers = malloc((size_t)axis_comm->size * sizeof *numbers);
    bool differs = false, are_several = false;
    for (int i = 0; numbers && i < axis_comm->size; i++) {
        int position = jd__shard_member(axis_comm->shard, &axis_comm->axes, i);
        int process = axis_comm->shard->mesh->devices[position]->process_index;
        numbers[i] = (struct number){ process, i };
        differs = differs || process != i;
        are_several = are_several || process != numbers[0].process;
    }
    if (!differs || !are_several) {
        free(numbers);
        return NULL;
    }
    qsort(numbers, (size_t)axis_comm->size, sizeof *numbers, compare_numbers);
    return numbers;
}

/* The end of the run of one process's indices that begins at `from`. */
static int end_of_run(const struct number *numbers, int count, int from)
{
    int end = from + 1;
    while (end < count && numbers[end].process == numbers[from].process &&
           numbers[end].index == numbers[end - 1].index + 1)
        end++;
    return end;
}

static void print_run(FILE *out, const struct jd_axis_comm *axis_comm,
                      const struct number *first, int count, bool is_first)
{
    fprintf(out, "%s process %d ", is_first ? ";" : ",", first->process);
    if (is_first)
        fputs("is ", out);
    if (count == 1)
        fprintf(out, "index %d", first->index);
    else
        fprintf(out, "indices %d-%d", first->index, first->index + count - 1);
    if (is_first)
        fprintf(out, " of %s", axis_comm->axes_text);
}

char *jd__axis_comm_numbers(const struct jd_axis_comm *axis_comm)
{
    struct jd_text text = { .out = NULL };
    struct number *numbers = list_numbers(axis_comm);
    FILE *out = numbers ? jd__text_begin(&text) : NULL;
    int runs = 0;
    for (int i = 0, end; out && i < axis_comm->size && runs <= MOST; i = end) {
        end = end_of_run(numbers, axis_comm->size, i);
        if (runs++ < MOST)
            print_run(out, axis_comm, &numbers[i], end - i, i == 0);
        else
            fputs(", ... (jd_mesh_visualize() shows all)", out);
    }
    free(numbers);
    return jd__text_end(&text);
}
