/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint.c - a computation that is saved by so many processes and goes on
 * with any other number of them.
 *
 * Objective: arrays that are spread over devices are saved in parallel, and
 * restored on another mesh, without any process having seen the whole.
 *
 * Steps:
 *   1. A mesh of all devices; a population's cells are cut along it.
 *   2. Where DIR is a checkpoint, show what is in it, and restore it; else
 *      begin anew.
 *   3. Some steps: each cell's population grows and starves by itself,
 *      x = 3.9 x (1 - x), so that a wrong bit would show soon.
 *   4. jd_array_save(): on all processes, or on none.
 */
#include <jd.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 100003, ARRAYS = 2, MAX_STEPS = 1000000, FAILED = 1, USAGE = 2 };

static const char usage[] =
    "usage: checkpoint DIR [STEPS]\n"
    "Does STEPS (100) steps of a population of 100003 cells, from where the\n"
    "checkpoint in DIR is, and saves it there. DIR is on a file system that\n"
    "all hosts share.\n";

static const char *const names[ARRAYS] = { "population", "step" };

struct state {
    jd_sharding *shardings[ARRAYS]; /* one for each array */
    jd_array *arrays[ARRAYS];       /* F64[CELLS], S64[] */
};

/* ---- the values --------------------------------------------------------- */

static jd_status fill(const jd_range *index, void *block, void *arg)
{
    double *cells = block;
    (void)arg;
    for (int64_t i = index[0].begin; i < index[0].end; i++)
        *cells++ = (double)(i + 1) / (CELLS + 1);
    return JD_OK;
}

/* This process's blocks, each cell by itself. */
static void grow(const jd_array *population)
{
    int count;
    const jd_array_shard *shards = jd_array_shards(population, &count);
    for (int s = 0; s < count; s++) {
        double *cells = shards[s].data;
        for (size_t i = 0; i < shards[s].count; i++)
            cells[i] = 3.9 * cells[i] * (1 - cells[i]);
    }
}

/* All devices have the number of the step. */
static int64_t step_of(const jd_array *step)
{
    int64_t number;
    JD_CHECK(jd_array_to_host(step, &(jd_leaf){ &number, JD_S64, 0, NULL }));
    return number;
}

static void set_step(const jd_array *step, int64_t number)
{
    int count;
    const jd_array_shard *shards = jd_array_shards(step, &count);
    for (int s = 0; s < count; s++)
        memcpy(shards[s].data, &number, sizeof number);
}

/* The sum of all cells' bits as whole numbers: unlike that of the cells it does
 * not depend on who adds what first. */
static uint64_t sum_bits(const jd_array *population)
{
    int count, processes = jd_process_count();
    const jd_array_shard *shards = jd_array_shards(population, &count);
    uint64_t own = 0, bits, all = 0, *sums;
    for (int s = 0; s < count; s++)
        for (size_t i = 0; i < shards[s].count; i++) {
            memcpy(&bits, (double *)shards[s].data + i, sizeof bits);
            own += bits;
        }
    sums = malloc((size_t)processes * sizeof *sums);
    if (!sums)
        jd_abort(FAILED, "no memory for the sums");
    jd_leaf in = { &own, JD_U64, 0, NULL };
    jd_leaf out = { sums, JD_U64, 1, (int64_t[]){ processes } };
    JD_CHECK(jd_process_allgather(&in, &out, 1, 0));
    for (int i = 0; i < processes; i++)
        all += sums[i];
    free(sums);
    return all;
}

/* ---- saved and restored ------------------------------------------------- */

static void begin_anew(struct state *state)
{
    JD_CHECK(jd_array_from_callback(&state->arrays[0], state->shardings[0],
                                    JD_F64, 1, (int64_t[]){ CELLS }, fill,
                                    NULL));
    JD_CHECK(jd_array_zeros(&state->arrays[1], state->shardings[1], JD_S64, 0,
                            NULL));
}

