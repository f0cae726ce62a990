/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_halo - halos of random blocks, against what each element should be by
 * its own coordinates: shapes, widths, axes, walls, corners, types and kinds
 * of memory are drawn. Arguments: how many trials, and the seed of the draws;
 * or "refused": what two neighbours say who do not fit.
 */
#include "jd.h"

#include "expect.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { AXES = 3, MOST_NDIM = 4 };

static const char *const names[AXES] = { "a", "b", "c" };
static jd_mesh *mesh;
static int ways[AXES];
static uint64_t seed;

/* One exchange; the same on all members. */
struct trial {
    int number;
    int ndim;
    int axis[MOST_NDIM]; /* -1: none */
    int64_t before[MOST_NDIM], after[MOST_NDIM];
    bool periodic[MOST_NDIM];
    bool corners;
    jd_dtype dtype;
    bool is_device;
};

static uint64_t draw(const struct trial *t, uint64_t which, uint64_t limit)
{
    uint64_t x =
        seed * 0x9e3779b97f4a7c15u + (uint64_t)t->number * 1000 + which;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % limit;
}

static struct trial draw_trial(int number)
{
    static const jd_dtype dtypes[] = { JD_U8, JD_F16, JD_F32, JD_F64, JD_C128 };
    struct trial t = { .number = number };
    bool is_used[AXES] = { false };
    t.ndim = 1 + (int)draw(&t, 0, MOST_NDIM);
    t.corners = draw(&t, 1, 2);
    t.dtype = dtypes[draw(&t, 2, 5)];
    t.is_device = draw(&t, 3, 2);
    for (int d = 0; d < t.ndim; d++) {
        uint64_t first = 10 * (uint64_t)(d + 1);
        int axis = (int)draw(&t, first, AXES + 1);
        t.before[d] = (int64_t)draw(&t, first + 1, 4);
        t.after[d] = (int64_t)draw(&t, first + 2, 4);
        t.periodic[d] = draw(&t, first + 3, 2);
        t.axis[d] = axis == AXES || is_used[axis] ? -1 : axis;
        if (t.axis[d] >= 0)
            is_used[axis] = true;
    }
    if (!is_used[0] && !is_used[1] && !is_used[2])
        t.axis[0] = 1;
    return t;
}

/* ---- where an element is ------------------------------------------------- */

struct place {
    int at[AXES]; /* the member's */
    int64_t x[MOST_NDIM];
};

static int64_t size_of(const struct trial *t, const int *at, int d)
{
    int own = t->axis[d] < 0 ? 0 : at[t->axis[d]];
    int64_t widest = t->before[d] > t->after[d] ? t->before[d] : t->after[d];
    uint64_t which = 100 + 50 * (uint64_t)d + (uint64_t)own;
    return t->before[d] + t->after[d] + widest + (int64_t)draw(t, which, 4);
}

static int64_t count_elements(const struct trial *t, const int *at)
{
    int64_t count = 1;
    for (int d = 0; d < t->ndim; d++)
        count *= size_of(t, at, d);
    return count;
}

/* What an element has before, byte by byte. */
static void write_value(const struct trial *t, const struct place *p,
                        unsigned char *to)
{
    uint64_t value = 0;
    for (int i = 0; i < AXES; i++)
        value = value * 31 + (uint64_t)p->at[i] + 1;
    for (int d = 0; d < t->ndim; d++)
        value = value * 131 + (uint64_t)p->x[d] + 1;
    for (size_t i = 0; i < jd_dtype_size(t->dtype); i++)
        to[i] = (unsigned char)(draw(t, value * 16 + i + 5000, 256));
}

/* Steps to the next element of the block; false behind the last. */
static bool step_on(const struct trial *t, struct place *p)
{
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (++p->x[d] < size_of(t, p->at, d))
            return true;
        p->x[d] = 0;
    }
    return false;
}

/* Whose element it becomes, in one dimension: -1 and 1 the neighbours', 0 its
 * own; a halo at a wall sets is_wall. */
static int side_of(const struct trial *t, const struct place *p, int d,
                   bool *is_wall)
{
    int own = t->axis[d] < 0 ? 0 : p->at[t->axis[d]];
    int n = t->axis[d] < 0 ? 1 : ways[t->axis[d]];
    int64_t end = size_of(t, p->at, d) - t->after[d];
    int side = p->x[d] < t->before[d] ? -1 : p->x[d] >= end ? 1 : 0;
    bool has = t->periodic[d] || (own + side >= 0 && own + side < n);
    *is_wall = *is_wall || (side && !has);
    return has ? side : 0;
}

