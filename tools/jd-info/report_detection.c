/* SPDX-License-Identifier: BSD-3-Clause */
/* report_detection.c - jd-info's first report: what the launcher's variables
 * and the JD_* ones say, as a table or as JSON. */
#include "autodetect/cluster.h"
#include "runtime/mpi/library.h"
#include "runtime/mpi/world.h"
#include "runtime/process/world_way.h"
#include "tools/jd-info/jd_info.h"
#include "tools/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- finding out -------------------------------------------------------- */

struct findings {
    struct jd_settings *settings;
    struct jd_cluster *cluster; /* NULL where the settings are bad already */
    jd_status status;
    char *refusal; /* what jd_initialize() would say; NULL: it would start */
};

/* What keeps jd_initialize() from starting, as far as variables tell. */
static jd_status ask_variables(const struct jd_env *env,
                               const struct jd_cluster *cluster)
{
    const struct jd_cluster_number *count = &cluster->num_processes;
    enum jd_served_by by = jd__mpi_library_flavour()->by;
    jd_status status = jd__cluster_require(env, cluster);
    if (status == JD_OK && count->known && count->value > 1 &&
        !jd__cluster_is_served(env, by))
        status = jd__cluster_require_address(cluster, by);
    return status;
}

/* Of its own process jd-info asks what jd_initialize() does: whether the PMIx
 * server lives, whether jd-pmix-server is there. */
static jd_status ask_all(const struct jd_env *env,
                         const struct findings *findings)
{
    enum jd_world_way way;
    jd_status status = jd__cluster_require(env, findings->cluster);
    return status == JD_OK
               ? jd__world_way_decide(env, findings->settings,
                                      findings->cluster, MPI_COMM_NULL, &way)
               : status;
}

static void find_out(const struct jd_env *env, bool is_live,
                     struct findings *findings)
{
    *findings = (struct findings){ .settings = NULL };
    findings->status = jd__options_resolve(env, NULL, 0, &findings->settings);
    if (findings->status == JD_OK)
        findings->status =
            jd__cluster_detect(env, findings->settings, &findings->cluster);
    if (findings->status != JD_OK)
        return;
    jd_status start = is_live ? ask_all(env, findings)
                              : ask_variables(env, findings->cluster);
    if (start != JD_OK)
        findings->refusal = strdup(jd_error_message());
}

static void finish(struct findings *findings)
{
    jd__cluster_destroy(findings->cluster);
    jd__options_destroy(findings->settings);
    free(findings->refusal);
}

/* ---- as JSON ------------------------------------------------------------ */

static void write_number(const char *key, const struct jd_cluster_number *n)
{
    if (n && n->known)
        printf("  \"%s\": %lld,\n", key, n->value);
    else
        printf("  \"%s\": null,\n", key);
}

static void write_text(const char *key, const char *text)
{
    printf("  \"%s\": ", key);
    json_write_string(stdout, text);
    puts(",");
}

static void write_device_ids(const struct jd_cluster *cluster)
{
    fputs("  \"local_device_ids\": ", stdout);
    if (!cluster || !cluster->local_device_ids) {
        puts("null,");
        return;
    }
    for (size_t i = 0; i < cluster->num_local_device_ids; i++)
        printf("%s%d", i ? ", " : "[", cluster->local_device_ids[i]);
    puts("],");
}

/* Only where the address itself is not known. */
static void write_candidates(const struct jd_cluster *cluster)
{
    size_t count = cluster->num_coordinator_candidates;
    if (!count || cluster->coordinator_address.value)
        return;
    fputs("  \"coordinator_candidates\": [", stdout);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", stdout);
        json_write_string(stdout, cluster->coordinator_candidates[i]);
    }
    puts("],");
}

