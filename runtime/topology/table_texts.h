/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table_texts.h - a pool of texts while it is made: each stands once.
 *
 *     struct jd_table_texts texts = { 0 };
 *     uint32_t place = jd__table_texts_add(&texts, "cpu");
 *     if (texts.is_full) ...                  any of them did not get in
 *     jd__table_texts_finish(&texts);
 */
#ifndef RUNTIME_TOPOLOGY_TABLE_TEXTS_H
#define RUNTIME_TOPOLOGY_TABLE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_table_texts {
    char *pool;
    size_t bytes, room;
    uint32_t *slots; /* by digest; 0: free */
    size_t num_slots, used;
    bool is_full; /* no memory, or more than a place can say */
};

/* The place of the text in the pool; 0 for "", and where is_full is set. */
uint32_t jd__table_texts_add(struct jd_table_texts *texts, const char *text);
void jd__table_texts_finish(struct jd_table_texts *texts);

#endif
