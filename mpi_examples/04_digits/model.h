/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.h - softmax regression: one matrix of weights and a bias, trained by
 * gradient descent with momentum. Plain arithmetic, nothing of jd.
 *
 *     draw_model(&model, 1);
 *     for each epoch {
 *         memset(&sums, 0, sizeof sums);
 *         for each row
 *             add_training_row(&model, row, &sums);
 *         step(&model, &sums, &settings);
 *     }
 *
 * Sums over rows are sums over processes too: struct sums is made of F64
 * only, so that one call can add up the whole of it.
 */
#ifndef MODEL_H
#define MODEL_H

#include "rows.h"

#include <stdint.h>

enum { PARAMETERS = PIXELS * CLASSES + CLASSES };

struct model {
    double weights[PIXELS][CLASSES];
    double bias[CLASSES];
    double velocity[PARAMETERS]; /* of weights, then bias; starts at 0 */
};

/* What one pass over rows adds up. */
struct sums {
    double gradient[PARAMETERS]; /* of weights, then bias */
    double loss;
    double training_rows;
    double test_rows, test_right;
};

enum { SUMS = PARAMETERS + 4 };

struct settings {
    int epochs;
    double rate, momentum;
};

/* Small weights that depend on seed alone. */
void draw_model(struct model *model, uint64_t seed);

/* Adds a training row's gradient and loss. */
void add_training_row(const struct model *model, const struct row *row,
                      struct sums *sums);

/* Adds whether the model names a held-out row's digit. */
void add_test_row(const struct model *model, const struct row *row,
                  struct sums *sums);

/* One step down the gradient's mean. */
void step(struct model *model, const struct sums *sums,
          const struct settings *settings);

/* The largest difference of two models' parameters; NaN counts as infinite. */
double compare_models(const struct model *a, const struct model *b);

/* Parameters as text, one in each line; 0, or -1 with a sentence in why. */
int save_model(const struct model *model, const char *path, char *why,
               size_t why_size);
int load_model(struct model *model, const char *path, char *why,
               size_t why_size);

#endif
