/* SPDX-License-Identifier: BSD-3-Clause */
/* table_texts.c - a pool of texts while it is made. */
#include "runtime/topology/table_texts.h"
#include "base/digest.h"

#include <stdlib.h>
#include <string.h>

/* The slot that has the text, or the free one where it belongs. */
static uint32_t *find_slot(const struct jd_table_texts *texts, const char *text)
{
    size_t mask = texts->num_slots - 1;
    size_t at = (size_t)jd__digest(0, text, strlen(text)) & mask;
    while (texts->slots[at] &&
           strcmp(texts->pool + texts->slots[at], text) != 0)
        at = (at + 1) & mask;
    return &texts->slots[at];
}

/* A third is free at least. */
static bool grow_slots(struct jd_table_texts *texts)
{
    if ((texts->used + 1) * 3 <= texts->num_slots * 2)
        return true;
    struct jd_table_texts grown = *texts;
    grown.num_slots = texts->num_slots ? 2 * texts->num_slots : 64;
    grown.slots = calloc(grown.num_slots, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < texts->num_slots; i++)
        if (texts->slots[i])
            *find_slot(&grown, texts->pool + texts->slots[i]) = texts->slots[i];
    free(texts->slots);
    *texts = grown;
    return true;
}

/* The first byte of the pool is the text "". */
static bool grow_pool(struct jd_table_texts *texts, size_t more)
{
    size_t begin = texts->bytes ? texts->bytes : 1;
    if (begin + more > UINT32_MAX)
        return false;
    if (begin + more > texts->room) {
        size_t room = 2 * texts->room + more + 1024;
        char *pool = realloc(texts->pool, room);
        if (!pool)
            return false;
        texts->pool = pool;
        texts->room = room;
    }
    texts->pool[0] = '\0';
    texts->bytes = begin;
    return true;
}

uint32_t jd__table_texts_add(struct jd_table_texts *texts, const char *text)
{
    size_t size = strlen(text) + 1;
    if (!grow_pool(texts, size) || !grow_slots(texts))
        texts->is_full = true;
    if (texts->is_full || size == 1)
        return 0;
    uint32_t *slot = find_slot(texts, text);
    if (*slot)
        return *slot;
    *slot = (uint32_t)texts->bytes;
    memcpy(texts->pool + *slot, text, size);
    texts->bytes += size;
    texts->used++;
    return *slot;
}

void jd__table_texts_finish(struct jd_table_texts *texts)
{
    free(texts->pool);
    free(texts->slots);
    *texts = (struct jd_table_texts){ .pool = NULL };
}
