/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_block.c - bytes that lie in rows some way apart, seen as one stream. */
#include "collectives/cpu/shm/shm_block.h"
#include "collectives/kernels/rows.h"

#include <string.h>

size_t jd__shm_block_bytes(const struct jd_shm_block *block)
{
    return block->rows * block->width;
}

size_t jd__shm_block_extent(const struct jd_shm_block *block)
{
    if (block->rows == 0 || block->width == 0)
        return 0;
    return (block->rows - 1) * block->pitch + block->width;
}

bool jd__shm_block_is_whole(const struct jd_shm_block *block)
{
    return block->rows <= 1 || block->pitch == block->width;
}

/* A stretch of a stream: the end of a row, whole rows, the begin of one. */
struct stretch {
    size_t row;
    size_t column; /* of the first row */
    size_t head;   /* bytes of it that are not a whole row */
    size_t rows;   /* whole ones after it */
    size_t tail;   /* bytes of the last one */
};

static struct stretch find_stretch(const struct jd_shm_block *block,
                                   size_t begin, size_t bytes)
{
    struct stretch s = { .row = begin / block->width,
                         .column = begin % block->width };
    if (s.column) {
        size_t rest = block->width - s.column;
        s.head = rest < bytes ? rest : bytes;
        bytes -= s.head;
    }
    s.rows = bytes / block->width;
    s.tail = bytes % block->width;
    return s;
}

/* Where the stretch's whole rows begin in the block. */
static char *whole_rows(const struct jd_shm_block *block,
                        const struct stretch *s)
{
    return block->data + (s->row + (s->column != 0)) * block->pitch;
}

void jd__shm_block_pack(char *to, const struct jd_shm_block *from, size_t begin,
                        size_t bytes)
{
    if (bytes == 0)
        return;
    if (jd__shm_block_is_whole(from)) {
        memcpy(to, from->data + begin, bytes);
        return;
    }
    struct stretch s = find_stretch(from, begin, bytes);
    const char *rows = whole_rows(from, &s);
    memcpy(to, from->data + s.row * from->pitch + s.column, s.head);
    jd__rows_copy(&(struct jd_rows){ .to = to + s.head,
                                     .from = rows,
                                     .to_pitch = from->width,
                                     .from_pitch = from->pitch,
                                     .row = from->width,
                                     .count = s.rows },
                  false);
    memcpy(to + s.head + s.rows * from->width, rows + s.rows * from->pitch,
           s.tail);
}

void jd__shm_block_unpack(const struct jd_shm_block *to, size_t begin,
                          const char *from, size_t bytes)
{
    if (bytes == 0)
        return;
    if (jd__shm_block_is_whole(to)) {
        memcpy(to->data + begin, from, bytes);
        return;
    }
    struct stretch s = find_stretch(to, begin, bytes);
    char *rows = whole_rows(to, &s);
    memcpy(to->data + s.row * to->pitch + s.column, from, s.head);
    jd__rows_copy(&(struct jd_rows){ .to = rows,
                                     .from = from + s.head,
                                     .to_pitch = to->pitch,
                                     .from_pitch = to->width,
                                     .row = to->width,
                                     .count = s.rows },
                  false);
    memcpy(rows + s.rows * to->pitch, from + s.head + s.rows * to->width,
           s.tail);
}

void jd__shm_block_copy(const struct jd_shm_block *to,
                        const struct jd_shm_block *from)
{
    if (jd__shm_block_bytes(from) == 0 || to->data == from->data)
        return;
    jd__rows_copy(&(struct jd_rows){ .to = to->data,
                                     .from = from->data,
                                     .to_pitch = to->pitch,
                                     .from_pitch = from->pitch,
                                     .row = from->width,
                                     .count = from->rows },
                  jd__shm_block_bytes(from) >= JD_STREAMED_BYTES);
}
