/* SPDX-License-Identifier: BSD-3-Clause */
/* test_picture.c - any sharding, drawn: each device is in its box alone. */
#include "arrays/sharding/picture.h"
#include "tests/unit/made_mesh.h"

/* "3", "0-3", "0,4..12": whether the number is among them; *text is moved
 * behind. */
static bool read_steps(const char **text, int number)
{
    char *end;
    int first = (int)strtol(*text, &end, 10), last = first, step = 1;
    if (*end == '-') {
        last = (int)strtol(end + 1, &end, 10);
    } else if (*end == ',') {
        step = (int)strtol(end + 1, &end, 10) - first;
        last = (int)strtol(end + 2, &end, 10);
    }
    *text = end;
    return number >= first && number <= last && (number - first) % step == 0;
}

/* In how many lines of the box the device is. */
static int find_device(const struct jd_picture *picture, int box,
                       const jd_device *device, bool *ret_is_cut)
{
    int found = 0, lines = jd__picture_lines(picture, box);
    for (int line = 0; line < lines; line++) {
        char text[JD_PICTURE_TEXT];
        const char *at = text;
        jd__picture_line(picture, box, line, text, sizeof text);
        *ret_is_cut |= *text == '+';
        if (*text == '+')
            continue;
        bool is_in = read_steps(&at, device->process_index);
        ck_assert_int_eq(*at++, ':');
        is_in &= read_steps(&at, device->local_ordinal);
        ck_assert_int_eq(*at, '\0');
        found += is_in;
    }
    return found;
}

static bool has_range(const struct jd_picture *picture, int dimension, int band,
                      const jd_range *index)
{
    char text[JD_PICTURE_TEXT], wanted[JD_PICTURE_TEXT];
    if (dimension < 0)
        return true;
    jd__picture_range(picture, dimension, band, text, sizeof text);
    snprintf(wanted, sizeof wanted, "[%d,%d)", (int)index[dimension].begin,
             (int)index[dimension].end);
    return strcmp(text, wanted) == 0;
}

/* The one box whose ranges are the device's; -1: none. */
static int box_of(const struct jd_picture *picture, const jd_range *index)
{
    int found = -1;
    for (int table = 0; table < picture->num_tables; table++)
        for (int row = 0; row < picture->num_rows; row++)
            for (int column = 0; column < picture->num_columns; column++) {
                bool is_it = has_range(picture, picture->row, row, index) &&
                             has_range(picture, picture->column, column, index);
                for (int d = 0; d < picture->ndim; d++)
                    if (d != picture->row && d != picture->column)
                        is_it &= has_range(
                            picture, d,
                            jd__picture_table_band(picture, table, d), index);
                if (is_it)
                    ck_assert_int_eq(found, -1);
                if (is_it)
                    found = jd__picture_box(picture, table, row, column);
            }
    return found;
}

static void check_picture(const struct jd_mesh *mesh,
                          const jd_sharding *sharding, int ndim,
                          const int64_t *shape)
{
    struct jd_picture picture;
    UNIT_OK(jd__picture_make("test", sharding, ndim, shape, &picture));
    int boxes = picture.num_tables * picture.num_rows * picture.num_columns;
    for (int i = 0; i < mesh->size; i++) {
        jd_range index[JD_MAX_NDIM];
        UNIT_OK(jd_sharding_index(sharding, ndim, shape, mesh->devices[i],
                                  index, NULL));
        int own = box_of(&picture, index);
        ck_assert_int_ge(own, 0);
        for (int box = 0; box < boxes; box++) {
            bool is_cut = false;
            int found = find_device(&picture, box, mesh->devices[i], &is_cut);
            if (box != own)
                ck_assert_int_eq(found, 0);
            else
                ck_assert(found == 1 || (is_cut && found == 0));
        }
    }
    jd__picture_finish(&picture);
}

START_TEST(each_device_is_in_its_box)
{
    srand(draw_seed());
    for (int turn = 0; turn < 300; turn++) {
        struct jd_axes cuts[JD_MAX_NDIM];
        int sizes[JD_MAX_AXES], ndim = rand() % 5;
        int64_t shape[JD_MAX_NDIM];
        struct jd_mesh mesh;
        jd_sharding *sharding;
        char text[64];
        int axes = draw_sizes(24, sizes);
        make_mesh(&mesh, axes, sizes, 1 + rand() % 8);
        if (turn % 2)
            shuffle_mesh(&mesh);
        draw_spec(&mesh, ndim, cuts, text);
        for (int d = 0; d < ndim; d++)
            shape[d] = rand() % 12;
        UNIT_OK(jd_sharding_create(&sharding, &mesh, text));
        check_picture(&mesh, sharding, ndim, shape);
        jd_sharding_release(sharding);
    }
}
END_TEST

START_TEST(tables_are_row_major)
{
    int64_t shape[4] = { 2, 3, 8, 9 };
    struct jd_picture picture;
    struct jd_mesh mesh;
    jd_sharding *sharding;
    make_mesh(&mesh, 4, (int[]){ 2, 3, 2, 2 }, 4);
    UNIT_OK(jd_sharding_create(&sharding, &mesh, "a,b,c,d"));
    UNIT_OK(jd__picture_make("test", sharding, 4, shape, &picture));
    ck_assert_int_eq(picture.num_tables, 6);
    for (int table = 0; table < 6; table++) {
        ck_assert_int_eq(jd__picture_table_band(&picture, table, 0), table / 3);
        ck_assert_int_eq(jd__picture_table_band(&picture, table, 1), table % 3);
        ck_assert_int_eq(jd__picture_table_band(&picture, table, 2), 0);
        ck_assert_int_eq(jd__picture_table_band(&picture, table, 3), 0);
    }
    jd__picture_finish(&picture);
    check_picture(&mesh, sharding, 4, shape);
    jd_sharding_release(sharding);
}
END_TEST

/* The devices 0, 2 and 4 of one process, and 0 to 4 of the next one, end
 * alike. */
START_TEST(unlike_steps_are_apart)
{
    static const int ordinals[] = { 0, 2, 4, 0, 1, 2, 3, 4 };
    char first[JD_PICTURE_TEXT], second[JD_PICTURE_TEXT];
    struct jd_picture picture;
    struct jd_mesh mesh;
    jd_sharding *sharding;
    make_mesh(&mesh, 1, (int[]){ 8 }, 8);
    for (int i = 0; i < 8; i++) {
        made_devices[i].process_index = i >= 3;
        made_devices[i].local_ordinal = ordinals[i];
    }
    UNIT_OK(jd_sharding_create(&sharding, &mesh, ""));
    UNIT_OK(jd__picture_make("test", sharding, 0, NULL, &picture));
    ck_assert_int_eq(jd__picture_lines(&picture, 0), 2);
    jd__picture_line(&picture, 0, 0, first, sizeof first);
    jd__picture_line(&picture, 0, 1, second, sizeof second);
    ck_assert_str_eq(first, "0:0,2..4");
    ck_assert_str_eq(second, "1:0-4");
    ck_assert_int_eq(jd__picture_width(&picture), 8);
    jd__picture_finish(&picture);
    jd_sharding_release(sharding);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("picture");
    TCase *devices = unit_case(suite, "devices");
    tcase_add_test(devices, each_device_is_in_its_box);
    tcase_add_test(devices, tables_are_row_major);
    tcase_add_test(devices, unlike_steps_are_apart);
    return unit_main(suite);
}
