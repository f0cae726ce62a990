/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_device_put [missing | poor] - jd_device_put among all processes and
 * among some, and each way in which they can disagree. "missing": the last
 * process does not come (with JD_COLLECTIVE_TIMEOUT=6). "poor": it has no
 * memory.
 */
#include "array_values.h"
#include "jd_mpi.h"

#include <sys/resource.h>

/* ---- processes that disagree --------------------------------------------- */

#define CALLS                                                                  \
    "all processes of the meshes must make the same calls in the same order"

static void try_other_value(int odd)
{
    jd_sharding *sharding = row("y");
    struct value v = make_value(JD_F32, 1, (int64_t[]){ 100000 });
    jd_leaf leaf = leaf_of(&v);
    jd_array *array = NULL;
    v.data[399999] ^= (char)(self == odd);
    expect_sentence(jd_device_put(&array, &leaf, sharding), JD_INVALID_ARGUMENT,
                    "jd_device_put: processes 0 and %d give different values "
                    "(bit for bit); jd_broadcast_one_to_all() makes them the "
                    "same, jd_assert_equal() finds the element, and "
                    "jd_array_from_process_local_data() takes of each process "
                    "what it has",
                    odd ? odd : 1);
    EXPECT(!array, "an array after a failure");
    v.data[399999] ^= (char)(self == odd);
    EXPECT_OK(jd_device_put(&array, &leaf, sharding));
    jd_array_release(array);
    jd_sharding_release(sharding);
    free(v.data);
}

/* With two processes either is the odd one: named by the sentence. */
static void try_other_leaf(void)
{
    jd_sharding *rows = row("y"), *columns = row("-,y");
    struct value v = make_value(JD_F32, 2, (int64_t[]){ 4, 6 });
    jd_leaf leaf = leaf_of(&v);
    jd_array *array = NULL;
    bool is_odd = self == count - 1;
    int other = count - 1;
    int64_t shape[] = { 6, 4 };
    leaf.dtype = is_odd ? JD_S32 : JD_F32;
    expect_sentence(jd_device_put(&array, &leaf, rows), JD_INVALID_ARGUMENT,
                    "jd_device_put: process %d calls jd_device_put of "
                    "S32[4,6] onto \"y\", process 0 calls jd_device_put of "
                    "F32[4,6] onto \"y\"; " CALLS,
                    other);
    leaf.dtype = JD_F32;
    leaf.shape = is_odd ? shape : v.shape;
    expect_sentence(jd_device_put(&array, &leaf, rows), JD_INVALID_ARGUMENT,
                    "jd_device_put: process %d calls jd_device_put of "
                    "F32[6,4] onto \"y\", process 0 calls jd_device_put of "
                    "F32[4,6] onto \"y\"; " CALLS,
                    other);
    leaf.shape = v.shape;
    expect_sentence(jd_device_put(&array, &leaf, is_odd ? columns : rows),
                    JD_INVALID_ARGUMENT,
                    "jd_device_put: process %d calls jd_device_put of "
                    "F32[4,6] onto \"-,y\", process 0 calls jd_device_put of "
                    "F32[4,6] onto \"y\"; " CALLS,
                    other);
    EXPECT(!array, "an array after a failure");
    EXPECT_OK(jd_device_put(&array, &leaf, columns));
    expect_value(array, &v);
    jd_array_release(array);
    jd_sharding_release(rows);
    jd_sharding_release(columns);
    free(v.data);
}

/* The same devices in another order. */
static void try_other_mesh(void)
{
    const jd_device *list[MOST_DEVICES];
    struct value v = make_value(JD_F32, 1, (int64_t[]){ 6 });
    jd_leaf leaf = leaf_of(&v);
    jd_array *array;
    for (int i = 0; i < devices; i++)
        list[i] = jd_devices(NULL)[self == 1 ? devices - 1 - i : i];
    jd_mesh *mesh = make_mesh(1, list, devices);
    jd_sharding *sharding = make_sharding(mesh, "y");
    expect_sentence(jd_device_put(&array, &leaf, sharding), JD_INVALID_ARGUMENT,
                    "jd_device_put: processes 0 and 1 give shardings of unlike "
                    "meshes: their axes or the order of their devices differ");
    jd_sharding_release(sharding);
    jd_mesh_destroy(mesh);
    free(v.data);
}

