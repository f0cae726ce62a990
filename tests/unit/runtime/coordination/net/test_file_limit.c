/* SPDX-License-Identifier: BSD-3-Clause */
/* test_file_limit.c - the limit of open files, here and in children. */
#include "runtime/coordination/net/child.h"
#include "runtime/coordination/net/listen.h"
#include "tests/unit/netns.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int count_fds(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* ---- as many as are needed ---------------------------------------------- */

static rlim_t soft_limit(void)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    return limit.rlim_cur;
}

/* With 64 open files allowed, 200 at most. */
static int begin_with_limits(void)
{
    struct rlimit limit = { 64, 200 };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int open = count_fds() - 3; /* ".", ".." and the directory's own */
    ck_assert_int_lt(open, 30);
    return open;
}

START_TEST(enough_is_left_alone)
{
    if (!netns_is_own_process("enough_is_left_alone"))
        return;
    int open = begin_with_limits();
    UNIT_OK(jd__file_limit_allow(0, "no processes"));
    UNIT_OK(jd__file_limit_allow((size_t)(64 - open), "34 processes"));
    ck_assert_uint_eq(soft_limit(), 64);
}
END_TEST

START_TEST(too_few_are_raised)
{
    if (!netns_is_own_process("too_few_are_raised"))
        return;
    int open = begin_with_limits();
    UNIT_OK(jd__file_limit_allow((size_t)(65 - open), "35 processes"));
    ck_assert_uint_eq(soft_limit(), 200);
}
END_TEST

START_TEST(all_that_can_be_had)
{
    if (!netns_is_own_process("all_that_can_be_had"))
        return;
    int open = begin_with_limits();
    UNIT_OK(jd__file_limit_allow((size_t)(200 - open), "170 processes"));
    ck_assert_uint_eq(soft_limit(), 200);
}
END_TEST

START_TEST(too_few_cannot_be_raised)
{
    char sentence[512];
    if (!netns_is_own_process("too_few_cannot_be_raised"))
        return;
    int open = begin_with_limits(), needed = 201 - open;
    snprintf(sentence, sizeof sentence,
             "2000 processes need %d open files beside the %d that this "
             "process has, but its limit (RLIMIT_NOFILE) is 64, 200 at most; "
             "raise the hard limit to 201 or more where the job is started "
             "(ulimit -n, LimitNOFILE)",
             needed, open);
    UNIT_FAILS(jd__file_limit_allow((size_t)needed, "2000 processes"),
               JD_RESOURCE_EXHAUSTED, sentence);
    ck_assert_uint_eq(soft_limit(), 64);
    ck_assert_int_eq(jd__file_limit_allow(SIZE_MAX, "all"),
                     JD_RESOURCE_EXHAUSTED);
}
END_TEST

/* ---- as many as there may be -------------------------------------------- */

static void set_limits(rlim_t soft, rlim_t hard)
{
    struct rlimit limit = { soft, hard };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

START_TEST(the_soft_limit_is_raised_to_the_hard_one)
{
    if (!netns_is_own_process("the_soft_limit_is_raised_to_the_hard_one"))
        return;
    set_limits(64, 200);
    jd__file_limit_raise();
    ck_assert_uint_eq(soft_limit(), 200);
    jd__file_limit_raise();
    ck_assert_uint_eq(soft_limit(), 200);
}
END_TEST

START_TEST(not_to_more_than_a_child_closes)
{
    struct rlimit limit;
    if (!netns_is_own_process("not_to_more_than_a_child_closes"))
        return;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < JD_CHILD_FILES) {
        limit.rlim_max = 2 * JD_CHILD_FILES;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
            fprintf(stderr, "# skipped, so many are not allowed here\n");
            return;
        }
    }
    set_limits(64, limit.rlim_max);
    jd__file_limit_raise();
    ck_assert_uint_eq(soft_limit(), JD_CHILD_FILES);
}
END_TEST

/* What a forked child says that its limit is, after an exec where has_exec. */
static int limit_of_child(bool has_exec)
{
    char text[24] = "";
    int out[2], how;
    ck_assert_int_eq(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        if (has_exec)
            execl("/bin/sh", "sh", "-c", "ulimit -S -n", (char *)NULL);
        dprintf(STDOUT_FILENO, "%d\n", (int)soft_limit());
        _exit(0);
    }
    close(out[1]);
    ck_assert_int_gt(read(out[0], text, sizeof text - 1), 0);
    ck_assert_int_eq(waitpid(pid, &how, 0), pid);
    close(out[0]);
    return atoi(text);
}

START_TEST(children_have_the_limit_from_before)
{
    if (!netns_is_own_process("children_have_the_limit_from_before"))
        return;
    set_limits(64, 200);
    jd__file_limit_raise();
    ck_assert_int_eq(limit_of_child(false), 64);
    ck_assert_int_eq(limit_of_child(true), 64);
    ck_assert_uint_eq(soft_limit(), 200);
}
END_TEST

START_TEST(a_limit_that_the_program_sets_is_its_childrens)
{
    if (!netns_is_own_process("a_limit_that_the_program_sets_is_its_childrens"))
        return;
    set_limits(64, 200);
    jd__file_limit_raise();
    set_limits(100, 200);
    ck_assert_int_eq(limit_of_child(true), 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file limit");
    TCase *needed = unit_case(suite, "needed");
    tcase_add_test(needed, enough_is_left_alone);
    tcase_add_test(needed, too_few_are_raised);
    tcase_add_test(needed, all_that_can_be_had);
    tcase_add_test(needed, too_few_cannot_be_raised);
    TCase *raised = unit_case(suite, "raised");
    tcase_add_test(raised, the_soft_limit_is_raised_to_the_hard_one);
    tcase_add_test(raised, not_to_more_than_a_child_closes);
    tcase_add_test(raised, children_have_the_limit_from_before);
    tcase_add_test(raised, a_limit_that_the_program_sets_is_its_childrens);
    return unit_main(suite);
}
