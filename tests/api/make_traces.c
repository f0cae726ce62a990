/* SPDX-License-Identifier: BSD-3-Clause */
/* make_traces.c - writes the trace files of jobs that have failed, for the
 * tests of jd-trace. usage: make_traces CASE DIR [PROCESSES [CALLS]] */
#include "jd_dtype.h"
#include "jd_status.h"
#include "runtime/recorder/trace_columns.h"
#include "tools/jd-trace/traced.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PSUM, GET, BROADCAST };

#define SECOND INT64_C(1000000000)

/* One process's file while it is made. */
struct maker {
    Jd__Trace trace;
    Jd__TraceCalls calls;
    Jd__TraceComm comms[2], *comm_pointers[2];
    size_t count;
    struct jd_trace_columns columns;
    Jd__TraceOwnRanges own_ranges;
    struct jd_trace_own_columns own;
    size_t num_own;
    Jd__TraceClocks clocks;
    int64_t samples[3]; /* one, a column each */
};

static const char *names[] = { "jd_psum", "jd_kv_get", "jd_broadcast" };
static const char *sites[] = { "train.c:120 (step+0x4c)",
                               "read.c:58 (load+0x1f)",
                               "train.c:131 (step+0x9d)" };

static const char *own_names[] = { "step", "forward" };

static int num_processes = 4, num_calls = 6;
static const char *folder, *job = "00c0ffee00c0ffee";
static int64_t epoch = 100;
static size_t cut;
static const char *suffix = "";

/* ---- a file ------------------------------------------------------------- */

static struct maker *begin_process(int process)
{
    static struct maker maker;
    memset(&maker, 0, sizeof maker);
    jd__trace__init(&maker.trace);
    jd__trace_calls__init(&maker.calls);
    jd__trace_own_ranges__init(&maker.own_ranges);
    jd__trace_clocks__init(&maker.clocks);
    for (int i = 0; i < 2; i++) {
        jd__trace_comm__init(&maker.comms[i]);
        maker.comms[i].id = 0x1000 + (uint64_t)i;
        maker.comms[i].member = process;
        maker.comms[i].size = num_processes;
        maker.comms[i].text = (char *)(i ? "axis \"y\"" : "axis \"x\"");
        maker.comm_pointers[i] = &maker.comms[i];
    }
    maker.trace.version = JD_TRACE_VERSION;
    maker.trace.job = (char *)job;
    maker.trace.process = process;
    maker.trace.processes = num_processes;
    maker.trace.pid = 4000 + (uint32_t)process;
    maker.trace.host = (char *)(process % 2 ? "node1" : "node0");
    maker.trace.boot_id = (char *)"boot-0";
    maker.trace.step = (char *)"done";
    maker.trace.end = (char *)JD_TRACE_LEFT;
    maker.trace.writer = process;
    maker.trace.written_ns = epoch * SECOND + (num_calls + 30) * (SECOND / 100);
    maker.trace.names = (char **)names;
    maker.trace.n_names = sizeof names / sizeof *names;
    maker.trace.sites = (char **)sites;
    maker.trace.n_sites = sizeof sites / sizeof *sites;
    maker.trace.comms = maker.comm_pointers;
    maker.trace.n_comms = 2;
    return &maker;
}

/* A call that is done, without times. */
static size_t add_call(struct maker *maker, uint32_t name, uint32_t comm,
                       uint64_t sequence)
{
    size_t i = maker->count++;
    maker->columns.number[i] = i + 1;
    maker->columns.name[i] = name;
    maker->columns.comm[i] = comm;
    maker->columns.sequence[i] = sequence;
    maker->columns.dtype[i] = name == GET ? 0 : JD_F64;
    maker->columns.count[i] = name == GET ? 0 : 1;
    maker->columns.site[i] = name + 1;
    maker->columns.state[i] = JD_CALL_DONE;
    maker->columns.last[i] = -1;
    return i;
}

/* Calls that went well: process 2 is the last, by a millisecond and more. */
static void add_history(struct maker *maker)
{
    int process = maker->trace.process;
    for (int k = 0; k < num_calls; k++) {
        int64_t met = epoch * SECOND + k * SECOND / 100;
        size_t i = add_call(maker, PSUM, 1, (uint64_t)k + 1);
        maker->columns.came_ns[i] =
            process == 2 ? met - 1000 : met - 1000000 - process % 16 * 100000;
        maker->columns.met_ns[i] = met;
        maker->columns.left_ns[i] = met + 50000;
        maker->columns.last[i] = 2 < num_processes ? 2 : -1;
    }
}

