/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_gather [SEED] - jd_process_allgather_array and jd_process_gather_array:
 * arrays that are cut in every way, over all devices, over some and in another
 * order, short ones and such as go in several rounds; then arrays drawn at
 * random, with the seed printed; then each way to be refused.
 */
#include "jd.h"

#include "expect.h"

#include <stdbool.h>
#include <stdint.h>

enum { DRAWS = 150, MOST_DEVICES = 64 };

static int self, count, num_devices;

/* ---- values ------------------------------------------------------------- */

/* What element number n of any array is. */
static void set_element(char *to, size_t size, int64_t n)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (char)(n * 31 + n / 251 + (int64_t)i * 7 + 1);
}

/* Of an array: what fill() and expect_whole() have to know. */
struct value {
    jd_dtype dtype;
    int ndim;
    int64_t shape[JD_MAX_NDIM];
};

static int64_t elements_of(const struct value *value)
{
    int64_t n = 1;
    for (int d = 0; d < value->ndim; d++)
        n *= value->shape[d];
    return n;
}

/* Steps an index through a block; false at its end. */
static bool step_on(const struct value *value, const jd_range *index,
                    int64_t *at)
{
    for (int d = value->ndim - 1; d >= 0; d--) {
        if (++at[d] < index[d].end)
            return true;
        at[d] = index[d].begin;
    }
    return false;
}

static jd_status fill(const jd_range *index, void *block, void *arg)
{
    const struct value *value = arg;
    size_t size = jd_dtype_size(value->dtype);
    int64_t at[JD_MAX_NDIM];
    char *to = block;
    for (int d = 0; d < value->ndim; d++) {
        at[d] = index[d].begin;
        if (index[d].end == index[d].begin)
            return JD_OK;
    }
    do {
        int64_t n = 0;
        for (int d = 0; d < value->ndim; d++)
            n = n * value->shape[d] + at[d];
        set_element(to, size, n);
        to += size;
    } while (step_on(value, index, at));
    return JD_OK;
}

static void expect_whole(const struct value *value, const char *data,
                         const char *spec, const char *call)
{
    size_t size = jd_dtype_size(value->dtype);
    char wanted[16];
    for (int64_t n = 0; n < elements_of(value); n++) {
        set_element(wanted, size, n);
        EXPECT(memcmp(data + n * (int64_t)size, wanted, size) == 0,
               "process %d: element %lld of %s cut by \"%s\", %s", self,
               (long long)n, jd_dtype_name(value->dtype), spec, call);
    }
}

/* ---- one array ---------------------------------------------------------- */

static char *allocate(const struct value *value)
{
    size_t bytes = (size_t)elements_of(value) * jd_dtype_size(value->dtype);
    char *data = malloc(bytes + 1);
    EXPECT(data, "%zu bytes", bytes);
    memset(data, 0x55, bytes + 1);
    return data;
}

static void expect_untouched(const struct value *value, const char *data)
{
    size_t bytes = (size_t)elements_of(value) * jd_dtype_size(value->dtype);
    for (size_t i = 0; i <= bytes; i++)
        EXPECT(data[i] == 0x55, "byte %zu was written", i);
}

static void try_root(const jd_array *array, const struct value *value,
                     const char *spec, int root)
{
    char *data = allocate(value);
    jd_leaf out = { data, value->dtype, value->ndim, value->shape };
    EXPECT_OK(jd_process_gather_array(array, root == self ? &out : NULL, root));
    if (root == self)
        expect_whole(value, data, spec, "gathered");
    else
        expect_untouched(value, data);
    free(data);
}

static void try_value(const jd_mesh *mesh, bool is_member, const char *spec,
                      const struct value *value, int root)
{
    jd_sharding *sharding;
    jd_array *array;
    EXPECT_OK(jd_sharding_create(&sharding, mesh, spec));
    EXPECT_OK(jd_array_from_callback(&array, sharding, value->dtype,
                                     value->ndim, value->shape, fill,
                                     (void *)value));
    if (is_member) {
        char *data = allocate(value);
        jd_leaf out = { data, value->dtype, value->ndim, value->shape };
        EXPECT_OK(jd_process_allgather_array(array, &out));
        expect_whole(value, data, spec, "allgathered");
        EXPECT(data[(size_t)elements_of(value) * jd_dtype_size(value->dtype)] ==
                   0x55,
               "%s", spec);
        free(data);
    }
    try_root(array, value, spec, root);
    jd_array_release(array);
    jd_sharding_release(sharding);
}

/* The first collective of these devices, in which the last process has nothing
 * to give. */
static void try_first(void)
{
    struct value value = { JD_U8, 1, { count - 1 } };
    jd_mesh *mesh;
    jd_sharding *sharding;
    jd_array *array;
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    EXPECT_OK(jd_sharding_create(&sharding, mesh, "x"));
    EXPECT_OK(jd_array_from_callback(&array, sharding, value.dtype, value.ndim,
                                     value.shape, fill, &value));
    try_root(array, &value, "x", 0);
    jd_array_release(array);
    jd_sharding_release(sharding);
    jd_mesh_destroy(mesh);
}

