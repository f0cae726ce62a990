/* SPDX-License-Identifier: BSD-3-Clause */
/* device_choice.c - the default platform, and who has no devices of one. */
#include "runtime/topology/device_choice.h"
#include "runtime/topology/absent.h"
#include "runtime/topology/device_sharing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- who has none, and why ---------------------------------------------- */

static bool has_device(const struct jd_record *record, const char *platform)
{
    for (int i = 0; i < record->num_devices; i++)
        if (strcmp(record->devices[i].platform, platform) == 0)
            return true;
    return false;
}

static const char *why_absent(const void *of, int process, const char *platform)
{
    const struct jd_records *records = of;
    const struct jd_record *record = records->items[process];
    if (has_device(record, platform))
        return NULL;
    return strcmp(record->absent, platform) == 0 ? record->why_absent : "";
}

static struct jd_absent absent_of(const struct jd_records *records)
{
    return (struct jd_absent){ records->count, why_absent, records };
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
    struct jd_absent absent = absent_of(records);
    int count = jd__absent_count(&absent, platform);
    char *text = jd__absent_describe(&absent, platform);
    jd_fail(JD_FAILED_PRECONDITION,
            "jd_initialize: JD_PLATFORM is %s, but %d of %d processes ha%s no "
            "%s device: %s; correct that, or leave JD_PLATFORM out",
            platform, count, records->count, count == 1 ? "s" : "ve", platform,
            text ? text : "");
    free(text);
    return JD_FAILED_PRECONDITION;
}

/* The failure's sentence is the reason of those who saw devices. */
static jd_status drop_platform(struct jd_records *records, const char *platform)
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

/* is_default: it is, if all goes well; whether it is then comes back. What is
 * not asked for by its name, and is there for some processes of a host alone,
 * ends no job. */
static jd_status share_platform(struct jd_records *records,
                                const char *platform, bool is_wanted,
                                bool *is_default)
{
    bool is_short = false;
    jd_status status = jd__device_sharing_decide(records, platform, &is_short);
    bool is_needed = *is_default && (is_wanted || !is_short);
    if (status == JD_OK || is_needed || status == JD_RESOURCE_EXHAUSTED)
        return status;
    *is_default = false;
    return drop_platform(records, platform);
}

jd_status jd__device_choice_choose(struct jd_records *records,
                                   const char **ret_platform)
{
    const char *wanted = "", *chosen = NULL;
    struct jd_absent absent = absent_of(records);
    jd_status status = find_wanted(records, &wanted);
    for (int i = 0; status == JD_OK && jd__device_sources[i]; i++) {
        const char *platform = jd__device_sources[i]->platform;
        bool is_everywhere = jd__absent_count(&absent, platform) == 0;
        bool is_wanted = strcmp(platform, wanted) == 0;
        bool is_default = is_wanted || (!wanted[0] && !chosen && is_everywhere);
        status =
            is_wanted && !is_everywhere
                ? fail_absent(records, platform)
                : share_platform(records, platform, is_wanted, &is_default);
        if (is_default)
            chosen = platform;
    }
    if (status == JD_OK)
        *ret_platform = chosen;
    return status;
}
