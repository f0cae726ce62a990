/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dies_in_round CALL VICTIM NUMBER [WORD] - in one call process VICTIM kills
 * itself in place of its message of that number; a call of fewer messages ends
 * well, and says "no such message". Each process stands for a host
 * (JD_SHARED_MEMORY=0). WORD is for the runner, which looks for processes that
 * are left.
 */
#include "jd.h"

#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 256 << 10, MOST = 16 };

static int left = -1; /* messages until then; negative: it does not die */

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    if (left > 0 && --left == 0)
        raise(SIGKILL);
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

static char *in, *out;
static jd_shard *me;
static size_t size;

static jd_status ragged(void)
{
    int64_t from[MOST], to[MOST], sizes[MOST];
    for (size_t i = 0; i < size; i++) {
        from[i] = (int64_t)i * 100;
        to[i] = jd_process_index() * 100;
        sizes[i] = 100;
    }
    return jd_ragged_all_to_all(me, "p", in, size * 100, out, size * 100, 1,
                                from, sizes, to, sizes, (int)size, JD_S8);
}

static jd_status permute(void)
{
    jd_route routes[MOST];
    for (size_t i = 0; i < size; i++)
        routes[i] = (jd_route){ (int)i, (int)((i + 1) % size) };
    return jd_ppermute(me, "p", in, out, LONG, JD_S8, routes, (int)size);
}

static jd_status run(const char *call)
{
    if (strcmp(call, "barrier") == 0)
        return jd_barrier(me, "p");
    if (strcmp(call, "psum") == 0)
        return jd_psum(me, "p", in, out, 2, JD_F32);
    if (strcmp(call, "psum-long") == 0)
        return jd_psum(me, "p", in, out, LONG / 4, JD_F32);
    if (strcmp(call, "scatter-long") == 0)
        return jd_psum_scatter(me, "p", in, out, LONG / 4 / size, JD_F32);
    if (strcmp(call, "gather-long") == 0)
        return jd_all_gather(me, "p", in, out, LONG, JD_S8);
    if (strcmp(call, "broadcast-long") == 0)
        return jd_pbroadcast(me, "p", 1, in, out, LONG, JD_S8);
    if (strcmp(call, "all-to-all-short") == 0)
        return jd_all_to_all(me, "p", in, out, 250, JD_S8);
    if (strcmp(call, "all-to-all") == 0)
        return jd_all_to_all(me, "p", in, out, LONG / 8, JD_S8);
    return strcmp(call, "ragged") == 0 ? ragged() : permute();
}

int main(int argc, char **argv)
{
    int n;
    jd_mesh *mesh;
    if (argc < 4)
        return 2;
    JD_CHECK(jd_initialize());
    jd_devices(&n);
    size = (size_t)n;
    in = calloc(size, LONG);
    out = calloc(size, LONG);
    JD_CHECK(jd_mesh_create(&mesh, 1, &n, (const char *[]){ "p" }, NULL));
    me = jd_mesh_shard(mesh);
    JD_CHECK(jd_barrier(me, "p")); /* its first use */
    JD_CHECK(jd_sync_global_devices("all are there"));
    if (jd_process_index() == atoi(argv[2]))
        left = atoi(argv[3]);
    JD_CHECK(run(argv[1]));
    bool was_last = left > 0;
    left = -1;
    if (was_last)
        puts("no such message");
    jd_mesh_destroy(mesh);
    free(in);
    free(out);
    return jd_shutdown();
}
