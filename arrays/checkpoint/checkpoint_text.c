/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint_text.c - an index written as text, and read back. */
#include "arrays/checkpoint/checkpoint_index.h"
#include "arrays/checkpoint/crc32c.h"
#include "arrays/checkpoint/npy.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "jd-checkpoint ";
static const char first_line[] =
    "jd-checkpoint 1 little-endian chunk 4194304\n";
enum { VERSION = 1, END_LINE = sizeof "end 00000000\n" - 1 };

_Static_assert(JD_CHECKPOINT_CHUNK == 4194304, "first_line says so");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "first_line, and the headers of NumPy, say so");

/* ---- writing ------------------------------------------------------------- */

/* "1000,64"; "-" where there is no dimension. */
static void write_shape(FILE *out, const struct jd_saved_array *array)
{
    for (int axis = 0; axis < array->ndim; axis++)
        fprintf(out, "%s%" PRId64, axis ? "," : "", array->shape[axis]);
    fputs(array->ndim ? " " : "- ", out);
    for (int axis = 0; axis < array->ndim; axis++)
        fprintf(out, "%s%d", axis ? "," : "", array->cuts[axis]);
    fputs(array->ndim ? " " : "- ", out);
}

static void write_ranges(FILE *out, const struct jd_saved_array *array,
                         int block)
{
    jd_range index[JD_MAX_NDIM];
    jd__checkpoint_saved_block(array, block, index);
    for (int axis = 0; axis < array->ndim; axis++)
        fprintf(out, "%s%" PRId64 ":%" PRId64, axis ? "," : "",
                index[axis].begin, index[axis].end);
    fputs(array->ndim ? " " : "- ", out);
}

static void write_block(FILE *out, const struct jd_saved_array *array,
                        int block)
{
    char header[JD_NPY_MAX_HEADER], file[JD_CHECKPOINT_MAX_FILE];
    size_t first = array->first_crcs[block],
           last = array->first_crcs[block + 1];
    if (first == last)
        return;
    jd__checkpoint_saved_block_file(array, block, file);
    fputs("block ", out);
    write_ranges(out, array, block);
    fprintf(out, "%zu %zu %08" PRIx32 " %s\n",
            jd__checkpoint_saved_block_header(array, block, header),
            jd__checkpoint_saved_block_bytes(array, block),
            jd__checkpoint_saved_block_crc(array, block), file);
    if (last - first == 1)
        return;
    fputs("chunks", out);
    for (size_t at = first; at < last; at++)
        fprintf(out, " %08" PRIx32, array->crcs[at]);
    fputc('\n', out);
}

static void write_arrays(FILE *out, const struct jd_index *index)
{
    fputs(first_line, out);
    for (size_t i = 0; i < index->count; i++) {
        const struct jd_saved_array *array = &index->arrays[i];
        fprintf(out, "array %s ", jd_dtype_name(array->dtype));
        write_shape(out, array);
        fprintf(out, "%s\n", array->name);
        for (int block = 0; block < array->num_blocks; block++)
            write_block(out, array, block);
    }
}

jd_status jd__checkpoint_index_write(const struct jd_index *index,
                                     char **ret_text, size_t *ret_bytes)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out) {
        write_arrays(out, index);
        if (fflush(out) == 0)
            fprintf(out, "end %08" PRIx32 "\n",
                    jd__crc32c(0, written.chars, written.length));
    }
    char *text = jd__text_end(&written);
    if (!text)
        return jd__fail_no_memory("a checkpoint's index", written.length);
    *ret_text = text;
    *ret_bytes = written.length;
    return JD_OK;
}

/* ---- reading ------------------------------------------------------------- */

/* Each of these takes what it is named after from *at, or is false. They stop
 * at the text's NUL. */

static bool take_word(const char **at, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

static bool take_number(const char **at, int64_t *ret_number)
{
    int64_t number = 0;
    const char *c = *at;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *c - '0', &number))
            return false;
    bool found = c > *at;
    *at = c;
    *ret_number = number;
    return found;
}

static bool take_crc(const char **at, uint32_t *ret_crc)
{
    uint32_t crc = 0;
    for (int i = 0; i < 8; i++) {
        char c = (*at)[i];
        bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && (c < 'a' || c > 'f'))
            return false;
        crc = crc << 4 | (uint32_t)(is_digit ? c - '0' : c - 'a' + 10);
    }
    *at += 8;
    *ret_crc = crc;
    return true;
}

