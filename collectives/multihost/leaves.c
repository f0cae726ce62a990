/* SPDX-License-Identifier: BSD-3-Clause */
/* leaves.c - lists of leaves: checked, described, walked through. */
#include "collectives/multihost/leaves.h"
#include "base/digest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* No call writes to a leaf that it says it reads. */
jd_leaf jd_leaf_in(const void *data, jd_dtype dtype, int ndim,
                   const int64_t *shape)
{
    return (jd_leaf){ (void *)data, dtype, ndim, shape };
}

static jd_status check_shape(const struct jd_leaf_list *list, size_t i,
                             size_t *ret_bytes)
{
    const jd_leaf *leaf = &list->leaves[i];
    size_t bytes = jd_dtype_size(leaf->dtype);
    bool is_empty = false;
    for (int d = 0; d < leaf->ndim; d++) {
        if (leaf->shape[d] < 0)
            return jd_fail(JD_INVALID_ARGUMENT,
                           "%s: %s[%zu].shape[%d] is %" PRId64
                           "; it is at least 0",
                           list->operation, list->name, i, d, leaf->shape[d]);
        is_empty = is_empty || leaf->shape[d] == 0;
    }
    for (int d = 0; d < leaf->ndim && !is_empty; d++) {
        if ((uint64_t)leaf->shape[d] > PTRDIFF_MAX / bytes)
            return jd_fail(JD_INVALID_ARGUMENT,
                           "%s: %s[%zu] has more elements than an address "
                           "space has room for",
                           list->operation, list->name, i);
        bytes *= (size_t)leaf->shape[d];
    }
    *ret_bytes = is_empty ? 0 : bytes;
    return JD_OK;
}

static jd_status check_leaf(const struct jd_leaf_list *list, size_t i,
                            size_t *ret_bytes)
{
    const jd_leaf *leaf = &list->leaves[i];
    if (jd_dtype_size(leaf->dtype) == 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: %s[%zu].dtype is %d, which is no jd_dtype",
                       list->operation, list->name, i, (int)leaf->dtype);
    if (leaf->ndim < 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: %s[%zu].ndim is %d; it is at least 0",
                       list->operation, list->name, i, leaf->ndim);
    if (leaf->ndim > 0 && !leaf->shape)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: %s[%zu].shape is NULL and its ndim %d; only a "
                       "scalar needs no shape",
                       list->operation, list->name, i, leaf->ndim);
    jd_status status = check_shape(list, i, ret_bytes);
    if (status == JD_OK && *ret_bytes && !leaf->data)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: %s[%zu].data is NULL; only a leaf without "
                       "elements needs no data",
                       list->operation, list->name, i);
    return status;
}

jd_status jd__leaves_check(const struct jd_leaf_list *list, size_t *ret_bytes)
{
    size_t total = 0, bytes = 0;
    if (list->count && !list->leaves)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: %s is NULL and num_leaves is %zu", list->operation,
                       list->name, list->count);
    for (size_t i = 0; i < list->count; i++) {
        jd_status status = check_leaf(list, i, &bytes);
        if (status != JD_OK)
            return status;
        total += bytes;
    }
    *ret_bytes = total;
    return JD_OK;
}

size_t jd__leaf_elements(const jd_leaf *leaf)
{
    size_t elements = 1;
    for (int d = 0; d < leaf->ndim; d++)
        elements *= (size_t)leaf->shape[d];
    return elements;
}

size_t jd__leaf_bytes(const jd_leaf *leaf)
{
    return jd__leaf_elements(leaf) * jd_dtype_size(leaf->dtype);
}

uint64_t jd__leaves_digest(const jd_leaf *leaves, size_t count)
{
    uint64_t digest = jd__digest(0, &count, sizeof count);
    for (size_t i = 0; i < count; i++) {
        int64_t head[2] = { leaves[i].dtype, leaves[i].ndim };
        digest = jd__digest(digest, head, sizeof head);
        digest = jd__digest(digest, leaves[i].shape,
                            (size_t)leaves[i].ndim * sizeof(int64_t));
    }
    return digest;
}

