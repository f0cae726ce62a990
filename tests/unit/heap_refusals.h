/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_refusals.h - a kernel that refuses what the arena asks it for, by a
 * seccomp filter on this process, which cannot be taken off again: for tests
 * that have a process of their own.
 *
 *     refuse_files();
 */
#ifndef TESTS_UNIT_HEAP_REFUSALS_H
#define TESTS_UNIT_HEAP_REFUSALS_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define LOAD(member)                                                           \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define SKIP_UNLESS(value, count)                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (count))
#define SKIP_UNLESS_BIT(value, count)                                          \
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (value), 0, (count))
#define SKIP_UNLESS_ABOVE(value, count)                                        \
    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (value), 0, (count))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define REFUSE(error) RETURN(SECCOMP_RET_ERRNO | (error))

static inline void install_filter(struct sock_filter *filter, size_t count)
{
    struct sock_fprog program = { (unsigned short)count, filter };
    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0),
                     0);
}

#define INSTALL(filter) install_filter(filter, sizeof filter / sizeof *filter)

/* No memfd_create(). */
static inline void refuse_memfd(void)
{
    struct sock_filter filter[] = {
        LOAD(nr),
        SKIP_UNLESS(SYS_memfd_create, 1),
        REFUSE(EPERM),
        RETURN(SECCOMP_RET_ALLOW),
    };
    INSTALL(filter);
}

/* Nor a file without a name. */
static inline void refuse_files(void)
{
    struct sock_filter filter[] = {
        LOAD(nr),       SKIP_UNLESS(SYS_openat, 3),
        LOAD(args[2]),  SKIP_UNLESS_BIT(O_TMPFILE & ~O_DIRECTORY, 1),
        REFUSE(EACCES), RETURN(SECCOMP_RET_ALLOW),
    };
    refuse_memfd();
    INSTALL(filter);
}

/* No holes in files, by fallocate() or by madvise(). */
static inline void refuse_holes(void)
{
    struct sock_filter filter[] = {
        LOAD(nr),           SKIP_UNLESS(SYS_fallocate, 3),
        LOAD(args[1]),      SKIP_UNLESS_BIT(FALLOC_FL_PUNCH_HOLE, 5),
        REFUSE(EOPNOTSUPP), SKIP_UNLESS(SYS_madvise, 3),
        LOAD(args[2]),      SKIP_UNLESS(MADV_REMOVE, 1),
        REFUSE(EINVAL),     RETURN(SECCOMP_RET_ALLOW),
    };
    INSTALL(filter);
}

/* A signal comes whenever more than 1 MiB is taken at a time. */
static inline void interrupt_long_takes(void)
{
    struct sock_filter filter[] = {
        LOAD(nr),      SKIP_UNLESS(SYS_fallocate, 5),
        LOAD(args[1]), SKIP_UNLESS(0, 3),
        LOAD(args[3]), SKIP_UNLESS_ABOVE(1 << 20, 1),
        REFUSE(EINTR), RETURN(SECCOMP_RET_ALLOW),
    };
    INSTALL(filter);
}

#endif
