/* SPDX-License-Identifier: BSD-3-Clause */
/* table.c - what jd-bench scale prints. */
#include "base/text.h"
#include "bench/jd_bench.h"
#include "bench/scale/compositions.h"
#include "bench/scale/scale.h"
#include "bench/scale/start.h"
#include "bench/scale/targets.h"

#include <stdio.h>

/* What is looked at. */
static const struct {
    enum scale_op op;
    double bytes;
} rows[] = {
    { SCALE_PSUM, 8 },
    { SCALE_PSUM, 64 << 10 },
    { SCALE_PSUM, 16 << 20 },
    { SCALE_PSUM, 1 << 30 },
    { SCALE_ALL_GATHER, 8 },
    { SCALE_ALL_GATHER, 1 << 10 },
    { SCALE_ALL_TO_ALL, 64 },
    { SCALE_ALL_TO_ALL, 1 << 10 },
    { SCALE_BROADCAST, 4 << 10 },
    { SCALE_BROADCAST, 16 << 20 },
    { SCALE_MESH, 0 },
};

/* ---- figures --------------------------------------------------------------
 */

/* "8 B", "64 KiB". */
static const char *bytes_text(double bytes, char text[16])
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    int i = 0;
    for (; i < 4 && bytes >= 1024; i++)
        bytes /= 1024;
    snprintf(text, 16, "%.*f %s", bytes < 10 && (double)(int)bytes < bytes,
             bytes, units[i]);
    return text;
}

/* "35.2 us", "1.20 ms". */
static const char *time_text(double seconds, char text[16])
{
    const char *unit = seconds < 1e-3 ? "us" : seconds < 1 ? "ms" : "s";
    double value = seconds * (seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1);
    snprintf(text, 16, "%.*f %s",
             value < 10    ? 2
             : value < 100 ? 1
                           : 0,
             value, unit);
    return text;
}

/* ---- collectives ----------------------------------------------------------
 */

static void print_side(const struct scale_result *result, int width)
{
    char bytes[16], time[16];
    printf("  %8.0f %9s %8s  %-*s", result->counts.messages,
           bytes_text(result->counts.bytes, bytes),
           time_text(result->seconds, time), width, result->way);
}

static void print_row(const struct scale_call *call,
                      const struct scale_result *jd,
                      const struct scale_result *mpi)
{
    char bytes[16] = "";
    if (call->op != SCALE_MESH)
        bytes_text(call->bytes, bytes);
    printf("  %-19s %7s", scale_op_name(call->op), bytes);
    print_side(jd, 26);
    print_side(mpi, 18);
    printf(" %6.2f\n", mpi->seconds / jd->seconds);
}

static void print_json_side(const char *side, const struct scale_result *result)
{
    printf(", \"%s_way\": \"%s\", \"%s_messages\": %.0f, "
           "\"%s_sent_bytes\": %.0f, \"%s_us\": %.6g",
           side, result->way, side, result->counts.messages, side,
           result->counts.bytes, side, 1e6 * result->seconds);
}

static void print_json_row(const struct scale_call *call,
                           const struct scale_result *jd,
                           const struct scale_result *mpi)
{
    bench_json_begin_row(false);
    printf("{\"hosts\": %d, \"per_host\": %d, \"what\": \"%s\", "
           "\"bytes\": %.0f, \"pieces\": %d",
           call->hosts, call->per_host, scale_op_name(call->op), call->bytes,
           jd->pieces);
    print_json_side("jd", jd);
    print_json_side("mpi", mpi);
    printf(", \"ratio\": %.4g}", mpi->seconds / jd->seconds);
}

static bool print_collectives(const struct scale_options *o, int hosts,
                              int per_host)
{
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof rows / sizeof *rows; i++) {
        struct scale_call call = { rows[i].op, hosts, per_host, rows[i].bytes };
        struct scale_result jd, mpi;
        ok = scale_simulate_jd(&call, &o->constants, &jd) &&
             scale_simulate_mpi(&call, &o->constants, &mpi);
        if (ok)
            (o->json ? print_json_row : print_row)(&call, &jd, &mpi);
    }
    return ok;
}

