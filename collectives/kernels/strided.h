/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strided.h - bytes that lie in rows some way apart, seen as one stream: row by
 * row, without the gaps.
 *
 *     struct jd_strided in = { base, rows, width, pitch };
 *     jd__strided_read(&in, begin, bytes, piece);   begin is in the stream
 *     jd__strided_write(&out, begin, bytes, piece);
 *     jd__strided_copy(&out, &in);                  all of it, straight
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_KERNELS_STRIDED_H
#define COLLECTIVES_KERNELS_STRIDED_H

#include <stdbool.h>
#include <stddef.h>

/* All but rows in bytes. */
struct jd_strided {
    char *base; /* the first row */
    size_t rows;
    size_t width; /* of a row */
    size_t pitch; /* from row to row, at least width */
};

/* So many bytes into an array, which may be NULL where it has no elements. */
static inline char *jd__strided_place(const void *array, size_t offset)
{
    return array ? (char *)array + offset : NULL;
}

/* Bytes one after the other. */
static inline struct jd_strided jd__strided_flat(const void *base, size_t bytes)
{
    return (struct jd_strided){ (char *)base, 1, bytes, bytes };
}

/* How long the stream is. */
static inline size_t jd__strided_bytes(const struct jd_strided *strided)
{
    return strided->rows * strided->width;
}

/* Whether there are no gaps. */
static inline bool jd__strided_is_flat(const struct jd_strided *strided)
{
    return strided->rows <= 1 || strided->pitch == strided->width;
}

/* From the first byte to the last, gaps included. */
size_t jd__strided_extent(const struct jd_strided *strided);

/* Where the bytes [begin, begin + bytes) of the stream are, or NULL where they
 * do not lie one after the other. */
char *jd__strided_at(const struct jd_strided *strided, size_t begin,
                     size_t bytes);

/* Copies the bytes [begin, begin + bytes) of the stream out, or in. */
void jd__strided_read(const struct jd_strided *strided, size_t begin,
                      size_t bytes, void *to);
void jd__strided_write(const struct jd_strided *strided, size_t begin,
                       size_t bytes, const void *from);

/* Copies those bytes between two of the same shape that have nothing in
 * common. */
void jd__strided_copy_part(const struct jd_strided *to,
                           const struct jd_strided *from, size_t begin,
                           size_t bytes);

/* Copies all. Both are as long and have the same rows, or one is flat; they
 * have nothing in common unless they begin at the same place: then nothing is
 * done. */
void jd__strided_copy(const struct jd_strided *to,
                      const struct jd_strided *from);

#endif
