/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_array_trip.c - arrays make their way through every call that gives or
 * takes their values, on whatever devices jd_devices() shows. Looks at blocks
 * through jd's calls alone, so that it runs where the host cannot touch them.
 *
 * usage: test_array_trip [TRIPS [SEED]]
 */
#include "expect.h"
#include "test_folder.h"
#include "jd.h"

#include <inttypes.h>
#include <stdint.h>
#include <unistd.h>

enum { MOST_DIMENSIONS = 3, MOST_ELEMENTS = 4096 };

static uint64_t state;

/* The same numbers on every process. */
static uint64_t draw(uint64_t limit)
{
    state += 0x9e3779b97f4a7c15;
    uint64_t x = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return (x ^ (x >> 31)) % limit;
}

/* ---- a trip ------------------------------------------------------------- */

struct trip {
    jd_mesh *mesh;
    jd_dtype dtype;
    size_t element;
    int ndim;
    int64_t shape[MOST_DIMENSIONS];
    size_t count;
    unsigned char value[MOST_ELEMENTS * 16]; /* what the array is */
};

static unsigned char got[MOST_ELEMENTS * 16];

/* Some axes of the mesh, or none, for each dimension; none twice. */
static void draw_spec(const struct trip *trip, char *spec)
{
    static const char *const both[] = { "-,y,-", "x,y,-", "y,-,x", "-,-,-",
                                        "x+y,-", "-,y+x", "-,x,y", "y+x" };
    strcpy(spec, both[draw(sizeof both / sizeof *both)]);
    char *end = spec;
    for (int d = 0; d < trip->ndim && end; d++)
        end = strchr(d ? end + 1 : end, ',');
    if (end)
        *end = '\0';
}

static jd_sharding *draw_sharding(const struct trip *trip)
{
    char spec[16];
    jd_sharding *sharding;
    draw_spec(trip, spec);
    EXPECT_OK(jd_sharding_create(&sharding, trip->mesh, spec));
    return sharding;
}

static void draw_value(struct trip *trip)
{
    static const jd_dtype dtypes[] = { JD_U8,  JD_S16, JD_BF16,
                                       JD_F32, JD_F64, JD_C128 };
    trip->dtype = dtypes[draw(sizeof dtypes / sizeof *dtypes)];
    trip->element = jd_dtype_size(trip->dtype);
    trip->ndim = 1 + (int)draw(MOST_DIMENSIONS);
    trip->count = 1;
    for (int d = 0; d < trip->ndim; d++) {
        trip->shape[d] = (int64_t)draw(d ? 12 : 24) + (draw(8) > 0);
        trip->count *= (size_t)trip->shape[d];
    }
    for (size_t i = 0; i < trip->count * trip->element; i++)
        trip->value[i] = (unsigned char)draw(256);
}

static jd_leaf leaf_of(const struct trip *trip, void *data)
{
    return (jd_leaf){ data, trip->dtype, trip->ndim, trip->shape };
}

static void expect_value(const struct trip *trip, const char *where)
{
    EXPECT(memcmp(got, trip->value, trip->count * trip->element) == 0,
           "%s: other values", where);
}

/* ---- the ways to one ---------------------------------------------------- */

static jd_status fill(const jd_range *index, void *block, void *arg)
{
    const struct trip *trip = arg;
    int64_t at[MOST_DIMENSIONS] = { 0 };
    unsigned char *to = block;
    for (int d = 0; d < trip->ndim; d++)
        at[d] = index[d].begin;
    for (int d = 0; d >= 0;) {
        int64_t offset = 0;
        for (int e = 0; e < trip->ndim; e++)
            offset = offset * trip->shape[e] + at[e];
        memcpy(to, trip->value + (size_t)offset * trip->element, trip->element);
        to += trip->element;
        for (d = trip->ndim - 1; d >= 0 && ++at[d] == index[d].end; d--)
            at[d] = index[d].begin;
    }
    return JD_OK;
}

static jd_array *put(struct trip *trip)
{
    jd_sharding *sharding = draw_sharding(trip);
    jd_leaf leaf = leaf_of(trip, trip->value);
    jd_array *array;
    if (draw(2))
        EXPECT_OK(jd_device_put(&array, &leaf, sharding));
    else
        EXPECT_OK(jd_array_from_callback(&array, sharding, trip->dtype,
                                         trip->ndim, trip->shape, fill, trip));
    jd_sharding_release(sharding);
    return array;
}

/* ---- and from it -------------------------------------------------------- */

static void gather(const struct trip *trip, const jd_array *array)
{
    jd_leaf out = leaf_of(trip, got);
    memset(got, 0xee, sizeof got);
    EXPECT_OK(jd_process_allgather_array(array, &out));
    expect_value(trip, "jd_process_allgather_array");
}

