/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_visualize.c - shardings as they are drawn: rows, columns, tables, what
 * is in a box, what is left out.
 */
#include "arrays/array/array.h"
#include "jd_process.h"
#include "tests/unit/drawing.h"

/* ---- boxes -------------------------------------------------------------- */

START_TEST(two_dimensions_are_rows_and_columns)
{
    DRAWS("[64,10] as \"a,b\": 6 blocks of up to [32,4], each on 1 of 6 cpu "
          "devices\n"
          "at the edges: elements of dimensions 0 and 1; in the boxes: "
          "process:device\n"
          "\n"
          "          [0,4)    [4,8)    [8,10)\n"
          "        +--------+--------+--------+\n"
          "[0,32)  | 0:0    | 0:1    | 0:2    |\n"
          "        +--------+--------+--------+\n"
          "[32,64) | 1:0    | 1:1    | 1:2    |\n"
          "        +--------+--------+--------+\n",
          &two_by_three, "a,b", SHAPE(64, 10));
}
END_TEST

START_TEST(one_dimension_is_a_row)
{
    DRAWS("[6] as \"b\": 3 blocks of [2], each on 2 of 6 cpu devices\n"
          "at the edges: elements of dimension 0; in the boxes: "
          "process:device\n"
          "\n"
          "  [0,2)   [2,4)   [4,6)\n"
          "+-------+-------+-------+\n"
          "| 0-1:0 | 0-1:1 | 0-1:2 |\n"
          "+-------+-------+-------+\n",
          &two_by_three, "b", SHAPE(6));
}
END_TEST

START_TEST(a_scalar_is_a_box)
{
    DRAWS("[] as \"\": whole on each of 6 cpu devices\n"
          "in the boxes: process:device\n"
          "\n"
          "+---------+\n"
          "| 0-1:0-2 |\n"
          "+---------+\n",
          &two_by_three, "", 0, NULL);
    DRAWS("[] as \"\": whole on 1 cpu device\n"
          "in the boxes: process:device\n"
          "\n"
          "+-----+\n"
          "| 0:0 |\n"
          "+-----+\n",
          (&(struct made){ 1, { 1 }, 1 }), "", 0, NULL);
}
END_TEST

START_TEST(what_is_not_cut_is_one_range)
{
    DRAWS("[4,6] as \"-,a\": 2 blocks of [4,3], each on 3 of 6 cpu devices\n"
          "at the edges: elements of dimensions 0 and 1; in the boxes: "
          "process:device\n"
          "\n"
          "        [0,3)   [3,6)\n"
          "      +-------+-------+\n"
          "[0,4) | 0:0-2 | 1:0-2 |\n"
          "      +-------+-------+\n",
          &two_by_three, "-,a", SHAPE(4, 6));
}
END_TEST

START_TEST(empty_blocks_share_a_box)
{
    DRAWS("[3] as \"a+b\": 6 blocks of up to [1], each on 1 of 6 cpu devices\n"
          "at the edges: elements of dimension 0; in the boxes: "
          "process:device\n"
          "\n"
          "  [0,1)   [1,2)   [2,3)   [3,3)\n"
          "+-------+-------+-------+-------+\n"
          "| 0:0   | 0:1   | 0:2   | 1:0-2 |\n"
          "+-------+-------+-------+-------+\n",
          &two_by_three, "a+b", SHAPE(3));
    DRAWS("[0,2] as \"b\": 3 blocks of [0,2], each on 2 of 6 cpu devices\n"
          "at the edges: elements of dimensions 0 and 1; in the boxes: "
          "process:device\n"
          "\n"
          "        [0,2)\n"
          "      +---------+\n"
          "[0,0) | 0-1:0-2 |\n"
          "      +---------+\n",
          &two_by_three, "b", SHAPE(0, 2));
}
END_TEST

