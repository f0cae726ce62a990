/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_checkpoint.c - arrays saved and restored on any other sharding and
 * mesh; what is refused; and that failures and damage are the same on all
 * processes, name the file, and leave the checkpoint before.
 *
 * usage: test_checkpoint [uninitialised]
 */
#include "expect.h"
#include "test_folder.h"

#include <jd.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 8, ROUNDS = 60 };

static char dir[256]; /* the checkpoint in it */
static int process, processes;

static jd_mesh *line, *grid, *reversed;

/* ---- arrays of known values ---------------------------------------------- */

struct pattern {
    jd_dtype dtype;
    int ndim;
    int64_t shape[JD_MAX_NDIM];
    uint32_t salt;
};

/* The byte of an element, by its number in the array. */
static unsigned char byte_of(const struct pattern *p, int64_t element, int byte)
{
    uint64_t x = (uint64_t)element * 0x9e3779b97f4a7c15u + p->salt;
    x ^= x >> 29;
    return (unsigned char)((x * 0xbf58476d1ce4e5b9u) >> (8 * (byte % 8)));
}

/* Visits the elements of a block, row-major. */
static void for_each(const struct pattern *p, const jd_range *index,
                     unsigned char *block,
                     void (*visit)(const struct pattern *p, int64_t element,
                                   unsigned char *bytes))
{
    int64_t at[JD_MAX_NDIM], count = 1;
    size_t size = jd_dtype_size(p->dtype);
    for (int d = 0; d < p->ndim; d++) {
        at[d] = index[d].begin;
        count *= index[d].end - index[d].begin;
    }
    for (int64_t i = 0; i < count; i++, block += size) {
        int64_t element = 0;
        for (int d = 0; d < p->ndim; d++)
            element = element * p->shape[d] + at[d];
        visit(p, element, block);
        for (int d = p->ndim - 1; d >= 0; d--) {
            if (++at[d] < index[d].end)
                break;
            at[d] = index[d].begin;
        }
    }
}

static void set(const struct pattern *p, int64_t element, unsigned char *bytes)
{
    for (int i = 0; i < (int)jd_dtype_size(p->dtype); i++)
        bytes[i] = byte_of(p, element, i);
}

static void compare(const struct pattern *p, int64_t element,
                    unsigned char *bytes)
{
    for (int i = 0; i < (int)jd_dtype_size(p->dtype); i++)
        EXPECT(bytes[i] == byte_of(p, element, i),
               "element %" PRId64 ", byte %d: %d", element, i, bytes[i]);
}

static jd_status fill(const jd_range *index, void *block, void *arg)
{
    for_each(arg, index, block, set);
    return JD_OK;
}

static jd_array *make(const struct pattern *p, const jd_mesh *mesh,
                      const char *spec)
{
    jd_sharding *sharding;
    jd_array *array;
    struct pattern copy = *p;
    EXPECT_OK(jd_sharding_create(&sharding, mesh, spec));
    EXPECT_OK(jd_array_from_callback(&array, sharding, p->dtype, p->ndim,
                                     p->shape, fill, &copy));
    jd_sharding_release(sharding);
    return array;
}

static void expect_values(const jd_array *array, const struct pattern *p)
{
    int count;
    const jd_array_shard *shards = jd_array_shards(array, &count);
    EXPECT(jd_array_dtype(array) == p->dtype, "%d", jd_array_dtype(array));
    EXPECT(jd_array_ndim(array) == p->ndim, "%d", jd_array_ndim(array));
    for (int d = 0; d < p->ndim; d++)
        EXPECT(jd_array_shape(array)[d] == p->shape[d], "dimension %d", d);
    for (int i = 0; i < count; i++)
        if (shards[i].count > 0)
            for_each(p, shards[i].index, shards[i].data, compare);
}

/* Restores one and compares it. */
static void expect_restored(const char *name, const struct pattern *p,
                            const jd_mesh *mesh, const char *spec)
{
    jd_sharding *sharding;
    jd_array *array;
    EXPECT_OK(jd_sharding_create(&sharding, mesh, spec));
    EXPECT_OK(jd_array_restore(dir, &name, &sharding, 1, &array));
    expect_values(array, p);
    jd_array_release(array);
    jd_sharding_release(sharding);
}

