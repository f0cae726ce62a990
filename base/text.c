/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/text.h"

#include <stdlib.h>

FILE *jd__text_begin(struct jd_text *text)
{
    *text = (struct jd_text){ .out = NULL };
    text->out = open_memstream(&text->chars, &text->length);
    return text->out;
}

char *jd__text_end(struct jd_text *text)
{
    if (text->out && fclose(text->out) == 0)
        return text->chars;
    if (text->out)
        free(text->chars);
    return NULL;
}

void jd__text_make_plain(char *text, bool has_lines)
{
    for (char *c = text; *c; c++) {
        bool is_kept = has_lines && (*c == '\n' || *c == '\t');
        if (((unsigned char)*c < ' ' && !is_kept) || *c == 0x7f)
            *c = '?';
    }
}
