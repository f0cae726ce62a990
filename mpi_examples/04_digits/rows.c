/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.c - finding, reading and checking one reader's lines. */
/* For fseeko() and ftello(), where the compiler is asked for plain C11. */
#define _POSIX_C_SOURCE 200809L

#include "rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* ---- reading ---------------------------------------------------------- */

static int fail_read(const char *path, char *why, size_t why_size)
{
    snprintf(why, why_size, "%s: %s", path, strerror(errno ? errno : EIO));
    return -1;
}

/* The first start of a line at or after position; -1 on failure. */
static off_t find_line_start(FILE *file, off_t position)
{
    if (position == 0)
        return 0;
    if (fseeko(file, position - 1, SEEK_SET) != 0)
        return -1;
    int c = getc(file);
    while (c != EOF && c != '\n')
        c = getc(file);
    return ferror(file) ? -1 : ftello(file);
}

static int64_t count_lines(const char *text, size_t bytes)
{
    int64_t lines = 0;
    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    return lines + (bytes > 0 && text[bytes - 1] != '\n');
}

/* Bytes begin..end of file, and nothing else of it. */
static int read_text(FILE *file, off_t begin, off_t end, struct share *share)
{
    share->bytes = (size_t)(end - begin);
    share->text = malloc(share->bytes + 1);
    if (!share->text || fseeko(file, begin, SEEK_SET) != 0)
        return -1;
    if (fread(share->text, 1, share->bytes, file) != share->bytes)
        return -1;
    share->text[share->bytes] = '\0';
    share->lines = count_lines(share->text, share->bytes);
    return 0;
}

static int read_part(FILE *file, int index, int count, struct share *share)
{
    /* The first byte tells whether this can be read: a folder has a size. */
    if (getc(file) == EOF && ferror(file))
        return -1;
    if (fseeko(file, 0, SEEK_END) != 0)
        return -1;
    off_t size = ftello(file);
    if (size < 0)
        return -1;
    share->file_bytes = size;
    off_t begin = find_line_start(file, size / count * index +
                                            size % count * index / count);
    off_t end = find_line_start(file, size / count * (index + 1) +
                                          size % count * (index + 1) / count);
    if (begin < 0 || end < 0)
        return -1;
    return read_text(file, begin, end, share);
}

int read_share(const char *path, int index, int count, struct share *ret_share,
               char *why, size_t why_size)
{
    struct share share = { .path = path };
    errno = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail_read(path, why, why_size);
    int failed = read_part(file, index, count, &share);
    if (failed) {
        fail_read(path, why, why_size);
        free(share.text);
    }
    fclose(file);
    if (!failed)
        *ret_share = share;
    return failed;
}

/* ---- parsing ---------------------------------------------------------- */

/* Where the reader is, for error texts. */
struct cursor {
    const char *path;
    int64_t line;
    char *why;
    size_t why_size;
};

/* Copies a field for an error text: short, and fit for a terminal. */
static const char *quote(const char *field, size_t length, char text[24])
{
    size_t shown = length < 20 ? length : 20;
    for (size_t i = 0; i < shown; i++)
        text[i] = field[i] >= ' ' && field[i] <= '~' ? field[i] : '?';
    strcpy(text + shown, shown < length ? "..." : "");
    return text;
}

static int fail_field(const struct cursor *at, int column, const char *field,
                      size_t length, int max)
{
    char text[24];
    snprintf(at->why, at->why_size,
             "%s: line %" PRId64 ", column %d: \"%s\" is not a whole number "
             "from 0 to %d",
             at->path, at->line, column, quote(field, length, text), max);
    return -1;
}

/* One field as a number of 0..max (at most two digits). */
static int parse_field(const struct cursor *at, int column, const char *field,
                       size_t length, int max, int *ret_value)
{
    int value = 0;
    for (size_t i = 0; i < length && i < 2; i++) {
        if (field[i] < '0' || field[i] > '9')
            return fail_field(at, column, field, length, max);
        value = value * 10 + (field[i] - '0');
    }
    if (length < 1 || length > 2 || value > max)
        return fail_field(at, column, field, length, max);
    *ret_value = value;
    return 0;
}

static size_t find(const char *text, size_t length, char wanted)
{
    const char *hit = memchr(text, wanted, length);
    return hit ? (size_t)(hit - text) : length;
}

static int count_columns(const char *line, size_t length)
{
    int columns = 1;
    for (size_t i = 0; i < length; i++)
        columns += line[i] == ',';
    return columns;
}

static int parse_line(const struct cursor *at, const char *line, size_t length,
                      struct row *row)
{
    int columns = count_columns(line, length), value;
    if (columns != PIXELS + 1) {
        snprintf(at->why, at->why_size,
                 "%s: line %" PRId64 " has %d column%s where %d are needed",
                 at->path, at->line, columns, columns == 1 ? "" : "s",
                 PIXELS + 1);
        return -1;
    }
    for (int column = 0; column <= PIXELS; column++) {
        size_t field = find(line, length, ',');
        int max = column < PIXELS ? MAX_PIXEL : CLASSES - 1;
        if (parse_field(at, column + 1, line, field, max, &value) != 0)
            return -1;
        if (column < PIXELS)
            row->pixels[column] = (double)value / MAX_PIXEL;
        else
            row->digit = value;
        line += field + 1;
        length -= column < PIXELS ? field + 1 : field;
    }
    return 0;
}

int parse_rows(const struct share *share, int64_t first_line, struct row *rows,
               char *why, size_t why_size)
{
    struct cursor at = { share->path, first_line, why, why_size };
    const char *text = share->text, *end = text + share->bytes;
    for (int64_t i = 0; i < share->lines; i++, at.line++) {
        size_t length = find(text, (size_t)(end - text), '\n');
        size_t shown = length && text[length - 1] == '\r' ? length - 1 : length;
        if (parse_line(&at, text, shown, &rows[i]) != 0)
            return -1;
        text += length + 1;
    }
    return 0;
}
