/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c - bench-service: the coordination service's figures, each beside its
 * target and, where there is one, its peer: the flags and the sections.
 */
#include "bench/service/parts.h"
#include "base/env.h"
#include "base/parse.h"
#include "bench/jd_bench.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: bench-service [--quick] [--samples N] [--only SECTION]\n"
    "\n"
    "Measures the coordination service and prints each figure with its target\n"
    "and \"met\" or \"missed\", and beside it a plain libevent echo of the "
    "same\n"
    "frames and Redis (where redis-server is installed), asked by the same\n"
    "client in the same run.\n"
    "\n"
    "  --quick            some 10 seconds, for a look; its figures are rough\n"
    "  --samples N        of each rate (default 15)\n"
    "  --only SECTION     store, agents, scale, call or failure\n";

static const struct bench_plan whole = {
    .samples = 15,
    .sample_seconds = 0.25,
    .storm = 10000,
    .agents = 2000,
    .scale = 20000,
    .rounds = 1000,
    .beat_seconds = 5,
    .failures = 5,
};

static const struct bench_plan quick = {
    .is_quick = true,
    .samples = 3,
    .sample_seconds = 0.02,
    .storm = 500,
    .agents = 200,
    .scale = 2000,
    .rounds = 20,
    .beat_seconds = 0.2,
    .failures = 1,
};

static const struct section {
    const char *name;
    bool (*measure)(const struct bench_plan *plan);
} sections[] = {
    { "store", bench_store },      { "agents", bench_many_agents },
    { "scale", bench_agents },     { "call", bench_call },
    { "failure", bench_failures },
};
enum { NUM_SECTIONS = sizeof sections / sizeof *sections };

static int measure(const struct bench_plan *plan, const char *only)
{
    int failed = 0;
    signal(SIGPIPE, SIG_IGN);
    bench_print_machine();
    if (plan->is_quick)
        printf("# --quick: rough figures of a small run\n");
    for (int i = 0; i < NUM_SECTIONS; i++)
        if (!only || strcmp(only, sections[i].name) == 0)
            failed += !sections[i].measure(plan);
    return failed ? 1 : 0;
}

static int run_child(const char *kind, const char *argument)
{
    if (!argument)
        argument = "";
    return strcmp(kind, "failure") == 0 ? bench_failure_child(argument)
                                        : bench_call_child(argument);
}

static bool is_section(const char *name)
{
    for (int i = 0; i < NUM_SECTIONS; i++)
        if (strcmp(name, sections[i].name) == 0)
            return true;
    return false;
}

static int fail_usage(const char *flag, const char *value, const char *allowed)
{
    if (flag)
        fprintf(stderr, "bench-service: %s is \"%s\", but it must be %s\n",
                flag, value, allowed);
    fputs(usage, stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option flags[] = {
        { "quick", no_argument, NULL, 'q' },
        { "samples", required_argument, NULL, 's' },
        { "only", required_argument, NULL, 'o' },
        { "child", required_argument, NULL, 'c' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    struct bench_plan plan = whole;
    const char *only = NULL;
    if (jd__env_export("JD_PLATFORM", "cpu") != JD_OK)
        return EXIT_FAILURE;
    long long samples = 0;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        switch (flag) {
        case 'c':
            return run_child(optarg, argv[optind]);
        case 'h':
            fputs(usage, stdout);
            return 0;
        case 'o':
            only = optarg;
            if (!is_section(only))
                return fail_usage("--only", optarg,
                                  "store, agents, scale, call or failure");
            break;
        case 'q':
            plan = quick;
            break;
        case 's':
            if (!jd__parse_integer(optarg, &samples) || samples < 1 ||
                samples > BENCH_MAX_SAMPLES)
                return fail_usage("--samples", optarg, "from 1 to 200");
            break;
        default:
            return fail_usage(NULL, NULL, NULL);
        }
    }
    if (optind < argc)
        return fail_usage("an argument", argv[optind], "one of these flags");
    plan.samples = samples ? (int)samples : plan.samples;
    return measure(&plan, only);
}
