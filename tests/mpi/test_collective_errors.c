/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_collective_errors [several] - each sentence that a collective, a mesh
 * or a shard can fail with, and that the job goes on afterwards. "several":
 * for processes with JD_NUM_CPU_DEVICES=2.
 */
#include "jd.h"

#include "expect.h"

#include <stdbool.h>
#include <stdint.h>

static int count, self;
static jd_shard *me;

static jd_status make(const char *name, int size,
                      const jd_device *const *devices)
{
    jd_mesh *mesh = NULL;
    jd_status status = jd_mesh_create(&mesh, 1, &size, &name, devices);
    EXPECT((status == JD_OK) == (mesh != NULL), "a mesh in spite of a failure");
    jd_mesh_destroy(mesh);
    return status;
}

static void try_mesh_arguments(void)
{
    const char *name = "data";
    jd_mesh *mesh = NULL;
    int size = -1;
    expect_sentence(jd_mesh_create(NULL, 1, &size, &name, NULL),
                    JD_INVALID_ARGUMENT, "jd_mesh_create: ret_mesh is NULL");
    expect_sentence(jd_mesh_create(&mesh, 1, NULL, &name, NULL),
                    JD_INVALID_ARGUMENT, "jd_mesh_create: shape is NULL");
    expect_sentence(jd_mesh_create(&mesh, 1, &size, NULL, NULL),
                    JD_INVALID_ARGUMENT, "jd_mesh_create: axis_names is NULL");
    expect_sentence(jd_mesh_create(&mesh, 0, &size, &name, NULL),
                    JD_INVALID_ARGUMENT,
                    "jd_mesh_create: ndim is 0; a mesh has at least one axis");
    expect_sentence(jd_mesh_create(&mesh, 9, &size, &name, NULL),
                    JD_INVALID_ARGUMENT,
                    "jd_mesh_create: ndim is 9; a mesh has at most 8 axes");
    expect_sentence(make("", -1, NULL), JD_INVALID_ARGUMENT,
                    "jd_mesh_create: axis_names[0] is empty; give the axis a "
                    "name");
    expect_sentence(make(NULL, -1, NULL), JD_INVALID_ARGUMENT,
                    "jd_mesh_create: axis_names[0] is NULL; give the axis a "
                    "name");
    expect_sentence(make("a,b", -1, NULL), JD_INVALID_ARGUMENT,
                    "jd_mesh_create: the axis name \"a,b\" has a ',' or '+', "
                    "or is \"-\": these have a meaning where axes are listed; "
                    "use letters, digits and '_'");
    expect_sentence(make("data", 0, NULL), JD_INVALID_ARGUMENT,
                    "jd_mesh_create: the size of axis \"data\" is 0; a size is "
                    "positive, or -1 for what is left of all devices");
    expect_sentence(make("data", 77, NULL), JD_INVALID_ARGUMENT,
                    "jd_mesh_create: the mesh has 77 places (\"data\" 77), "
                    "and the job has %d device%s; make the product of the "
                    "sizes %d, make one of them -1, or give the devices that "
                    "are to be used",
                    count, count == 1 ? "" : "s", count);
    jd_mesh_destroy(NULL);
}

static void try_mesh_devices(void)
{
    int n;
    const jd_device *const *all = jd_devices(&n);
    jd_device copy = *all[0];
    expect_sentence(make("data", -1, all), JD_INVALID_ARGUMENT,
                    "jd_mesh_create: the size of axis \"data\" is -1, and "
                    "devices are given; say how many they are");
    expect_sentence(make("data", 2, (const jd_device *[]){ all[0], all[0] }),
                    JD_INVALID_ARGUMENT,
                    "jd_mesh_create: devices[0] and devices[1] are the same "
                    "device, 0; a device is in a mesh once");
    expect_sentence(make("data", 1, (const jd_device *[]){ &copy }),
                    JD_INVALID_ARGUMENT,
                    "jd_mesh_create: devices[0] is no device of this job; take "
                    "the pointers from jd_devices() or jd_platform_devices()");
    expect_sentence(make("data", 2, (const jd_device *[]){ all[0], NULL }),
                    JD_INVALID_ARGUMENT,
                    "jd_mesh_create: devices[1] is NULL; take the pointers "
                    "from jd_devices() or jd_platform_devices()");
}

