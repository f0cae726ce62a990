/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint_block.c - a file of NumPy's, with a checksum for each chunk. */
#include "arrays/checkpoint/checkpoint_block.h"

#include "arrays/array/array.h"
#include "arrays/checkpoint/crc32c.h"
#include "arrays/checkpoint/npy.h"
#include "base/status.h"
#include "collectives/platform/device_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The disk is kept busy with what was written so far, and asked ahead for what
 * is read next. */
enum { AHEAD = 2 /* chunks */ };

#define ASKED_AT_ONCE ((size_t)128 << 10)

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- writing ------------------------------------------------------------- */

static jd_status write_chunk(const struct jd_io *io,
                             const struct jd_block_source *from, size_t offset,
                             size_t bytes, const char *path, int fd,
                             int64_t begin, uint32_t *crc)
{
    for (size_t end = offset + bytes; offset < end;) {
        size_t n = min_size(JD_CHECKPOINT_PIECE, end - offset);
        const void *data;
        jd_status status =
            jd__device_memory_view(from->data + offset, n, from->piece, &data);
        if (status != JD_OK)
            return status;
        *crc = jd__crc32c(*crc, data, n);
        status = jd__checkpoint_io_write(io, path, fd, data, n,
                                         begin + (int64_t)offset);
        if (status != JD_OK)
            return status;
        offset += n;
    }
    return JD_OK;
}

static jd_status write_elements(const struct jd_io *io,
                                struct jd_saved_array *array, int block,
                                const struct jd_block_source *from,
                                const char *path, int fd, int64_t begin)
{
    size_t bytes = jd__checkpoint_saved_block_bytes(array, block), offset = 0;
    uint32_t *crc = array->crcs + array->first_crcs[block];
    jd_status status = JD_OK;
    for (; status == JD_OK && offset < bytes; offset += JD_CHECKPOINT_CHUNK) {
        size_t n = min_size(JD_CHECKPOINT_CHUNK, bytes - offset);
        *crc = 0;
        status = write_chunk(io, from, offset, n, path, fd, begin, crc++);
        sync_file_range(fd, begin + (int64_t)offset, (int64_t)n,
                        SYNC_FILE_RANGE_WRITE);
    }
    return status;
}

jd_status jd__checkpoint_block_write(const struct jd_io *io,
                                     struct jd_saved_array *array, int block,
                                     const struct jd_block_source *from,
                                     const char *path, int *ret_fd)
{
    char header[JD_NPY_MAX_HEADER];
    size_t begin = jd__checkpoint_saved_block_header(array, block, header);
    int fd;
    jd_status status = jd__checkpoint_io_create(io, path, &fd);
    if (status != JD_OK)
        return status;
    status = jd__checkpoint_io_write(io, path, fd, header, begin, 0);
    if (status == JD_OK)
        status =
            write_elements(io, array, block, from, path, fd, (int64_t)begin);
    if (status == JD_OK)
        *ret_fd = fd;
    else
        close(fd);
    return status;
}

/* ---- reading ------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static jd_status
fail_block(const struct jd_block_reader *reader, int64_t offset,
           const char *format, ...)
{
    char what[256], index[400];
    jd_range ranges[JD_MAX_NDIM];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    jd__checkpoint_saved_block(reader->array, reader->block, ranges);
    jd__box_print(ranges, reader->array->ndim, index, sizeof index);
    return jd_fail(JD_DATA_LOSS,
                   "%s: %s: %s, block %d (%s) of \"%s\", at offset %" PRId64
                   ": %s; restore another checkpoint",
                   reader->io->operation, reader->io->who, reader->path,
                   reader->block, index, reader->array->name, offset, what);
}

static jd_status check_length(const struct jd_block_reader *reader)
{
    struct stat info;
    if (fstat(reader->fd, &info) != 0)
        return jd__checkpoint_io_fail(reader->io, "look at", reader->path, -1,
                                      errno);
    int64_t wanted = reader->begin + (int64_t)reader->bytes;
    int64_t length = (int64_t)info.st_size;
    if (length == wanted)
        return JD_OK;
    return fail_block(reader, length < wanted ? length : wanted,
                      "the file has %" PRId64 " bytes, not %" PRId64, length,
                      wanted);
}

static jd_status check_header(const struct jd_block_reader *reader,
                              const char *wanted)
{
    char header[JD_NPY_MAX_HEADER];
    size_t bytes = (size_t)reader->begin, same = 0;
    jd_status status = jd__checkpoint_io_read(reader->io, reader->path,
                                              reader->fd, header, bytes, 0);
    if (status != JD_OK)
        return status;
    while (same < bytes && header[same] == wanted[same])
        same++;
    if (same == bytes)
        return JD_OK;
    return fail_block(reader, (int64_t)same,
                      "the header is not that of the index's type and shape");
}

/* Until is_over, where that is not NULL; returns how many were asked for. That
 * it fails does not matter. Of much at a time the system takes only the
 * beginning. */
