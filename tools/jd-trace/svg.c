/* SPDX-License-Identifier: BSD-3-Clause */
/* svg.c - a job's calls as a picture: a row for each process, calls as boxes,
 * their waits shaded, the culprits' rows marked. What is narrower than a column
 * of the picture shares it. */
#include "tools/jd-trace/svg_own.h"

#include <stdlib.h>
#include <string.h>

/* Names in the order in which they come; the last color is for all others. */
static uint8_t color_of(struct picture *picture, uint32_t name)
{
    int i = 0;
    while (i < picture->num_names && picture->names[i] != name)
        i++;
    if (i == picture->num_names && i < COLORS - 1)
        picture->names[picture->num_names++] = name;
    return (uint8_t)(i < COLORS - 1 ? i : COLORS - 1);
}

/* ---- columns ------------------------------------------------------------ */

static void cover(struct picture *picture, double begin, double end,
                  uint8_t color, bool is_wait)
{
    int first = (int)begin;
    for (int i = first; i < COLUMNS && i < end; i++) {
        double from = begin > i ? begin : i, to = end < i + 1 ? end : i + 1;
        struct column_paint *column = &picture->columns[i];
        if (is_wait) {
            column->wait += (float)(to - from);
            continue;
        }
        if ((float)(to - from) >= column->busy)
            column->color = color;
        column->busy += (float)(to - from);
    }
}

static void cover_calls(struct picture *picture, int place)
{
    const struct traced_process *process =
        &picture->analysis->job.processes[place];
    memset(picture->columns, 0, sizeof picture->columns);
    for (uint32_t i = 0; i < process->num_calls; i++) {
        const struct traced_call *call = &process->calls[i];
        struct timeline_span span =
            timeline_span(&picture->timeline, place, call);
        if (span.end < span.begin || !call->came)
            continue;
        cover(picture, svg_picture_x(picture, span.begin),
              svg_picture_x(picture, span.end), color_of(picture, call->name),
              false);
        cover(picture, svg_picture_x(picture, span.wait_begin),
              svg_picture_x(picture, span.wait_end), 0, true);
    }
}

/* "w": it waits; "c3": a call; "d3": there is a short one; NULL: none. */
static const char *class_of(const struct column_paint *column, char *text)
{
    if (column->busy <= 0)
        return NULL;
    if (column->wait > column->busy / 2) {
        strcpy(text, "w");
        return text;
    }
    text[0] = column->busy < 0.25f ? 'd' : 'c';
    text[1] = (char)('0' + column->color);
    text[2] = '\0';
    return text;
}

static bool is_alike(const struct column_paint *a, const struct column_paint *b)
{
    char one[3], other[3];
    const char *left = class_of(a, one), *right = class_of(b, other);
    return left && right ? strcmp(left, right) == 0 : left == right;
}

static void draw_runs(struct picture *picture, int place)
{
    double top = svg_picture_row(picture, place);
    for (int i = 0, next; i < COLUMNS; i = next) {
        char text[3];
        const char *name = class_of(&picture->columns[i], text);
        for (next = i + 1; next < COLUMNS; next++)
            if (!is_alike(&picture->columns[i], &picture->columns[next]))
                break;
        if (name)
            fprintf(picture->out,
                    "<rect class=\"%s\" x=\"%d\" y=\"%.5g\" width=\"%d\" "
                    "height=\"%.4g\"/>\n",
                    name, LEFT + i, top, next - i, svg_picture_height(picture));
    }
}

/* ---- words over boxes --------------------------------------------------- */

static void draw_word(struct picture *picture, double x, double width,
                      double top, const char *name, bool is_on_wait)
{
    if (picture->pitch < WORD_HEIGHT ||
        width < (double)strlen(name) * WORD_WIDTH)
        return;
    fprintf(picture->out, "<text class=\"%c\" x=\"%.5g\" y=\"%.5g\">",
            is_on_wait ? 'o' : 'n', x + 3,
            top + svg_picture_height(picture) / 2 + 4);
    jd__svg_escape(picture->out, name);
    fputs("</text>\n", picture->out);
}