/* ---- meshes ------------------------------------------------------------- */

/* A mesh "x" rows x "y" n / rows of n devices, in an order. */
struct grid {
    jd_mesh *mesh;
    int n;
    bool is_member;
};

static struct grid make_grid(int rows, int n, const jd_device *const *devices)
{
    struct grid grid = { .n = n };
    EXPECT_OK(jd_mesh_create(&grid.mesh, 2, (int[]){ rows, n / rows },
                             (const char *[]){ "x", "y" }, devices));
    for (int i = 0; i < n; i++)
        grid.is_member = grid.is_member || devices[i]->process_index == self;
    return grid;
}

/* Rows for a grid of n devices: its smallest factor. */
static int smallest_factor(int n)
{
    for (int f = 2; f < n; f++)
        if (n % f == 0)
            return f;
    return 1;
}

static void try_grid(const struct grid *grid)
{
    static const struct value values[] = {
        { JD_F64, 2, { 12, 24 } },     { JD_F32, 2, { 24, 12 } },
        { JD_S16, 2, { 7, 5 } },       { JD_C128, 2, { 1, 3 } },
        { JD_U8, 3, { 5, 3, 17 } },    { JD_F16, 3, { 2, 0, 3 } },
        { JD_C64, 4, { 2, 3, 4, 6 } }, { JD_PRED, 2, { 2, 48 } },
    };
    static const char *const specs[] = { "",    "x",   "-,x",   "x+y", "y+x",
                                         "x,y", "y,x", "-,y+x", "y" };
    int root = 0;
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
            try_value(grid->mesh, grid->is_member, specs[s], &values[v],
                      root++ % count);
    struct value scalar = { JD_F64, 0, { 0 } };
    try_value(grid->mesh, grid->is_member, "", &scalar, count - 1);
}

/* 5 MB: more than one chunk of each. */
static void try_long(const struct grid *grid)
{
    struct value value = { JD_C128, 2, { 1001, 333 } };
    try_value(grid->mesh, grid->is_member, "-,x+y", &value, 0);
    try_value(grid->mesh, grid->is_member, "x,y", &value, count - 1);
    try_value(grid->mesh, grid->is_member, "y", &value, 0);
    try_value(grid->mesh, grid->is_member, "x+y", &value, count - 1);
}

static void try_devices(const jd_device *const *devices, int n, bool is_long)
{
    struct grid grid = make_grid(smallest_factor(n), n, devices);
    try_grid(&grid);
    if (is_long)
        try_long(&grid);
    jd_mesh_destroy(grid.mesh);
}

static void try_meshes(void)
{
    const jd_device *const *all = jd_devices(NULL);
    const jd_device *backwards[MOST_DEVICES], *mixed[MOST_DEVICES];
    for (int i = 0; i < num_devices; i++) {
        backwards[i] = all[num_devices - 1 - i];
        mixed[i] = all[i / 2 + i % 2 * (num_devices / 2)];
    }
    try_devices(all, num_devices, true);
    try_devices(backwards, num_devices, false);
    if (num_devices > 1) {
        try_devices(mixed, num_devices - num_devices % 2, false);
        try_devices(all + 1, num_devices - 1, false);
    }
    try_devices(all, 1, true);
}

/* ---- at random ---------------------------------------------------------- */

static uint64_t state;

static int draw(int below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (int)((state >> 33) % (uint64_t)below);
}

/* "x,-,y", each axis at most once. */
static void draw_spec(int ndim, char *spec)
{
    int x = draw(ndim + 1), y = draw(ndim + 1);
    const char *joined = draw(2) ? "x+y" : "y+x";
    spec[0] = '\0';
    for (int d = 0; d < ndim; d++) {
        const char *entry = x == d && y == d ? joined
                            : x == d         ? "x"
                            : y == d         ? "y"
                                             : "-";
        strcat(spec, d ? "," : "");
        strcat(spec, entry);
    }
}

static void draw_value(struct value *value)
{
    static const jd_dtype dtypes[] = { JD_U8, JD_BF16, JD_F32, JD_S64,
                                       JD_C128 };
    value->dtype = dtypes[draw(5)];
    value->ndim = 1 + draw(4);
    for (int d = 0; d < value->ndim; d++)
        value->shape[d] = draw(20) == 0 ? 0 : 1 + draw(9);
}

