/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attempt.c - one case: data into buffers, the call, and a comparison of all
 * bytes in and around out with what should be there.
 */
#include "conform.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GUARD 64  /* bytes around a region that nobody may touch */
#define BEGIN 128 /* where regions begin, aligned; then shifted */

/* The largest region: each member's block of the largest type and count. */
#define LARGEST_COUNT 65537
#define LARGEST_ELEMENT 16

struct memory {
    char *device[2];            /* in's, and out's or both's */
    char *host[2];              /* the same of malloc() */
    char *given, *wanted, *got; /* what is to go in, to be there, is there */
};

static size_t capacity(int members)
{
    return (size_t)members * LARGEST_COUNT * LARGEST_ELEMENT + 1024;
}

struct memory *memory_create(const jd_device *device, int members)
{
    struct memory *memory = calloc(1, sizeof *memory);
    size_t bytes = capacity(members);
    bool all = memory != NULL;
    for (int i = 0; all && i < 2; i++) {
        memory->host[i] = malloc(bytes);
        all = memory->host[i] &&
              jd_device_alloc(device, bytes, (void **)&memory->device[i]) ==
                  JD_OK;
    }
    if (all) {
        memory->given = malloc(bytes);
        memory->wanted = malloc(bytes);
        memory->got = malloc(bytes);
        all = memory->given && memory->wanted && memory->got;
    }
    if (all)
        return memory;
    fprintf(stderr, "conform: no memory for 7 buffers of %zu bytes: %s\n",
            bytes, jd_error_message());
    exit(1);
}

void memory_destroy(struct memory *memory)
{
    for (int i = 0; i < 2; i++) {
        free(memory->host[i]);
        jd_device_free(memory->device[i]);
    }
    free(memory->given);
    free(memory->wanted);
    free(memory->got);
    free(memory);
}

/* ---- where the buffers are ---------------------------------------------- */

/* Bytes of a buffer, with a guard before and after. */
struct region {
    char *start; /* the guard before it */
    bool is_device;
    size_t bytes; /* without guards */
};

/* The two regions of an attempt, or one that both are in. */
struct layout {
    struct region in, out;
    bool is_shared;
    size_t in_offset, out_offset; /* in the regions, bytes */
};

/* Which bit this member drew for its in (0), its out (1). */
static bool drew(const struct attempt *a, int which)
{
    uint64_t member = (uint64_t)member_id(a, a->span->index);
    return draw(a, 1000 + 2 * member + (uint64_t)which, 2);
}

static struct region make_region(const struct attempt *a, struct memory *memory,
                                 int which, size_t bytes)
{
    bool is_device = a->buffers == BUFFERS_DEVICE ||
                     (a->buffers != BUFFERS_MALLOC && drew(a, which));
    size_t unit = a->buffers == BUFFERS_OFF_ELEMENT ? a->size
                  : a->buffers == BUFFERS_OFF_BYTE  ? 1
                                                    : 0;
    size_t shift = unit * (1 + 2 * (size_t)which);
    char *base = is_device ? memory->device[which] : memory->host[which];
    return (struct region){ base + BEGIN - GUARD + shift, is_device, bytes };
}

/* In place, the region begins where the first of the two does. */
static struct layout make_layout(const struct attempt *a, struct memory *memory)
{
    struct layout layout = { .is_shared = a->buffers == BUFFERS_IN_PLACE &&
                                          a->place != NO_PLACE };
    size_t in = a->in_count * a->size, out = a->out_count * a->size;
    if (!layout.is_shared) {
        layout.in = make_region(a, memory, 0, in);
        layout.out = make_region(a, memory, 1, out);
        return layout;
    }
    if (a->place >= 0)
        layout.in_offset = (size_t)a->place * a->size;
    else
        layout.out_offset = (size_t)-a->place * a->size;
    size_t in_end = layout.in_offset + in, out_end = layout.out_offset + out;
    layout.out = make_region(a, memory, 1, in_end > out_end ? in_end : out_end);
    layout.in = layout.out;
    return layout;
}

/* What a region holds where nothing was written. */
static void scribble(const struct region *region, char *image)
{
    memset(image, 0xa5, region->bytes + 2 * (size_t)GUARD);
}

static void put(const struct region *region, const char *image)
{
    size_t bytes = region->bytes + 2 * (size_t)GUARD;
    if (region->is_device)
        jd_device_copy(region->start, image, bytes);
    else
        memcpy(region->start, image, bytes);
}

