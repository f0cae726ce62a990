/* SPDX-License-Identifier: BSD-3-Clause */
/* reshard_flags.c - what `jd-bench reshard` is asked for. */
#include "base/parse.h"
#include "bench/engine/flags.h"
#include "bench/reshard/reshard.h"
#include "bench/engine/samples.h"
#include "bench/jd_bench.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: jd-bench reshard [options]\n"
    "\n"
    "Measures jd_array_reshard() between processes that it starts, with what\n"
    "a user writes without it beside it in the same processes, by turns:\n"
    "MPI_Alltoallv with packing by hand (of a matrix from rows to columns or\n"
    "back, over the only axis), and MPI_Allgatherv of the whole and a slice\n"
    "of it. jd's blocks are jd_device_alloc()'s, the others' malloc's. A\n"
    "sample is the slowest process's time of a call; jd's makes the new\n"
    "array, the others write into buffers that are there. What comes out of\n"
    "each is compared, element for element, before.\n"
    "\n"
    "  --shape NxMx...    of the array (default 4096x4096)\n"
    "  --type TYPE        F32 (default), BF16, S8, ...\n"
    "  --mesh AXES        name:size of each axis, one of them may be -1\n"
    "                     (default x:-1): data:2,model:-1\n"
    "  --from SPEC        the sharding of the array (default \"x,-\")\n"
    "  --to SPEC          the one that it gets (default \"-,x\")\n"
    "  --plan LIST        for jobs of so many devices that do not exist, how\n"
    "                     long it takes to work out what moves, and to\n"
    "                     find it again; nothing else\n"
    "  --processes LIST   numbers of processes (default 2,4)\n"
    "  --launcher TEXT    what starts the processes, instead of mpirun with\n"
    "                     --processes: \"srun --mpi=pmix -N2 -n4\"\n"
    "  --launches N       of each number (default 3)\n"
    "  --rounds N         samples of a launch (default 15)\n"
    "  --sample MS        milliseconds of a sample (default 3)\n"
    "  --cycle            time writing the input and reading the output too\n"
    "  --json             rows with processes, hosts, jd_us, alltoallv_us,\n"
    "                     allgather_us, their ratios to jd's and more\n"
    "  --help             print this and exit\n";

/* One "name:size", up to a comma. */
static bool read_axis(struct reshard_mesh *mesh, const char *text,
                      size_t length)
{
    char word[RESHARD_NAME + 16];
    char *colon;
    long long size;
    if (length >= sizeof word || mesh->num_axes == RESHARD_MAX_AXES)
        return false;
    memcpy(word, text, length);
    word[length] = '\0';
    colon = strchr(word, ':');
    if (!colon || colon == word || colon - word >= RESHARD_NAME)
        return false;
    *colon = '\0';
    for (const char *c = word; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    if (!jd__parse_integer(colon + 1, &size) || size < -1 || size == 0 ||
        size > INT_MAX)
        return false;
    strcpy(mesh->names[mesh->num_axes], word);
    mesh->sizes[mesh->num_axes++] = (int)size;
    return true;
}

static bool read_mesh(struct reshard_options *o, const char *text)
{
    o->mesh = text;
    o->request.mesh.num_axes = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (!read_axis(&o->request.mesh, text, length))
            return false;
        text += length;
        if (*text++ == '\0')
            return true;
    }
}

/* Its letters; jd_sharding_create() says what is wrong with the rest. */
static bool read_spec(const char **spec, const char *text)
{
    *spec = text;
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789_,-+") == strlen(text);
}

static bool read_plans(struct reshard_options *o, const char *text)
{
    enum { MAX_DEVICES = 65536 };
    return bench_read_counts(text, MAX_DEVICES, BENCH_MAX_JOBS, o->plans,
                             &o->num_plans);
}

/* Flags with a value; what it must be where it is wrong, else NULL. */
static const char *read_value(struct reshard_options *o, int flag,
                              const char *text)
{
    static const char spec[] = "an axis or - for each dimension, as in \"x,-\"";
    struct reshard_request *r = &o->request;
    switch (flag) {
    case 's':
        o->shape = text;
        return bench_read_shape(text, &r->whole.ndim, r->whole.shape);
    case 't':
        r->whole.dtype = bench_read_type(text);
        return r->whole.dtype ? NULL : "a type, F32 for example";
    case 'm':
        return read_mesh(o, text) ? NULL
                                  : "name:size,..., as in data:2,model:-1";
    case 'f':
        return read_spec(&r->from, text) ? NULL : spec;
    case 'o':
        return read_spec(&r->to, text) ? NULL : spec;
    case 'd':
        return read_plans(o, text) ? NULL
                                   : "a comma list of numbers from 1 to 65536";
    case 'r':
        return bench_read_rounds(text, &r->rounds);
    default:
        return bench_read_sample(text, &r->sample_seconds);
    }
}

/* Flags without one, and a text that is taken as it is. */
static const char *set(void *arg, int flag, char *text)
{
    struct reshard_options *o = arg;
    const char *wanted;
    if (bench_launch_take(&o->launch, flag, text, &wanted))
        return wanted;
    switch (flag) {
    case 'c':
        o->request.cycle = true;
        return NULL;
    case 'b':
        o->is_job = true;
        return NULL;
    default:
        return read_value(o, flag, text);
    }
}

static const struct option flags[] = {
    { "shape", required_argument, NULL, 's' },
    { "type", required_argument, NULL, 't' },
    { "mesh", required_argument, NULL, 'm' },
    { "from", required_argument, NULL, 'f' },
    { "to", required_argument, NULL, 'o' },
    { "plan", required_argument, NULL, 'd' },
    { "processes", required_argument, NULL, 'p' },
    { "launcher", required_argument, NULL, 'l' },
    { "launches", required_argument, NULL, 'n' },
    { "rounds", required_argument, NULL, 'r' },
    { "sample", required_argument, NULL, 'e' },
    { "cycle", no_argument, NULL, 'c' },
    { "json", no_argument, NULL, 'j' },
    { "job", no_argument, NULL, 'b' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

int reshard_read_flags(struct reshard_options *options, int argc, char **argv)
{
    const struct bench_flags all = { "reshard", usage, flags, set };
    return bench_read_flags(&all, argc, argv, options);
}
