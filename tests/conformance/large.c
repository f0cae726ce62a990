/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * large.c - counts over 2^31, in place to need little memory; skipped aloud
 * where there is too little.
 */
#include "conform.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COUNT ((UINT64_C(1) << 31) + 5)

/* One large call; what member m gives at i is pattern(m, i). */
struct large {
    const char *name;
    jd_dtype dtype;
    enum { LARGE_PSUM, LARGE_ALL_GATHER, LARGE_PPERMUTE } kind;
};

static const struct large cases[] = {
    { "psum of 2^31 + 5 U8", JD_U8, LARGE_PSUM },
    { "all_gather of 2^31 + 5 U8", JD_U8, LARGE_ALL_GATHER },
    { "ppermute of 2^31 + 5 U8", JD_U8, LARGE_PPERMUTE },
    { "psum of 2^31 + 5 F32", JD_F32, LARGE_PSUM },
    { "all_gather of 2^31 + 5 F32", JD_F32, LARGE_ALL_GATHER },
    { "ppermute of 2^31 + 5 F32", JD_F32, LARGE_PPERMUTE },
};

/* Small whole numbers: their sums are exact in both types. */
static unsigned pattern(int member, size_t i)
{
    return (unsigned)((i * 2654435761U >> 13) + (size_t)member * 7) % 29;
}

static void write_block(jd_dtype dtype, void *block, size_t count, int member)
{
    for (size_t i = 0; i < count; i++)
        if (dtype == JD_U8)
            ((uint8_t *)block)[i] = (uint8_t)pattern(member, i);
        else
            ((float *)block)[i] = (float)pattern(member, i);
}

static unsigned read_element(jd_dtype dtype, const void *block, size_t i)
{
    return dtype == JD_U8 ? ((const uint8_t *)block)[i]
                          : (unsigned)((const float *)block)[i];
}

/* What should be at i: the sum of `terms` members' from the first on. */
static bool check_block(const struct large *large, const void *block,
                        size_t count, int first, int terms)
{
    for (size_t i = 0; i < count; i++) {
        unsigned wanted = 0;
        for (int m = first; m < first + terms; m++)
            wanted += pattern(m, i);
        unsigned got = read_element(large->dtype, block, i);
        if (got != (large->dtype == JD_U8 ? (uint8_t)wanted : wanted)) {
            fprintf(stderr, "conform: %s: element %zu is %u, not %u\n",
                    large->name, i, got, wanted);
            return false;
        }
    }
    return true;
}

/* Each member's part of an all_gather is such that all are over 2^31. */
static size_t count_of(const struct large *large, int members)
{
    return large->kind == LARGE_ALL_GATHER
               ? (COUNT + (size_t)members - 1) / (size_t)members
               : COUNT;
}

static size_t bytes_of(const struct large *large, int members)
{
    size_t count = count_of(large, members);
    if (large->kind == LARGE_ALL_GATHER)
        count *= (size_t)members;
    return count * jd_dtype_size(large->dtype);
}

struct errand {
    const struct large *large;
    void **blocks; /* by local ordinal */
    atomic_int failures;
};

static bool gather(jd_shard *shard, const struct large *large, char *block,
                   int members, int own, jd_status *status)
{
    size_t count = count_of(large, members);
    size_t bytes = count * jd_dtype_size(large->dtype);
    bool good = true;
    char *mine = block + (size_t)own * bytes;
    write_block(large->dtype, mine, count, own);
    *status = jd_all_gather(shard, NULL, mine, block, count, large->dtype);
    for (int i = 0; *status == JD_OK && i < members; i++)
        good =
            check_block(large, block + (size_t)i * bytes, count, i, 1) && good;
    return good;
}

/* The psum, or a ppermute by one member around. */
static bool move(jd_shard *shard, const struct large *large, char *block,
                 int members, int own, jd_status *status)
{
    jd_route routes[MAX_MEMBERS];
    bool is_sum = large->kind == LARGE_PSUM;
    for (int i = 0; i < members; i++)
        routes[i] = (jd_route){ i, (i + 1) % members };
    write_block(large->dtype, block, COUNT, own);
    if (is_sum)
        *status = jd_psum(shard, NULL, block, block, COUNT, large->dtype);
    else
        *status = jd_ppermute(shard, NULL, block, block, COUNT, large->dtype,
                              routes, members);
    return *status != JD_OK ||
           check_block(large, block, COUNT,
                       is_sum ? 0 : (own + members - 1) % members,
                       is_sum ? members : 1);
}

static jd_status run_large(jd_shard *shard, void *arg)
{
    struct errand *errand = arg;
    int members = jd_axis_size(shard, NULL), own = jd_axis_index(shard, NULL);
    char *block = errand->blocks[jd_shard_device(shard)->local_ordinal];
    jd_status status;
    bool good = errand->large->kind == LARGE_ALL_GATHER
                    ? gather(shard, errand->large, block, members, own, &status)
                    : move(shard, errand->large, block, members, own, &status);
    if (!good)
        atomic_fetch_add(&errand->failures, 1);
    return status;
}

/* The memory that this host could give, with 1 GiB left; 0: not known. */
static uint64_t free_bytes(void)
{
    char line[128];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib > 1 << 20 ? (kib << 10) - (UINT64_C(1) << 30) : 0;
}

/* The devices' memory, for all of them or for none: as process 0 sees it. */
static bool take_blocks(const struct large *large, bool is_on_gpus,
                        void **blocks, char why[256])
{
    int local, members = jd_device_count();
    const jd_device *const *devices = jd_local_devices(&local);
    size_t bytes = bytes_of(large, members);
    uint64_t all = (uint64_t)members * bytes, available = free_bytes();
    uint8_t is_enough = all <= available;
    jd_leaf leaf = { &is_enough, JD_U8, 0, NULL };
    if (is_on_gpus) {
        snprintf(why, 256, "the blocks are written by the host, in place");
        return false;
    }
    JD_CHECK(jd_broadcast_one_to_all(&leaf, 1, 0));
    snprintf(why, 256,
             "%.1f GiB are needed and %.1f GiB are free (1 GiB is left alone)",
             (double)all / (1 << 30), (double)available / (1 << 30));
    for (int i = 0; is_enough && i < local; i++)
        JD_CHECK(jd_device_alloc(devices[i], bytes, &blocks[i]));
    return is_enough;
}

static bool try_case(const struct large *large, bool is_on_gpus, jd_mesh *mesh)
{
    void *blocks[MAX_MEMBERS] = { NULL };
    char why[256];
    struct errand errand = { .large = large, .blocks = blocks };
    bool is_enough = take_blocks(large, is_on_gpus, blocks, why);
    if (is_enough)
        JD_CHECK(jd_shard_map(mesh, run_large, &errand));
    int failures = atomic_load(&errand.failures);
    for (int i = 0; i < MAX_MEMBERS; i++)
        JD_CHECK(jd_device_free(blocks[i]));
    if (is_enough && failures == 0 && jd_process_index() == 0)
        printf("large %s good\n", large->name);
    if (!is_enough && jd_process_index() == 0)
        printf("large %s skipped: %s\n", large->name, why);
    fflush(stdout);
    return failures == 0;
}

int try_large(const struct settings *settings)
{
    jd_mesh *mesh;
    bool good = true;
    JD_CHECK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        good = try_case(&cases[i], settings->is_on_gpus, mesh) && good;
    jd_mesh_destroy(mesh);
    return good ? 0 : 1;
}
