/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * key_text.h - a key in a sentence: quoted, what is not printable ASCII as
 * \xNN, and cut where it is long.
 *
 *     fputs("jd_kv_get of key ", out);
 *     jd__key_text_print(out, key);             "a/b", "a\x00b",
 *                                          "aaaa..." (4096 bytes)
 *
 * Threads: any.
 */
#ifndef BASE_KEY_TEXT_H
#define BASE_KEY_TEXT_H

#include <protobuf-c/protobuf-c.h>

#include <stdio.h>

enum {
    JD_KEY_TEXT_MAX = 80,   /* bytes of a key that a sentence shows */
    JD_KEY_TEXT_SIZE = 384, /* of the text with its NUL, at the most */
};

/* Writes the text and returns it. Without a system call or memory. */
char *jd__key_text_format(char text[JD_KEY_TEXT_SIZE], ProtobufCBinaryData key);

void jd__key_text_print(FILE *out, ProtobufCBinaryData key);

#endif
