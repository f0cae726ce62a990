/* SPDX-License-Identifier: BSD-3-Clause */
/* report_job.c - jd-info --job ADDRESS: what each process of a running job is
 * doing, as its coordination service knows it. */
#include "base/clock.h"
#include "runtime/coordination/client/observe.h"
#include "tools/jd-info/jd_info.h"
#include "tools/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_SECONDS 5 /* for a service that is there */
#define HEADS 3          /* lines of a terminal that are no process's */

static const char *state_name(const Jd__Row *row)
{
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(
        &jd__row__state__descriptor, (int)row->state);
    return value ? value->name : "UNKNOWN";
}

static double seconds(uint64_t milliseconds)
{
    return (double)milliseconds / 1000;
}

/* ---- as a table --------------------------------------------------------- */

static void print_state_of(const Jd__Row *row)
{
    const Jd__Progress *p = row->progress;
    if (row->failure[0])
        printf("%s", row->failure);
    else if (row->waits[0])
        printf("%s", row->waits);
    else if (!p || !p->number)
        printf("nothing of jd yet");
    else
        printf("%s %s, its operation %llu, %s%.3g s%s",
               p->inside ? "in" : "last in", p->operation,
               (unsigned long long)p->number, p->inside ? "for " : "",
               seconds(p->since_ms), p->inside ? "" : " ago");
}

static void print_doing(const Jd__Row *row)
{
    print_state_of(row);
    if (!row->failure[0] && row->progress && row->progress->call[0])
        printf(": %s", row->progress->call);
    if (row->caused_in[0])
        printf("; %u wait%s for it in %s", (unsigned)row->caused_to,
               row->caused_to == 1 ? "s" : "", row->caused_in);
}

/* How long others waited for it alone in the last minute. */
static void print_caused(const Jd__Row *row)
{
    if (row->caused_ms)
        printf("%6.1f s  ", seconds(row->caused_ms));
    else
        printf("%6s    ", "-");
}

static void print_row(const Jd__Row *row)
{
    printf("%-8u %-10s ", (unsigned)row->process, state_name(row));
    if (row->pid) {
        printf("%-16s %-9u %-16s %7.1f s  ", row->host, (unsigned)row->pid,
               row->program, seconds(row->heard_ms));
        print_caused(row);
        print_doing(row);
    }
    putchar('\n');
}

static void print_rows(Jd__Row *const *rows, size_t count)
{
    printf("%-8s %-10s %-16s %-9s %-16s %-10s %-9s %s\n", "process", "state",
           "host", "pid", "program", "heard", "caused", "doing");
    for (size_t i = 0; i < count; i++)
        print_row(rows[i]);
}

/* ---- as JSON ------------------------------------------------------------ */

static void print_text(const char *name, const char *text)
{
    printf(", \"%s\": ", name);
    json_write_string(stdout, text);
}

static void print_json_row(const Jd__Row *row)
{
    const Jd__Progress *p = row->progress;
    printf("    { \"process\": %u", (unsigned)row->process);
    print_text("state", state_name(row));
    print_text("host", row->host);
    printf(", \"pid\": %u", (unsigned)row->pid);
    print_text("program", row->program);
    printf(", \"heard_seconds_ago\": %.3f", seconds(row->heard_ms));
    print_text("operation", p ? p->operation : "");
    printf(", \"operation_number\": %llu, \"is_inside\": %s, "
           "\"since_seconds\": %.3f",
           p ? (unsigned long long)p->number : 0,
           p && p->inside ? "true" : "false", p ? seconds(p->since_ms) : 0);
    print_text("call", p ? p->call : "");
    print_text("waits", row->waits);
    printf(", \"caused_seconds\": %.3f, \"caused_to\": %u",
           seconds(row->caused_ms), (unsigned)row->caused_to);
    print_text("caused_in", row->caused_in);
    printf(", \"waited_seconds\": %.3f", seconds(row->waited_ms));
    print_text("failure", row->failure);
    printf(" }");
}

static void print_json(const Jd__Reply *reply)
{
    printf("{\n  \"processes\": [\n");
    for (size_t i = 0; i < reply->n_rows; i++) {
        print_json_row(reply->rows[i]);
        printf(i + 1 < reply->n_rows ? ",\n" : "\n");
    }
    printf("  ]\n}\n");
}

