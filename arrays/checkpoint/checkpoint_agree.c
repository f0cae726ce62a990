/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint_agree.c - votes, and the sentence of one for all. */
#include "arrays/checkpoint/checkpoint_agree.h"

#include "base/digest.h"
#include "base/status.h"
#include "jd_multihost.h"
#include "jd_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SENTENCE = 8192, MAX_WHAT = 1 << 16, SHOWN = 120 };

/* What a process comes with; travels as bytes. */
struct vote {
    uint64_t digest;
    uint64_t word;
    int32_t status;
    int32_t unused;
};

static jd_status gather_votes(const struct jd_io *io, const struct vote *own,
                              struct vote *votes, int count)
{
    struct vote mine = *own;
    int64_t shape[] = { count, sizeof mine };
    jd_leaf in = { &mine, JD_U8, 1, shape + 1 };
    jd_leaf out = { votes, JD_U8, 2, shape };
    jd_status status = jd_process_allgather(&in, &out, 1, 0);
    return status == JD_OK ? status
                           : jd__fail_prefix(status, "%s: ", io->operation);
}

/* Gives all the text of one process, cut where there is no room for it. */
static jd_status broadcast_text(const struct jd_io *io, const char *text,
                                int source, char *heard, size_t size)
{
    int64_t shape[] = { (int64_t)size };
    jd_leaf leaf = { heard, JD_U8, 1, shape };
    memset(heard, 0, size);
    if (io->process == source)
        snprintf(heard, size, "%s", text);
    jd_status status = jd_broadcast_one_to_all(&leaf, 1, source);
    return status == JD_OK ? status
                           : jd__fail_prefix(status, "%s: ", io->operation);
}

static jd_status fail_as(const struct jd_io *io, jd_status status, int source)
{
    char sentence[MAX_SENTENCE];
    jd_status told = broadcast_text(io, jd_error_message(), source, sentence,
                                    sizeof sentence);
    if (told != JD_OK)
        return told;
    return jd_fail(status, "%s", sentence);
}

/* Where the thing in which two texts differ begins. */
static size_t first_difference(const char *a, const char *b)
{
    size_t begin = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == ';')
            begin = i + 2;
    return begin;
}

static int shown_length(const char *text)
{
    size_t length = strcspn(text, ";");
    return length < SHOWN ? (int)length : SHOWN;
}

static jd_status fail_difference(const struct jd_io *io, const char *what,
                                 int other)
{
    char *texts = malloc(2 * MAX_WHAT);
    if (!texts) /* in step with the others all the same is not to be had */
        return jd__fail_no_memory(io->operation, 2 * MAX_WHAT);
    char *first = texts, *second = texts + MAX_WHAT;
    jd_status status = broadcast_text(io, what, 0, first, MAX_WHAT);
    if (status == JD_OK)
        status = broadcast_text(io, what, other, second, MAX_WHAT);
    if (status == JD_OK) {
        size_t at = first_difference(first, second);
        status = jd_fail(JD_INVALID_ARGUMENT,
                         "%s: processes disagree: process 0 has %.*s, process "
                         "%d has %.*s; all processes must pass the same",
                         io->operation, shown_length(first + at), first + at,
                         other, shown_length(second + at), second + at);
    }
    free(texts);
    return status;
}

static jd_status count_votes(const struct jd_io *io, const struct vote *votes,
                             int count, const char *what)
{
    for (int i = 0; i < count; i++)
        if (votes[i].status != JD_OK)
            return fail_as(io, (jd_status)votes[i].status, i);
    for (int i = 1; i < count; i++)
        if (votes[i].digest != votes[0].digest)
            return fail_difference(io, what, i);
    return JD_OK;
}

jd_status jd__checkpoint_agree_on(const struct jd_io *io, jd_status status,
                                  const char *what, uint64_t word,
                                  uint64_t *ret_word)
{
    int count = jd_process_count();
    struct vote own = { .word = word, .status = (int32_t)status };
    own.digest = what ? jd__digest(0, what, strlen(what)) : 0;
    struct vote *votes = malloc((size_t)count * sizeof *votes);
    if (!votes)
        return jd__fail_no_memory(io->operation, (size_t)count * sizeof *votes);
    jd_status agreed = gather_votes(io, &own, votes, count);
    if (agreed == JD_OK)
        agreed = count_votes(io, votes, count, what);
    if (agreed == JD_OK)
        *ret_word = votes[0].word;
    free(votes);
    return agreed;
}

jd_status jd__checkpoint_agree(const struct jd_io *io, jd_status status)
{
    uint64_t word;
    return jd__checkpoint_agree_on(io, status, NULL, 0, &word);
}
