/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_arrays [uninitialised] - arrays over the devices of all processes, of
 * some, and in odd orders: whatever makes them, each block has the elements of
 * its index. "uninitialised": without jd_initialize(). TEST_SEED repeats a
 * run.
 */
#include "array_values.h"

#include <time.h>

enum { ROUNDS = 150 };

static unsigned seed;

static int draw(int below)
{
    return rand_r(&seed) % below;
}

/* The same on all processes. */
static void draw_seed(void)
{
    const char *text = getenv("TEST_SEED");
    int64_t drawn = text ? strtoll(text, NULL, 10) : (int64_t)time(NULL);
    jd_leaf leaf = { &drawn, JD_S64, 0, NULL };
    EXPECT_OK(jd_broadcast_one_to_all(&leaf, 1, 0));
    seed = (unsigned)drawn;
    if (self == 0)
        printf("TEST_SEED=%u\n", seed);
}

/* Some devices, in an order that all processes draw alike. */
static int draw_devices(const jd_device **list)
{
    int size = 1 + draw(devices);
    memcpy(list, jd_devices(NULL), (size_t)devices * sizeof *list);
    for (int i = 0; i < size; i++) {
        int other = i + draw(devices - i);
        const jd_device *taken = list[other];
        list[other] = list[i];
        list[i] = taken;
    }
    return size;
}

static jd_sharding *draw_sharding(int ndim)
{
    static const char *const specs[] = {
        "",      "x",       "y",         "x+y",       "y+x",
        "x,y",   "y,x",     "-,x",       "-,y+x",     "-,x,y",
        "y,-,x", "-,-,x+y", "x,-,-,-,y", "-,-,-,-,x", "-,-,-,-,-,-,y"
    };
    static const int entries[] = {
        0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 5, 5, 7
    };
    const jd_device *list[MOST_DEVICES];
    int size = draw_devices(list), rows = 1 + draw(size), i;
    while (size % rows)
        rows--;
    do
        i = draw((int)(sizeof specs / sizeof *specs));
    while (entries[i] > ndim);
    jd_mesh *mesh = make_mesh(rows, list, size);
    jd_sharding *sharding = make_sharding(mesh, specs[i]);
    jd_mesh_destroy(mesh);
    return sharding;
}

static struct value draw_value(void)
{
    static const jd_dtype dtypes[] = {
#define ROW(name, number, size) JD_##name,
        JD_DTYPE_MAP(ROW) JD_STORAGE_DTYPE_MAP(ROW)
#undef ROW
    };
    static const int num_dtypes = (int)(sizeof dtypes / sizeof *dtypes);
    static const int longest[] = { 1, 300, 40, 12, 7, 5, 4, 3, 3 };
    int ndim = draw(JD_MAX_NDIM + 1);
    int64_t shape[JD_MAX_NDIM];
    for (int d = 0; d < ndim; d++)
        shape[d] = draw(25) ? 1 + draw(longest[ndim]) : 0;
    return make_value(dtypes[draw(num_dtypes)], ndim, shape);
}

/* ---- whatever makes them ------------------------------------------------- */

/* Whether this process's blocks are all of the array. */
static bool is_here(const jd_array *array, const struct value *v)
{
    int num_shards;
    const jd_array_shard *shards = jd_array_shards(array, &num_shards);
    size_t elements = v->bytes / v->element, seen = 0;
    struct value marks = make_value(JD_U8, v->ndim, v->shape);
    memset(marks.data, 0, elements);
    for (int i = 0; i < num_shards; i++) {
        int64_t at[JD_MAX_NDIM] = { 0 };
        for (int d = 0; d < v->ndim; d++)
            at[d] = shards[i].index[d].begin;
        for (size_t k = 0; k < shards[i].count; k++) {
            size_t n = 0;
            for (int d = 0; d < v->ndim; d++)
                n = n * (size_t)v->shape[d] + (size_t)at[d];
            marks.data[n] = 1;
            step_on(shards[i].index, v->ndim, at);
        }
    }
    for (size_t n = 0; n < elements; n++)
        seen += marks.data[n] == 1;
    free(marks.data);
    return seen == elements;
}

static void try_to_host(const jd_array *array, const struct value *v)
{
    struct value out = make_value(v->dtype, v->ndim, v->shape);
    jd_leaf leaf = leaf_of(&out);
    bool is_all = is_here(array, v);
    memset(out.data, -1, out.bytes);
    EXPECT_STATUS(jd_array_to_host(array, &leaf),
                  is_all ? JD_OK : JD_FAILED_PRECONDITION,
                  "jd_process_allgather_array() gathers");
    if (is_all)
        EXPECT(memcmp(out.data, v->data, v->bytes) == 0, "the value differs");
    free(out.data);
}

