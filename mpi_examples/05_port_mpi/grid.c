/* SPDX-License-Identifier: BSD-3-Clause */
/* grid.c - heat in a square plate: the arithmetic that both programs share. */
#include "grid.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 1000000, SAMPLES = 8 };

/* ---- command line ----------------------------------------------------- */

static void print_usage(FILE *file, const char *program)
{
    fprintf(file,
            "usage: %s [SIZE [STEPS [TOLERANCE]]]\n"
            "Heat in a plate of SIZE x SIZE points (default 128), at most\n"
            "STEPS steps (1000), until a step changes less than TOLERANCE "
            "(1e-3).\n",
            program);
}

/* Reads a whole number of 1..max; 0 where text is none. */
static int parse_number(const char *text, int max)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    return !errno && end != text && !*end && value >= 1 && value <= max
               ? (int)value
               : 0;
}

/* Reads a number above or at 0; -1 where text is none. */
static double parse_tolerance(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    return end != text && !*end && isfinite(value) && value >= 0 ? value : -1;
}

static struct problem fail(const char *program, const char *name,
                           const char *value, const char *allowed)
{
    fprintf(stderr, "%s: %s must be %s, not \"%s\"\n", program, name, allowed,
            value);
    print_usage(stderr, program);
    return (struct problem){ .action = ACTION_FAIL };
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct problem read_problem(int argc, char **argv, int processes)
{
    const char *program = base_name(argv[0]);
    struct problem problem = { ACTION_RUN, 128, 1000, 1e-3 };
    char sizes[64];
    snprintf(sizes, sizeof sizes, "a whole number, %d to %d, for %d process%s",
             processes, MAX_SIZE, processes, processes == 1 ? "" : "es");
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        print_usage(stdout, program);
        problem.action = ACTION_STOP;
        return problem;
    }
    if (argc > 4)
        return fail(program, "the fourth argument", argv[4], "absent");
    if (argc > 1)
        problem.size = parse_number(argv[1], MAX_SIZE);
    if (problem.size < processes)
        return fail(program, "SIZE", argc > 1 ? argv[1] : "128", sizes);
    if (argc > 2 && !(problem.steps = parse_number(argv[2], MAX_STEPS)))
        return fail(program, "STEPS", argv[2], "a whole number, 1 to 1000000");
    if (argc > 3 && (problem.tolerance = parse_tolerance(argv[3])) < 0)
        return fail(program, "TOLERANCE", argv[3], "a number from 0 on");
    return problem;
}

/* ---- the plate -------------------------------------------------------- */

double *line(struct grid *grid, int i)
{
    return grid->now + (size_t)i * ((size_t)grid->size + 2);
}

/* The plate's upper edge is hot, in both copies. */
static void heat_upper_edge(struct grid *grid)
{
    for (int j = 1; j <= grid->size; j++)
        grid->now[j] = grid->before[j] = 1;
}

int make_grid(struct grid *grid, int size, int index, int count)
{
    int each = size / count, rest = size % count;
    grid->size = size;
    grid->first = each * index + (index < rest ? index : rest);
    grid->rows = each + (index < rest);
    size_t points = ((size_t)grid->rows + 2) * ((size_t)size + 2);
    grid->now = calloc(points, sizeof *grid->now);
    grid->before = calloc(points, sizeof *grid->before);
    if (!grid->now || !grid->before) {
        free_grid(grid);
        return -1;
    }
    if (grid->first == 0)
        heat_upper_edge(grid);
    return 0;
}

void free_grid(struct grid *grid)
{
    free(grid->now);
    free(grid->before);
    grid->now = grid->before = NULL;
}

double advance(struct grid *grid)
{
    size_t width = (size_t)grid->size + 2;
    double *old = grid->now, *new = grid->before, sum = 0;
    for (size_t i = 1; i <= (size_t)grid->rows; i++)
        for (size_t j = 1; j + 1 < width; j++) {
            size_t at = i * width + j;
            double mean = (old[at - width] + old[at + width] + old[at - 1] +
                           old[at + 1]) /
                          4;
            sum += (mean - old[at]) * (mean - old[at]);
            new[at] = mean;
        }
    grid->now = new;
    grid->before = old;
    return sum;
}

double add_points(struct grid *grid)
{
    double sum = 0;
    for (int i = 1; i <= grid->rows; i++)
        for (int j = 1; j <= grid->size; j++)
            sum += line(grid, i)[j];
    return sum;
}

void copy_middle(struct grid *grid, double *column)
{
    for (int i = 0; i < grid->rows; i++)
        column[i] = line(grid, i + 1)[(grid->size + 1) / 2];
}

/* ---- output ----------------------------------------------------------- */

void print_progress(int step, double change)
{
    printf("step %5d  change %.6e\n", step, change);
}

void print_result(int steps, double mean, const double *middle, int size)
{
    int samples = size < SAMPLES ? size : SAMPLES;
    printf("after %d steps: mean heat %.9f\nmiddle column:", steps, mean);
    for (int i = 0; i < samples; i++)
        printf(" %.6f", middle[(long long)i * size / samples]);
    printf("\n");
}
