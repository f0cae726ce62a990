/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text.h - a text that is printed piece by piece, and numbers of things in it.
 *
 *     struct jd_text written;
 *     FILE *out = jd__text_begin(&written);
 *     if (out)
 *         fprintf(out, "%d device%s of ", count, jd__text_s(count)), ...
 *     char *text = jd__text_end(&written);
 *     jd_fail(JD_ABORTED, "%s", text ? text : "some devices");
 *     free(text);
 *
 * Threads: any, each with a text of its own.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* An all-zero one is a text that never began. */
struct jd_text {
    FILE *out;
    char *chars;
    size_t length; /* without the NUL; holds after jd__text_end() */
};

/* Where to print, or NULL without memory. */
FILE *jd__text_begin(struct jd_text *text);

/* What was printed, malloc'ed and the caller's to free; NULL where it did not
 * begin or memory ran out. */
char *jd__text_end(struct jd_text *text);

/* Ends the text and writes it to out in one go, so that those of several
 * processes do not mix. Where that fails, "OPERATION: the NOUN could not be
 * written: ...", DATA_LOSS; or there was no memory for it. */
jd_status jd__text_write(struct jd_text *text, FILE *out, const char *operation,
                         const char *noun);

/* Another process's text, in place: bytes that a terminal would obey become
 * "?". The ends of its lines and tabs stay where has_lines is true. */
void jd__text_make_plain(char *text, bool has_lines);

/* The endings of a noun: "1 host", "2 hosts"; "1 axis" has its own. */
static inline const char *jd__text_s(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* "1 process", "2 processes". */
static inline const char *jd__text_es(int64_t count)
{
    return count == 1 ? "" : "es";
}

#endif