START_TEST(other_dimensions_have_tables)
{
    DRAWS("[2,9,2,8] as \"a,b,-,c\": 8 blocks of up to [1,5,2,4], each on 1 of "
          "8 cpu devices\n"
          "at the edges: elements of dimensions 1 and 3; in the boxes: "
          "process:device\n"
          "\n"
          "dimension 0 [0,1)\n"
          "        [0,4)   [4,8)\n"
          "      +-------+-------+\n"
          "[0,5) | 0:0   | 0:1   |\n"
          "      +-------+-------+\n"
          "[5,9) | 1:0   | 1:1   |\n"
          "      +-------+-------+\n"
          "\n"
          "dimension 0 [1,2)\n"
          "        [0,4)   [4,8)\n"
          "      +-------+-------+\n"
          "[0,5) | 2:0   | 2:1   |\n"
          "      +-------+-------+\n"
          "[5,9) | 3:0   | 3:1   |\n"
          "      +-------+-------+\n",
          (&(struct made){ 3, { 2, 2, 2 }, 2 }), "a,b,-,c", SHAPE(2, 9, 2, 8));
}
END_TEST

START_TEST(the_longest_cut_dimensions_are_chosen)
{
    static const struct made eight = { 3, { 2, 2, 2 }, 1 };
    char *text = draw(&eight, "a,b,c", SHAPE(4, 4, 4));
    ck_assert(has(text, "of dimensions 0 and 1;"));
    ck_assert(has(text, "\n\ndimension 2 [0,2)\n"));
    free(text);
    text = draw(&eight, "a,-,c", SHAPE(4, 90, 4));
    ck_assert(has(text, "of dimensions 0 and 2;"));
    ck_assert(!has(text, "\ndimension"));
    free(text);
    text = draw(&eight, "-,-,a", SHAPE(4, 5, 6));
    ck_assert(has(text, "of dimensions 0 and 2;"));
    free(text);
    text = draw(&eight, "", SHAPE(4, 5, 6));
    ck_assert(has(text, "of dimensions 0 and 1;"));
    free(text);
    text = draw(&eight, "c,-,a,b", SHAPE(2, 9, 3, 4));
    ck_assert(has(text, "of dimensions 2 and 3;"));
    ck_assert(has(text, "\n\ndimension 0 [1,2)\n"));
    free(text);
}
END_TEST

/* ---- devices in a box --------------------------------------------------- */

START_TEST(devices_are_ranges)
{
    static const struct made sixteen = { 3, { 2, 2, 4 }, 1 };
    char *text = draw(&sixteen, "c", SHAPE(4));
    ck_assert(has(text, "| 0,4..12:0 | 1,5..13:0 | 2,6..14:0 | 3,7..15:0 |"));
    free(text);
    text = draw(&sixteen, "a", SHAPE(4));
    ck_assert(has(text, "| 0-7:0  | 8-15:0 |"));
    free(text);
    struct made hosts = { 3, { 2, 2, 4 }, 4 };
    text = draw(&hosts, "c", SHAPE(4));
    ck_assert(has(text, "| 0-3:0 | 0-3:1 | 0-3:2 | 0-3:3 |"));
    free(text);
    text = draw(&hosts, "b", SHAPE(4));
    ck_assert(has(text, "| 0:0-3 | 1:0-3 |\n| 2:0-3 | 3:0-3 |"));
    free(text);
    hosts.each = 16;
    text = draw(&hosts, "c", SHAPE(4));
    ck_assert(has(text, "| 0:0,4..12 | 0:1,5..13 | 0:2,6..14 | 0:3,7..15 |"));
    free(text);
}
END_TEST

START_TEST(many_ranges_are_cut)
{
    /* Of each six devices the first two. */
    static const struct made pairs = { 3, { 7, 3, 2 }, 42 };
    char *text = draw(&pairs, "-,b", SHAPE(2, 3));
    ck_assert(has(text, "[0,2) | 0:0-1    | 0:2-3    | 0:4-5    |\n"
                        "      | 0:6-7    | 0:8-9    | 0:10-11  |\n"
                        "      | 0:12-13  | 0:14-15  | 0:16-17  |\n"
                        "      | + 8 more | + 8 more | + 8 more |\n"
                        "      +----------+----------+----------+\n"));
    free(text);
    static const struct made four = { 3, { 4, 3, 2 }, 24 };
    text = draw(&four, "b", SHAPE(3));
    ck_assert(has(text, "| 0:0-1   | 0:2-3   | 0:4-5   |\n"
                        "| 0:6-7   | 0:8-9   | 0:10-11 |\n"
                        "| 0:12-13 | 0:14-15 | 0:16-17 |\n"
                        "| 0:18-19 | 0:20-21 | 0:22-23 |\n"
                        "+---------+---------+---------+\n"));
    free(text);
}
END_TEST

