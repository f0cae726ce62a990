/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

int jd__memfd_create(const char *name)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    return fd < 0 && errno == EINVAL ? memfd_create(name, flags) : fd;
}

bool jd__memfd_is_allowed(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= bytes)
        return true;
    errno = EFBIG;
    return false;
}

int jd__memfd_open(int pid, int descriptor, uint64_t bytes, uint64_t inode,
                   int flags)
{
    char path[64];
    struct stat facts;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, descriptor);
    if (stat(path, &facts) != 0)
        return -1;
    if (!S_ISREG(facts.st_mode) || facts.st_size != (off_t)bytes ||
        (inode && facts.st_ino != inode)) {
        errno = ESTALE;
        return -1;
    }
    return open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}
