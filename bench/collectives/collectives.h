/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collectives.h - the parts of `jd-bench collectives`.
 *
 * The parent (collectives.c) starts jobs of this program in turn and
 * collects what their process 0 prints; a job (job.c) measures one side
 * or both by turns; what a side is, which call on which buffers, is in
 * sides.c; table.c prints what came out, and plot.c draws it.
 */
#ifndef BENCH_COLLECTIVES_COLLECTIVES_H
#define BENCH_COLLECTIVES_COLLECTIVES_H

#include "bench/engine/samples.h"
#include "jd_dtype.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* The operations: name, and what a rank moves in nccl-tests' bus bandwidth, in
 * (n - 1) / n of the bytes. */
#define BENCH_OP_MAP(X)                                                        \
    X(psum, 2)                                                                 \
    X(all_gather, 1)                                                           \
    X(psum_scatter, 1)                                                         \
    X(all_to_all, 1)                                                           \
    X(pbroadcast, 0)                                                           \
    X(ppermute, 0)                                                             \
    X(barrier, 0)

enum bench_op {
#define BENCH_OP_ENUM_ROW(name, parts) BENCH_OP_##name,
    BENCH_OP_MAP(BENCH_OP_ENUM_ROW)
#undef BENCH_OP_ENUM_ROW
        BENCH_OPS
};

/* The peer is MPI, or on GPUs NCCL. In place they use their own out for both.
 */
enum bench_side {
    BENCH_JD,
    BENCH_PEER,
    BENCH_APART, /* so many sides have buffers of their own */
    BENCH_JD_IN_PLACE = BENCH_APART,
    BENCH_PEER_IN_PLACE,
    BENCH_SIDES
};

/* BENCH_JD or BENCH_PEER. */
static inline enum bench_side bench_whose(int side)
{
    return (enum bench_side)(side % BENCH_APART);
}

/* What is asked for; the same in the parent and in its jobs. */
struct bench_request {
    bool ops[BENCH_OPS];
    jd_dtype types[20];
    int num_types;
    size_t min_bytes;
    size_t max_bytes; /* 0: on GPUs, as far as they have memory */
    int factor;
    int rounds;
    double sample_seconds;
    bool cycle;       /* write the input, call, read the output */
    bool in_place;    /* psum and pbroadcast */
    bool has_both;    /* in place too, what can be */
    bool is_malloced; /* jd's buffers too */
    bool check;
    bool on_gpus;
};

/* One line of results: a call of that size, samples in seconds. */
struct bench_cell {
    enum bench_op op;
    jd_dtype dtype;
    size_t bytes; /* the larger of a rank's buffers */
    struct bench_samples samples[BENCH_SIDES];
    struct bench_samples queued[BENCH_SIDES]; /* on GPUs: until it returns */
    struct bench_samples thread[BENCH_SIDES]; /* its thread's part of that */
    size_t wrong; /* elements; SIZE_MAX: not looked at */
    int ranks;
};

/* ---- sides.c ------------------------------------------------------ */

/* On GPUs: of a buffer on the host, through which numbers come and go; and the
 * largest size where none is asked for. */
enum { BENCH_HOST_BYTES = 64 << 20, BENCH_GPU_BYTES = 1 << 30 };

/* Buffers and members of one side. */
struct bench_sides {
    MPI_Comm comm;
    int rank, size;
    bool has_jd;
    struct jd_mesh *mesh;
    struct jd_shard *me;
    void *in[BENCH_SIDES], *out[BENCH_SIDES];
    bool in_place;
    MPI_Op add_f16, add_bf16;
    void *host; /* on GPUs: BENCH_HOST_BYTES; else NULL */
    struct bench_nccl *nccl;
};

/* request->max_bytes becomes what the GPUs have memory for, where it is 0. */
void bench_sides_open(struct bench_sides *sides, struct bench_request *request,
                      bool with_jd, bool with_peer);
void bench_sides_close(struct bench_sides *sides,
                       const struct bench_request *request);

/* How many elements the call takes, where the larger buffer has the bytes;
 * 0: nothing to be measured at that size. */
size_t bench_count(const struct bench_sides *sides, enum bench_op op,
                   jd_dtype dtype, size_t bytes);
/* Whether the side has the call for the type. */
bool bench_can(const struct bench_sides *sides, enum bench_side side,
               enum bench_op op, jd_dtype dtype);
/* On GPUs it queues, and bench_finish() waits. */
void bench_call_once(struct bench_sides *sides, enum bench_side side,
                     enum bench_op op, jd_dtype dtype, size_t count);

void bench_finish(struct bench_sides *sides);

/* ---- data.c ------------------------------------------------------- */

/* Whether the operation has a call in place. */
bool bench_has_place(enum bench_op op);

/* Where the side's input and its results are. */
void *bench_in(const struct bench_sides *sides, enum bench_side side,
               enum bench_op op, jd_dtype dtype, size_t count);
void *bench_out(const struct bench_sides *sides, enum bench_side side,
                enum bench_op op, jd_dtype dtype, size_t count);

/* Writes numbers into the input that depend on rank and place. */
void bench_fill(struct bench_sides *sides, enum bench_side side,
                enum bench_op op, jd_dtype dtype, size_t count);
/* How many elements of the output are not what they must be. */
size_t bench_count_wrong(const struct bench_sides *sides, enum bench_side side,
                         enum bench_op op, jd_dtype dtype, size_t count);
/* The two ends of a cycle: all of the input is written, all of the output is
 * read. */
void bench_touch_in(struct bench_sides *sides, enum bench_side side,
                    enum bench_op op, jd_dtype dtype, size_t count);
void bench_touch_out(struct bench_sides *sides, enum bench_side side,
                     enum bench_op op, jd_dtype dtype, size_t count);

/* ---- job.c -------------------------------------------------------- */

/* The job's part: "jd", "mpi" (the peer) or "both"; an exit status. */
int bench_job(const struct bench_request *request, const char *part);

/* ---- table.c ------------------------------------------------------ */

extern const char *const bench_op_names[BENCH_OPS];
extern const int bench_op_parts[BENCH_OPS];

struct bench_results {
    struct bench_cell *cells;
    int count;
};

/* Takes one line of a job's output in; false where it is none of these. */
bool bench_results_read(struct bench_results *results, const char *line);
void bench_results_free(struct bench_results *results);
/* peer: "mpi" or "nccl". */
void bench_results_print(const struct bench_results *results, const char *peer);
void bench_results_print_json(const struct bench_results *results,
                              const char *peer, const char *against,
                              const char *measure);

/* ---- plot.c ------------------------------------------------------- */

/* A picture of them. */
struct bench_plot {
    const struct bench_results *results;
    const char *peer;     /* "mpi" or "nccl" */
    const char *platform; /* "cpu" or "cuda" */
    const char *path;     /* of the SVG */
    /* Of the title. NULL: this one; these. */
    const char *machine;  /* "AMD EPYC, 2 cores" */
    const char *versions; /* "jd 0.1.0, Open MPI v4.1.4" */
};

/* Time over size, through gnuplot: of each operation, type, number of processes
 * and side the median, and a band from the 5th to the 95th percentile. 0, or -1
 * with the reason on stderr. */
int bench_plot_draw(const struct bench_plot *plot);

#endif
