/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * print_buffer.h - much text that is written in large blocks, and the numbers
 * in it, without printf, which takes longer for a number than all else for an
 * event.
 *
 *     struct print_buffer buffer = { .out = file };
 *     print_text(&buffer, "{\"ts\": ");
 *     print_us(&buffer, 1234567);      ... 1234.567
 *     print_flush(&buffer);
 *
 * What cannot be written shows in ferror(file).
 */
#ifndef TOOLS_JD_TRACE_PRINT_BUFFER_H
#define TOOLS_JD_TRACE_PRINT_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PRINT_BUFFER_BYTES = 1 << 16 };

struct print_buffer {
    FILE *out;
    size_t used;
    char bytes[PRINT_BUFFER_BYTES];
};

void print_flush(struct print_buffer *buffer);
/* Of any length, where the buffer has no room for it. */
void print_around(struct print_buffer *buffer, const char *bytes, size_t count);

static inline void print_bytes(struct print_buffer *buffer, const char *bytes,
                               size_t count)
{
    if (count > sizeof buffer->bytes - buffer->used) {
        print_around(buffer, bytes, count);
        return;
    }
    memcpy(buffer->bytes + buffer->used, bytes, count);
    buffer->used += count;
}

static inline void print_text(struct print_buffer *buffer, const char *text)
{
    print_bytes(buffer, text, strlen(text));
}

void print_number(struct print_buffer *buffer, uint64_t number);
void print_signed(struct print_buffer *buffer, int64_t number);
/* Nanoseconds as microseconds, with three decimals. */
void print_us(struct print_buffer *buffer, int64_t nanoseconds);

#endif
