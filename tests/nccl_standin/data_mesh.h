/* SPDX-License-Identifier: BSD-3-Clause */
/* data_mesh.h - the mesh of the programs that are about NCCL's communicators.
 */
#ifndef NCCL_STANDIN_DATA_MESH_H
#define NCCL_STANDIN_DATA_MESH_H

#include "jd.h"

/* Of all devices along one axis, "data". */
static inline jd_mesh *make_mesh(void)
{
    static const int shape[] = { -1 };
    static const char *const names[] = { "data" };
    jd_mesh *mesh;
    JD_CHECK(jd_mesh_create(&mesh, 1, shape, names, NULL));
    return mesh;
}

#endif