START_TEST(boxes_of_a_row_are_as_high)
{
    char *text = draw(&two_by_three, "b+a", SHAPE(3));
    ck_assert_str_eq(strstr(text, "\n\n"), "\n\n"
                                           "  [0,1)   [1,2)   [2,3)   [3,3)\n"
                                           "+-------+-------+-------+-------+\n"
                                           "| 0:0   | 1:0   | 0:1   | 0:2   |\n"
                                           "|       |       |       | 1:1-2 |\n"
                                           "+-------+-------+-------+-------+"
                                           "\n");
    free(text);
    static const struct made uneven = { 2, { 3, 13 }, 20 };
    text = draw(&uneven, "a", SHAPE(3));
    ck_assert_str_eq(strstr(text, "\n\n"), "\n\n"
                                           "  [0,1)     [1,2)     [2,3)\n"
                                           "+---------+---------+---------+\n"
                                           "| 0:0-12  | 0:13-19 | 1:6-18  |\n"
                                           "|         | 1:0-5   |         |\n"
                                           "+---------+---------+---------+\n");
    free(text);
}
END_TEST

/* ---- what is long ------------------------------------------------------- */

START_TEST(long_dimensions_are_cut)
{
    static const struct made square = { 2, { 64, 64 }, 8 };
    char *text = draw(&square, "a,b", SHAPE(64, 64));
    ck_assert(has(text, "\n          [0,1)     [1,2) "));
    ck_assert(has(text, "  ...   [63,64)\n"));
    ck_assert(has(text, "\n[13,14) | 104:0"));
    ck_assert(!has(text, "\n[14,15)"));
    ck_assert(has(text, "\n...     | ...     | ...     |"));
    ck_assert(has(text, "\n[63,64) | 504:0"));
    ck_assert_int_eq(unit_count_of(text, "\n"), 4 + 2 * 16 + 1);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        ck_assert_uint_le(strlen(line), 100);
    free(text);
}
END_TEST

START_TEST(long_numbers_leave_the_ends)
{
    static const struct made wide = { 1, { 6 }, 1 };
    int64_t length = INT64_MAX;
    char *text = draw(&wide, "a", 1, &length);
    ck_assert(has(text, "\n  [0,1537228672809129302)                     ...   "
                        "[7686143364045646510,9223372036854775807)\n"));
    ck_assert(has(text, " | ... | 5:0 "));
    free(text);
    static const struct made three = { 1, { 3 }, 1 };
    text = draw(&three, "a", 1, &length);
    ck_assert(!has(text, "..."));
    ck_assert(has(text, "| 1:0 "));
    free(text);
}
END_TEST

START_TEST(high_boxes_have_one_gap)
{
    static const struct made apart = { 3, { 2, 64, 2 }, 1 };
    char *text = draw(&apart, "b", SHAPE(64));
    ck_assert(has(text, " | ... | 126-127:0 |\n"));
    ck_assert(has(text, " |     | 254-255:0 |\n"));
    free(text);
}
END_TEST

START_TEST(many_tables_are_cut)
{
    static const struct made cube = { 3, { 16, 2, 2 }, 1 };
    char *text = draw(&cube, "a,b,c", SHAPE(16, 20, 20));
    ck_assert(has(text, "\n\ndimension 0 [5,6)\n"));
    ck_assert(!has(text, "\ndimension 0 [6,7)\n"));
    ck_assert(has(text, "\n\n...\n\ndimension 0 [15,16)\n"));
    ck_assert_int_eq(unit_count_of(text, "\ndimension"), 7);
    free(text);
}
END_TEST

/* ---- what is refused ---------------------------------------------------- */

