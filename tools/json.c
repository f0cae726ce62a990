/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c - text as a JSON string. */
#include "tools/json.h"

#include <stdint.h>

size_t json_sequence_length(const unsigned char *text)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t length = text[0] < 0x80           ? 1
                    : (text[0] >> 5) == 0x06 ? 2
                    : (text[0] >> 4) == 0x0e ? 3
                    : (text[0] >> 3) == 0x1e ? 4
                                             : 0;
    if (length < 2)
        return length;
    uint32_t code = text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    if (code < smallest[length] || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000))
        return 0;
    return length;
}

static void write_ascii(FILE *file, unsigned char c)
{
    if (c == '"' || c == '\\')
        fprintf(file, "\\%c", c);
    else if (c == '\n')
        fputs("\\n", file);
    else if (c == '\t')
        fputs("\\t", file);
    else if (c < 0x20 || c == 0x7f)
        fprintf(file, "\\u%04x", c);
    else
        fputc(c, file);
}

void json_write_string(FILE *file, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    if (!text) {
        fputs("null", file);
        return;
    }
    fputc('"', file);
    while (*at) {
        size_t length = json_sequence_length(at);
        if (length == 0)
            fputs("\\ufffd", file);
        else if (length == 1)
            write_ascii(file, *at);
        else
            fwrite(at, 1, length, file);
        at += length ? length : 1;
    }
    fputc('"', file);
}
