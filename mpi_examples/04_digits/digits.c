/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digits.c - data-parallel training on 1797 real images of digits.
 *
 * Objective: train one model with all processes of a job, each of them on
 * its own share of the data, and get what one process alone would get.
 *
 * Steps:
 *   1. Join the job; one mesh axis, "data", over all devices.
 *   2. Each process reads its share of the file, and nothing else of it.
 *   3. Process 0 draws the first parameters, jd_broadcast_one_to_all() gives
 *      them to all.
 *   4. Each epoch: gradients of the own rows, jd_psum() over "data", and the
 *      same step everywhere. Every fifth row is held out for the accuracy.
 *   5. jd_assert_equal(): all processes hold the same parameters, bit for bit.
 *   6. Process 0 trains once more, alone, on all rows, and compares.
 */
#include "arguments.h"
#include "data.h"
#include "model.h"
#include "rows.h"

#include <jd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPORTS = 10, SEED = 1, USAGE = 2 };

static const double TOLERANCE = 1e-9;

const char program[] = "digits";

/* ---- training --------------------------------------------------------- */

static void report(const struct sums *sums, int epoch, int epochs)
{
    int every = epochs > REPORTS ? epochs / REPORTS : 1;
    if (jd_process_index() != 0 || (epoch % every && epoch != epochs))
        return;
    printf("epoch %4d  loss %.6f  test accuracy %.4f\n", epoch,
           sums->loss / sums->training_rows,
           sums->test_right / sums->test_rows);
    fflush(stdout);
}

/* The parameters as jd sees them: two arrays of F64. */
static void list_parameters(struct model *model, jd_leaf leaves[2])
{
    static const int64_t matrix[] = { PIXELS, CLASSES }, row[] = { CLASSES };
    leaves[0] = (jd_leaf){ model->weights, JD_F64, 2, matrix };
    leaves[1] = (jd_leaf){ model->bias, JD_F64, 1, row };
}

static void train_together(jd_shard *me, struct model *model,
                           const struct data *data,
                           const struct settings *settings)
{
    struct sums sums;
    jd_leaf parameters[2];
    list_parameters(model, parameters);
    memset(model, 0, sizeof *model);
    if (jd_process_index() == 0)
        draw_model(model, SEED);
    JD_CHECK(jd_broadcast_one_to_all(parameters, 2, 0));
    for (int epoch = 0; epoch <= settings->epochs; epoch++) {
        add_rows(model, data, &sums);
        JD_CHECK(jd_psum(me, "data", &sums, &sums, SUMS, JD_F64));
        report(&sums, epoch, settings->epochs);
        if (epoch < settings->epochs)
            step(model, &sums, settings);
    }
    JD_CHECK(jd_assert_equal(parameters, 2, "the parameters after training"));
}

/* ---- the same without jd, for comparison ------------------------------ */

static void train_alone(struct model *model, const struct data *data,
                        const struct settings *settings)
{
    struct sums sums;
    draw_model(model, SEED);
    for (int epoch = 0; epoch < settings->epochs; epoch++) {
        add_rows(model, data, &sums);
        step(model, &sums, settings);
    }
}

/* Reads all rows. Only the comparison does that, and only in process 0. */
static int read_all(const char *path, struct data *data, char *why,
                    size_t why_size)
{
    struct share share;
    if (read_share(path, 0, 1, &share, why, why_size) != 0)
        return -1;
    data->first_line = 1;
    data->count = data->total = share.lines;
    data->rows = calloc((size_t)share.lines + 1, sizeof *data->rows);
    int failed =
        data->rows ? parse_rows(&share, 1, data->rows, why, why_size) : -1;
    free(share.text);
    return failed;
}

static int print_difference(const char *head, const char *what,
                            const struct model *a, const struct model *b)
{
    double largest = compare_models(a, b);
    int equal = largest <= TOLERANCE;
    printf("%s: %s %s (largest difference %.2g of %d parameters)\n", head,
           equal ? "equals" : "DIFFERS from", what, largest, PARAMETERS);
    return equal ? 0 : FAILED;
}

static int compare_with_file(const struct model *model, const char *path)
{
    char why[512];
    struct model saved;
    if (load_model(&saved, path, why, sizeof why) == 0)
        return print_difference("compare", path, model, &saved);
    fprintf(stderr, "digits: %s\n", why);
    return FAILED;
}

static int save(const struct model *model, const char *path)
{
    char why[512];
    if (save_model(model, path, why, sizeof why) == 0)
        return 0;
    fprintf(stderr, "digits: %s\n", why);
    return FAILED;
}

static int compare_with_one_process(const struct model *model,
                                    const struct arguments *arguments)
{
    char why[512] = "no memory for all rows";
    struct model alone;
    struct data all = { 0 };
    int failed = read_all(arguments->data, &all, why, sizeof why);
    if (failed)
        fprintf(stderr, "digits: %s\n", why);
    else
        train_alone(&alone, &all, &arguments->settings);
    free(all.rows);
    return failed ? FAILED
                  : print_difference("result", "the one-process result", model,
                                     &alone);
}

/* What process 0 does after the training; its last line is the result. */
static int finish(const struct model *model, const struct arguments *arguments)
{
    int failed = 0;
    if (arguments->save)
        failed |= save(model, arguments->save);
    if (arguments->compare)
        failed |= compare_with_file(model, arguments->compare);
    failed |= compare_with_one_process(model, arguments);
    return failed;
}

/* ---- the program ------------------------------------------------------ */

static int train_and_check(jd_shard *me, const struct arguments *arguments)
{
    struct data data = { 0 };
    struct model model;
    int status = FAILED;
    if (read_data(arguments->data, &data) == 0) {
        train_together(me, &model, &data, &arguments->settings);
        status = jd_process_index() == 0 ? finish(&model, arguments) : 0;
    }
    free(data.rows);
    return status;
}

static int make_mesh_and_train(const struct arguments *arguments)
{
    jd_mesh *mesh;
    JD_CHECK(jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "data" },
                            NULL));
    jd_shard *me = jd_mesh_shard(mesh);
    if (!me)
        jd_abort(FAILED, jd_error_message());
    int status = train_and_check(me, arguments);
    jd_mesh_destroy(mesh);
    return status;
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    char why[512];
    int status = 0;

    JD_CHECK(jd_initialize());
    if (parse_arguments(argc, argv, &arguments, why, sizeof why) != 0) {
        status = USAGE;
        if (jd_process_index() == 0)
            fprintf(stderr, "digits: %s\n%s", why, usage);
    } else if (!arguments.help) {
        status = make_mesh_and_train(&arguments);
    } else if (jd_process_index() == 0) {
        fputs(usage, stdout);
    }
    /* A launcher may end the job as soon as one process has failed: nobody
     * leaves before the reason is printed. */
    JD_CHECK(jd_sync_global_devices("the end"));
    JD_CHECK(jd_shutdown());
    return status;
}
