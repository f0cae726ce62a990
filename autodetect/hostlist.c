/* SPDX-License-Identifier: BSD-3-Clause */
/* hostlist.c - one walk over the text; a name is built in a buffer, and each
 * number of a bracket goes on with what stands behind it. */
#include "autodetect/hostlist.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 255, MAX_BRACKETS = 8, MAX_DIGITS = 18 };

struct expansion {
    const char *text; /* the whole list */
    const char *label;
    const char *end; /* of the item that is expanded */
    char name[MAX_NAME + 1];
    struct jd_hostlist hosts;
    size_t capacity;
};

struct host_range {
    const char *at; /* where it stands in the text */
    long long first, last;
    int width; /* "03" counts with at least two digits */
};

static jd_status fail_at(const struct expansion *e, const char *at,
                         const char *why)
{
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s is \"%.200s%s\", but at offset %zu %s; it must be a "
                   "node list as Slurm writes it, n[001-003,7]",
                   e->label, e->text, strlen(e->text) > 200 ? "..." : "",
                   (size_t)(at - e->text), why);
}

/* Doubles the room for names; false where memory runs out. */
static bool grow_names(struct expansion *e)
{
    size_t capacity = e->capacity ? 2 * e->capacity : 16;
    char **names = realloc(e->hosts.names, capacity * sizeof *names);
    if (!names)
        return false;
    e->hosts.names = names;
    e->capacity = capacity;
    return true;
}

static jd_status add_name(struct expansion *e, const char *at, size_t length)
{
    if (e->hosts.count == JD_HOSTLIST_MAX)
        return fail_at(e, at, "the list has more than 65536 names");
    if (e->hosts.count == e->capacity && !grow_names(e))
        return jd__fail_no_memory("expanding a node list", 2 * e->capacity);
    char *copy = strndup(e->name, length);
    if (!copy)
        return jd__fail_no_memory("expanding a node list", length + 1);
    e->hosts.names[e->hosts.count++] = copy;
    return JD_OK;
}

/* Digits up to a number that fits; 0 where there are none or too many. */
static size_t read_digits(const char *at, const char *end, long long *ret_value)
{
    size_t n = 0;
    *ret_value = 0;
    while (at + n < end && isdigit((unsigned char)at[n])) {
        if (n == MAX_DIGITS)
            return 0;
        *ret_value = 10 * *ret_value + (at[n++] - '0');
    }
    return n;
}

/* "7" or "001-003", followed by ',' or the bracket's end. */
static jd_status read_range(const struct expansion *e, const char **at,
                            const char *close, struct host_range *ret_range)
{
    const char *p = *at;
    ret_range->at = p;
    size_t n = read_digits(p, close, &ret_range->first);
    if (!n)
        return fail_at(e, p, "a number of 1 to 18 digits is missing");
    ret_range->width = (int)n;
    ret_range->last = ret_range->first;
    p += n;
    if (p < close && *p == '-') {
        n = read_digits(++p, close, &ret_range->last);
        if (!n)
            return fail_at(e, p, "a number of 1 to 18 digits is missing");
        if (ret_range->last < ret_range->first)
            return fail_at(e, p, "a range ends below its beginning");
        p += n;
    }
    if (p < close && *p != ',')
        return fail_at(e, p, "neither ',' nor '-' nor ']' follows a number");
    *at = p;
    return JD_OK;
}

static jd_status expand_list(struct expansion *e, const char *at, size_t length,
                             int brackets);

static jd_status expand_range(struct expansion *e,
                              const struct host_range *range, const char *close,
                              size_t length, int brackets)
{
    if (range->last - range->first >= JD_HOSTLIST_MAX)
        return fail_at(e, range->at, "a range has more than 65536 numbers");
    for (long long i = range->first; i <= range->last; i++) {
        size_t room = sizeof e->name - length;
        int n = snprintf(e->name + length, room, "%0*lld", range->width, i);
        if ((size_t)n >= room)
            return fail_at(e, range->at, "a name has more than 255 characters");
        jd_status status =
            expand_list(e, close + 1, length + (size_t)n, brackets + 1);
        if (status != JD_OK)
            return status;
    }
    return JD_OK;
}

static jd_status expand_bracket(struct expansion *e, const char *open,
                                size_t length, int brackets)
{
    const char *close = memchr(open, ']', (size_t)(e->end - open));
    if (!close)
        return fail_at(e, open, "a '[' has no ']'");
    if (brackets == MAX_BRACKETS)
        return fail_at(e, open, "a name has more than 8 brackets");
    for (const char *at = open + 1;; at++) {
        struct host_range range = { .at = NULL };
        jd_status status = read_range(e, &at, close, &range);
        if (status == JD_OK)
            status = expand_range(e, &range, close, length, brackets);
        if (status != JD_OK || at == close)
            return status;
    }
}

/* Names of hosts, and underscores, which clusters have too; "(null)", "n*" and
 * "$(x)" are no names but what was left of one. */
static bool is_of_a_name(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '.' || c == '_';
}

/* Goes on with the name's first length characters at the text's at. */
static jd_status expand_list(struct expansion *e, const char *at, size_t length,
                             int brackets)
{
    for (; at < e->end && *at != '['; at++) {
        if (*at == ']')
            return fail_at(e, at, "a ']' has no '['");
        if (!is_of_a_name(*at))
            return fail_at(e, at, "a character stands that no host name has");
        if (length == MAX_NAME)
            return fail_at(e, at, "a name has more than 255 characters");
        e->name[length++] = *at;
    }
    if (at < e->end)
        return expand_bracket(e, at, length, brackets);
    return length ? add_name(e, at, length)
                  : fail_at(e, at, "a name is missing");
}

/* The ',' outside brackets that ends the item, or the text's end. */
static const char *item_end(const char *at)
{
    bool inside = false;
    for (; *at && (inside || *at != ','); at++)
        inside = *at == '[' || (inside && *at != ']');
    return at;
}

static jd_status expand_items(struct expansion *e)
{
    for (const char *at = e->text;; at = e->end + 1) {
        e->end = item_end(at);
        jd_status status = expand_list(e, at, 0, 0);
        if (status != JD_OK || !*e->end)
            return status;
    }
}

jd_status jd__hostlist_expand(const char *text, const char *label,
                              struct jd_hostlist *ret_hosts)
{
    struct expansion e = { .text = text, .label = label };
    jd_status status = expand_items(&e);
    if (status != JD_OK)
        jd__hostlist_finish(&e.hosts);
    else
        *ret_hosts = e.hosts;
    return status;
}

void jd__hostlist_finish(struct jd_hostlist *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        free(hosts->names[i]);
    free(hosts->names);
    *hosts = (struct jd_hostlist){ .names = NULL };
}
