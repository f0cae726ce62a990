/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.c - what a program pays: jd_kv_set and jd_kv_get_many of process
 * 1 of two under mpirun, where the service is in process 0's background
 * thread. Beside it the same set of a raw client, without an agent.
 */
#include "base/clock.h"
#include "base/parse.h"
#include "bench/service/parts.h"
#include "bench/jd_bench.h"
#include "jd_coordination.h"
#include "jd_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_SECONDS 0.1
#define JOB_SECONDS 120.0

/* ---- in the job --------------------------------------------------------- */

static const char value[BENCH_VALUE] = "a value of thirty-two bytes ...";

static double time_sets(void)
{
    char key[BENCH_KEY + 1];
    double begin = jd__clock_now(), now = begin;
    int calls = 0;
    bench_key(0, key);
    for (; now - begin < CALLS_SECONDS; calls++, now = jd__clock_now())
        JD_CHECK(jd_kv_set(key, value, sizeof value, 1));
    return (now - begin) / calls;
}

static void set_batch(char keys[][BENCH_KEY + 1], const char **pointers)
{
    jd_kv_entry *entries = calloc(BENCH_BATCH_KEYS, sizeof *entries);
    for (int i = 0; i < BENCH_BATCH_KEYS; i++) {
        bench_key(i, keys[i]);
        pointers[i] = keys[i];
        entries[i] = (jd_kv_entry){ keys[i], value, sizeof value };
    }
    JD_CHECK(jd_kv_set_many(entries, BENCH_BATCH_KEYS, 1));
    free(entries);
}

static double time_get_many(const char *const *keys)
{
    jd_kv_entry *entries;
    double begin = jd__clock_now();
    JD_CHECK(jd_kv_get_many(keys, BENCH_BATCH_KEYS, BENCH_DEADLINE, &entries));
    double seconds = jd__clock_now() - begin;
    free(entries);
    return seconds / BENCH_BATCH_KEYS;
}

int bench_call_child(const char *samples)
{
    static char keys[BENCH_BATCH_KEYS][BENCH_KEY + 1];
    static const char *pointers[BENCH_BATCH_KEYS];
    long long count = 1;
    jd__parse_integer(samples, &count);
    JD_CHECK(jd_initialize());
    if (jd_process_index() == 1) {
        set_batch(keys, pointers);
        time_sets(); /* a warm-up */
        for (long long i = 0; i < count; i++)
            printf("sample %.9f %.12f\n", time_sets(), time_get_many(pointers));
        fflush(stdout);
    }
    JD_CHECK(jd_wait_at_barrier("bench", JOB_SECONDS, NULL, 0));
    return (int)jd_shutdown();
}

/* ---- who reads it ------------------------------------------------------- */

struct call_samples {
    int count;
    double set[BENCH_MAX_SAMPLES], get[BENCH_MAX_SAMPLES];
    double raw[BENCH_MAX_SAMPLES];
};

static void read_samples(char *text, struct call_samples *samples)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest);
         line && samples->count < BENCH_MAX_SAMPLES;
         line = strtok_r(NULL, "\n", &rest))
        samples->count +=
            sscanf(line, "sample %lf %lf", &samples->set[samples->count],
                   &samples->get[samples->count]) == 2;
}

static bool run_job(int wanted, struct call_samples *samples)
{
    char count[16];
    const char *command[] = { "mpirun",
                              "--oversubscribe",
                              "-n",
                              "2",
                              bench_program(),
                              "--child",
                              "call",
                              count,
                              NULL };
    struct bench_program program;
    struct jd_bytes out = { .data = NULL }, err = { .data = NULL };
    double deadline = jd__clock_now() + JOB_SECONDS;
    snprintf(count, sizeof count, "%d", wanted);
    if (!bench_program_start(command, SIGTERM, &program))
        return false;
    bool has_read = bench_program_collect(&program, deadline, &out, &err);
    int status = bench_program_end(&program, deadline);
    if (has_read)
        read_samples((char *)out.data, samples);
    bool is_well = status == 0 && samples->count == wanted;
    if (!is_well)
        bench_complain("mpirun -n 2 gave %d of %d samples; it said:\n%s",
                       samples->count, wanted,
                       has_read ? (char *)err.data : "nothing");
    jd__wire_bytes_finish(&out);
    jd__wire_bytes_finish(&err);
    return is_well;
}

/* The same set by a client without an agent. */
static bool ask_raw(struct bench_client *client, int wanted,
                    struct call_samples *samples)
{
    bool is_well = bench_frame_set(&client->request, BENCH_FIRST_ID, 0, 1) &&
                   bench_client_prepare(client);
    for (int i = -1; is_well && i < wanted; i++) {
        double seconds = bench_client_blocking(client, 1, CALLS_SECONDS);
        samples->raw[i < 0 ? 0 : i] = seconds;
        is_well = seconds > 0;
    }
    bench_client_finish(client);
    return is_well;
}

static bool run_raw(int wanted, struct call_samples *samples)
{
    struct bench_server server;
    struct bench_client client = { .name = "jd", .count = 1, .has_id = true };
    struct bench_agents *agents = NULL;
    bool is_well = bench_service_start(1, &server);
    bench_pin_client(true);
    if (is_well)
        agents = bench_agents_create(&server, 1);
    if (agents && bench_agents_run(agents, BENCH_JOINED) >= 0) {
        client.fds[0] = bench_agents_fd(agents, 0);
        client.seals[0] = bench_agents_seal(agents, 0);
        bench_set_blocking(client.fds[0], true);
        is_well = ask_raw(&client, wanted, samples);
    } else {
        is_well = false;
    }
    bench_server_freeze(&server);
    bench_agents_destroy(agents);
    bench_server_end(&server);
    bench_pin_client(false);
    return is_well;
}

bool bench_call(const struct bench_plan *plan)
{
    static struct call_samples samples;
    int n = plan->samples;
    printf("\n# The call: by process 1 of mpirun -n 2, least / median of %d "
           "samples of %g s;\n"
           "# the raw client without an agent, to a service of its own\n",
           n, CALLS_SECONDS);
    fflush(stdout);
    if (!run_raw(n, &samples) || !run_job(n, &samples))
        return false;
    double raw = bench_median(samples.raw, n);
    double set = bench_median(samples.set, n);
    double get = bench_median(samples.get, n);
    printf("%-45s %8.1f / %.1f us\n", "set: raw client", 1e6 * samples.raw[0],
           1e6 * raw);
    printf("%-45s %8.1f / %.1f us (%.2f times the raw client's)\n",
           "set: jd_kv_set", 1e6 * samples.set[0], 1e6 * set, set / raw);
    printf("%-45s %8.1f / %.1f thousand keys per second\n",
           "jd_kv_get_many of 10,000 keys", 1e-3 / samples.get[0], 1e-3 / get);
    bench_report_least("the median per second", 1 / get, "", 1e6);
    return true;
}
