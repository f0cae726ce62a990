/* SPDX-License-Identifier: BSD-3-Clause */
/* svg_picture.c - texts in a picture. */
#include "tools/jd-trace/svg_picture.h"

#include <string.h>

void svg_picture_escape_part(FILE *out, const char *text, size_t length)
{
    for (const char *end = text + length; text < end; text++)
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
}

void svg_picture_escape(FILE *out, const char *text)
{
    svg_picture_escape_part(out, text, strlen(text));
}
