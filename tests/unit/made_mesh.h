/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * made_mesh.h - meshes of a job that there is not: of made-up processes with
 * the same number of devices each, for what only looks at a mesh.
 *
 *     struct jd_mesh mesh;
 *     make_mesh(&mesh, 3, (int[]){ 2, 2, 4 }, 8);
 *
 * The axes are "a", "b", "c", ...; one mesh at a time.
 */
#ifndef TESTS_UNIT_MADE_MESH_H
#define TESTS_UNIT_MADE_MESH_H

#include "collectives/mesh/mesh.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <time.h>

enum { MADE_MESH_MOST = 4096 };

static jd_device made_devices[MADE_MESH_MOST];
static const jd_device *made_list[MADE_MESH_MOST];

static inline void make_mesh(struct jd_mesh *made, int ndim, const int *shape,
                             int each)
{
    static char names[][2] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    static char axes[] = "a to h";
    const struct jd_runtime *runtime;
    UNIT_OK(jd__runtime_get(&runtime, "test"));
    *made = (struct jd_mesh){ .runtime = runtime,
                              .world = runtime->number,
                              .ndim = ndim,
                              .axes = axes,
                              .size = 1,
                              .devices = made_list };
    for (int i = 0; i < ndim; i++) {
        made->axis_names[i] = names[i];
        made->shape[i] = shape[i];
        made->size *= shape[i];
    }
    for (int i = 0; i < made->size; i++) {
        made_devices[i] = (jd_device){ .process_index = i / each,
                                       .local_ordinal = i % each,
                                       .platform = "cpu" };
        made_list[i] = &made_devices[i];
    }
}

/* Puts the devices into another order, with rand(). */
static inline void shuffle_mesh(struct jd_mesh *made)
{
    for (int i = made->size - 1; i > 0; i--) {
        int j = rand() % (i + 1);
        const jd_device *kept = made_list[i];
        made_list[i] = made_list[j];
        made_list[j] = kept;
    }
}

/* TEST_SEED repeats what has failed. */
static inline unsigned draw_seed(void)
{
    const char *text = getenv("TEST_SEED");
    unsigned seed =
        text ? (unsigned)strtoul(text, NULL, 10) : (unsigned)time(NULL);
    fprintf(stderr, "# TEST_SEED=%u\n", seed);
    return seed;
}

/* Sizes whose product is at most `most`; gives how many. */
static inline int draw_sizes(int most, int *ret_sizes)
{
    int ndim = 1 + rand() % JD_MAX_AXES, size = 1;
    for (int i = 0; i < ndim; i++) {
        ret_sizes[i] = 1 + rand() % 4;
        if (size * ret_sizes[i] > most)
            ret_sizes[i] = 1;
        size *= ret_sizes[i];
    }
    return ndim;
}

/* Puts some of the axes, in any order, into the cuts of ndim dimensions; gives
 * the text, of at most 64 bytes. */
static inline void draw_spec(const struct jd_mesh *made, int ndim,
                             struct jd_axes *ret_cuts, char *text)
{
    int order[JD_MAX_AXES], used = 0;
    for (int i = 0; i < made->ndim; i++) {
        int j = rand() % (i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    *text = '\0';
    for (int d = 0; d < ndim; d++) {
        ret_cuts[d].count = 0;
        strcat(text, d ? "," : "");
        while (used < made->ndim && rand() % 2) {
            int axis = order[used++];
            strcat(text, ret_cuts[d].count ? "+" : "");
            strcat(text, made->axis_names[axis]);
            ret_cuts[d].axis[ret_cuts[d].count++] = axis;
        }
        strcat(text, ret_cuts[d].count ? "" : "-");
    }
}

#endif