START_TEST(what_cannot_be_drawn_is_said)
{
    jd_sharding *sharding = make_sharding(&two_by_three, "a,b");
    FILE *full = fopen("/dev/full", "w");
#define VISUALIZE "jd_visualize_sharding: "
    UNIT_FAILS(jd_visualize_sharding(NULL, SHAPE(2, 3), stdout),
               JD_INVALID_ARGUMENT, VISUALIZE "sharding is NULL");
    UNIT_FAILS(jd_visualize_sharding(sharding, SHAPE(2, 3), NULL),
               JD_INVALID_ARGUMENT, VISUALIZE "out is NULL");
    UNIT_FAILS(jd_visualize_sharding(sharding, 2, NULL, stdout),
               JD_INVALID_ARGUMENT, VISUALIZE "shape is NULL");
    UNIT_FAILS(jd_visualize_sharding(sharding, SHAPE(2, -3), stdout),
               JD_INVALID_ARGUMENT,
               VISUALIZE "dimension 1 of the shape [2,-3] is negative; lengths "
                         "are 0 or more");
    UNIT_FAILS(jd_visualize_sharding(sharding, SHAPE(2, 3), full), JD_DATA_LOSS,
               VISUALIZE "the picture could not be written: No space left on "
                         "device");
    fclose(full);
    UNIT_OK(jd_shutdown());
    ck_assert_int_eq(jd_visualize_sharding(sharding, SHAPE(2, 3), stdout),
                     JD_FAILED_PRECONDITION);
    jd_sharding_release(sharding);
}
END_TEST

START_TEST(arrays_are_drawn_as_their_sharding)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    jd_sharding *sharding;
    jd_array *array;
    jd_mesh *mesh;
    setenv("JD_NUM_CPU_DEVICES", "2", 1);
    UNIT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ 2 }, (const char *[]){ "x" }, NULL));
    UNIT_OK(jd_sharding_create(&sharding, mesh, "x"));
    UNIT_OK(jd__array_create("test", sharding, JD_F32, SHAPE(5), &array));
    UNIT_OK(jd_visualize_array_sharding(array, out));
    fclose(out);
    ck_assert_str_eq(text, "[5] as \"x\": 2 blocks of up to [3], each on 1 of "
                           "2 cpu devices\n"
                           "at the edges: elements of dimension 0; in the "
                           "boxes: process:device\n"
                           "\n"
                           "  [0,3)   [3,5)\n"
                           "+-------+-------+\n"
                           "| 0:0   | 0:1   |\n"
                           "+-------+-------+\n");
    UNIT_FAILS(jd_visualize_array_sharding(NULL, stdout), JD_INVALID_ARGUMENT,
               "jd_visualize_array_sharding: array is NULL");
    UNIT_FAILS(jd_visualize_array_sharding(array, NULL), JD_INVALID_ARGUMENT,
               "jd_visualize_array_sharding: out is NULL");
    free(text);
    jd_array_release(array);
    jd_sharding_release(sharding);
    jd_mesh_destroy(mesh);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("visualize");
    TCase *boxes = plain_case(suite, "boxes");
    tcase_add_test(boxes, two_dimensions_are_rows_and_columns);
    tcase_add_test(boxes, one_dimension_is_a_row);
    tcase_add_test(boxes, a_scalar_is_a_box);
    tcase_add_test(boxes, what_is_not_cut_is_one_range);
    tcase_add_test(boxes, empty_blocks_share_a_box);
    tcase_add_test(boxes, other_dimensions_have_tables);
    tcase_add_test(boxes, the_longest_cut_dimensions_are_chosen);
    TCase *devices = plain_case(suite, "devices");
    tcase_add_test(devices, devices_are_ranges);
    tcase_add_test(devices, many_ranges_are_cut);
    tcase_add_test(devices, boxes_of_a_row_are_as_high);
    TCase *length = plain_case(suite, "length");
    tcase_add_test(length, long_dimensions_are_cut);
    tcase_add_test(length, long_numbers_leave_the_ends);
    tcase_add_test(length, high_boxes_have_one_gap);
    tcase_add_test(length, many_tables_are_cut);
    TCase *refusals = plain_case(suite, "refusals");
    tcase_add_test(refusals, what_cannot_be_drawn_is_said);
    tcase_add_test(refusals, arrays_are_drawn_as_their_sharding);
    return unit_main(suite);
}
