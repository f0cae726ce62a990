/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint_agree.c - votes, and the sentence of one for all. */
#include "arrays/checkpoint/checkpoint_agree.h"

#include "base/digest.h"
#include "base/status.h"
#include "jd_multihost.h"
#include "jd_process.h"
#include "runtime/recorder/site.h"

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

/* Gives all what the source has there. */
static jd_status broadcast_bytes(const struct jd_io *io, int source,
                                 char *bytes, size_t size)
{
    int64_t shape[] = { (int64_t)size };
    jd_leaf leaf = { bytes, JD_U8, 1, shape };
    jd_status status = jd_broadcast_one_to_all(&leaf, 1, source);
    return status == JD_OK ? status
                           : jd__fail_prefix(status, "%s: ", io->operation);
}

static jd_status fail_as(const struct jd_io *io, jd_status status, int source)
{
    char sentence[MAX_SENTENCE] = "";
    if (io->process == source)
        snprintf(sentence, sizeof sentence, "%s", jd_error_message());
    jd_status told = broadcast_bytes(io, source, sentence, sizeof sentence);
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

/* What a process calls, and where in its program; the place may be "". */
struct call_said {
    const char *operation, *site, *what;
};

/* As it travels: a line each, of which the last may have more. */
static void print_own(const struct jd_io *io, const char *what, char *text)
{
    struct jd_site_text site = jd__site_of_caller();
    snprintf(text, MAX_WHAT, "%s\n%s\n%s", io->operation, site.text, what);
}

static char *cut_line(char *text)
{
    char *end = strchr(text, '\n');
    if (!end)
        return text + strlen(text);
    *end = '\0';
    return end + 1;
}

static struct call_said read_call(char *text)
{
    struct call_said said = { .operation = text, .site = cut_line(text) };
    said.what = cut_line((char *)said.site);
    return said;
}

/* Gives all what that process calls, in its own words. */
static jd_status share_call(const struct jd_io *io, const char *what,
                            int process, char *text, struct call_said *ret_said)
{
    memset(text, 0, MAX_WHAT);
    if (io->process == process)
        print_own(io, what, text);
    jd_status status = broadcast_bytes(io, process, text, MAX_WHAT);
    *ret_said = read_call(text);
    return status;
}

/* Two processes that came for different things. */
struct unlike {
    int first, other;
};

static jd_status fail_calls(const struct jd_io *io, struct unlike unlike,
                            const struct call_said *first,
                            const struct call_said *other)
{
    size_t at = first_difference(first->what, other->what);
    const char *one = first->what + at, *two = other->what + at;
    jd_fail(JD_INVALID_ARGUMENT,
            "%s: process %d calls %s of %.*s, process %d calls %s of %.*s; all "
            "processes must make the same calls in the same order",
            io->operation, unlike.other, other->operation, shown_length(two),
            two, unlike.first, first->operation, shown_length(one), one);
    jd__site_fail_both(JD_INVALID_ARGUMENT, unlike.other, other->site,
                       unlike.first, first->site);
    return JD_INVALID_ARGUMENT;
}

static jd_status fail_unlike(const struct jd_io *io, const char *what,
                             struct unlike unlike)
{
    struct call_said first, other;
    char *texts = malloc(2 * MAX_WHAT);
    if (!texts) /* in step with the others all the same is not to be had */
        return jd__fail_no_memory(io->operation, 2 * MAX_WHAT);
    jd_status status = share_call(io, what, unlike.first, texts, &first);
    if (status == JD_OK)
        status = share_call(io, what, unlike.other, texts + MAX_WHAT, &other);
    if (status == JD_OK)
        status = fail_calls(io, unlike, &first, &other);
    free(texts);
    return status;
}

/* The lowest, and the lowest that differs from it; other is -1: there is none.
 * Who could not say what it came for has a digest of 0. */
static struct unlike find_unlike(const struct vote *votes, int count)
{
    struct unlike unlike = { 0, -1 };
    while (unlike.first < count && !votes[unlike.first].digest)
        unlike.first++;
    for (int i = unlike.first + 1; i < count && unlike.other < 0; i++)
        if (votes[i].digest && votes[i].digest != votes[unlike.first].digest)
            unlike.other = i;
    return unlike;
}

/* One that has failed may have done so because it came for something else. */
static jd_status count_votes(const struct jd_io *io, const struct vote *votes,
                             int count, const char *what)
{
    struct unlike unlike = find_unlike(votes, count);
    if (unlike.other >= 0)
        return fail_unlike(io, what, unlike);
    for (int i = 0; i < count; i++)
        if (votes[i].status != JD_OK)
            return fail_as(io, (jd_status)votes[i].status, i);
    return JD_OK;
}

static uint64_t digest_call(const struct jd_io *io, const char *what)
{
    uint64_t digest = jd__digest(0, io->operation, strlen(io->operation));
    return jd__digest(digest, what, strlen(what));
}

jd_status jd__checkpoint_agree_on(const struct jd_io *io, jd_status status,
                                  const char *what, uint64_t word,
                                  uint64_t *ret_word)
{
    int count = jd_process_count();
    struct vote own = { .word = word, .status = (int32_t)status };
    own.digest = what ? digest_call(io, what) : 0;
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