/* Types and shapes, without a value; and whether they are this program's. */
static int show(const jd_checkpoint *checkpoint)
{
    jd_leaf cells, step;
    for (size_t i = 0; i < jd_checkpoint_count(checkpoint); i++) {
        const char *name = jd_checkpoint_name(checkpoint, i);
        JD_CHECK(jd_checkpoint_leaf(checkpoint, name, &cells));
        printf("saved: \"%s\", %s of %d dimension%s\n", name,
               jd_dtype_name(cells.dtype), cells.ndim,
               cells.ndim == 1 ? "" : "s");
    }
    return jd_checkpoint_leaf(checkpoint, names[0], &cells) == JD_OK &&
           jd_checkpoint_leaf(checkpoint, names[1], &step) == JD_OK &&
           cells.dtype == JD_F64 && cells.ndim == 1 &&
           cells.shape[0] == CELLS && step.dtype == JD_S64 && step.ndim == 0;
}

/* Process 0 looks for all: 1 where there is one, 0 where there is nothing. */
static int look(const char *dir)
{
    int32_t found = 0;
    jd_checkpoint *checkpoint;
    jd_status status = JD_NOT_FOUND;
    if (jd_process_index() == 0)
        status = jd_checkpoint_open(&checkpoint, dir);
    if (status != JD_NOT_FOUND) {
        JD_CHECK(status);
        found = 1;
        if (!show(checkpoint))
            jd_abort(FAILED, "the checkpoint is another program's");
        jd_checkpoint_close(checkpoint);
    }
    JD_CHECK(
        jd_broadcast_one_to_all(&(jd_leaf){ &found, JD_S32, 0, NULL }, 1, 0));
    return found;
}

/* A failure is the same on all processes, and leaves what was in DIR. */
static int save(const struct state *state, const char *dir)
{
    if (jd_array_save(dir, names, state->arrays, ARRAYS) == JD_OK)
        return 0;
    if (jd_process_index() == 0)
        fprintf(stderr, "checkpoint: %s\n", jd_error_message());
    return FAILED;
}

/* ---- the program -------------------------------------------------------- */

static int run(struct state *state, const char *dir, int64_t steps)
{
    if (look(dir))
        JD_CHECK(jd_array_restore(dir, names, state->shardings, ARRAYS,
                                  state->arrays));
    else
        begin_anew(state);
    int64_t first = step_of(state->arrays[1]);
    for (int64_t i = 0; i < steps; i++)
        grow(state->arrays[0]);
    set_step(state->arrays[1], first + steps);
    uint64_t sum = sum_bits(state->arrays[0]);
    if (jd_process_index() == 0)
        printf("%d process%s, steps %" PRId64 " to %" PRId64
               ": sum of bits %016" PRIx64 "\n",
               jd_process_count(), jd_process_count() == 1 ? "" : "es", first,
               first + steps, sum);
    return save(state, dir);
}

static int make_mesh_and_run(const char *dir, int64_t steps)
{
    static const char *const specs[ARRAYS] = { "all", "" };
    struct state state;
    jd_mesh *mesh;
    JD_CHECK(jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "all" },
                            NULL));
    for (int i = 0; i < ARRAYS; i++)
        JD_CHECK(jd_sharding_create(&state.shardings[i], mesh, specs[i]));
    int status = run(&state, dir, steps);
    for (int i = 0; i < ARRAYS; i++) {
        jd_array_release(state.arrays[i]);
        jd_sharding_release(state.shardings[i]);
    }
    jd_mesh_destroy(mesh);
    return status;
}

/* Returns -1 where it is no number of steps. */
static int64_t parse_steps(const char *text)
{
    char *end;
    long steps = strtol(text, &end, 10);
    return end == text || *end || steps < 0 || steps > MAX_STEPS ? -1 : steps;
}

int main(int argc, char **argv)
{
    int status = USAGE;
    JD_CHECK(jd_initialize());
    int help = argc == 2 && strcmp(argv[1], "--help") == 0;
    int64_t steps = argc == 3 ? parse_steps(argv[2]) : 100;
    if (help)
        status = 0;
    else if ((argc == 2 || argc == 3) && steps >= 0)
        status = make_mesh_and_run(argv[1], steps);
    if ((help || status == USAGE) && jd_process_index() == 0)
        fputs(usage, help ? stdout : stderr);
    JD_CHECK(jd_sync_global_devices("the end"));
    JD_CHECK(jd_shutdown());
    return status;
}
