/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parse.h - the one place where text becomes a number. Each function takes
 * the whole text or nothing: no blanks, no trailing letters, no overflow.
 * Threads: any; they are pure.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>

/* A decimal integer, "-7" or "42". */
bool jd__parse_integer(const char *text, long long *ret_value);

/* Seconds: "1.5", "500ms", "30s", "5m", "2h", "100us". Finite. */
bool jd__parse_seconds(const char *text, double *ret_seconds);

/* Bytes: "65536", "512K" or "512KiB", "64M" or "64MiB", "1G" or "1GiB", in
 * powers of 1024. */
bool jd__parse_bytes(const char *text, long long *ret_bytes);

/* "1", "true", "yes", "on" and their opposites, in any case. */
bool jd__parse_boolean(const char *text, bool *ret_value);

/*
 * A comma list of non-negative integers, "0,2,3", into a malloc'ed array.
 * False too where an entry is empty or over INT_MAX, or memory runs out.
 */
bool jd__parse_integers(const char *text, int **ret_values, size_t *ret_count);

/* True where the text is "host:port", the host bracketed if it has colons,
 * the port 1..65535; ret_port may be NULL. */
bool jd__parse_address(const char *text, size_t *ret_host_length,
                       int *ret_port);

#endif
