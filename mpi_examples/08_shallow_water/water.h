/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * water.h - what both versions of the shallow-water model share: one block of
 * the surface, its arithmetic, and the picture. No communication.
 *
 * Height h in the middle of each cell, velocity u on its east side and v on
 * its south side; the sea has no shores (what leaves in the east comes back in
 * the west). A step moves u and v by the slope of h, then h by what flows in
 * and out. For the first a block needs the neighbours' h in the east and in the
 * south, for the second their u in the west and their v in the north: a frame
 * of one cell around the block has these.
 */
#ifndef WATER_H
#define WATER_H

#include <stddef.h>

enum { DEFAULT_SIZE = 512, DEFAULT_STEPS = 400, MAX_SIZE = 16384 };

/* What the program was asked for, the same on all. */
struct task {
    size_t size; /* the sea has size x size cells */
    int steps;
    const char *picture;  /* a file's name, or NULL */
    size_t rows, columns; /* of the grid of blocks */
    size_t height, width; /* of a block, in cells */
};

/* A block with its frame: (height + 2) rows of width + 2 numbers. */
struct block {
    size_t height, width, row, column; /* row and column in the grid */
    double *h, *u, *v;
    double *give, *take; /* a column of cells, packed */
};

/* How many numbers each of h, u and v has. */
size_t block_cells(const struct task *task);

/* A calm sea with one round hill of water. */
void block_fill(const struct task *task, struct block *block);

void block_move_velocities(struct block *block);
void block_move_surface(struct block *block);

/* The cells of row i (0: the frame's in the north), without the frame's ends;
 * they are contiguous. */
double *block_row(const struct block *block, double *field, size_t i);

/* Column j (0: the frame's in the west) to and from packed cells. */
void block_pack(const struct block *block, const double *field, size_t j,
                double *packed);
void block_unpack(const struct block *block, double *field, size_t j,
                  const double *packed);

/* sums[0] is the water above the calm sea's, sums[1] its energy. */
void block_sum(const struct block *block, double sums[2]);

/* height x width pixels of three bytes: valleys blue, hills white. */
void block_paint(const struct block *block, unsigned char *pixels);

/* The most square grid of count blocks. */
void task_cut(struct task *task, int count);

/* 0; 1 for --help; -1 where the command line is wrong, with a line for a
 * person in why. */
int task_parse(struct task *task, int argc, char **argv, char *why,
               size_t why_size);
extern const char task_usage[];

/* Writes a PPM file that most programs show; 0, or -1 with errno. */
int write_picture(const char *path, const unsigned char *pixels, size_t height,
                  size_t width);

void print_sums(int step, const double sums[2]);
void print_speed(const struct task *task, double seconds, double exchanging);

/* Seconds on a clock. */
double now(void);

#endif
