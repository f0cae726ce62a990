/* SPDX-License-Identifier: BSD-3-Clause */
/* device_choice.c - the default platform, and who has no devices of one. */
#include "base/log.h"
#include "base/ranges.h"
#include "runtime/topology/device_choice.h"
#include "runtime/topology/device_sharing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REASONS 4 /* that a sentence gives */

/* ---- who has none, and why ---------------------------------------------- */

static bool has_device(const struct jd_record *record, const char *platform)
{
    for (int i = 0; i < record->num_devices; i++)
        if (strcmp(record->devices[i].platform, platform) == 0)
            return true;
    return false;
}

int jd__device_choice_count_absent(const struct jd_records *records,
                                   const char *platform)
{
    int count = 0;
    for (int i = 0; i < records->count; i++)
        count += !has_device(records->items[i], platform);
    return count;
}

static const char *why_absent(const struct jd_record *record,
                              const char *platform)
{
    return strcmp(record->absent, platform) == 0 && record->why_absent[0]
               ? record->why_absent
               : "it does not say why";
}

/* Takes those who say the same as the first that is left; how many. */
static int take_alike(const struct jd_records *records, const char *platform,
                      bool *is_done, int *numbers)
{
    const char *why = NULL;
    int count = 0;
    for (int i = 0; i < records->count; i++) {
        const struct jd_record *record = records->items[i];
        if (is_done[i])
            continue;
        const char *own = why_absent(record, platform);
        why = why ? why : own;
        is_done[i] = strcmp(own, why) == 0;
        if (is_done[i])
            numbers[count++] = i;
    }
    return count;
}

static void print_reasons(FILE *out, const struct jd_records *records,
                          const char *platform, bool *is_done, int *numbers)
{
    int count, left = 0;
    for (int i = 0; i < records->count; i++) {
        is_done[i] = has_device(records->items[i], platform);
        left += !is_done[i];
    }
    for (int reason = 0; reason < MOST_REASONS && left; reason++) {
        count = take_alike(records, platform, is_done, numbers);
        left -= count;
        fprintf(out, "%sprocess%s ", reason ? "; " : "", count > 1 ? "es" : "");
        jd__ranges_print(out, numbers, count);
        fprintf(out, ": %s", why_absent(records->items[numbers[0]], platform));
    }
    if (left)
        fprintf(out, "; and %d more for other reasons", left);
}

void jd__device_choice_print_absent(FILE *out, const struct jd_records *records,
                                    const char *platform)
{
    size_t count = (size_t)records->count;
    bool *is_done = calloc(count, sizeof *is_done);
    int *numbers = calloc(count, sizeof *numbers);
    if (records->count == 1 && !has_device(records->items[0], platform))
        fputs(why_absent(records->items[0], platform), out);
    else if (is_done && numbers)
        print_reasons(out, records, platform, is_done, numbers);
    free(is_done);
    free(numbers);
}

/* malloc'ed; NULL where memory has run out. */
static char *describe_absent(const struct jd_records *records,
                             const char *platform)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    jd__device_choice_print_absent(out, records, platform);
    fclose(out);
    return text;
}

void jd__device_choice_say_absent(const struct jd_records *records)
{
    for (int i = 0; jd__device_sources[i]; i++) {
        const char *platform = jd__device_sources[i]->platform;
        if (!jd__log_enabled(JD_LOG_INFO) ||
            !jd__device_choice_count_absent(records, platform))
            continue;
        char *text = describe_absent(records, platform);
        jd__log(JD_LOG_INFO, "no %s devices: %s", platform, text ? text : "");
        free(text);
    }
}

/* ---- the default platform ----------------------------------------------- */

static jd_status fail_disagree(const struct jd_record *a,
                               const struct jd_record *b)
{
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_initialize: JD_PLATFORM is %s in process %d (pid %d on "
                   "%s) and %s in process %d (pid %d on %s); give all "
                   "processes the same",
                   a->wanted_platform, a->process_id, a->facts.pid,
                   a->facts.host, b->wanted_platform, b->process_id,
                   b->facts.pid, b->facts.host);
}