static const char *get(const struct region *region, char *image)
{
    size_t bytes = region->bytes + 2 * (size_t)GUARD;
    if (!region->is_device)
        return region->start;
    jd_device_copy(image, region->start, bytes);
    return image;
}

/* Makes the images of both regions, in `given` and `wanted`, and writes them.
 * Where there is one region, its image is in `wanted`. */
static void fill_regions(struct attempt *a, const struct layout *layout,
                         struct memory *memory)
{
    char *in = layout->is_shared ? memory->wanted : memory->given;
    scribble(&layout->out, memory->wanted);
    if (!layout->is_shared)
        scribble(&layout->in, memory->given);
    expect_given(a, a->span->index, 0, a->in_count,
                 in + GUARD + layout->in_offset);
    if (!layout->is_shared)
        put(&layout->in, memory->given);
    put(&layout->out, memory->wanted);
    a->in = layout->in.start + GUARD + layout->in_offset;
    a->out = layout->out.start + GUARD + layout->out_offset;
    if (a->in_count == 0 && draw(a, 3000, 2))
        a->in = NULL;
}

/* ---- the call ----------------------------------------------------------- */

/* Some members come late: as others' processes would make them. */
static void dawdle(const struct attempt *a)
{
    uint64_t member = (uint64_t)member_id(a, a->span->index);
    uint64_t kind = draw(a, 4000 + member, 32);
    uint64_t amount = draw(a, 5000 + member, 50);
    if (kind == 0) {
        struct timespec rest = { .tv_nsec = (long)amount * 6000 };
        nanosleep(&rest, NULL);
    }
    for (uint64_t i = 0; kind > 0 && kind < 4 && i < amount; i++)
        sched_yield();
}

static const char *kind_of(const struct layout *layout)
{
    static const char *const kinds[] = { "malloc to malloc", "malloc to device",
                                         "device to malloc",
                                         "device to device" };
    return kinds[2 * layout->in.is_device + layout->out.is_device];
}

/* The case and this member, in words. */
static void describe(const struct attempt *a, const struct layout *layout,
                     const char *title, FILE *out)
{
    fprintf(out, "%s, member %d of %d, %s%s", title, a->span->index,
            a->span->size, kind_of(layout),
            layout->is_shared ? " in place" : "");
}

static jd_status check_refusal(const struct attempt *a, jd_status status,
                               const char *title, struct tally *tally)
{
    const char *text = status == JD_OK ? "" : jd_error_message();
    if (status == JD_UNIMPLEMENTED && strstr(text, a->operation->call) &&
        strstr(text, jd_dtype_name(a->dtype)))
        return JD_OK;
    atomic_fetch_add(&tally->failures, 1);
    fprintf(stderr,
            "conform: %s: %s, not UNIMPLEMENTED with %s and %s in its "
            "sentence: %s\n",
            title, jd_status_name(status), a->operation->call,
            jd_dtype_name(a->dtype), text);
    return status == JD_UNIMPLEMENTED ? JD_OK : status;
}

/* ---- comparison --------------------------------------------------------- */

static void print_bits(const char *label, const char *at, size_t size)
{
    fprintf(stderr, "%s 0x", label);
    for (size_t i = size; i-- > 0;)
        fprintf(stderr, "%02x", (unsigned char)at[i]);
}

/* Says what differs at a byte of the region's image. */
static void complain(const struct attempt *a, const struct layout *layout,
                     const char *title, const char *got, const char *wanted,
                     size_t byte)
{
    size_t begin = GUARD + layout->out_offset, bytes = a->out_count * a->size;
    flockfile(stderr);
    fprintf(stderr, "conform: ");
    describe(a, layout, title, stderr);
    if (byte >= begin && byte < begin + bytes) {
        size_t element = (byte - begin) / a->size;
        size_t at = begin + element * a->size;
        fprintf(stderr, ": element %zu of %zu", element, a->out_count);
        print_bits(" is", got + at, a->size);
        print_bits(", not", wanted + at, a->size);
    } else {
        fprintf(stderr,
                ": byte %td from the beginning of out, of %zu, was "
                "changed to 0x%02x from 0x%02x",
                (ptrdiff_t)byte - (ptrdiff_t)begin, bytes,
                (unsigned char)got[byte], (unsigned char)wanted[byte]);
    }
    fprintf(stderr, "\n");
    funlockfile(stderr);
}

