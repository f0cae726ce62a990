/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reshard [--seed N] [--cases N] - arrays of any shape and type get any
 * sharding on any mesh, there and back, and each element is looked at. Before
 * that, processes ask for different ones. The seed is printed; without one it
 * is drawn.
 */
#include "expect.h"
#include "jd.h"

#include <inttypes.h>
#include <stdbool.h>
#include <time.h>

enum { MOST_DEVICES = 64, MOST_AXES = 3, TEXT = 256 };

static uint64_t seed;
static int number; /* of the case */

/* ---- drawing: the same on every process --------------------------------- */

static uint64_t state;

static int draw(int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)below);
}

/* Devices along some axes, and which dimension each axis cuts. */
struct layout {
    int num_axes;
    int sizes[MOST_AXES];
    int cuts[MOST_AXES]; /* -1: none */
    int count;
    int order[MOST_DEVICES];
};

static void draw_devices(struct layout *layout)
{
    int all[MOST_DEVICES], available = jd_device_count();
    bool is_mixed = draw(2);
    for (int i = 0; i < available; i++)
        all[i] = i;
    for (int i = 0; i < layout->count; i++) {
        int k = is_mixed ? i + draw(available - i) : i;
        layout->order[i] = all[k];
        all[k] = all[i];
    }
}

static void draw_cuts(struct layout *layout, int ndim)
{
    for (int i = 0; i < layout->num_axes; i++)
        layout->cuts[i] = draw(ndim + 1) - 1;
}

static void draw_layout(struct layout *layout, int ndim)
{
    bool is_all = draw(2);
    *layout = (struct layout){ .num_axes = 1 + draw(MOST_AXES), .count = 1 };
    for (int i = 0; i < layout->num_axes; i++) {
        int most = jd_device_count() / layout->count;
        bool is_rest = is_all && i == layout->num_axes - 1;
        layout->sizes[i] = is_rest ? most : 1 + draw(most);
        layout->count *= layout->sizes[i];
    }
    draw_devices(layout);
    draw_cuts(layout, ndim);
}

/* The spec, with the axes of a dimension in the order of their names, or in
 * the other one. */
static void print_spec(const struct layout *layout, int ndim, bool is_reversed,
                       char *text)
{
    *text = '\0';
    for (int d = 0; d < ndim; d++) {
        bool has_axis = false;
        strcat(text, d ? "," : "");
        for (int i = 0; i < layout->num_axes; i++) {
            int axis = is_reversed ? layout->num_axes - 1 - i : i;
            if (layout->cuts[axis] != d)
                continue;
            sprintf(text + strlen(text), "%sx%d", has_axis ? "+" : "", axis);
            has_axis = true;
        }
        strcat(text, has_axis ? "" : "-");
    }
}

struct side {
    struct layout layout;
    char spec[TEXT];
    jd_mesh *mesh;
    jd_sharding *sharding;
    bool is_here; /* this process has a device of it */
};

static void make_side(struct side *side, int ndim)
{
    static const char *const names[] = { "x0", "x1", "x2" };
    const jd_device *const *all = jd_devices(NULL);
    const jd_device *devices[MOST_DEVICES];
    const struct layout *layout = &side->layout;
    side->is_here = false;
    for (int i = 0; i < layout->count; i++) {
        devices[i] = all[layout->order[i]];
        side->is_here |= devices[i]->process_index == jd_process_index();
    }
    print_spec(layout, ndim, draw(4) == 0, side->spec);
    EXPECT_OK(jd_mesh_create(&side->mesh, layout->num_axes, layout->sizes,
                             names, devices));
    EXPECT_OK(jd_sharding_create(&side->sharding, side->mesh, side->spec));
}

static void free_side(struct side *side)
{
    jd_sharding_release(side->sharding);
    jd_mesh_destroy(side->mesh);
}

/* ---- elements ----------------------------------------------------------- */

struct values {
    int ndim;
    int64_t shape[JD_MAX_NDIM];
    jd_dtype dtype;
    size_t element;
};

