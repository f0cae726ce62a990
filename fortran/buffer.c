/* SPDX-License-Identifier: BSD-3-Clause */
/* buffer.c - arrays of any type and rank as buffers. */
#include "fortran/buffer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types -------------------------------------------------------------- */

static const struct {
    CFI_type_t type;
    jd_dtype dtype;
} types[] = {
    { CFI_type_Bool, JD_PRED },           { CFI_type_int8_t, JD_S8 },
    { CFI_type_int16_t, JD_S16 },         { CFI_type_int32_t, JD_S32 },
    { CFI_type_int64_t, JD_S64 },         { CFI_type_float, JD_F32 },
    { CFI_type_double, JD_F64 },          { CFI_type_float_Complex, JD_C64 },
    { CFI_type_double_Complex, JD_C128 }, { CFI_type_char, JD_U8 },
};

jd_dtype jdf_dtype_of(const CFI_cdesc_t *array)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == array->type)
            return types[i].dtype;
    return (jd_dtype)0;
}

static bool is_text(const CFI_cdesc_t *array)
{
    return array->type == CFI_type_char;
}

/* gfortran's numbers have a family and a kind; of another compiler's only the
 * size is known. */
struct jdf_type_text jdf_type_text(const CFI_cdesc_t *array)
{
    struct jdf_type_text text;
#ifdef CFI_type_mask
    static const char *const families[] = { [1] = "integer",
                                            [2] = "logical",
                                            [3] = "real",
                                            [4] = "complex",
                                            [5] = "character" };
    int family = array->type & CFI_type_mask;
    int kind = array->type >> CFI_type_kind_shift;
    if (array->type > 0 && family >= 1 && family <= 5) {
        snprintf(text.text, sizeof text.text, "%s(kind=%d)", families[family],
                 kind);
        return text;
    }
#endif
    snprintf(text.text, sizeof text.text, "of a type of %zu bytes",
             array->elem_len);
    return text;
}

static jd_status fail_no_type(const struct jdf_call *call, const char *name,
                              const CFI_cdesc_t *array)
{
    return jd_fail_with(
        JD_INVALID_ARGUMENT,
        "%s: %s is %s, which is none of jd's types; they are integer of 1 to 8 "
        "bytes, real and complex of 4 and 8, logical(c_bool) and character: "
        "convert it, pass the components of a derived type one by one, or say "
        "what its bytes are by dtype=",
        call->name, name, jdf_type_text(array).text);
}

/* The type that the program says, of elements of that size. */
static jd_status take_dtype(const struct jdf_call *call, const char *name,
                            const CFI_cdesc_t *array, int dtype,
                            jd_dtype *ret_dtype)
{
    size_t size = jd_dtype_size((jd_dtype)dtype);
    if (size == 0)
        return jd_fail_with(JD_INVALID_ARGUMENT,
                            "%s: dtype=%d is no type; pass one of jd_f32, "
                            "jd_bf16 and so on",
                            call->name, dtype);
    if (size != array->elem_len)
        return jd_fail_with(
            JD_INVALID_ARGUMENT,
            "%s: an element of %s has %zu bytes (%s), and one of dtype=jd_%s "
            "%zu; pass an array whose elements are as long",
            call->name, name, array->elem_len, jdf_type_text(array).text,
            jd_dtype_name((jd_dtype)dtype), size);
    *ret_dtype = (jd_dtype)dtype;
    return JD_OK;
}

static jd_status find_dtype(const struct jdf_call *call, const char *name,
                            const CFI_cdesc_t *array, const int *dtype,
                            enum jdf_use use, jd_dtype *ret_dtype)
{
    if (dtype)
        return take_dtype(call, name, array, *dtype, ret_dtype);
    *ret_dtype = use == JDF_OPAQUE ? JD_U8 : jdf_dtype_of(array);
    if (!*ret_dtype)
        return fail_no_type(call, name, array);
    if (use == JDF_REDUCED && is_text(array))
        return jd_fail_with(
            JD_UNIMPLEMENTED,
            "%s: %s is %s, and there is no arithmetic on texts; "
            "pass numbers",
            call->name, name, jdf_type_text(array).text);
    return JD_OK;
}

