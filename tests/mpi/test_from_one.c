/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_from_one [large | poor] - jd_array_from_one from each process, and each
 * way in which processes can disagree. "large": what it takes of a process's
 * memory, with JD_RESHARD_MEMORY=1MiB. "poor": the last process has no memory
 * for its block. test_arrays tries shapes, types and shardings.
 */
#include "array_values.h"

#include <sys/resource.h>

#define OPERATION "jd_array_from_one"
#define CALLS                                                                  \
    "; all processes of the meshes must make the same calls in the same order"

static int last;

/* The value on the source, its type and shape on the others. */
static jd_leaf leaf_on(const struct value *v, int source)
{
    jd_leaf leaf = leaf_of(v);
    leaf.data = self == source ? v->data : NULL;
    return leaf;
}

static void expect_from(const struct value *v, const jd_sharding *sharding,
                        int source)
{
    jd_leaf leaf = leaf_on(v, source);
    jd_array *array = NULL;
    EXPECT_OK(jd_array_from_one(&array, sharding, &leaf, source));
    expect_value(array, v);
    jd_array_release(array);
}

/* ---- sources ------------------------------------------------------------- */

/* The source's memory is its own afterwards: what is written there is in no
 * array. */
static void try_each_source(void)
{
    jd_sharding *columns = row("-,y");
    struct value v = make_value(JD_S16, 2, (int64_t[]){ 5, 2 * devices + 1 });
    for (int source = 0; source < count; source++) {
        struct value own = make_value(v.dtype, v.ndim, v.shape);
        jd_leaf leaf = leaf_on(&own, source);
        jd_array *array;
        EXPECT_OK(jd_array_from_one(&array, columns, &leaf, source));
        EXPECT(memcmp(own.data, v.data, v.bytes) == 0, "the value was written");
        memset(own.data, 0, own.bytes);
        free(own.data);
        expect_value(array, &v);
        jd_array_release(array);
    }
    jd_sharding_release(columns);
    free(v.data);
}

/* A source that has no device of the mesh; those who have none and are not the
 * source may stay away. */
static void try_outside(void)
{
    jd_mesh *mesh = make_mesh(1, jd_devices(NULL), devices / count);
    jd_sharding *sharding = make_sharding(mesh, "y");
    struct value v = make_value(JD_C128, 1, (int64_t[]){ 1000 });
    if (self == 0 || self == last)
        expect_from(&v, sharding, last);
    jd_sharding_release(sharding);
    jd_mesh_destroy(mesh);
    free(v.data);
}

/* ---- refusals ------------------------------------------------------------ */

/* Each process finds it out, and keeps to its own sentence. */
static void try_wrong_calls(void)
{
    jd_sharding *rows = row("y"), *both = row("y,x");
    struct value v = make_value(JD_F32, 1, (int64_t[]){ 6 });
    jd_leaf leaf = leaf_on(&v, 0), bad = leaf;
    jd_array *array = NULL;
    expect_sentence(jd_array_from_one(&array, NULL, &leaf, 0),
                    JD_INVALID_ARGUMENT, OPERATION ": sharding is NULL");
    expect_sentence(jd_array_from_one(NULL, rows, &leaf, 0),
                    JD_INVALID_ARGUMENT, OPERATION ": ret_array is NULL");
    expect_sentence(jd_array_from_one(&array, rows, NULL, 0),
                    JD_INVALID_ARGUMENT, OPERATION ": value is NULL");
    for (int source = -1; source <= count; source += count + 1)
        expect_sentence(jd_array_from_one(&array, rows, &leaf, source),
                        JD_INVALID_ARGUMENT,
                        OPERATION ": source is %d; the processes are 0 to %d",
                        source, last);
    bad.dtype = (jd_dtype)99;
    expect_sentence(jd_array_from_one(&array, rows, &bad, 0),
                    JD_INVALID_ARGUMENT,
                    OPERATION ": value[0].dtype is 99, which is no jd_dtype");
    EXPECT_STATUS(jd_array_from_one(&array, both, &leaf, 0),
                  JD_INVALID_ARGUMENT,
                  OPERATION ": the spec \"y,x\" has 2 entries");
    EXPECT(!array, "an array after a failure");
    expect_from(&v, rows, last);
    jd_sharding_release(rows);
    jd_sharding_release(both);
    free(v.data);
}