static void draw_tip(struct picture *picture, int place,
                     const struct traced_call *call)
{
    const struct traced_job *job = &picture->analysis->job;
    struct timeline_span span = timeline_span(&picture->timeline, place, call);
    double x = LEFT + svg_picture_x(picture, span.begin);
    double width = svg_picture_x(picture, span.end - span.begin);
    double top = svg_picture_row(picture, place);
    if (width < TIP_WIDTH)
        return;
    draw_word(picture, x, width, top, text_set_at(&job->texts, call->name),
              2 * (span.wait_end - span.wait_begin) > span.end - span.begin);
    fprintf(picture->out,
            "<rect class=\"t\" x=\"%.5g\" y=\"%.5g\" width=\"%.5g\" "
            "height=\"%.4g\"><title>",
            x, top, width, svg_picture_height(picture));
    jd__svg_escape(picture->out, text_set_at(&job->texts, call->name));
    if (call->site) {
        fputs(" at ", picture->out);
        jd__svg_escape(picture->out, text_set_at(&job->texts, call->site));
    }
    fprintf(picture->out, ", %.6g ms, of which it waited %.6g ms",
            (span.end - span.begin) * 1e-6,
            (span.wait_end - span.wait_begin) * 1e-6);
    if (call->last >= 0)
        fprintf(picture->out, " for process %d", call->last);
    fputs("</title></rect>\n", picture->out);
}

static void draw_tips(struct picture *picture, int place)
{
    const struct traced_process *process =
        &picture->analysis->job.processes[place];
    for (uint32_t i = 0; i < process->num_calls; i++)
        draw_tip(picture, place, &process->calls[i]);
}

/* ---- rows --------------------------------------------------------------- */

static bool is_culprit(const struct picture *picture, int place)
{
    return culprit_is(&picture->analysis->culprits,
                      picture->analysis->job.processes[place].index);
}

static void draw_mark(struct picture *picture, int place)
{
    double top =
        svg_picture_row(picture, place) - picture->band - picture->gap / 2;
    fprintf(picture->out,
            "<rect class=\"k\" x=\"0\" y=\"%.5g\" width=\"%d\" "
            "height=\"%.4g\"/>\n<rect class=\"m\" x=\"%d\" y=\"%.5g\" "
            "width=\"4\" height=\"%.4g\"/>\n",
            top, WIDTH, picture->pitch, LEFT - 6, top, picture->pitch);
}

static void draw_label(struct picture *picture, int place, bool is_marked)
{
    fprintf(picture->out,
            "<text class=\"%s\" x=\"%d\" y=\"%.5g\">process %d</text>\n",
            is_marked ? "q" : "p", LEFT - 10,
            svg_picture_row(picture, place) - picture->band +
                picture->pitch / 2 + 3,
            picture->analysis->job.processes[place].index);
}

/* Every how manieth process has a label: a round number. */
static int label_step(const struct picture *picture)
{
    static const int steps[] = { 1, 2, 5, 10, 20, 50 };
    size_t i = 0;
    while (i < sizeof steps / sizeof *steps - 1 &&
           steps[i] * picture->pitch < LABEL_HEIGHT)
        i++;
    return steps[i];
}

/* Those of culprits first; others where there is room beside them. */
static void draw_labels(struct picture *picture, char *is_taken)
{
    int count = picture->analysis->job.count;
    int each = (int)(LABEL_HEIGHT / picture->pitch);
    int step = label_step(picture);
    for (int round = 0; round < 2; round++)
        for (int i = 0, free_from = 0; i < count; i++) {
            bool is_marked = is_culprit(picture, i), is_free = true;
            bool is_round =
                is_marked ||
                picture->analysis->job.processes[i].index % step == 0;
            if (is_marked != (round == 0) || !is_round || i < free_from)
                continue;
            for (int k = i - each; is_free && k <= i + each; k++)
                is_free = k < 0 || k >= count || !is_taken[k];
            if (!is_free)
                continue;
            draw_label(picture, i, is_marked);
            is_taken[i] = 1;
            free_from = i + each + 1;
        }
}