/* The element that is to be there, before the exchange. */
static struct place source_of(const struct trial *t, const struct place *p)
{
    struct place from = *p;
    bool is_wall = false;
    int sides = 0;
    for (int d = 0; d < t->ndim; d++) {
        int side = side_of(t, p, d, &is_wall), axis = t->axis[d];
        if (side == 0)
            continue;
        sides++;
        if (axis >= 0)
            from.at[axis] = (p->at[axis] + side + ways[axis]) % ways[axis];
        from.x[d] =
            side < 0
                ? size_of(t, from.at, d) - t->after[d] - t->before[d] + p->x[d]
                : t->before[d] + p->x[d] - (size_of(t, p->at, d) - t->after[d]);
    }
    return t->corners || (sides == 1 && !is_wall) ? from : *p;
}

/* ---- a trial ------------------------------------------------------------- */

static void *make_block(const struct trial *t, jd_shard *me, const void *values,
                        size_t bytes)
{
    void *block = malloc(bytes);
    if (t->is_device)
        free(block);
    if (t->is_device)
        EXPECT_OK(jd_device_alloc(jd_shard_device(me), bytes, &block));
    EXPECT_OK(jd_device_copy(block, values, bytes));
    return block;
}

static void free_block(const struct trial *t, void *block)
{
    if (t->is_device)
        EXPECT_OK(jd_device_free(block));
    else
        free(block);
}

static void exchange(const struct trial *t, jd_shard *me, const int *at,
                     void *block)
{
    jd_halo_dim dims[MOST_NDIM];
    for (int d = 0; d < t->ndim; d++)
        dims[d] = (jd_halo_dim){ size_of(t, at, d), t->before[d], t->after[d],
                                 t->axis[d] < 0 ? NULL : names[t->axis[d]],
                                 t->periodic[d] };
    EXPECT_OK(jd_halo_exchange(me, block, t->dtype, t->ndim, dims, t->corners));
}

static void run_trial(const struct trial *t, jd_shard *me)
{
    struct place p = { .at = { 0 } };
    size_t element = jd_dtype_size(t->dtype), i = 0;
    JD_CHECK(jd_shard_coordinates(me, AXES, p.at));
    size_t bytes = (size_t)count_elements(t, p.at) * element;
    unsigned char *given = malloc(bytes + 1), *wanted = malloc(bytes + 1);
    for (bool is_one = bytes > 0; is_one; is_one = step_on(t, &p)) {
        struct place from = source_of(t, &p);
        write_value(t, &p, given + i);
        write_value(t, &from, wanted + i);
        i += element;
    }
    memset(p.x, 0, sizeof p.x);
    void *block = make_block(t, me, given, bytes);
    exchange(t, me, p.at, block);
    EXPECT_OK(jd_device_copy(given, block, bytes));
    for (i = 0; i < bytes && given[i] == wanted[i]; i++)
        ;
    EXPECT(i == bytes,
           "trial %d of seed %llu: byte %zu of %zu (ndim %d, %s, corners %d)",
           t->number, (unsigned long long)seed, i, bytes, t->ndim,
           jd_dtype_name(t->dtype), t->corners);
    free_block(t, block);
    free(given);
    free(wanted);
}

static jd_status run_trials(jd_shard *me, void *arg)
{
    for (int i = 0; i < *(int *)arg; i++) {
        struct trial trial = draw_trial(i);
        if (count_elements(&trial, (int[AXES]){ 0 }) > 0)
            run_trial(&trial, me);
    }
    return JD_OK;
}

/* ---- two that do not fit ------------------------------------------------- */

#define RULE                                                                   \
    "; all members along the axes have the same halos, and the same sizes "    \
    "but "                                                                     \
    "for a dimension's own axis"

/* Both say what either has; each names itself first. */
__attribute__((format(printf, 5, 6))) static void
expect_differs(jd_shard *me, const jd_halo_dim *dims, int ndim, int corners,
               const char *format, ...)
{
    double block[64] = { 0 };
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    EXPECT_STATUS(jd_halo_exchange(me, block, JD_F64, ndim, dims, corners),
                  JD_INVALID_ARGUMENT, text);
    EXPECT(strncmp(jd_error_message(),
                   "jd_halo_exchange over axis \"c\": ", 32) == 0,
           "%s", jd_error_message());
}

