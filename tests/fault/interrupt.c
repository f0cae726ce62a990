/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interrupt.c - a library to preload: at a chosen call that changes or reads
 * a file, something goes wrong.
 *
 *     FAULT_PATH   calls count whose file has this text in its path
 *     FAULT_RANK   only in the process to which mpirun gave this number
 *     FAULT_CALL   which call, from 1; 0: none
 *     FAULT_HOW    kill      SIGKILL in its middle: half of a write is done
 *                  NUMBER    it fails with this errno
 *                  slow      not one call: all writes are short, and every
 *                            second call is interrupted
 *                  truncate  (reads) the file is cut off before it
 *                  flip      (reads) its last byte is changed before it
 *     FAULT_SYNC   an fsync() that is the next call fails with this errno
 *     FAULT_NO_EXCHANGE  renameat2() does not know how to
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
/* POSIX lets dlsym() give a function, ISO C does not know. */
#define REAL(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

int renameat2(int from_folder, const char *from, int to_folder, const char *to,
              unsigned flags);

static atomic_int calls;

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

static int is_how(const char *how)
{
    return strcmp(variable("FAULT_HOW"), how) == 0;
}

static int is_read_fault(void)
{
    return is_how("truncate") || is_how("flip");
}

static int is_meant(const char *path)
{
    const char *rank = variable("FAULT_RANK");
    const char *wanted = variable("FAULT_PATH");
    return *wanted && strstr(path, wanted) &&
           (!*rank || strcmp(rank, variable("OMPI_COMM_WORLD_RANK")) == 0);
}

static int is_fd_meant(int fd)
{
    char link[40], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = '\0';
    return is_meant(path);
}

/* Counts the call; true where it is the one that goes wrong. */
static int is_the_one(void)
{
    return atomic_fetch_add(&calls, 1) + 1 == atoi(variable("FAULT_CALL"));
}

/* What a call that changes something is to do: 0: as ever; else its errno. */
static int fault(int meant)
{
    if (!meant || is_read_fault())
        return 0;
    if (is_how("slow"))
        return atomic_fetch_add(&calls, 1) % 2 ? 0 : EINTR;
    if (!is_the_one())
        return 0;
    if (is_how("kill"))
        kill(getpid(), SIGKILL);
    return atoi(variable("FAULT_HOW"));
}

static int fail(int error)
{
    errno = error;
    return -1;
}

/* ---- paths -------------------------------------------------------------- */

/* These are not interrupted. */
static int path_fault(int meant)
{
    return is_how("slow") ? 0 : fault(meant);
}

SHOWN int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    int error = flags & O_CREAT ? path_fault(is_meant(path)) : 0;
    return error ? fail(error) : REAL(open)(path, flags, mode);
}

SHOWN int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open(path, flags, mode);
}

SHOWN int mkdir(const char *path, mode_t mode)
{
    int error = path_fault(is_meant(path));
    return error ? fail(error) : REAL(mkdir)(path, mode);
}

SHOWN int rmdir(const char *path)
{
    int error = path_fault(is_meant(path));
    return error ? fail(error) : REAL(rmdir)(path);
}

SHOWN int unlinkat(int folder, const char *path, int flags)
{
    int error = path_fault(is_fd_meant(folder));
    return error ? fail(error) : REAL(unlinkat)(folder, path, flags);
}

SHOWN int rename(const char *from, const char *to)
{
    int error = path_fault(is_meant(from));
    return error ? fail(error) : REAL(rename)(from, to);
}

SHOWN int renameat2(int from_folder, const char *from, int to_folder,
                    const char *to, unsigned flags)
{
    int error = path_fault(is_meant(from));
    if (!error && *variable("FAULT_NO_EXCHANGE") && is_meant(from))
        error = EINVAL;
    return error ? fail(error)
                 : REAL(renameat2)(from_folder, from, to_folder, to, flags);
}

/* ---- open files --------------------------------------------------------- */

SHOWN int fsync(int fd)
{
    int meant = is_fd_meant(fd), error = fault(meant);
    if (meant && atomic_load(&calls) == atoi(variable("FAULT_CALL")) + 1)
        error = atoi(variable("FAULT_SYNC"));
    return error ? fail(error) : REAL(fsync)(fd);
}

SHOWN ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    int meant = is_fd_meant(fd);
    if (meant && is_how("kill") &&
        atomic_load(&calls) + 1 == atoi(variable("FAULT_CALL")))
        REAL(pwrite)(fd, data, bytes / 2, offset);
    int error = fault(meant);
    if (error)
        return fail(error);
    if (meant && is_how("slow"))
        bytes = bytes < 1000 ? bytes : 1000;
    return REAL(pwrite)(fd, data, bytes, offset);
}

SHOWN ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t offset)
{
    return pwrite(fd, data, bytes, offset);
}

static void damage(int fd)
{
    char link[40];
    struct stat info;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int other = REAL(open)(link, O_RDWR | O_CLOEXEC);
    char last = 0;
    if (fstat(other, &info) != 0 || info.st_size == 0)
        abort();
    if (is_how("truncate")) {
        if (ftruncate(other, info.st_size - 1) != 0)
            abort();
    } else {
        if (REAL(pread)(other, &last, 1, info.st_size - 1) != 1)
            abort();
        last ^= 1;
        if (REAL(pwrite)(other, &last, 1, info.st_size - 1) != 1)
            abort();
    }
    close(other);
}

SHOWN ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
    if (is_read_fault() && is_fd_meant(fd) && is_the_one())
        damage(fd);
    return REAL(pread)(fd, data, bytes, offset);
}

SHOWN ssize_t pread64(int fd, void *data, size_t bytes, off_t offset)
{
    return pread(fd, data, bytes, offset);
}
