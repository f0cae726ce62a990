/* SPDX-License-Identifier: BSD-3-Clause */
/* test_svg.c - what a picture in SVG is made of. */
#include "base/svg.h"
#include "tests/unit/unit.h"
#include "tests/unit/xml.h"

#include <stdlib.h>

static char *escaped(const char *text)
{
    struct jd_text written;
    jd__svg_escape(jd__text_begin(&written), text);
    return jd__text_end(&written);
}

#define ESCAPES(wanted, text)                                                  \
    do {                                                                       \
        char *got_ = escaped(text);                                            \
        ck_assert_str_eq(got_, wanted);                                        \
        free(got_);                                                            \
    } while (0)

START_TEST(texts_are_what_xml_may_have)
{
    ESCAPES("a &lt;b&gt; &amp; &quot;c&quot;", "a <b> & \"c\"");
    ESCAPES("a\tb\nc??", "a\tb\nc\r\033");
    ESCAPES("\u00e9\u20ac\U0001f600", "\u00e9\u20ac\U0001f600");
    ESCAPES("?a ?? ??? ??? ????",
            "\x80"
            "a \xc0\x80 \xed\xa0\x80 \xef\xbf\xbe \xf4\x90\x80\x80");
    ESCAPES("\u00e9?", "\u00e9\xc3");
}
END_TEST

START_TEST(the_reader_of_this_test_knows_xml)
{
    ck_assert(xml_is_well_formed("<a b=\"c\"><d/>&lt;</a>\n"));
    ck_assert(!xml_is_well_formed("<a>"));
    ck_assert(!xml_is_well_formed("<a></b>"));
    ck_assert(!xml_is_well_formed("<a>&</a>"));
    ck_assert(!xml_is_well_formed("<a b=\"<\"/>"));
    ck_assert(!xml_is_well_formed("<a/><b/>"));
    ck_assert(!xml_is_well_formed(""));
}
END_TEST

static char *written(struct jd_svg *svg)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    UNIT_OK(jd__svg_write(svg, "a <title>", out, "test"));
    fclose(out);
    return text;
}

START_TEST(a_sheet_is_as_large_as_what_is_on_it)
{
    struct jd_svg svg;
    UNIT_OK(jd__svg_begin(&svg, "test"));
    jd__svg_words(&svg, 16, 16, "\u00e9\u00e9");
    jd__svg_box(&svg, &(struct jd_svg_box){ 20, 40, 100, 30, 13 });
    jd__svg_box(&svg, &(struct jd_svg_box){ 20, 40, 50, 10, -1 });
    char *text = written(&svg);
    ck_assert(xml_is_well_formed(text));
    ck_assert_ptr_nonnull(strstr(text, "viewBox=\"0 0 136 86\""));
    ck_assert_ptr_nonnull(strstr(text, "<title>a &lt;title&gt;</title>"));
    ck_assert_ptr_nonnull(strstr(text, "prefers-color-scheme:dark"));
    ck_assert_ptr_nonnull(strstr(text, "height=\"30\" class=\"c1\""));
    ck_assert_ptr_nonnull(strstr(text, "height=\"10\" class=\"o\""));
    free(text);
    ck_assert_int_eq(jd__svg_width("\u00e9\u00e9"), 16);
}
END_TEST

START_TEST(a_stream_that_is_full_is_told)
{
    struct jd_svg svg;
    FILE *full = fopen("/dev/full", "w");
    UNIT_OK(jd__svg_begin(&svg, "test"));
    UNIT_FAILS(jd__svg_write(&svg, "", full, "test"), JD_DATA_LOSS,
               "test: the picture could not be written: No space left on "
               "device");
    fclose(full);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("svg");
    TCase *texts = unit_case(suite, "texts");
    tcase_add_test(texts, texts_are_what_xml_may_have);
    tcase_add_test(texts, the_reader_of_this_test_knows_xml);
    TCase *sheets = unit_case(suite, "sheets");
    tcase_add_test(sheets, a_sheet_is_as_large_as_what_is_on_it);
    tcase_add_test(sheets, a_stream_that_is_full_is_told);
    return unit_main(suite);
}
