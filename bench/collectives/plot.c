/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plot.c - the picture of `jd-bench collectives`: what gnuplot is told.
 *
 * It is drawn on a sheet of its own, so that it can be read on a page of any
 * colour. Curves differ in colour (a palette that colour-blind people can tell
 * apart), and without colour in the shape of their points; the peer's are
 * dashed, with hollow points.
 */
#include "base/text.h"
#include "bench/collectives/collectives.h"
#include "bench/jd_bench.h"
#include "jd_process.h"
#include "runtime/mpi/library.h"
#include "runtime/topology/host.h"

#include <ctype.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WIDTH = 900,
    HEIGHT = 560,     /* without the legend */
    KEY_ROW = 22,     /* of the legend */
    KEY_COLUMNS = 3,  /* how many curves stand side by side there */
    SIZE_LABELS = 10, /* at most, about */
    BAND_FROM = 5,    /* percent */
    BAND_TO = 95,
    ALL_DECADES = 100, /* from this quotient on, decades alone have labels */
};

/* The samples of one side, over sizes. */
struct curve {
    const struct bench_cell *first;
    int side;
    int kind; /* how many operations, types and numbers of processes before;
               * in place is another */
};

struct picture {
    const struct bench_plot *plot;
    FILE *gnuplot;
    struct curve *curves;
    int count;
    int least_power, most_power; /* of two: sizes */
    double low, high;            /* microseconds */
    bool has_processes;          /* several numbers of them */
};

/* ---- what is drawn ------------------------------------------------------ */

static bool is_alike(const struct bench_cell *a, const struct bench_cell *b)
{
    return a->op == b->op && a->dtype == b->dtype && a->ranks == b->ranks;
}

static bool is_first(const struct bench_results *results, int index)
{
    for (int i = 0; i < index; i++)
        if (is_alike(&results->cells[i], &results->cells[index]))
            return false;
    return true;
}

/* How many of its sizes have samples of the side. */
static int count_points(const struct bench_results *results,
                        const struct bench_cell *first, int side)
{
    int points = 0;
    for (int i = 0; i < results->count; i++)
        points += is_alike(first, &results->cells[i]) &&
                  results->cells[i].samples[side].count > 0;
    return points;
}

/* Of jd and its peer, out of place or in; whether there are any. */
static bool add_curves(struct picture *picture, const struct bench_cell *cell,
                       int first, int kind)
{
    bool any = false;
    for (int side = first; side < first + BENCH_APART; side++) {
        if (!count_points(picture->plot->results, cell, side))
            continue;
        picture->curves[picture->count++] = (struct curve){ cell, side, kind };
        any = true;
    }
    return any;
}

static bool find_curves(struct picture *picture)
{
    const struct bench_results *results = picture->plot->results;
    size_t most = (size_t)results->count * BENCH_SIDES;
    picture->curves = calloc(most ? most : 1, sizeof *picture->curves);
    if (!picture->curves)
        return false;
    for (int i = 0, kind = 0; i < results->count; i++) {
        const struct bench_cell *cell = &results->cells[i];
        if (!is_first(results, i))
            continue;
        for (int first = 0; first < BENCH_SIDES; first += BENCH_APART)
            kind += add_curves(picture, cell, first, kind);
    }
    return true;
}

static double percentile_us(const struct bench_samples *samples, int percent)
{
    return 1e6 * bench_samples_percentile(samples, percent / 100.0);
}

/* The power of ten at the value or below it. */
static double floor_decade(double value)
{
    double decade = 1;
    while (decade > value)
        decade /= 10;
    while (decade * 10 <= value)
        decade *= 10;
    return decade;
}

/* The least of 1, 2, 5 times a power of ten that is not below the value. */
static double tick_above(double value)
{
    static const double steps[] = { 1, 2, 5 };
    double decade = floor_decade(value);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (decade * steps[i] >= value * (1 - 1e-9))
            return decade * steps[i];
    return decade * 10;
}