static void save_one(const char *name, const struct pattern *p,
                     const jd_mesh *mesh, const char *spec)
{
    jd_array *array = make(p, mesh, spec);
    EXPECT_OK(jd_array_save(dir, &name, &array, 1));
    jd_array_release(array);
}

/* ---- all kinds ----------------------------------------------------------- */

static const struct pattern patterns[] = {
    { JD_F32, 2, { 13, 6 }, 1 },     { JD_S64, 0, { 0 }, 2 },
    { JD_BF16, 3, { 4, 5, 3 }, 3 },  { JD_U8, 1, { 1 }, 4 },
    { JD_C128, 2, { 0, 7 }, 5 },     { JD_F8E4M3FN, 1, { 1001 }, 6 },
    { JD_F64, 2, { 64, 17000 }, 7 }, { JD_F8E8M0FNU, 2, { 3, 3 }, 8 },
};
enum { NUM_PATTERNS = sizeof patterns / sizeof *patterns };
static const char *const names[NUM_PATTERNS] = {
    "matrix", "step",       "cube of three", ".one",
    "empty",  "layer.0.f8", "large",         "matrix.1",
};
static const char *const from_specs[NUM_PATTERNS] = {
    "rows,columns",   "",          "-,columns,rows",
    "rows",           "rows",      "columns+rows",
    "-,rows+columns", "-,columns",
};
static const char *const to_specs[NUM_PATTERNS] = {
    "-,line", "", "line", "", "-,line", "-", "line", "line",
};

static void make_all(jd_array **arrays)
{
    for (int i = 0; i < NUM_PATTERNS; i++)
        arrays[i] = make(&patterns[i], grid, from_specs[i]);
}

static void release_all(jd_array **arrays)
{
    for (int i = 0; i < NUM_PATTERNS; i++)
        jd_array_release(arrays[i]);
}

static void expect_all_restored(const jd_mesh *mesh)
{
    jd_sharding *shardings[NUM_PATTERNS];
    jd_array *arrays[NUM_PATTERNS];
    for (int i = 0; i < NUM_PATTERNS; i++)
        EXPECT_OK(jd_sharding_create(&shardings[i], mesh, to_specs[i]));
    EXPECT_OK(jd_array_restore(dir, names, shardings, NUM_PATTERNS, arrays));
    for (int i = 0; i < NUM_PATTERNS; i++) {
        expect_values(arrays[i], &patterns[i]);
        jd_array_release(arrays[i]);
        jd_sharding_release(shardings[i]);
    }
}

/* Every process looks for itself. */
static void expect_contents(void)
{
    jd_checkpoint *checkpoint;
    jd_leaf leaf;
    EXPECT_OK(jd_checkpoint_open(&checkpoint, dir));
    EXPECT(jd_checkpoint_count(checkpoint) == NUM_PATTERNS, "too few");
    for (int i = 0; i < NUM_PATTERNS; i++) {
        EXPECT(strcmp(jd_checkpoint_name(checkpoint, (size_t)i), names[i]) == 0,
               "%d", i);
        EXPECT_OK(jd_checkpoint_leaf(checkpoint, names[i], &leaf));
        EXPECT(leaf.dtype == patterns[i].dtype && !leaf.data, "%d", i);
        EXPECT(leaf.ndim == patterns[i].ndim, "%d", leaf.ndim);
        for (int d = 0; d < leaf.ndim; d++)
            EXPECT(leaf.shape[d] == patterns[i].shape[d], "%d", d);
        EXPECT_OK(jd_checkpoint_verify(checkpoint, names[i]));
    }
    EXPECT(!jd_checkpoint_name(checkpoint, NUM_PATTERNS), "one too many");
    EXPECT_STATUS(jd_checkpoint_leaf(checkpoint, "vector", &leaf), JD_NOT_FOUND,
                  "/checkpoint has no array \"vector\"; it has \"matrix\", ");
    EXPECT_STATUS(jd_checkpoint_leaf(NULL, "matrix", &leaf),
                  JD_INVALID_ARGUMENT,
                  "jd_checkpoint_leaf: checkpoint is NULL");
    EXPECT_STATUS(jd_checkpoint_leaf(checkpoint, NULL, &leaf),
                  JD_INVALID_ARGUMENT, "jd_checkpoint_leaf: name is NULL");
    EXPECT_STATUS(jd_checkpoint_leaf(checkpoint, "matrix", NULL),
                  JD_INVALID_ARGUMENT, "jd_checkpoint_leaf: ret_leaf is NULL");
    EXPECT_OK(jd_checkpoint_verify(checkpoint, NULL));
    EXPECT_STATUS(jd_checkpoint_verify(checkpoint, "vector"), JD_NOT_FOUND,
                  "jd_checkpoint_verify: ");
    jd_checkpoint_close(checkpoint);
    jd_checkpoint_close(NULL);
    EXPECT(jd_checkpoint_count(NULL) == 0 && !jd_checkpoint_name(NULL, 0),
           "a NULL has arrays");
    EXPECT_STATUS(jd_checkpoint_open(&checkpoint, NULL), JD_INVALID_ARGUMENT,
                  "jd_checkpoint_open: dir is NULL");
    EXPECT_STATUS(jd_checkpoint_open(&checkpoint, "/nowhere/at/all"),
                  JD_NOT_FOUND, "this process sees no directory /nowhere");
    EXPECT_STATUS(jd_checkpoint_open(NULL, dir), JD_INVALID_ARGUMENT,
                  "ret_checkpoint is NULL");
    EXPECT_STATUS(jd_checkpoint_verify(NULL, NULL), JD_INVALID_ARGUMENT,
                  "checkpoint is NULL");
}