/* What some say is meant for all; ret_wanted is "" where nobody says it. */
static jd_status find_wanted(const struct jd_records *records,
                             const char **ret_wanted)
{
    const struct jd_record *first = NULL;
    for (int i = 0; i < records->count; i++) {
        const struct jd_record *record = records->items[i];
        if (!record->wanted_platform[0])
            continue;
        first = first ? first : record;
        if (strcmp(record->wanted_platform, first->wanted_platform) != 0)
            return fail_disagree(first, record);
    }
    *ret_wanted = first ? first->wanted_platform : "";
    return JD_OK;
}

static jd_status fail_absent(const struct jd_records *records,
                             const char *platform)
{
    char *text = describe_absent(records, platform);
    jd_fail(JD_FAILED_PRECONDITION,
            "jd_initialize: JD_PLATFORM is %s, but %d of %d processes ha%s no "
            "%s device: %s; correct that, or leave JD_PLATFORM out",
            platform, jd__device_choice_count_absent(records, platform),
            records->count,
            jd__device_choice_count_absent(records, platform) == 1 ? "s" : "ve",
            platform, text ? text : "");
    free(text);
    return JD_FAILED_PRECONDITION;
}

/* The failure's sentence is the reason of those who saw devices. */
static jd_status drop(struct jd_records *records, const char *platform)
{
    static const char caller[] = "jd_initialize: ";
    const char *why = jd_error_message();
    if (strncmp(why, caller, strlen(caller)) == 0)
        why += strlen(caller);
    for (int i = 0; i < records->count; i++) {
        struct jd_record *record = records->items[i];
        if (!has_device(record, platform))
            continue;
        snprintf(record->absent, sizeof record->absent, "%s", platform);
        snprintf(record->why_absent, sizeof record->why_absent, "%s", why);
    }
    return jd__device_sharing_drop(records, platform);
}

/* is_default: it is, if all goes well. */
static jd_status share(struct jd_records *records, const char *platform,
                       bool is_default)
{
    jd_status status = jd__device_sharing_decide(records, platform);
    if (status == JD_OK || is_default || status == JD_RESOURCE_EXHAUSTED)
        return status;
    return drop(records, platform);
}

jd_status jd__device_choice_choose(struct jd_records *records,
                                   const char **ret_platform)
{
    const char *wanted = "", *chosen = NULL;
    jd_status status = find_wanted(records, &wanted);
    for (int i = 0; status == JD_OK && jd__device_sources[i]; i++) {
        const char *platform = jd__device_sources[i]->platform;
        bool is_everywhere =
            jd__device_choice_count_absent(records, platform) == 0;
        bool is_wanted = strcmp(platform, wanted) == 0;
        bool is_default = is_wanted || (!wanted[0] && !chosen && is_everywhere);
        status = is_wanted && !is_everywhere
                     ? fail_absent(records, platform)
                     : share(records, platform, is_default);
        if (is_default)
            chosen = platform;
    }
    if (status == JD_OK)
        *ret_platform = chosen;
    return status;
}

/* ---- the platforms' part ------------------------------------------------ */

static void settle(const struct jd_device_source *source,
                   const struct jd_record *own, int *natives)
{
    int count = 0;
    for (int i = 0; i < own->num_devices; i++)
        if (strcmp(own->devices[i].platform, source->platform) == 0)
            natives[count++] = own->devices[i].device.native;
    source->settle(natives, count);
}

jd_status jd__device_choice_settle(const struct jd_record *own)
{
    size_t bytes = ((size_t)own->num_devices + 1) * sizeof(int);
    int *natives = malloc(bytes);
    if (!natives)
        return jd__fail_no_memory("jd_initialize", bytes);
    for (int i = 0; jd__device_sources[i]; i++)
        if (jd__device_sources[i]->settle)
            settle(jd__device_sources[i], own, natives);
    free(natives);
    return JD_OK;
}