/* ---- the start ------------------------------------------------------------
 */

static void print_start(const struct scale_start *start)
{
    char a[16], b[16], c[16], d[16], e[16], f[16];
    printf("  jd_initialize: records %s, registrations %s, barrier and leave "
           "%s, connections %s,\n"
           "    wire-up without an MPI launcher %s: %s\n",
           time_text(start->records, a), time_text(start->registrations, b),
           time_text(start->barrier, c), time_text(start->connections, d),
           time_text(start->wireup, e), time_text(start->seconds, f));
    printf("  memory: a process %s, a host's table %s, the service %s; "
           "heartbeats %.3g of a core\n",
           bytes_text(start->process_bytes, a),
           bytes_text(start->host_bytes, b),
           bytes_text(start->service_bytes, c), start->cores);
}

static void print_json_start(int hosts, int per_host,
                             const struct scale_start *start)
{
    bench_json_begin_row(false);
    printf("{\"hosts\": %d, \"per_host\": %d, \"what\": \"jd_initialize\", "
           "\"records_s\": %.6g, \"registrations_s\": %.6g, "
           "\"barrier_s\": %.6g, \"connections_s\": %.6g, \"wireup_s\": %.6g, "
           "\"all_s\": %.6g, \"process_bytes\": %.0f, \"host_bytes\": %.0f, "
           "\"service_bytes\": %.0f, \"heartbeat_cores\": %.6g}",
           hosts, per_host, start->records, start->registrations,
           start->barrier, start->connections, start->wireup, start->seconds,
           start->process_bytes, start->host_bytes, start->service_bytes,
           start->cores);
}

/* ---- all of it ------------------------------------------------------------
 */

static bool print_job(const struct scale_options *o, int hosts, int per_host)
{
    struct scale_start start;
    if (!o->json) {
        printf("%d hosts of %d process%s\n", hosts, per_host,
               jd__text_es(per_host));
        printf("  %-19s %7s  %8s %9s %8s  %-26s  %8s %9s %8s  %-18s %6s\n", "",
               "bytes", "messages", "sent", "jd", "", "messages", "sent", "MPI",
               "", "MPI/jd");
    }
    if (!print_collectives(o, hosts, per_host) ||
        !scale_simulate_start(hosts, per_host, &o->constants, &start))
        return false;
    if (o->json)
        print_json_start(hosts, per_host, &start);
    else
        print_start(&start);
    fflush(stdout);
    return true;
}

static void print_head(const struct scale_options *o)
{
    bench_print_machine();
    printf("# a model: no process was started, no message was sent. "
           "Constants:\n");
    scale_constants_print(&o->constants);
    printf("# messages and bytes that the busiest process sends in a call; "
           "MPI: the quickest\n"
           "# of the classical algorithms, by one leader of each host\n");
}

static bool print_targets(const struct scale_options *o)
{
    struct scale_target targets[SCALE_TARGETS];
    if (!scale_targets(&o->constants, targets))
        return false;
    printf("10240 hosts of 1 process, and a start of %d processes\n",
           SCALE_TARGET_PROCESSES);
    for (int i = 0; i < SCALE_TARGETS; i++)
        bench_report_most(targets[i].name, targets[i].value, targets[i].unit,
                          targets[i].most);
    return true;
}

int scale_print(const struct scale_options *options)
{
    const struct scale_options *o = options;
    bool ok = true;
    if (o->json)
        scale_constants_print_json(&o->constants);
    else
        print_head(o);
    for (int i = 0; i < o->num_hosts; i++)
        for (int j = 0; ok && j < o->num_per_host; j++)
            ok = print_job(o, o->hosts[i], o->per_host[j]);
    if (o->json && ok)
        bench_json_end();
    else if (ok)
        ok = print_targets(o);
    if (!ok)
        fprintf(stderr, "jd-bench scale: there is no memory\n");
    return ok ? 0 : 1;
}
