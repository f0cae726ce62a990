/* SPDX-License-Identifier: BSD-3-Clause */
/* add.c - one pass over the rows of this process, on the host. */
#include "data.h"

#include <string.h>

void add_rows(const struct model *model, const struct data *data,
              struct sums *sums)
{
    memset(sums, 0, sizeof *sums);
    for (int64_t i = 0; i < data->count; i++)
        if ((data->first_line + i) % HELD_OUT == 0)
            add_test_row(model, &data->rows[i], sums);
        else
            add_training_row(model, &data->rows[i], sums);
}
