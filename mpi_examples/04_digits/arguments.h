/* SPDX-License-Identifier: BSD-3-Clause */
/* arguments.h - the command line of digits. Nothing of jd. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "model.h"

#include <stddef.h>

extern const char usage[];

struct arguments {
    const char *data;         /* FILE */
    const char *save;         /* --save, or NULL */
    const char *compare;      /* --compare, or NULL */
    struct settings settings; /* --epochs, and the defaults */
    int help;
};

/* Returns 0, or -1 with a sentence in why. The strings stay argv's. */
int parse_arguments(int argc, char **argv, struct arguments *ret_arguments,
                    char *why, size_t why_size);

#endif
