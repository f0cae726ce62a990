/* SPDX-License-Identifier: BSD-3-Clause */
/* inter_strided.c - bytes that lie in rows. */
#include "collectives/cpu/inter/inter_private.h"

#include <string.h>

static bool is_flat(const struct jd_strided *strided)
{
    return strided->rows <= 1 || strided->pitch == strided->width;
}

char *jd__inter_strided_at(const struct jd_strided *strided, size_t begin,
                           size_t bytes)
{
    if (is_flat(strided))
        return strided->base + begin;
    size_t row = begin / strided->width, column = begin % strided->width;
    if (bytes > strided->width - column)
        return NULL;
    return strided->base + row * strided->pitch + column;
}

/* The bytes from begin on that lie together, at most as many as bytes. */
static size_t together(const struct jd_strided *strided, size_t begin,
                       size_t bytes)
{
    if (is_flat(strided))
        return bytes;
    size_t left = strided->width - begin % strided->width;
    return left < bytes ? left : bytes;
}

void jd__inter_strided_read(const struct jd_strided *strided, size_t begin,
                            size_t bytes, void *to)
{
    for (size_t done = 0, part; done < bytes; done += part) {
        part = together(strided, begin + done, bytes - done);
        memcpy((char *)to + done,
               jd__inter_strided_at(strided, begin + done, part), part);
    }
}

void jd__inter_strided_write(const struct jd_strided *strided, size_t begin,
                             size_t bytes, const void *from)
{
    for (size_t done = 0, part; done < bytes; done += part) {
        part = together(strided, begin + done, bytes - done);
        memcpy(jd__inter_strided_at(strided, begin + done, part),
               (const char *)from + done, part);
    }
}

void jd__inter_strided_copy_part(const struct jd_strided *to,
                                 const struct jd_strided *from, size_t begin,
                                 size_t bytes)
{
    for (size_t done = 0, part; done < bytes; done += part) {
        part = together(from, begin + done, bytes - done);
        jd__inter_strided_write(to, begin + done, part,
                                jd__inter_strided_at(from, begin + done, part));
    }
}

void jd__inter_strided_copy(const struct jd_strided *to,
                            const struct jd_strided *from)
{
    if (to->base != from->base)
        jd__inter_strided_copy_part(to, from, 0, jd__inter_strided_bytes(to));
}
