/* SPDX-License-Identifier: BSD-3-Clause */
/* svg_own.c - the program's own ranges in a picture. */
#include "tools/jd-trace/svg_own.h"

#include <string.h>

enum { NONE = -1 };

/* What a column of a band shows: a color, or none. */
struct band_paint {
    int color;
    uint32_t depth;
    float busy; /* how much of the column */
};

void svg_own_choose_band(struct picture *picture)
{
    if (!picture->analysis->own.count)
        return;
    picture->band = picture->pitch >= 20 ? 6 : picture->pitch >= 10 ? 4 : 1;
    picture->pitch += picture->band;
}

void svg_own_write_style(FILE *out)
{
    static const char *const colors[OWN_COLORS] = {
        "#86bcb6", "#d4a6c8", "#a0cbe8", "#8cd17d", "#ff9d9a", "#bab0ac",
    };
    for (int i = 0; i < OWN_COLORS; i++)
        fprintf(out, ".r%d{fill:%s}", i, colors[i]);
}

/* In the order in which names come; the last color is for all others. */
static int color_of(struct picture *picture, uint32_t name)
{
    int i = 0;
    while (i < picture->num_own_names && picture->own_names[i] != name)
        i++;
    if (i == picture->num_own_names && i < OWN_COLORS - 1)
        picture->own_names[picture->num_own_names++] = name;
    return i < OWN_COLORS - 1 ? i : OWN_COLORS - 1;
}

/* ---- columns ------------------------------------------------------------ */

/* An inner range wins where it has half of the column. */
static bool wins(const struct band_paint *there, uint32_t depth, float busy)
{
    if (there->color == NONE)
        return true;
    if (depth == there->depth)
        return busy >= there->busy;
    return depth > there->depth ? busy >= 0.5f : there->busy < 0.5f;
}

static void cover(struct band_paint *columns, double begin, double end,
                  int color, uint32_t depth)
{
    for (int i = (int)begin; i < COLUMNS && i < end; i++) {
        double from = begin > i ? begin : i, to = end < i + 1 ? end : i + 1;
        struct band_paint paint = { color, depth, (float)(to - from) };
        if (wins(&columns[i], depth, paint.busy))
            columns[i] = paint;
    }
}

static void cover_ranges(struct picture *picture, int place,
                         struct band_paint *columns)
{
    const struct traced_process *process =
        &picture->analysis->job.processes[place];
    for (int i = 0; i < COLUMNS; i++)
        columns[i] = (struct band_paint){ .color = NONE };
    for (uint32_t i = 0; i < process->num_own; i++) {
        const struct traced_own *own = &process->own[i];
        struct timeline_span span =
            timeline_own_span(&picture->timeline, place, own);
        if (span.end > span.begin)
            cover(columns, svg_picture_x(picture, span.begin),
                  svg_picture_x(picture, span.end),
                  color_of(picture, own->name), own->depth);
    }
}

/* ---- a band ------------------------------------------------------------- */

static void draw_runs(struct picture *picture, int place,
                      const struct band_paint *columns)
{
    double top = svg_picture_row(picture, place) - picture->band;
    for (int i = 0, next; i < COLUMNS; i = next) {
        int color = columns[i].color;
        for (next = i + 1; next < COLUMNS; next++)
            if (columns[next].color != color)
                break;
        if (color != NONE)
            fprintf(picture->out,
                    "<rect class=\"r%d\" x=\"%d\" y=\"%.5g\" "
                    "width=\"%d\" height=\"%.4g\"/>\n",
                    color, LEFT + i, top, next - i, picture->band);
    }
}

static void draw_tip(struct picture *picture, int place,
                     const struct traced_own *own)
{
    struct timeline_span span =
        timeline_own_span(&picture->timeline, place, own);
    double width = svg_picture_x(picture, span.end - span.begin);
    if (width < TIP_WIDTH)
        return;
    fprintf(picture->out,
            "<rect class=\"t\" x=\"%.5g\" y=\"%.5g\" width=\"%.5g\" "
            "height=\"%.4g\"><title>",
            LEFT + svg_picture_x(picture, span.begin),
            svg_picture_row(picture, place) - picture->band, width,
            picture->band);
    jd__svg_escape(picture->out,
                   text_set_at(&picture->analysis->job.texts, own->name));
    fprintf(picture->out, ", %.6g ms%s</title></rect>\n",
            (span.end - span.begin) * 1e-6, own->end ? "" : ", not ended");
}

void svg_own_draw_band(struct picture *picture, int place, bool has_tips)
{
    const struct traced_process *process =
        &picture->analysis->job.processes[place];
    struct band_paint columns[COLUMNS];
    if (!process->num_own)
        return;
    cover_ranges(picture, place, columns);
    draw_runs(picture, place, columns);
    for (uint32_t i = 0; has_tips && i < process->num_own; i++)
        draw_tip(picture, place, &process->own[i]);
}

bool svg_own_legend(const struct picture *picture, int i, char *ret_class,
                    const char **ret_words)
{
    if (i >= picture->num_own_names)
        return false;
    ret_class[0] = 'r';
    ret_class[1] = (char)('0' + i);
    ret_class[2] = '\0';
    *ret_words =
        text_set_at(&picture->analysis->job.texts, picture->own_names[i]);
    return true;
}
