/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * grid.h - heat in a square plate: the arithmetic that both programs share.
 *
 * The plate has size x size inner points. Its upper edge is kept at 1, the
 * other three at 0. One step replaces each point by the mean of its four
 * neighbours (Jacobi's iteration). A process holds some rows, with one more
 * above and one below: its neighbours' nearest rows, or the plate's edge.
 * Nothing here communicates.
 */
#ifndef GRID_H
#define GRID_H

enum { MAX_SIZE = 16384 };

/* What the user asks for; process 0 reads it from the command line. */
struct problem {
    int action;       /* ACTION_... */
    int size;         /* inner points along an edge */
    int steps;        /* at most so many */
    double tolerance; /* stop where a step's change is smaller */
};

enum { ACTION_RUN, ACTION_STOP, ACTION_FAIL };
enum { EXIT_USAGE = 2 };

/* The rows of one process. */
struct grid {
    int size;       /* inner points along an edge of the plate */
    int first;      /* the plate's number of the first own row */
    int rows;       /* own rows */
    double *now;    /* rows + 2 lines of size + 2 points */
    double *before; /* the same, one step ago */
};

/*
 * Reads the command line for so many processes; prints usage, or what is
 * wrong. With problem.action other than ACTION_RUN there is nothing to do.
 */
struct problem read_problem(int argc, char **argv, int processes);

/* The rows of process index of count. Returns 0, or -1: no memory. */
int make_grid(struct grid *grid, int size, int index, int count);
void free_grid(struct grid *grid);

/* Line i of the newest values: 0 is the line above the first own row. */
double *line(struct grid *grid, int i);

/* One step of the own rows; returns the sum of the squared changes. */
double advance(struct grid *grid);

/* The sum of the own points. */
double add_points(struct grid *grid);

/* The middle column of the own rows, rows values. */
void copy_middle(struct grid *grid, double *column);

/* What process 0 prints. */
void print_progress(int step, double change);
void print_result(int steps, double mean, const double *middle, int size);

#endif
