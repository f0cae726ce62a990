/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_v1_wire.c - a line of PMI-1 in its pieces. */
#include "runtime/wireup/server/pmi_v1_wire.h"

#include <stddef.h>
#include <string.h>

/* What is refused is answered under a name of its own. */
static const struct {
    const char *name;
    enum pmi_command command;
    const char *answer;
} commands[] = {
    { "init", PMI_INIT, NULL },
    { "get_maxes", PMI_GET_MAXES, NULL },
    { "get_appnum", PMI_GET_APPNUM, NULL },
    { "get_universe_size", PMI_GET_UNIVERSE_SIZE, NULL },
    { "get_my_kvsname", PMI_GET_MY_KVSNAME, NULL },
    { "put", PMI_PUT, NULL },
    { "get", PMI_GET, NULL },
    { "barrier_in", PMI_BARRIER_IN, NULL },
    { "finalize", PMI_FINALIZE, NULL },
    { "abort", PMI_ABORT, NULL },
    { "publish_name", PMI_REFUSED, "publish_result" },
    { "unpublish_name", PMI_REFUSED, "unpublish_result" },
    { "lookup_name", PMI_REFUSED, "lookup_result" },
    { "spawn", PMI_REFUSED, "spawn_result" },
};

static void name_command(const char *name, struct pmi_request *request)
{
    request->command = PMI_UNKNOWN;
    request->name = name;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0) {
            request->command = commands[i].command;
            request->name = commands[i].answer ? commands[i].answer : name;
        }
}

static void take_pair(const char *name, const char *value,
                      struct pmi_request *request)
{
    if (strcmp(name, "cmd") == 0 || strcmp(name, "mcmd") == 0)
        name_command(value, request);
    else if (strcmp(name, "key") == 0)
        request->key = value;
    else if (strcmp(name, "value") == 0)
        request->value = value;
    else if (strcmp(name, "exitcode") == 0)
        request->code = value;
    else if (strcmp(name, "pmi_version") == 0)
        request->version = value;
}

/* A value may have blanks: it goes up to the line's end. */
static char *end_of_pair(char *pair)
{
    return pair + (strncmp(pair, "value=", 6) == 0 ? strlen(pair)
                                                   : strcspn(pair, " "));
}

void pmi_v1_wire_read(char *line, struct pmi_request *ret_request)
{
    *ret_request = (struct pmi_request){ PMI_UNKNOWN, "", "", "", "", "" };
    while (*line) {
        line += strspn(line, " ");
        char *pair = line, *end = end_of_pair(pair);
        line = end + (*end != '\0');
        *end = '\0';
        char *equals = strchr(pair, '=');
        if (!equals)
            continue;
        *equals = '\0';
        take_pair(pair, equals + 1, ret_request);
    }
}
