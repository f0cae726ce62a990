/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conform.h - what the parts of the conformance suite share. An operation says
 * how long its buffers are, makes the call, and says what should be in out;
 * everything else is the same for all of them: attempt.c.
 */
#ifndef CONFORMANCE_CONFORM_H
#define CONFORMANCE_CONFORM_H

#include "numbers.h"
#include "places.h"

#include <stdatomic.h>
#include <stdio.h>

/* Where in and out are. MIXED: each member and buffer draws one of the two.
 * Those beyond IN_PLACE are mixed too, and begin an element, or a byte, off
 * the alignment that an allocator gives. */
enum buffers {
    BUFFERS_DEVICE,
    BUFFERS_MALLOC,
    BUFFERS_MIXED,
    BUFFERS_IN_PLACE,
    BUFFERS_OFF_ELEMENT,
    BUFFERS_OFF_BYTE,
    NUM_BUFFERS
};

#define MOST_DIMENSIONS 5 /* of what all_to_all_nd draws */

/* One case of one member. */
struct attempt {
    const struct operation *operation;
    const struct span *span;
    const char *axes;
    jd_dtype dtype;
    size_t size;   /* of an element */
    size_t count;  /* the case's, of which an operation makes its own */
    uint64_t salt; /* the same on all members of the call */
    enum buffers buffers;
    bool rounds_each_step; /* struct fold's */
    struct terms terms;
    const void *in;
    void *out;
    size_t rows, columns; /* for the operation's own use */
    int64_t shape[MOST_DIMENSIONS];
    int ndim;
    int split, concat;
    size_t first, pitch; /* of a reduction's rows among the terms */

    /* Elements; said by the operation. place: where in begins after out when
     * the call is in place; NO_PLACE where it cannot be. */
    size_t in_count, out_count;
    ptrdiff_t place;
};
#define NO_PLACE PTRDIFF_MIN

struct operation {
    const char *name;
    const char *call; /* what error messages begin with */
    enum reduce reduce;
    bool has_no_type; /* one type is enough */
    bool is_of_cpu;   /* no other platform has it */
    bool is_transfer; /* the members have to have met before */
    bool is_scan;     /* of some members, in an order of its own */
    void (*plan)(struct attempt *attempt);
    jd_status (*run)(const struct attempt *attempt);
    /* Writes out's elements as they should be; they come with what was there
     * before. */
    void (*expect)(const struct attempt *attempt, char *wanted);
};

/* One row of as many elements as the case has, from all members. */
void plan_reduction(struct attempt *attempt);

/* How many members a scan's out is of: those up to this one, or before. */
int scan_members(const struct attempt *attempt);

/* A row of a reduction's out. */
struct fold row_fold(const struct attempt *attempt, size_t row);
void expect_reduction(const struct attempt *attempt, char *wanted);

/* A random number below limit out of the attempt's salt. */
static inline uint64_t draw(const struct attempt *attempt, uint64_t which,
                            uint64_t limit)
{
    return mix(attempt->salt + which * 0x9e3779b9) % limit;
}

static inline int member_id(const struct attempt *attempt, int member)
{
    return attempt->span->ids[member];
}

/* Writes elements of what a member gives. */
static inline void expect_given(const struct attempt *attempt, int member,
                                size_t first, size_t count, char *to)
{
    terms_write(&attempt->terms, member_id(attempt, member), first, count, to);
}

/* What was asked for on the command line, and what the process has seen. */
struct settings {
    uint64_t seed;
    uint64_t part, parts;
    int64_t only_case; /* -1: all that are drawn */
    bool all_buffers;
    bool is_exact; /* sums are folds in member order */
    bool is_on_gpus;
    const char *program;
    const char *only; /* an operation's name, NULL: all */
    size_t large_count; /* of try_large(); 0: the product */
};

/* What no int holds. */
#define LARGE_COUNT (((size_t)1 << 31) + 5)

/* A process's results of an operation. */
struct tally {
    atomic_ullong cases, failures;
    atomic_ullong exact;   /* the sum of digests of results that are the same
                            * wherever the devices are */
    atomic_ullong rounded; /* of the others */
};

/* A shard's memory for all attempts. */
struct memory;
struct memory *memory_create(const jd_device *device, int members);
void memory_destroy(struct memory *memory);

/*
 * Makes the attempt: data, call, comparison. Says on stderr what is wrong.
 * Returns: the call's status where the comm can no longer be used.
 */
jd_status attempt_make(struct attempt *attempt, struct memory *memory,
                       const struct settings *settings, struct tally *tally,
                       const char *title);

/* What has no drawing: counts over 2^31, or as large as the settings say.
 * Prints its results. */
int try_large(const struct settings *settings);

#endif