/* The bytes of the element at a place: of its number, mixed. */
static void set_element(const struct values *v, const int64_t *at, char *to)
{
    uint64_t value = 0;
    for (int d = 0; d < v->ndim; d++)
        value = value * (uint64_t)v->shape[d] + (uint64_t)at[d];
    uint64_t words[2] = { (value + 1) * 0x9e3779b97f4a7c15u, value };
    words[0] ^= words[0] >> 29;
    memcpy(to, words, v->element);
}

static bool step_on(const struct values *v, const jd_range *index, int64_t *at)
{
    for (int d = v->ndim - 1; d >= 0; d--) {
        if (++at[d] < index[d].end)
            return true;
        at[d] = index[d].begin;
    }
    return false;
}

static jd_status fill(const jd_range *index, void *block, void *arg)
{
    const struct values *v = arg;
    int64_t at[JD_MAX_NDIM] = { 0 };
    char *to = block;
    for (int d = 0; d < v->ndim; d++)
        at[d] = index[d].begin;
    do {
        set_element(v, at, to);
        to += v->element;
    } while (step_on(v, index, at));
    return JD_OK;
}

static void expect_block(const struct values *v, const jd_array_shard *shard)
{
    int64_t at[JD_MAX_NDIM] = { 0 };
    const char *data = shard->data;
    char wanted[16];
    for (int d = 0; d < v->ndim; d++)
        at[d] = shard->index[d].begin;
    for (size_t i = 0; i < shard->count; i++) {
        set_element(v, at, wanted);
        EXPECT(memcmp(data, wanted, v->element) == 0,
               "case %d of --seed %" PRIu64 ": device %lld, element %zu",
               number, seed, (long long)shard->device->id, i);
        data += v->element;
        step_on(v, shard->index, at);
    }
}

static void expect_array(const struct values *v, const jd_array *array,
                         const struct side *side)
{
    int count = 0, wanted = 0;
    const jd_array_shard *shards = jd_array_shards(array, &count);
    for (int i = 0; i < side->layout.count; i++)
        wanted += jd_devices(NULL)[side->layout.order[i]]->process_index ==
                  jd_process_index();
    EXPECT(count == wanted, "%d blocks, not %d", count, wanted);
    EXPECT(jd_array_dtype(array) == v->dtype, "another type");
    EXPECT(jd_array_ndim(array) == v->ndim, "another ndim");
    for (int i = 0; i < count; i++) {
        jd_range index[JD_MAX_NDIM];
        EXPECT_OK(jd_sharding_index(side->sharding, v->ndim, v->shape,
                                    shards[i].device, index, NULL));
        for (int d = 0; d < v->ndim; d++)
            EXPECT(index[d].begin == shards[i].index[d].begin &&
                       index[d].end == shards[i].index[d].end,
                   "another index");
        expect_block(v, &shards[i]);
    }
}

/* ---- cases -------------------------------------------------------------- */

static void draw_values(struct values *v)
{
    static const jd_dtype types[] = { JD_PRED, JD_S16,  JD_F32,
                                      JD_F64,  JD_C128, JD_BF16 };
    int longest = draw(8) == 0 ? 40 : 12;
    v->ndim = draw(5);
    v->dtype = types[draw(6)];
    v->element = jd_dtype_size(v->dtype);
    for (int d = 0; d < v->ndim; d++) {
        int most = d < 3 ? longest : 4;
        v->shape[d] = draw(3) ? 4 * draw(most / 4 + 1) : draw(most);
        v->shape[d] += v->shape[d] == 0 && draw(4) != 0;
    }
}

static void draw_sides(const struct values *v, struct side *from,
                       struct side *to)
{
    int kind = draw(4);
    draw_layout(&from->layout, v->ndim);
    to->layout = from->layout;
    if (kind == 0)
        draw_layout(&to->layout, v->ndim);
    else if (kind == 1)
        draw_devices(&to->layout);
    if (kind != 1)
        draw_cuts(&to->layout, v->ndim);
    make_side(from, v->ndim);
    make_side(to, v->ndim);
}

/* There, and half of the time back; processes without a device come along or
 * not. */
