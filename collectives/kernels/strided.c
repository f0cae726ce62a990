/* SPDX-License-Identifier: BSD-3-Clause */
/* strided.c - bytes that lie in rows some way apart, seen as one stream. */
#include "collectives/kernels/strided.h"
#include "collectives/kernels/rows.h"

#include <string.h>

size_t jd__strided_extent(const struct jd_strided *strided)
{
    if (jd__strided_bytes(strided) == 0)
        return 0;
    return (strided->rows - 1) * strided->pitch + strided->width;
}

char *jd__strided_at(const struct jd_strided *strided, size_t begin,
                     size_t bytes)
{
    if (jd__strided_is_flat(strided))
        return strided->base + begin;
    size_t row = begin / strided->width, column = begin % strided->width;
    if (bytes > strided->width - column)
        return NULL;
    return strided->base + row * strided->pitch + column;
}

/* One end of a copy: where it begins, and how far from row to row. */
struct strided_end {
    char *at;
    size_t pitch;
};

/* Bytes that begin in this column of rows of so many: the rest of a row, whole
 * ones, the begin of one. */
static void copy_stretch(struct strided_end to, struct strided_end from,
                         size_t width, size_t column, size_t bytes)
{
    if (column) {
        size_t rest = width - column, head = rest < bytes ? rest : bytes;
        memcpy(to.at, from.at, head);
        if (head == bytes)
            return;
        to.at += to.pitch - column;
        from.at += from.pitch - column;
        bytes -= head;
    }
    size_t rows = bytes / width;
    jd__rows_copy(&(struct jd_rows){ .to = to.at,
                                     .from = from.at,
                                     .to_pitch = to.pitch,
                                     .from_pitch = from.pitch,
                                     .row = width,
                                     .count = rows },
                  false);
    memcpy(to.at + rows * to.pitch, from.at + rows * from.pitch, bytes % width);
}

/* The rows' end of a copy that begins there. */
static struct strided_end end_at(const struct jd_strided *strided, size_t begin)
{
    size_t row = begin / strided->width, column = begin % strided->width;
    return (struct strided_end){ strided->base + row * strided->pitch + column,
                                 strided->pitch };
}

void jd__strided_read(const struct jd_strided *strided, size_t begin,
                      size_t bytes, void *to)
{
    size_t width = strided->width;
    if (bytes && jd__strided_is_flat(strided))
        memcpy(to, strided->base + begin, bytes);
    else if (bytes)
        copy_stretch((struct strided_end){ to, width }, end_at(strided, begin),
                     width, begin % width, bytes);
}

void jd__strided_write(const struct jd_strided *strided, size_t begin,
                       size_t bytes, const void *from)
{
    size_t width = strided->width;
    if (bytes && jd__strided_is_flat(strided))
        memcpy(strided->base + begin, from, bytes);
    else if (bytes)
        copy_stretch(end_at(strided, begin),
                     (struct strided_end){ (char *)from, width }, width,
                     begin % width, bytes);
}

void jd__strided_copy_part(const struct jd_strided *to,
                           const struct jd_strided *from, size_t begin,
                           size_t bytes)
{
    if (jd__strided_is_flat(from))
        jd__strided_write(to, begin, bytes, from->base + begin);
    else if (bytes)
        copy_stretch(end_at(to, begin), end_at(from, begin), from->width,
                     begin % from->width, bytes);
}

void jd__strided_copy(const struct jd_strided *to,
                      const struct jd_strided *from)
{
    size_t bytes = jd__strided_bytes(to);
    bool to_flat = jd__strided_is_flat(to);
    bool from_flat = jd__strided_is_flat(from);
    size_t width = from_flat ? to->width : from->width;
    if (bytes == 0 || to->base == from->base)
        return;
    jd__rows_copy(
        &(struct jd_rows){ .to = to->base,
                           .from = from->base,
                           .to_pitch = to_flat ? width : to->pitch,
                           .from_pitch = from_flat ? width : from->pitch,
                           .row = width,
                           .count = bytes / width },
        bytes >= JD_STREAMED_BYTES);
}
