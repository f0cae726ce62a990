/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collectives.c - the collectives beside MPI's or NCCL's: starts the jobs
 * in turn and collects what they print.
 */
#include "base/parse.h"
#include "bench/collectives/collectives.h"
#include "bench/engine/flags.h"
#include "bench/engine/launch.h"
#include "bench/jd_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char usage[] =
    "Usage: jd-bench collectives [options]\n"
    "\n"
    "Measures jd's collectives, with MPI's own beside them, between processes\n"
    "that it starts. A sample is the slowest process's time of a call, over "
    "as\n"
    "many calls as fill some milliseconds; sides take turns.\n"
    "\n"
    "  --op LIST          psum, all_gather, psum_scatter, all_to_all,\n"
    "                     pbroadcast, ppermute, barrier, or all (default "
    "psum)\n"
    "  --type LIST        F32 (default), BF16, S8, ..., or all\n"
    "  --sizes MIN:MAX    bytes of the larger buffer (default 8:64MiB); "
    "without\n"
    "                     MAX to 64MiB, on cuda to 1GiB or what fits (its\n"
    "                     default 8:)\n"
    "  --factor N         from one size to the next (default 4)\n"
    "  --processes LIST   numbers of processes (default 2)\n"
    "  --launcher TEXT    what starts the processes, instead of mpirun with\n"
    "                     --processes: \"srun --mpi=pmix -N2 -n4\"\n"
    "  --platform NAME    cpu (default); cuda: a GPU for each process (that is "
    "not\n"
    "                     bound to a core), and what it takes to queue a call\n"
    "  --against WHAT     mpi: the MPI call in the same processes, by turns\n"
    "                     (default); mpi-single: the MPI call of a program\n"
    "                     without jd, at MPI_THREAD_SINGLE, launched in turn;\n"
    "                     nccl: NCCL's call in the same processes (default on\n"
    "                     cuda); nothing\n"
    "  --launches N       of each kind (default 3)\n"
    "  --rounds N         samples of a launch (default 15)\n"
    "  --sample MS        milliseconds of a sample (default 3)\n"
    "  --cycle            time writing the input and reading the output too:\n"
    "                     what a program does; without it buffers stay hot\n"
    "  --in-place         psum and pbroadcast with in == out\n"
    "  --with-in-place    in columns of their own, psum, all_gather, "
    "psum_scatter\n"
    "                     and pbroadcast in place too, as nccl-tests has them\n"
    "  --malloc           jd's buffers by malloc, not by jd_device_alloc\n"
    "  --check            compare every element of a result, and count\n"
    "  --json             rows with op, type, bytes, jd_us, mpi_us, ratio\n"
    "  --plot FILE.svg    draw time over size, through gnuplot\n"
    "  --help             print this and exit\n";

/* The largest size on cpu where none is asked for. */
#define CPU_BYTES ((size_t)64 << 20)

struct options {
    struct bench_request request;
    struct bench_launch launch;
    const char *against;
    const char *job; /* in a job: which part */
    const char *plot;
};

/* ---- jobs --------------------------------------------------------------- */

/* The flags that make a job's request what the parent's is. */
static void append_request(const struct bench_request *r, char *text,
                           size_t used)
{
    for (int op = 0; op < BENCH_OPS; op++)
        if (r->ops[op])
            used =
                bench_launch_append(text, used, "--op %s", bench_op_names[op]);
    for (int i = 0; i < r->num_types; i++)
        used = bench_launch_append(text, used, "--type %s",
                                   jd_dtype_name(r->types[i]));
    used = bench_launch_append(text, used, "--sizes %zu:", r->min_bytes);
    if (r->max_bytes && used < BENCH_COMMAND)
        used += (size_t)snprintf(text + used, BENCH_COMMAND - used, "%zu",
                                 r->max_bytes);
    bench_launch_append(
        text, used, "--factor %d --rounds %d --sample %g%s%s%s%s%s%s",
        r->factor, r->rounds, 1e3 * r->sample_seconds,
        r->cycle ? " --cycle" : "", r->in_place ? " --in-place" : "",
        r->has_both ? " --with-in-place" : "",
        r->is_malloced ? " --malloc" : "", r->check ? " --check" : "",
        r->on_gpus ? " --platform cuda" : "");
}

/* One part of a launch, and who reads its lines. */
struct part {
    const struct options *options;
    struct bench_results *results;
    const char *name;
    int launch;
};

static void append_flags(const void *options, char *text, size_t used)
{
    const struct part *part = options;
    used = bench_launch_append(text, used, "--job %s", part->name);
    append_request(&part->options->request, text, used);
}

static bool take_line(void *arg, const char *line)
{
    const struct part *part = arg;
    char op[32] = "", type[16] = "";
    size_t bytes = 0;
    if (!bench_results_read(part->results, line))
        return false;
    sscanf(line, "%*s %31s %15s %zu", op, type, &bytes);
    bench_show_progress("%s, launch %d of %lld: %s %s %zu bytes", part->name,
                        part->launch, part->options->launch.launches, op, type,
                        bytes);
    return true;
}

