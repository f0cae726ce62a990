/* SPDX-License-Identifier: BSD-3-Clause */
/* test_wtime.c - jd_wtime(): without jd_initialize(), in a child too. */
#include "base/clock.h"
#include "jd_process.h"
#include "tests/unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>

START_TEST(it_is_in_seconds_and_never_goes_back)
{
    double begin = jd_wtime(), before = jd__clock_now(), last = begin;
    for (int i = 0; i < 100000; i++) {
        double now = jd_wtime();
        ck_assert_double_ge(now, last);
        last = now;
    }
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    double after = jd__clock_now(), end = jd_wtime();
    ck_assert_double_ge(end - begin, after - before);
    ck_assert_double_ge(end - last, 0.02 - 1e-6);
    ck_assert_int_eq(jd_is_initialized(), 0);
}
END_TEST

START_TEST(a_child_goes_on_with_its_parents)
{
    double begin = jd_wtime();
    int how;
    pid_t pid = fork();
    if (pid == 0)
        _exit(jd_wtime() >= begin && jd_wtime() < begin + 60 ? 0 : 1);
    ck_assert_int_eq(waitpid(pid, &how, 0), pid);
    ck_assert_int_eq(how, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wtime");
    TCase *wtime = unit_case(suite, "wtime");
    tcase_add_test(wtime, it_is_in_seconds_and_never_goes_back);
    tcase_add_test(wtime, a_child_goes_on_with_its_parents);
    return unit_main(suite);
}
