/* SPDX-License-Identifier: BSD-3-Clause */
/* picture_words.c - what stands above the boxes of a picture. */
#include "arrays/sharding/picture.h"
#include "base/text.h"

#include <stdio.h>

static void print_blocks(const struct jd_picture *picture, FILE *out)
{
    const jd_sharding *sharding = picture->sharding;
    int64_t longest[JD_MAX_NDIM];
    char text[JD_SHAPE_TEXT];
    bool is_even = true;
    for (int d = 0; d < picture->ndim; d++) {
        const struct jd_bands *bands = &picture->bands[d];
        longest[d] = jd__sharding_cut_range(bands->length, bands->ways, 0).end;
        is_even &= bands->length % bands->ways == 0;
    }
    jd__sharding_shape_print(picture->ndim, longest, text, sizeof text);
    fprintf(out, "%d blocks of %s%s, each on %d of", sharding->ways,
            is_even ? "" : "up to ", text,
            sharding->num_devices / sharding->ways);
}

static void print_sharding(const struct jd_picture *picture, FILE *out)
{
    const jd_sharding *sharding = picture->sharding;
    char text[JD_SHAPE_TEXT];
    int64_t shape[JD_MAX_NDIM];
    int count = sharding->num_devices;
    for (int d = 0; d < picture->ndim; d++)
        shape[d] = picture->bands[d].length;
    jd__sharding_shape_print(picture->ndim, shape, text, sizeof text);
    fprintf(out, "%s as \"%s\": ", text, sharding->spec);
    if (sharding->ways > 1)
        print_blocks(picture, out);
    else
        fprintf(out, "whole on%s", count > 1 ? " each of" : "");
    fprintf(out, " %d %s device%s\n", count, sharding->devices[0]->platform,
            jd__text_s(count));
}

static void print_legend(const struct jd_picture *picture, FILE *out)
{
    if (picture->column >= 0)
        fputs("at the edges: elements of dimension", out);
    if (picture->row >= 0)
        fprintf(out, "s %d and %d; ", picture->row, picture->column);
    else if (picture->column >= 0)
        fprintf(out, " %d; ", picture->column);
    fputs("in the boxes: process:device\n", out);
}

void jd__picture_words_summary(const struct jd_picture *picture, FILE *out)
{
    print_sharding(picture, out);
    print_legend(picture, out);
}

void jd__picture_words_table(const struct jd_picture *picture, int table,
                             FILE *out)
{
    const char *between = "";
    for (int d = 0; d < picture->ndim; d++) {
        char text[JD_PICTURE_TEXT];
        if (d == picture->row || d == picture->column ||
            picture->bands[d].ways == 1)
            continue;
        jd__picture_range(picture, d, jd__picture_table_band(picture, table, d),
                          text, sizeof text);
        fprintf(out, "%sdimension %d %s", between, d, text);
        between = ", ";
    }
    if (*between)
        fputc('\n', out);
}