static void expect_refused(jd_shard *me)
{
    double block[64] = { 0 }, sum = 1;
    int self = jd_axis_index(me, "c"), other = 1 - self;
    jd_halo_dim dims[2] = { { 8, 1 + self, 1, "c", 0 }, { 6, 1, 1, NULL, 0 } };
    expect_differs(me, dims, 1, 0,
                   "; dims[0] (axis \"c\") has %d before on process %d, and %d "
                   "on process %d" RULE,
                   1 + self, self, 1 + other, other);
    dims[0] = (jd_halo_dim){ 8, 1, 2 - self, "c", 0 };
    expect_differs(me, dims, 1, 0,
                   "; dims[0] (axis \"c\") has %d after on process %d, and %d "
                   "on process %d" RULE,
                   2 - self, self, 2 - other, other);
    dims[0].after = 1;
    dims[1].size = 6 + self;
    expect_differs(me, dims, 2, 0,
                   "; dims[1] has %d elements along the faces on process %d, "
                   "and %d on process %d" RULE,
                   4 + self, self, 4 + other, other);
    dims[1].size = 6;
    dims[1].periodic = 1;
    expect_differs(me, dims, 1 + self, 0,
                   "; ndim is %d on process %d, and %d on process %d; all "
                   "members along the axes have the same",
                   1 + self, self, 1 + other, other);
    /* As many elements, in another shape. */
    dims[0].before = dims[0].after = 2 - self;
    dims[1] = (jd_halo_dim){ 2 + 2 * self, 0, 0, NULL, 0 };
    expect_differs(me, dims, 2, 0, "; dims[0] (axis \"c\") has %d ", 2 - self);
    dims[0].before = dims[0].after = 1;
    EXPECT_OK(jd_halo_exchange(me, block, JD_F64, 1, dims, 0));
    EXPECT_OK(jd_psum(me, "c", &sum, &sum, 1, JD_F64));
    EXPECT(sum == 2, "the sum is %g", sum);
}

/* What a member sees alone. */
static void expect_too_thin(jd_shard *me)
{
    double block[64] = { 0 };
    jd_halo_dim dims[2] = { { 4, 0, 0, NULL, 0 }, { 5, 3, 1, "c", 1 } };
    expect_sentence(jd_halo_exchange(me, block, JD_F64, 2, dims, 0),
                    JD_INVALID_ARGUMENT,
                    "jd_halo_exchange: dims[1] (axis \"c\") has size 5, before "
                    "3 and after 1, which leaves 1 of its own; a halo comes "
                    "from the next member alone and is at most as wide as what "
                    "that owns: give larger blocks to fewer members");
    dims[1].before = -1;
    EXPECT_STATUS(
        jd_halo_exchange(me, block, JD_F64, 2, dims, 0), JD_INVALID_ARGUMENT,
        "dims[1] (axis \"c\") has size 5, before -1 and after 1; none "
        "is negative");
}

/* The devices along three axes: the first two as long as they divide. */
static void make_mesh(void)
{
    EXPECT_OK(jd_mesh_shape(jd_device_count(), AXES, ways));
    EXPECT_OK(jd_mesh_create(&mesh, AXES, ways, names, NULL));
}

int main(int argc, char **argv)
{
    bool is_refused = argc > 1 && strcmp(argv[1], "refused") == 0;
    int trials = argc > 1 && !is_refused ? atoi(argv[1]) : 40;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    EXPECT_OK(jd_initialize());
    if (is_refused) {
        memcpy(ways, (int[]){ 1, 1, 2 }, sizeof ways);
        EXPECT_OK(jd_mesh_create(&mesh, AXES, ways, names, NULL));
        expect_too_thin(jd_mesh_shard(mesh));
        expect_refused(jd_mesh_shard(mesh));
    } else {
        make_mesh();
        EXPECT_OK(jd_shard_map(mesh, run_trials, &trials));
    }
    if (jd_process_index() == 0 && !is_refused)
        printf("%d trials of seed %llu over %d devices\n", trials,
               (unsigned long long)seed, jd_device_count());
    jd_mesh_destroy(mesh);
    return jd_shutdown();
}
