/* SPDX-License-Identifier: BSD-3-Clause */
/* picture.c - what the picture of a sharding has to show. */
#include "arrays/sharding/picture.h"
#include "base/colour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jd_drawn {
    int box;
    int process;
    int ordinal;
};

/* ---- dimensions --------------------------------------------------------- */

static struct jd_bands bands_of(int64_t length, int ways)
{
    int64_t size = length / ways + (length % ways != 0);
    int64_t full = size ? length / size + (length % size != 0) : 0;
    return (struct jd_bands){ length, ways, (int)full + (full < ways) };
}

/* Dimensions that are cut come before the others, long ones first; of others
 * and of equally long ones the first. */
static int choose_dimension(const struct jd_picture *picture, int other)
{
    int best = -1;
    int64_t best_length = -2;
    for (int d = 0; d < picture->ndim; d++) {
        const struct jd_bands *bands = &picture->bands[d];
        int64_t length = bands->ways > 1 ? bands->length : -1;
        if (d != other && length > best_length) {
            best = d;
            best_length = length;
        }
    }
    return best;
}

static bool has_own_tables(const struct jd_picture *picture, int dimension)
{
    return dimension != picture->row && dimension != picture->column;
}

static void choose_dimensions(struct jd_picture *picture)
{
    int one = choose_dimension(picture, -1);
    int other = choose_dimension(picture, one);
    picture->row = one < other ? one : other;
    picture->column = one < other ? other : one;
    const struct jd_bands *bands = picture->bands;
    picture->num_rows = picture->row < 0 ? 1 : bands[picture->row].count;
    picture->num_columns =
        picture->column < 0 ? 1 : bands[picture->column].count;
    picture->num_tables = 1;
    for (int d = 0; d < picture->ndim; d++)
        if (has_own_tables(picture, d))
            picture->num_tables *= bands[d].count;
}

/* ---- devices ------------------------------------------------------------ */

int jd__picture_box(const struct jd_picture *picture, int table, int row,
                    int column)
{
    return (table * picture->num_rows + row) * picture->num_columns + column;
}

static int box_of_block(const struct jd_picture *picture, int block)
{
    int at[JD_MAX_NDIM], table = 0;
    for (int d = picture->ndim - 1; d >= 0; d--) {
        const struct jd_bands *bands = &picture->bands[d];
        int number = block % bands->ways;
        block /= bands->ways;
        at[d] = number < bands->count ? number : bands->count - 1;
    }
    for (int d = 0; d < picture->ndim; d++)
        if (has_own_tables(picture, d))
            table = table * picture->bands[d].count + at[d];
    return jd__picture_box(picture, table,
                           picture->row < 0 ? 0 : at[picture->row],
                           picture->column < 0 ? 0 : at[picture->column]);
}