static bool launch(const struct options *o, int kind, const char *name,
                   int number, struct bench_results *results)
{
    struct part part = { o, results, name, number + 1 };
    const struct bench_job job = { .name = "collectives",
                                   .append = append_flags,
                                   .options = &part,
                                   .take = take_line,
                                   .results = &part,
                                   .is_unbound = o->request.on_gpus };
    return bench_launch_one(&o->launch, kind, &job, number);
}

static bool launch_all(const struct options *o, int kind,
                       struct bench_results *results)
{
    static const char *const parts[][2] = { { "both", NULL },
                                            { "jd", "mpi" },
                                            { "jd", NULL } };
    int way = strcmp(o->against, "mpi-single") == 0 ? 1
              : strcmp(o->against, "nothing") == 0  ? 2
                                                    : 0;
    for (int i = 0; i < o->launch.launches; i++)
        for (int j = 0; j < 2 && parts[way][j]; j++)
            if (!launch(o, kind, parts[way][j], i, results))
                return false;
    return true;
}

static bool draw(const struct options *o, const char *peer,
                 const struct bench_results *results)
{
    return bench_plot_draw(&(struct bench_plot){
               .results = results,
               .peer = peer,
               .platform = o->request.on_gpus ? "cuda" : "cpu",
               .path = o->plot }) == 0;
}

static int run_parent(const struct options *o)
{
    struct bench_results results = { .count = 0 };
    const char *peer = o->request.on_gpus ? "nccl" : "mpi";
    bool ok = true;
    if (!o->launch.json)
        bench_print_machine();
    for (int i = 0; i < bench_launch_kinds(&o->launch) && ok; i++)
        ok = launch_all(o, i, &results);
    if (o->launch.json)
        bench_results_print_json(&results, peer, o->against,
                                 o->request.cycle ? "cycle" : "hot");
    else
        bench_results_print(&results, peer);
    if (o->plot && !draw(o, peer, &results))
        ok = false;
    for (int i = 0; i < results.count; i++)
        ok = ok && (results.cells[i].wrong == 0 || !o->request.check);
    bench_results_free(&results);
    return ok ? 0 : 1;
}

/* ---- the flags ---------------------------------------------------------- */

static bool add_op(struct bench_request *r, const char *name)
{
    bool found = false;
    for (int i = 0; i < BENCH_OPS; i++)
        if (strcmp(name, "all") == 0 || strcmp(name, bench_op_names[i]) == 0)
            found = r->ops[i] = true;
    return found;
}

static bool add_type(struct bench_request *r, const char *name)
{
    static const jd_dtype all[] = {
#define TYPE_ROW(type, number, size) JD_##type,
        JD_DTYPE_MAP(TYPE_ROW)
#undef TYPE_ROW
    };
    bool found = false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if ((strcmp(name, "all") == 0 ||
             strcasecmp(name, jd_dtype_name(all[i])) == 0) &&
            r->num_types < 20) {
            r->types[r->num_types++] = all[i];
            found = true;
        }
    return found;
}

/* Each word of a comma list. */
static bool add_list(struct bench_request *r, const char *text,
                     bool (*add)(struct bench_request *r, const char *name))
{
    char word[32];
    while (*text) {
        size_t length = strcspn(text, ",");
        if (length == 0 || length >= sizeof word)
            return false;
        memcpy(word, text, length);
        word[length] = '\0';
        if (!add(r, word))
            return false;
        text += length + (text[length] == ',');
    }
    return true;
}

