/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_blocks.c - which memory is allocated, and where it is.
 *
 * A device pointer is an address in a reservation without access: it is never
 * given twice, so that what uses freed memory is always found. The bytes are in
 * a mapping elsewhere, where only the stand-ins touch them.
 */
#include "cudart.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RESERVATION ((size_t)1 << 36)

enum { PAGE = 4096, MAX_RESERVATIONS = 64 };

/* Guarded by lock: the blocks by address, and the ranges out of which device
 * pointers are given, the last from used on. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct standin_block *blocks;
static int num_blocks;
static int capacity;
static char *reservations[MAX_RESERVATIONS];
static int num_reservations;
static size_t used;

static bool add_reservation(void)
{
    void *mapped;

    if (num_reservations == MAX_RESERVATIONS)
        return false;
    mapped = mmap(NULL, RESERVATION, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return false;
    reservations[num_reservations] = mapped;
    num_reservations++;
    used = 0;
    return true;
}

/* A page at least is between one block and the next. */
char *standin__reserve(size_t size)
{
    size_t needed = (size / PAGE + 2) * PAGE;
    char *address = NULL;

    pthread_mutex_lock(&lock);
    if ((num_reservations > 0 && used + needed <= RESERVATION) ||
        add_reservation()) {
        address = reservations[num_reservations - 1] + used;
        used += needed;
    }
    pthread_mutex_unlock(&lock);
    return address;
}

/* The last block that starts at or before the address; -1: none. */
static int find_index(const void *address)
{
    int low = 0;
    int high = num_blocks;

    while (low < high) {
        int middle = (low + high) / 2;
        if ((uintptr_t)blocks[middle].start <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

static const struct standin_block *find(const void *address)
{
    int i = find_index(address);

    if (i < 0 ||
        (uintptr_t)address - (uintptr_t)blocks[i].start >= blocks[i].size)
        return NULL;
    return &blocks[i];
}

static bool is_reserved(const void *address)
{
    for (int i = 0; i < num_reservations; i++) {
        if ((uintptr_t)address - (uintptr_t)reservations[i] < RESERVATION)
            return true;
    }
    return false;
}

void standin__block_add(const struct standin_block *block)
{
    int i;

    pthread_mutex_lock(&lock);
    if (num_blocks == capacity) {
        capacity = capacity == 0 ? 64 : 2 * capacity;
        blocks = realloc(blocks, (size_t)capacity * sizeof(*blocks));
        if (blocks == NULL)
            standin__fatal("no host memory for a table of memory");
    }
    i = find_index(block->start) + 1;
    memmove(&blocks[i + 1], &blocks[i],
            (size_t)(num_blocks - i) * sizeof(*blocks));
    blocks[i] = *block;
    num_blocks++;
    pthread_mutex_unlock(&lock);
}

bool standin__block_take(const void *start, bool is_pinned,
                         struct standin_block *ret_block)
{
    int i;
    bool is_there;

    pthread_mutex_lock(&lock);
    i = find_index(start);
    is_there =
        i >= 0 && blocks[i].start == start && blocks[i].is_pinned == is_pinned;
    if (is_there) {
        *ret_block = blocks[i];
        num_blocks--;
        memmove(&blocks[i], &blocks[i + 1],
                (size_t)(num_blocks - i) * sizeof(*blocks));
    }
    pthread_mutex_unlock(&lock);
    return is_there;
}

bool standin__block_find(const void *pointer, struct standin_block *ret_block)
{
    const struct standin_block *block;

    pthread_mutex_lock(&lock);
    block = find(pointer);
    if (block != NULL)
        *ret_block = *block;
    pthread_mutex_unlock(&lock);
    return block != NULL;
}

enum standin_place standin__place(const void *pointer, size_t bytes)
{
    const struct standin_block *block;
    enum standin_place place = STANDIN_PAGEABLE;

    pthread_mutex_lock(&lock);
    block = find(pointer);
    if (pointer == NULL || (block == NULL && is_reserved(pointer)))
        place = STANDIN_INVALID;
    else if (block != NULL &&
             (size_t)((const char *)pointer - block->start) + bytes >
                 block->size)
        place = STANDIN_INVALID;
    else if (block != NULL)
        place = block->is_pinned ? STANDIN_PINNED : STANDIN_DEVICE;
    pthread_mutex_unlock(&lock);
    return place;
}

void *standin_address(const void *pointer)
{
    const struct standin_block *block;
    char *bytes = (char *)(uintptr_t)pointer;

    pthread_mutex_lock(&lock);
    block = find(pointer);
    if (block != NULL)
        bytes = block->bytes + ((const char *)pointer - block->start);
    else if (is_reserved(pointer))
        standin__fatal("%p is device memory that was freed, or behind an end",
                       (void *)bytes);
    pthread_mutex_unlock(&lock);
    return bytes;
}
