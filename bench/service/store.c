/* SPDX-License-Identifier: BSD-3-Clause */
/* store.c - sets and gets of one client process, beside an echo of the
 * same frames and Redis, which are asked by the same code in turn. */
#include "bench/service/parts.h"
#include "bench/jd_bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ECHO, JD, REDIS, NUM_PEERS };

struct peer {
    struct bench_server server;
    struct bench_agents *agents; /* of the echo and of jd */
    struct bench_client set, get;
};

/* ---- requests of Redis -------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static bool
append_text(struct jd_bytes *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    uint8_t *at = jd__wire_bytes_reserve(out, 128);
    int size = at ? vsnprintf((char *)at, 128, format, arguments) : -1;
    va_end(arguments);
    out->end += size > 0 ? (size_t)size : 0;
    return size > 0;
}

/* The command with so many keys, each followed by a value or not. */
static bool redis_command(struct jd_bytes *out, const char *command, int count,
                          bool has_values)
{
    char key[BENCH_KEY + 1];
    bool done =
        append_text(out, "*%d\r\n$%zu\r\n%s\r\n",
                    1 + count * (has_values ? 2 : 1), strlen(command), command);
    for (int i = 0; done && i < count; i++) {
        bench_key(i, key);
        done = append_text(out, "$%d\r\n%s\r\n", BENCH_KEY, key) &&
               (!has_values ||
                append_text(out, "$%d\r\n%032d\r\n", BENCH_VALUE, 1));
    }
    return done;
}

/* ---- connections -------------------------------------------------------- */

static bool connect_agents(struct peer *peer)
{
    peer->agents = bench_agents_create(&peer->server, BENCH_CONNECTIONS);
    if (!peer->agents || bench_agents_run(peer->agents, BENCH_JOINED) < 0)
        return false;
    for (int i = 0; i < BENCH_CONNECTIONS; i++) {
        peer->set.fds[i] = bench_agents_fd(peer->agents, i);
        peer->set.seals[i] = bench_agents_seal(peer->agents, i);
        bench_set_blocking(peer->set.fds[i], true);
    }
    return true;
}

static bool connect_plainly(struct peer *peer)
{
    for (int i = 0; i < BENCH_CONNECTIONS; i++)
        if ((peer->set.fds[i] = bench_connect(&peer->server)) < 0)
            return false;
    return true;
}

/* Sets the keys that are to be got, then a client for that. */
static bool prepare_get(struct peer *peer)
{
    struct bench_client fill = peer->get = peer->set;
    struct jd_bytes none = { .data = NULL };
    bool is_redis = !peer->set.has_id;
    fill.request = peer->get.request = none;
    bool is_well =
        (is_redis ? redis_command(&fill.request, "MSET", BENCH_BATCH_KEYS, true)
                  : bench_frame_set(&fill.request, BENCH_FIRST_ID, 0,
                                    BENCH_BATCH_KEYS)) &&
        bench_client_prepare(&fill) &&
        (is_redis ? redis_command(&peer->get.request, "MGET", BENCH_BATCH_KEYS,
                                  false)
                  : bench_frame_get(&peer->get.request, BENCH_FIRST_ID,
                                    BENCH_BATCH_KEYS)) &&
        bench_client_prepare(&peer->get);
    bench_client_finish(&fill);
    return is_well;
}

static bool prepare(struct peer *peer, int which)
{
    peer->set = (struct bench_client){ .name = peer->server.name,
                                       .count = BENCH_CONNECTIONS,
                                       .has_id = which != REDIS };
    if (peer->server.pid == 0)
        return true;
    return (which == REDIS ? connect_plainly(peer) : connect_agents(peer)) &&
           (which == REDIS
                ? redis_command(&peer->set.request, "SET", 1, true)
                : bench_frame_set(&peer->set.request, BENCH_FIRST_ID, 0, 1)) &&
           bench_client_prepare(&peer->set) &&
           (which == ECHO || prepare_get(peer));
}

static bool start(struct peer *peers)
{
    bool is_well = bench_echo_start(&peers[ECHO].server) &&
                   bench_service_start(BENCH_CONNECTIONS, &peers[JD].server) &&
                   bench_redis_start(&peers[REDIS].server);
    bench_pin_client(true);
    for (int i = 0; is_well && i < NUM_PEERS; i++)
        is_well = prepare(&peers[i], i);
    return is_well;
}

static void finish(struct peer *peers)
{
    for (int i = 0; i < NUM_PEERS; i++) {
        struct peer *peer = &peers[i];
        bench_server_freeze(&peer->server);
        bench_client_finish(&peer->set);
        bench_client_finish(&peer->get);
        for (int at = 0; i == REDIS && at < BENCH_CONNECTIONS; at++)
            if (peer->set.fds[at] > 0)
                close(peer->set.fds[at]);
        bench_agents_destroy(peer->agents);
        bench_server_end(&peer->server);
    }
    bench_pin_client(false);
}

/* ---- the patterns ------------------------------------------------------- */

static double ask_one(struct peer *peer, double seconds)
{
    return bench_client_blocking(&peer->set, 1, seconds);
}

static double ask_on_same_core(struct peer *peer, double seconds)
{
    bench_pin_beside_server();
    double result = bench_client_blocking(&peer->set, 1, seconds);
    bench_pin_client(true);
    return result;
}

static double ask_sixteen(struct peer *peer, double seconds)
{
    return bench_client_blocking(&peer->set, 16, seconds);
}

static double ask_on_many(struct peer *peer, double seconds)
{
    return bench_client_many(&peer->set, seconds);
}

