/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * large.c - counts over 2^31, in place to need little memory; skipped aloud
 * where there is too little. The host writes the blocks, and looks at them, by
 * pieces that are copied, as they may be a GPU's.
 */
#include "conform.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_ALONE ((uint64_t)1 << 30) /* of the memory there is */

enum { PIECE = 1 << 20 }; /* elements that are copied at a time */

/* One large call; what member m gives at i is pattern(m, i). */
struct large {
    const char *call;
    jd_dtype dtype;
    enum { LARGE_PSUM, LARGE_ALL_GATHER, LARGE_PPERMUTE } kind;
};

static const struct large cases[] = {
    { "psum", JD_U8, LARGE_PSUM },
    { "all_gather", JD_U8, LARGE_ALL_GATHER },
    { "ppermute", JD_U8, LARGE_PPERMUTE },
    { "psum", JD_F32, LARGE_PSUM },
    { "all_gather", JD_F32, LARGE_ALL_GATHER },
    { "ppermute", JD_F32, LARGE_PPERMUTE },
};

/* A case in hand. */
struct errand {
    const struct large *large;
    const char *name;
    size_t count;  /* the case's */
    void **blocks; /* by local ordinal */
    atomic_int failures;
};

/* ---- what the blocks hold ----------------------------------------------- */

/* Small whole numbers: their sums are exact in both types. */
static unsigned pattern(int member, size_t i)
{
    return (unsigned)((i * 2654435761U >> 13) + (size_t)member * 7) % 29;
}

/* Those from `first` on. */
static void write_piece(jd_dtype dtype, void *piece, size_t first, size_t count,
                        int member)
{
    for (size_t i = 0; i < count; i++)
        if (dtype == JD_U8)
            ((uint8_t *)piece)[i] = (uint8_t)pattern(member, first + i);
        else
            ((float *)piece)[i] = (float)pattern(member, first + i);
}

static void write_block(jd_dtype dtype, char *block, size_t count, int member)
{
    size_t size = jd_dtype_size(dtype);
    void *piece = malloc(PIECE * size);
    for (size_t first = 0; first < count; first += PIECE) {
        size_t part = count - first < PIECE ? count - first : PIECE;
        write_piece(dtype, piece, first, part, member);
        JD_CHECK(jd_device_copy(block + first * size, piece, part * size));
    }
    free(piece);
}

static unsigned read_element(jd_dtype dtype, const void *piece, size_t i)
{
    return dtype == JD_U8 ? ((const uint8_t *)piece)[i]
                          : (unsigned)((const float *)piece)[i];
}

/* What should be at i: the sum of `terms` members' from member on. */
static bool check_piece(const struct errand *errand, const void *piece,
                        size_t first, size_t count, int member, int terms)
{
    jd_dtype dtype = errand->large->dtype;
    for (size_t i = 0; i < count; i++) {
        unsigned wanted = 0, got = read_element(dtype, piece, i);
        for (int m = member; m < member + terms; m++)
            wanted += pattern(m, first + i);
        if (got != (dtype == JD_U8 ? (uint8_t)wanted : wanted)) {
            fprintf(stderr, "conform: %s: element %zu is %u, not %u\n",
                    errand->name, first + i, got, wanted);
            return false;
        }
    }
    return true;
}

static bool check_block(const struct errand *errand, const char *block,
                        size_t count, int member, int terms)
{
    size_t size = jd_dtype_size(errand->large->dtype);
    void *piece = malloc(PIECE * size);
    bool good = true;
    for (size_t first = 0; good && first < count; first += PIECE) {
        size_t part = count - first < PIECE ? count - first : PIECE;
        JD_CHECK(jd_device_copy(piece, block + first * size, part * size));
        good = check_piece(errand, piece, first, part, member, terms);
    }
    free(piece);
    return good;
}

/* ---- the calls ---------------------------------------------------------- */

/* Each member's part of an all_gather is such that all are over 2^31. */
static size_t count_of(const struct errand *errand, int members)
{
    return errand->large->kind == LARGE_ALL_GATHER
               ? (errand->count + (size_t)members - 1) / (size_t)members
               : errand->count;
}

static size_t bytes_of(const struct errand *errand, int members)
{
    size_t count = count_of(errand, members);
    if (errand->large->kind == LARGE_ALL_GATHER)
        count *= (size_t)members;
    return count * jd_dtype_size(errand->large->dtype);
}

static bool gather(jd_shard *shard, const struct errand *errand, char *block,
                   int members, int own, jd_status *status)
{
    jd_dtype dtype = errand->large->dtype;
    size_t count = count_of(errand, members);
    size_t bytes = count * jd_dtype_size(dtype);
    bool good = true;
    char *mine = block + (size_t)own * bytes;
    write_block(dtype, mine, count, own);
    *status = jd_all_gather(shard, NULL, mine, block, count, dtype);
    if (*status == JD_OK)
        *status = jd_shard_synchronize(shard);
    for (int i = 0; *status == JD_OK && i < members; i++)
        good =
            check_block(errand, block + (size_t)i * bytes, count, i, 1) && good;
    return good;
}

