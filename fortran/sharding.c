/* SPDX-License-Identifier: BSD-3-Clause */
/* sharding.c - the shardings of jd_array.h for Fortran. */
#include "fortran/sharding.h"

#include "fortran/mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes and specs in Fortran's order -------------------------------- */

jd_status jdf_shape_take(const struct jdf_call *call, const char *name,
                         const CFI_cdesc_t *shape, struct jdf_shape *ret_shape)
{
    bool is_long = shape->type == CFI_type_int64_t;
    if (shape->rank != 1 || (!is_long && shape->type != CFI_type_int32_t))
        return jd_fail_with(JD_INVALID_ARGUMENT,
                            "%s: %s is no list of integers of 4 or 8 bytes; "
                            "pass one length for each dimension, as shape(x)",
                            call->name, name);
    ret_shape->ndim = (int)shape->dim[0].extent;
    if (ret_shape->ndim < 0 || ret_shape->ndim > JD_MAX_NDIM)
        return jd_fail_with(JD_INVALID_ARGUMENT,
                            "%s: %s has %d lengths; an array has at most %d "
                            "dimensions",
                            call->name, name, ret_shape->ndim, JD_MAX_NDIM);
    for (int i = 0; i < ret_shape->ndim; i++) {
        const void *at =
            (const char *)shape->base_addr + (ptrdiff_t)i * shape->dim[0].sm;
        ret_shape->lengths[ret_shape->ndim - 1 - i] =
            is_long ? *(const int64_t *)at : *(const int32_t *)at;
    }
    return JD_OK;
}

jd_status jdf_sharding_check(const struct jdf_call *call,
                             const struct jdf_sharding *sharding, int ndim)
{
    if (!sharding->c || sharding->ndim < 0 || ndim < 0 ||
        sharding->ndim == ndim)
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: the sharding is one of arrays of %d dimensions, "
                        "and this one has %d; give its spec an entry for each, "
                        "or say ndim= where it is made",
                        call->name, sharding->ndim, ndim);
}

static int count_entries(const char *spec)
{
    int n = *spec != '\0';
    for (; *spec; spec++)
        n += *spec == ',';
    return n;
}

/* Writes the entries from the last to the first, behind what is there. */
static void append_turned(char *to, const char *spec)
{
    const char *begin, *end = spec + strlen(spec);
    bool follows = *to != '\0';
    do {
        for (begin = end; begin > spec && begin[-1] != ',';)
            begin--;
        strcat(to, follows ? "," : "");
        strncat(to, begin, (size_t)(end - begin));
        follows = true;
        end = begin - 1;
    } while (begin > spec);
}

static jd_status fail_no_memory(const struct jdf_call *call)
{
    return jd_fail_with(JD_RESOURCE_EXHAUSTED,
                        "%s: no memory for a spec; free memory on this host",
                        call->name);
}

/* The spec with ndim entries, in the other order: free() it. */
static jd_status turn(const struct jdf_call *call, const char *spec, int ndim,
                      char **ret_spec)
{
    int missing = ndim - count_entries(spec);
    char *turned = calloc(1, strlen(spec) + 2 * (size_t)JD_MAX_NDIM + 2);
    if (!turned)
        return fail_no_memory(call);
    for (int i = 0; i < missing; i++)
        strcat(turned, i > 0 ? ",-" : "-");
    if (*spec)
        append_turned(turned, spec);
    *ret_spec = turned;
    return JD_OK;
}

jd_status jdf_spec_turn(const struct jdf_call *call, const CFI_cdesc_t *spec,
                        int ndim, char **ret_spec, int *ret_ndim)
{
    struct jdf_text text;
    jd_status status = jdf_text_take(call, spec, &text);
    int entries = status == JD_OK ? count_entries(text.text) : 0;
    *ret_ndim = ndim < 0 ? entries : ndim;
    if (status == JD_OK && (entries > *ret_ndim || *ret_ndim > JD_MAX_NDIM))
        status = jd_fail_with(JD_INVALID_ARGUMENT,
                              "%s: the spec \"%s\" has %d entries, for arrays "
                              "of %d dimensions; there is at most one for "
                              "each, and an array has at most %d",
                              call->name, text.text, entries, *ret_ndim,
                              JD_MAX_NDIM);
    if (status == JD_OK)
        status = turn(call, text.text, *ret_ndim, ret_spec);
    jdf_text_drop(&text);
    return status;
}

void jdf_ranges_turn(int ndim, const jd_range *ranges, int64_t *first,
                     int64_t *last)
{
    for (int i = 0; i < ndim; i++) {
        first[i] = ranges[ndim - 1 - i].begin + 1;
        last[i] = ranges[ndim - 1 - i].end;
    }
}

/* ---- shardings ---------------------------------------------------------- */

typedef jd_status (*create_f)(jd_sharding **ret_sharding, const jd_mesh *mesh,
                              const char *spec);