/* A range of its own; end 0: not ended. */
static void add_own(struct maker *maker, uint32_t name, int64_t begin,
                    int64_t end)
{
    size_t i = maker->num_own++;
    maker->own.name[i] = name;
    maker->own.depth[i] = name;
    maker->own.begin_ns[i] = begin;
    maker->own.end_ns[i] = end;
}

/* Around each call, and another in it: that of process 1 is the longest. */
static void add_own_ranges(struct maker *maker)
{
    const int64_t ms = SECOND / 1000;
    int process = maker->trace.process;
    for (int k = 0; k < num_calls; k++) {
        int64_t met = epoch * SECOND + k * SECOND / 100;
        add_own(maker, 0, met - 6 * ms, k < num_calls - 1 ? met + ms : 0);
        add_own(maker, 1, met - 5 * ms, met - (process == 1 ? 2 : 3) * ms);
    }
    jd__trace_own_columns_set(&maker->own_ranges, &maker->own, maker->num_own);
    maker->own_ranges.names = (char **)own_names;
    maker->own_ranges.n_names = 2;
    maker->trace.own_ranges = &maker->own_ranges;
}

static size_t add_psum(struct maker *maker, uint32_t state, int32_t status)
{
    size_t i = add_call(maker, PSUM, 1, (uint64_t)num_calls + 1);
    maker->columns.state[i] = state;
    maker->columns.status[i] = status;
    maker->columns.came_ns[i] = epoch * SECOND + num_calls * (SECOND / 100);
    if (state == JD_CALL_DONE)
        maker->columns.left_ns[i] = maker->columns.came_ns[i] + SECOND / 5;
    return i;
}

static void add_get(struct maker *maker)
{
    size_t i = add_call(maker, GET, 0, 0);
    maker->columns.state[i] = JD_CALL_ENTERED;
    maker->columns.came_ns[i] = epoch * SECOND + num_calls * (SECOND / 100);
}

static void set_columns(struct maker *maker)
{
    jd__trace_columns_set(&maker->calls, &maker->columns, maker->count);
    maker->trace.calls = &maker->calls;
}

static void write_columns(struct maker *maker)
{
    char path[PATH_MAX];
    size_t size = jd__trace__get_packed_size(&maker->trace);
    uint8_t *bytes = malloc(size);
    snprintf(path, sizeof path, "%s/%s-%d%s%s", folder, job,
             maker->trace.process, suffix, JD_TRACE_SUFFIX);
    FILE *file = fopen(path, "wbe");
    if (!bytes || !file) {
        perror(path);
        exit(1);
    }
    jd__trace__pack(&maker->trace, bytes);
    fwrite(JD_TRACE_MAGIC, 1, sizeof JD_TRACE_MAGIC, file);
    fwrite(bytes, 1, size - cut, file);
    fclose(file);
    free(bytes);
}

static void write_process(struct maker *maker)
{
    set_columns(maker);
    write_columns(maker);
}

/* ---- jobs --------------------------------------------------------------- */

/* What the others do while process 2 does not come, and how they end. */
static void make_others(uint32_t state, int32_t status, const char *end)
{
    for (int i = 0; i < num_processes; i++) {
        if (i == 2)
            continue;
        struct maker *maker = begin_process(i);
        add_history(maker);
        add_psum(maker, state, status);
        maker->trace.end = (char *)end;
        write_process(maker);
    }
}

static struct maker *begin_culprit(const char *end, int writer)
{
    struct maker *maker = begin_process(2);
    add_history(maker);
    maker->trace.end = (char *)end;
    maker->trace.writer = writer;
    return maker;
}

static void make_killed(void)
{
    static const char end[] = "process 2 (node0) was killed by SIGKILL";
    make_others(JD_CALL_DONE, JD_ABORTED, end);
    write_process(begin_culprit(end, 0));
}

static void make_stopped(void)
{
    static const char end[] = "process 2 (node0) was not heard of for 10 s";
    make_others(JD_CALL_DONE, JD_ABORTED, end);
    struct maker *maker = begin_culprit(end, 0);
    add_psum(maker, JD_CALL_ENTERED, 0);
    write_process(maker);
}

static void make_left(void)
{
    make_others(JD_CALL_ENTERED, 0, "process 2 (node0) has left");
    write_process(begin_culprit("left", 2));
}

static void make_exit(void)
{
    make_others(JD_CALL_DONE, JD_ABORTED, "process 2 ended with exit code 3");
    write_process(begin_culprit("exit code 3", 2));
}