/* The first byte that differs; bytes where none does. */
static size_t first_difference(const char *a, const char *b, size_t bytes)
{
    size_t i = 0;
    if (bytes == 0 || memcmp(a, b, bytes) == 0)
        return bytes;
    while (a[i] == b[i])
        i++;
    return i;
}

/* Takes over from got those rows of a reduction that are as good as the ones
 * wanted, so that what differs afterwards is wrong. */
static void accept_other_orders(const struct attempt *a, const char *got,
                                char *wanted)
{
    size_t row_bytes = a->columns * a->size;
    for (size_t row = 0; row < a->rows; row++) {
        struct fold fold = row_fold(a, row);
        size_t good = fold_check(&fold, got + row * row_bytes);
        memcpy(wanted + row * row_bytes, got + row * row_bytes, good * a->size);
    }
}

static bool compare_out(const struct attempt *a, const struct layout *layout,
                        struct memory *memory, bool is_exact, const char *title)
{
    size_t bytes = layout->out.bytes + 2 * (size_t)GUARD;
    const char *got = get(&layout->out, memory->got);
    char *wanted = memory->wanted;
    size_t begin = GUARD + layout->out_offset;
    a->operation->expect(a, wanted + begin);
    if (!is_exact && a->out_count > 0)
        accept_other_orders(a, got + begin, wanted + begin);
    size_t byte = first_difference(got, wanted, bytes);
    if (byte < bytes)
        complain(a, layout, title, got, wanted, byte);
    return byte == bytes;
}

static bool compare_in(const struct attempt *a, const struct layout *layout,
                       struct memory *memory, const char *title)
{
    if (layout->is_shared)
        return true;
    size_t bytes = layout->in.bytes + 2 * (size_t)GUARD;
    const char *got = get(&layout->in, memory->got);
    size_t byte = first_difference(got, memory->given, bytes);
    if (byte == bytes)
        return true;
    flockfile(stderr);
    fprintf(stderr, "conform: ");
    describe(a, layout, title, stderr);
    fprintf(stderr, ": byte %td of in, of %zu, was changed\n",
            (ptrdiff_t)byte - GUARD, layout->in.bytes);
    funlockfile(stderr);
    return false;
}

/* What the result adds to the digests: a number that depends on the case, the
 * member, and each bit of its out. */
static uint64_t digest_of(const struct attempt *a, const char *wanted)
{
    uint64_t digest = a->salt ^ mix(a->span->group);
    const char *at = wanted;
    size_t bytes = a->out_count * a->size;
    digest = mix(digest + (uint64_t)member_id(a, a->span->index));
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, at + i, bytes - i < 8 ? bytes - i : 8);
        digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        digest ^= digest >> 29;
    }
    return mix(digest + bytes);
}

static void count_result(const struct attempt *a, const struct layout *layout,
                         struct memory *memory, struct tally *tally, bool good)
{
    const char *result = memory->wanted + GUARD + layout->out_offset;
    atomic_ullong *digest = is_order_seen(a->operation->reduce, a->dtype)
                                ? &tally->rounded
                                : &tally->exact;
    atomic_fetch_add(digest, digest_of(a, result));
    atomic_fetch_add(&tally->cases, 1);
    if (!good)
        atomic_fetch_add(&tally->failures, 1);
}

jd_status attempt_make(struct attempt *a, struct memory *memory,
                       const struct settings *settings, struct tally *tally,
                       const char *title)
{
    a->operation->plan(a);
    struct layout layout = make_layout(a, memory);
    fill_regions(a, &layout, memory);
    dawdle(a);
    jd_status status = a->operation->run(a);
    if (!has_meaning(a->operation->reduce, a->dtype))
        return check_refusal(a, status, title, tally);
    if (status == JD_OK)
        status = jd_shard_synchronize(a->span->shard);
    if (status != JD_OK) {
        flockfile(stderr);
        fprintf(stderr, "conform: ");
        describe(a, &layout, title, stderr);
        fprintf(stderr, ": %s: %s\n", jd_status_name(status),
                jd_error_message());
        funlockfile(stderr);
        return status;
    }
    bool is_exact = (settings->is_exact && !a->operation->is_scan) ||
                    !is_order_seen(a->operation->reduce, a->dtype);
    bool good = compare_out(a, &layout, memory, is_exact, title);
    good = compare_in(a, &layout, memory, title) && good;
    count_result(a, &layout, memory, tally, good);
    return JD_OK;
}
