/* SPDX-License-Identifier: BSD-3-Clause */
/* arguments.c - the command line of digits. */
#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EPOCHS = 100000 };

const char usage[] =
    "usage: digits [OPTION]... FILE\n"
    "Trains a digit classifier on FILE, 64 pixels and a digit in each line.\n"
    "  --epochs N      passes over the data (default 200)\n"
    "  --save FILE     write the parameters to FILE\n"
    "  --compare FILE  compare the parameters with those in FILE\n"
    "  --help          print this and exit\n";

static int fail(const char *argument, const char *text, char *why,
                size_t why_size)
{
    snprintf(why, why_size, "%s: %s", argument, text);
    return -1;
}

static int parse_epochs(struct arguments *arguments, const char *text,
                        char *why, size_t why_size)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 1 || value > MAX_EPOCHS) {
        snprintf(why, why_size,
                 "--epochs must be a whole number from 1 to %d, not \"%s\"",
                 MAX_EPOCHS, text);
        return -1;
    }
    arguments->settings.epochs = (int)value;
    return 0;
}

/* One option and its value, NULL where the command line ends before it. */
static int parse_option(struct arguments *arguments, const char *name,
                        const char *value, char *why, size_t why_size)
{
    int is_epochs = strcmp(name, "--epochs") == 0;
    int is_save = strcmp(name, "--save") == 0;
    if (!is_epochs && !is_save && strcmp(name, "--compare") != 0)
        return fail(name, "unknown option", why, why_size);
    if (!value)
        return fail(name, "a value is missing", why, why_size);
    if (is_epochs)
        return parse_epochs(arguments, value, why, why_size);
    *(is_save ? &arguments->save : &arguments->compare) = value;
    return 0;
}

int parse_arguments(int argc, char **argv, struct arguments *ret_arguments,
                    char *why, size_t why_size)
{
    struct arguments found = {
        .settings = { .epochs = 200, .rate = 0.5, .momentum = 0.9 },
    };
    for (int i = 1; i < argc && !found.help; i++) {
        if (strcmp(argv[i], "--help") == 0)
            found.help = 1;
        else if (strncmp(argv[i], "--", 2) != 0 && found.data)
            return fail(argv[i], "one FILE is enough", why, why_size);
        else if (strncmp(argv[i], "--", 2) != 0)
            found.data = argv[i];
        else if (parse_option(&found, argv[i], argv[i + 1], why, why_size) != 0)
            return -1;
        else
            i++;
    }
    if (!found.data && !found.help)
        return fail("FILE", "the data file is missing", why, why_size);
    *ret_arguments = found;
    return 0;
}