static void make_mismatch(void)
{
    make_others(JD_CALL_DONE, JD_INVALID_ARGUMENT, "jd_psum: counts differ");
    struct maker *maker = begin_culprit("jd_psum: counts differ", 2);
    size_t i = add_psum(maker, JD_CALL_DONE, JD_INVALID_ARGUMENT);
    maker->columns.count[i] = 2;
    maker->columns.site[i] = 3;
    write_process(maker);
}

static void make_rest(void)
{
    make_others(JD_CALL_ENTERED, 0, "");
    struct maker *maker = begin_culprit("", 2);
    maker->columns.rest[add_psum(maker, JD_CALL_ENTERED, 0)] = 7;
    write_process(maker);
}

static void make_deadline(void)
{
    make_others(JD_CALL_DONE, JD_DEADLINE_EXCEEDED, "jd_psum: 30 s are over");
    struct maker *maker = begin_culprit("", 2);
    add_get(maker);
    write_process(maker);
}

static void make_own(void)
{
    make_others(JD_CALL_ENTERED, 0, "");
    write_process(begin_culprit("", 2));
}

static void make_missing(void)
{
    make_others(JD_CALL_ENTERED, 0, "");
}

/* Process 0 waits in y for those that wait in x for process 2. */
static void make_chain(void)
{
    for (int i = 0; i < num_processes; i++) {
        struct maker *maker = begin_process(i);
        add_history(maker);
        maker->trace.end = (char *)"";
        if (i != 2)
            add_call(maker, BROADCAST, 2, 1);
        if (i == 0)
            maker->columns.state[add_call(maker, BROADCAST, 2, 2)] = JD_CALL_ENTERED;
        else if (i != 2)
            add_psum(maker, JD_CALL_ENTERED, 0);
        else
            add_get(maker);
        write_process(maker);
    }
}

/* Each waits where the other does not come. */
static void make_cycle(void)
{
    num_processes = 2;
    for (int i = 0; i < 2; i++) {
        struct maker *maker = begin_process(i);
        maker->trace.end = (char *)"";
        add_call(maker, PSUM, 1, 1);
        add_call(maker, BROADCAST, 2, 1);
        maker->columns.state[add_call(maker, i ? BROADCAST : PSUM, i ? 2u : 1u, 2)] =
            JD_CALL_ENTERED;
        write_process(maker);
    }
}

static void make_good(void)
{
    for (int i = 0; i < num_processes; i++) {
        struct maker *maker = begin_process(i);
        add_history(maker);
        write_process(maker);
    }
}

static void make_own_ranges(void)
{
    for (int i = 0; i < num_processes; i++) {
        struct maker *maker = begin_process(i);
        add_history(maker);
        add_own_ranges(maker);
        write_process(maker);
    }
}

static void make_own_unlike(void)
{
    struct maker *maker = begin_culprit("left", 2);
    add_own_ranges(maker);
    maker->own_ranges.n_depth--;
    write_process(maker);
}

static void make_own_outside(void)
{
    struct maker *maker = begin_culprit("left", 2);
    add_own_ranges(maker);
    maker->own.name[3] = 2;
    write_process(maker);
}

/* As far as it is recorded: two hosts that share nothing, clocks included. */
static void make_clocks(void)
{
    for (int i = 0; i < num_processes; i++) {
        struct maker *maker = begin_process(i);
        epoch = i % 2 ? 900000 : 100;
        maker->trace.boot_id = (char *)(i % 2 ? "boot-1" : "boot-0");
        add_history(maker);
        write_process(maker);
    }
}

/* One that says that process 0's clock shows so many nanoseconds more. */
static void add_clocks(struct maker *maker, int64_t offset, int64_t error)
{
    maker->samples[0] = maker->trace.written_ns;
    maker->samples[1] = offset;
    maker->samples[2] = error;
    maker->clocks.at = &maker->samples[0];
    maker->clocks.offset = &maker->samples[1];
    maker->clocks.error = &maker->samples[2];
    maker->clocks.n_at = maker->clocks.n_offset = maker->clocks.n_error = 1;
    maker->trace.clocks = &maker->clocks;
}

/* The same hosts, whose processes have asked for process 0's clock. */
static void make_aligned(void)
{
    const int64_t offset = -899900 * SECOND + 1000;
    for (int i = 0; i < num_processes; i++) {
        epoch = i % 2 ? 900000 : 100;
        struct maker *maker = begin_process(i);
        maker->trace.boot_id = (char *)(i % 2 ? "boot-1" : "boot-0");
        add_clocks(maker, i % 2 ? offset : 17, 20000);
        add_history(maker);
        write_process(maker);
    }
}

