/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_v2_wire.h - the frames of PMI-2: a length in six characters, filled up
 * with blanks on either side, and a text of so many bytes, in which ';' ends a
 * value, and ";;" is a ';' in it:
 *
 *     "36    cmd=kvs-put;key=bc-0;value=10.0.0.1;"
 *     "    26cmd=kvs-put-response;rc=0;"
 *
 *     switch (pmi_v2_wire_cut(data, size, &length, why)) {
 *     case PMI_V2_WHOLE:
 *         text = data + PMI_V2_HEADER;
 *         fault = pmi_v2_wire_read(text, length, &request);
 *
 * Nothing here waits or remembers. Threads: any.
 */
#ifndef RUNTIME_WIREUP_SERVER_PMI_V2_WIRE_H
#define RUNTIME_WIREUP_SERVER_PMI_V2_WIRE_H

#include <stdbool.h>
#include <stddef.h>

/* What spawns names whole command lines. */
enum { PMI_V2_HEADER = 6, PMI_V2_TEXT_MOST = 1 << 16, PMI_V2_WHY = 96 };

enum pmi_v2_frame {
    PMI_V2_WHOLE,
    PMI_V2_PARTIAL,
    PMI_V2_BROKEN, /* nothing behind it can be read either */
};

/* ret_length: of the text of the first frame, where it is whole. why: what is
 * wrong, where it is broken. */
enum pmi_v2_frame pmi_v2_wire_cut(const void *data, size_t size,
                                  size_t *ret_length, char why[PMI_V2_WHY]);

struct pmi_v2_request {
    const char *name;   /* the command's */
    const char *thread; /* that its answer is for; "" where none, as the rest */
    const char *key;
    const char *value;
    const char *job;
    const char *wait;  /* "TRUE" */
    const char *world; /* "FALSE": an abort of the caller alone */
    const char *message;
};

/* Cuts the text into pieces; the request points into it. NULL: it could be
 * read; otherwise what is wrong with it. */
const char *pmi_v2_wire_read(char *text, size_t size,
                             struct pmi_v2_request *ret_request);

/* The value with each ';' doubled; false where there is no room. */
bool pmi_v2_wire_escape(const char *value, char *text, size_t size);

#endif