/* A buffer for each of this process's devices, as jd_array_shards orders
 * them. */
static void try_from_shards(const jd_sharding *sharding, const struct value *v)
{
    jd_array *shape, *array;
    void *buffers[MOST_DEVICES];
    int num_shards;
    EXPECT_OK(jd_array_zeros(&shape, sharding, v->dtype, v->ndim, v->shape));
    const jd_array_shard *shards = jd_array_shards(shape, &num_shards);
    for (int i = 0; i < num_shards; i++) {
        EXPECT_OK(jd_device_alloc(shards[i].device,
                                  shards[i].count * v->element, &buffers[i]));
        cut(v, shards[i].index, buffers[i]);
    }
    jd_array_release(shape);
    EXPECT_OK(jd_array_from_shards(&array, sharding, v->dtype, v->ndim,
                                   v->shape, buffers, num_shards));
    expect_value(array, v);
    jd_array_release(array);
}

/* What one process has; the others know its type and shape. */
static void try_from_one(const jd_sharding *sharding, const struct value *v)
{
    int source = draw(count);
    jd_leaf leaf = leaf_of(v);
    jd_array *array;
    leaf.data = self == source ? v->data : NULL;
    EXPECT_OK(jd_array_from_one(&array, sharding, &leaf, source));
    expect_value(array, v);
    jd_array_release(array);
}

static jd_status write_block(const jd_range *index, void *block, void *arg)
{
    cut(arg, index, block);
    return JD_OK;
}

static void try_random(void)
{
    struct value v = draw_value();
    jd_sharding *sharding = draw_sharding(v.ndim);
    jd_leaf leaf = leaf_of(&v);
    jd_array *array;
    EXPECT_OK(jd_device_put(&array, &leaf, sharding));
    expect_value(array, &v);
    try_to_host(array, &v);
    jd_array_release(array);
    EXPECT_OK(jd_array_from_callback(&array, sharding, v.dtype, v.ndim, v.shape,
                                     write_block, &v));
    expect_value(array, &v);
    jd_array_release(array);
    EXPECT_OK(
        jd_array_from_process_local_data(&array, sharding, &leaf, v.shape));
    expect_value(array, &v);
    jd_array_release(array);
    try_from_shards(sharding, &v);
    try_from_one(sharding, &v);
    jd_sharding_release(sharding);
    free(v.data);
}

/* ---- what a process has -------------------------------------------------- */

/* The rows of this process in an array of that many, where it has neighbouring
 * devices: their blocks together. */
static jd_range own_rows(const jd_sharding *sharding, int64_t rows)
{
    int own;
    jd_range first = { 0, 0 }, last = { 0, 0 };
    const jd_device *const *local = jd_local_devices(&own);
    EXPECT_OK(jd_sharding_index(sharding, 1, &rows, local[0], &first, NULL));
    EXPECT_OK(
        jd_sharding_index(sharding, 1, &rows, local[own - 1], &last, NULL));
    return (jd_range){ first.begin, last.end };
}

/* rows x 3, cut into rows; local has only this process's. */
static void try_own_rows(int64_t rows, bool is_said)
{
    jd_sharding *sharding = row("y");
    struct value v = make_value(JD_F64, 2, (int64_t[]){ rows, 3 });
    jd_range own = own_rows(sharding, rows);
    struct value local =
        make_value(JD_F64, 2, (int64_t[]){ own.end - own.begin, 3 });
    jd_leaf leaf = leaf_of(&local);
    jd_array *array;
    cut(&v, (jd_range[]){ own, { 0, 3 } }, local.data);
    EXPECT_OK(jd_array_from_process_local_data(&array, sharding, &leaf,
                                               is_said ? v.shape : NULL));
    EXPECT(jd_array_shape(array)[0] == rows, "%lld",
           (long long)jd_array_shape(array)[0]);
    expect_value(array, &v);
    jd_array_release(array);
    jd_sharding_release(sharding);
    free(local.data);
    free(v.data);
}

/* Rows that go round: this process's are not neighbours, and what it has of
 * them is in the order of the array. */
