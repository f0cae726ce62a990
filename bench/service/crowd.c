/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd.c - the service with many agents: how fast they come, meet and
 * go, and what they cost. Beside it the echo, with the same clients. */
#include "bench/service/parts.h"
#include "bench/jd_bench.h"

#include <stdio.h>
#include <stdlib.h>

typedef bool start_f(int count, struct bench_server *server);

static bool start_echo(int count, struct bench_server *server)
{
    return bench_echo_start(server) && (server->count = count) > 0;
}

static void print_seconds(const char *name, double *values, int n)
{
    double median = bench_median(values, n);
    printf("%-45s %8.1f / %.1f ms\n", name, 1e3 * values[0], 1e3 * median);
}

/* Seconds until all agents of a new server have come to the phase; negative
 * where it failed. */
static double crowd(start_f *start, int count, enum bench_phase phase)
{
    struct bench_server server;
    struct bench_agents *agents = NULL;
    double seconds = -1;
    if (start(count, &server)) {
        bench_pin_client(true);
        agents = bench_agents_create(&server, count);
    }
    if (agents)
        seconds = bench_agents_run(agents, phase);
    bench_server_freeze(&server);
    bench_agents_destroy(agents);
    bench_server_end(&server);
    bench_pin_client(false);
    return seconds;
}

/* The echo's and the service's times in turn, and the target of jd's. */
static bool compare(const char *name, int count, enum bench_phase phase,
                    int samples, double most)
{
    double echo[BENCH_MAX_SAMPLES], own[BENCH_MAX_SAMPLES];
    char text[80];
    for (int i = 0; i < samples; i++) {
        echo[i] = crowd(start_echo, count, phase);
        own[i] = crowd(bench_service_start, count, phase);
        if (echo[i] < 0 || own[i] < 0)
            return false;
    }
    snprintf(text, sizeof text, "%d %s: echo", count, name);
    print_seconds(text, echo, samples);
    snprintf(text, sizeof text, "%d %s: jd", count, name);
    print_seconds(text, own, samples);
    bench_report_most("the median", bench_median(own, samples), " s", most);
    return true;
}

/* ---- what an agent costs ------------------------------------------------ */

static bool report_heartbeats(const struct bench_server *server,
                              struct bench_agents *agents,
                              const struct bench_plan *plan)
{
    const double interval = 10, rate = 1000, job = 2000;
    long sent;
    double before = bench_server_cpu(server);
    if (!bench_agents_beat(agents, rate, plan->beat_seconds, &sent))
        return false;
    double each = (bench_server_cpu(server) - before) / (double)sent;
    printf("%-45s %8.2f us of CPU time each\n", "heartbeats", 1e6 * each);
    printf("  (%ld heartbeats of %d agents in turn, %g per second, spread "
           "evenly: %.2f s of\n"
           "  the service's CPU time, scaled to those of %g agents every %g "
           "s)\n",
           sent, plan->agents, rate, each * (double)sent, job, interval);
    bench_report_most("share of a core", 100 * each * job / interval, " %", 2);
    return true;
}

/* The memory of the service of a job of one process. */
static double measure_idle(void)
{
    struct bench_server server;
    double bytes = -1;
    if (bench_service_start(1, &server))
        bytes = bench_server_memory(&server);
    bench_server_end(&server);
    return bytes;
}

static void report_memory(const struct bench_server *server, double idle,
                          int agents)
{
    double each = (bench_server_memory(server) - idle) / agents / 1024;
    printf("%-45s %8.2f KiB\n", "memory of the service per agent", each);
    printf("  (resident, more than with one process; the kernel's buffers of "
           "the sockets are\n"
           "  not counted)\n");
    bench_report_most("memory", each, " KiB", 20);
}

static bool report_costs(const struct bench_plan *plan)
{
    struct bench_server server;
    struct bench_agents *agents = NULL;
    double idle = measure_idle();
    bool is_well = idle > 0 && bench_service_start(plan->agents, &server);
    if (!is_well)
        return false;
    bench_pin_client(true);
    agents = bench_agents_create(&server, plan->agents);
    is_well = agents && bench_agents_run(agents, BENCH_JOINED) >= 0;
    if (is_well) {
        report_memory(&server, idle, plan->agents);
        is_well = report_heartbeats(&server, agents, plan);
    }
    bench_server_freeze(&server);
    bench_agents_destroy(agents);
    bench_server_end(&server);
    bench_pin_client(false);
    return is_well;
}

/* ---- a small barrier ---------------------------------------------------- */

/* Each round's seconds; false where one failed. */
static bool meet(start_f *start, double *seconds, int rounds)
{
    struct bench_server server;
    struct bench_agents *agents = NULL;
    bool is_well = start(BENCH_CONNECTIONS, &server);
    bench_pin_client(true);
    if (is_well)
        agents = bench_agents_create(&server, BENCH_CONNECTIONS);
    is_well = agents && bench_agents_run(agents, BENCH_JOINED) >= 0;
    for (int i = -1; is_well && i < rounds; i++) {
        seconds[i < 0 ? 0 : i] = bench_agents_run(agents, BENCH_PASSED);
        is_well = seconds[i < 0 ? 0 : i] >= 0;
        bench_agents_rewind(agents);
    }
    bench_server_freeze(&server);
    bench_agents_destroy(agents);
    bench_server_end(&server);
    bench_pin_client(false);
    return is_well;
}

static bool report_barrier(const struct bench_plan *plan)
{
    bool is_well = false;
    double *echo = calloc((size_t)plan->rounds, sizeof *echo);
    double *own = calloc((size_t)plan->rounds, sizeof *own);
    if (echo && own && meet(start_echo, echo, plan->rounds) &&
        meet(bench_service_start, own, plan->rounds)) {
        print_seconds("64 requests and their replies: echo", echo,
                      plan->rounds);
        print_seconds("barrier of 64 agents: jd", own, plan->rounds);
        bench_report_most("the median", 1e3 * bench_median(own, plan->rounds),
                          " ms", 5);
        is_well = true;
    }
    free(echo);
    free(own);
    return is_well;
}

bool bench_many_agents(const struct bench_plan *plan)
{
    printf("\n# Agents: simulated in one process by real connections over "
           "loopback, at most 512\n"
           "# handshakes at a time, on another core than the server. Least / "
           "median of %d\n"
           "# (the barrier: %d). The echo: the same client, answered without "
           "a look.\n",
           plan->samples, plan->rounds);
    fflush(stdout);
    return compare("connections register", plan->storm, BENCH_WELCOME,
                   plan->samples, 2) &&
           compare("agents register, pass a barrier, leave", plan->agents,
                   BENCH_LEFT, plan->samples, 3) &&
           report_costs(plan) && report_barrier(plan);
}