static void try_random(void)
{
    const jd_device *const *all = jd_devices(NULL);
    const jd_device *devices[MOST_DEVICES];
    for (int i = 0; i < DRAWS; i++) {
        char spec[64];
        struct value value;
        int n = 1 + draw(num_devices), factor = 1 + draw(n);
        for (int k = 0; k < num_devices; k++)
            devices[k] = all[k];
        for (int k = num_devices - 1; k > 0; k--) {
            int other = draw(k + 1);
            const jd_device *kept = devices[k];
            devices[k] = devices[other];
            devices[other] = kept;
        }
        struct grid grid = make_grid(n % factor == 0 ? factor : 1, n, devices);
        draw_value(&value);
        draw_spec(value.ndim, spec);
        try_value(grid.mesh, grid.is_member, spec, &value, draw(count));
        jd_mesh_destroy(grid.mesh);
    }
}

/* ---- refusals ----------------------------------------------------------- */

static void try_bad_arguments(const jd_array *array)
{
    double data[8];
    int64_t shape[] = { 4 };
    jd_leaf out = { data, JD_F64, 1, shape };
    expect_sentence(jd_process_allgather_array(NULL, &out), JD_INVALID_ARGUMENT,
                    "jd_process_allgather_array: array is NULL");
    expect_sentence(jd_process_allgather_array(array, NULL),
                    JD_INVALID_ARGUMENT,
                    "jd_process_allgather_array: out is NULL");
    EXPECT_STATUS(jd_process_allgather_array(array, &out), JD_INVALID_ARGUMENT,
                  "jd_process_allgather_array: out is F64[4], and the array "
                  "F64[8]");
    shape[0] = 8;
    out.data = NULL;
    EXPECT_STATUS(jd_process_gather_array(array, &out, self),
                  JD_INVALID_ARGUMENT, "jd_process_gather_array: out");
    expect_sentence(jd_process_gather_array(array, &out, count),
                    JD_INVALID_ARGUMENT,
                    "jd_process_gather_array: root is %d; the processes are 0 "
                    "to %d",
                    count, count - 1);
    EXPECT_STATUS(jd_process_gather_array(array, &out, -1), JD_INVALID_ARGUMENT,
                  "root is -1;");
    EXPECT_STATUS(jd_process_gather_array(NULL, &out, 0), JD_INVALID_ARGUMENT,
                  "jd_process_gather_array: array is NULL");
}

/* One process means another array: all hear of it, and go on. */
static void try_disagreement(jd_sharding *sharding)
{
    bool is_odd = self == count - 1;
    double data[8];
    int64_t shape[] = { is_odd ? 7 : 8 };
    jd_leaf out = { data, JD_F64, 1, shape };
    jd_array *array;
    EXPECT_OK(jd_array_zeros(&array, sharding, JD_F64, 1, shape));
    EXPECT_STATUS(jd_process_allgather_array(array, &out), JD_INVALID_ARGUMENT,
                  "F64[7]");
    EXPECT_STATUS(jd_process_allgather_array(array, &out), JD_INVALID_ARGUMENT,
                  "F64[8]");
    jd_array_release(array);
}

/* Processes without a device of the mesh. */
static void try_outsiders(void)
{
    const jd_device *first = jd_devices(NULL)[0];
    int64_t shape[] = { 8 };
    double data[8];
    jd_leaf out = { data, JD_F64, 1, shape };
    struct grid grid = make_grid(1, 1, &first);
    jd_sharding *sharding;
    jd_array *array;
    EXPECT_OK(jd_sharding_create(&sharding, grid.mesh, "x"));
    EXPECT_OK(jd_array_zeros(&array, sharding, JD_F64, 1, shape));
    if (self == 0)
        EXPECT_OK(jd_process_allgather_array(array, &out));
    else
        expect_sentence(
            jd_process_allgather_array(array, &out), JD_INVALID_ARGUMENT,
            "jd_process_allgather_array: process %d has no device in the "
            "array's mesh, whose processes get it; let it not call, or be the "
            "root of jd_process_gather_array()",
            self);
    if (self > 1)
        EXPECT_OK(jd_process_gather_array(array, NULL, 0));
    jd_array_release(array);
    jd_sharding_release(sharding);
    jd_mesh_destroy(grid.mesh);
}

static void try_refusals(void)
{
    struct grid grid = make_grid(1, num_devices, jd_devices(NULL));
    jd_sharding *sharding;
    jd_array *array;
    EXPECT_OK(jd_sharding_create(&sharding, grid.mesh, "y"));
    EXPECT_OK(jd_array_zeros(&array, sharding, JD_F64, 1, (int64_t[]){ 8 }));
    try_bad_arguments(array);
    if (count > 1) {
        try_disagreement(sharding);
        try_outsiders();
    }
    jd_array_release(array);
    jd_sharding_release(sharding);
    jd_mesh_destroy(grid.mesh);
}

int main(int argc, char **argv)
{
    JD_CHECK(jd_initialize());
    self = jd_process_index();
    count = jd_process_count();
    num_devices = jd_device_count();
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20260;
    state = seed;
    if (self == 0)
        printf("test_gather: seed %llu\n", (unsigned long long)seed);
    try_first();
    try_meshes();
    try_random();
    try_refusals();
    JD_CHECK(jd_shutdown());
    return 0;
}