/* The psum, or a ppermute by one member around. */
static bool move(jd_shard *shard, const struct errand *errand, char *block,
                 int members, int own, jd_status *status)
{
    jd_dtype dtype = errand->large->dtype;
    size_t count = errand->count;
    jd_route routes[MAX_MEMBERS];
    bool is_sum = errand->large->kind == LARGE_PSUM;
    for (int i = 0; i < members; i++)
        routes[i] = (jd_route){ i, (i + 1) % members };
    write_block(dtype, block, count, own);
    if (is_sum)
        *status = jd_psum(shard, NULL, block, block, count, dtype);
    else
        *status = jd_ppermute(shard, NULL, block, block, count, dtype, routes,
                              members);
    if (*status == JD_OK)
        *status = jd_shard_synchronize(shard);
    return *status != JD_OK ||
           check_block(errand, block, count,
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
                    ? gather(shard, errand, block, members, own, &status)
                    : move(shard, errand, block, members, own, &status);
    if (!good)
        atomic_fetch_add(&errand->failures, 1);
    return status;
}

/* ---- memory ------------------------------------------------------------- */

/* The memory that this host could give, with what is left alone; 0: not
 * known. */
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
    return kib << 10 > LEFT_ALONE ? (kib << 10) - LEFT_ALONE : 0;
}

static double in_gib(uint64_t bytes)
{
    return (double)bytes / (1 << 30);
}

/* Whether the host has it, as process 0 sees it: what is allocated there is
 * taken at its first use. */
static bool host_has(uint64_t bytes, char why[512])
{
    uint64_t available = free_bytes();
    uint8_t is_enough = bytes <= available;
    jd_leaf leaf = { &is_enough, JD_U8, 0, NULL };
    JD_CHECK(jd_broadcast_one_to_all(&leaf, 1, 0));
    snprintf(why, 512,
             "%.1f GiB are needed and %.1f GiB are free (1 GiB is left alone)",
             in_gib(bytes), in_gib(available));
    return is_enough;
}

static void give_back(int count, void **blocks)
{
    for (int i = 0; i < count; i++) {
        JD_CHECK(jd_device_free(blocks[i]));
        blocks[i] = NULL;
    }
}

/* Room for what jd and NCCL take beside a block of so many bytes. */
static size_t spare_of(size_t bytes)
{
    return bytes < LEFT_ALONE ? bytes : LEFT_ALONE;
}

/* Each local device's block, and that it has room beside. */
static bool take_local(size_t bytes, void **blocks, void **spare)
{
    int local;
    const jd_device *const *devices = jd_local_devices(&local);
    for (int i = 0; i < local; i++)
        if (jd_device_alloc(devices[i], bytes, &blocks[i]) != JD_OK ||
            jd_device_alloc(devices[i], spare_of(bytes), &spare[i]) != JD_OK)
            return false;
    return true;
}

/* GPUs are asked, all at once, as processes may share one. */
static bool gpus_have(size_t bytes, void **blocks, char why[512])
{
    void *spare[MAX_MEMBERS] = { NULL };
    uint8_t has_all = take_local(bytes, blocks, spare);
    uint8_t all[MAX_MEMBERS];
    jd_leaf in = { &has_all, JD_U8, 0, NULL };
    jd_leaf out = { all, JD_U8, 1, (int64_t[]){ jd_process_count() } };
    snprintf(why, 512, "each GPU needs %.1f GiB, and %.1f GiB beside: %s",
             in_gib(bytes), in_gib(spare_of(bytes)),
             has_all ? "another process's has not" : jd_error_message());
    JD_CHECK(jd_process_allgather(&in, &out, 1, 0));
    give_back(MAX_MEMBERS, spare);
    for (int i = 0; i < jd_process_count(); i++)
        has_all = has_all && all[i];
    return has_all;
}

/* The devices' memory, for all of them or for none. */
static bool take_blocks(const struct errand *errand, bool is_on_gpus,
                        char why[512])
{
    int local, members = jd_device_count();
    const jd_device *const *devices = jd_local_devices(&local);
    size_t bytes = bytes_of(errand, members);
    if (is_on_gpus)
        return gpus_have(bytes, errand->blocks, why);
    if (!host_has((uint64_t)members * bytes, why))
        return false;
    for (int i = 0; i < local; i++)
        JD_CHECK(jd_device_alloc(devices[i], bytes, &errand->blocks[i]));
    return true;
}

/* ---- all ---------------------------------------------------------------- */

static void print_name(const struct large *large, size_t count, char *text,
                       size_t size)
{
    char number[32];
    snprintf(number, sizeof number, "%zu", count);
    snprintf(text, size, "%s of %s %s", large->call,
             count == LARGE_COUNT ? "2^31 + 5" : number,
             jd_dtype_name(large->dtype));
}

static bool try_case(const struct large *large, const struct settings *settings,
                     jd_mesh *mesh)
{
    void *blocks[MAX_MEMBERS] = { NULL };
    char name[64], why[512];
    struct errand errand = { .large = large,
                             .name = name,
                             .count = settings->large_count,
                             .blocks = blocks };
    print_name(large, errand.count, name, sizeof name);
    bool is_enough = take_blocks(&errand, settings->is_on_gpus, why);
    if (is_enough)
        JD_CHECK(jd_shard_map(mesh, run_large, &errand));
    int failures = atomic_load(&errand.failures);
    give_back(MAX_MEMBERS, blocks);
    if (is_enough && failures == 0 && jd_process_index() == 0)
        printf("large %s good\n", name);
    if (!is_enough && jd_process_index() == 0)
        printf("large %s skipped: %s\n", name, why);
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
        good = try_case(&cases[i], settings, mesh) && good;
    jd_mesh_destroy(mesh);
    return good ? 0 : 1;
}
