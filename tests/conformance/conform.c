/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conform - every collective with every type, many counts, meshes, axes and
 * kinds of buffers, against a serial reference, on the devices of the default
 * platform. See usage().
 *
 * A case is a number: which operation, mesh, axes, type, count and buffers.
 * Its data depend on this number and the seed alone, so that jobs that spread
 * the same number of devices over processes in unlike ways do the same, and
 * print the same digests.
 */
#include "operations.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct operation *const operations[] = {
#define OPERATION_ROW(name) &operation_##name,
    OPERATION_MAP(OPERATION_ROW)
#undef OPERATION_ROW
};
#define NUM_OPERATIONS ((int)(sizeof operations / sizeof *operations))

static const size_t counts[] = { 0, 1, 7, 1000, 65537 };
#define NUM_COUNTS ((int)(sizeof counts / sizeof *counts))
#define MAX_TYPES 32

static void usage(FILE *out)
{
    fputs(
        "usage: conform [OPTION...]\n"
        "  --seed N       of the data and of what is drawn (default: the "
        "time)\n"
        "  --part K/N     the K-th of N parts of the product, drawn by the "
        "seed, and\n"
        "                 a case of each operation; the kind of a case's "
        "buffers "
        "is\n"
        "                 drawn too\n"
        "  --buffers all  each case with every kind of buffers\n"
        "  --only NAME    one operation: psum, all_gather, group, ...\n"
        "  --case NUMBER  one case alone, as a failure prints it\n"
        "  --sums exact|rounded   floating sums are folds in member order, bit "
        "for\n"
        "                 bit, or the same within their rounding (default: "
        "exact\n"
        "                 where the cpu devices are all on one host)\n"
        "  --large        only counts over 2^31, where the memory is free\n"
        "  --large-count N  the same with this count in their place\n"
        "Process 0 prints a line for each operation: its name, cases, failures,"
        "\n"
        "two digests (of what is the same wherever devices are, and of sums) "
        "and\n"
        "milliseconds.\n",
        out);
}

/* ---- the product -------------------------------------------------------- */

/* One place of the product; the number of a case is its mixed radix. */
struct place {
    int operation, mesh, span, type, count;
};

static uint64_t place_number(const struct place *place)
{
    uint64_t number = (uint64_t)place->operation;
    number = number * MAX_MESHES + (uint64_t)place->mesh;
    number = number * MAX_SPANS + (uint64_t)place->span;
    number = number * MAX_TYPES + (uint64_t)place->type;
    return number * (uint64_t)NUM_COUNTS + (uint64_t)place->count;
}

/* Whether the case is to be made; what stands at sure is in every part. */
static bool is_drawn(const struct settings *settings, uint64_t sure,
                     uint64_t place, int buffers)
{
    uint64_t random = mix(settings->seed ^ mix(place));
    if (settings->only_case >= 0)
        return place * NUM_BUFFERS + (uint64_t)buffers ==
               (uint64_t)settings->only_case;
    if (random % settings->parts != settings->part - 1 && place != sure)
        return false;
    return settings->all_buffers ||
           (uint64_t)buffers == mix(random) % NUM_BUFFERS;
}

static int num_types(int operation)
{
    return operations[operation]->has_no_type ? 1 : num_formats;
}

/* What one jd_shard_map does. */
struct errand {
    const struct settings *settings;
    const struct mesh_plan *mesh;
    struct place place; /* operation and mesh */
    uint64_t sure;
    struct tally *tally;
    struct memory **memories; /* by local ordinal */
};

/* Sums of small numbers may be of any bits; where the order is open, only of
 * those whose sum it does not change. */
static enum flavour draw_flavour(const struct settings *settings,
                                 const struct attempt *a)
{
    enum reduce op = a->operation->reduce;
    if (!is_order_seen(op, a->dtype))
        return draw(a, 6000, 2) ? FLAVOUR_WILD : FLAVOUR_BITS;
    if (draw(a, 6000, 3) == 0)
        return FLAVOUR_NUMBERS;
    if (settings->is_exact && !a->operation->is_scan)
        return draw(a, 6000, 3) == 1 ? FLAVOUR_WILD : FLAVOUR_BITS;
    bool is_complex = format_of(a->dtype)->parts == 2;
    return is_complex && op == REDUCE_PROD ? FLAVOUR_NUMBERS : FLAVOUR_TAME;
}

