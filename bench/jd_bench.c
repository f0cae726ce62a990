/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_bench.c - jd-bench: measures jd with its peer beside it in the same run.
 * Here are the names. */
#include "bench/jd_bench.h"
#include "base/env.h"
#include "jd_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

static const struct bench *const benches[] = {
    &bench_checkpoint, &bench_collectives, &bench_halo,
    &bench_init,       &bench_overlap,     &bench_pipeline,
    &bench_recorder,   &bench_reshard,     &bench_scale,
};
enum { NUM_BENCHES = sizeof benches / sizeof *benches };

static void print_usage(FILE *out)
{
    fputs("Usage: jd-bench NAME [options]\n"
          "       jd-bench NAME --help\n"
          "       jd-bench --help | --version\n"
          "\n"
          "Measures jd with its peer beside it in the same run.\n\n",
          out);
    for (int i = 0; i < NUM_BENCHES; i++)
        fprintf(out, "  %-14s %s\n", benches[i]->name, benches[i]->doc);
}

static int fail_usage(const char *name)
{
    if (name)
        fprintf(stderr, "jd-bench: there is no measurement \"%s\"\n", name);
    print_usage(stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    /* Its peers are the host's, unless a measurement is told otherwise. */
    if (jd__env_export("JD_PLATFORM", "cpu") != JD_OK)
        return EXIT_FAILURE;
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name)
        return fail_usage(NULL);
    if (strcmp(name, "--help") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        printf("jd-bench %s\n", jd_version());
        return 0;
    }
    for (int i = 0; i < NUM_BENCHES; i++)
        if (strcmp(name, benches[i]->name) == 0)
            return benches[i]->run(argc - 1, argv + 1);
    return fail_usage(name);
}