/* Without a MAX it is 0. */
static bool read_sizes(struct bench_request *r, const char *text)
{
    char least[32];
    long long min, max = 0;
    const char *colon = strchr(text, ':');
    if (!colon || (size_t)(colon - text) >= sizeof least)
        return false;
    memcpy(least, text, (size_t)(colon - text));
    least[colon - text] = '\0';
    if (!jd__parse_bytes(least, &min) || min < 1)
        return false;
    if (colon[1] && (!jd__parse_bytes(colon + 1, &max) || max < min))
        return false;
    r->min_bytes = (size_t)min;
    r->max_bytes = (size_t)max;
    return true;
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

/* Flags with a value; what it must be where it is wrong, else NULL. */
static const char *read_value(struct options *o, int flag, const char *text)
{
    static const char *const against[] = { "mpi", "mpi-single", "nccl",
                                           "nothing", NULL };
    long long value = 0;
    switch (flag) {
    case 'o':
        return add_list(&o->request, text, add_op)
                   ? NULL
                   : "a comma list of operations (see --help), or all";
    case 't':
        return add_list(&o->request, text, add_type)
                   ? NULL
                   : "a comma list of types, F32,BF16 for example, or all";
    case 's':
        return read_sizes(&o->request, text) ? NULL : "MIN:MAX, as in 8:64MiB";
    case 'f':
        if (!bench_read_number(text, 1024, &value) || value < 2)
            return "from 2 to 1024";
        o->request.factor = (int)value;
        return NULL;
    case 'a':
        o->against = text;
        return is_one_of(text, against) ? NULL
                                        : "mpi, mpi-single, nccl or nothing";
    case 'd':
        o->request.on_gpus = strcmp(text, "cuda") == 0;
        return o->request.on_gpus || strcmp(text, "cpu") == 0 ? NULL
                                                              : "cpu or cuda";
    case 'r':
        return bench_read_rounds(text, &o->request.rounds);
    default:
        return bench_read_sample(text, &o->request.sample_seconds);
    }
}

/* Flags without one, and texts that are taken as they are. */
static bool set_plain(struct options *o, int flag, char *text)
{
    struct bench_request *r = &o->request;
    bool *const switches[] = { ['c'] = &r->cycle,
                               ['i'] = &r->in_place,
                               ['w'] = &r->has_both,
                               ['m'] = &r->is_malloced,
                               ['k'] = &r->check };
    const char **const texts[] = { ['b'] = &o->job, ['g'] = &o->plot };
    if (flag < (int)(sizeof switches / sizeof *switches) && switches[flag]) {
        *switches[flag] = true;
        return true;
    }
    if (flag < (int)(sizeof texts / sizeof *texts) && texts[flag]) {
        *texts[flag] = text;
        return true;
    }
    return false;
}

static const struct option flags[] = {
    { "op", required_argument, NULL, 'o' },
    { "type", required_argument, NULL, 't' },
    { "sizes", required_argument, NULL, 's' },
    { "factor", required_argument, NULL, 'f' },
    { "processes", required_argument, NULL, 'p' },
    { "launcher", required_argument, NULL, 'l' },
    { "platform", required_argument, NULL, 'd' },
    { "against", required_argument, NULL, 'a' },
    { "launches", required_argument, NULL, 'n' },
    { "rounds", required_argument, NULL, 'r' },
    { "sample", required_argument, NULL, 'e' },
    { "cycle", no_argument, NULL, 'c' },
    { "in-place", no_argument, NULL, 'i' },
    { "with-in-place", no_argument, NULL, 'w' },
    { "malloc", no_argument, NULL, 'm' },
    { "check", no_argument, NULL, 'k' },
    { "json", no_argument, NULL, 'j' },
    { "plot", required_argument, NULL, 'g' },
    { "job", required_argument, NULL, 'b' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static const char *set(void *arg, int flag, char *text)
{
    struct options *o = arg;
    const char *wanted;
    if (bench_launch_take(&o->launch, flag, text, &wanted))
        return wanted;
    return set_plain(o, flag, text) ? NULL : read_value(o, flag, text);
}

/* Flags that do not go together are said. */
static bool is_possible(const struct options *o)
{
    const struct bench_request *r = &o->request;
    bool by_nccl = strcmp(o->against, "nccl") == 0;
    bool by_mpi = strncmp(o->against, "mpi", 3) == 0;
    const char *wrong =
        r->on_gpus && by_mpi     ? "--platform cuda goes against nccl, or "
                                   "nothing"
        : !r->on_gpus && by_nccl ? "--against nccl is for --platform cuda"
        : r->on_gpus && r->cycle ? "--cycle is for --platform cpu: the host "
                                   "cannot touch a GPU's memory"
        : r->on_gpus && r->is_malloced ? "--malloc is for --platform cpu"
        : r->in_place && r->has_both
            ? "--in-place and --with-in-place do not go together: the first "
              "has no buffers that are apart"
            : NULL;
    if (wrong)
        fprintf(stderr, "jd-bench collectives: %s\n", wrong);
    return !wrong;
}

static int run(int argc, char **argv)
{
    struct options o = {
        .request = { .min_bytes = 8,
                     .factor = 4,
                     .rounds = 15,
                     .sample_seconds = 3e-3 },
        .launch = { .processes = { 2 }, .num_processes = 1, .launches = 3 },
    };
    const struct bench_flags all = { "collectives", usage, flags, set };
    int status = bench_read_flags(&all, argc, argv, &o);
    if (status >= 0)
        return status;
    if (!o.against)
        o.against = o.request.on_gpus ? "nccl" : "mpi";
    if (!is_possible(&o))
        return 2;
    if (o.request.max_bytes == 0 && !o.request.on_gpus)
        o.request.max_bytes =
            o.request.min_bytes > CPU_BYTES ? o.request.min_bytes : CPU_BYTES;
    bool any = false;
    for (int i = 0; i < BENCH_OPS; i++)
        any = any || o.request.ops[i];
    o.request.ops[BENCH_OP_psum] = o.request.ops[BENCH_OP_psum] || !any;
    if (o.request.num_types == 0)
        o.request.types[o.request.num_types++] = JD_F32;
    if (o.job)
        return bench_job(&o.request, o.job);
    return bench_launch_is_alone() ? run_parent(&o) : 2;
}

const struct bench bench_collectives = {
    .name = "collectives",
    .doc = "jd's collectives beside MPI's",
    .run = run,
};
