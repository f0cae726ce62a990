/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line.h - in a job: its processes, a device in each, on a mesh of one axis.
 *
 *     struct bench_line line;
 *     bench_line_open(&line, "pipeline");
 *     ... jd_psum(line.me, NULL, ...) ...
 *     return bench_line_close(&line);
 */
#ifndef BENCH_ENGINE_LINE_H
#define BENCH_ENGINE_LINE_H

#include "jd_mesh.h"
#include "jd_shard.h"

#include <mpi.h>

struct bench_line {
    MPI_Comm comm; /* jd_mpi_comm() */
    int rank, size;
    jd_mesh *mesh;
    jd_shard *me;
};

/* Initialises jd. Where it cannot, or a process has several devices, it says so
 * for that measurement and ends the process. */
void bench_line_open(struct bench_line *line, const char *name);

/* Shuts jd down; an exit status. */
int bench_line_close(struct bench_line *line);

#endif
