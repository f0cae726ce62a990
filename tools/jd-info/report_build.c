/* SPDX-License-Identifier: BSD-3-Clause */
/* report_build.c - what jd was built with, and how. */
#include "build_rows.h"
#include "jd_process.h"
#include "runtime/mpi/library.h"
#include "tools/jd-info/jd_info.h"
#include "tools/json.h"

#include <stdio.h>
#include <string.h>

struct build_row {
    const char *key;
    const char *value; /* NULL: it was left out */
};

static void print_row(const struct build_row *row)
{
    char name[32];
    snprintf(name, sizeof name, "%s", row->key);
    for (char *at = name; *at; at++)
        if (*at == '_')
            *at = ' ';
    printf("%-19s %s\n", name, row->value ? row->value : "no");
}

static void print_json_row(const struct build_row *row, const char *end)
{
    printf("  \"%s\": ", row->key);
    json_write_string(stdout, row->value);
    puts(end);
}

/* Meson's word for what is not there. */
static const char *value_of(const char *text)
{
    return strcmp(text, "NO") == 0 ? NULL : text;
}

static void print_rows(const struct build_row *rows, size_t count, bool json)
{
    if (json)
        puts("{");
    for (size_t i = 0; i < count; i++) {
        if (json)
            print_json_row(&rows[i], i + 1 < count ? "," : "");
        else
            print_row(&rows[i]);
    }
    if (json)
        puts("}");
}

int jd_info_build(bool json)
{
    static const struct build_row built[] = { BUILD_ROWS };
    enum { BUILT = sizeof built / sizeof *built, LIVE = 2 };
    struct build_row rows[LIVE + BUILT] = {
        { "jd", jd_version() },
        { "mpi_loaded", jd__mpi_library_name() },
    };
    for (size_t i = 0; i < BUILT; i++)
        rows[LIVE + i] =
            (struct build_row){ built[i].key, value_of(built[i].value) };
    print_rows(rows, LIVE + BUILT, json);
    return 0;
}