static void make_clock_unlike(void)
{
    struct maker *maker = begin_culprit("left", 2);
    add_clocks(maker, 0, 1);
    maker->clocks.n_error--;
    write_process(maker);
}

static void make_clock_outside(void)
{
    struct maker *maker = begin_culprit("left", 2);
    add_clocks(maker, INT64_MAX, 1);
    write_process(maker);
}

/* ---- files that cannot be read, or are there twice ----------------------- */

static void make_later_job(void)
{
    job = "feedfacefeedface";
    epoch = 500;
    make_killed();
}

/* Process 2 wrote that it left, and was dead a second later. */
static void make_twice(void)
{
    make_killed();
    suffix = "-by";
    struct maker *maker = begin_culprit("left", 2);
    maker->trace.written_ns -= SECOND;
    write_process(maker);
}

static void make_unplaced(void)
{
    struct maker *maker = begin_process(-1);
    maker->trace.step = (char *)"find the service";
    maker->trace.end = (char *)"exit code 9";
    maker->trace.processes = 0;
    write_process(maker);
}

static void make_cut(void)
{
    cut = 100;
    write_process(begin_culprit("left", 2));
}

static void make_newer(void)
{
    struct maker *maker = begin_culprit("left", 2);
    maker->trace.version = 2;
    write_process(maker);
}

static void make_unlike(void)
{
    struct maker *maker = begin_culprit("left", 2);
    set_columns(maker);
    maker->calls.n_status--;
    write_columns(maker);
}

static void make_no_calls(void)
{
    write_columns(begin_culprit("left", 2));
}

static void make_outside(const char *column)
{
    struct maker *maker = begin_culprit("left", 2);
    if (strcmp(column, "name") == 0)
        maker->columns.name[3] = 3;
    else if (strcmp(column, "comm") == 0)
        maker->columns.comm[3] = 3;
    else if (strcmp(column, "site") == 0)
        maker->columns.site[3] = 4;
    else if (strcmp(column, "state") == 0)
        maker->columns.state[3] = 3;
    else if (strcmp(column, "last") == 0)
        maker->columns.last[3] = num_processes;
    else
        maker->trace.process = num_processes;
    write_process(maker);
}

/* Texts that pictures and terminals must not take as they are. */
static void make_texts(void)
{
    names[PSUM] = "<jd&\"\x1b[31m\xff";
    sites[0] = "\xed\xa0\x80.c:1";
    make_killed();
}

struct job_case {
    const char *name;
    void (*make)(void);
};

static const struct job_case cases[] = {
    { "killed", make_killed },
    { "stopped", make_stopped },
    { "left", make_left },
    { "exit", make_exit },
    { "mismatch", make_mismatch },
    { "rest", make_rest },
    { "deadline", make_deadline },
    { "own", make_own },
    { "missing", make_missing },
    { "chain", make_chain },
    { "cycle", make_cycle },
    { "good", make_good },
    { "clocks", make_clocks },
    { "aligned", make_aligned },
    { "clock_unlike", make_clock_unlike },
    { "clock_outside", make_clock_outside },
    { "later_job", make_later_job },
    { "twice", make_twice },
    { "unplaced", make_unplaced },
    { "cut", make_cut },
    { "newer", make_newer },
    { "unlike", make_unlike },
    { "no_calls", make_no_calls },
    { "texts", make_texts },
    { "own_ranges", make_own_ranges },
    { "own_unlike", make_own_unlike },
    { "own_outside", make_own_outside },
};

static void make_case(const char *name)
{
    static const char outside[] = "outside_";
    if (strncmp(name, outside, sizeof outside - 1) == 0) {
        make_outside(name + sizeof outside - 1);
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, name) == 0) {
            cases[i].make();
            return;
        }
    fprintf(stderr, "make_traces: there is no case \"%s\"\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: make_traces CASE DIR [PROCESSES [CALLS]]\n", stderr);
        return 2;
    }
    folder = argv[2];
    if (argc > 3)
        num_processes = (int)strtol(argv[3], NULL, 10);
    if (argc > 4)
        num_calls = (int)strtol(argv[4], NULL, 10);
    if (num_processes < 1 || num_calls < 4 || num_calls > JD_RING_CALLS - 3) {
        fputs("make_traces: 1 process and 4 to 4093 calls\n", stderr);
        return 2;
    }
    make_case(argv[1]);
    return 0;
}
