/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preemption.c - a training that can be stopped by a signal and goes on later
 * as if nothing had been.
 *
 * Objective: when a cluster takes its machines back (SIGTERM to any process),
 * all processes stop at the same step, save once, and end with exit code 0;
 * started again, the job ends with the numbers of one that was never stopped.
 *
 * Steps:
 *   1. Join the job and read the data, as in 04_digits.
 *   2. jd_array_restore() gives the parameters and the epoch to all, or says
 *      that there is no checkpoint; then the first parameters are drawn.
 *   3. Before each epoch: jd_reached_preemption_sync_point(epoch).
 *   4. Where that is 1: jd_array_save(), and
 *      jd_acknowledge_preemption().
 *   5. At the end the parameters are saved too, with the last epoch.
 */
#include "data.h"
#include "model.h"

#include <jd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAVES = 4, REPORTS = 10, SEED = 1, USAGE = 2, MAX_EPOCHS = 1000000 };

const char program[] = "preemption";

static const char usage[] =
    "usage: preemption [--epochs N] DIR FILE\n"
    "Trains a digit classifier on FILE (04_digits/digits.csv). The parameters\n"
    "are saved in DIR/checkpoint at the end, and when a signal asks to stop;\n"
    "where it is there already, the training goes on from it.\n"
    "  --epochs N  passes over the data (default 200)\n"
    "  --help      print this and exit\n";

/* What a process works on. */
struct training {
    char checkpoint[4096];   /* the directory */
    jd_sharding *everywhere; /* each device has all of an array */
    struct settings settings;
    struct data data;
    struct model model;
    int32_t epoch; /* the next to be trained */
};

/* ---- the state --------------------------------------------------------- */

static const char *const names[LEAVES] = { "weights", "bias", "velocity",
                                           "epoch" };
static const int64_t shapes[LEAVES][2] = { { PIXELS, CLASSES },
                                           { CLASSES },
                                           { PARAMETERS } };

/* All that the training needs to go on: it is the same on all processes. */
static void list_leaves(struct training *t, jd_leaf *leaves)
{
    leaves[0] = (jd_leaf){ t->model.weights, JD_F64, 2, shapes[0] };
    leaves[1] = (jd_leaf){ t->model.bias, JD_F64, 1, shapes[1] };
    leaves[2] = (jd_leaf){ t->model.velocity, JD_F64, 1, shapes[2] };
    leaves[3] = (jd_leaf){ &t->epoch, JD_S32, 0, NULL };
}

/* What jd has to say of a failure; it is the same on all processes. */
static int fail(void)
{
    if (jd_process_index() == 0)
        fprintf(stderr, "%s: %s\n", program, jd_error_message());
    return -1;
}

/* The whole leaf: each device's block is all of it. */
static jd_status fill(const jd_range *index, void *block, void *arg)
{
    const jd_leaf *leaf = arg;
    size_t bytes = jd_dtype_size(leaf->dtype);
    for (int axis = 0; axis < leaf->ndim; axis++)
        bytes *= (size_t)(index[axis].end - index[axis].begin);
    memcpy(block, leaf->data, bytes);
    return JD_OK;
}

/* Returns on all when it is on the disk; each leaf is written by one. */
static int save(struct training *t)
{
    jd_leaf leaves[LEAVES];
    jd_array *arrays[LEAVES];
    list_leaves(t, leaves);
    for (int i = 0; i < LEAVES; i++)
        JD_CHECK(jd_array_from_callback(&arrays[i], t->everywhere,
                                        leaves[i].dtype, leaves[i].ndim,
                                        leaves[i].shape, fill, &leaves[i]));
    jd_status status = jd_array_save(t->checkpoint, names, arrays, LEAVES);
    for (int i = 0; i < LEAVES; i++)
        jd_array_release(arrays[i]);
    return status == JD_OK ? 0 : fail();
}

/* Types and shapes are compared: it may be another program's. */
static int take(struct training *t, jd_array **arrays)
{
    jd_leaf leaves[LEAVES];
    jd_status status = JD_OK;
    list_leaves(t, leaves);
    for (int i = 0; i < LEAVES; i++) {
        if (status == JD_OK)
            status = jd_array_to_host(arrays[i], &leaves[i]);
        jd_array_release(arrays[i]);
    }
    return status == JD_OK ? 0 : fail();
}

/* What was saved; or the beginning, which is saved at once: a folder that
 * cannot be written to shows now, and not after the training. */
