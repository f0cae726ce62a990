/* SPDX-License-Identifier: BSD-3-Clause */
/* test_visualize_svg.c - shardings as pictures for pages. */
#include "arrays/array/array.h"
#include "tests/unit/drawing.h"
#include "tests/unit/xml.h"

static char *draw_svg(const struct made *made, const char *spec, int ndim,
                      const int64_t *shape)
{
    jd_sharding *sharding = make_sharding(made, spec);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    UNIT_OK(jd_visualize_sharding_svg(sharding, ndim, shape, out));
    fclose(out);
    jd_sharding_release(sharding);
    ck_assert(xml_is_well_formed(text));
    return text;
}

START_TEST(it_has_what_the_text_has)
{
    char *text = draw_svg(&two_by_three, "a,b", SHAPE(64, 10));
    ck_assert(has(text, ">[64,10] as &quot;a,b&quot;: 6 blocks of up to [32,4],"
                        " each on 1 of 6 cpu devices</text>"));
    ck_assert(has(text, ">at the edges: elements of dimensions 0 and 1; in the "
                        "boxes: process:device</text>"));
    ck_assert(has(text, ">[32,64)</text>"));
    ck_assert(has(text, ">[8,10)</text>"));
    ck_assert(has(text, ">1:2</text>"));
    ck_assert_int_eq(unit_count_of(text, "<rect "), 1 + 6);
    for (const char *at = text; (at = strstr(at, "class=\"c")); at++) {
        char class[10] = "";
        memcpy(class, at, sizeof class - 1);
        ck_assert_int_eq(unit_count_of(text, class), 1);
    }
    free(text);
}
END_TEST

START_TEST(replicas_share_a_box)
{
    char *text = draw_svg(&two_by_three, "b", SHAPE(6));
    ck_assert(has(text, "3 blocks of [2], each on 2 of 6 cpu devices"));
    ck_assert_int_eq(unit_count_of(text, "<rect "), 1 + 3);
    ck_assert(has(text, ">0-1:2</text>"));
    free(text);
    text = draw_svg(&two_by_three, "", SHAPE(6));
    ck_assert(has(text, "whole on each of 6 cpu devices"));
    ck_assert(has(text, ">0-1:0-2</text>"));
    free(text);
}
END_TEST

START_TEST(long_dimensions_are_cut)
{
    char *text =
        draw_svg(&(struct made){ 2, { 32, 32 }, 1 }, "a,b", SHAPE(32, 32));
    ck_assert(has(text, ">...</text>"));
    ck_assert(has(text, ">[13,14)</text>"));
    ck_assert(has(text, ">[31,32)</text>"));
    ck_assert_int_lt(unit_count_of(text, "<rect "), 15 * 16 + 1);
    ck_assert(has(text, ">1023:0</text>"));
    free(text);
    text = draw_svg(&(struct made){ 3, { 9, 2, 2 }, 1 }, "a,b,c",
                    SHAPE(9, 20, 20));
    ck_assert_int_eq(unit_count_of(text, ">dimension 0 ["), 7);
    ck_assert(has(text, ">dimension 0 [8,9)</text>"));
    free(text);
}
END_TEST

#define VISUALIZE "jd_visualize_sharding_svg: "

START_TEST(what_cannot_be_drawn_is_said)
{
    jd_sharding *sharding = make_sharding(&two_by_three, "a,b");
    FILE *full = fopen("/dev/full", "w");
    UNIT_FAILS(jd_visualize_sharding_svg(NULL, SHAPE(2, 3), stdout),
               JD_INVALID_ARGUMENT, VISUALIZE "sharding is NULL");
    UNIT_FAILS(jd_visualize_sharding_svg(sharding, SHAPE(2, 3), NULL),
               JD_INVALID_ARGUMENT, VISUALIZE "out is NULL");
    UNIT_FAILS(jd_visualize_sharding_svg(sharding, SHAPE(2, 3), full),
               JD_DATA_LOSS,
               VISUALIZE "the picture could not be written: No space left on "
                         "device");
    fclose(full);
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
    UNIT_OK(jd_visualize_array_sharding_svg(array, out));
    fclose(out);
    ck_assert(xml_is_well_formed(text));
    ck_assert(has(text, ">[5] as &quot;x&quot;: 2 blocks of up to [3],"));
    UNIT_FAILS(jd_visualize_array_sharding_svg(NULL, stdout),
               JD_INVALID_ARGUMENT,
               "jd_visualize_array_sharding_svg: array is NULL");
    UNIT_FAILS(jd_visualize_array_sharding_svg(array, NULL),
               JD_INVALID_ARGUMENT,
               "jd_visualize_array_sharding_svg: out is NULL");
    free(text);
    jd_array_release(array);
    jd_sharding_release(sharding);
    jd_mesh_destroy(mesh);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("visualize_svg");
    TCase *pictures = plain_case(suite, "pictures");
    tcase_add_test(pictures, it_has_what_the_text_has);
    tcase_add_test(pictures, replicas_share_a_box);
    tcase_add_test(pictures, long_dimensions_are_cut);
    tcase_add_test(pictures, what_cannot_be_drawn_is_said);
    tcase_add_test(pictures, arrays_are_drawn_as_their_sharding);
    return unit_main(suite);
}