/* The greatest of them that is not above it. */
static double tick_below(double value)
{
    double decade = floor_decade(value * (1 + 1e-9));
    double times = value / decade * (1 + 1e-9);
    return decade * (times >= 5 ? 5 : times >= 2 ? 2 : 1);
}

static int floor_power(size_t bytes)
{
    int power = 0;
    while (bytes >>= 1)
        power++;
    return power;
}

static void add_to_frame(struct picture *picture, const struct bench_cell *cell)
{
    for (int side = 0; side < BENCH_SIDES; side++) {
        const struct bench_samples *samples = &cell->samples[side];
        if (!samples->count)
            continue;
        double low = tick_below(percentile_us(samples, BAND_FROM));
        double high = tick_above(percentile_us(samples, BAND_TO));
        bool is_new = picture->high <= 0;
        picture->low = is_new || low < picture->low ? low : picture->low;
        picture->high = high > picture->high ? high : picture->high;
    }
    if (cell->bytes == 0)
        return;
    int from = floor_power(cell->bytes);
    int to = from + ((size_t)1 << from < cell->bytes);
    bool is_new = picture->most_power < 0;
    picture->least_power =
        is_new || from < picture->least_power ? from : picture->least_power;
    picture->most_power = to > picture->most_power ? to : picture->most_power;
}

/* A barrier has no size: with nothing beside it the axis has one anyway. */
static void find_frame(struct picture *picture)
{
    const struct bench_results *results = picture->plot->results;
    picture->most_power = -1;
    for (int i = 0; i < results->count; i++) {
        add_to_frame(picture, &results->cells[i]);
        picture->has_processes |=
            results->cells[i].ranks != results->cells[0].ranks;
    }
    if (picture->most_power < 0)
        picture->least_power = picture->most_power = 3;
}

/* ---- what gnuplot is told ----------------------------------------------- */

/* Inside double quotes, whatever is in it: an octal number is no command. */
static void print_quoted(FILE *out, const char *text)
{
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (isalnum(byte) || byte == ' ' || byte == '.' || byte == '_')
            fputc(byte, out);
        else
            fprintf(out, "\\%03o", byte);
    }
}

/* "2 and 4 processes": in the order in which they were measured. */
static void print_processes(const struct picture *picture)
{
    const struct bench_results *results = picture->plot->results;
    int last = 0;
    for (int i = 0; i < results->count; i++) {
        int ranks = results->cells[i].ranks, before = 0;
        while (results->cells[before].ranks != ranks)
            before++;
        if (before == i)
            fprintf(picture->gnuplot, "%s%d", last ? " and " : "", ranks);
        last = before == i ? ranks : last;
    }
    fprintf(picture->gnuplot, " process%s", jd__text_es(last));
}

/* "AMD EPYC, 2 cores" */
static void print_machine(const struct picture *picture)
{
    FILE *out = picture->gnuplot;
    struct jd_local_facts facts;
    if (picture->plot->machine) {
        print_quoted(out, picture->plot->machine);
        fputs("\\n", out);
    } else if (jd__host_discover(&facts) == JD_OK) {
        print_quoted(out, facts.cpu_model);
        fprintf(out, ", %d core%s\\n", facts.num_cores,
                jd__text_s(facts.num_cores));
    }
}

static void print_versions(const struct picture *picture)
{
    FILE *out = picture->gnuplot;
    if (picture->plot->versions) {
        print_quoted(out, picture->plot->versions);
        return;
    }
    fputs("jd ", out);
    print_quoted(out, jd_version());
    fputs(", ", out);
    print_quoted(out, jd__mpi_library_name());
}

static void print_title(const struct picture *picture)
{
    FILE *out = picture->gnuplot;
    fputs("set title \"", out);
    print_machine(picture);
    print_processes(picture);
    fprintf(out, ", platform %s; ", picture->plot->platform);
    print_versions(picture);
    fputs("\"\n", out);
}

