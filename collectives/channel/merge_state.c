/* SPDX-License-Identifier: BSD-3-Clause */
/* merge_state.c - what some members have said, as one state. */
#include "collectives/channel/merge_state.h"

#include <string.h>

void jd__merge_state_set_text(char *text, const void *from, size_t length)
{
    length = length < JD_MERGE_TEXT ? length : JD_MERGE_TEXT - 1;
    memcpy(text, from, length);
    text[length] = '\0';
}

void jd__merge_state_begin(struct jd_merge_state *state, int process,
                           uint64_t list, const struct jd_signature *signature,
                           const char *text)
{
    *state = (struct jd_merge_state){
        .outcome = { .first = { .process = process,
                                .count = 1,
                                .list = list,
                                .signature = *signature },
                     .failed = process,
                     .status = signature->status },
    };
    jd__merge_state_set_text(state->first_text, text, strlen(text));
}

static bool says_same(const struct jd_merge_said *a,
                      const struct jd_merge_said *b)
{
    return a->list == b->list &&
           jd__signature_agrees(&a->signature, &b->signature);
}

/* How many have said that, as far as it is known. */
static int count_same(const struct jd_merge_outcome *outcome,
                      const struct jd_merge_said *said)
{
    if (says_same(&outcome->first, said))
        return outcome->first.count;
    return outcome->other.count && says_same(&outcome->other, said)
               ? outcome->other.count
               : 0;
}

void jd__merge_state_fold(struct jd_merge_state *into,
                          const struct jd_merge_state *behind)
{
    struct jd_merge_outcome *a = &into->outcome;
    const struct jd_merge_outcome *b = &behind->outcome;
    bool first_differs = !says_same(&a->first, &b->first);
    a->first.count += count_same(b, &a->first);
    if (a->other.count) {
        a->other.count += count_same(b, &a->other);
    } else if (first_differs) {
        a->other = b->first;
        memcpy(into->other_text, behind->first_text, JD_MERGE_TEXT);
    } else if (b->other.count) {
        a->other = b->other;
        memcpy(into->other_text, behind->other_text, JD_MERGE_TEXT);
    }
    if (a->status == JD_OK) {
        a->failed = b->failed;
        a->status = b->status;
    }
}
