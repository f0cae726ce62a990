/* SPDX-License-Identifier: BSD-3-Clause */
/* compositions.c - of which passes a collective is made: the table. */
#include "bench/scale/compositions.h"
#include "collectives/cpu/inter/inter_result.h"

#include <math.h>
#include <stddef.h>

#define KIB 1024.0
#define ANY 0.0

/* What the library's collectives are made with (collectives/cpu/inter/). */
enum {
    MESH_PASSES = 3,  /* of a first use */
    MESH_HEAD = 4096, /* bytes, beside MESH_HOST for each host */
    MESH_HOST = 64,
    TWO_LEVELS = 16, /* members of a host that meet in two */
};
#define HEAD ((double)JD_INTER_AGREED_SPACE) /* of a check */
#define MESSAGE (62 * KIB)    /* of a piece, between two hosts */
#define ALL_RAILS (512 * KIB) /* there, what all members of a host carry of it */
#define WHOLE 2               /* pieces, which among more hosts go in one */

/* What a way is beside its passes. */
enum {
    JD = 1,
    CHECKED = 2, /* after a pass that checks the call; MPI's: agrees on an id */
    RAILS = 4,   /* all members of a host carry a part */
    PIECES = 8,
    APART = 16, /* where each host has one process alone */
};

struct way {
    enum scale_op op;
    const char *name;
    double most; /* bytes, where it is taken; an all_gather's: of all members
                  * together */
    int least, hosts; /* of so many hosts or more; of so many alone */
    int kinds[2];
    int depth; /* 0: the window */
    int flags;
};

#define MERGE JD_SCHEDULE_MERGE
#define GATHER JD_SCHEDULE_ALL_GATHER
#define SCATTER JD_SCHEDULE_SCATTER
#define BRUCK JD_SCHEDULE_BRUCK
#define PAIRS JD_SCHEDULE_PAIRS
#define NONE SCALE_NONE
#define LONG (JD | CHECKED | RAILS | PIECES)

/* Of jd the first that fits, of MPI the quickest. */
static const struct way ways[] = {
    { SCALE_PSUM, "merge", 32 * KIB, 0, 0, { MERGE, NONE }, 1, JD },
    { SCALE_PSUM, "exchange", ANY, 0, 2, { MERGE, NONE }, 1, LONG },
    { SCALE_PSUM,
      "reduce_scatter, all_gather",
      ANY,
      0,
      0,
      { JD_SCHEDULE_REDUCE_SCATTER, GATHER },
      1,
      LONG },
    { SCALE_ALL_GATHER, "merge", 32 * KIB, 0, 0, { MERGE, NONE }, 1, JD },
    { SCALE_ALL_GATHER, "all_gather", ANY, 0, 0, { GATHER, NONE }, 1, LONG },
    { SCALE_ALL_TO_ALL,
      "bruck",
      256,
      5,
      0,
      { BRUCK, NONE },
      1,
      JD | CHECKED | RAILS | APART },
    { SCALE_ALL_TO_ALL,
      "pairs",
      ANY,
      0,
      0,
      { PAIRS, NONE },
      0,
      JD | CHECKED | RAILS },
    { SCALE_BROADCAST, "merge", 32 * KIB, 0, 0, { MERGE, NONE }, 1, JD },
    { SCALE_BROADCAST,
      "scatter, all_gather",
      ANY,
      0,
      0,
      { SCATTER, GATHER },
      1,
      LONG },
    { SCALE_MESH, "merge", ANY, 0, 0, { MERGE, NONE }, 1, JD },

    { SCALE_PSUM, "recursive doubling", ANY, 0, 0, { MERGE, NONE }, 1, 0 },
    { SCALE_PSUM,
      "Rabenseifner",
      ANY,
      0,
      0,
      { SCALE_HALVING, SCALE_DOUBLING },
      1,
      0 },
    { SCALE_PSUM,
      "ring",
      ANY,
      0,
      0,
      { SCALE_RING_REDUCE, SCALE_RING_GATHER },
      1,
      0 },
    { SCALE_ALL_GATHER, "Bruck", ANY, 0, 0, { GATHER, NONE }, 1, 0 },
    { SCALE_ALL_GATHER, "ring", ANY, 0, 0, { SCALE_RING_GATHER, NONE }, 1, 0 },
    { SCALE_ALL_TO_ALL, "Bruck", ANY, 0, 0, { BRUCK, NONE }, 1, RAILS },
    { SCALE_ALL_TO_ALL, "pairwise", ANY, 0, 0, { PAIRS, NONE }, 1, RAILS },
    { SCALE_BROADCAST,
      "binomial",
      ANY,
      0,
      0,
      { JD_SCHEDULE_BROADCAST, NONE },
      1,
      0 },
    { SCALE_BROADCAST,
      "van de Geijn",
      ANY,
      0,
      0,
      { SCATTER, SCALE_RING_GATHER },
      1,
      0 },
    { SCALE_MESH, "MPI_Comm_split", ANY, 0, 0, { GATHER, NONE }, 1, CHECKED },
};

