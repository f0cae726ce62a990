/* SPDX-License-Identifier: BSD-3-Clause */
/* spec.c - the text that says how an array is cut, read and written. */
#include "arrays/sharding/spec.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ------------------------------------------------------------ */

/* Where a name stands. */
struct word {
    int dimension;
    const char *name;
    size_t length;
};

static int find_axis(const struct jd_mesh *mesh, const struct word *word)
{
    for (int i = 0; i < mesh->ndim; i++)
        if (strlen(mesh->axis_names[i]) == word->length &&
            memcmp(mesh->axis_names[i], word->name, word->length) == 0)
            return i;
    return -1;
}

static jd_status fail_word(const struct jd_spec *spec, const struct word *word)
{
    if (word->length == 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: the entry for dimension %d in \"%s\" is empty, or "
                       "a name in it is; name an axis of the mesh (%s), or "
                       "write \"-\" where the dimension is not cut",
                       spec->operation, word->dimension, spec->text,
                       spec->mesh->axes);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: the mesh has no axis \"%.*s\", which \"%s\" has for "
                   "dimension %d; its axes are %s, and a \"-\" alone stands "
                   "for a dimension that is not cut",
                   spec->operation, (int)word->length, word->name, spec->text,
                   word->dimension, spec->mesh->axes);
}

/* The dimension that the axis cuts already, or -1. */
static int find_cut(const struct jd_cut *cuts, int axis)
{
    for (int d = 0; d < JD_MAX_NDIM; d++)
        for (int i = 0; i < cuts[d].axes.count; i++)
            if (cuts[d].axes.axis[i] == axis)
                return d;
    return -1;
}

static jd_status add_axis(const struct jd_spec *spec, const struct word *word,
                          struct jd_cut *cuts)
{
    int axis = find_axis(spec->mesh, word);
    if (axis < 0)
        return fail_word(spec, word);
    int used = find_cut(cuts, axis);
    if (used >= 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: the axis \"%s\" is there twice in \"%s\", for "
                       "dimension %d and for dimension %d; name each axis once",
                       spec->operation, spec->mesh->axis_names[axis],
                       spec->text, used, word->dimension);
    struct jd_cut *cut = &cuts[word->dimension];
    cut->axes.axis[cut->axes.count++] = axis;
    cut->ways *= spec->mesh->shape[axis];
    return JD_OK;
}

/* An entry, which is not "-". */
static jd_status add_entry(const struct jd_spec *spec, struct word word,
                           struct jd_cut *cuts)
{
    const char *end = word.name + word.length;
    for (;; word.name++) {
        word.length = strcspn(word.name, "+,");
        jd_status status = add_axis(spec, &word, cuts);
        word.name += word.length;
        if (status != JD_OK || word.name == end)
            return status;
    }
}

int jd__spec_count(const char *text)
{
    int entries = *text != '\0';
    for (const char *at = text; (at = strchr(at, ',')); at++)
        entries++;
    return entries;
}

static jd_status check_entries(const struct jd_spec *spec)
{
    int entries = jd__spec_count(spec->text);
    if (entries <= JD_MAX_NDIM)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: \"%s\" has %d entries; an array has at most %d "
                   "dimensions",
                   spec->operation, spec->text, entries, JD_MAX_NDIM);
}

jd_status jd__spec_parse(const struct jd_spec *spec, int *ret_num_cuts,
                         struct jd_cut *ret_cuts)
{
    struct jd_cut cuts[JD_MAX_NDIM] = { 0 };
    struct word word = { .name = spec->text };
    int num_cuts = 0;
    jd_status status = check_entries(spec);
    for (int d = 0; d < JD_MAX_NDIM; d++)
        cuts[d].ways = 1;
    for (bool more = *spec->text; more && status == JD_OK; word.dimension++) {
        word.length = strcspn(word.name, ",");
        if (word.length != 1 || *word.name != '-') {
            status = add_entry(spec, word, cuts);
            num_cuts = word.dimension + 1;
        }
        more = word.name[word.length] == ',';
        word.name += word.length + 1;
    }
    if (status != JD_OK)
        return status;
    *ret_num_cuts = num_cuts;
    memcpy(ret_cuts, cuts, sizeof cuts);
    return JD_OK;
}

/* ---- writing ------------------------------------------------------------ */

static void print_cut(const struct jd_mesh *mesh, const struct jd_axes *axes,
                      FILE *out)
{
    if (axes->count == 0)
        fputc('-', out);
    for (int i = 0; i < axes->count; i++)
        fprintf(out, "%s%s", i ? "+" : "", mesh->axis_names[axes->axis[i]]);
}

char *jd__spec_print(const struct jd_mesh *mesh, int num_cuts,
                     const struct jd_cut *cuts)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    for (int d = 0; d < num_cuts; d++) {
        if (d)
            fputc(',', out);
        print_cut(mesh, &cuts[d].axes, out);
    }
    return jd__text_end(&text);
}