/* Only the source can see that it has no data. */
static void try_no_data(void)
{
    jd_sharding *rows = row("y");
    struct value v = make_value(JD_F32, 1, (int64_t[]){ 6 });
    jd_leaf none = { NULL, JD_F32, 1, v.shape };
    jd_array *array = NULL;
    jd_status status = jd_array_from_one(&array, rows, &none, last);
    if (self == last)
        expect_sentence(status, JD_INVALID_ARGUMENT,
                        OPERATION ": value.data is NULL on process %d, which "
                                  "is the source; it has the whole there",
                        last);
    else
        expect_sentence(status, JD_INVALID_ARGUMENT,
                        OPERATION ": process %d came, but could not take "
                                  "part: INVALID_ARGUMENT; its own message "
                                  "says more",
                        last);
    EXPECT(!array, "an array after a failure");
    none.shape = (int64_t[]){ 0 };
    EXPECT_OK(jd_array_from_one(&array, rows, &none, last));
    jd_array_release(array);
    expect_from(&v, rows, 0);
    jd_sharding_release(rows);
    free(v.data);
}

/* What the process calls that is the odd one among more than two. */
static void expect_odd(const jd_sharding *sharding, const jd_leaf *leaf,
                       int source, const char *odd)
{
    jd_array *array = NULL;
    char text[256];
    snprintf(text, sizeof text,
             OPERATION ": process %d calls " OPERATION " of %s", last, odd);
    EXPECT_STATUS(jd_array_from_one(&array, sharding, leaf, source),
                  JD_INVALID_ARGUMENT, text);
    EXPECT(strstr(jd_error_message(),
                  ", process 0 calls " OPERATION
                  " of F32[4,6] from process 0 to \"y\" (layouts "),
           "%s", jd_error_message());
    EXPECT(strstr(jd_error_message(), CALLS), "%s", jd_error_message());
    EXPECT(!array, "an array after a failure");
}

static void try_other_calls(void)
{
    jd_sharding *rows = row("y"), *columns = row("-,y");
    struct value v = make_value(JD_F32, 2, (int64_t[]){ 4, 6 });
    jd_leaf leaf = leaf_of(&v), other = leaf;
    int64_t shape[] = { 6, 4 };
    bool is_odd = self == last;
    other.dtype = JD_S32;
    expect_odd(rows, is_odd ? &other : &leaf, 0,
               "S32[4,6] from process 0 to \"y\"");
    other.dtype = JD_F32;
    other.shape = shape;
    expect_odd(rows, is_odd ? &other : &leaf, 0,
               "F32[6,4] from process 0 to \"y\"");
    expect_odd(is_odd ? columns : rows, &leaf, 0,
               "F32[4,6] from process 0 to \"-,y\"");
    expect_odd(rows, &leaf, is_odd ? 1 : 0, "F32[4,6] from process 1 to \"y\"");
    expect_from(&v, rows, 1);
    jd_sharding_release(rows);
    jd_sharding_release(columns);
    free(v.data);
}

/* One alone refuses by itself: the others need not wait. */
static void try_refusing(void)
{
    jd_sharding *rows = row("y");
    struct value v = make_value(JD_F32, 2, (int64_t[]){ 4, 6 });
    jd_leaf leaf = leaf_on(&v, 0), bad = leaf;
    bad.ndim = -1;
    const struct {
        const jd_leaf *leaf;
        int source;
        const char *own, *other;
    } calls[] = {
        { NULL, 0, "value is NULL", "no value from process 0 to \"y\"" },
        { &bad, 0, "value[0].ndim is -1; it is at least 0",
          "no value from process 0 to \"y\"" },
        { &leaf, 1000, "source is 1000; the processes are 0 to ",
          "F32[4,6] from process 1000 to \"y\"" },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        jd_array *array = NULL;
        if (self != last) {
            expect_odd(rows, &leaf, 0, calls[i].other);
            continue;
        }
        EXPECT_STATUS(
            jd_array_from_one(&array, rows, calls[i].leaf, calls[i].source),
            JD_INVALID_ARGUMENT, calls[i].own);
        EXPECT(!array, "an array after a failure");
    }
    expect_from(&v, rows, 0);
    jd_sharding_release(rows);
    free(v.data);
}

