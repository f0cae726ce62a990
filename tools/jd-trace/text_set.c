/* SPDX-License-Identifier: BSD-3-Clause */
/* text_set.c - texts that many processes have alike. */
#include "tools/jd-trace/text_set.h"
#include "base/digest.h"

#include <stdlib.h>
#include <string.h>

/* Where the number of the text is, or would be. */
static uint32_t *find_place(const struct text_set *set, const char *text)
{
    uint64_t at = jd__digest(0, text, strlen(text));
    for (;; at++) {
        uint32_t *place = &set->places[at & (set->num_places - 1)];
        if (*place == 0 || strcmp(set->texts[*place - 1], text) == 0)
            return place;
    }
}

/* At most half of the places are in use. */
static bool grow(struct text_set *set)
{
    uint32_t num_places = set->num_places ? 2 * set->num_places : 1024;
    char **texts =
        realloc(set->texts, (size_t)num_places / 2 * sizeof *set->texts);
    uint32_t *places = calloc(num_places, sizeof *places);
    if (texts)
        set->texts = texts;
    if (!texts || !places) {
        free(places);
        return false;
    }
    free(set->places);
    set->places = places;
    set->num_places = num_places;
    for (uint32_t i = 0; i < set->count; i++)
        *find_place(set, set->texts[i]) = i + 1;
    return true;
}

static bool add_new(struct text_set *set, const char *text)
{
    if (2 * (set->count + 1) > set->num_places && !grow(set))
        return false;
    char *copy = strdup(text);
    if (!copy)
        return false;
    set->texts[set->count] = copy;
    *find_place(set, text) = ++set->count;
    return true;
}

bool text_set_add(struct text_set *set, const char *text, uint32_t *ret_number)
{
    if (set->count == 0 && !add_new(set, ""))
        return false;
    uint32_t *place = find_place(set, text);
    if (*place) {
        *ret_number = *place - 1;
        return true;
    }
    *ret_number = set->count;
    return add_new(set, text);
}

void text_set_finish(struct text_set *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        free(set->texts[i]);
    free(set->texts);
    free(set->places);
    *set = (struct text_set){ .count = 0 };
}
