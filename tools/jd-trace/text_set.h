/* SPDX-License-Identifier: BSD-3-Clause */
/* text_set.h - texts that many processes have alike, each kept once and known
 * by its number. Number 0 is "". */
#ifndef TOOLS_JD_TRACE_TEXT_SET_H
#define TOOLS_JD_TRACE_TEXT_SET_H

#include <stdbool.h>
#include <stdint.h>

/* An all-zero one is empty. */
struct text_set {
    char **texts;
    uint32_t *places; /* a hash table of numbers and 1 */
    uint32_t count, num_places;
};

/* False without memory. */
bool text_set_add(struct text_set *set, const char *text, uint32_t *ret_number);

static inline const char *text_set_at(const struct text_set *set,
                                      uint32_t number)
{
    return number < set->count ? set->texts[number] : "";
}

void text_set_finish(struct text_set *set);

#endif
