/* SPDX-License-Identifier: BSD-3-Clause */
/* inter_strided.c - bytes that lie in rows. */
#include "collectives/cpu/inter/inter_private.h"

#include <string.h>

static bool is_flat(const struct jd_strip *strip)
{
    return strip->rows <= 1 || strip->pitch == strip->width;
}

char *jd__strip_at(const struct jd_strip *strip, size_t begin, size_t bytes)
{
    if (is_flat(strip))
        return strip->base + begin;
    size_t row = begin / strip->width, column = begin % strip->width;
    if (bytes > strip->width - column)
        return NULL;
    return strip->base + row * strip->pitch + column;
}

/* The bytes from begin on that lie together, at most as many as bytes. */
static size_t together(const struct jd_strip *strip, size_t begin, size_t bytes)
{
    if (is_flat(strip))
        return bytes;
    size_t left = strip->width - begin % strip->width;
    return left < bytes ? left : bytes;
}

void jd__strip_read(const struct jd_strip *strip, size_t begin, size_t bytes,
                    void *to)
{
    for (size_t done = 0, part; done < bytes; done += part) {
        part = together(strip, begin + done, bytes - done);
        memcpy((char *)to + done, jd__strip_at(strip, begin + done, part),
               part);
    }
}

void jd__strip_write(const struct jd_strip *strip, size_t begin, size_t bytes,
                     const void *from)
{
    for (size_t done = 0, part; done < bytes; done += part) {
        part = together(strip, begin + done, bytes - done);
        memcpy(jd__strip_at(strip, begin + done, part),
               (const char *)from + done, part);
    }
}

void jd__strip_copy_part(const struct jd_strip *to, const struct jd_strip *from,
                         size_t begin, size_t bytes)
{
    for (size_t done = 0, part; done < bytes; done += part) {
        part = together(from, begin + done, bytes - done);
        jd__strip_write(to, begin + done, part,
                        jd__strip_at(from, begin + done, part));
    }
}

void jd__strip_copy(const struct jd_strip *to, const struct jd_strip *from)
{
    if (to->base != from->base)
        jd__strip_copy_part(to, from, 0, jd__strip_bytes(to));
}
