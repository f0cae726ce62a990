/* SPDX-License-Identifier: BSD-3-Clause */
/* key_text.c - a key in a sentence. */
#include "base/key_text.h"

static char *add_byte(char *end, uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";
    if (byte < ' ' || byte > '~') {
        *end++ = '\\';
        *end++ = 'x';
        *end++ = digits[byte >> 4];
        *end++ = digits[byte & 15];
        return end;
    }
    if (byte == '"' || byte == '\\')
        *end++ = '\\';
    *end++ = (char)byte;
    return end;
}

char *jd__key_text_format(char text[JD_KEY_TEXT_SIZE], ProtobufCBinaryData key)
{
    size_t shown = key.len < JD_KEY_TEXT_MAX ? key.len : JD_KEY_TEXT_MAX;
    char *end = text;
    *end++ = '"';
    for (size_t i = 0; i < shown; i++)
        end = add_byte(end, key.data[i]);
    if (shown < key.len) {
        snprintf(end, (size_t)(text + JD_KEY_TEXT_SIZE - end),
                 "...\" (%zu bytes)", key.len);
    } else {
        *end++ = '"';
        *end = 0;
    }
    return text;
}

void jd__key_text_print(FILE *out, ProtobufCBinaryData key)
{
    char text[JD_KEY_TEXT_SIZE];
    fputs(jd__key_text_format(text, key), out);
}
