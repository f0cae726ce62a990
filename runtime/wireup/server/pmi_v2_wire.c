/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_v2_wire.c - a frame of PMI-2 in its pieces. */
#include "runtime/wireup/server/pmi_v2_wire.h"

#include <stdio.h>
#include <string.h>

static size_t skip_blanks(const char *header, size_t at)
{
    while (at < PMI_V2_HEADER && header[at] == ' ')
        at++;
    return at;
}

/* What the six characters say; false where that is no number. */
static bool read_length(const char *header, size_t *ret_length)
{
    size_t at = skip_blanks(header, 0), begin = at, length = 0;
    for (; at < PMI_V2_HEADER && header[at] >= '0' && header[at] <= '9'; at++)
        length = 10 * length + (size_t)(header[at] - '0');
    *ret_length = length;
    return at > begin && skip_blanks(header, at) == PMI_V2_HEADER;
}

/* The bytes of a header, with '?' for what is no sign. */
static void print_header(const char *header, char why[PMI_V2_WHY])
{
    char shown[PMI_V2_HEADER + 1] = "";
    for (size_t i = 0; i < PMI_V2_HEADER; i++)
        shown[i] = header[i] >= ' ' && header[i] <= '~' ? header[i] : '?';
    snprintf(why, PMI_V2_WHY,
             "a frame begins with \"%s\" and not with its length", shown);
}

enum pmi_v2_frame pmi_v2_wire_cut(const void *data, size_t size,
                                  size_t *ret_length, char why[PMI_V2_WHY])
{
    if (size < PMI_V2_HEADER)
        return PMI_V2_PARTIAL;
    if (!read_length(data, ret_length)) {
        print_header(data, why);
        return PMI_V2_BROKEN;
    }
    if (*ret_length > PMI_V2_TEXT_MOST) {
        snprintf(why, PMI_V2_WHY,
                 "a frame says that it has %zu bytes, and %d "
                 "are the most",
                 *ret_length, PMI_V2_TEXT_MOST);
        return PMI_V2_BROKEN;
    }
    return size - PMI_V2_HEADER < *ret_length ? PMI_V2_PARTIAL : PMI_V2_WHOLE;
}

/* The pair that begins at *at, without its ';', where the doubled ones become
 * one. NULL where it has no end. */
static char *cut_pair(char **at, const char *end)
{
    char *pair = *at, *to = pair, *from = pair;
    while (from < end && (*from != ';' || (from + 1 < end && from[1] == ';'))) {
        from += *from == ';';
        *to++ = *from++;
    }
    if (from == end)
        return NULL;
    *at = from + 1;
    *to = '\0';
    return pair;
}

static void take_pair(const char *name, const char *value,
                      struct pmi_v2_request *request)
{
    const struct {
        const char *name;
        const char **place;
    } places[] = {
        { "thrid", &request->thread }, { "key", &request->key },
        { "value", &request->value },  { "jobid", &request->job },
        { "wait", &request->wait },    { "isworld", &request->world },
        { "msg", &request->message },  { "error_msg", &request->message },
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(name, places[i].name) == 0)
            *places[i].place = value;
}

/* Parts of a spawn's command are names alone. */
static void read_pair(char *pair, struct pmi_v2_request *request)
{
    char *equals = strchr(pair, '=');
    if (!equals)
        return;
    *equals = '\0';
    take_pair(pair, equals + 1, request);
}

const char *pmi_v2_wire_read(char *text, size_t size,
                             struct pmi_v2_request *ret_request)
{
    const char *end = text + size;
    *ret_request = (struct pmi_v2_request){ "", "", "", "", "", "", "", "" };
    if (memchr(text, '\0', size))
        return "a command has a NUL in it";
    char *pair = cut_pair(&text, end);
    if (!pair || strncmp(pair, "cmd=", 4) != 0)
        return "a command does not begin with cmd=NAME;";
    ret_request->name = pair + 4;
    while (text < end) {
        pair = cut_pair(&text, end);
        if (!pair)
            return "a command does not end with ';'";
        read_pair(pair, ret_request);
    }
    return NULL;
}

bool pmi_v2_wire_escape(const char *value, char *text, size_t size)
{
    size_t at = 0;
    for (; *value && at + 2 < size; value++) {
        text[at++] = *value;
        if (*value == ';')
            text[at++] = ';';
    }
    text[at] = '\0';
    return !*value;
}