static void run_case(void)
{
    struct values v;
    struct side from, to;
    jd_array *array = NULL, *moved = NULL;
    draw_values(&v);
    draw_sides(&v, &from, &to);
    bool is_donated = draw(2), goes_back = draw(2), comes = draw(2);
    EXPECT_OK(jd_array_from_callback(&array, from.sharding, v.dtype, v.ndim,
                                     v.shape, fill, &v));
    if (comes || from.is_here || to.is_here) {
        if (is_donated) {
            EXPECT_OK(jd_array_reshard_donate(&array, to.sharding));
            expect_array(&v, array, &to);
        } else {
            EXPECT_OK(jd_array_reshard(&moved, array, to.sharding));
            expect_array(&v, array, &from);
            expect_array(&v, moved, &to);
            jd_array_release(array);
            array = moved;
        }
        if (goes_back) {
            EXPECT_OK(jd_array_reshard_donate(&array, from.sharding));
            expect_array(&v, array, &from);
        }
    }
    jd_array_release(array);
    free_side(&from);
    free_side(&to);
}

/* ---- processes that do not mean the same -------------------------------- */

/* Process 0 asks for one spec, the others for another: all are told, and the
 * next call works. */
static void differ(int64_t rows, int64_t columns, const char *spec,
                   const char *other)
{
    struct values v = { 2, { rows, columns }, JD_F32, 4 };
    struct side right = { .layout = { .num_axes = 1 } };
    jd_array *array, *moved = NULL;
    jd_sharding *from, *to;
    right.layout.sizes[0] = right.layout.count = jd_device_count();
    right.layout.cuts[0] = 1;
    draw_devices(&right.layout);
    make_side(&right, 2);
    EXPECT_OK(jd_sharding_create(&from, right.mesh, "x0"));
    EXPECT_OK(jd_sharding_create(&to, right.mesh,
                                 jd_process_index() == 0 ? spec : other));
    EXPECT_OK(jd_array_from_callback(&array, from, v.dtype, v.ndim, v.shape,
                                     fill, &v));
    EXPECT_STATUS(jd_array_reshard(&moved, array, to), JD_INVALID_ARGUMENT,
                  "jd_array_reshard: process ");
    EXPECT_STATUS(jd_array_reshard_donate(&array, to), JD_INVALID_ARGUMENT,
                  " calls jd_array_reshard_donate of F32[");
    EXPECT(moved == NULL, "an output was written");
    EXPECT_OK(jd_array_reshard_donate(&array, right.sharding));
    expect_array(&v, array, &right);
    jd_array_release(array);
    jd_sharding_release(from);
    jd_sharding_release(to);
    free_side(&right);
}

static void run_differing(void)
{
    int64_t n = jd_device_count();
    if (jd_process_count() == 1)
        return;
    differ(2 * n, 3 * n, "-,x0", "-");         /* other collectives */
    differ(2 * n, 3 * n + 1, "-,x0", "-,-");   /* other sizes */
    differ(2 * n + 1, 3 * n + 1, "-", "-,x0"); /* the other way round */
    differ(2 * n, 3 * n, "x0", "-,x0");        /* one has it all */
}

/* ---- arguments ---------------------------------------------------------- */

static uint64_t read_number(int argc, char **argv, const char *name,
                            uint64_t otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return strtoull(argv[i + 1], NULL, 10);
    return otherwise;
}

int main(int argc, char **argv)
{
    JD_CHECK(jd_initialize());
    EXPECT(jd_device_count() <= MOST_DEVICES, "too many devices");
    seed = read_number(argc, argv, "--seed", (uint64_t)time(NULL));
    jd_leaf leaf = { &seed, JD_U64, 0, NULL };
    JD_CHECK(jd_broadcast_one_to_all(&leaf, 1, 0));
    int cases = (int)read_number(argc, argv, "--cases", 200);
    if (jd_process_index() == 0)
        printf("--seed %" PRIu64 " --cases %d\n", seed, cases);
    state = seed;
    run_differing();
    for (number = 0; number < cases; number++)
        run_case();
    return jd_shutdown();
}
