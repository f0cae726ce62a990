/* SPDX-License-Identifier: BSD-3-Clause */
/* test_site.c - places in the program, in words. */
#include "runtime/recorder/site.h"
#include "base/progress.h"
#include "runtime/recorder/lines.h"
#include "runtime/recorder/modules.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <inttypes.h>

static struct jd_ring ring;

/* What a library shows to others has a symbol. */
static const char *of_library(void)
{
    return (const char *)dlsym(RTLD_DEFAULT, "lfind");
}

START_TEST(a_function_that_others_see_has_its_name)
{
    const char *begin = of_library();
    Dl_info info;
    char wanted[200];
    ck_assert(dladdr(begin, &info));
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(wanted, sizeof wanted, "lfind+0x1 (%s+0x%" PRIxPTR ")",
             slash ? slash + 1 : info.dli_fname,
             (uintptr_t)begin + 1 - (uintptr_t)info.dli_fbase);
    ck_assert_str_eq(jd__site_of(begin + 1).text, wanted);
    const struct jd_ring_module *module = jd__modules_note(&ring, begin);
    ck_assert_ptr_nonnull(module);
    ck_assert_ptr_eq(jd__modules_note(&ring, begin + 1), module);
    ck_assert_str_eq(jd__site_in(&ring, (uintptr_t)begin + 1).text, wanted);
}
END_TEST

static void nobody_sees_this(void)
{
}

START_TEST(one_that_they_do_not_has_its_place_in_the_file)
{
    struct jd_site_text site =
        jd__site_of((const void *)(uintptr_t)nobody_sees_this);
    ck_assert_msg(strstr(site.text, "test_site+0x") != NULL, "%s", site.text);
    ck_assert_str_eq(jd__site_of(NULL).text, "");
    ck_assert_str_eq(jd__site_of((const void *)8).text, "");
}
END_TEST

/* As where programs lie at other addresses in each process. */
START_TEST(another_process_has_it_elsewhere)
{
    const char *begin = of_library();
    struct jd_ring_module *module = &ring.modules[0];
    ck_assert_ptr_nonnull(jd__modules_note(&ring, begin));
    char here[200];
    snprintf(here, sizeof here, "%s", jd__site_of(begin + 4).text);
    module->begin += 0x10000;
    module->end += 0x10000;
    module->base += 0x10000;
    ck_assert_str_eq(jd__site_in(&ring, (uintptr_t)begin + 0x10004).text, here);
    snprintf(module->path, sizeof module->path, "/opt/other.so");
    uint64_t offset = (uintptr_t)begin + 0x10004 - module->base;
    snprintf(here, sizeof here, "other.so+0x%" PRIx64, offset);
    ck_assert_str_eq(jd__site_in(&ring, (uintptr_t)begin + 0x10004).text, here);
    ck_assert_str_eq(jd__site_in(&ring, 8).text, "");
}
END_TEST

START_TEST(the_threads_caller_is_said)
{
    ck_assert_str_eq(jd__site_of_caller().text, "");
    jd__progress_note_caller(of_library());
    ck_assert_str_eq(jd__site_of_caller().text, jd__site_of(of_library()).text);
    jd__progress_enter("one");
    jd__progress_note_caller(NULL); /* a call of the library's own */
    ck_assert_str_eq(jd__site_of_caller().text, jd__site_of(of_library()).text);
}
END_TEST

START_TEST(more_modules_than_there_is_room_for)
{
    for (int i = 0; i < JD_RING_MODULES; i++) {
        ring.modules[i].begin = 1 + (uint64_t)i;
        ring.modules[i].end = 1 + (uint64_t)i;
    }
    ck_assert_ptr_null(jd__modules_note(&ring, of_library()));
    ck_assert_str_eq(jd__site_in(&ring, (uintptr_t)of_library()).text, "");
}
END_TEST

int main(void)
{
    jd__lines_configure(60); /* no test fails as the processor is late */
    Suite *suite = suite_create("site");
    TCase *words = unit_case(suite, "words");
    tcase_add_test(words, a_function_that_others_see_has_its_name);
    tcase_add_test(words, one_that_they_do_not_has_its_place_in_the_file);
    tcase_add_test(words, another_process_has_it_elsewhere);
    tcase_add_test(words, the_threads_caller_is_said);
    tcase_add_test(words, more_modules_than_there_is_room_for);
    return unit_main(suite);
}