static void print_title(const struct errand *errand, const struct attempt *a,
                        uint64_t number, char *text, size_t size)
{
    static const char *const kinds[] = { "device",         "malloc",
                                         "mixed",          "in place",
                                         "off an element", "off a byte" };
    const struct settings *settings = errand->settings;
    char shape[64], axes[64];
    print_shape(errand->mesh, shape, sizeof shape);
    print_span(a->span->plan, axes, sizeof axes);
    snprintf(text, size,
             "%s of %zu %s, mesh %s, %s, buffers %s (again: %s --seed %" PRIu64
             " --sums %s --case %" PRIu64 ")",
             a->operation->name, a->count, jd_dtype_name(a->dtype), shape, axes,
             kinds[a->buffers], settings->program, settings->seed,
             settings->is_exact ? "exact" : "rounded", number);
}

static jd_status make_case(const struct errand *errand, const struct span *span,
                           struct memory *memory, const struct place *place,
                           enum buffers buffers)
{
    uint64_t number = place_number(place) * NUM_BUFFERS + (uint64_t)buffers;
    char title[512];
    struct attempt attempt = {
        .operation = operations[place->operation],
        .span = span,
        .axes = span->plan->axes,
        .dtype = formats[place->type].dtype,
        .count = counts[place->count],
        .salt = mix(errand->settings->seed + mix(number)),
        .buffers = buffers,
        .rounds_each_step = errand->settings->is_on_gpus,
    };
    attempt.size = jd_dtype_size(attempt.dtype);
    attempt.terms = (struct terms){
        .salt = attempt.salt,
        .dtype = attempt.dtype,
        .flavour = draw_flavour(errand->settings, &attempt),
    };
    print_title(errand, &attempt, number, title, sizeof title);
    return attempt_make(&attempt, memory, errand->settings, errand->tally,
                        title);
}

/* All types and counts along one list of axes. */
static jd_status make_cases(const struct errand *errand,
                            const struct span *span, struct memory *memory,
                            int span_number)
{
    struct place place = errand->place;
    int types = num_types(place.operation);
    jd_status status = JD_OK;
    place.span = span_number;
    for (place.type = 0; place.type < types; place.type++)
        for (place.count = 0; place.count < NUM_COUNTS; place.count++)
            for (int i = 0; i < NUM_BUFFERS && status == JD_OK; i++)
                if (is_drawn(errand->settings, errand->sure,
                             place_number(&place), i))
                    status = make_case(errand, span, memory, &place,
                                       (enum buffers)i);
    return status;
}

static jd_status run_errand(jd_shard *shard, void *arg)
{
    const struct errand *errand = arg;
    struct memory *memory =
        errand->memories[jd_shard_device(shard)->local_ordinal];
    bool meets_before = operations[errand->place.operation]->is_transfer;
    char why[256];
    for (int i = 0; i < errand->mesh->num_spans; i++) {
        const struct span_plan *plan = &errand->mesh->spans[i];
        struct span span;
        jd_status status = open_span(errand->mesh, plan, shard, &span, why);
        if (status != JD_OK) {
            fprintf(stderr, "conform: axes %s: %s\n",
                    plan->axes ? plan->axes : "(all)", why);
            return status;
        }
        if (meets_before)
            status = jd_barrier(span.shard, plan->axes);
        if (status == JD_OK)
            status = make_cases(errand, &span, memory, i);
        if (status != JD_OK)
            return status;
    }
    return JD_OK;
}

/* ---- the job ------------------------------------------------------------ */

struct job {
    int num_meshes;
    struct mesh_plan plans[MAX_MESHES];
    jd_mesh *meshes[MAX_MESHES];
    struct memory *memories[MAX_MEMBERS];
    int local;
};

