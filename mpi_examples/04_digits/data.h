/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * data.h - the file's rows, each in one process of the job.
 *
 *     struct data data = { 0 };
 *     if (read_data("digits.csv", &data) == 0)
 *         add_rows(&model, &data, &sums);
 *     free(data.rows);
 */
#ifndef DATA_H
#define DATA_H

#include "model.h"
#include "rows.h"

#include <stdint.h>

enum { HELD_OUT = 5, FAILED = 1 };

/* What error texts begin with; each program has its own. */
extern const char program[];

/* The rows of this process, and where they stand in the file. */
struct data {
    struct row *rows;
    int64_t count, first_line, total;
};

/*
 * Tells all processes whether one of them failed. why is this process's
 * sentence, "" where all is well. The lowest process that failed prints its
 * own; the return value is -1 on all. So a missing file is one line, not one
 * for each process, and nobody waits for a process that has given up.
 */
int agree(const char *why);

/* Each process reads its share; process 0 prints who has what. Returns 0, or
 * -1 on all where one of them failed. */
int read_data(const char *path, struct data *data);

/* One pass over the rows of this process; every fifth of the file's lines is
 * held out for the accuracy. add.c has it for the host, add.cu for a GPU. */
void add_rows(const struct model *model, const struct data *data,
              struct sums *sums);

#endif