/* Of all files, in no order. */
static uint64_t digest_of_dir(void)
{
    char command[400], text[64] = "";
    snprintf(command, sizeof command,
             "cd %s && sha256sum -- * .[!.]* | sort | "
             "sha256sum | cut -c 1-16",
             dir);
    FILE *pipe = popen(command, "r");
    EXPECT(pipe && fgets(text, sizeof text, pipe), "no digest");
    pclose(pipe);
    return strtoull(text, NULL, 16);
}

static void test_all_kinds(void)
{
    jd_array *arrays[NUM_PATTERNS];
    make_all(arrays);
    EXPECT_OK(jd_array_save(dir, names, arrays, NUM_PATTERNS));
    uint64_t digest = process == 0 ? digest_of_dir() : 0;
    expect_contents();
    expect_all_restored(line);
    expect_all_restored(reversed);
    EXPECT_OK(jd_sync_global_devices("looked"));
    EXPECT_OK(jd_array_save(dir, names, arrays, NUM_PATTERNS));
    if (process == 0)
        EXPECT(digest == digest_of_dir(), "other bytes the second time");
    expect_all_restored(line);
    EXPECT_OK(jd_array_save(dir, NULL, NULL, 0));
    EXPECT_OK(jd_array_restore(dir, NULL, NULL, 0, NULL));
    EXPECT_OK(jd_array_save(dir, names, arrays, NUM_PATTERNS));
    release_all(arrays);
}

/* ---- any, drawn ---------------------------------------------------------- */

static uint32_t seed;

static int draw(int below)
{
    seed = seed * 1664525 + 1013904223;
    return (int)((seed >> 8) % (uint32_t)below);
}

static void draw_spec(char *spec, int ndim, const char *const *axes,
                      int num_axes)
{
    int first = draw(num_axes + 1), used = 0;
    spec[0] = '\0';
    for (int d = 0; d < ndim; d++) {
        if (d)
            strcat(spec, ",");
        strcat(spec, used < num_axes && draw(2)
                         ? axes[(first + used++) % num_axes]
                         : "-");
    }
}

static void test_drawn(void)
{
    static const char *const grid_axes[] = { "rows", "columns" };
    static const char *const line_axes[] = { "line" };
    static const jd_dtype types[] = { JD_U8, JD_F16, JD_F32, JD_F64, JD_C128 };
    seed = (uint32_t)time(NULL);
    EXPECT_OK(
        jd_broadcast_one_to_all(&(jd_leaf){ &seed, JD_U32, 0, NULL }, 1, 0));
    if (process == 0)
        printf("seed %" PRIu32 "\n", seed);
    for (int i = 0; i < ROUNDS; i++) {
        char from[100], to[100];
        struct pattern p = { .dtype = types[draw(5)], .ndim = draw(4) };
        p.salt = (uint32_t)i;
        for (int d = 0; d < p.ndim; d++)
            p.shape[d] = draw(4) ? draw(20) : draw(60);
        int is_grid = draw(2);
        draw_spec(from, p.ndim, is_grid ? grid_axes : line_axes,
                  is_grid ? 2 : 1);
        draw_spec(to, p.ndim, is_grid ? line_axes : grid_axes, is_grid ? 1 : 2);
        save_one("drawn", &p, is_grid ? grid : reversed, from);
        expect_restored("drawn", &p, is_grid ? line : grid, to);
    }
}