static void try_axes(void)
{
    double x = 0, y;
    expect_sentence(jd_psum(me, "model", &x, &y, 1, JD_F64),
                    JD_INVALID_ARGUMENT,
                    "jd_psum: the mesh has no axis \"model\" (of \"model\"); "
                    "its axes are \"data\", and NULL stands for all of them");
    expect_sentence(jd_all_gather(me, "data,", &x, &y, 1, JD_F64),
                    JD_INVALID_ARGUMENT,
                    "jd_all_gather: the mesh has no axis \"\" (of \"data,\"); "
                    "its axes are \"data\", and NULL stands for all of them");
    expect_sentence(jd_pbroadcast(me, "data,data", 0, &x, &y, 1, JD_F64),
                    JD_INVALID_ARGUMENT,
                    "jd_pbroadcast: the axis \"data\" is there twice in "
                    "\"data,data\"; name each axis once");
    EXPECT(jd_axis_index(me, "dat") == -1, "an index along no axis");
    EXPECT_STATUS(JD_INVALID_ARGUMENT, JD_INVALID_ARGUMENT,
                  "jd_axis_index: the mesh has no axis \"dat\"");
    EXPECT(jd_axis_size(me, "") == -1, "a size of no axis");
}

static void try_buffers(void)
{
    double x[4] = { 0 }, y[4];
    expect_sentence(jd_psum(me, NULL, NULL, y, 3, JD_F64), JD_INVALID_ARGUMENT,
                    "jd_psum: in is NULL and count is 3; only a count of 0 "
                    "needs no buffer");
    expect_sentence(jd_all_gather(me, NULL, x, NULL, 1, JD_F64),
                    JD_INVALID_ARGUMENT,
                    "jd_all_gather: out is NULL and count is 1; only a count "
                    "of 0 needs no buffer");
    expect_sentence(jd_psum(me, NULL, x, x + 1, 2, JD_F64), JD_INVALID_ARGUMENT,
                    "jd_psum: in and out overlap: in begins 8 bytes before "
                    "out's begin; give buffers that do not, or the same buffer "
                    "twice");
    expect_sentence(jd_pbroadcast(me, NULL, self, x + 1, x, 2, JD_F64),
                    JD_INVALID_ARGUMENT,
                    "jd_pbroadcast: in and out overlap: in begins 8 bytes "
                    "after out's begin; give buffers that do not, or the same "
                    "buffer twice");
    expect_sentence(
        jd_all_gather(me, NULL, (char *)x + 8 * self + 4, x, 1, JD_F64),
        JD_INVALID_ARGUMENT,
        "jd_all_gather: in and out overlap: in begins %d bytes "
        "after out's begin; give buffers that do not, or in == out "
        "+ index * count",
        8 * self + 4);
    expect_sentence(jd_psum(me, NULL, x, y, (size_t)-1, JD_F64),
                    JD_INVALID_ARGUMENT,
                    "jd_psum: count is %zu; %d members' F64 of that number do "
                    "not fit into an address space (was it negative?)",
                    (size_t)-1, count);
    expect_sentence(jd_pbroadcast(me, NULL, count, x, y, 1, JD_F64),
                    JD_INVALID_ARGUMENT,
                    "jd_pbroadcast: source is %d; the members are 0 to %d",
                    count, count - 1);
    EXPECT_OK(jd_psum(me, NULL, NULL, NULL, 0, JD_F64));
}

static void try_types(void)
{
    char x[16] = { 0 }, y[16];
    int64_t places[1];
    expect_sentence(jd_psum(me, NULL, x, y, 1, (jd_dtype)13),
                    JD_INVALID_ARGUMENT,
                    "jd_psum: dtype is 13, which is no jd_dtype");
    expect_sentence(jd_psum(me, NULL, x, y, 1, JD_PRED), JD_UNIMPLEMENTED,
                    "jd_psum: not defined for PRED; its values are 0 and 1: "
                    "count in a wider type, S32 for example (jd_convert), or "
                    "take jd_pmax for \"any\" and jd_pmin for \"all\"");
    expect_sentence(jd_pmean(me, NULL, x, y, 1, JD_S16), JD_UNIMPLEMENTED,
                    "jd_pmean: not defined for S16; a mean of integers is "
                    "none: take jd_psum and divide, or convert to F32 "
                    "(jd_convert)");
    expect_sentence(jd_pmax(me, NULL, x, y, 1, JD_C64), JD_UNIMPLEMENTED,
                    "jd_pmax: not defined for C64; complex numbers have no "
                    "order: reduce their parts, or their absolute values");
    expect_sentence(jd_pmaxloc(me, NULL, x, NULL, y, places, 1, JD_C128),
                    JD_UNIMPLEMENTED,
                    "jd_pmaxloc: not defined for C128; complex numbers have no "
                    "order: reduce their parts, or their absolute values");
    expect_sentence(jd_pxor(me, NULL, x, y, 1, JD_BF16), JD_UNIMPLEMENTED,
                    "jd_pxor: not defined for BF16; it is of integers, bit by "
                    "bit, and of PRED: give the bits as U8, U16, U32 or U64");
}