static void try_scattered_rows(void)
{
    int own = devices / count;
    int64_t rows = 5 * devices - 1;
    const jd_device *list[MOST_DEVICES];
    for (int i = 0; i < devices; i++)
        list[i] = jd_devices(NULL)[i % count * own + i / count];
    jd_mesh *mesh = make_mesh(1, list, devices);
    jd_sharding *sharding = make_sharding(mesh, "-,y");
    struct value v = make_value(JD_S16, 2, (int64_t[]){ 2, rows });
    struct value local = make_value(JD_S16, 2, (int64_t[]){ 2, rows });
    jd_leaf leaf = leaf_of(&local);
    int16_t *to = (int16_t *)(void *)local.data;
    int64_t lengths[2] = { 2, 0 };
    jd_array *array;
    for (int64_t i = 0; i < 2; i++)
        for (int64_t j = 0; j < rows; j++)
            if (list[j / 5]->process_index == self)
                memcpy(to++, v.data + (i * rows + j) * 2, 2);
    lengths[1] = (to - (int16_t *)(void *)local.data) / 2;
    leaf.shape = lengths;
    EXPECT_OK(
        jd_array_from_process_local_data(&array, sharding, &leaf, v.shape));
    expect_value(array, &v);
    jd_array_release(array);
    jd_sharding_release(sharding);
    jd_mesh_destroy(mesh);
    free(local.data);
    free(v.data);
}

#define LOCAL "jd_array_from_process_local_data"

static void try_wrong_rows(void)
{
    jd_sharding *sharding = row("y");
    int64_t rows = 4 * devices, own = rows / count;
    struct value local = make_value(JD_F64, 1, (int64_t[]){ own + 1 });
    jd_leaf leaf = leaf_of(&local);
    jd_array *array;
    expect_sentence(
        jd_array_from_process_local_data(&array, sharding, &leaf, &rows),
        JD_INVALID_ARGUMENT,
        LOCAL ": dimension 0 of local has %lld elements; it has %lld, as the "
              "whole array, or %lld, as this process's blocks together",
        (long long)own + 1, (long long)rows, (long long)own);
    jd_sharding_release(sharding);
    free(local.data);
}

/* Overlapping shares: of 2 x 3 places the first process has the columns 0 and
 * 1, the next 2 and 0. */
static void try_overlapping_shares(void)
{
    if (count != 3 || devices != 6)
        return;
    jd_mesh *mesh = make_mesh(2, jd_devices(NULL), 6);
    jd_sharding *sharding = make_sharding(mesh, "y");
    struct value local = make_value(JD_F64, 1, (int64_t[]){ 2 });
    jd_leaf leaf = leaf_of(&local);
    jd_array *array;
    expect_sentence(
        jd_array_from_process_local_data(&array, sharding, &leaf, NULL),
        JD_INVALID_ARGUMENT,
        LOCAL ": global_shape is NULL, and dimension 0 of it cannot be worked "
              "out, as processes 0 and 1 have unlike shares of it; give "
              "global_shape");
    jd_sharding_release(sharding);
    jd_mesh_destroy(mesh);
    free(local.data);
}

/* ---- to the host --------------------------------------------------------- */

static void try_parts_on_the_host(void)
{
    jd_sharding *sharding = row("y");
    jd_array *array;
    int64_t length = devices;
    struct value out = make_value(JD_U8, 1, &length);
    jd_leaf leaf = leaf_of(&out);
    EXPECT_OK(jd_array_zeros(&array, sharding, JD_U8, 1, &length));
    if (count == 1)
        EXPECT_OK(jd_array_to_host(array, &leaf));
    else
        expect_sentence(
            jd_array_to_host(array, &leaf), JD_FAILED_PRECONDITION,
            "jd_array_to_host: this process (%d) has %d of the array's %d "
            "blocks (the spec is \"y\"); jd_process_allgather_array() gathers "
            "all of them, and jd_array_shards() gives those that are here",
            self, devices / count, devices);
    jd_array_release(array);
    jd_sharding_release(sharding);
    free(out.data);
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "uninitialised") != 0)
        JD_CHECK(jd_initialize());
    look_around();
    draw_seed();
    for (int i = 0; i < ROUNDS; i++)
        try_random();
    try_own_rows(4 * devices, false);
    try_own_rows(4 * devices, true);
    try_own_rows(4 * devices - 1, true);
    try_own_rows(devices - 1, true);
    try_own_rows(0, true);
    try_scattered_rows();
    if (count > 1)
        try_wrong_rows();
    try_overlapping_shares();
    try_parts_on_the_host();
    JD_CHECK(jd_shutdown());
    return 0;
}