/* ---- what is refused ----------------------------------------------------- */

#define EXPECT_SAVE(n, status, text)                                           \
    EXPECT_STATUS(jd_array_save(dir, given, arrays, n), status, text)

static void test_bad_arguments(void)
{
    const char *given[] = { "a", "b" };
    jd_array *arrays[] = { make(&patterns[0], line, "line"), NULL };
    EXPECT_SAVE(2, JD_INVALID_ARGUMENT,
                "jd_array_save: arrays[1], \"b\": array is "
                "NULL");
    arrays[1] = jd_array_retain(arrays[0]);
    given[1] = "a";
    EXPECT_SAVE(2, JD_INVALID_ARGUMENT,
                "jd_array_save: the name \"a\" is there twice");
    given[1] = "a/b";
    EXPECT_SAVE(2, JD_INVALID_ARGUMENT, "jd_array_save: names[1] has a '/'");
    given[1] = "";
    EXPECT_SAVE(2, JD_INVALID_ARGUMENT, "jd_array_save: names[1] is empty");
    given[1] = NULL;
    EXPECT_SAVE(2, JD_INVALID_ARGUMENT, "jd_array_save: names[1] is NULL");
    EXPECT_STATUS(jd_array_save(dir, NULL, arrays, 1), JD_INVALID_ARGUMENT,
                  "jd_array_save: names is NULL, but n is 1");
    EXPECT_STATUS(jd_array_save(NULL, given, arrays, 1), JD_INVALID_ARGUMENT,
                  "jd_array_save: dir is NULL");
    EXPECT_STATUS(jd_array_save("", given, arrays, 1), JD_INVALID_ARGUMENT,
                  "jd_array_save: dir \"\" is empty");
    EXPECT_STATUS(jd_array_save("x/..", given, arrays, 1), JD_INVALID_ARGUMENT,
                  "jd_array_save: dir \"x/..\" does not end with a name");
    jd_array_release(arrays[0]);
    jd_array_release(arrays[1]);
}

static void test_bad_restores(void)
{
    const char *name = "matrix", *none = "vector";
    jd_sharding *sharding = NULL, *deep;
    jd_array *array = NULL;
    EXPECT_STATUS(jd_array_restore(dir, &name, &sharding, 1, &array),
                  JD_INVALID_ARGUMENT, "shardings[0], of \"matrix\": ");
    EXPECT_OK(jd_sharding_create(&sharding, line, "line"));
    EXPECT_OK(jd_sharding_create(&deep, line, "-,-,line"));
    EXPECT_STATUS(jd_array_restore(dir, &none, &sharding, 1, &array),
                  JD_INVALID_ARGUMENT,
                  "has no array \"vector\"; it has \"matrix\", \"step\", ");
    EXPECT_STATUS(jd_array_restore(dir, &name, &deep, 1, &array),
                  JD_INVALID_ARGUMENT, "jd_array_restore: ");
    EXPECT_STATUS(jd_array_restore(dir, &name, &sharding, 1, NULL),
                  JD_INVALID_ARGUMENT, "jd_array_restore: ret_arrays is NULL");
    EXPECT_STATUS(jd_array_restore(NULL, &name, &sharding, 1, &array),
                  JD_INVALID_ARGUMENT, "jd_array_restore: dir is NULL");
    EXPECT_STATUS(jd_array_restore("/nowhere", &name, &sharding, 1, &array),
                  JD_NOT_FOUND, "jd_array_restore: process 0 on host ");
    EXPECT(!array, "an output of a failure");
    jd_sharding_release(sharding);
    jd_sharding_release(deep);
}

