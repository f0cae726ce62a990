/* SPDX-License-Identifier: BSD-3-Clause */
/* report_options.c - the options table: with the values in force, or as
 * Markdown for doc/options.md. */
#include "autodetect/cluster.h"
#include "tools/jd-info/jd_info.h"

#include <stdio.h>
#include <string.h>

/* ---- values in force ---------------------------------------------------- */

static jd_status set_detected_text(struct jd_settings *settings,
                                   const struct jd_cluster *cluster,
                                   enum jd_option option, const char *text,
                                   const char *source)
{
    char origin[JD_CLUSTER_SOURCE_SIZE + 32];
    snprintf(origin, sizeof origin, "%s (%s)", source, cluster->method);
    return jd__options_set_detected(settings, option, text, origin);
}

static jd_status set_detected_number(struct jd_settings *settings,
                                     const struct jd_cluster *cluster,
                                     enum jd_option option,
                                     const struct jd_cluster_number *number)
{
    char text[32];
    if (!number->known)
        return JD_OK;
    snprintf(text, sizeof text, "%lld", number->value);
    return set_detected_text(settings, cluster, option, text, number->source);
}

static jd_status set_detected(struct jd_settings *settings,
                              const struct jd_cluster *cluster)
{
    const struct jd_cluster_text *address = &cluster->coordinator_address;
    const struct {
        enum jd_option option;
        const struct jd_cluster_number *number;
    } rows[] = {
        { JD_OPTION_NUM_PROCESSES, &cluster->num_processes },
        { JD_OPTION_PROCESS_ID, &cluster->process_id },
        { JD_OPTION_NUM_SLICES, &cluster->num_slices },
        { JD_OPTION_SLICE_INDEX, &cluster->slice_index },
    };
    jd_status status = JD_OK;
    for (size_t i = 0; status == JD_OK && i < sizeof rows / sizeof *rows; i++)
        status = set_detected_number(settings, cluster, rows[i].option,
                                     rows[i].number);
    if (status == JD_OK && address->value)
        status =
            set_detected_text(settings, cluster, JD_OPTION_COORDINATOR_ADDRESS,
                              address->value, address->source);
    return status;
}

static void print_values(const struct jd_settings *settings)
{
    printf("%-28s %-28s %-10s %s\n", "variable", "value", "unit", "from");
    for (int i = 0; i < JD_OPTION_COUNT; i++) {
        const struct jd_option_row *row = jd__option_table_row(i);
        const struct jd_setting *setting = jd__options_find(settings, i);
        const char *shown = jd__options_shown(settings, i);
        printf("%-28s %-28s %-10s %s\n", row->variable, shown ? shown : "-",
               row->unit, setting->origin ? setting->origin : "nobody said");
    }
}

int jd_info_options(const struct jd_env *env)
{
    struct jd_settings *settings = NULL;
    struct jd_cluster *cluster = NULL;
    jd_status status = jd__options_resolve(env, NULL, 0, &settings);
    if (status == JD_OK)
        status = jd__cluster_detect(env, settings, &cluster);
    if (status == JD_OK)
        status = set_detected(settings, cluster);
    if (status == JD_OK)
        print_values(settings);
    jd_info_warn_unknown(env);
    int code = status == JD_OK ? 0 : jd_info_fail();
    jd__cluster_destroy(cluster);
    jd__options_destroy(settings);
    return code;
}

/* ---- the manual's table ----------------------------------------------------- */

/* A '|' would end the table's cell. */
static void print_list(const char *choices)
{
    for (; *choices; choices++)
        fputs(*choices == '|' ? ", " : (char[]){ *choices, '\0' }, stdout);
}

static void print_code(const char *text, const char *if_none)
{
    if (text && text[0])
        printf("| `%s` ", text);
    else
        printf("|%s%s ", if_none[0] ? " " : "", if_none);
}

/* What an option is where nobody says it. */
static const char *default_of(enum jd_option option)
{
    switch (option) {
    case JD_OPTION_COORDINATOR_ADDRESS:
    case JD_OPTION_NUM_PROCESSES:
    case JD_OPTION_PROCESS_ID:
    case JD_OPTION_NUM_SLICES:
    case JD_OPTION_SLICE_INDEX:
        return "detected";
    default:
        return "";
    }
}

static void print_markdown_row(enum jd_option option)
{
    const struct jd_option_row *row = jd__option_table_row(option);
    print_code(row->field, "");
    print_code(row->variable, "");
    print_code(row->jax_variable, "");
    print_code(row->initial, default_of(option));
    printf("| %s | %s", row->unit, row->doc);
    if (row->choices) {
        fputs("; one of ", stdout);
        print_list(row->choices);
    }
    if (row->can_be_off)
        fputs("; negative: no limit", stdout);
    puts(" |");
}

int jd_info_options_markdown(void)
{
    puts("| option | variable | fallback | default | unit | meaning |");
    puts("|---|---|---|---|---|---|");
    for (int i = 0; i < JD_OPTION_COUNT; i++)
        print_markdown_row(i);
    return 0;
}
