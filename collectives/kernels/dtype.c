/* SPDX-License-Identifier: BSD-3-Clause */
/* dtype.c - names and sizes of the element types, from the one list. */
#include "jd_dtype.h"

size_t jd_dtype_size(jd_dtype dtype)
{
    switch (dtype) {
#define SIZE_ROW(name, number, size)                                           \
    case JD_##name:                                                            \
        return size;
        JD_DTYPE_MAP(SIZE_ROW)
        JD_STORAGE_DTYPE_MAP(SIZE_ROW)
#undef SIZE_ROW
    }
    return 0;
}

const char *jd_dtype_name(jd_dtype dtype)
{
    switch (dtype) {
#define NAME_ROW(name, number, size)                                           \
    case JD_##name:                                                            \
        return #name;
        JD_DTYPE_MAP(NAME_ROW)
        JD_STORAGE_DTYPE_MAP(NAME_ROW)
#undef NAME_ROW
    }
    return "not a jd_dtype";
}