/* One process alone is refused, and all hear of it. */
static void test_disagreement(void)
{
    const char *name = process == processes - 1 ? "other" : "one";
    const char *bad = process == processes - 1 ? "b/d" : "one";
    jd_array *array = make(&patterns[0], line, "line");
    if (processes > 1) {
        EXPECT_STATUS(jd_array_save(dir, &name, &array, 1), JD_INVALID_ARGUMENT,
                      "process 0 calls jd_array_save of \"one\" of F32[13,6] "
                      "as \"line\" on ");
        EXPECT_STATUS(jd_array_save(dir, &bad, &array, 1), JD_INVALID_ARGUMENT,
                      "jd_array_save: names[0] has a '/'");
    }
    jd_array_release(array);
}

/* ---- other things in the way --------------------------------------------- */

/* Process 0 runs it in the test's folder, and all go on together. */
static void shell(const char *commands)
{
    char text[1000];
    EXPECT_OK(jd_sync_global_devices("before the command"));
    snprintf(text, sizeof text, "cd %s && %s", folder, commands);
    if (process == 0)
        EXPECT(system(text) == 0, "%s", text);
    EXPECT_OK(jd_sync_global_devices("after the command"));
}

static void expect_no_save(const char *at, const char *text)
{
    const char *name = "m";
    jd_array *array = make(&patterns[0], line, "line");
    EXPECT_STATUS(jd_array_save(at, &name, &array, 1), JD_FAILED_PRECONDITION,
                  text);
    jd_array_release(array);
}

static void test_other_things(void)
{
    char at[300];
    const char *name = "m";
    jd_array *array = make(&patterns[0], line, "line");
    snprintf(at, sizeof at, "%s/other", folder);
    shell("mkdir other && touch other/thesis.tex");
    expect_no_save(at, "/other has \"thesis.tex\" in it, which is not of a "
                       "checkpoint, and would be replaced");
    shell("mv other/thesis.tex other/data.npy");
    expect_no_save(at, "/other has files but no index of a checkpoint");
    shell("rm -r other && touch other");
    expect_no_save(at, "/other is no directory");
    shell("rm other && ln -s . other");
    expect_no_save(at, "/other is a symbolic link");
    snprintf(at, sizeof at, "%s/no/such", folder);
    EXPECT_STATUS(jd_array_save(at, &name, &array, 1), JD_NOT_FOUND,
                  "the directory it is to stand in does not exist; make that "
                  "first");
    shell("mkdir -p no/such");
    EXPECT_OK(jd_array_save(at, &name, &array, 1));
    shell("test -f no/such/index.jd && test \"$(ls no)\" = such");
    jd_array_release(array);
}

/* What crashes leave beside it is removed by the next save. */
static void test_left_overs(void)
{
    shell("cp -r checkpoint checkpoint.tmp-0123456789abcdef");
    shell("mkdir checkpoint.tmp-mine checkpoint.tmp-0123456789abcdex");
    save_one("m", &patterns[0], line, "line");
    shell("! test -e checkpoint.tmp-0123456789abcdef");
    shell("rmdir checkpoint.tmp-mine checkpoint.tmp-0123456789abcdex");
    /* Between two renames, where names cannot be exchanged. */
    shell("mv checkpoint checkpoint.old-0123456789abcdef");
    expect_restored("m", &patterns[0], line, "-,line");
    shell("mkdir checkpoint");
    expect_restored("m", &patterns[0], line, "-,line");
    save_one("n", &patterns[0], line, "line");
    expect_restored("n", &patterns[0], line, "-,line");
    shell("! test -e checkpoint.old-0123456789abcdef");
    shell("mv checkpoint checkpoint.old-0123456789abcdef; mkdir checkpoint");
    shell("touch checkpoint/mine");
    expect_no_save(dir, " has \"mine\" in it");
    shell("test -e checkpoint.old-0123456789abcdef/index.jd");
    shell("rm -r checkpoint");
    struct pattern next = patterns[0];
    next.salt = 99;
    save_one("m", &next, line, "line");
    expect_restored("m", &next, line, "-,line");
    shell("! test -e checkpoint.old-0123456789abcdef");
}

/* ---- damage -------------------------------------------------------------- */

static void expect_damage(jd_status status, const char *text)
{
    const char *name = "m";
    jd_sharding *sharding;
    jd_array *array = NULL;
    EXPECT_OK(jd_sharding_create(&sharding, line, ""));
    EXPECT_STATUS(jd_array_restore(dir, &name, &sharding, 1, &array), status,
                  text);
    EXPECT(!array, "an output of a failure");
    jd_sharding_release(sharding);
}