/* Appends to text, which holds size bytes and used of them. */
__attribute__((format(printf, 4, 5))) static void
append_text(char *text, size_t size, size_t *used, const char *format, ...)
{
    if (*used >= size)
        return;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text + *used, size - *used, format, args);
    va_end(args);
    *used += length > 0 ? (size_t)length : 0;
}

void jd__leaf_print(const jd_leaf *leaf, char *text, size_t size)
{
    size_t used = 0;
    append_text(text, size, &used, "%s[", jd_dtype_name(leaf->dtype));
    for (int d = 0; d < leaf->ndim; d++)
        append_text(text, size, &used, d ? ",%" PRId64 : "%" PRId64,
                    leaf->shape[d]);
    append_text(text, size, &used, "]");
}

void jd__leaves_print(const jd_leaf *leaves, size_t count, char *text,
                      size_t size)
{
    size_t used = 0;
    append_text(text, size, &used, "%zu %s", count,
                count == 1 ? "leaf" : "leaves");
    for (size_t i = 0; i < count; i++) {
        char one[96];
        jd__leaf_print(&leaves[i], one, sizeof one);
        if (used + strlen(one) + sizeof ", ..." >= size) {
            append_text(text, size, &used, ", ...");
            return;
        }
        append_text(text, size, &used, "%s %s", i ? "," : ":", one);
    }
}

void jd__leaf_print_index(const jd_leaf *leaf, size_t n, char *text,
                          size_t size)
{
    size_t used = 0, below = jd__leaf_elements(leaf);
    append_text(text, size, &used, "[");
    for (int d = 0; d < leaf->ndim; d++) {
        below /= (size_t)leaf->shape[d];
        append_text(text, size, &used, d ? ",%zu" : "%zu", n / below);
        n %= below;
    }
    append_text(text, size, &used, "]");
}

bool jd__leaves_walk_next(struct jd_leaf_walk *walk, size_t room,
                          struct jd_leaf_range *ret_range)
{
    while (walk->leaf < walk->count &&
           walk->offset == jd__leaf_bytes(&walk->leaves[walk->leaf])) {
        walk->leaf++;
        walk->offset = 0;
    }
    if (walk->leaf == walk->count)
        return false;
    const jd_leaf *leaf = &walk->leaves[walk->leaf];
    size_t left = jd__leaf_bytes(leaf) - walk->offset;
    size_t fits = room - room % jd_dtype_size(leaf->dtype);
    *ret_range = (struct jd_leaf_range){
        .leaf = walk->leaf,
        .offset = walk->offset,
        .bytes = left < fits ? left : fits,
    };
    walk->offset += ret_range->bytes;
    return ret_range->bytes > 0;
}

size_t jd__leaves_walk_pack(struct jd_leaf_walk *walk, void *buffer,
                            size_t size)
{
    size_t used = 0;
    struct jd_leaf_range range;
    while (jd__leaves_walk_next(walk, size - used, &range)) {
        const char *from = walk->leaves[range.leaf].data;
        if (buffer)
            memcpy((char *)buffer + used, from + range.offset, range.bytes);
        used += range.bytes;
    }
    return used;
}

void jd__leaves_walk_unpack(struct jd_leaf_walk *walk, const void *buffer,
                            size_t bytes, const jd_leaf *to, size_t copy)
{
    size_t used = 0;
    struct jd_leaf_range range;
    while (used < bytes && jd__leaves_walk_next(walk, bytes - used, &range)) {
        size_t leaf_bytes = jd__leaf_bytes(&walk->leaves[range.leaf]);
        char *place = (char *)to[range.leaf].data + copy * leaf_bytes;
        memcpy(place + range.offset, (const char *)buffer + used, range.bytes);
        used += range.bytes;
    }
}
