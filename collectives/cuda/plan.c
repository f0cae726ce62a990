/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.c - into which parts a collective is cut. */
#include "collectives/cuda/plan.h"
#include "base/numbers.h"

struct jd_cuda_limits jd__cuda_limits = {
    .chunk = (size_t)256 << 20,
    .gather = (size_t)512 << 10,
    .row = (size_t)1 << 20,
};

/* Kernels take several elements at once where vectors begin at a multiple. */
enum { MULTIPLE = 64 };

size_t jd__cuda_longest_part(size_t count, int size)
{
    return (count / (size_t)size / MULTIPLE + 1) * MULTIPLE;
}

struct jd_cuda_part jd__cuda_part(size_t count, int size, int member)
{
    size_t members = (size_t)size, index = (size_t)member;
    size_t each =
        count % members ? jd__cuda_longest_part(count, size) : count / members;
    size_t begin = jd__numbers_smaller(each * index, count);
    return (struct jd_cuda_part){ begin,
                                  jd__numbers_smaller(each, count - begin) };
}

bool jd__cuda_next_chunk(size_t rows, size_t columns, size_t most,
                         struct jd_cuda_chunk *chunk)
{
    size_t row = chunk->row, column = chunk->column + chunk->columns;
    if (columns == 0)
        return false;
    if (chunk->rows && column == columns) {
        row += chunk->rows;
        column = 0;
    }
    if (row == rows)
        return false;
    most = most ? most : 1;
    chunk->row = row;
    chunk->column = column;
    chunk->columns = jd__numbers_smaller(columns - column, most);
    chunk->rows =
        columns > most ? 1 : jd__numbers_smaller(rows - row, most / columns);
    return true;
}