/* One number for each dimension, and a blank. */
static bool take_numbers(const char **at, int64_t *numbers, int *ret_count)
{
    int count = 0;
    bool more = !take_word(at, "- ");
    while (more) {
        if (count == JD_MAX_NDIM || !take_number(at, &numbers[count++]))
            return false;
        more = take_word(at, ",");
        if (!more && !take_word(at, " "))
            return false;
    }
    *ret_count = count;
    return true;
}

static bool take_type(const char **at, jd_dtype *ret_dtype)
{
#define ROW(name, number, size)                                                \
    if (take_word(at, #name " ")) {                                            \
        *ret_dtype = JD_##name;                                                \
        return true;                                                           \
    }
    JD_DTYPE_MAP(ROW)
    JD_STORAGE_DTYPE_MAP(ROW)
#undef ROW
    return false;
}

/* The checksum is the fourth word. */
static bool take_block(const char **at, uint32_t *ret_crc)
{
    if (!take_word(at, "block "))
        return false;
    for (int words = 0; words < 3; words++) {
        *at += strcspn(*at, " \n");
        if (!take_word(at, " "))
            return false;
    }
    if (!take_crc(at, ret_crc))
        return false;
    *at += strcspn(*at, "\n");
    return take_word(at, "\n");
}

static bool take_chunks(const char **at, uint32_t *crcs, size_t count)
{
    if (!take_word(at, "chunks"))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!take_word(at, " ") || !take_crc(at, &crcs[i]))
            return false;
    return take_word(at, "\n");
}

static bool take_blocks(const char **at, struct jd_saved_array *array)
{
    for (int block = 0; block < array->num_blocks; block++) {
        size_t first = array->first_crcs[block];
        size_t count = array->first_crcs[block + 1] - first;
        uint32_t crc;
        if (count == 0)
            continue;
        if (!take_block(at, &crc))
            return false;
        array->crcs[first] = crc;
        if (count > 1 && !take_chunks(at, array->crcs + first, count))
            return false;
    }
    return true;
}

/* An array's line without its name. */
static bool take_array(const char **at, struct jd_saved_array *ret_array)
{
    int64_t cuts[JD_MAX_NDIM];
    int num_cuts;
    if (!take_word(at, "array ") || !take_type(at, &ret_array->dtype) ||
        !take_numbers(at, ret_array->shape, &ret_array->ndim) ||
        !take_numbers(at, cuts, &num_cuts) || num_cuts != ret_array->ndim)
        return false;
    for (int axis = 0; axis < num_cuts; axis++) {
        if (cuts[axis] < 1 || cuts[axis] > JD_CHECKPOINT_MAX_BLOCKS)
            return false;
        ret_array->cuts[axis] = (int)cuts[axis];
    }
    return true;
}

static bool take_name(const char **at, char name[JD_CHECKPOINT_MAX_NAME + 1])
{
    size_t length = strcspn(*at, "\n");
    if (length > JD_CHECKPOINT_MAX_NAME)
        return false;
    memcpy(name, *at, length);
    name[length] = '\0';
    *at += length;
    return take_word(at, "\n") && !jd__checkpoint_name_fault(name);
}

/* Whether the text can have a checksum for each of its chunks: a short one is
 * not to cost the memory that a large array's take. */
static bool can_have_chunks(const struct jd_saved_array *array, const char *at)
{
    enum { CHECKSUM = 9 }; /* a blank, or more, and 8 digits */
    int64_t bytes = (int64_t)jd_dtype_size(array->dtype);
    for (int axis = 0; axis < array->ndim; axis++)
        if (__builtin_mul_overflow(bytes, array->shape[axis], &bytes))
            return false;
    size_t least = (size_t)bytes / JD_CHECKPOINT_CHUNK * CHECKSUM;
    return strnlen(at, least) == least;
}

/* Where the text has an array. *ret_is_one false: it is none, and *at is where
 * that was seen. */
