/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rows.h - lines of digits.csv, read by one of several readers.
 *
 *     struct share share;
 *     if (read_share("digits.csv", index, count, &share, why, sizeof why))
 *         ... why says what is wrong ...
 *     parse_rows(&share, first_line, rows, why, sizeof why);
 *     free(share.text);
 *
 * The functions return 0, or -1 with a sentence in why. They know nothing of
 * jd: which share is whose is the caller's business.
 */
#ifndef ROWS_H
#define ROWS_H

#include <stddef.h>
#include <stdint.h>

enum { PIXELS = 64, CLASSES = 10, MAX_PIXEL = 16 };

/* One image: pixels scaled to 0..1, and the digit it shows. */
struct row {
    double pixels[PIXELS];
    int digit;
};

/* The whole lines of one reader, as text. */
struct share {
    const char *path;
    char *text;
    size_t bytes;
    int64_t lines;
    int64_t file_bytes; /* of the whole file */
};

/*
 * Reads the lines whose first byte is in the reader's part of the file's
 * bytes, and no others: parts index * size / count .. (index + 1) * size /
 * count cover the file, so each line has one reader.
 */
int read_share(const char *path, int index, int count, struct share *ret_share,
               char *why, size_t why_size);

/*
 * Turns the share's lines into rows[0..share->lines). first_line, from 1, is
 * the number of its first line in the file, for error texts.
 */
int parse_rows(const struct share *share, int64_t first_line, struct row *rows,
               char *why, size_t why_size);

#endif
