/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.c - copies of rows. */
#include "collectives/kernels/rows.h"
#include "collectives/kernels/fold.h"

#include <string.h>

/* Of less, too much is the ends of rows, which are parts of cache lines. */
#define LEAST_STREAMED_ROW 1024

/* Where one row follows on from the other, they are one. */
static struct jd_rows join_rows(const struct jd_rows *rows)
{
    struct jd_rows joined = *rows;
    if (rows->to_pitch == rows->row && rows->from_pitch == rows->row) {
        joined.row *= rows->count;
        joined.count = 1;
    }
    return joined;
}

static void stream_rows(struct jd_rows rows)
{
    char *to = rows.to;
    const char *from = rows.from;
    for (size_t i = 0; i < rows.count; i++)
        jd__fold_stream(to + i * rows.to_pitch, from + i * rows.from_pitch,
                        rows.row);
    jd__fold_fence();
}

/* Rows of the size of an element are common (a transposition), and too short
 * for a call each. */
#define COPY_ROWS_OF(bytes)                                                    \
    for (size_t i = 0; i < rows.count; i++)                                    \
    memcpy(to + i * rows.to_pitch, from + i * rows.from_pitch, bytes)

static void copy_rows(struct jd_rows rows)
{
    char *to = rows.to;
    const char *from = rows.from;
    switch (rows.row) {
    case 1:
        COPY_ROWS_OF(1);
        return;
    case 2:
        COPY_ROWS_OF(2);
        return;
    case 4:
        COPY_ROWS_OF(4);
        return;
    case 8:
        COPY_ROWS_OF(8);
        return;
    case 16:
        COPY_ROWS_OF(16);
        return;
    default:
        COPY_ROWS_OF(rows.row);
    }
}

void jd__rows_copy(const struct jd_rows *rows, bool streams)
{
    struct jd_rows joined = join_rows(rows);
    if (joined.row == 0)
        return;
    if (streams && joined.row >= LEAST_STREAMED_ROW)
        stream_rows(joined);
    else
        copy_rows(joined);
}