static void open_job(struct job *job, const struct settings *settings)
{
    const jd_device *const *local = jd_local_devices(&job->local);
    int devices = jd_device_count();
    if (devices > MAX_MEMBERS) {
        fprintf(stderr, "conform: %d devices; it is made for up to %d\n",
                devices, MAX_MEMBERS);
        exit(1);
    }
    job->num_meshes = plan_meshes(devices, job->plans);
    for (int i = 0; i < job->num_meshes; i++)
        JD_CHECK(make_mesh(&job->plans[i], settings->seed, &job->meshes[i]));
    for (int i = 0; i < job->local; i++)
        job->memories[i] = memory_create(local[i], devices);
}

static void close_job(struct job *job)
{
    for (int i = 0; i < job->local; i++)
        memory_destroy(job->memories[i]);
    for (int i = 0; i < job->num_meshes; i++)
        jd_mesh_destroy(job->meshes[i]);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Adds up all processes' tallies; process 0 prints the sum. */
static bool report(const struct operation *operation, struct tally *tally,
                   double seconds)
{
    int processes = jd_process_count();
    uint64_t own[4] = { atomic_load(&tally->cases),
                        atomic_load(&tally->failures),
                        atomic_load(&tally->exact),
                        atomic_load(&tally->rounded) };
    uint64_t all[MAX_MEMBERS][4], sum[4] = { 0 };
    jd_leaf in = { own, JD_U64, 1, (int64_t[]){ 4 } };
    jd_leaf out = { all, JD_U64, 2, (int64_t[]){ processes, 4 } };
    JD_CHECK(jd_process_allgather(&in, &out, 1, 0));
    for (int i = 0; i < processes; i++)
        for (int k = 0; k < 4; k++)
            sum[k] += all[i][k];
    if (jd_process_index() == 0) {
        printf("result %s cases %" PRIu64 " failures %" PRIu64
               " exact %016" PRIx64 " rounded %016" PRIx64 " ms %.0f\n",
               operation->name, sum[0], sum[1], sum[2], sum[3], 1e3 * seconds);
        fflush(stdout);
    }
    return sum[1] == 0;
}

/* A case of the operation, so that no part is without one. */
static uint64_t draw_sure(const struct job *job, uint64_t seed, int operation)
{
    uint64_t random = mix(seed ^ mix((uint64_t)operation));
    struct place place = { .operation = operation };
    place.mesh = (int)(random % (uint64_t)job->num_meshes);
    random = mix(random);
    place.span = (int)(random % (uint64_t)job->plans[place.mesh].num_spans);
    do {
        random = mix(random);
        place.type = (int)(random % (uint64_t)num_types(operation));
    } while (
        !has_meaning(operations[operation]->reduce, formats[place.type].dtype));
    place.count = (int)(mix(random) % (uint64_t)NUM_COUNTS);
    return place_number(&place);
}

static bool try_operation(struct job *job, const struct settings *settings,
                          int number)
{
    struct tally tally = { 0 };
    uint64_t sure = draw_sure(job, settings->seed, number);
    double start = now();
    for (int i = 0; i < job->num_meshes; i++) {
        struct errand errand = {
            .settings = settings,
            .mesh = &job->plans[i],
            .place = { .operation = number, .mesh = i },
            .sure = sure,
            .tally = &tally,
            .memories = job->memories,
        };
        barrier_reset();
        JD_CHECK(jd_shard_map(job->meshes[i], run_errand, &errand));
    }
    return report(operations[number], &tally, now() - start);
}

static int try_operations(const struct settings *settings)
{
    struct job job = { 0 };
    bool good = true;
    open_job(&job, settings);
    for (int i = 0; i < NUM_OPERATIONS; i++)
        if ((!settings->only ||
             strcmp(settings->only, operations[i]->name) == 0) &&
            !(operations[i]->is_of_cpu && settings->is_on_gpus))
            good = try_operation(&job, settings, i) && good;
    close_job(&job);
    return good ? 0 : 1;
}

/* ---- the command line --------------------------------------------------- */

static void refuse(const char *what, const char *value)
{
    fprintf(stderr, "conform: %s '%s'\n", what, value);
    usage(stderr);
    exit(2);
}

static uint64_t parse_number(const char *option, const char *text)
{
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    if (end == text || *end)
        refuse(option, text);
    return number;
}

static void parse_part(const char *text, struct settings *settings)
{
    int end = 0;
    if (sscanf(text, "%" SCNu64 "/%" SCNu64 "%n", &settings->part,
               &settings->parts, &end) != 2 ||
        text[end] || settings->part < 1 || settings->part > settings->parts)
        refuse("--part", text);
}

static bool parse_choice(const char *option, const char *text, const char *yes,
                         const char *no)
{
    if (strcmp(text, yes) != 0 && strcmp(text, no) != 0)
        refuse(option, text);
    return strcmp(text, yes) == 0;
}

/* What the options say; sums: 1 exact, 0 rounded, -1 not said. */
static void parse_option(const char *name, const char *value,
                         struct settings *settings, int *sums)
{
    if (strcmp(name, "--seed") == 0)
        settings->seed = parse_number(name, value);
    else if (strcmp(name, "--part") == 0)
        parse_part(value, settings);
    else if (strcmp(name, "--buffers") == 0)
        settings->all_buffers = parse_choice(name, value, "all", "drawn");
    else if (strcmp(name, "--only") == 0)
        settings->only = value;
    else if (strcmp(name, "--case") == 0)
        settings->only_case = (int64_t)parse_number(name, value);
    else if (strcmp(name, "--large-count") == 0)
        settings->large_count = (size_t)parse_number(name, value);
    else if (strcmp(name, "--sums") == 0)
        *sums = parse_choice(name, value, "exact", "rounded");
    else
        refuse("unknown option", name);
}

/* Devices are all of one platform. */
static bool is_on(const char *platform)
{
    int count;
    const jd_device *const *devices = jd_devices(&count);
    return strcmp(devices[0]->platform, platform) == 0;
}

/* All devices are the cpus of one host: what is promised to be exact. */
static bool is_one_cpu_host(void)
{
    int count;
    const jd_device *const *devices = jd_devices(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(devices[i]->host, devices[0]->host) != 0)
            return false;
    return is_on("cpu");
}

/* Processes would draw unlike seeds; they take process 0's. */
static void agree_on_seed(struct settings *settings)
{
    int count;
    jd_leaf leaf = { &settings->seed, JD_U64, 0, NULL };
    JD_CHECK(jd_broadcast_one_to_all(&leaf, 1, 0));
    if (jd_process_index() == 0)
        printf("conform: seed %" PRIu64 ", part %" PRIu64 "/%" PRIu64
               ", %d devices (%s) in %d processes, sums %s\n",
               settings->seed, settings->part, settings->parts,
               jd_device_count(), jd_devices(&count)[0]->kind,
               jd_process_count(), settings->is_exact ? "exact" : "rounded");
}

int main(int argc, char **argv)
{
    struct settings settings = {
        .seed = (uint64_t)time(NULL),
        .part = 1,
        .parts = 1,
        .only_case = -1,
        .program = argv[0],
    };
    int sums = -1;
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a line of one process at once */
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--large") == 0) {
            settings.large_count = LARGE_COUNT;
        } else if (strcmp(argv[i], "--help") == 0) {
            usage(stdout);
            return 0;
        } else {
            if (i + 1 == argc)
                refuse("no value for", argv[i]);
            parse_option(argv[i], argv[i + 1], &settings, &sums);
            i++;
        }
    JD_CHECK(jd_initialize());
    settings.is_exact = sums < 0 ? is_one_cpu_host() : sums == 1;
    settings.is_on_gpus = is_on("cuda");
    agree_on_seed(&settings);
    int code =
        settings.large_count ? try_large(&settings) : try_operations(&settings);
    JD_CHECK(jd_shutdown());
    return code;
}
