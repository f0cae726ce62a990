/* SPDX-License-Identifier: BSD-3-Clause */
/* npy.c - a Python dictionary, as numpy.save() writes it. */
#include "arrays/checkpoint/npy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC = 10, ALIGN = 64 };

/* A kind and its bytes; '<' stands before it where the order of bytes means
 * something. */
static const char *kind_of(jd_dtype dtype)
{
    switch (dtype) {
    case JD_PRED:
        return "|b1";
    case JD_S8:
        return "|i1";
    case JD_S16:
        return "<i2";
    case JD_S32:
        return "<i4";
    case JD_S64:
        return "<i8";
    case JD_U8:
        return "|u1";
    case JD_U16:
        return "<u2";
    case JD_U32:
        return "<u4";
    case JD_U64:
        return "<u8";
    case JD_F16:
        return "<f2";
    case JD_F32:
        return "<f4";
    case JD_F64:
        return "<f8";
    case JD_C64:
        return "<c8";
    case JD_C128:
        return "<c16";
    case JD_BF16:
        return "|V2";
    default: /* what NumPy knows by ml_dtypes: a byte */
        return "|V1";
    }
}

/* "(3, 4)"; one dimension is "(3,)", none "()". */
static int print_shape(int ndim, const int64_t *shape, char *text, size_t size)
{
    int length = snprintf(text, size, "(");
    for (int axis = 0; axis < ndim; axis++)
        length += snprintf(text + length, size - (size_t)length, "%s%" PRId64,
                           axis ? ", " : "", shape[axis]);
    return length + snprintf(text + length, size - (size_t)length, "%s",
                             ndim == 1 ? ",)" : ")");
}

size_t jd__npy_header(jd_dtype dtype, int ndim, const int64_t *shape,
                      char *header)
{
    char tuple[JD_NPY_MAX_HEADER - 80];
    print_shape(ndim, shape, tuple, sizeof tuple);
    int length = snprintf(header + MAGIC, JD_NPY_MAX_HEADER - MAGIC,
                          "{'descr': '%s', 'fortran_order': False, "
                          "'shape': %s, }",
                          kind_of(dtype), tuple);
    size_t used = MAGIC + (size_t)length;
    size_t bytes = (used + 1 + ALIGN - 1) / ALIGN * ALIGN;
    assert(bytes <= JD_NPY_MAX_HEADER);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)((bytes - MAGIC) & 255);
    header[9] = (char)((bytes - MAGIC) >> 8);
    memset(header + used, ' ', bytes - used);
    header[bytes - 1] = '\n';
    return bytes;
}
