/* SPDX-License-Identifier: BSD-3-Clause */
/* model.c - softmax regression. */
#include "model.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One message carries the whole struct: no holes, nothing but doubles. */
static_assert(sizeof(struct sums) == SUMS * sizeof(double), "sums");

/* Parameter i of the list that weights and bias make. */
static double *parameter(struct model *model, int i)
{
    return i < PIXELS * CLASSES ? &model->weights[i / CLASSES][i % CLASSES]
                                : &model->bias[i - PIXELS * CLASSES];
}

static double get_parameter(const struct model *model, int i)
{
    return i < PIXELS * CLASSES ? model->weights[i / CLASSES][i % CLASSES]
                                : model->bias[i - PIXELS * CLASSES];
}

/* The next number of -0.5..0.5: splitmix64, the same on every machine. */
static double draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (double)(z >> 11) / 9007199254740992.0 - 0.5;
}

void draw_model(struct model *model, uint64_t seed)
{
    memset(model, 0, sizeof *model);
    for (int i = 0; i < PIXELS * CLASSES; i++)
        *parameter(model, i) = 0.02 * draw(&seed);
}

static void compute_scores(const struct model *model, const struct row *row,
                           double scores[CLASSES])
{
    memcpy(scores, model->bias, sizeof model->bias);
    for (int p = 0; p < PIXELS; p++)
        for (int c = 0; c < CLASSES; c++)
            scores[c] += row->pixels[p] * model->weights[p][c];
}

static int find_largest(const double scores[CLASSES])
{
    int best = 0;
    for (int c = 1; c < CLASSES; c++)
        if (scores[c] > scores[best])
            best = c;
    return best;
}

/* Turns scores into probabilities; returns the logarithm of their scale. */
static double normalise(double scores[CLASSES])
{
    double largest = scores[find_largest(scores)], sum = 0;
    for (int c = 0; c < CLASSES; c++)
        sum += scores[c] = exp(scores[c] - largest);
    for (int c = 0; c < CLASSES; c++)
        scores[c] /= sum;
    return largest + log(sum);
}

void add_training_row(const struct model *model, const struct row *row,
                      struct sums *sums)
{
    double error[CLASSES];
    compute_scores(model, row, error);
    double own = error[row->digit];
    sums->loss += normalise(error) - own;
    sums->training_rows++;
    error[row->digit] -= 1;
    for (int p = 0; p < PIXELS; p++)
        for (int c = 0; c < CLASSES; c++)
            sums->gradient[p * CLASSES + c] += row->pixels[p] * error[c];
    for (int c = 0; c < CLASSES; c++)
        sums->gradient[PIXELS * CLASSES + c] += error[c];
}

void add_test_row(const struct model *model, const struct row *row,
                  struct sums *sums)
{
    double scores[CLASSES];
    compute_scores(model, row, scores);
    sums->test_rows++;
    sums->test_right += find_largest(scores) == row->digit;
}

void step(struct model *model, const struct sums *sums,
          const struct settings *settings)
{
    for (int i = 0; i < PARAMETERS; i++) {
        double mean = sums->gradient[i] / sums->training_rows;
        model->velocity[i] =
            settings->momentum * model->velocity[i] - settings->rate * mean;
        *parameter(model, i) += model->velocity[i];
    }
}

double compare_models(const struct model *a, const struct model *b)
{
    double largest = 0;
    for (int i = 0; i < PARAMETERS; i++) {
        double difference = fabs(get_parameter(a, i) - get_parameter(b, i));
        if (isnan(difference))
            return INFINITY;
        largest = fmax(largest, difference);
    }
    return largest;
}

/* ---- files ------------------------------------------------------------ */

int save_model(const struct model *model, const char *path, char *why,
               size_t why_size)
{
    FILE *file = fopen(path, "w");
    int failed = !file;
    for (int i = 0; !failed && i < PARAMETERS; i++)
        failed = fprintf(file, "%.17g\n", get_parameter(model, i)) < 0;
    if (file && fclose(file) != 0)
        failed = 1;
    if (failed)
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
    return failed ? -1 : 0;
}

int load_model(struct model *model, const char *path, char *why,
               size_t why_size)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return -1;
    }
    memset(model, 0, sizeof *model);
    int i = 0;
    while (i < PARAMETERS && fscanf(file, "%lf", parameter(model, i)) == 1)
        i++;
    fclose(file);
    if (i == PARAMETERS)
        return 0;
    snprintf(why, why_size,
             "%s: parameter %d of %d is missing or is not a number", path,
             i + 1, PARAMETERS);
    return -1;
}