static size_t ask_system(int fd, int64_t begin, size_t bytes,
                         const atomic_bool *is_over)
{
    size_t at = 0;
    while (at < bytes && !(is_over && atomic_load(is_over))) {
        size_t n = min_size(ASKED_AT_ONCE, bytes - at);
        posix_fadvise(fd, begin + (int64_t)at, (int64_t)n, POSIX_FADV_WILLNEED);
        at += n;
    }
    return at;
}

/* Asks for what comes a little later. */
static void ask_ahead(const struct jd_block_reader *reader, size_t chunk,
                      size_t count)
{
    ask_system(reader->fd,
               reader->begin + (int64_t)(chunk * JD_CHECKPOINT_CHUNK),
               count * JD_CHECKPOINT_CHUNK, NULL);
}

jd_status jd__checkpoint_block_open(const struct jd_io *io,
                                    const struct jd_saved_array *array,
                                    int block, const char *dir,
                                    struct jd_block_reader *ret_reader)
{
    char header[JD_NPY_MAX_HEADER], file[JD_CHECKPOINT_MAX_FILE];
    struct jd_block_reader *reader = ret_reader;
    reader->io = io;
    reader->array = array;
    reader->block = block;
    reader->bytes = jd__checkpoint_saved_block_bytes(array, block);
    reader->begin =
        (int64_t)jd__checkpoint_saved_block_header(array, block, header);
    reader->num_chunks =
        array->first_crcs[block + 1] - array->first_crcs[block];
    jd__checkpoint_saved_block_file(array, block, file);
    jd_status status = jd__checkpoint_io_path(io, dir, "", file, reader->path);
    if (status != JD_OK)
        return status;
    status = jd__checkpoint_io_open(io, reader->path, &reader->fd);
    if (status != JD_OK)
        return status == JD_NOT_FOUND ? JD_DATA_LOSS : status;
    status = check_length(reader);
    if (status == JD_OK)
        status = check_header(reader, header);
    if (status != JD_OK)
        close(reader->fd);
    return status;
}

size_t jd__checkpoint_block_expect(const struct jd_io *io,
                                   const struct jd_saved_array *array,
                                   int block, const char *dir, size_t offset,
                                   size_t bytes, const atomic_bool *is_over)
{
    char header[JD_NPY_MAX_HEADER], file[JD_CHECKPOINT_MAX_FILE];
    char path[PATH_MAX];
    size_t all = jd__checkpoint_saved_block_bytes(array, block);
    size_t begin =
        jd__checkpoint_saved_block_header(array, block, header) + offset;
    size_t count = min_size(bytes, all > offset ? all - offset : 0);
    jd__checkpoint_saved_block_file(array, block, file);
    int fd;
    if (jd__checkpoint_io_path(io, dir, "", file, path) != JD_OK ||
        jd__checkpoint_io_open(io, path, &fd) != JD_OK)
        return 0;
    count = ask_system(fd, (int64_t)begin, count, is_over);
    close(fd);
    return count;
}

size_t jd__checkpoint_block_chunk_bytes(const struct jd_block_reader *reader,
                                        size_t chunk)
{
    return min_size(JD_CHECKPOINT_CHUNK,
                    reader->bytes - chunk * JD_CHECKPOINT_CHUNK);
}

jd_status jd__checkpoint_block_read(const struct jd_block_reader *reader,
                                    size_t chunk, char *memory)
{
    size_t bytes = jd__checkpoint_block_chunk_bytes(reader, chunk), at = 0;
    int64_t begin = reader->begin + (int64_t)(chunk * JD_CHECKPOINT_CHUNK);
    uint32_t crc = 0;
    ask_ahead(reader, chunk + 1, AHEAD);
    while (at < bytes) {
        size_t n = min_size(JD_CHECKPOINT_PIECE, bytes - at);
        jd_status status =
            jd__checkpoint_io_read(reader->io, reader->path, reader->fd,
                                   memory + at, n, begin + (int64_t)at);
        if (status != JD_OK)
            return status;
        crc = jd__crc32c(crc, memory + at, n);
        at += n;
    }
    uint32_t wanted =
        reader->array->crcs[reader->array->first_crcs[reader->block] + chunk];
    if (crc == wanted)
        return JD_OK;
    return fail_block(reader, begin,
                      "the CRC32C of %zu bytes is %08" PRIx32
                      ", and the index says %08" PRIx32,
                      bytes, crc, wanted);
}

void jd__checkpoint_block_close(struct jd_block_reader *reader)
{
    close(reader->fd);
}