/* Neighbours by pairs, so that lists overlap; only those of a list call, and
 * then all do. */
static void try_pairs(bool all_call)
{
    int own = devices / count;
    struct value v = make_value(JD_F32, 1, (int64_t[]){ 2 * own + 1 });
    jd_leaf leaf = leaf_of(&v);
    for (int first = 0; first + 1 < count; first++) {
        jd_mesh *mesh = make_mesh(2, jd_devices(NULL) + first * own, 2 * own);
        jd_sharding *sharding = make_sharding(mesh, "x+y");
        bool is_in = self == first || self == first + 1;
        int num_shards = -1;
        jd_array *array;
        if (is_in || all_call) {
            EXPECT_OK(jd_device_put(&array, &leaf, sharding));
            jd_array_shards(array, &num_shards);
            EXPECT(num_shards == (is_in ? own : 0), "%d", num_shards);
            expect_value(array, &v);
            jd_array_release(array);
        }
        jd_sharding_release(sharding);
        jd_mesh_destroy(mesh);
    }
    free(v.data);
}

/* ---- a process without memory -------------------------------------------- */

/* The last process's memory ends below what it needs: all know. */
static void try_poor(void)
{
    struct rlimit limit = { 24 << 20, 24 << 20 };
    if (self == count - 1)
        EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0, "no limit");
    jd_sharding *sharding = row("");
    struct value v = make_value(JD_F64, 1, (int64_t[]){ 4 << 20 });
    jd_leaf leaf = leaf_of(&v);
    jd_array *array = NULL;
    char text[128] = "jd_device_put: jd_device_alloc: 33554432 bytes";
    if (self != count - 1)
        snprintf(text, sizeof text,
                 "jd_device_put: process %d came, but could not take part: "
                 "RESOURCE_EXHAUSTED; its own message says more",
                 count - 1);
    EXPECT_STATUS(jd_device_put(&array, &leaf, sharding), JD_RESOURCE_EXHAUSTED,
                  text);
    EXPECT(!array, "an array after a failure");
    leaf.shape = (int64_t[]){ 1 << 10 };
    EXPECT_OK(jd_device_put(&array, &leaf, sharding));
    jd_array_release(array);
    jd_sharding_release(sharding);
    free(v.data);
}

/* ---- a process that does not come ---------------------------------------- */

/* Nobody leaves before all have seen it: who leaves is a failure of its own. */
static void try_missing(void)
{
    jd_sharding *sharding = row("y");
    struct value v = make_value(JD_F32, 1, (int64_t[]){ 6 });
    jd_leaf leaf = leaf_of(&v);
    jd_array *array = NULL;
    if (self != count - 1) {
        EXPECT_STATUS(jd_device_put(&array, &leaf, sharding),
                      JD_DEADLINE_EXCEEDED, "jd_device_put: process ");
        EXPECT_STATUS(jd_device_put(&array, &leaf, sharding), JD_ABORTED,
                      "jd_device_put: not begun, because an earlier call");
        EXPECT(!array, "an array after a failure");
    }
    EXPECT(MPI_Barrier(jd_mpi_comm()) == MPI_SUCCESS, "no barrier");
    jd_sharding_release(sharding);
    free(v.data);
}

static void try_all(void)
{
    for (int odd = 0; odd < count; odd++)
        try_other_value(odd);
    if (count > 2)
        try_other_leaf();
    try_other_mesh();
    try_pairs(false);
    try_pairs(true);
}

/* A second world meets anew. */
int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    JD_CHECK(jd_initialize());
    look_around();
    if (strcmp(kind, "missing") == 0) {
        try_missing();
    } else if (strcmp(kind, "poor") == 0) {
        try_poor();
    } else {
        try_all();
        JD_CHECK(jd_shutdown());
        JD_CHECK(jd_initialize());
        try_all();
    }
    JD_CHECK(jd_shutdown());
    return 0;
}
