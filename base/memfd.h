/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memfd.h - files without a name, which other processes of the host open by way
 * of /proc: nothing has to be removed, whoever is killed.
 *
 *     int fd = jd__memfd_is_allowed(bytes) ? jd__memfd_create("jd-table") : -1;
 *
 * Threads: any. Each leaves errno where it fails, and says nothing.
 */
#ifndef BASE_MEMFD_H
#define BASE_MEMFD_H

#include <stdbool.h>
#include <stdint.h>

/* A new one, empty, that can be sealed and not executed; name is for those who
 * look at /proc. The caller closes it. -1: errno says why. */
int jd__memfd_create(const char *name);

/* Whether a file may have so many bytes: to write beyond the limit would end
 * the process. False: errno is EFBIG. */
bool jd__memfd_is_allowed(uint64_t bytes);

/*
 * Opens the descriptor of another process, with these flags of open() and
 * O_CLOEXEC. It looks before it opens: behind the descriptor of a process that
 * happens to have the pid may be anything, and what is no file of so many bytes
 * is left alone (ESTALE); so is another inode, unless that is 0. -1: errno says
 * why.
 */
int jd__memfd_open(int pid, int descriptor, uint64_t bytes, uint64_t inode,
                   int flags);

#endif
