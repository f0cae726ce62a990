/* SPDX-License-Identifier: BSD-3-Clause */
/* line.c - a job's processes on a mesh of one axis. */
#include "bench/engine/line.h"
#include "jd_mpi.h"
#include "jd_process.h"

#include <stdio.h>
#include <stdlib.h>

void bench_line_open(struct bench_line *line, const char *name)
{
    int size = -1;
    const char *axis = "x";
    JD_CHECK(jd_initialize());
    line->comm = jd_mpi_comm();
    line->rank = jd_process_index();
    line->size = jd_process_count();
    JD_CHECK(jd_mesh_create(&line->mesh, 1, &size, &axis, NULL));
    line->me = jd_mesh_shard(line->mesh);
    if (line->me)
        return;
    fprintf(stderr,
            "jd-bench %s: one device in each process is measured; unset "
            "JD_NUM_CPU_DEVICES\n",
            name);
    exit(EXIT_FAILURE);
}

int bench_line_close(struct bench_line *line)
{
    jd_mesh_destroy(line->mesh);
    return (int)jd_shutdown();
}