/* ---- lengths --------------------------------------------------------------
 */

static int parties_of(const struct scale_call *call)
{
    return call->op == SCALE_ALL_TO_ALL ? call->hosts * call->per_host
                                        : call->hosts;
}

/* The lengths of one of so many pieces. */
static struct scale_movement movement_of(const struct scale_call *call,
                                         const struct way *way, int pieces)
{
    bool merges = way->kinds[0] == MERGE;
    double carriers = (way->flags & RAILS) ? call->per_host : 1;
    double bytes = call->bytes / pieces;
    struct scale_movement m = { .kinds = { way->kinds[0], way->kinds[1] },
                                .parties = parties_of(call) };
    m.head = (way->flags & JD) ? HEAD : 0; /* of a merge */
    switch (call->op) {
    case SCALE_ALL_GATHER:
        m.block = bytes * call->per_host / carriers;
        break;
    case SCALE_ALL_TO_ALL:
        m.block = bytes;
        break;
    case SCALE_MESH:
        m.block = (way->flags & JD) ? MESH_HOST : 12 * call->per_host;
        m.head = (way->flags & JD) ? MESH_HEAD : 0;
        break;
    default: /* a vector */
        m.whole = bytes / carriers;
        m.block = merges ? 0 : m.whole / m.parties;
    }
    return m;
}

/* ---- inside a host --------------------------------------------------------
 */

/* Members meet: one reads a line of each, in two levels where they are many,
 * and they read its answer. */
static double meeting_of(const struct scale_call *call,
                         const struct scale_constants *c)
{
    int m = call->per_host;
    double lines = m < TWO_LEVELS ? m - 1 : TWO_LEVELS + m / TWO_LEVELS;
    return m == 1 ? 0 : (lines + 2) * c->value[SCALE_LINE];
}

/* Seconds of a host's memory before and after what goes between hosts. */
static void host_seconds(const struct scale_call *call,
                         const struct scale_constants *c, double *before,
                         double *after)
{
    double m = call->per_host, all = m * call->hosts;
    double byte = m > 1 ? 1 / c->value[SCALE_MEMORY] : 0;
    *before = *after = 0;
    if (call->op == SCALE_PSUM)
        *before = (m + 1) * call->bytes * byte;
    if (call->op == SCALE_PSUM || call->op == SCALE_BROADCAST)
        *after = 2 * m * call->bytes * byte;
    if (call->op == SCALE_ALL_GATHER)
        *after = 2 * m * all * call->bytes * byte;
    if (call->op == SCALE_ALL_TO_ALL)
        *after = 2 * m * m * call->bytes * byte;
}

/* ---- one way --------------------------------------------------------------
 */

static struct scale_network network_of(const struct scale_constants *c,
                                       double carriers)
{
    return (struct scale_network){
        .latency = c->value[SCALE_LATENCY],
        .bandwidth = c->value[SCALE_BANDWIDTH] / carriers,
        .overhead = c->value[SCALE_OVERHEAD],
        .fold = c->value[SCALE_FOLD],
        .copy = c->value[SCALE_COPY],
    };
}

/* Adds a pass to the result. */
static bool add_pass(struct scale_result *result, const struct scale_pass *pass,
                     const struct scale_network *network)
{
    double seconds = simulator_run(pass, network, &result->counts);
    result->seconds += seconds;
    return seconds >= 0;
}

static bool add_check(const struct scale_call *call,
                      const struct scale_constants *c,
                      struct scale_result *result)
{
    struct scale_movement m = { .kinds = { MERGE, NONE },
                                .parties = call->hosts,
                                .head = HEAD };
    struct scale_pass pass = scale_movement_pass(&m);
    struct scale_network network = network_of(c, 1);
    return add_pass(result, &pass, &network);
}

/* A first use: several passes, with peers that were not connected before. */
static bool add_mesh(const struct scale_call *call, const struct way *way,
                     const struct scale_constants *c,
                     struct scale_result *result)
{
    struct scale_movement m = movement_of(call, way, 1);
    struct scale_pass pass = scale_movement_pass(&m);
    struct scale_network network = network_of(c, 1);
    int passes = (way->flags & JD) ? MESH_PASSES : 1, peers;
    peers = jd__schedule_log2(call->hosts) + 1;
    result->seconds += peers * c->value[SCALE_CONNECT];
    for (int i = 0; i < passes; i++)
        if (!add_pass(result, &pass, &network))
            return false;
    return true;
}

