/* SPDX-License-Identifier: BSD-3-Clause */
/* groups.c - processes of which the same is to be said. */
#include "tools/jd-trace/groups.h"
#include "base/ranges.h"

#include <stdlib.h>

static bool make_room(struct group_list *list)
{
    if (list->num_pairs < list->room)
        return true;
    size_t room = list->room ? 2 * list->room : 64;
    void *grown = realloc(list->pairs, room * sizeof *list->pairs);
    if (!grown)
        return false;
    list->pairs = grown;
    list->room = room;
    return true;
}

void groups_add(struct group_list *list, int process, const char *text)
{
    uint32_t number;
    if (make_room(list) && text && text_set_add(&list->texts, text, &number))
        list->pairs[list->num_pairs++] = (struct group_pair){ number, process };
    else
        list->is_cut = true;
}

static int compare_pairs(const void *one, const void *other)
{
    const struct group_pair *a = one, *b = other;
    if (a->text != b->text)
        return a->text < b->text ? -1 : 1;
    return (a->process > b->process) - (a->process < b->process);
}

static int compare_groups(const void *one, const void *other)
{
    const struct group *a = one, *b = other;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return jd__ranges_compare(a->processes, b->processes);
}

static void make_groups(struct group_list *list)
{
    const struct group_pair *pairs = list->pairs;
    for (size_t i = 0, next; i < list->num_pairs; i = next) {
        int count = 0;
        for (next = i; next < list->num_pairs; next++) {
            if (pairs[next].text != pairs[i].text)
                break;
            list->processes[i + (size_t)count++] = pairs[next].process;
        }
        list->groups[list->count++] = (struct group){
            .text = text_set_at(&list->texts, pairs[i].text),
            .processes = &list->processes[i],
            .count = jd__ranges_sort(&list->processes[i], count),
        };
    }
}

void groups_end(struct group_list *list)
{
    list->processes = calloc(list->num_pairs + 1, sizeof *list->processes);
    list->groups = calloc(list->num_pairs + 1, sizeof *list->groups);
    if (!list->processes || !list->groups) {
        list->is_cut = true;
        return;
    }
    if (list->num_pairs)
        qsort(list->pairs, list->num_pairs, sizeof *list->pairs, compare_pairs);
    make_groups(list);
    qsort(list->groups, (size_t)list->count, sizeof *list->groups,
          compare_groups);
}

void groups_finish(struct group_list *list)
{
    text_set_finish(&list->texts);
    free(list->pairs);
    free(list->processes);
    free(list->groups);
    *list = (struct group_list){ .count = 0 };
}

void groups_print(FILE *out, const struct group *group)
{
    jd__ranges_print_processes(out, group->processes, group->count);
}