/* "64 KiB" */
static void print_size(FILE *out, int power)
{
    static const char *const units[] = { "B",   "KiB", "MiB", "GiB",
                                         "TiB", "PiB", "EiB" };
    fprintf(out, "%d %s", 1 << power % 10, units[power / 10]);
}

static void print_size_axis(const struct picture *picture)
{
    FILE *out = picture->gnuplot;
    int from = picture->least_power, to = picture->most_power;
    int step = (to - from) / SIZE_LABELS + 1;
    fprintf(out,
            "set logscale x 2\nset xrange [2**%d.5:2**%d.5]\n"
            "set xlabel 'size'\nset xtics (",
            from - 1, to);
    for (int power = from; power <= to; power += step) {
        fprintf(out, "%s'", power == from ? "" : ", ");
        print_size(out, power);
        fprintf(out, "' 2**%d", power);
    }
    fputs(")\n", out);
}

static void print_time_axis(const struct picture *picture)
{
    FILE *out = picture->gnuplot;
    bool has_all = picture->high / picture->low < ALL_DECADES;
    const char *between = "";
    fprintf(out,
            "set logscale y 10\nset yrange [%.7g:%.7g]\n"
            "set ylabel 'microseconds (line: median; band: %dth to %dth "
            "percentile)'\nset ytics (",
            picture->low, picture->high, BAND_FROM, BAND_TO);
    for (double tick = picture->low; tick <= picture->high * (1 + 1e-9);
         tick = tick_above(tick * 1.5)) {
        if (!has_all && tick / floor_decade(tick * (1 + 1e-9)) > 1.5)
            continue;
        fprintf(out, "%s'%.7g' %.7g", between, tick, tick);
        between = ", ";
    }
    fputs(")\n", out);
}

/* From the left edge to the right where there is no size. */
static void print_samples(const struct picture *picture,
                          const struct bench_cell *cell, int side)
{
    const struct bench_samples *samples = &cell->samples[side];
    double low = percentile_us(samples, BAND_FROM);
    double median = 1e6 * bench_samples_median(samples);
    double high = percentile_us(samples, BAND_TO);
    FILE *out = picture->gnuplot;
    if (cell->bytes)
        fprintf(out, "%zu %.6g %.6g %.6g\n", cell->bytes, low, median, high);
    for (int end = 0; end < 2 && !cell->bytes; end++)
        fprintf(out, "%zu %.6g %.6g %.6g\n",
                (size_t)1 << (end ? picture->most_power : picture->least_power),
                low, median, high);
}

static void print_data(const struct picture *picture, int index)
{
    const struct bench_results *results = picture->plot->results;
    const struct curve *curve = &picture->curves[index];
    fprintf(picture->gnuplot, "$curve%d << EOD\n", index);
    for (int i = 0; i < results->count; i++)
        if (is_alike(curve->first, &results->cells[i]) &&
            results->cells[i].samples[curve->side].count)
            print_samples(picture, &results->cells[i], curve->side);
    fputs("EOD\n", picture->gnuplot);
}

/* Okabe and Ito's, but for yellow, which is too light for a line. */
static const char *colour_of(int index)
{
    static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73",
                                           "#cc79a7", "#56b4e9", "#e69f00",
                                           "#000000" };
    return colours[(size_t)index % (sizeof colours / sizeof *colours)];
}

/* gnuplot's numbers of shapes: filled, hollow. */
static int shape_of(const struct curve *curve)
{
    static const int shapes[][2] = { { 7, 6 },   { 5, 4 },   { 9, 8 },
                                     { 11, 10 }, { 13, 12 }, { 15, 14 } };
    return shapes[(size_t)curve->kind % (sizeof shapes / sizeof *shapes)]
                 [bench_whose(curve->side)];
}

