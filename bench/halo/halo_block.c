/* SPDX-License-Identifier: BSD-3-Clause */
/* halo_block.c - what stands in a block of `jd-bench halo`. */
#include "bench/halo/halo.h"

#include <string.h>

enum { UNTOUCHED = 0xEE, MAX_ELEMENT = 16 };

/* Where an element is: in its block, and of which of its dimensions in a halo.
 */
struct element {
    int64_t at[JD_MAX_NDIM]; /* 0: the first own one */
    int halos;
};

static int64_t length_of(const struct halo_request *r, int d)
{
    return r->own[d] + 2 * r->width;
}

static size_t count_elements(const struct halo_request *r)
{
    size_t count = 1;
    for (int d = 0; d < r->ndim; d++)
        count *= (size_t)length_of(r, d);
    return count;
}

size_t halo_block_bytes(const struct halo_request *r)
{
    return count_elements(r) * jd_dtype_size(r->dtype);
}

static struct element find_element(const struct halo_request *r, size_t number)
{
    struct element e = { .halos = 0 };
    for (int d = r->ndim - 1; d >= 0; d--) {
        size_t length = (size_t)length_of(r, d);
        e.at[d] = (int64_t)(number % length) - r->width;
        number /= length;
        e.halos += e.at[d] < 0 || e.at[d] >= r->own[d];
    }
    return e;
}

/* Its number in the whole, from 1, around the ends where it is periodic; 0:
 * there is none. */
static uint64_t number_in_whole(const struct halo_request *r,
                                const struct halo_place *place,
                                const struct element *e)
{
    uint64_t number = 0;
    for (int d = 0; d < r->ndim; d++) {
        int64_t whole = r->own[d] * place->counts[d];
        int64_t at = r->own[d] * place->coords[d] + e->at[d];
        if (!r->is_periodic && (at < 0 || at >= whole))
            return 0;
        number =
            number * (uint64_t)whole + (uint64_t)((at % whole + whole) % whole);
    }
    return number + 1;
}

/* An element's bytes: of its number, mixed, so that short types tell too. */
static void write_element(uint64_t number, size_t size, unsigned char *bytes)
{
    memset(bytes, UNTOUCHED, MAX_ELEMENT);
    number *= 0x9E3779B97F4A7C15u;
    for (size_t i = 0; number && i < size; i++)
        bytes[i] = (unsigned char)(number >> (56 - 8 * (i % 8)));
}

void halo_block_fill(const struct halo_request *r,
                     const struct halo_place *place, void *block)
{
    size_t count = count_elements(r), size = jd_dtype_size(r->dtype);
    unsigned char bytes[MAX_ELEMENT];
    for (size_t i = 0; i < count; i++) {
        struct element e = find_element(r, i);
        write_element(e.halos ? 0 : number_in_whole(r, place, &e), size, bytes);
        memcpy((char *)block + i * size, bytes, size);
    }
}

size_t halo_block_wrong(const struct halo_request *r,
                        const struct halo_place *place, const void *block)
{
    size_t count = count_elements(r), size = jd_dtype_size(r->dtype), wrong = 0;
    unsigned char bytes[MAX_ELEMENT];
    for (size_t i = 0; i < count; i++) {
        struct element e = find_element(r, i);
        write_element(e.halos > 1 ? 0 : number_in_whole(r, place, &e), size,
                      bytes);
        wrong += memcmp((const char *)block + i * size, bytes, size) != 0;
    }
    return wrong;
}
