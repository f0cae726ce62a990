/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * buffer.h - arrays of any type and rank as the buffers that C's calls take.
 *
 * An array that is contiguous is used where it lies. A section that is not is
 * packed, and unpacked again after the call where it may have been written.
 * Elements come in Fortran's order; C sees the dimensions reversed.
 */
#ifndef FORTRAN_BUFFER_H
#define FORTRAN_BUFFER_H

#include "fortran/call.h"

struct jdf_buffer {
    const CFI_cdesc_t *array;
    const char *name; /* of the argument */
    void *data;
    void *packed; /* data, where it is a copy */
    size_t count;
    jd_dtype dtype;
};

/* What is done with the elements: texts are moved, and not added up; of those
 * that jd does not look at each has any type, and is counted in bytes. */
enum jdf_use { JDF_MOVED, JDF_REDUCED, JDF_OPAQUE };

/*
 * dtype is the program's own, for a type that Fortran has not (BF16, U32), of
 * as many bytes; NULL: the array's.
 * Returns: INVALID_ARGUMENT naming the argument, its type and its kind, where
 * jd has no such type, and for an assumed-size array.
 */
jd_status jdf_buffer_take(const struct jdf_call *call, const char *name,
                          const CFI_cdesc_t *array, const int *dtype,
                          enum jdf_use use, struct jdf_buffer *ret_buffer);

/* Unpacks what was written; and lets go of the copy. */
void jdf_buffer_write(const struct jdf_buffer *buffer);
void jdf_buffer_drop(struct jdf_buffer *buffer);

/*
 * Of an array that a call goes on with after it has returned, when a packed
 * copy would be gone. Returns: INVALID_ARGUMENT naming the argument, where it
 * is not contiguous.
 */
jd_status jdf_check_held(const struct jdf_call *call, const char *name,
                         const CFI_cdesc_t *array);

/* The bytes of an array of any type where they lie, which is not looked at.
 * Returns: INVALID_ARGUMENT naming the argument, where they are not contiguous
 * or nobody knows their end. */
struct jdf_bytes {
    void *data;
    size_t size;
};

jd_status jdf_bytes_take(const struct jdf_call *call, const char *name,
                         const CFI_cdesc_t *array, struct jdf_bytes *ret_bytes);

/* in and out of a call. Where out is not present, or the same section, they are
 * one. */
struct jdf_pair {
    struct jdf_buffer in;
    struct jdf_buffer out;
};

jd_status jdf_pair_take(const struct jdf_call *call, const CFI_cdesc_t *in,
                        const CFI_cdesc_t *out, const int *dtype,
                        enum jdf_use use, struct jdf_pair *ret_pair);

/* Unpacks out where the call has succeeded, and lets go of both. */
void jdf_pair_end(struct jdf_pair *pair, jd_status status);

/* Fails unless `big` has `times` as many elements as `small`. */
jd_status jdf_check_counts(const struct jdf_call *call,
                           const struct jdf_buffer *big,
                           const struct jdf_buffer *small, int times);

/* The elements of an array that has an end: an array's own, each of elem_len
 * bytes. */
size_t jdf_num_elements(const CFI_cdesc_t *array);

/* The elements along dimension 1, and how many such rows there are. Of texts
 * bytes. */
size_t jdf_row_length(const struct jdf_buffer *buffer);
size_t jdf_num_rows(const struct jdf_buffer *buffer);

/* Whether both name the same elements. */
bool jdf_is_same_section(const CFI_cdesc_t *a, const CFI_cdesc_t *b);

/* The type of an array of texts is U8, and of each kind that C has, jd's. 0:
 * there is none. */
jd_dtype jdf_dtype_of(const CFI_cdesc_t *array);

/* "logical(4)" */
struct jdf_type_text {
    char text[48];
};
struct jdf_type_text jdf_type_text(const CFI_cdesc_t *array);

#endif
