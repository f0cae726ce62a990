/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_info.c - jd-info: shows what jd finds out and where it found it. Here
 * are the flags; the reports have files of their own. */
#include "base/options.h"
#include "base/parse.h"
#include "jd_process.h"
#include "tools/close_output.h"
#include "tools/jd-info/jd_info.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_USAGE = 2,
    WATCH_SECONDS = 2,
    WATCH_MOST = 86400,
};

#define WATCH_LEAST 0.1 /* seconds */

static const char usage[] =
    "Usage: jd-info [--env FILE] [--json]\n"
    "       jd-info --options [--env FILE]\n"
    "       jd-info --options --markdown\n"
    "       jd-info --topology [--json | --svg]\n"
    "       jd-info --job HOST:PORT [--json | --watch[=SECONDS]]\n"
    "       jd-info --job HOST:PORT --stack N\n"
    "       jd-info --build [--json]\n"
    "       jd-info --help | --version\n"
    "\n"
    "Shows what jd finds out about this process's place in the job, and which\n"
    "variable told it.\n"
    "\n"
    "  --env FILE   read the variables from FILE, the output of env or env -0\n"
    "               (- is standard input), and from nowhere else\n"
    "  --json       print JSON\n"
    "  --options    print every option's value and where it came from\n"
    "  --topology   join the job that mpirun or srun started and print its\n"
    "               hosts, processes and devices, on process 0 alone\n"
    "  --svg        print that as a picture for a page, in SVG\n"
    "  --job HOST:PORT\n"
    "               print what each process of a running job does, asked of\n"
    "               its coordination service (JD_LOG=info says where that is;\n"
    "               JD_SECRET_FILE, the same as the job's, lets you in)\n"
    "  --watch[=SECONDS]\n"
    "               print it again every SECONDS (2), until the job ends;\n"
    "               on a terminal in place, those that others wait for first\n"
    "  --stack N    print where each thread of process N of that job stands, "
    "as\n"
    "               gdb or eu-stack on its host reads it; the process stands\n"
    "               still meanwhile\n"
    "  --build      print what jd was built with: MPI, CUDA and NCCL, the\n"
    "               other libraries, the compiler, and meson's options\n"
    "  --markdown   print the table of options as doc/options.md has it\n"
    "  --help       print this text\n"
    "  --version    print the version\n";

enum report {
    REPORT_DETECTION,
    REPORT_OPTIONS,
    REPORT_TOPOLOGY,
    REPORT_JOB,
    REPORT_BUILD,
    REPORT_HELP,
    REPORT_VERSION
};

struct request {
    enum report report;
    const char *env_file; /* NULL: the process's own environment */
    const char *job;      /* the address */
    double interval;      /* of --watch; 0: once */
    int stack;            /* the process whose stack it is; -1: no stack */
    bool json;
    bool markdown;
    bool svg;
};

int jd_info_fail(void)
{
    fflush(stdout);
    fprintf(stderr, "jd-info: %s\n", jd_error_message());
    return 1;
}

void jd_info_warn_unknown(const struct jd_env *env)
{
    const char *name, *nearest;
    fflush(stdout);
    for (size_t at = 0;
         jd__option_table_next_unknown(env, &at, &name, &nearest);)
        fprintf(stderr,
                "jd-info: warning: %s is no variable of jd; the nearest is "
                "%s\n",
                name, nearest);
}

static int fail_usage(const char *why)
{
    if (why)
        fprintf(stderr, "jd-info: %s\n", why);
    fputs(usage, stderr);
    return EXIT_USAGE;
}

/* Returns 0, or the exit status after it has said what is wrong. */
static int check_request(const struct request *request, int num_operands)
{
    if (num_operands)
        return fail_usage("there are arguments that are no options");
    if (request->markdown &&
        (request->report != REPORT_OPTIONS || request->env_file))
        return fail_usage("--markdown goes with --options alone");
    if (request->env_file && request->report == REPORT_TOPOLOGY)
        return fail_usage("--env does not go with --topology");
    if (request->svg && request->report != REPORT_TOPOLOGY)
        return fail_usage("--svg goes with --topology alone");
    if (request->svg && request->json)
        return fail_usage("--svg does not go with --json");
    if (request->env_file && request->report == REPORT_JOB)
        return fail_usage("--env does not go with --job");
    if (request->interval > 0 && request->report != REPORT_JOB)
        return fail_usage("--watch goes with --job alone");
    if (request->interval > 0 && request->json)
        return fail_usage("--watch does not go with --json");
    if (request->stack >= 0 && request->report != REPORT_JOB)
        return fail_usage("--stack goes with --job alone");
    if (request->stack >= 0 && (request->json || request->interval > 0))
        return fail_usage("--stack does not go with --json or --watch");
    if (request->env_file && request->report == REPORT_BUILD)
        return fail_usage("--env does not go with --build");
    if (request->json && request->report == REPORT_OPTIONS)
        return fail_usage("--json does not go with --options");
    return 0;
}