#define ALIKE                                                                  \
    "; all members must make the same calls in the same order, with the same " \
    "count and type"

/* The last process makes another call than the others. */
static void expect_mismatch(jd_status status, const char *operation,
                            const char *odd_call, const char *call)
{
    expect_sentence(status, JD_INVALID_ARGUMENT,
                    "%s over axis \"data\": process %d calls %s, process 0 "
                    "calls %s" ALIKE,
                    operation, count - 1, odd_call, call);
}

static void try_mismatch(void)
{
    static double x[4000], y[32000];
    bool odd = self == count - 1;
    const char *four = "jd_psum of 4 x F64";
    expect_mismatch(jd_psum(me, NULL, x, y, odd ? 5 : 4, JD_F64), "jd_psum",
                    "jd_psum of 5 x F64", four);
    expect_mismatch(jd_psum(me, NULL, x, y, odd ? 4000 : 4, JD_F64), "jd_psum",
                    "jd_psum of 4000 x F64", four);
    expect_mismatch(jd_psum(me, NULL, x, y, 4, odd ? JD_S64 : JD_F64),
                    "jd_psum", "jd_psum of 4 x S64", four);
    expect_mismatch(jd_psum(me, NULL, x, y, odd ? 0 : 4, JD_F64), "jd_psum",
                    "jd_psum of 0 x F64", four);
    expect_mismatch(jd_pbroadcast(me, NULL, odd ? 1 : 0, x, y, 2, JD_F32),
                    "jd_pbroadcast", "jd_pbroadcast of 2 x F32 from source 1",
                    "jd_pbroadcast of 2 x F32 from source 0");
    jd_status status = odd ? jd_all_gather(me, NULL, x, y, 4, JD_F64)
                           : jd_psum(me, NULL, x, y, 4, JD_F64);
    expect_mismatch(status, odd ? "jd_all_gather" : "jd_psum",
                    "jd_all_gather of 4 x F64", four);
    EXPECT_OK(jd_psum(me, NULL, x, y, 4, JD_F64));
}

#define SAME_MESH                                                              \
    "; all processes of a mesh must make it of the same devices in the same "  \
    "order, "                                                                  \
    "with the same axes, and use their meshes in the same order"

/* The last process makes the mesh another way: first another name, then the
 * devices in another order. Before any other mesh of the same devices has a
 * collective: those after it would use what that one has made. */
static void try_mesh_mismatch(void)
{
    bool odd = self == count - 1;
    int n;
    const jd_device *const *all = jd_devices(&n);
    const jd_device *order[64];
    const char *name = odd ? "model" : "data";
    jd_mesh *mesh;
    double x = 0, y;
    for (int i = 0; i < n; i++)
        order[i] = all[odd ? n - 1 - i : i];
    EXPECT_OK(jd_mesh_create(&mesh, 1, &n, &name, NULL));
    expect_sentence(jd_psum(jd_mesh_shard(mesh), NULL, &x, &y, 1, JD_F64),
                    JD_INVALID_ARGUMENT,
                    "jd_psum: process %d comes with a mesh \"model\" of %d "
                    "devices, of processes 0-%d, process 0 with a mesh "
                    "\"data\" of %d devices, of processes 0-%d" SAME_MESH,
                    count - 1, n, n - 1, n, n - 1);
    jd_mesh_destroy(mesh);
    name = "data";
    EXPECT_OK(jd_mesh_create(&mesh, 1, &n, &name, order));
    expect_sentence(jd_psum(jd_mesh_shard(mesh), NULL, &x, &y, 1, JD_F64),
                    JD_INVALID_ARGUMENT,
                    "jd_psum: process %d comes with a mesh \"data\" of %d "
                    "devices, of processes %s, process 0 with a mesh \"data\" "
                    "of %d devices, of processes 0-%d" SAME_MESH,
                    count - 1, n, n == 2 ? "1,0" : "3,2,1,0", n, n - 1);
    jd_mesh_destroy(mesh);
}