static bool simulate_pieces(const struct scale_call *call,
                            const struct scale_constants *c,
                            const struct way *way, int pieces,
                            struct scale_result *result)
{
    struct scale_movement m = movement_of(call, way, pieces);
    struct scale_pass pass = scale_movement_pass(&m);
    struct scale_network network =
        network_of(c, (way->flags & RAILS) ? call->per_host : 1);
    double before, after;
    host_seconds(call, c, &before, &after);
    *result = (struct scale_result){ .way = way->name,
                                     .pieces = pieces,
                                     .seconds = meeting_of(call, c) };
    if ((way->flags & CHECKED) && !add_check(call, c, result))
        return false;
    if (call->op == SCALE_MESH)
        return add_mesh(call, way, c, result);
    pass.depth =
        way->depth ? way->depth : scale_constants_count(c, SCALE_WINDOW);
    if (way->flags & PIECES) {
        int lag = scale_constants_count(c, SCALE_LAG);
        pass.lag = pass.rounds < lag ? pass.rounds : lag;
        pass.depth = pass.lag + 1;
        pass.tasks = pieces;
        pass.before = before / pieces;
        pass.after = after / pieces;
    } else {
        result->seconds += before + after;
    }
    if (way->kinds[0] == JD_SCHEDULE_PAIRS) /* those of the host by memory */
        pass.tasks = (call->hosts - 1) * call->per_host + 1;
    return add_pass(result, &pass, &network);
}

/* As many pieces as the library cuts. */
static int pieces_of(const struct scale_call *call,
                     const struct scale_constants *c, const struct way *way)
{
    double piece = c->value[SCALE_PIECE], bytes = call->bytes;
    if (call->hosts == 2)
        piece = way->kinds[0] == MERGE ? MESSAGE : 2 * MESSAGE;
    piece *= call->per_host;
    if (call->op == SCALE_ALL_GATHER)
        bytes *= (double)call->hosts * call->per_host;
    else if (call->hosts == 2 && piece > ALL_RAILS)
        piece = ALL_RAILS;
    if (!(way->flags & PIECES) || (call->hosts > 2 && bytes <= WHOLE * piece))
        return 1;
    return (int)ceil(bytes / piece);
}

static bool simulate_way(const struct scale_call *call,
                         const struct scale_constants *c, const struct way *way,
                         struct scale_result *result)
{
    return simulate_pieces(call, c, way, pieces_of(call, c, way), result);
}

/* ---- all ways -------------------------------------------------------------
 */

static bool fits(const struct way *way, const struct scale_call *call)
{
    double bytes = call->bytes;
    if (call->op == SCALE_ALL_GATHER)
        bytes *= (double)call->hosts * call->per_host;
    if ((way->flags & APART) && call->per_host > 1)
        return false;
    return way->op == call->op && call->hosts >= way->least &&
           (!way->hosts || way->hosts == call->hosts) &&
           (way->most == ANY || bytes <= way->most);
}

static bool simulate(const struct scale_call *call,
                     const struct scale_constants *constants, bool is_jd,
                     struct scale_result *result)
{
    *result = (struct scale_result){ .seconds = INFINITY };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct scale_result one;
        bool is_theirs = !(ways[i].flags & JD);
        if (is_theirs == is_jd || !fits(&ways[i], call))
            continue;
        if (!simulate_way(call, constants, &ways[i], &one))
            return false;
        if (one.seconds < result->seconds)
            *result = one;
        if (is_jd)
            return true;
    }
    return true;
}

bool scale_simulate_jd(const struct scale_call *call,
                       const struct scale_constants *constants,
                       struct scale_result *result)
{
    return simulate(call, constants, true, result);
}

bool scale_simulate_mpi(const struct scale_call *call,
                        const struct scale_constants *constants,
                        struct scale_result *result)
{
    return simulate(call, constants, false, result);
}

const char *scale_op_name(enum scale_op op)
{
    static const char *const names[SCALE_OPS] = {
        [SCALE_PSUM] = "psum",
        [SCALE_ALL_GATHER] = "all_gather",
        [SCALE_ALL_TO_ALL] = "all_to_all",
        [SCALE_BROADCAST] = "broadcast",
        [SCALE_MESH] = "first use of a mesh",
    };
    return names[op];
}