static jd_status read_array(const char **at, struct jd_index *index,
                            bool *ret_is_one)
{
    struct jd_saved_array read = { 0 };
    char name[JD_CHECKPOINT_MAX_NAME + 1];
    *ret_is_one = take_array(at, &read) && take_name(at, name) &&
                  can_have_chunks(&read, *at) &&
                  !jd__checkpoint_index_find(index, name);
    if (!*ret_is_one)
        return JD_OK;
    jd_status status = jd__checkpoint_index_add(
        index, name, read.dtype, read.ndim, read.shape, read.cuts);
    *ret_is_one = status == JD_OK || status == JD_RESOURCE_EXHAUSTED;
    if (status == JD_OK)
        *ret_is_one = take_blocks(at, &index->arrays[index->count - 1]);
    return *ret_is_one ? status : JD_OK;
}

static size_t count_arrays(const char *text)
{
    size_t count = 0;
    for (const char *c = text; (c = strstr(c, "\narray ")) != NULL; c++)
        count++;
    return count;
}

/* Gives where it stopped: at the last line, where all is well. */
static jd_status read_arrays(const char *text, struct jd_index *index,
                             const char **ret_stop)
{
    const char *at = text + sizeof first_line - 1;
    bool is_one = true;
    jd_status status = jd__checkpoint_index_reserve(index, count_arrays(text));
    while (status == JD_OK && is_one && strncmp(at, "end ", 4) != 0)
        status = read_array(&at, index, &is_one);
    *ret_stop = at;
    return status;
}

/* ---- believing ----------------------------------------------------------- */

static jd_status check_begin(const char *text, size_t bytes, const char *path)
{
    const char *at = text;
    int64_t version;
    if (bytes < sizeof magic || !take_word(&at, magic) ||
        !take_number(&at, &version))
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s is no index of a checkpoint: it does not begin with "
                       "\"jd-checkpoint\"",
                       path);
    if (version != VERSION || strncmp(text, first_line, sizeof first_line - 1))
        return jd_fail(JD_UNIMPLEMENTED,
                       "%s is of format \"%.*s\"; this version of jd reads "
                       "\"%.*s\"",
                       path, (int)strcspn(text, "\n") % 100, text,
                       (int)sizeof first_line - 2, first_line);
    return JD_OK;
}

static jd_status check_end(const char *text, size_t bytes, const char *path)
{
    const char *at = text + bytes - END_LINE;
    uint32_t said, found;
    if (bytes < sizeof first_line + END_LINE - 1 || at[-1] != '\n' ||
        !take_word(&at, "end ") || !take_crc(&at, &said) ||
        strcmp(at, "\n") != 0)
        return jd_fail(JD_DATA_LOSS,
                       "%s was cut off: its last line is not \"end\" with a "
                       "checksum (it has %zu bytes); restore another "
                       "checkpoint",
                       path, bytes);
    found = jd__crc32c(0, text, bytes - END_LINE);
    if (found != said)
        return jd_fail(JD_DATA_LOSS,
                       "%s was changed: its checksum is %08" PRIx32
                       ", and the last line says %08" PRIx32
                       "; restore another checkpoint",
                       path, found, said);
    return JD_OK;
}

static jd_status fail_line(const char *text, size_t at, const char *path)
{
    int line = 1;
    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n';
    return jd_fail(JD_DATA_LOSS,
                   "%s: line %d is not as jd writes it (byte %zu); restore "
                   "another checkpoint",
                   path, line, at);
}

/* Writes it again: what differs from that is nothing to rely on. */
static jd_status check_all(const struct jd_index *index, const char *text,
                           size_t bytes, const char *path, size_t stop)
{
    char *again;
    size_t again_bytes, same = 0;
    if (stop != bytes - END_LINE)
        return fail_line(text, stop, path);
    jd_status status = jd__checkpoint_index_write(index, &again, &again_bytes);
    if (status != JD_OK)
        return status;
    while (same < bytes && same < again_bytes && text[same] == again[same])
        same++;
    free(again);
    if (same < bytes || same < again_bytes)
        return fail_line(text, same, path);
    return JD_OK;
}

jd_status jd__checkpoint_index_read(const char *text, size_t bytes,
                                    const char *path,
                                    struct jd_index *ret_index)
{
    struct jd_index index = { 0 };
    const char *stop = text;
    jd_status status = check_begin(text, bytes, path);
    if (status == JD_OK)
        status = check_end(text, bytes, path);
    if (status == JD_OK)
        status = read_arrays(text, &index, &stop);
    if (status == JD_OK)
        status = check_all(&index, text, bytes, path, (size_t)(stop - text));
    if (status == JD_OK)
        *ret_index = index;
    else
        jd__checkpoint_index_finish(&index);
    return status;
}
