/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_run.c - jd-run: starts the processes of a job on this host. Here are
 * the flags. */
#include "base/parse.h"
#include "jd_process.h"
#include "tools/jd-run/jd_run.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COUNT_MAX = 4096 };

#define GRACE_DEFAULT 0.5 /* jd's own survivors take less */
#define SECONDS_MAX 1e9

static const char usage[] =
    "Usage: jd-run [-n N] [--tag] [--timeout SECONDS] [--grace SECONDS]\n"
    "              [--] PROGRAM [ARGUMENT...]\n"
    "       jd-run --help | --version\n"
    "\n"
    "Starts N processes of the program on this host, which jd_initialize()\n"
    "makes one job of.\n"
    "\n"
    "  -n N               how many, 1 to 4096; the number of allowed cores if\n"
    "                     not given\n"
    "  --tag              put the process's index before each line: [3]\n"
    "  --timeout SECONDS  end the job when it has run so long, with exit\n"
    "                     status 124\n"
    "  --grace SECONDS    how long the others may take to end by themselves\n"
    "                     after the first failure; 0.5 if not given\n"
    "  --help             print this text\n"
    "  --version          print the version\n";

static int fail_usage(const char *flag, const char *value, const char *wanted)
{
    if (flag)
        fprintf(stderr, "jd-run: %s is \"%s\", but it must be %s\n", flag,
                value, wanted);
    fputs(usage, stderr);
    return RUN_EXIT_USAGE;
}

static int count_allowed_cores(void)
{
    enum { SETS = 16 };
    cpu_set_t sets[SETS];
    memset(sets, 0, sizeof sets);
    if (sched_getaffinity(0, sizeof sets, sets) != 0)
        return 1;
    int count = CPU_COUNT_S(sizeof sets, sets);
    return count < 1 ? 1 : count > COUNT_MAX ? COUNT_MAX : count;
}

static int take_count(const char *text, struct run_request *request)
{
    long long count;
    if (!jd__parse_integer(text, &count) || count < 1 || count > COUNT_MAX)
        return fail_usage("-n", text, "from 1 to 4096 processes");
    request->count = (int)count;
    return 0;
}

static int take_seconds(const char *flag, const char *text, double least,
                        double *ret_seconds)
{
    double seconds;
    if (!jd__parse_seconds(text, &seconds) || seconds < least ||
        seconds > SECONDS_MAX)
        return fail_usage(flag, text,
                          least > 0 ? "a duration above 0: 90, 500ms, 5m"
                                    : "a duration: 30, 500ms, 5m");
    *ret_seconds = seconds;
    return 0;
}

static int print_version(void)
{
    printf("jd-run %s\n", jd_version());
    return 0;
}

static int print_usage(void)
{
    fputs(usage, stdout);
    return 0;
}

static int run_rest(struct run_request *request, char **argv)
{
    if (!*argv) {
        fputs("jd-run: there is no program to start\n", stderr);
        return fail_usage(NULL, NULL, NULL);
    }
    request->argv = argv;
    return run_loop(request);
}

static int run(int argc, char **argv)
{
    static const struct option flags[] = {
        { "tag", no_argument, NULL, 't' },
        { "timeout", required_argument, NULL, 's' },
        { "grace", required_argument, NULL, 'g' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'v' },
        { NULL, 0, NULL, 0 },
    };
    struct run_request request = { .count = count_allowed_cores(),
                                   .grace = GRACE_DEFAULT };
    int code = 0;
    for (int flag;
         !code && (flag = getopt_long(argc, argv, "+n:", flags, NULL)) != -1;) {
        if (flag == 'n')
            code = take_count(optarg, &request);
        else if (flag == 't')
            request.tag = true;
        else if (flag == 's')
            code = take_seconds("--timeout", optarg, 1e-3, &request.timeout);
        else if (flag == 'g')
            code = take_seconds("--grace", optarg, 0, &request.grace);
        else if (flag == 'h')
            return print_usage();
        else if (flag == 'v')
            return print_version();
        else
            code = fail_usage(NULL, NULL, NULL);
    }
    return code ? code : run_rest(&request, argv + optind);
}

/* So that no pipe becomes a standard stream of a process. */
static void open_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    open_standard_streams();
    int code = run(argc, argv);
    if (fflush(stdout) != 0 && !code) {
        fprintf(stderr, "jd-run: standard output cannot be written: %s\n",
                strerror(errno));
        code = RUN_EXIT_FAILURE;
    }
    return code;
}
