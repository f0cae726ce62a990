/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * draw_samples.c - a picture for the manual: what `jd-bench collectives --plot`
 * draws, of samples that are in a file as its jobs print them. Comments there
 * say on what machine they were taken, and by which versions.
 * usage: draw_samples SAMPLES FILE.svg
 */
#include "bench/collectives/collectives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What stands behind the head of the line, malloc'ed; NULL: another line. */
static char *text_behind(const char *line, const char *head)
{
    size_t length = strlen(head);
    return strncmp(line, head, length) == 0
               ? strndup(line + length, strcspn(line + length, "\n"))
               : NULL;
}

static bool read_samples(FILE *file, struct bench_results *results,
                         char **ret_machine, char **ret_versions)
{
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, file) > 0) {
        if (!*ret_machine)
            *ret_machine = text_behind(line, "# machine: ");
        if (!*ret_versions)
            *ret_versions = text_behind(line, "# versions: ");
        bench_results_read(results, line);
    }
    free(line);
    return *ret_machine && *ret_versions;
}

int main(int argc, char **argv)
{
    struct bench_results results = { .count = 0 };
    struct bench_plot plot = { .results = &results,
                               .peer = "mpi",
                               .platform = "cpu",
                               .path = argv[argc - 1] };
    char *machine = NULL, *versions = NULL;
    FILE *file = argc == 3 ? fopen(argv[1], "re") : NULL;
    bool ok = file && read_samples(file, &results, &machine, &versions);
    if (file)
        fclose(file);
    plot.machine = machine;
    plot.versions = versions;
    if (!ok)
        fputs("draw_samples: no samples with machine and versions\n", stderr);
    ok = ok && bench_plot_draw(&plot) == 0;
    bench_results_free(&results);
    free(machine);
    free(versions);
    return !ok;
}
