/* SPDX-License-Identifier: BSD-3-Clause */
/* flags.c - reads the command line of a measurement. */
#include "bench/engine/flags.h"

#include <stdio.h>

enum { EXIT_USAGE = 2 };

int bench_read_flags(const struct bench_flags *flags, int argc, char **argv,
                     void *arg)
{
    int index = 0;
    for (int flag;
         (flag = getopt_long(argc, argv, "", flags->flags, &index)) != -1;) {
        if (flag == 'h') {
            fputs(flags->usage, stdout);
            return 0;
        }
        if (flag == '?') {
            fputs(flags->usage, stderr);
            return EXIT_USAGE;
        }
        const char *wanted = flags->set(arg, flag, optarg);
        if (wanted) {
            fprintf(stderr, "jd-bench %s: --%s is \"%s\", but it must be %s\n",
                    flags->name, flags->flags[index].name, optarg, wanted);
            return EXIT_USAGE;
        }
    }
    if (optind == argc)
        return -1;
    fprintf(stderr, "jd-bench %s: \"%s\" is no flag\n%s", flags->name,
            argv[optind], flags->usage);
    return EXIT_USAGE;
}