static bool draw_rows(struct picture *picture)
{
    int count = picture->analysis->job.count;
    char *is_taken = calloc((size_t)count + 1, 1);
    if (!is_taken)
        return false;
    for (int i = 0; i < count; i++)
        if (is_culprit(picture, i))
            draw_mark(picture, i);
    draw_labels(picture, is_taken);
    for (int i = 0; i < count; i++) {
        cover_calls(picture, i);
        draw_runs(picture, i);
        svg_own_draw_band(picture, i, count <= TIP_ROWS);
        if (count <= TIP_ROWS)
            draw_tips(picture, i);
    }
    free(is_taken);
    return true;
}

/* ---- around them -------------------------------------------------------- */

/* On a page that is dark. What is drawn of calls is the same on both. */
static void draw_dark_style(FILE *out)
{
    fputs("@media (prefers-color-scheme:dark){text{fill:#d8d8d8}"
          ".q{fill:#ff9a90}.n{fill:#fff}.o{fill:#222}.s{fill:#15181c}"
          ".k{fill:#4a2522}.m{fill:#ff6b60}path{stroke:#555}}",
          out);
}

static void draw_head(struct picture *picture, double height)
{
    static const char *const colors[COLORS] = {
        "#4c78a8", "#54a24b", "#b279a2", "#439894",
        "#79706e", "#9d755d", "#8c6bb1", "#7f8fa6",
    };
    fprintf(picture->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n<style>"
            "text{font:11px sans-serif;fill:#333}.p,.q{text-anchor:end}"
            ".q{fill:#c00;font-weight:bold}.n,.o{fill:#fff;font-size:10px}.o{"
            "fill:#222}"
            ".h{font-size:14px;font-weight:bold}.a{text-anchor:middle}"
            ".w{fill:#f2b05e}.t{fill-opacity:0}.k{fill:#fbdcd8}.m{fill:#c00}",
            WIDTH, height, WIDTH, height);
    for (int i = 0; i < COLORS; i++)
        fprintf(picture->out, ".c%d{fill:%s}.d%d{fill:%s;fill-opacity:.45}", i,
                colors[i], i, colors[i]);
    svg_own_write_style(picture->out);
    draw_dark_style(picture->out);
    fprintf(picture->out,
            "</style>\n<rect class=\"s\" width=\"%d\" height=\"%.0f\" "
            "fill=\"#fff\"/>\n",
            WIDTH, height);
}

static void draw_title(struct picture *picture)
{
    const struct traced_job *job = &picture->analysis->job;
    const struct group_list *culprits = &picture->analysis->culprits;
    fputs("<text class=\"h\" x=\"10\" y=\"22\">Job ", picture->out);
    jd__svg_escape(picture->out, job->count ? job->processes[0].job : "");
    fprintf(picture->out, ": %d of %d processes</text>\n", job->count,
            job->num_processes);
    if (culprits->count) {
        const char *text = culprits->groups[0].text;
        size_t length = strlen(text);
        if (length > TITLE_LETTERS)
            for (length = TITLE_LETTERS; length > 0; length--)
                if (((unsigned char)text[length] & 0xc0) != 0x80)
                    break;
        fputs("<text class=\"q\" style=\"text-anchor:start\" x=\"10\" "
              "y=\"40\">culprit: ",
              picture->out);
        groups_print(picture->out, &culprits->groups[0]);
        fputs(": ", picture->out);
        jd__svg_escape_part(picture->out, text, length);
        fputs(text[length] ? " ...</text>\n" : "</text>\n", picture->out);
    }
    if (picture->timeline.num_clocks > 1)
        fprintf(picture->out,
                "<text x=\"10\" y=\"56\">Times are of %d clocks, which are not "
                "aligned: each host begins at its own first time.</text>\n",
                picture->timeline.num_clocks);
    else if (picture->analysis->alignment.count > 1)
        fprintf(
            picture->out,
            "<text x=\"10\" y=\"56\">Times are of the clock of process "
            "0's host; those of others are off by %.3g ms at most.</text>\n",
            picture->analysis->alignment.error * 1e-6);
}

