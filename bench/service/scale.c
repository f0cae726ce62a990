/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scale.c - the service with as many agents as this machine has files for:
 * the seconds and the memory of what all of them do together, once.
 */
#include "bench/service/parts.h"

#include <stdio.h>
#include <stdlib.h>

/* One service and its agents. */
struct crowd {
    struct bench_server server;
    struct bench_agents *agents;
    int count;
    double idle,
        own_idle; /* bytes, of the service and of this process before */
    double cpu;   /* of the service, so far */
};

static void report(struct crowd *crowd, const char *what, double seconds)
{
    double cpu = bench_server_cpu(&crowd->server);
    double memory = bench_server_memory(&crowd->server) - crowd->idle;
    double own = bench_own_memory() - crowd->own_idle;
    printf("%-38s %8.3f %10.1f %10.1f %11.2f %11.2f\n", what, seconds,
           1e6 * seconds / crowd->count,
           1e6 * (cpu - crowd->cpu) / crowd->count,
           memory / crowd->count / 1024, own / crowd->count / 1024);
    fflush(stdout);
    crowd->cpu = cpu;
}

static bool run(struct crowd *crowd, const char *what, enum bench_phase phase)
{
    double seconds = bench_agents_run(crowd->agents, phase);
    if (seconds >= 0)
        report(crowd, what, seconds);
    return seconds >= 0;
}

static bool begin(struct crowd *crowd, int count, enum bench_coming coming)
{
    *crowd = (struct crowd){ .count = count, .own_idle = bench_own_memory() };
    if (!bench_service_start(count, &crowd->server))
        return false;
    crowd->idle = bench_server_memory(&crowd->server);
    crowd->cpu = bench_server_cpu(&crowd->server);
    bench_pin_client(true);
    crowd->agents = bench_agents_create(&crowd->server, count);
    if (crowd->agents)
        bench_agents_come(crowd->agents, coming);
    return crowd->agents;
}

static void end(struct crowd *crowd)
{
    bench_server_freeze(&crowd->server);
    bench_agents_destroy(crowd->agents);
    bench_server_end(&crowd->server);
    bench_pin_client(false);
}

static bool preempt(struct crowd *crowd)
{
    double seconds = bench_agents_preempt(crowd->agents);
    if (seconds >= 0)
        report(crowd, "one is preempted: all agree on a step", seconds);
    return seconds >= 0;
}

static bool fail(struct crowd *crowd)
{
    double first, seconds = bench_agents_fail(crowd->agents, &first);
    if (seconds < 0)
        return false;
    report(crowd, "one dies: all others have heard it", seconds);
    printf("  (the first of them after %.3f s)\n", first);
    return true;
}

static bool measure_at_once(int count)
{
    struct crowd crowd;
    bool is_well =
        begin(&crowd, count, BENCH_COME_AS_FAST) &&
        run(&crowd, "all register, as fast as they can", BENCH_WELCOME);
    end(&crowd);
    return is_well;
}

static bool measure(int count)
{
    struct crowd crowd;
    bool is_well =
        begin(&crowd, count, BENCH_COME_IN_TURN) &&
        run(&crowd, "all register, each in its turn", BENCH_WELCOME) &&
        run(&crowd, "all have joined", BENCH_JOINED) &&
        run(&crowd, "a barrier of all", BENCH_PASSED) && preempt(&crowd) &&
        fail(&crowd);
    end(&crowd);
    return is_well;
}

bool bench_agents(const struct bench_plan *plan)
{
    int count = bench_most_connections(plan->scale);
    printf("\n# Scale: %d agents of one job in one process, by real "
           "connections over loopback\n"
           "# and the protocol's own frames and MACs, without jd's agent; the "
           "service is in a\n"
           "# process and on a core of its own. Once each.\n",
           count);
    if (count < plan->scale)
        printf("# %d were asked for, but the limit of open files (ulimit -Hn) "
               "leaves no more.\n",
               plan->scale);
    printf("%-38s %8s %10s %10s %11s %11s\n", "", "s", "us/agent", "its CPU us",
           "service KiB", "agents KiB");
    fflush(stdout);
    return measure_at_once(count) && measure(count);
}