static void gather_to_one(const struct trip *trip, const jd_array *array)
{
    int root = (int)draw((uint64_t)jd_process_count());
    jd_leaf out = leaf_of(trip, got);
    memset(got, 0xee, sizeof got);
    EXPECT_OK(jd_process_gather_array(array, &out, root));
    if (jd_process_index() == root)
        expect_value(trip, "jd_process_gather_array");
}

/* Where all of it is here. */
static void bring_home(const struct trip *trip, const jd_array *array)
{
    jd_sharding *everywhere;
    jd_array *copy;
    jd_leaf out = leaf_of(trip, got);
    EXPECT_OK(jd_sharding_create(&everywhere, trip->mesh, ""));
    EXPECT_OK(jd_array_reshard(&copy, array, everywhere));
    memset(got, 0xee, sizeof got);
    EXPECT_OK(jd_array_to_host(copy, &out));
    expect_value(trip, "jd_array_to_host");
    EXPECT_OK(jd_array_assert_replicas_equal(copy, "copy", NULL, 0));
    jd_sharding_release(everywhere);
    jd_array_release(copy);
}

/* Blocks by jd_device_copy(), and an array of buffers that have them. */
static void adopt(const struct trip *trip, const jd_array *array)
{
    int count;
    const jd_array_shard *shards = jd_array_shards(array, &count);
    void *buffers[16] = { NULL };
    jd_array *other;
    EXPECT(count <= 16, "%d", count);
    for (int i = 0; i < count; i++) {
        size_t bytes = shards[i].count * trip->element;
        EXPECT_OK(jd_device_alloc(shards[i].device, bytes, &buffers[i]));
        EXPECT_OK(jd_device_copy(buffers[i], shards[i].data, bytes));
    }
    EXPECT_OK(jd_array_from_shards(&other, jd_array_sharding(array),
                                   trip->dtype, trip->ndim, trip->shape,
                                   buffers, count));
    gather(trip, other);
    jd_array_release(other);
}

static void save_and_restore(const struct trip *trip, const jd_array *array)
{
    static const char *const names[] = { "travelled" };
    jd_sharding *sharding = draw_sharding(trip);
    jd_array *restored;
    jd_array *saved = jd_array_retain((jd_array *)(uintptr_t)array);
    char dir[256];
    snprintf(dir, sizeof dir, "%s/checkpoint", folder);
    EXPECT_OK(jd_array_save(dir, names, &saved, 1));
    EXPECT_OK(jd_array_restore(dir, names, &sharding, 1, &restored));
    gather(trip, restored);
    jd_sharding_release(sharding);
    jd_array_release(restored);
    jd_array_release(saved);
}

static void travel(struct trip *trip)
{
    draw_value(trip);
    jd_array *array = put(trip);
    for (int i = (int)draw(3); i > 0; i--) {
        jd_sharding *sharding = draw_sharding(trip);
        EXPECT_OK(jd_array_reshard_donate(&array, sharding));
        jd_sharding_release(sharding);
    }
    gather(trip, array);
    gather_to_one(trip, array);
    bring_home(trip, array);
    adopt(trip, array);
    if (draw(4) == 0)
        save_and_restore(trip, array);
    jd_array_release(array);
}

/* One replica of a block is not what the others are. */
static void see_a_difference(jd_mesh *mesh)
{
    static const int64_t shape[] = { 1000 };
    static const float odd = 3;
    jd_sharding *sharding;
    jd_array *array;
    int count, devices = jd_device_count();
    EXPECT_OK(jd_sharding_create(&sharding, mesh, "-"));
    EXPECT_OK(jd_array_zeros(&array, sharding, JD_F32, 1, shape));
    const jd_array_shard *shards = jd_array_shards(array, &count);
    if (jd_process_index() == jd_process_count() - 1)
        EXPECT_OK(jd_device_copy((float *)shards[count - 1].data + 777, &odd,
                                 sizeof odd));
    EXPECT_STATUS(jd_array_assert_replicas_equal(array, "weights", NULL, 0),
                  devices == 1 ? JD_OK : JD_FAILED_PRECONDITION, "777");
    jd_array_release(array);
    jd_sharding_release(sharding);
}

int main(int argc, char **argv)
{
    static struct trip trip;
    int trips = argc > 1 ? atoi(argv[1]) : 40;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    EXPECT_OK(jd_initialize());
    make_folder("array-trip");
    int rows = jd_device_count() % 2 ? 1 : 2;
    EXPECT_OK(jd_mesh_create(&trip.mesh, 2, (int[]){ rows, -1 },
                             (const char *[]){ "x", "y" }, NULL));
    for (int i = 0; i < trips; i++) {
        state = seed * 1000003 + (uint64_t)i;
        travel(&trip);
    }
    see_a_difference(trip.mesh);
    remove_folder();
    if (jd_process_index() == 0)
        printf("ok: %d trips over %d %s devices in %d processes, seed %" PRIu64
               "\n",
               trips, jd_device_count(), jd_devices(NULL)[0]->platform,
               jd_process_count(), seed);
    jd_mesh_destroy(trip.mesh);
    return jd_shutdown();
}