static void try_null_shard(void)
{
    double x = 0, y;
    expect_sentence(jd_psum(NULL, NULL, &x, &y, 1, JD_F64), JD_INVALID_ARGUMENT,
                    "jd_psum: shard is NULL: this process (%d) has no device "
                    "in the mesh, or jd_mesh_shard() was not called; only "
                    "processes that have a device in a mesh call its "
                    "collectives, with the shard of jd_mesh_shard() or "
                    "jd_shard_map()",
                    self);
    EXPECT(jd_axis_index(NULL, NULL) == -1, "an index of no shard");
    EXPECT(jd_mesh_shard(NULL) == NULL, "a shard of no mesh");
    EXPECT(strcmp(jd_error_message(), "jd_mesh_shard: mesh is NULL") == 0, "%s",
           jd_error_message());
}

/* Two devices in each process: no shard; one of them alone: a shard. */
static void try_several(void)
{
    jd_mesh *mesh;
    int n, size = -1;
    const char *name = "data";
    double x = 1, y = 0;
    const jd_device *const *all = jd_devices(&n), *chosen[64];
    EXPECT(n == 2 * count, "%d devices", n);
    EXPECT_OK(jd_mesh_create(&mesh, 1, &size, &name, NULL));
    me = jd_mesh_shard(mesh);
    EXPECT(!me, "a shard");
    EXPECT(strcmp(jd_error_message(),
                  "jd_mesh_shard: this process has 2 devices in the mesh, and "
                  "jd_mesh_shard() is for processes that have one; "
                  "jd_shard_map() serves several (or set "
                  "JD_NUM_CPU_DEVICES=1)") == 0,
           "%s", jd_error_message());
    expect_sentence(jd_psum(me, NULL, &x, &y, 1, JD_F64), JD_INVALID_ARGUMENT,
                    "jd_psum: shard is NULL: this process has 2 devices, and "
                    "jd_mesh_shard() is for processes that have one in the "
                    "mesh; jd_shard_map() gives each of several its shard (or "
                    "set JD_NUM_CPU_DEVICES=1)");
    jd_mesh_destroy(mesh);
    for (int i = 0; i < count; i++)
        chosen[i] = all[2 * i + 1];
    EXPECT_OK(jd_mesh_create(&mesh, 1, &count, &name, chosen));
    EXPECT_OK(jd_psum(jd_mesh_shard(mesh), NULL, &x, &y, 1, JD_F64));
    EXPECT(y == count, "%g", y);
    jd_mesh_destroy(mesh);
}

/* A mesh does not outlive its world. */
static void try_old_mesh(jd_mesh *mesh)
{
    double x = 1, y;
    jd_shutdown();
    JD_CHECK(jd_initialize());
    jd_status status = jd_psum(me, NULL, &x, &y, 1, JD_F64);
    expect_sentence(status, JD_FAILED_PRECONDITION,
                    "jd_psum: the mesh was made before jd_shutdown() ended its "
                    "world; make it again");
    EXPECT(!jd_mesh_shard(mesh), "a shard of an old mesh");
}

int main(int argc, char **argv)
{
    jd_mesh *mesh;
    JD_CHECK(jd_initialize());
    count = jd_process_count();
    self = jd_process_index();
    if (argc > 1 && strcmp(argv[1], "several") == 0) {
        try_several();
        return 0;
    }
    EXPECT_OK(jd_mesh_create(&mesh, 1, (int[]){ -1 },
                             (const char *[]){ "data" }, NULL));
    me = jd_mesh_shard(mesh);
    if (count > 1)
        try_mesh_mismatch();
    try_mesh_arguments();
    try_mesh_devices();
    try_axes();
    try_buffers();
    try_types();
    try_null_shard();
    if (count > 1)
        try_mismatch();
    try_old_mesh(mesh);
    jd_mesh_destroy(mesh);
    return 0;
}
