/* SPDX-License-Identifier: BSD-3-Clause */
/* test_named_sites.c - places of a program whose code has no addresses. */
#include "runtime/recorder/named_sites.h"
#include "base/forked.h"
#include "base/progress.h"
#include "jd_status.h"
#include "runtime/recorder/site.h"
#include "runtime/recorder/waits.h"
#include "tests/unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>

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

START_TEST(a_text_is_one_line_without_control_characters)
{
    uint64_t site =
        site_named("a\nb\x1b[31m\x7f\xc2\x9b\xc3\x9f/\xc3\xa9.py:1");
    ck_assert_str_eq(jd__named_sites_text(site),
                     "a?b?[31m???\xc3\x9f/\xc3\xa9.py:1");
}
END_TEST

/* Another thread may have held the lock when it was forked. */
START_TEST(a_forked_child_has_none)
{
    site_named("train.py:1");
    jd__forked_is_child = true;
    ck_assert_ptr_null(jd_call_site_named("train.py:1"));
}
END_TEST

static void fill(void)
{
    char text[40];
    for (int i = 0; i < JD_RING_NAMED_SITES - 1; i++) {
        snprintf(text, sizeof text, "train.py:%d", i);
        ck_assert_uint_eq(site_named(text), (uint64_t)i + 1);
    }
}

START_TEST(those_beyond_the_room_are_one_place_for_others)
{
    static const char rest[] = "a line beyond those that are kept";
    fill();
    uint64_t one = site_named("more.py:1"), other = site_named("more.py:2");
    ck_assert_uint_eq(site_named("more.py:1"), one);
    ck_assert_str_eq(jd__site_of((const void *)(uintptr_t)one).text, rest);
    ck_assert_str_eq(jd__named_sites_text(other), rest);
    ck_assert_uint_eq(site_named("train.py:7"), 8);
    ck_assert_uint_eq(jd__named_sites_note(&ring, other), JD_RING_NAMED_SITES);
    ck_assert_uint_eq(jd__named_sites_note(&ring, one), JD_RING_NAMED_SITES);
    ck_assert_str_eq(jd__site_in(&ring, JD_RING_NAMED_SITES).text, rest);
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

/* One that something was written over has no NUL. */
START_TEST(a_text_of_a_ring_has_an_end)
{
    struct jd_ring_named_site *site = &ring.named_sites[4];
    memset(site->text, 'x', sizeof site->text);
    site->size = site[1].size = 2;
    memset(site[1].text, 'y', sizeof site[1].text);
    ck_assert_uint_eq(strlen(jd__site_in(&ring, 5).text), 123);
    ck_assert_uint_eq(strlen(jd__site_in_file(&ring, 5).text), 123);
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

/* What a process says that has kept as many others before. */
static uint32_t compared_without_room(const char *text)
{
    int ends[2];
    uint32_t digest = 0;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        fill();
        digest = compared_at(text);
        _exit(write(ends[1], &digest, sizeof digest) != sizeof digest);
    }
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &digest, sizeof digest), sizeof digest);
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    return digest;
}

START_TEST(what_is_compared_is_the_same_without_room)
{
    char text[200] = "";
    memset(text, 'x', sizeof text - 1);
    jd__site_configure(true);
    uint32_t other = compared_without_room("more.py:2");
    uint32_t cut = compared_without_room(text);
    ck_assert_uint_eq(compared_without_room("more.py:1"),
                      compared_at("more.py:1"));
    ck_assert_uint_ne(compared_at("more.py:1"), other);
    ck_assert_uint_eq(compared_at("more.py:2"), other);
    ck_assert_uint_eq(compared_at(text), cut);
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
    tcase_add_test(texts, a_text_is_one_line_without_control_characters);
    tcase_add_test(texts, a_forked_child_has_none);
    tcase_add_test(texts, those_beyond_the_room_are_one_place_for_others);
    TCase *told = unit_case(suite, "told");
    tcase_add_test(told, a_ring_has_its_own_texts);
    tcase_add_test(told, a_text_of_a_ring_has_an_end);
    tcase_add_test(told, what_is_compared_is_the_text);
    tcase_add_test(told, what_is_compared_is_the_same_without_room);
    tcase_add_test(told, a_wait_is_told_by_the_text);
    return unit_main(suite);
}
