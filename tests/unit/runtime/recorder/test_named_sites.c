/* SPDX-License-Identifier: BSD-3-Clause */
/* test_named_sites.c - places of a program whose code has no addresses. */
#include "runtime/recorder/named_sites.h"
#include "base/progress.h"
#include "jd_status.h"
#include "runtime/recorder/site.h"
#include "runtime/recorder/waits.h"
#include "tests/unit/unit.h"

static struct jd_ring ring = { .names = { "jd_psum" } };

static uint64_t site_named(const char *text)
{
    return (uint64_t)(uintptr_t)jd_call_site_named(text);
}

START_TEST(a_text_has_one_address_and_is_said_there)
{
    uint64_t step = site_named("train.py:12 (step)");
    uint64_t tail = site_named("train.py:30 (tail)");
    ck_assert_uint_ne(step, 0);
    ck_assert_uint_ne(step, tail);
    ck_assert_uint_eq(site_named("train.py:12 (step)"), step);
    ck_assert_str_eq(jd__site_of((const void *)(uintptr_t)step).text,
                     "train.py:12 (step)");
    ck_assert_ptr_null(jd_call_site_named(NULL));
    ck_assert_ptr_null(jd_call_site_named(""));
}
END_TEST

START_TEST(an_address_without_a_text_is_nothing)
{
    site_named("one");
    ck_assert_str_eq(jd__site_of((const void *)2).text, "");
    ck_assert_str_eq(jd__site_in(&ring, 1).text, "");
    ck_assert_ptr_null(jd__named_sites_text(0));
    ck_assert_ptr_null(jd__named_sites_text(JD_RING_NAMED_SITES + 1));
    jd__named_sites_note(&ring, 2);
    ck_assert_ptr_null(jd__named_sites_text_in(&ring, 2));
}
END_TEST

START_TEST(a_long_text_is_cut)
{
    char text[200] = "";
    memset(text, 'x', sizeof text - 1);
    uint64_t site = site_named(text);
    ck_assert_uint_eq(strlen(jd__named_sites_text(site)), 123);
    ck_assert_uint_eq(site_named(text), site);
}
END_TEST

START_TEST(those_beyond_the_room_have_one_address)
{
    char text[40];
    uint64_t last = 0;
    for (int i = 0; i < JD_RING_NAMED_SITES + 5; i++) {
        snprintf(text, sizeof text, "train.py:%d", i);
        last = site_named(text);
        ck_assert_uint_le(last, JD_RING_NAMED_SITES);
    }
    ck_assert_str_eq(jd__named_sites_text(last),
                     "a line beyond those that are kept");
    ck_assert_str_eq(jd__named_sites_text(last - 1), "train.py:1022");
    ck_assert_uint_eq(site_named("train.py:7"), 8);
}
END_TEST

/* As others read it, under whose numbers other texts stand. */
START_TEST(a_ring_has_its_own_texts)
{
    static struct jd_ring copy;
    uint64_t site = site_named("here.py:1");
    snprintf(ring.named_sites[site - 1].text, 20, "there.py:2");
    ring.named_sites[site - 1].size = 11;
    jd__named_sites_note(&ring, site); /* it has one */
    ck_assert_str_eq(jd__site_in(&ring, site).text, "there.py:2");
    ck_assert_str_eq(jd__site_in_file(&ring, site).text, "there.py:2");
    jd__ring_copy(&copy, &ring);
    ck_assert_str_eq(jd__site_in(&copy, site).text, "there.py:2");
    jd__named_sites_note(&copy, site_named("here.py:3"));
    ck_assert_str_eq(jd__site_in(&copy, site_named("here.py:3")).text,
                     "here.py:3");
}
END_TEST

static uint32_t compared_at(const char *text)
{
    jd__progress_note_caller(jd_call_site_named(text));
    return jd__site_compared();
}

START_TEST(what_is_compared_is_the_text)
{
    jd__site_configure(true);
    uint32_t step = compared_at("train.py:12 (step)");
    ck_assert_uint_ne(step, 0);
    ck_assert_uint_ne(compared_at("train.py:13 (step)"), step);
    ck_assert_uint_eq(compared_at("train.py:12 (step)"), step);
    ck_assert_str_eq(jd__site_of_caller().text, "train.py:12 (step)");
}
END_TEST

/* Another process may have another number for it. */
static struct jd_waited take_wait(uint64_t number)
{
    struct jd_waited worst[JD_WAITED_MOST];
    struct jd_ring_call call = { .site = number };
    double all;
    snprintf(ring.named_sites[number - 1].text, 20, "train.py:12");
    ring.named_sites[number - 1].size = 12;
    jd__waits_note(3, &call, 1, 1);
    ck_assert_int_eq(jd__waits_take(&ring, worst, &all), 1);
    return worst[0];
}

START_TEST(a_wait_is_told_by_the_text)
{
    char text[JD_WAIT_TEXT];
    struct jd_waited waited = take_wait(4);
    ck_assert_str_eq(waited.call, "jd_psum at train.py:12");
    ck_assert_uint_eq(take_wait(9).site, waited.site);
    ck_assert(jd__waits_describe(&ring, waited.site, text));
    ck_assert_str_eq(text, "jd_psum at train.py:12");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("named_sites");
    TCase *texts = unit_case(suite, "texts");
    tcase_add_test(texts, a_text_has_one_address_and_is_said_there);
    tcase_add_test(texts, an_address_without_a_text_is_nothing);
    tcase_add_test(texts, a_long_text_is_cut);
    tcase_add_test(texts, those_beyond_the_room_have_one_address);
    TCase *told = unit_case(suite, "told");
    tcase_add_test(told, a_ring_has_its_own_texts);
    tcase_add_test(told, what_is_compared_is_the_text);
    tcase_add_test(told, a_wait_is_told_by_the_text);
    return unit_main(suite);
}