/* The same spec, the devices in another order. */
static void try_other_mesh(void)
{
    const jd_device *list[MOST_DEVICES];
    struct value v = make_value(JD_F32, 1, (int64_t[]){ 2 * devices });
    jd_leaf leaf = leaf_of(&v);
    jd_array *array = NULL;
    for (int i = 0; i < devices; i++)
        list[i] = jd_devices(NULL)[self == last ? devices - 1 - i : i];
    jd_mesh *mesh = make_mesh(1, list, devices);
    jd_sharding *sharding = make_sharding(mesh, "y");
    EXPECT_STATUS(jd_array_from_one(&array, sharding, &leaf, 0),
                  JD_INVALID_ARGUMENT, "from process 0 to \"y\" (layouts ");
    EXPECT(!array, "an array after a failure");
    jd_sharding_release(sharding);
    jd_mesh_destroy(mesh);
    free(v.data);
}

/* ---- memory -------------------------------------------------------------- */

/* The most that this process has had in memory since it was asked to forget
 * it, in bytes. */
static size_t read_peak(void)
{
    char line[256];
    size_t peak = 0;
    FILE *file = fopen("/proc/self/status", "r");
    EXPECT(file, "no /proc/self/status");
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %zu", &peak) == 1)
            break;
    fclose(file);
    return peak << 10;
}

static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file || fputs("5", file) < 0 || fclose(file) != 0)
        SKIP("this system does not reset the peak of a process's memory");
}

/* Beside its block a process has a few of the pieces that go: a tenth of what
 * the whole would be. The source has the value besides, from before. */
static void try_large(void)
{
    size_t bytes = (size_t)96 << 20, spare = (size_t)10 << 20;
    jd_sharding *sharding = row("y");
    int64_t shape[] = { (int64_t)bytes / 8 };
    struct value v = { .data = NULL };
    jd_leaf leaf = { NULL, JD_F64, 1, shape };
    jd_array *array;
    if (self == last)
        v = make_value(JD_F64, 1, shape);
    leaf.data = v.data;
    JD_CHECK(jd_sync_global_devices("the value is there"));
    forget_peak();
    size_t before = read_peak();
    EXPECT_OK(jd_array_from_one(&array, sharding, &leaf, last));
    size_t grown = read_peak() - before;
    size_t own = bytes / (size_t)count + spare;
    EXPECT(grown < own, "%zu bytes more, at most %zu", grown, own);
    const jd_array_shard *shard = jd_array_shards(array, NULL);
    size_t first = (size_t)shard->index[0].begin;
    for (size_t i = 0; i < shard->count * 8; i++)
        EXPECT(((char *)shard->data)[i] == byte_of(first + i / 8, i % 8),
               "byte %zu", i);
    jd_array_release(array);
    jd_sharding_release(sharding);
    free(v.data);
}

static void try_poor(void)
{
    struct rlimit limit = { 24 << 20, 24 << 20 };
    if (self == last)
        EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0, "no limit");
    jd_sharding *sharding = row("");
    struct value v = make_value(JD_F64, 1, (int64_t[]){ 4 << 20 });
    jd_leaf leaf = leaf_of(&v);
    jd_array *array = NULL;
    char text[160] = OPERATION ": jd_device_alloc: 33554432 bytes";
    if (self != last)
        snprintf(text, sizeof text,
                 OPERATION ": process %d came, but could not take part: "
                           "RESOURCE_EXHAUSTED; its own message says more",
                 last);
    EXPECT_STATUS(jd_array_from_one(&array, sharding, &leaf, 0),
                  JD_RESOURCE_EXHAUSTED, text);
    EXPECT(!array, "an array after a failure");
    jd_sharding_release(sharding);
    free(v.data);
}

/* ---- all ----------------------------------------------------------------- */

static void try_all(void)
{
    try_each_source();
    try_outside();
    try_wrong_calls();
    try_no_data();
    if (count > 2) {
        try_other_calls();
        try_refusing();
    }
    if (devices > 1)
        try_other_mesh();
}

/* A second world begins anew. */
int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    JD_CHECK(jd_initialize());
    look_around();
    last = count - 1;
    if (strcmp(kind, "large") == 0) {
        try_large();
    } else if (strcmp(kind, "poor") == 0) {
        try_poor();
    } else {
        try_all();
        JD_CHECK(jd_shutdown());
        JD_CHECK(jd_initialize());
        look_around();
        try_all();
    }
    JD_CHECK(jd_shutdown());
    return 0;
}