/* A band of one size would have no width. */
static void print_band(const struct picture *picture, int index)
{
    const struct curve *curve = &picture->curves[index];
    int points =
        count_points(picture->plot->results, curve->first, curve->side);
    fprintf(picture->gnuplot, "%s$curve%d using ", index ? ", " : "plot ",
            index);
    if (points == 1 && curve->first->bytes)
        fputs("1:3:2:4 with yerrorbars pointtype 0", picture->gnuplot);
    else
        fputs("1:2:4 with filledcurves fillstyle transparent solid 0.18 "
              "noborder",
              picture->gnuplot);
    fprintf(picture->gnuplot, " linecolor rgb '%s' notitle", colour_of(index));
}

static void print_line(const struct picture *picture, int index)
{
    const struct curve *curve = &picture->curves[index];
    const struct bench_cell *cell = curve->first;
    bool is_peer = bench_whose(curve->side) == BENCH_PEER;
    FILE *out = picture->gnuplot;
    fprintf(out,
            ", $curve%d using 1:3 with linespoints linecolor rgb '%s' "
            "linewidth 1.6 dashtype %s pointtype %d pointsize 0.8 title '%s %s",
            index, colour_of(index), is_peer ? "2" : "1", shape_of(curve),
            is_peer ? picture->plot->peer : "jd", bench_op_names[cell->op]);
    if (cell->op != BENCH_OP_barrier)
        fprintf(out, " %s", jd_dtype_name(cell->dtype));
    if (curve->side >= BENCH_APART)
        fputs(" in place", out);
    if (picture->has_processes)
        fprintf(out, ", %d process%s", cell->ranks, jd__text_es(cell->ranks));
    fputc('\'', out);
}

static void print_looks(const struct picture *picture)
{
    int rows = (picture->count + KEY_COLUMNS - 1) / KEY_COLUMNS;
    FILE *out = picture->gnuplot;
    fprintf(out,
            "set encoding utf8\nset terminal svg noenhanced size %d,%d font "
            "'sans-serif,13' background rgb '#ffffff'\n",
            WIDTH, HEIGHT + KEY_ROW * rows);
    fputs("set output \"", out);
    print_quoted(out, picture->plot->path);
    fprintf(out,
            "\"\nset grid linetype 1 linecolor rgb '#dddddd'\n"
            "set border linecolor rgb '#333333'\n"
            "set key outside bottom center horizontal maxcols %d samplen 4 "
            "height 1\n",
            KEY_COLUMNS);
}

/* Bands first: lines are above them. */
static void print_all(const struct picture *picture)
{
    print_looks(picture);
    print_title(picture);
    print_size_axis(picture);
    print_time_axis(picture);
    for (int i = 0; i < picture->count; i++)
        print_data(picture, i);
    for (int i = 0; i < picture->count; i++)
        print_band(picture, i);
    for (int i = 0; i < picture->count; i++)
        print_line(picture, i);
    fputc('\n', picture->gnuplot);
}

/* A gnuplot that is not there reads nothing, which must not end this program.
 */
static bool tell_gnuplot(struct picture *picture)
{
    struct sigaction before;
    sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, &before);
    picture->gnuplot = popen("gnuplot", "w");
    if (picture->gnuplot)
        print_all(picture);
    bool is_drawn = picture->gnuplot && pclose(picture->gnuplot) == 0;
    sigaction(SIGPIPE, &before, NULL);
    return is_drawn;
}

int bench_plot_draw(const struct bench_plot *plot)
{
    struct picture picture = { .plot = plot };
    bool has_memory = find_curves(&picture);
    find_frame(&picture);
    bool is_drawn = picture.count && tell_gnuplot(&picture);
    free(picture.curves);
    if (is_drawn)
        return 0;
    if (has_memory && picture.count == 0)
        fprintf(stderr,
                "jd-bench: %s is not drawn: nothing was measured; why is said "
                "above\n",
                plot->path);
    else
        fprintf(stderr,
                "jd-bench: gnuplot could not draw %s; is it installed? The "
                "table is complete without it\n",
                plot->path);
    return -1;
}
