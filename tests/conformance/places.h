/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * places.h - the meshes that the suite makes of the devices there are, and
 * the lists of axes, and groups along them, that it calls collectives over.
 * Who the members of a call are is worked out here from a shard's coordinates
 * alone, and compared with what jd says.
 */
#ifndef CONFORMANCE_PLACES_H
#define CONFORMANCE_PLACES_H

#include "jd.h"

#include <stdbool.h>
#include <stdint.h>

#define MAX_MEMBERS 64
#define MAX_MESHES 8
#define MAX_SPANS 8

/* How a mesh lists its devices. */
enum order { ORDER_GIVEN, ORDER_SHUFFLED, ORDER_WITHOUT_FIRST };

/* How the axes are cut: not at all; in two of unlike sizes, listed in another
 * order; in pairs, backwards. */
enum cut { CUT_NONE, CUT_UNEVEN, CUT_PAIRS };

struct span_plan {
    const char *axes; /* NULL: all */
    enum cut cut;
};

struct mesh_plan {
    int ndim, shape[3];
    enum order order;
    int num_spans;
    struct span_plan spans[MAX_SPANS];
};

/* The meshes of that many devices; gives their number. */
int plan_meshes(int devices, struct mesh_plan plans[MAX_MESHES]);

/* Makes one; the shuffled order depends on the seed. */
jd_status make_mesh(const struct mesh_plan *plan, uint64_t seed,
                    jd_mesh **ret_mesh);

/* "2x3" */
void print_shape(const struct mesh_plan *plan, char *text, size_t size);

/* The members of a shard's calls along a list of axes. A member's id is its
 * number in the mesh, row-major. */
struct span {
    const struct span_plan *plan;
    jd_shard *shard; /* to call on: a derived one where there are groups */
    int size, index;
    int ids[MAX_MEMBERS];
    uint64_t group; /* the same number for the members, another for others */
};

/* Fills it in; INTERNAL, said in `why`, where jd says something else. */
jd_status open_span(const struct mesh_plan *mesh, const struct span_plan *plan,
                    jd_shard *shard, struct span *span, char why[256]);

/* "along x,y in uneven groups" */
void print_span(const struct span_plan *plan, char *text, size_t size);

#endif