static void create(const struct jdf_call *call, create_f make,
                   struct jdf_sharding *ret_sharding, const jd_mesh *mesh,
                   const CFI_cdesc_t *spec, const int *ndim)
{
    struct jdf_sharding made;
    char *turned = NULL;
    jd_status status =
        jdf_spec_turn(call, spec, ndim ? *ndim : -1, &turned, &made.ndim);
    if (status == JD_OK)
        status = make(&made.c, mesh, turned);
    if (status == JD_OK) {
        if (*jd_sharding_spec(made.c) == '\0')
            made.ndim = -1;
        *ret_sharding = made;
    }
    free(turned);
    jdf_end(call, status);
}

JD_API void jdf_sharding_create(struct jdf_sharding *ret_sharding,
                                jd_mesh *const *mesh, const CFI_cdesc_t *spec,
                                const int *ndim, JDF_OUTCOME)
{
    JDF_CALL("jd_sharding_create");
    create(&call, jd_sharding_create, ret_sharding, *mesh, spec, ndim);
}

JD_API void jdf_sharding_create_even(struct jdf_sharding *ret_sharding,
                                     jd_mesh *const *mesh,
                                     const CFI_cdesc_t *spec, const int *ndim,
                                     JDF_OUTCOME)
{
    JDF_CALL("jd_sharding_create_even");
    create(&call, jd_sharding_create_even, ret_sharding, *mesh, spec, ndim);
}

JD_API void jdf_sharding_release(struct jdf_sharding *sharding)
{
    jd_sharding_release(sharding->c);
    *sharding = (struct jdf_sharding){ NULL, -1 };
}

/* C's spec in Fortran's order, with an entry for each dimension of one that is
 * cut: free() it. */
static jd_status spec_of(const struct jdf_call *call,
                         const struct jdf_sharding *sharding, char **ret_spec)
{
    const char *spec = jd_sharding_spec(sharding->c);
    if (!spec)
        return JD_INVALID_ARGUMENT;
    char *padded = calloc(1, strlen(spec) + 2 * (size_t)JD_MAX_NDIM + 1);
    if (!padded)
        return fail_no_memory(call);
    strcpy(padded, spec);
    for (int n = count_entries(spec); n < sharding->ndim; n++)
        strcat(padded, *padded ? ",-" : "-");
    jd_status status = turn(call, padded, 0, ret_spec);
    free(padded);
    return status;
}

JD_API void jdf_sharding_spec(const struct jdf_sharding *sharding,
                              CFI_cdesc_t *ret_spec, int *stat)
{
    JDF_CALL_WITHIN("jd_sharding_spec");
    char *spec = NULL;
    jd_status status = spec_of(&call, sharding, &spec);
    size_t length = spec ? strlen(spec) : 0;
    while (length >= 2 && memcmp(spec + length - 2, ",-", 2) == 0)
        length -= 2;
    jd_status given = jdf_bytes_give(&call, ret_spec, spec, length);
    free(spec);
    jdf_end(&call, status == JD_OK ? given : status);
}

JD_API bool jdf_sharding_is_replicated(const struct jdf_sharding *sharding)
{
    return jd_sharding_is_fully_replicated(sharding->c) != 0;
}

JD_API bool jdf_sharding_is_addressable(const struct jdf_sharding *sharding)
{
    return jd_sharding_is_fully_addressable(sharding->c) != 0;
}

static bool is_of_rank(const struct jdf_sharding *sharding, int ndim)
{
    return sharding->ndim < 0 || sharding->ndim == ndim;
}

JD_API bool jdf_sharding_is_equivalent(const struct jdf_sharding *a,
                                       const struct jdf_sharding *b,
                                       const int *ndim)
{
    return is_of_rank(a, *ndim) && is_of_rank(b, *ndim) &&
           jd_sharding_is_equivalent(a->c, b->c, *ndim);
}

JD_API void jdf_sharding_mesh(jd_mesh **ret_mesh,
                              const struct jdf_sharding *sharding, JDF_OUTCOME)
{
    JDF_CALL("jd_sharding_mesh");
    jdf_end(&call, jd_sharding_mesh(ret_mesh, sharding->c));
}

/* ---- which elements are where ------------------------------------------- */

/* The shape of an array that the sharding is for. */
static jd_status take_shape(const struct jdf_call *call,
                            const struct jdf_sharding *sharding,
                            const CFI_cdesc_t *shape,
                            struct jdf_shape *ret_shape)
{
    jd_status status = jdf_shape_take(call, "shape", shape, ret_shape);
    return status == JD_OK ? jdf_sharding_check(call, sharding, ret_shape->ndim)
                           : status;
}

static jd_status check_room(const struct jdf_call *call, const char *name,
                            const CFI_cdesc_t *list, int ndim)
{
    if (jdf_count(list) == (size_t)ndim)
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: %s has %zu elements, and shape %d; they have as "
                        "many",
                        call->name, name, jdf_count(list), ndim);
}