static void test_damaged_block(void)
{
    shell("cp checkpoint/m.0.npy file");
    shell("printf x | dd of=checkpoint/m.0.npy bs=1 seek=4194500 "
          "conv=notrunc status=none");
    expect_damage(JD_DATA_LOSS, "/m.0.npy, block 0 ([0:1100,0:1024]) of \"m\", "
                                "at offset 4194432: the CRC32C of 311296 bytes "
                                "is ");
    shell("head -c 4000000 file >checkpoint/m.0.npy");
    expect_damage(JD_DATA_LOSS,
                  "/m.0.npy, block 0 ([0:1100,0:1024]) of \"m\", at offset "
                  "4000000: the file has 4000000 bytes, not 4505728; restore "
                  "another checkpoint");
    shell("cat file file >checkpoint/m.0.npy");
    expect_damage(JD_DATA_LOSS, "the file has 9011456 bytes, not 4505728");
    shell("sed '1s/<f4/<i4/' file >checkpoint/m.0.npy");
    expect_damage(JD_DATA_LOSS, "at offset 22: the header is not that of the "
                                "index's type and shape");
    shell("rm checkpoint/m.0.npy");
    expect_damage(JD_DATA_LOSS, "/m.0.npy: No such file or directory; all "
                                "hosts must see it: use a file system that "
                                "they share");
    shell("rm -f checkpoint/m.0.npy; mkfifo checkpoint/m.0.npy");
    expect_damage(JD_DATA_LOSS, "the file has 0 bytes, not 4505728");
    shell("mv -f file checkpoint/m.0.npy");
}

static void test_damaged_index(void)
{
    shell("cp checkpoint/index.jd index");
    shell("sed -i s/1100,1024/1024,1100/ checkpoint/index.jd");
    expect_damage(JD_DATA_LOSS, "/index.jd was changed: its checksum is ");
    shell("head -c 60 index >checkpoint/index.jd");
    expect_damage(JD_DATA_LOSS, "/index.jd was cut off: its last line is not ");
    shell("rm checkpoint/index.jd");
    expect_damage(JD_NOT_FOUND, "/index.jd: No such file or directory");
    shell("mkfifo checkpoint/index.jd");
    expect_damage(JD_INVALID_ARGUMENT, "/index.jd is no file");
    shell("rm checkpoint/index.jd");
    shell("mv index checkpoint/index.jd");
}

static void test_damage(void)
{
    static const struct pattern p = { JD_F32, 2, { 1100, 1024 }, 11 };
    save_one("m", &p, line, "");
    expect_restored("m", &p, grid, "columns,rows");
    test_damaged_block();
    expect_restored("m", &p, grid, "columns,rows");
    test_damaged_index();
    expect_restored("m", &p, line, "line");
}

/* ---- the program --------------------------------------------------------- */

static void make_meshes(void)
{
    int count, rows = 1;
    const jd_device *const *all = jd_devices(&count);
    const jd_device *backwards[64];
    EXPECT(count <= 64, "%d devices", count);
    for (int i = 0; i < count; i++)
        backwards[i] = all[count - 1 - i];
    for (int r = 1; r * r <= count; r++)
        if (count % r == 0)
            rows = r;
    EXPECT_OK(jd_mesh_create(&line, 1, (int[]){ -1 },
                             (const char *[]){ "line" }, NULL));
    EXPECT_OK(jd_mesh_create(&reversed, 1, (int[]){ count },
                             (const char *[]){ "line" }, backwards));
    EXPECT_OK(jd_mesh_create(&grid, 2, (int[]){ rows, -1 },
                             (const char *[]){ "rows", "columns" }, NULL));
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "uninitialised") != 0)
        EXPECT_OK(jd_initialize());
    process = jd_process_index();
    processes = jd_process_count();
    make_folder("checkpoint");
    snprintf(dir, sizeof dir, "%s/checkpoint", folder);
    make_meshes();
    test_all_kinds();
    test_bad_arguments();
    test_bad_restores();
    test_disagreement();
    expect_all_restored(line);
    test_drawn();
    test_other_things();
    test_left_overs();
    test_damage();
    remove_folder();
    jd_mesh_destroy(line);
    jd_mesh_destroy(reversed);
    jd_mesh_destroy(grid);
    if (process == 0)
        puts("checkpoint: all as expected");
    return jd_shutdown();
}