static void write_trace(const struct jd_cluster *cluster)
{
    size_t count = cluster ? cluster->trace_length : 0;
    fputs("  \"detectors\": [", stdout);
    for (size_t i = 0; i < count; i++) {
        const struct jd_cluster_trace *trace = &cluster->trace[i];
        printf("%s\n    {\"name\": ", i ? "," : "");
        json_write_string(stdout, trace->detector);
        printf(", \"taken\": %s, \"reason\": ",
               trace->taken ? "true" : "false");
        json_write_string(stdout, trace->reason);
        fputs("}", stdout);
    }
    puts(count ? "\n  ]" : "]");
}

/* On an error no value is in force, so none is printed. */
static void write_json(const struct findings *findings)
{
    const struct jd_cluster *cluster = findings->cluster;
    const struct jd_cluster *good =
        findings->status == JD_OK ? findings->cluster : NULL;
    puts("{");
    write_text("method", cluster ? cluster->method : NULL);
    write_text("coordinator_address",
               good ? good->coordinator_address.value : NULL);
    if (good)
        write_candidates(good);
    write_number("num_processes", good ? &good->num_processes : NULL);
    write_number("process_id", good ? &good->process_id : NULL);
    write_number("local_process_id", good ? &good->local_process_id : NULL);
    write_device_ids(good);
    if (!good)
        write_text("error", jd_error_message());
    if (findings->refusal)
        write_text("refusal", findings->refusal);
    write_trace(cluster);
    puts("}");
}

/* ---- as a table --------------------------------------------------------- */

static void print_row(const char *name, const char *value, const char *source)
{
    if (source && source[0])
        printf("%-20s %-28s %s\n", name, value ? value : "not told", source);
    else
        printf("%-20s %s\n", name, value ? value : "not told");
}

static void print_number(const char *name, const struct jd_cluster_number *n)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", n->value);
    print_row(name, n->known ? text : NULL, n->source);
}

static void print_values(const struct findings *findings)
{
    const struct jd_cluster *cluster = findings->cluster;
    const struct jd_setting *ids =
        jd__options_find(findings->settings, JD_OPTION_LOCAL_DEVICE_IDS);
    print_row("coordinator_address", cluster->coordinator_address.value,
              cluster->coordinator_address.source);
    print_number("num_processes", &cluster->num_processes);
    print_number("process_id", &cluster->process_id);
    print_number("local_process_id", &cluster->local_process_id);
    print_number("local_num_processes", &cluster->local_num_processes);
    print_number("num_slices", &cluster->num_slices);
    print_number("slice_index", &cluster->slice_index);
    print_row("local_device_ids", ids->text, ids->origin);
}

static void print_trace(const struct jd_cluster *cluster)
{
    puts("\nlauncher    taken  why");
    for (size_t i = 0; i < cluster->trace_length; i++) {
        const struct jd_cluster_trace *trace = &cluster->trace[i];
        printf("%-11s %-6s %s\n", trace->detector, trace->taken ? "yes" : "no",
               trace->reason);
    }
}

static void print_table(const struct findings *findings,
                        const struct jd_env *live_env)
{
    const struct jd_cluster *cluster = findings->cluster;
    if (!cluster)
        return;
    print_row("item", "value", "from");
    print_row("method", cluster->method, "");
    if (findings->status == JD_OK)
        print_values(findings);
    if (cluster->trace_length)
        print_trace(cluster);
    if (findings->status == JD_OK && live_env)
        jd_info_print_tuning(live_env, findings->settings, cluster);
    if (findings->refusal)
        printf("\njd_initialize() would be refused:\n%s\n", findings->refusal);
}

int jd_info_detection(const struct jd_env *env, bool is_live, bool json)
{
    struct findings findings;
    find_out(env, is_live, &findings);
    if (json)
        write_json(&findings);
    else
        print_table(&findings, is_live ? env : NULL);
    jd_info_warn_unknown(env);
    int code =
        findings.status == JD_OK ? findings.refusal != NULL : jd_info_fail();
    if (json && findings.refusal)
        fprintf(stderr, "jd-info: %s\n", findings.refusal);
    finish(&findings);
    return code;
}
