/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * merge_state.h - what some members have said, as one state of fixed size; two
 * of them become one.
 *
 *     jd__merge_state_begin(&state, process, list, &signature, text);
 *     jd__merge_state_fold(&state, &behind);
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_CHANNEL_MERGE_STATE_H
#define COLLECTIVES_CHANNEL_MERGE_STATE_H

#include "collectives/channel/merge.h"

/* What is merged, beside the texts. */
struct jd_merge_outcome {
    struct jd_merge_said first, other;
    int32_t failed, status;
};

struct jd_merge_state {
    struct jd_merge_outcome outcome;
    char first_text[JD_MERGE_TEXT], other_text[JD_MERGE_TEXT];
};

/* What one member says; its signature has the status with which it comes. */
void jd__merge_state_begin(struct jd_merge_state *state, int process,
                           uint64_t list, const struct jd_signature *signature,
                           const char *text);

/* Adds what members behind those of the state have said. */
void jd__merge_state_fold(struct jd_merge_state *into,
                          const struct jd_merge_state *behind);

/* A text of some bytes without an end; cut where it is too long. */
void jd__merge_state_set_text(char *text, const void *from, size_t length);

#endif
