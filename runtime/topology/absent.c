/* SPDX-License-Identifier: BSD-3-Clause */
/* absent.c - who has no device of a platform, and why. */
#include "runtime/topology/absent.h"
#include "base/log.h"
#include "base/ranges.h"
#include "base/text.h"
#include "runtime/topology/device_source.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REASONS 4 /* that a sentence gives */

/* NULL: the process has a device. */
static const char *why_of(const struct jd_absent *absent, int process,
                          const char *platform)
{
    const char *why = absent->why(absent->of, process, platform);
    return why && !why[0] ? "it does not say why" : why;
}

int jd__absent_count(const struct jd_absent *absent, const char *platform)
{
    int count = 0;
    for (int i = 0; i < absent->count; i++)
        count += absent->why(absent->of, i, platform) != NULL;
    return count;
}

/* Takes those who say the same as the first that is left; how many. */
static int take_alike(const struct jd_absent *absent, const char *platform,
                      bool *is_done, int *numbers)
{
    const char *why = NULL;
    int count = 0;
    for (int i = 0; i < absent->count; i++) {
        if (is_done[i])
            continue;
        const char *own = why_of(absent, i, platform);
        why = why ? why : own;
        is_done[i] = strcmp(own, why) == 0;
        if (is_done[i])
            numbers[count++] = i;
    }
    return count;
}

static void print_reasons(FILE *out, const struct jd_absent *absent,
                          const char *platform, bool *is_done, int *numbers)
{
    int count, left = 0;
    for (int i = 0; i < absent->count; i++) {
        is_done[i] = !why_of(absent, i, platform);
        left += !is_done[i];
    }
    for (int reason = 0; reason < MOST_REASONS && left; reason++) {
        count = take_alike(absent, platform, is_done, numbers);
        left -= count;
        fputs(reason ? "; " : "", out);
        jd__ranges_print_processes(out, numbers, count);
        fprintf(out, ": %s", why_of(absent, numbers[0], platform));
    }
    if (left)
        fprintf(out, "; and %d more for other reasons", left);
}

void jd__absent_print(FILE *out, const struct jd_absent *absent,
                      const char *platform)
{
    size_t count = (size_t)absent->count;
    bool *is_done = calloc(count, sizeof *is_done);
    int *numbers = calloc(count, sizeof *numbers);
    if (absent->count == 1 && why_of(absent, 0, platform))
        fputs(why_of(absent, 0, platform), out);
    else if (is_done && numbers)
        print_reasons(out, absent, platform, is_done, numbers);
    free(is_done);
    free(numbers);
}

char *jd__absent_describe(const struct jd_absent *absent, const char *platform)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    jd__absent_print(out, absent, platform);
    return jd__text_end(&text);
}

static const char fault[] =
    "; the host has a driver for them: mend that, or say that cpu devices are "
    "meant (JD_PLATFORM=cpu)";

void jd__absent_say(const struct jd_absent *absent, bool has_spare,
                    bool has_fault)
{
    for (int i = 0; jd__device_sources[i]; i++) {
        const char *platform = jd__device_sources[i]->platform;
        int count = jd__absent_count(absent, platform);
        bool is_waste = has_spare && count == absent->count;
        enum jd_log_level level =
            is_waste || has_fault ? JD_LOG_WARNING : JD_LOG_INFO;
        if (count == 0 || !jd__log_enabled(level))
            continue;
        char *text = jd__absent_describe(absent, platform);
        jd__log(level, "no %s devices: %s%s", platform, text ? text : "",
                has_fault ? fault : "");
        free(text);
    }
}
