/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * constants.h - what the model reckons with: given, measured on the spot, or
 * taken from where it was measured.
 *
 *     struct scale_constants constants = scale_constants_default();
 *     scale_constants_measure(&constants);
 *     scale_constants_print(&constants);
 */
#ifndef BENCH_SCALE_CONSTANTS_H
#define BENCH_SCALE_CONSTANTS_H

#include <stdbool.h>

enum scale_constant {
    SCALE_LATENCY,
    SCALE_BANDWIDTH,
    SCALE_OVERHEAD,
    SCALE_FOLD,
    SCALE_COPY,
    SCALE_MEMORY,
    SCALE_LINE,
    SCALE_CONNECT,
    SCALE_REGISTER,
    SCALE_LEAVE,
    SCALE_HEARTBEAT,
    SCALE_PERIOD,
    SCALE_AGENT,
    SCALE_KEY,
    SCALE_SEAL,
    SCALE_PIECE,
    SCALE_LAG,
    SCALE_WINDOW,
    SCALE_CONSTANTS
};

struct scale_constants {
    double value[SCALE_CONSTANTS]; /* seconds, bytes, bytes per second, or how
                                    * many */
    const char *source[SCALE_CONSTANTS];
};

/* A row: --name N is so many units. */
struct scale_constant_row {
    const char *name, *unit;
    double unit_value; /* in what values are */
    double standard;   /* in units; 0: measured on the spot */
    const char *what, *source;
};
extern const struct scale_constant_row scale_constant_rows[SCALE_CONSTANTS];

struct scale_constants scale_constants_default(void);

/* How many, of LAG and WINDOW: from 1 to 1000. */
int scale_constants_count(const struct scale_constants *constants,
                          enum scale_constant which);

/* --name's value; false where it is no number above 0. */
bool scale_constants_read(struct scale_constants *constants,
                          enum scale_constant which, const char *text);

/* Those that nobody has given: fold and copy. */
void scale_constants_measure(struct scale_constants *constants);

void scale_constants_print(const struct scale_constants *constants);
/* Rows of a list of JSON. */
void scale_constants_print_json(const struct scale_constants *constants);

#endif