JD_API void jdf_sharding_index(const struct jdf_sharding *sharding,
                               const CFI_cdesc_t *shape,
                               const jd_device *const *device,
                               const CFI_cdesc_t *first,
                               const CFI_cdesc_t *last, int *ret_replica_id,
                               int *stat)
{
    JDF_CALL_WITHIN("jd_sharding_index");
    struct jdf_shape whole;
    jd_range index[JD_MAX_NDIM];
    jd_status status = take_shape(&call, sharding, shape, &whole);
    if (status == JD_OK)
        status = check_room(&call, "first", first, whole.ndim);
    if (status == JD_OK)
        status = check_room(&call, "last", last, whole.ndim);
    if (status == JD_OK)
        status = jd_sharding_index(sharding->c, whole.ndim, whole.lengths,
                                   *device, index, ret_replica_id);
    if (status == JD_OK)
        jdf_ranges_turn(whole.ndim, index, jdf_first(first), jdf_first(last));
    jdf_end(&call, status);
}

JD_API void jdf_sharding_shard_shape(const struct jdf_sharding *sharding,
                                     const CFI_cdesc_t *shape,
                                     const CFI_cdesc_t *longest, JDF_OUTCOME)
{
    JDF_CALL("jd_sharding_shard_shape");
    struct jdf_shape whole;
    int64_t lengths[JD_MAX_NDIM], *to = jdf_first(longest);
    jd_status status = take_shape(&call, sharding, shape, &whole);
    if (status == JD_OK)
        status = check_room(&call, "shard_shape", longest, whole.ndim);
    if (status == JD_OK)
        status = jd_sharding_shard_shape(sharding->c, whole.ndim, whole.lengths,
                                         lengths);
    for (int i = 0; status == JD_OK && i < whole.ndim; i++)
        to[i] = lengths[whole.ndim - 1 - i];
    jdf_end(&call, status);
}

/* ---- pictures ----------------------------------------------------------- */

/* A sharding of the same devices whose spec has Fortran's order, so that the
 * picture's rows and columns are Fortran's. */
static jd_status make_turned(const struct jdf_call *call,
                             const struct jdf_sharding *sharding,
                             jd_sharding **ret_turned)
{
    char *spec = NULL;
    jd_mesh *mesh = NULL;
    jd_status status = jd_sharding_mesh(&mesh, sharding->c);
    if (status == JD_OK)
        status = spec_of(call, sharding, &spec);
    if (status == JD_OK)
        status = jd_sharding_create(ret_turned, mesh, spec);
    free(spec);
    jd_mesh_destroy(mesh);
    return status;
}

jd_status jdf_sharding_draw(const struct jdf_call *call,
                            jdf_sharding_drawer drawer,
                            const struct jdf_sharding *sharding, int ndim,
                            const int64_t *shape, CFI_cdesc_t *ret_picture)
{
    int64_t turned_shape[JD_MAX_NDIM], longest[JD_MAX_NDIM];
    jd_sharding *turned = NULL;
    struct jdf_picture picture;
    for (int i = 0; i < ndim; i++)
        turned_shape[i] = shape[ndim - 1 - i];
    jd_status status = jdf_picture_begin(call, &picture);
    if (status != JD_OK)
        return status;
    status = jd_sharding_shard_shape(sharding->c, ndim, shape, longest);
    if (status == JD_OK)
        status = make_turned(call, sharding, &turned);
    if (status == JD_OK)
        status = drawer(turned, ndim, turned_shape, picture.out);
    jd_sharding_release(turned);
    return jdf_picture_end(call, &picture, status, ret_picture);
}

static jd_status draw_shape(const struct jdf_call *call,
                            jdf_sharding_drawer drawer,
                            const struct jdf_sharding *sharding,
                            const CFI_cdesc_t *shape, CFI_cdesc_t *ret_picture)
{
    struct jdf_shape whole;
    jd_status status = take_shape(call, sharding, shape, &whole);
    if (status == JD_OK)
        status = jdf_sharding_draw(call, drawer, sharding, whole.ndim,
                                   whole.lengths, ret_picture);
    return status;
}

JD_API void jdf_visualize_sharding(const struct jdf_sharding *sharding,
                                   const CFI_cdesc_t *shape,
                                   CFI_cdesc_t *ret_picture, int *stat)
{
    JDF_CALL_WITHIN("jd_visualize_sharding");
    jdf_end(&call, draw_shape(&call, jd_visualize_sharding, sharding, shape,
                              ret_picture));
}

JD_API void jdf_visualize_sharding_svg(const struct jdf_sharding *sharding,
                                       const CFI_cdesc_t *shape,
                                       CFI_cdesc_t *ret_picture, int *stat)
{
    JDF_CALL_WITHIN("jd_visualize_sharding_svg");
    jdf_end(&call, draw_shape(&call, jd_visualize_sharding_svg, sharding, shape,
                              ret_picture));
}
