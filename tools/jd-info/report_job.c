/* SPDX-License-Identifier: BSD-3-Clause */
/* report_job.c - jd-info --job ADDRESS: what each process of a running job is
 * doing, as its coordination service knows it. */
#include "runtime/coordination/client/observe.h"
#include "tools/jd-info/jd_info.h"
#include "tools/json.h"

#include <stdio.h>

#define ANSWER_SECONDS 5 /* for a service that is there */

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
}

static void print_table(const Jd__Reply *reply)
{
    printf("%-8s %-10s %-16s %-9s %-16s %-10s %s\n", "process", "state", "host",
           "pid", "program", "heard", "doing");
    for (size_t i = 0; i < reply->n_rows; i++) {
        const Jd__Row *row = reply->rows[i];
        printf("%-8u %-10s ", (unsigned)row->process, state_name(row));
        if (row->pid) {
            printf("%-16s %-9u %-16s %7.1f s  ", row->host, (unsigned)row->pid,
                   row->program, seconds(row->heard_ms));
            print_doing(row);
        }
        putchar('\n');
    }
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

/* ---- the report --------------------------------------------------------- */

int jd_info_job(const struct jd_env *env, const char *address, bool json)
{
    struct jd_settings *settings;
    Jd__Message *answer;
    if (jd__options_resolve(env, NULL, 0, &settings) != JD_OK)
        return jd_info_fail();
    jd_status status =
        jd__observe(env, settings, address, ANSWER_SECONDS, &answer);
    jd__options_destroy(settings);
    if (status != JD_OK)
        return jd_info_fail();
    if (json)
        print_json(answer->reply);
    else
        print_table(answer->reply);
    jd__message__free_unpacked(answer, NULL);
    return 0;
}
