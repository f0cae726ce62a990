/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rows.h - rows of a matrix of mismatches: what all call, and what process 1
 * calls instead. Each is two functions on one line of the program, whose names
 * and line the sentence must have; struct body is the program's own.
 *
 *     ROW(count, "jd_psum of 10 x F64", PSUM(10),
 *         "jd_psum of 11 x F64", PSUM(11))
 *     static const struct row rows[] = { ENTRY(count), ... };
 *     ...
 *     expect_row(&rows[i], is_odd ? rows[i].odd(&b) : rows[i].all(&b));
 */
#ifndef ROWS_H
#define ROWS_H

#include "jd.h"

#include "tests/mpi/expect.h"

#include <dlfcn.h>
#include <stdbool.h>

enum { ODD_PROCESS = 1 };

struct body;

static volatile int num_calls;

/* Callers that others see, and that do something behind the call. */
#define SIDE __attribute__((visibility("default"), noinline)) jd_status

#define ROW(name, all_text, all_call, odd_text, odd_call)                      \
    enum { name##_line = __LINE__ };                                           \
    static const char *const name##_texts[] = { all_text, odd_text };          \
    SIDE name##_all(struct body *b);                                           \
    SIDE name##_odd(struct body *b);                                           \
    SIDE name##_all(struct body *b)                                            \
    {                                                                          \
        jd_status status = all_call;                                           \
        num_calls++;                                                           \
        return status;                                                         \
    }                                                                          \
    SIDE name##_odd(struct body *b)                                            \
    {                                                                          \
        jd_status status = odd_call;                                           \
        num_calls++;                                                           \
        return status;                                                         \
    }

#define ENTRY(name)                                                            \
    {                                                                          \
        name##_all, name##_odd, #name, name##_line, name##_texts               \
    }

struct row {
    jd_status (*all)(struct body *), (*odd)(struct body *);
    const char *name;
    int line;
    const char *const *texts;
};

static inline void expect_in_message(const struct row *row, const char *text)
{
    EXPECT(strstr(jd_error_message(), text), "%s: wanted '%s' in: %s",
           row->name, text, jd_error_message());
}

/* "test_mismatches.c:57 (sum_max_odd+0x", or without libdw the last part. */
static inline void expect_site(const struct row *row, const char *file,
                               const char *side)
{
    char text[160], line[80] = "";
    if (HAVE_LIBDW && dlopen("libdw.so.1", RTLD_NOW))
        snprintf(line, sizeof line, "%.60s:%d (", file, row->line);
    snprintf(text, sizeof text, " at %s%s_%s+0x", line, row->name, side);
    expect_in_message(row, text);
}

/* Both calls, and the line of each. */
static inline void expect_row(const struct row *row, const char *file,
                              jd_status status)
{
    EXPECT(status == JD_INVALID_ARGUMENT, "%s: %s: %s", row->name,
           jd_status_name(status), jd_error_message());
    expect_in_message(row, row->texts[0]);
    expect_in_message(row, row->texts[1]);
    expect_in_message(row, "process 1");
    expect_site(row, file, "all");
    expect_site(row, file, "odd");
}

#endif
