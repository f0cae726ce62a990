/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * expect.h - checks for plain test programs, which run under mpirun: a failed
 * one says where and what, and ends the process with exit code 1, so that
 * mpirun ends the others.
 *
 *     EXPECT(sum == 10, "the sum is %d", sum);
 *     EXPECT_STATUS(jd_psum(NULL, ...), JD_INVALID_ARGUMENT, "jd_shard_map");
 */
#ifndef EXPECT_H
#define EXPECT_H

#include "jd_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition, ...)                                                 \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__,         \
                    #condition);                                               \
            fprintf(stderr, __VA_ARGS__);                                      \
            fputc('\n', stderr);                                               \
            _Exit(1);                                                          \
        }                                                                      \
    } while (0)

/* The call gives the status, and where that is a failure, its sentence has
 * the text in it ("": any). */
#define EXPECT_STATUS(call, status, text)                                      \
    expect_status((call), (status), (text), #call, __FILE__, __LINE__)

#define EXPECT_OK(call) EXPECT_STATUS(call, JD_OK, "")

/* This process's rank, as the launcher says it: of Open MPI's, or MPICH's.
 * NULL: it says none. */
static inline const char *launcher_rank_text(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_RANK");
    return text ? text : getenv("PMI_RANK");
}

static inline void expect_status(jd_status got, jd_status wanted,
                                 const char *text, const char *call,
                                 const char *file, int line)
{
    if (got == wanted &&
        (got == JD_OK || strstr(jd_error_message(), text) != NULL))
        return;
    fprintf(stderr, "%s:%d: %s gave %s, wanted %s with '%s'; the message: %s\n",
            file, line, call, jd_status_name(got), jd_status_name(wanted), text,
            jd_error_message());
    _Exit(1);
}

/* Where calls stand in the program is no test's own: what comes behind. */
static inline int expect_is_sites(const char *rest)
{
    return rest[0] == 0 || (strncmp(rest, "; process ", 10) == 0 &&
                            strstr(rest, " calls at ") != NULL);
}

/* The call fails with the status and exactly the formatted sentence, but for
 * call sites at its end. */
__attribute__((format(printf, 3, 4))) static inline void
expect_sentence(jd_status got, jd_status wanted, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t length = strlen(text);
    EXPECT(got == wanted && strncmp(jd_error_message(), text, length) == 0 &&
               expect_is_sites(jd_error_message() + length),
           "%s: %s\nwanted: %s", jd_status_name(got), jd_error_message(), text);
}

/* Skips the test: exit status 77, and the reason for the runner. */
#define SKIP(...)                                                              \
    do {                                                                       \
        printf("skip: ");                                                      \
        printf(__VA_ARGS__);                                                   \
        putchar('\n');                                                         \
        fflush(stdout);                                                        \
        _Exit(77);                                                             \
    } while (0)

#endif
