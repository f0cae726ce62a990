/* SPDX-License-Identifier: BSD-3-Clause */
/* water.c - one block of the sea, and the program's words. */
#include "water.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* In units of a cell and of a wave's speed: the step is within Courant's
 * limit of 1 / sqrt(2). */
static const double DEPTH = 1.0, STEP = 0.5, HILL = 0.2;

const char task_usage[] =
    "usage: shallow_jd [--size N] [--steps N] [--picture FILE]\n"
    "Lets a hill of water run over a round sea of N x N cells.\n"
    "  --size N        cells along a side (default 512), rounded up so that\n"
    "                  blocks are equal\n"
    "  --steps N       default 400\n"
    "  --picture FILE  the surface at the end, as a PPM file\n"
    "  --help          print this and exit\n"
    "shallow_mpi takes the same.\n";

/* ---- the block ---------------------------------------------------------- */

size_t block_cells(const struct task *task)
{
    return (task->height + 2) * (task->width + 2);
}

static size_t at(const struct block *b, size_t i, size_t j)
{
    return i * (b->width + 2) + j;
}

void block_fill(const struct task *task, struct block *b)
{
    double middle = (double)task->size / 3, wide = (double)task->size / 16;
    size_t cells = block_cells(task);
    memset(b->u, 0, cells * sizeof *b->u);
    memset(b->v, 0, cells * sizeof *b->v);
    for (size_t i = 1; i <= b->height; i++)
        for (size_t j = 1; j <= b->width; j++) {
            double y = (double)(b->row * b->height + i) - middle;
            double x = (double)(b->column * b->width + j) - middle;
            double r = (x * x + y * y) / (wide * wide);
            b->h[at(b, i, j)] = DEPTH + HILL * exp(-r);
        }
}

void block_move_velocities(struct block *b)
{
    size_t below = b->width + 2;
    for (size_t i = 1; i <= b->height; i++) {
        const double *h = b->h + at(b, i, 0);
        double *u = b->u + at(b, i, 0), *v = b->v + at(b, i, 0);
        for (size_t j = 1; j <= b->width; j++) {
            u[j] -= STEP * (h[j + 1] - h[j]);
            v[j] -= STEP * (h[j + below] - h[j]);
        }
    }
}

void block_move_surface(struct block *b)
{
    ptrdiff_t above = -(ptrdiff_t)(b->width + 2);
    for (size_t i = 1; i <= b->height; i++) {
        const double *u = b->u + at(b, i, 0), *v = b->v + at(b, i, 0);
        double *h = b->h + at(b, i, 0);
        for (ptrdiff_t j = 1; j <= (ptrdiff_t)b->width; j++)
            h[j] -= STEP * DEPTH * (u[j] - u[j - 1] + v[j] - v[j + above]);
    }
}

double *block_row(const struct block *b, double *field, size_t i)
{
    return field + at(b, i, 1);
}

void block_pack(const struct block *b, const double *field, size_t j,
                double *packed)
{
    for (size_t i = 0; i < b->height; i++)
        packed[i] = field[at(b, i + 1, j)];
}

void block_unpack(const struct block *b, double *field, size_t j,
                  const double *packed)
{
    for (size_t i = 0; i < b->height; i++)
        field[at(b, i + 1, j)] = packed[i];
}

void block_sum(const struct block *b, double sums[2])
{
    sums[0] = sums[1] = 0;
    for (size_t i = 1; i <= b->height; i++)
        for (size_t j = 1; j <= b->width; j++) {
            size_t k = at(b, i, j);
            double hill = b->h[k] - DEPTH;
            sums[0] += hill;
            sums[1] += 0.5 * (hill * hill +
                              DEPTH * (b->u[k] * b->u[k] + b->v[k] * b->v[k]));
        }
}

/* ---- the picture -------------------------------------------------------- */

static unsigned char shade(double value)
{
    return (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
}

void block_paint(const struct block *b, unsigned char *pixels)
{
    for (size_t i = 1; i <= b->height; i++)
        for (size_t j = 1; j <= b->width; j++) {
            double hill = (b->h[at(b, i, j)] - DEPTH) / HILL;
            *pixels++ = shade(30 + 500 * hill);
            *pixels++ = shade(90 + 480 * hill);
            *pixels++ = shade(160 + 400 * hill);
        }
}

int write_picture(const char *path, const unsigned char *pixels, size_t height,
                  size_t width)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return -1;
    fprintf(file, "P6\n%zu %zu\n255\n", width, height);
    size_t written = fwrite(pixels, 3 * width, height, file);
    int failed = written != height;
    return fclose(file) != 0 || failed ? -1 : 0;
}

/* ---- the task ----------------------------------------------------------- */

void task_cut(struct task *task, int count)
{
    int rows = 1;
    for (int r = 1; r * r <= count; r++)
        if (count % r == 0)
            rows = r;
    size_t unit = (size_t)count; /* a multiple of rows and of columns */
    task->rows = (size_t)rows;
    task->columns = unit / task->rows;
    task->size = (task->size + unit - 1) / unit * unit;
    task->height = task->size / task->rows;
    task->width = task->size / task->columns;
}

/* A whole number from 1 to most; 0 where the text is none. */
static long parse_number(const char *text, long most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno || end == text || *end || value < 1 || value > most ? 0
                                                                     : value;
}

static int parse_option(struct task *task, const char *name, const char *value,
                        char *why, size_t why_size)
{
    long number = 1;
    if (strcmp(name, "--picture") == 0)
        task->picture = value;
    else if (strcmp(name, "--size") == 0)
        task->size = (size_t)(number = parse_number(value, MAX_SIZE));
    else if (strcmp(name, "--steps") == 0)
        task->steps = (int)(number = parse_number(value, 100000000));
    else
        number = 0;
    if (number == 0)
        snprintf(why, why_size, "%s %s is no option with a value it can have",
                 name, value);
    return number ? 0 : -1;
}

int task_parse(struct task *task, int argc, char **argv, char *why,
               size_t why_size)
{
    *task = (struct task){ .size = DEFAULT_SIZE, .steps = DEFAULT_STEPS };
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return 1;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) {
            snprintf(why, why_size, "%s needs a value", argv[i]);
            return -1;
        }
        if (parse_option(task, argv[i], argv[i + 1], why, why_size) != 0)
            return -1;
    }
    return 0;
}

/* ---- words -------------------------------------------------------------- */

void print_sums(int step, const double sums[2])
{
    printf("step %6d  water %.6f  energy %.6f\n", step, sums[0], sums[1]);
}

void print_speed(const struct task *task, double seconds, double exchanging)
{
    double cells = (double)task->size * (double)task->size * task->steps;
    fprintf(stderr,
            "%d steps of %zu x %zu cells in %.3f s: %.1f million cells/s, "
            "exchange %.1f %% of the time, %.2f us a step\n",
            task->steps, task->size, task->size, seconds,
            1e-6 * cells / seconds, 100 * exchanging / seconds,
            1e6 * exchanging / task->steps);
}

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