/* A step of 1, 2 or 5 of some power of ten that makes at most ten ticks. */
static double tick_step(double length)
{
    double step = 1;
    for (int i = 0; step * 10 < length && i < 60; i++)
        step *= i % 3 == 1 ? 2.5 : 2;
    return step;
}

static void draw_tick(struct picture *picture, double x, double bottom,
                      double time, const char *unit)
{
    fprintf(picture->out,
            "<path d=\"M%.5g %d V%.5g\" stroke=\"#ccc\" "
            "stroke-width=\".5\"/>\n",
            x, TOP - 4, bottom + 4);
    for (int i = 0; i < 2; i++)
        fprintf(picture->out,
                "<text class=\"a\" x=\"%.5g\" y=\"%.5g\">%.4g %s</text>\n", x,
                i ? bottom + 16 : TOP - 8, time, unit);
}

static void draw_axis(struct picture *picture, double bottom)
{
    double length = picture->timeline.length;
    double step = tick_step(length);
    const char *unit = length >= 1e9 ? "s" : length >= 1e6 ? "ms" : "us";
    double scale = length >= 1e9 ? 1e9 : length >= 1e6 ? 1e6 : 1e3;
    for (double time = 0; length > 0 && time <= length; time += step)
        draw_tick(picture, LEFT + svg_picture_x(picture, time), bottom,
                  time / scale, unit);
    if (length <= 0)
        fprintf(picture->out,
                "<text x=\"%d\" y=\"%.5g\">No call has times; JD_TRACE=1 "
                "records them.</text>\n",
                LEFT, bottom + 16);
}

static double draw_legend_item(struct picture *picture, double x, double y,
                               const char *name, const char *words)
{
    fprintf(picture->out,
            "<rect class=\"%s\" x=\"%.5g\" y=\"%.5g\" width=\"12\" "
            "height=\"10\"/>\n<text x=\"%.5g\" y=\"%.5g\">",
            name, x, y - 9, x + 16, y);
    jd__svg_escape(picture->out, words);
    fputs("</text>\n", picture->out);
    return x + 32 + WORD_WIDTH * (double)strlen(words);
}

static void draw_legend(struct picture *picture, double y)
{
    const struct text_set *texts = &picture->analysis->job.texts;
    double x = draw_legend_item(picture, LEFT, y, "w", "waits");
    if (picture->analysis->culprits.count)
        x = draw_legend_item(picture, x, y, "m", "culprit");
    for (int i = 0; i < picture->num_names; i++) {
        char name[] = { 'c', (char)('0' + i), '\0' };
        const char *words = text_set_at(texts, picture->names[i]);
        if (x + WORD_WIDTH * (double)strlen(words) < WIDTH - RIGHT)
            x = draw_legend_item(picture, x, y, name, words);
    }
    const char *words;
    char name[3];
    for (int i = 0; svg_own_legend(picture, i, name, &words); i++)
        if (x + WORD_WIDTH * (double)strlen(words) < WIDTH - RIGHT)
            x = draw_legend_item(picture, x, y, name, words);
}

static void choose_pitch(struct picture *picture, int count)
{
    double pitch = count <= 32 ? 24 : count <= 100 ? 14 : (int)(1600 / count);
    picture->pitch = pitch < 2 ? 2 : pitch;
    picture->gap = pitch >= 20 ? 5 : pitch >= 10 ? 2 : pitch >= 4 ? 1 : 0;
}

bool jd_trace_write_svg(const struct analysis *analysis, FILE *out)
{
    struct picture *picture = calloc(1, sizeof *picture);
    if (!picture)
        return false;
    picture->out = out;
    picture->analysis = analysis;
    choose_pitch(picture, analysis->job.count);
    svg_own_choose_band(picture);
    bool is_whole = timeline_make(&analysis->job, &picture->timeline);
    double bottom =
        svg_picture_row(picture, analysis->job.count) - picture->band;
    draw_head(picture, bottom + BOTTOM);
    draw_title(picture);
    if (is_whole) {
        draw_axis(picture, bottom);
        is_whole = draw_rows(picture);
        draw_legend(picture, bottom + 40);
    }
    fputs("</svg>\n", out);
    timeline_finish(&picture->timeline);
    free(picture);
    return is_whole;
}