/* text NULL: none was given. False after it has said what is wrong. */
static bool parse_interval(const char *text, double *ret_interval)
{
    char *end;
    *ret_interval = text ? strtod(text, &end) : WATCH_SECONDS;
    if (!text || (end != text && !*end && *ret_interval >= WATCH_LEAST &&
                  *ret_interval <= WATCH_MOST))
        return true;
    fprintf(stderr, "jd-info: --watch=%s: it must be %g to %d seconds\n", text,
            WATCH_LEAST, WATCH_MOST);
    return false;
}

/* False after it has said what is wrong. */
static bool parse_process(const char *text, int *ret_process)
{
    long long number;
    bool is_right =
        *text != '-' && jd__parse_integer(text, &number) && number <= INT_MAX;
    *ret_process = is_right ? (int)number : -1;
    if (!is_right)
        fprintf(stderr,
                "jd-info: --stack %s: it must be the number of a process\n",
                text);
    return is_right;
}

/* A flag that names a report has its number; false for one that was refused
 * already. */
static bool take_flag(int flag, struct request *request)
{
    switch (flag) {
    case 'e':
        request->env_file = optarg;
        return true;
    case 'j':
        request->json = true;
        return true;
    case 'm':
        request->markdown = true;
        return true;
    case 'v':
        request->svg = true;
        return true;
    case 'w':
        return parse_interval(optarg, &request->interval);
    case 's':
        return parse_process(optarg, &request->stack);
    case '?':
        return false;
    case REPORT_JOB:
        request->job = optarg;
        request->report = REPORT_JOB;
        return true;
    default:
        request->report = (enum report)flag;
        return true;
    }
}

static int parse_request(int argc, char **argv, struct request *request)
{
    static const struct option flags[] = {
        { "env", required_argument, NULL, 'e' },
        { "json", no_argument, NULL, 'j' },
        { "markdown", no_argument, NULL, 'm' },
        { "svg", no_argument, NULL, 'v' },
        { "watch", optional_argument, NULL, 'w' },
        { "stack", required_argument, NULL, 's' },
        { "options", no_argument, NULL, REPORT_OPTIONS },
        { "topology", no_argument, NULL, REPORT_TOPOLOGY },
        { "job", required_argument, NULL, REPORT_JOB },
        { "build", no_argument, NULL, REPORT_BUILD },
        { "help", no_argument, NULL, REPORT_HELP },
        { "version", no_argument, NULL, REPORT_VERSION },
        { NULL, 0, NULL, 0 },
    };
    *request = (struct request){ .report = REPORT_DETECTION, .stack = -1 };
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;)
        if (!take_flag(flag, request))
            return fail_usage(NULL);
    bool is_about_itself =
        request->report == REPORT_HELP || request->report == REPORT_VERSION;
    return is_about_itself ? 0 : check_request(request, argc - optind);
}

static int report_from(const struct request *request, const struct jd_env *env)
{
    switch (request->report) {
    case REPORT_OPTIONS:
        return jd_info_options(env);
    case REPORT_JOB:
        if (request->stack >= 0)
            return jd_info_stack(env, request->job, request->stack);
        return jd_info_job(env, request->job, request->json, request->interval);
    default:
        return jd_info_detection(env, !request->env_file, request->json);
    }
}

static int report_on_env(const struct request *request)
{
    struct jd_env *env;
    jd_status status = request->env_file
                           ? jd__env_from_file(request->env_file, &env)
                           : jd__env_from_process(&env);
    if (status != JD_OK)
        return jd_info_fail();
    int code = report_from(request, env);
    jd__env_destroy(env);
    return code;
}

static int report(const struct request *request)
{
    switch (request->report) {
    case REPORT_HELP:
        fputs(usage, stdout);
        return 0;
    case REPORT_VERSION:
        printf("jd-info %s\n", jd_version());
        return 0;
    case REPORT_OPTIONS:
        if (request->markdown)
            return jd_info_options_markdown();
        break;
    case REPORT_TOPOLOGY:
        return jd_info_topology(request->json, request->svg);
    case REPORT_BUILD:
        return jd_info_build(request->json);
    case REPORT_DETECTION:
    case REPORT_JOB:
        break;
    }
    return report_on_env(request);
}

int main(int argc, char **argv)
{
    struct request request;
    int code = parse_request(argc, argv, &request);
    if (code == 0)
        code = report(&request);
    int output = close_output("jd-info");
    return code ? code : output;
}
