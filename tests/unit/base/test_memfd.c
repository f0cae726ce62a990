/* SPDX-License-Identifier: BSD-3-Clause */
/* test_memfd.c - files without a name, opened by way of /proc. */
#include "base/memfd.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 100 };

static int make(struct stat *facts)
{
    int fd = jd__memfd_create("jd-test");
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, BYTES), 0);
    ck_assert_int_eq(fstat(fd, facts), 0);
    return fd;
}

START_TEST(another_descriptor_is_the_same_file)
{
    struct stat facts, same;
    int fd = make(&facts);
    int other = jd__memfd_open(getpid(), fd, BYTES, facts.st_ino, O_RDWR);
    ck_assert_int_ge(other, 0);
    ck_assert_int_eq(fstat(other, &same), 0);
    ck_assert_uint_eq(same.st_ino, facts.st_ino);
    ck_assert(fcntl(other, F_GETFD) & FD_CLOEXEC);
    close(other);
    other = jd__memfd_open(getpid(), fd, BYTES, 0, O_RDONLY);
    ck_assert_int_ge(other, 0);
    close(other);
    close(fd);
}
END_TEST

static void refuse(int descriptor, uint64_t bytes, uint64_t inode, int error)
{
    ck_assert_int_eq(jd__memfd_open(getpid(), descriptor, bytes, inode, O_RDWR),
                     -1);
    ck_assert_int_eq(errno, error);
}

START_TEST(what_is_another_file_is_left_alone)
{
    struct stat facts;
    int fd = make(&facts), null = open("/dev/null", O_RDWR);
    refuse(fd, BYTES + 1, 0, ESTALE);
    refuse(fd, BYTES, facts.st_ino + 1, ESTALE);
    refuse(null, 0, 0, ESTALE);
    refuse(1000000, BYTES, 0, ENOENT);
    close(null);
    close(fd);
}
END_TEST

/* Check writes to a file itself. */
START_TEST(the_limit_on_files_is_heeded)
{
    struct rlimit before, limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){ BYTES, before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &limit);
    bool is_allowed = jd__memfd_is_allowed(BYTES);
    errno = 0;
    bool is_more_allowed = jd__memfd_is_allowed(BYTES + 1);
    int error = errno;
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert(is_allowed);
    ck_assert(!is_more_allowed);
    ck_assert_int_eq(error, EFBIG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memfd");
    TCase *tcase = unit_case(suite, "memfd");
    tcase_add_test(tcase, another_descriptor_is_the_same_file);
    tcase_add_test(tcase, what_is_another_file_is_left_alone);
    tcase_add_test(tcase, the_limit_on_files_is_heeded);
    return unit_main(suite);
}
