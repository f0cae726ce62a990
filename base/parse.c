/* SPDX-License-Identifier: BSD-3-Clause */
/* parse.c - text becomes a number, wholly or not at all. */
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool begins_like_number(const char *text)
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    return isdigit((unsigned char)digits[0]);
}

bool jd__parse_integer(const char *text, long long *ret_value)
{
    if (!begins_like_number(text))
        return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end)
        return false;
    *ret_value = value;
    return true;
}

static bool unit_scale(const char *unit, double *ret_scale)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {
        { "", 1 },  { "us", 1e-6 }, { "ms", 1e-3 },
        { "s", 1 }, { "m", 60 },    { "h", 3600 },
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(unit, units[i].name) == 0) {
            *ret_scale = units[i].seconds;
            return true;
        }
    }
    return false;
}

/* strtod would take hexadecimal and exponents; a duration needs neither. */
static size_t plain_decimal_length(const char *text)
{
    size_t n = text[0] == '-';
    size_t first = n;
    while (isdigit((unsigned char)text[n]))
        n++;
    if (n == first)
        return 0;
    if (text[n] == '.')
        for (n++; isdigit((unsigned char)text[n]);)
            n++;
    return n;
}

bool jd__parse_seconds(const char *text, double *ret_seconds)
{
    size_t length = plain_decimal_length(text);
    double scale;
    if (!length || length > 64 || !unit_scale(text + length, &scale))
        return false;
    char number[65];
    memcpy(number, text, length);
    number[length] = '\0';
    *ret_seconds = strtod(number, NULL) * scale;
    return isfinite(*ret_seconds);
}

bool jd__parse_bytes(const char *text, long long *ret_bytes)
{
    static const char *const units[][2] = {
        { "", "" }, { "K", "KiB" }, { "M", "MiB" }, { "G", "GiB" }
    };
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    long long count = strtoll(text, &end, 10);
    if (errno)
        return false;
    for (int i = 0; i < 4; i++) {
        if (strcmp(end, units[i][0]) != 0 && strcmp(end, units[i][1]) != 0)
            continue;
        if (count > LLONG_MAX >> (10 * i))
            return false;
        *ret_bytes = count << (10 * i);
        return true;
    }
    return false;
}

bool jd__parse_boolean(const char *text, bool *ret_value)
{
    static const char *const words[2][4] = { { "0", "false", "no", "off" },
                                             { "1", "true", "yes", "on" } };
    for (int value = 0; value < 2; value++) {
        for (int i = 0; i < 4; i++) {
            if (strcasecmp(text, words[value][i]) == 0) {
                *ret_value = value;
                return true;
            }
        }
    }
    return false;
}

static size_t count_entries(const char *text)
{
    size_t count = 1;
    for (; *text; text++)
        count += *text == ',';
    return count;
}

/* One entry that ends at ',' or the end; NULL where it is no integer. */
static const char *parse_entry(const char *text, int *ret_value)
{
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || value > INT_MAX || (*end && *end != ','))
        return NULL;
    *ret_value = (int)value;
    return end;
}

bool jd__parse_integers(const char *text, int **ret_values, size_t *ret_count)
{
    size_t count = count_entries(text);
    int *values = malloc(count * sizeof *values);
    if (!values)
        return false;
    for (size_t i = 0; i < count; i++) {
        text = parse_entry(text, &values[i]);
        if (!text) {
            free(values);
            return false;
        }
        text += *text == ',';
    }
    *ret_values = values;
    *ret_count = count;
    return true;
}

static bool host_is_well_formed(const char *host, size_t length)
{
    if (length > 2 && host[0] == '[')
        return host[length - 1] == ']' && memchr(host, ':', length);
    if (!length || memchr(host, ':', length))
        return false;
    for (size_t i = 0; i < length; i++)
        if (isspace((unsigned char)host[i]) || strchr("/[],", host[i]))
            return false;
    return true;
}

bool jd__parse_address(const char *text, size_t *ret_host_length, int *ret_port)
{
    const char *colon = strrchr(text, ':');
    long long port;
    if (!colon || !jd__parse_integer(colon + 1, &port) || port < 1 ||
        port > 65535)
        return false;
    if (!host_is_well_formed(text, (size_t)(colon - text)))
        return false;
    if (ret_host_length)
        *ret_host_length = (size_t)(colon - text);
    if (ret_port)
        *ret_port = (int)port;
    return true;
}
