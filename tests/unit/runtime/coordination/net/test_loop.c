/* SPDX-License-Identifier: BSD-3-Clause */
/* test_loop.c - a loop that cannot go on ends its process. */
#include "runtime/coordination/net/loop.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

/* Closes those of this process's descriptors that are of a kind. */
static void close_all(const char *kind)
{
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;
    ck_assert_ptr_nonnull(directory);
    while ((entry = readdir(directory))) {
        char target[64] = "";
        ssize_t size = readlinkat(dirfd(directory), entry->d_name, target,
                                  sizeof target - 1);
        if (size > 0 && strcmp(target, kind) == 0)
            close(atoi(entry->d_name));
    }
    closedir(directory);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static struct jd_loop *start_loop(void)
{
    struct jd_loop *loop;
    UNIT_OK(jd__loop_create("tested", &loop));
    UNIT_OK(jd__loop_start(loop));
    ck_assert(jd__loop_run(loop, do_nothing, NULL));
    return loop;
}

START_TEST(a_loop_ends_as_it_is_asked)
{
    jd__loop_destroy(start_loop());
}
END_TEST

/* What it waits with is gone: it cannot be woken, and nobody asks. */
START_TEST(one_that_cannot_wait_ends_the_process)
{
    struct jd_loop *loop = start_loop();
    close_all("anon_inode:[eventpoll]");
    jd__loop_run(loop, do_nothing, NULL);
    pause();
}
END_TEST

/* It still waits for connections. */
START_TEST(one_that_cannot_be_woken_ends_the_process)
{
    struct jd_loop *loop = start_loop();
    close_all("anon_inode:[eventfd]");
    jd__loop_check(loop);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop");
    TCase *tcase = unit_case(suite, "ends");
    tcase_add_test(tcase, a_loop_ends_as_it_is_asked);
    tcase_add_exit_test(tcase, one_that_cannot_wait_ends_the_process, 1);
    tcase_add_exit_test(tcase, one_that_cannot_be_woken_ends_the_process, 1);
    return unit_main(suite);
}