static int compare_drawn(const void *one, const void *other)
{
    const struct jd_drawn *a = one, *b = other;
    if (a->box != b->box)
        return a->box < b->box ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

static void draw_devices(struct jd_picture *picture)
{
    const jd_sharding *sharding = picture->sharding;
    for (int i = 0; i < sharding->num_devices; i++)
        picture->drawn[i] = (struct jd_drawn){
            .box = box_of_block(picture, sharding->blocks[i]),
            .process = sharding->devices[i]->process_index,
            .ordinal = sharding->devices[i]->local_ordinal,
        };
    qsort(picture->drawn, (size_t)sharding->num_devices, sizeof *picture->drawn,
          compare_drawn);
}

jd_status jd__picture_make(const char *operation, const jd_sharding *sharding,
                           int ndim, const int64_t *shape,
                           struct jd_picture *ret_picture)
{
    struct jd_picture picture = { .sharding = sharding, .ndim = ndim };
    size_t bytes = (size_t)sharding->num_devices * sizeof *picture.drawn;
    picture.drawn = malloc(bytes);
    if (!picture.drawn)
        return jd__fail_no_memory(operation, bytes);
    for (int d = 0; d < ndim; d++)
        picture.bands[d] = bands_of(shape[d], sharding->cuts[d].ways);
    choose_dimensions(&picture);
    draw_devices(&picture);
    *ret_picture = picture;
    return JD_OK;
}

void jd__picture_finish(struct jd_picture *picture)
{
    free(picture->drawn);
}

/* ---- lines -------------------------------------------------------------- */

/* Numbers that are as far apart. */
struct steps {
    int first, last, step;
};

/* Each of some processes has each of some devices. */
struct picture_group {
    struct steps processes, ordinals;
};

static bool has_same_steps(const struct steps *a, const struct steps *b)
{
    return a->first == b->first && a->last == b->last && a->step == b->step;
}

/* Two that do not follow each other are not worth a step. */
static int end_steps(struct steps *steps, int count)
{
    if (count == 2 && steps->step > 1)
        count = 1;
    if (count == 1)
        steps->step = 1;
    steps->last = steps->first + (count - 1) * steps->step;
    return count;
}

/* Devices of one process; gives how many. */
static int read_ordinals(const struct jd_drawn *drawn, int count,
                         struct steps *ret_steps)
{
    struct steps steps = { .first = drawn->ordinal, .step = 1 };
    int n = 1;
    if (count > 1 && drawn[1].process == drawn->process)
        steps.step = drawn[1].ordinal - drawn->ordinal;
    while (n < count && drawn[n].process == drawn->process &&
           drawn[n].ordinal == drawn->ordinal + n * steps.step)
        n++;
    n = end_steps(&steps, n);
    *ret_steps = steps;
    return n;
}

/* The processes from the first one on whose devices are alike. */
static int read_group(const struct jd_drawn *drawn, int count,
                      struct picture_group *ret_group)
{
    struct picture_group group = { .processes = { .first = drawn->process,
                                                  .step = 1 } };
    struct steps *processes = &group.processes, ordinals;
    int each = read_ordinals(drawn, count, &group.ordinals), n = 1;
    if (each < count && drawn[each].process > drawn->process)
        processes->step = drawn[each].process - drawn->process;
    for (; n * each < count; n++) {
        const struct jd_drawn *next = drawn + n * each;
        read_ordinals(next, count - n * each, &ordinals);
        if (next->process != drawn->process + n * processes->step ||
            !has_same_steps(&ordinals, &group.ordinals))
            break;
    }
    n = end_steps(processes, n);
    *ret_group = group;
    return n * each;
}

/* "3", "0-3", "0,4..12" */
static void print_steps(const struct steps *steps, char *text, size_t size)
{
    if (steps->first == steps->last)
        snprintf(text, size, "%d", steps->first);
    else if (steps->step == 1)
        snprintf(text, size, "%d-%d", steps->first, steps->last);
    else
        snprintf(text, size, "%d,%d..%d", steps->first,
                 steps->first + steps->step, steps->last);
}

static void print_group(const struct picture_group *group, char *text,
                        size_t size)
{
    char processes[40], ordinals[40];
    print_steps(&group->processes, processes, sizeof processes);
    print_steps(&group->ordinals, ordinals, sizeof ordinals);
    snprintf(text, size, "%s:%s", processes, ordinals);
}

/* The first device of the box, or of the first one after it that has any. */
static int first_of(const struct jd_picture *picture, int box)
{
    int low = 0, high = picture->sharding->num_devices;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (picture->drawn[middle].box < box)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int jd__picture_lines(const struct jd_picture *picture, int box)
{
    int at = first_of(picture, box), end = first_of(picture, box + 1);
    int lines = 0;
    for (struct picture_group group; at < end && lines < JD_PICTURE_LINES;
         lines++)
        at += read_group(picture->drawn + at, end - at, &group);
    return lines;
}

void jd__picture_line(const struct jd_picture *picture, int box, int line,
                      char *text, size_t size)
{
    int at = first_of(picture, box), end = first_of(picture, box + 1), left = 0;
    struct picture_group group;
    *text = '\0';
    if (line >= jd__picture_lines(picture, box))
        return;
    for (int i = 0; i <= line; i++) {
        left = end - at;
        at += read_group(picture->drawn + at, left, &group);
    }
    print_group(&group, text, size);
    if (line == JD_PICTURE_LINES - 1 && at < end)
        snprintf(text, size, "+ %d more", left);
}

int jd__picture_width(const struct jd_picture *picture)
{
    int count = picture->sharding->num_devices, width = 0;
    for (int at = 0, end; at < count; at = end) {
        char text[JD_PICTURE_TEXT];
        int box = picture->drawn[at].box;
        end = first_of(picture, box + 1);
        int lines = jd__picture_lines(picture, box);
        for (int line = 0; line < lines; line++) {
            jd__picture_line(picture, box, line, text, sizeof text);
            int length = (int)strlen(text);
            width = length > width ? length : width;
        }
    }
    return width;
}

/* ---- ranges ------------------------------------------------------------- */

void jd__picture_range(const struct jd_picture *picture, int dimension,
                       int band, char *text, size_t size)
{
    *text = '\0';
    if (dimension < 0)
        return;
    const struct jd_bands *bands = &picture->bands[dimension];
    jd_range range = jd__sharding_cut_range(bands->length, bands->ways, band);
    snprintf(text, size, "[%lld,%lld)", (long long)range.begin,
             (long long)range.end);
}

int jd__picture_table_band(const struct jd_picture *picture, int table,
                           int dimension)
{
    if (!has_own_tables(picture, dimension))
        return 0;
    for (int d = picture->ndim - 1; d > dimension; d--)
        if (has_own_tables(picture, d))
            table /= picture->bands[d].count;
    return table % picture->bands[dimension].count;
}

int jd__picture_colour(int row, int column)
{
    return (row % JD_COLOURS * 5 + column) % JD_COLOURS;
}
