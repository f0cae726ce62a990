/* SPDX-License-Identifier: BSD-3-Clause */
/* json.h - text as a JSON string. */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes text between quotes, NULL as null. Control characters are escaped;
 * each byte that is not part of valid UTF-8 becomes U+FFFD.
 */
void json_write_string(FILE *file, const char *text);

/* The bytes of the UTF-8 sequence at text, 0 where it is not valid: cut,
 * overlong, a surrogate, or above U+10FFFF. */
size_t json_sequence_length(const unsigned char *text);

#endif
