/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

jd_status jd__text_write(struct jd_text *text, FILE *out, const char *operation,
                         const char *noun)
{
    char *chars = jd__text_end(text);
    if (!chars)
        return jd__fail_no_memory(operation, text->length);
    clearerr(out);
    bool is_written =
        fwrite(chars, 1, text->length, out) == text->length && fflush(out) == 0;
    int error = errno;
    free(chars);
    if (is_written)
        return JD_OK;
    return jd_fail(JD_DATA_LOSS, "%s: the %s could not be written: %s",
                   operation, noun, strerror(error));
}

void jd__text_make_plain(char *text, bool has_lines)
{
    for (char *c = text; *c; c++) {
        bool is_kept = has_lines && (*c == '\n' || *c == '\t');
        if (((unsigned char)*c < ' ' && !is_kept) || *c == 0x7f)
            *c = '?';
    }
}