/* ---- again and again ---------------------------------------------------- */

/* Of the terminal; all where there is none. */
static size_t rows_that_fit(size_t count)
{
    struct winsize size = { .ws_row = 0 };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
        size.ws_row <= HEADS + 1)
        return count;
    size_t room = (size_t)size.ws_row - HEADS - 1;
    return count < room ? count : room;
}

/* Those that failed, then those that others wait for, the longest first. */
static int compare_rows(const void *a, const void *b)
{
    const Jd__Row *left = *(Jd__Row *const *)a, *right = *(Jd__Row *const *)b;
    bool fails = left->failure[0], other = right->failure[0];
    if (fails != other)
        return fails ? -1 : 1;
    if (left->caused_ms != right->caused_ms)
        return left->caused_ms > right->caused_ms ? -1 : 1;
    return (left->process > right->process) - (left->process < right->process);
}

static void print_head(const char *address, size_t count, double interval)
{
    char now[32] = "";
    time_t at = time(NULL);
    struct tm local;
    if (localtime_r(&at, &local))
        strftime(now, sizeof now, "%H:%M:%S", &local);
    printf("%s  job at %s, %zu process%s, every %g s\n", now, address, count,
           count == 1 ? "" : "es", interval);
}

/* On a terminal the new table stands where the old one did, whose most
 * interesting rows fit. */
static void show(const char *address, Jd__Reply *reply, double interval)
{
    bool is_terminal = isatty(STDOUT_FILENO);
    size_t fit = rows_that_fit(reply->n_rows);
    if (is_terminal)
        fputs("\033[H\033[2J", stdout);
    if (fit < reply->n_rows)
        qsort(reply->rows, reply->n_rows, sizeof(Jd__Row *), compare_rows);
    print_head(address, reply->n_rows, interval);
    print_rows(reply->rows, fit);
    if (fit < reply->n_rows)
        printf("and %zu more, that caused less; --json has all\n",
               reply->n_rows - fit);
    if (!is_terminal)
        putchar('\n');
    fflush(stdout);
}

/* With process 0 the job is over, however it ended: that is seen of it. */
static jd_status end_watch(const char *address, jd_status status)
{
    if (status != JD_UNAVAILABLE)
        return status;
    printf("the job at %s is over: process 0, which serves it, has gone\n",
           address);
    return JD_OK;
}

/* Until the job has ended, or nobody reads any more. */
static jd_status watch(struct jd_observer *observer, const char *address,
                       double interval)
{
    const struct timespec pause = jd__clock_timespec(interval);
    while (!ferror(stdout)) {
        Jd__Message *answer;
        jd_status status = jd__observe_ask(observer, ANSWER_SECONDS, &answer);
        if (status != JD_OK)
            return end_watch(address, status);
        show(address, answer->reply, interval);
        jd__message__free_unpacked(answer, NULL);
        nanosleep(&pause, NULL);
    }
    return JD_OK;
}

/* ---- the report --------------------------------------------------------- */

static jd_status print_once(struct jd_observer *observer, bool json)
{
    Jd__Message *answer;
    jd_status status = jd__observe_ask(observer, ANSWER_SECONDS, &answer);
    if (status != JD_OK)
        return status;
    if (json)
        print_json(answer->reply);
    else
        print_rows(answer->reply->rows, answer->reply->n_rows);
    jd__message__free_unpacked(answer, NULL);
    return JD_OK;
}

jd_status jd_info_open_job(const struct jd_env *env, const char *address,
                           struct jd_observer **ret_observer)
{
    struct jd_settings *settings;
    jd_status status = jd__options_resolve(env, NULL, 0, &settings);
    if (status != JD_OK)
        return status;
    status =
        jd__observe_open(env, settings, address, ANSWER_SECONDS, ret_observer);
    jd__options_destroy(settings);
    return status;
}

int jd_info_job(const struct jd_env *env, const char *address, bool json,
                double interval)
{
    struct jd_observer *observer = NULL;
    jd_status status = jd_info_open_job(env, address, &observer);
    if (status == JD_OK)
        status = interval > 0 ? watch(observer, address, interval)
                              : print_once(observer, json);
    jd__observe_close(observer);
    return status == JD_OK ? 0 : jd_info_fail();
}
