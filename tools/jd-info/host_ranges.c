/* SPDX-License-Identifier: BSD-3-Clause */
/* host_ranges.c - many hosts' names in few letters. */
#include "tools/jd-info/host_ranges.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* "node", "012", ".site"; without digits all is head. */
struct parts {
    size_t head, digits; /* their lengths */
    const char *number, *tail;
};

/* The last digits before the first dot. */
static struct parts split(const char *name)
{
    size_t end = strcspn(name, "."), begin;
    while (end > 0 && !isdigit((unsigned char)name[end - 1]))
        end--;
    for (begin = end; begin > 0 && isdigit((unsigned char)name[begin - 1]);)
        begin--;
    if (begin == end)
        return (struct parts){ .head = strlen(name), .number = "", .tail = "" };
    return (struct parts){ .head = begin,
                           .digits = end - begin,
                           .number = name + begin,
                           .tail = name + end };
}

static int compare_lengths(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

/* 0: they differ in their numbers alone. */
static int compare_around(const char *a, const struct parts *x, const char *b,
                          const struct parts *y)
{
    int order = strncmp(a, b, x->head < y->head ? x->head : y->head);
    if (order == 0)
        order = compare_lengths(x->head, y->head);
    if (order == 0)
        order = strcmp(x->tail, y->tail);
    return order ? order : compare_lengths(x->digits > 0, y->digits > 0);
}

static int compare_names(const void *one, const void *other)
{
    const char *a = *(const char *const *)one, *b = *(const char *const *)other;
    struct parts x = split(a), y = split(b);
    int order = compare_around(a, &x, b, &y);
    if (order == 0)
        order = compare_lengths(x.digits, y.digits);
    return order ? order : strncmp(x.number, y.number, x.digits);
}

/* b follows a: "09" "10", and "9" "10", not "9" "010". Digit by digit, as
 * names have numbers of any length. */
static bool follows(const struct parts *a, const struct parts *b)
{
    size_t nines = 0, i;
    while (nines < a->digits && a->number[a->digits - 1 - nines] == '9')
        nines++;
    for (i = 0; i < nines; i++)
        if (b->digits <= i || b->number[b->digits - 1 - i] != '0')
            return false;
    if (nines == a->digits)
        return b->digits == nines + 1 && b->number[0] == '1';
    size_t kept = a->digits - nines - 1;
    return a->digits == b->digits && b->number[kept] == a->number[kept] + 1 &&
           strncmp(a->number, b->number, kept) == 0;
}

/* The numbers of names that are alike around them. */
static void print_numbers(FILE *out, const char **names, int count)
{
    for (int i = 0, j; i < count; i = j + 1) {
        struct parts first = split(names[i]), last = first;
        for (j = i; j + 1 < count; j++) {
            struct parts next = split(names[j + 1]);
            if (!follows(&last, &next))
                break;
            last = next;
        }
        fprintf(out, "%s%.*s", i ? "," : "", (int)first.digits, first.number);
        if (j > i)
            fprintf(out, "-%.*s", (int)last.digits, last.number);
    }
}

static int count_alike(const char **names, int count)
{
    struct parts first = split(names[0]);
    int alike = 1;
    while (alike < count && first.digits) {
        struct parts next = split(names[alike]);
        if (compare_around(names[0], &first, names[alike], &next) != 0)
            break;
        alike++;
    }
    return alike;
}

void host_ranges_print(FILE *out, const char **names, int count)
{
    qsort(names, (size_t)count, sizeof *names, compare_names);
    for (int i = 0, alike; i < count; i += alike) {
        struct parts first = split(names[i]);
        alike = count_alike(names + i, count - i);
        fputs(i ? "," : "", out);
        if (alike == 1) {
            fputs(names[i], out);
            continue;
        }
        fprintf(out, "%.*s[", (int)first.head, names[i]);
        print_numbers(out, names + i, alike);
        fprintf(out, "]%s", first.tail);
    }
}