static double get_batch(struct peer *peer, double seconds)
{
    double batch = bench_client_blocking(&peer->get, 1, seconds);
    return batch / BENCH_BATCH_KEYS;
}

static const struct pattern {
    const char *name;
    bool is_rate; /* shown in thousands per second, else in microseconds */
    bool has_echo;
    double (*ask)(struct peer *peer, double seconds); /* per request */
    double most_of_echo;   /* times its round trip; 0: no target */
    double least_of_redis; /* of its rate */
    double least;          /* per second */
} patterns[] = {
    { "set, 1 at a time, us", false, true, ask_one, 1.3, 0, 0 },
    { "the same, all on one core, us", false, true, ask_on_same_core, 1.3, 0,
      0 },
    { "set, 16 in flight, 1000/s", true, true, ask_sixteen, 0, 0.7, 1e5 },
    { "set, 64 connections, 1000/s", true, true, ask_on_many, 0, 0.7, 0 },
    { "get of 10,000 keys, 1000 keys/s", true, false, get_batch, 0, 0, 1e6 },
};
enum { NUM_PATTERNS = sizeof patterns / sizeof *patterns };

struct samples {
    double seconds[NUM_PEERS][BENCH_MAX_SAMPLES];
    bool has[NUM_PEERS];
};

static bool measure(const struct pattern *pattern, struct peer *peers,
                    const struct bench_plan *plan, struct samples *samples)
{
    for (int i = -1; i < plan->samples; i++) { /* -1: a warm-up */
        for (int peer = 0; peer < NUM_PEERS; peer++) {
            samples->has[peer] = peers[peer].server.pid > 0 &&
                                 (peer != ECHO || pattern->has_echo);
            if (!samples->has[peer])
                continue;
            double value = pattern->ask(&peers[peer], plan->sample_seconds);
            if (value < 0)
                return false;
            samples->seconds[peer][i < 0 ? 0 : i] = value;
        }
    }
    return true;
}

/* ---- the table ---------------------------------------------------------- */

/* The median of jd's time over the peer's in the same round. */
static double ratio_to(const struct samples *samples, int peer, int n)
{
    double ratios[BENCH_MAX_SAMPLES];
    for (int i = 0; i < n; i++)
        ratios[i] = samples->seconds[JD][i] / samples->seconds[peer][i];
    return bench_median(ratios, n);
}

static double print_peer(const struct pattern *pattern,
                         const struct samples *samples, int peer, int n)
{
    double values[BENCH_MAX_SAMPLES];
    char text[64] = "-";
    memcpy(values, samples->seconds[peer], (size_t)n * sizeof *values);
    double median = bench_median(values, n), best = values[0];
    if (samples->has[peer])
        snprintf(text, sizeof text, "%.1f / %.1f",
                 pattern->is_rate ? 1e-3 / best : 1e6 * best,
                 pattern->is_rate ? 1e-3 / median : 1e6 * median);
    else if (peer == REDIS)
        snprintf(text, sizeof text, "not installed");
    printf("  %17s", text);
    return median;
}

static void print_ratio(const struct samples *samples, int peer, int n)
{
    if (samples->has[peer])
        printf("  %10.2f", ratio_to(samples, peer, n));
    else
        printf("  %10s", "-");
}

static void print_row(const struct pattern *pattern,
                      const struct samples *samples, int n)
{
    double median = 0;
    printf("%-31s", pattern->name);
    for (int peer = 0; peer < NUM_PEERS; peer++) {
        double value = print_peer(pattern, samples, peer, n);
        median = peer == JD ? value : median;
    }
    print_ratio(samples, ECHO, n);
    print_ratio(samples, REDIS, n);
    printf("\n");
    if (pattern->most_of_echo > 0)
        bench_report_most("time of the echo's", ratio_to(samples, ECHO, n), "",
                          pattern->most_of_echo);
    if (pattern->least > 0)
        bench_report_least("median per second", 1 / median, "", pattern->least);
    if (pattern->least_of_redis > 0 && samples->has[REDIS])
        bench_report_least("rate of Redis's", 1 / ratio_to(samples, REDIS, n),
                           "", pattern->least_of_redis);
}

static void print_head(const struct peer *peers, const struct bench_plan *plan)
{
    printf("\n# Store: a set of a %d-byte value under a %d-byte key (a frame "
           "of %zu bytes, the\n"
           "# reply %zu; Redis %zu and %zu), TCP_NODELAY, loopback; servers "
           "on one core, the\n"
           "# client on another. Best / median of %d samples of %g s, in "
           "turn. Ratios: of\n"
           "# times, medians of the same round's.\n",
           BENCH_VALUE, BENCH_KEY, jd__bytes_size(&peers[JD].set.request),
           peers[JD].set.reply_size, jd__bytes_size(&peers[REDIS].set.request),
           peers[REDIS].set.reply_size, plan->samples, plan->sample_seconds);
    printf("%-31s  %17s  %17s  %17s  %10s  %10s\n", "", "echo", "jd", "redis",
           "jd / echo", "jd / redis");
    fflush(stdout);
}

bool bench_store(const struct bench_plan *plan)
{
    static struct samples samples;
    struct peer peers[NUM_PEERS] = { { .server = { .pipe = -1 } },
                                     { .server = { .pipe = -1 } },
                                     { .server = { .pipe = -1 } } };
    bool is_well = start(peers);
    if (is_well)
        print_head(peers, plan);
    for (int i = 0; is_well && i < NUM_PATTERNS; i++) {
        is_well = measure(&patterns[i], peers, plan, &samples);
        if (is_well)
            print_row(&patterns[i], &samples, plan->samples);
    }
    finish(peers);
    return is_well;
}
