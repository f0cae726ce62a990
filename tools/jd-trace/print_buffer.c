/* SPDX-License-Identifier: BSD-3-Clause */
/* print_buffer.c - text in large blocks. */
#include "tools/jd-trace/print_buffer.h"

enum { MAX_DIGITS = 20 };

void print_flush(struct print_buffer *buffer)
{
    fwrite(buffer->bytes, 1, buffer->used, buffer->out);
    buffer->used = 0;
}

void print_around(struct print_buffer *buffer, const char *bytes, size_t count)
{
    print_flush(buffer);
    if (count <= sizeof buffer->bytes)
        print_bytes(buffer, bytes, count);
    else
        fwrite(bytes, 1, count, buffer->out);
}

/* So many digits at least, before the end; where they begin. */
static char *write_digits(char *end, uint64_t number, int least)
{
    for (; number || least > 0; number /= 10, least--)
        *--end = (char)('0' + number % 10);
    return end;
}

void print_number(struct print_buffer *buffer, uint64_t number)
{
    char digits[MAX_DIGITS], *end = digits + sizeof digits;
    char *begin = write_digits(end, number, 1);
    print_bytes(buffer, begin, (size_t)(end - begin));
}

static uint64_t size_of(int64_t number)
{
    return number < 0 ? -(uint64_t)number : (uint64_t)number;
}

void print_signed(struct print_buffer *buffer, int64_t number)
{
    if (number < 0)
        print_bytes(buffer, "-", 1);
    print_number(buffer, size_of(number));
}

void print_us(struct print_buffer *buffer, int64_t nanoseconds)
{
    char digits[MAX_DIGITS + 2], *end = digits + sizeof digits; /* "-", "." */
    uint64_t size = size_of(nanoseconds);
    char *begin = write_digits(end, size % 1000, 3);
    *--begin = '.';
    begin = write_digits(begin, size / 1000, 1);
    if (nanoseconds < 0)
        *--begin = '-';
    print_bytes(buffer, begin, (size_t)(end - begin));
}