/* ---- shapes ------------------------------------------------------------- */

static bool is_assumed_size(const CFI_cdesc_t *array)
{
    return array->rank > 0 && array->dim[array->rank - 1].extent < 0;
}

size_t jdf_num_elements(const CFI_cdesc_t *array)
{
    size_t n = 1;
    for (int i = 0; i < array->rank; i++)
        n *= (size_t)array->dim[i].extent;
    return n;
}

static bool is_contiguous(const CFI_cdesc_t *array)
{
    ptrdiff_t step = (ptrdiff_t)array->elem_len;
    for (int i = 0; i < array->rank; i++) {
        if (array->dim[i].extent != 1 && array->dim[i].sm != step)
            return jdf_num_elements(array) == 0;
        step *= array->dim[i].extent;
    }
    return true;
}

bool jdf_is_same_section(const CFI_cdesc_t *a, const CFI_cdesc_t *b)
{
    if (a->base_addr != b->base_addr || a->rank != b->rank ||
        a->type != b->type || a->elem_len != b->elem_len)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i].extent != b->dim[i].extent ||
            (a->dim[i].extent > 1 && a->dim[i].sm != b->dim[i].sm))
            return false;
    return true;
}

static size_t length_of(const struct jdf_buffer *buffer)
{
    return buffer->array->elem_len / jd_dtype_size(buffer->dtype);
}

size_t jdf_row_length(const struct jdf_buffer *buffer)
{
    return length_of(buffer) *
           (buffer->array->rank > 0 ? (size_t)buffer->array->dim[0].extent : 1);
}

size_t jdf_num_rows(const struct jdf_buffer *buffer)
{
    size_t n = 1;
    for (int i = 1; i < buffer->array->rank; i++)
        n *= (size_t)buffer->array->dim[i].extent;
    return n;
}

/* ---- sections that are not contiguous ------------------------------------ */

/* Goes on to the next element in Fortran's order; its address. */
static char *next_element(const CFI_cdesc_t *array, size_t *index, char *at)
{
    for (int i = 0; i < array->rank; i++) {
        at += array->dim[i].sm;
        if (++index[i] < (size_t)array->dim[i].extent)
            return at;
        at -= (ptrdiff_t)index[i] * array->dim[i].sm;
        index[i] = 0;
    }
    return at;
}

/* Copies element by element between the section and packed ones. */
static void copy_section(const CFI_cdesc_t *array, char *packed, bool packs)
{
    size_t index[CFI_MAX_RANK] = { 0 }, n = jdf_num_elements(array);
    char *at = array->base_addr;
    for (size_t i = 0; i < n; i++, packed += array->elem_len) {
        if (packs)
            memcpy(packed, at, array->elem_len);
        else
            memcpy(at, packed, array->elem_len);
        at = next_element(array, index, at);
    }
}

static jd_status pack_section(const struct jdf_call *call,
                              struct jdf_buffer *buffer)
{
    size_t bytes = jdf_num_elements(buffer->array) * buffer->array->elem_len;
    buffer->data = buffer->packed = malloc(bytes);
    if (!buffer->packed)
        return jd_fail_with(
            JD_RESOURCE_EXHAUSTED,
            "%s: %s is a section that is not contiguous, and %zu bytes to pack "
            "it could not be allocated; pass a contiguous array",
            call->name, buffer->name, bytes);
    copy_section(buffer->array, buffer->packed, true);
    return JD_OK;
}

/* ---- one array ---------------------------------------------------------- */

static jd_status check_end(const struct jdf_call *call, const char *name,
                           const CFI_cdesc_t *array)
{
    if (!is_assumed_size(array))
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: %s is an assumed-size array, whose last extent "
                        "nobody knows; pass a section with an end, as "
                        "a(1:n)",
                        call->name, name);
}

