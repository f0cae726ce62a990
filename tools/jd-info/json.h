/* SPDX-License-Identifier: BSD-3-Clause */
/* json.h - text as a JSON string. */
#ifndef TOOLS_JD_INFO_JSON_H
#define TOOLS_JD_INFO_JSON_H

#include <stdio.h>

/*
 * Writes text between quotes, NULL as null. Control characters are escaped;
 * each byte that is not part of valid UTF-8 becomes U+FFFD.
 */
void json_write_string(FILE *file, const char *text);

#endif
