/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_trace.c - jd-trace: what the processes of a job called, out of the files
 * that they left or while it runs; what is wrong comes first. Here are the
 * flags. */
#include "base/parse.h"
#include "jd_process.h"
#include "tools/close_output.h"
#include "tools/jd-trace/jd_trace.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, DEFAULT_TOP = 5, MAX_TOP = 1000000 };

static const char usage[] =
    "Usage: jd-trace [--job-id ID] [--top N] [--json]\n"
    "                [--perfetto FILE] [--svg FILE] FILE|DIR...\n"
    "       jd-trace --job HOST:PORT [--top N] [--json]\n"
    "                [--perfetto FILE] [--svg FILE]\n"
    "       jd-trace --help | --version\n"
    "\n"
    "Reads the files that the processes of a job have left in JD_TRACE_DIR "
    "and\n"
    "prints which process a failure began with, where the calls of the\n"
    "processes part ways, and who waited for whom.\n"
    "\n"
    "  --job HOST:PORT   of a job that runs, asked of its coordination "
    "service\n"
    "                    (JD_LOG=info says where that is; JD_SECRET_FILE, the\n"
    "                    same as the job's, lets you in)\n"
    "  --job-id ID       of several jobs in a folder this one; the newest if\n"
    "                    not given\n"
    "  --top N           rows of each table, 5 if not given\n"
    "  --json            print JSON\n"
    "  --perfetto FILE   write a timeline for https://ui.perfetto.dev\n"
    "  --svg FILE        write a timeline as a picture\n"
    "  --help            print this text\n"
    "  --version         print the version\n";

struct trace_request {
    const char *job, *job_id, *perfetto, *svg;
    int top;
    bool json, wants_help, wants_version;
};

static int fail_usage(const char *why)
{
    if (why)
        fprintf(stderr, "jd-trace: %s\n", why);
    fputs(usage, stderr);
    return EXIT_USAGE;
}

static int take_top(struct trace_request *request)
{
    long long top;
    if (jd__parse_integer(optarg, &top) && top >= 1 && top <= MAX_TOP) {
        request->top = (int)top;
        return 0;
    }
    fprintf(stderr, "jd-trace: --top is \"%s\", but it must be from 1 to %d\n",
            optarg, MAX_TOP);
    return EXIT_USAGE;
}

static int take_flag(int flag, struct trace_request *request)
{
    switch (flag) {
    case 'a':
        request->job = optarg;
        return 0;
    case 'i':
        request->job_id = optarg;
        return 0;
    case 't':
        return take_top(request);
    case 'j':
        request->json = true;
        return 0;
    case 'p':
        request->perfetto = optarg;
        return 0;
    case 's':
        request->svg = optarg;
        return 0;
    case 'h':
        request->wants_help = true;
        return 0;
    case 'v':
        request->wants_version = true;
        return 0;
    default:
        return fail_usage(NULL);
    }
}

static int check_request(const struct trace_request *request, int num_operands)
{
    if (request->job && num_operands)
        return fail_usage("--job goes without files and folders");
    if (request->job && request->job_id)
        return fail_usage("--job-id does not go with --job: one job is there");
    if (!request->job && !num_operands)
        return fail_usage("no file or folder is named");
    return 0;
}

static int parse_request(int argc, char **argv, struct trace_request *request)
{
    static const struct option flags[] = {
        { "job", required_argument, NULL, 'a' },
        { "job-id", required_argument, NULL, 'i' },
        { "top", required_argument, NULL, 't' },
        { "json", no_argument, NULL, 'j' },
        { "perfetto", required_argument, NULL, 'p' },
        { "svg", required_argument, NULL, 's' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'v' },
        { NULL, 0, NULL, 0 },
    };
    *request = (struct trace_request){ .top = DEFAULT_TOP };
    int code = 0;
    for (int flag;
         code == 0 && (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;)
        code = take_flag(flag, request);
    if (code || request->wants_help || request->wants_version)
        return code;
    return check_request(request, argc - optind);
}

/* ---- reports ------------------------------------------------------------ */

static void find_ends(struct analysis *analysis)
{
    for (int i = 0; i < analysis->job.count; i++) {
        const struct traced_process *process = &analysis->job.processes[i];
        char *end = wording_of_end(process);
        if (!end || end[0])
            groups_add(&analysis->ends, process->index, end);
        free(end);
    }
    groups_end(&analysis->ends);
}

static bool analyse(struct analysis *analysis)
{
    bool is_whole = alignment_make(&analysis->job, &analysis->alignment) &&
                    partings_find(&analysis->job, &analysis->partings) &&
                    figures_make(&analysis->job, &analysis->figures) &&
                    own_figures_make(&analysis->job, &analysis->own);
    if (is_whole) {
        culprit_find(&analysis->job, &analysis->partings, &analysis->culprits);
        find_ends(analysis);
    }
    if (is_whole && !analysis->culprits.is_cut && !analysis->ends.is_cut)
        return true;
    fputs("jd-trace: there is no memory to compare these files; name fewer\n",
          stderr);
    return false;
}

static int close_file(FILE *file, const char *path)
{
    bool is_written = fflush(file) == 0 && !ferror(file);
    int error = errno;
    if (fclose(file) == 0 && is_written)
        return 0;
    fprintf(stderr, "jd-trace: %s cannot be written: %s\n", path,
            strerror(is_written ? errno : error));
    return 1;
}

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file)
        fprintf(stderr,
                "jd-trace: %s cannot be written: %s; name another file\n", path,
                strerror(errno));
    return file;
}

static int write_picture(const struct analysis *analysis, const char *path,
                         bool (*write)(const struct analysis *, FILE *))
{
    if (!path)
        return 0;
    FILE *file = open_file(path);
    if (!file)
        return 1;
    bool is_whole = write(analysis, file);
    int code = close_file(file, path);
    if (!is_whole)
        fprintf(stderr,
                "jd-trace: %s is not whole: there is no memory; name fewer "
                "files\n",
                path);
    return is_whole ? code : 1;
}

static int report(const struct analysis *analysis,
                  const struct trace_request *request)
{
    if (request->json)
        jd_trace_print_json(analysis);
    else
        jd_trace_print_text(analysis);
    int code =
        write_picture(analysis, request->perfetto, jd_trace_write_perfetto);
    return write_picture(analysis, request->svg, jd_trace_write_svg) || code;
}

static int trace(const struct trace_request *request, char *const *paths,
                 int count)
{
    struct analysis analysis = { .top = request->top };
    bool is_read = request->job ? traced_job_ask(&analysis.job, request->job)
                                : traced_job_read(&analysis.job, paths, count,
                                                  request->job_id);
    bool is_whole = is_read && analyse(&analysis);
    int code = is_whole ? report(&analysis, request) : 1;
    partings_finish(&analysis.partings);
    groups_finish(&analysis.culprits);
    groups_finish(&analysis.ends);
    figures_finish(&analysis.figures);
    own_figures_finish(&analysis.own);
    alignment_finish(&analysis.alignment);
    traced_job_finish(&analysis.job);
    return code;
}

static int answer(const struct trace_request *request, char *const *paths,
                  int count)
{
    if (request->wants_help)
        fputs(usage, stdout);
    else if (request->wants_version)
        printf("jd-trace %s\n", jd_version());
    else
        return trace(request, paths, count);
    return 0;
}

int main(int argc, char **argv)
{
    struct trace_request request;
    int code = parse_request(argc, argv, &request);
    if (code == 0)
        code = answer(&request, argv + optind, argc - optind);
    int output = close_output("jd-trace");
    return code ? code : output;
}