jd_status jdf_check_held(const struct jdf_call *call, const char *name,
                         const CFI_cdesc_t *array)
{
    if (is_contiguous(array))
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: %s is a section that is not contiguous, and the "
                        "call goes on with it until jd_wait(); make it "
                        "contiguous, as a copy that stays until then",
                        call->name, name);
}

jd_status jdf_bytes_take(const struct jdf_call *call, const char *name,
                         const CFI_cdesc_t *array, struct jdf_bytes *ret_bytes)
{
    jd_status status = check_end(call, name, array);
    if (status != JD_OK)
        return status;
    if (!is_contiguous(array))
        return jd_fail_with(JD_INVALID_ARGUMENT,
                            "%s: %s is a section that is not contiguous; pass "
                            "a contiguous array",
                            call->name, name);
    ret_bytes->data = array->base_addr;
    ret_bytes->size = jdf_num_elements(array) * array->elem_len;
    return JD_OK;
}

jd_status jdf_buffer_take(const struct jdf_call *call, const char *name,
                          const CFI_cdesc_t *array, const int *dtype,
                          enum jdf_use use, struct jdf_buffer *ret_buffer)
{
    *ret_buffer = (struct jdf_buffer){ .array = array, .name = name };
    jd_status status = check_end(call, name, array);
    if (status == JD_OK)
        status = find_dtype(call, name, array, dtype, use, &ret_buffer->dtype);
    if (status != JD_OK)
        return status;
    ret_buffer->count = jdf_num_elements(array) * length_of(ret_buffer);
    ret_buffer->data = array->base_addr;
    return is_contiguous(array) ? JD_OK : pack_section(call, ret_buffer);
}

void jdf_buffer_write(const struct jdf_buffer *buffer)
{
    if (buffer->packed)
        copy_section(buffer->array, buffer->packed, false);
}

void jdf_buffer_drop(struct jdf_buffer *buffer)
{
    free(buffer->packed);
    buffer->packed = NULL;
}

/* ---- two of them -------------------------------------------------------- */

static jd_status check_types(const struct jdf_call *call,
                             const struct jdf_pair *pair)
{
    if (pair->in.dtype == pair->out.dtype)
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: in is %s and out is %s; they are of one type",
                        call->name, jdf_type_text(pair->in.array).text,
                        jdf_type_text(pair->out.array).text);
}

jd_status jdf_pair_take(const struct jdf_call *call, const CFI_cdesc_t *in,
                        const CFI_cdesc_t *out, const int *dtype,
                        enum jdf_use use, struct jdf_pair *ret_pair)
{
    ret_pair->out.packed = NULL;
    jd_status status =
        jdf_buffer_take(call, "in", in, dtype, use, &ret_pair->in);
    if (status != JD_OK)
        return status;
    if (!out || jdf_is_same_section(in, out)) {
        ret_pair->out = ret_pair->in;
        ret_pair->in.packed = NULL;
        return JD_OK;
    }
    status = jdf_buffer_take(call, "out", out, dtype, use, &ret_pair->out);
    return status == JD_OK ? check_types(call, ret_pair) : status;
}

void jdf_pair_end(struct jdf_pair *pair, jd_status status)
{
    if (status == JD_OK)
        jdf_buffer_write(&pair->out);
    jdf_buffer_drop(&pair->in);
    jdf_buffer_drop(&pair->out);
}

jd_status jdf_check_counts(const struct jdf_call *call,
                           const struct jdf_buffer *big,
                           const struct jdf_buffer *small, int times)
{
    if (times < 0)
        return JD_INVALID_ARGUMENT; /* of jd_axis_size(), which has said why */
    if (big->count == small->count * (size_t)times)
        return JD_OK;
    if (times == 1)
        return jd_fail_with(JD_INVALID_ARGUMENT,
                            "%s: %s has %zu elements and %s %zu; they have as "
                            "many",
                            call->name, small->name, small->count, big->name,
                            big->count);
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: %s has %zu elements and %s %zu; with %d members "
                        "along the axes %s has %d times as many",
                        call->name, small->name, small->count, big->name,
                        big->count, times, big->name, times);
}
