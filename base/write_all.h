/* SPDX-License-Identifier: BSD-3-Clause */
/* write_all.h - bytes to a descriptor, however few it takes at a time. */
#ifndef BASE_WRITE_ALL_H
#define BASE_WRITE_ALL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* False, with errno, where some could not be written. Blocks as write(). */
static inline bool jd__write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

#endif