static int load(struct training *t)
{
    jd_sharding *shardings[LEAVES];
    jd_array *arrays[LEAVES];
    for (int i = 0; i < LEAVES; i++)
        shardings[i] = t->everywhere;
    jd_status status =
        jd_array_restore(t->checkpoint, names, shardings, LEAVES, arrays);
    if (status == JD_OK)
        return take(t, arrays);
    if (status != JD_NOT_FOUND)
        return fail();
    draw_model(&t->model, SEED);
    t->epoch = 0;
    return save(t);
}

/* ---- training ---------------------------------------------------------- */

static void report(const struct training *t, const struct sums *sums)
{
    int epochs = t->settings.epochs;
    int every = epochs > REPORTS ? epochs / REPORTS : 1;
    if (jd_process_index() != 0 || (t->epoch % every && t->epoch != epochs))
        return;
    printf("epoch %4d  loss %.6f  test accuracy %.4f\n", (int)t->epoch,
           sums->loss / sums->training_rows,
           sums->test_right / sums->test_rows);
    fflush(stdout);
}

static void measure(struct training *t, jd_shard *me, struct sums *sums)
{
    add_rows(&t->model, &t->data, sums);
    JD_CHECK(jd_psum(me, "data", sums, sums, SUMS, JD_F64));
    report(t, sums);
}

/* Returns 1 where the job was asked to stop. */
static int train(struct training *t, jd_shard *me)
{
    struct sums sums;
    for (; t->epoch < t->settings.epochs; t->epoch++) {
        if (jd_reached_preemption_sync_point(t->epoch))
            return 1;
        measure(t, me, &sums);
        step(&t->model, &sums, &t->settings);
    }
    measure(t, me, &sums);
    return 0;
}

static int train_and_save(struct training *t, jd_shard *me)
{
    int stopped = train(t, me);
    if (stopped)
        printf("process %d stops before epoch %d\n", jd_process_index(),
               (int)t->epoch);
    if (save(t) != 0)
        return FAILED;
    if (jd_process_index() == 0)
        printf("saved %s: epoch %d of %d\n", t->checkpoint, (int)t->epoch,
               t->settings.epochs);
    if (stopped)
        JD_CHECK(jd_acknowledge_preemption());
    return 0;
}

static int run(struct training *t, const char *file, jd_shard *me)
{
    if (read_data(file, &t->data) != 0 || load(t) != 0)
        return FAILED;
    if (jd_process_index() == 0)
        printf("begins with epoch %d\n", (int)t->epoch);
    return train_and_save(t, me);
}

/* ---- the program ------------------------------------------------------- */

static int make_mesh_and_run(struct training *t, const char *file)
{
    jd_mesh *mesh;
    JD_CHECK(jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "data" },
                            NULL));
    jd_shard *me = jd_mesh_shard(mesh);
    if (!me)
        jd_abort(FAILED, jd_error_message());
    JD_CHECK(jd_sharding_create(&t->everywhere, mesh, ""));
    int status = run(t, file, me);
    free(t->data.rows);
    jd_sharding_release(t->everywhere);
    jd_mesh_destroy(mesh);
    return status;
}

/* Returns 0, or -1 where the command line is wrong. */
static int parse(int argc, char **argv, struct training *t)
{
    int first = 1;
    char *end;
    if (argc > 2 && strcmp(argv[1], "--epochs") == 0) {
        long epochs = strtol(argv[2], &end, 10);
        if (*end || end == argv[2] || epochs < 1 || epochs > MAX_EPOCHS)
            return -1;
        t->settings.epochs = (int)epochs;
        first = 3;
    }
    if (argc != first + 2 || strncmp(argv[first], "--", 2) == 0)
        return -1;
    snprintf(t->checkpoint, sizeof t->checkpoint, "%s/checkpoint", argv[first]);
    return 0;
}

int main(int argc, char **argv)
{
    static struct training t = {
        .settings = { .epochs = 200, .rate = 0.5, .momentum = 0.9 },
    };
    int status = 0;

    JD_CHECK(jd_initialize());
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        if (jd_process_index() == 0)
            fputs(usage, stdout);
    } else if (parse(argc, argv, &t) != 0) {
        status = USAGE;
        if (jd_process_index() == 0)
            fprintf(stderr, "preemption: the command line is wrong\n%s", usage);
    } else {
        status = make_mesh_and_run(&t, argv[argc - 1]);
    }
    /* Nobody leaves before the reason of a failure is printed. */
    JD_CHECK(jd_sync_global_devices("the end"));
    JD_CHECK(jd_shutdown());
    return status;
}
