/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint_io.c - files of a checkpoint, read and written whole. */
#include "arrays/checkpoint/checkpoint_io.h"

#include "base/status.h"
#include "runtime/process/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

jd_status jd__checkpoint_io_begin(const char *operation, struct jd_io *ret_io)
{
    const struct jd_runtime *runtime;
    jd_status status = jd__runtime_get(&runtime, operation);
    if (status != JD_OK)
        return status;
    const struct jd_topology *topology = runtime->topology;
    int self = runtime->world.index;
    const char *host =
        jd__topology_host_name(topology, topology->processes[self].host);
    *ret_io = (struct jd_io){ .operation = operation, .process = self };
    snprintf(ret_io->who, sizeof ret_io->who, "process %d on host %s", self,
             host);
    return JD_OK;
}

/* ---- sentences ----------------------------------------------------------- */

static const struct {
    int error;
    jd_status status;
    const char *remedy;
} causes[] = {
    { ENOSPC, JD_RESOURCE_EXHAUSTED, "; free space, or use another disk" },
    { EDQUOT, JD_RESOURCE_EXHAUSTED, "; free space, or have the quota raised" },
    { EFBIG, JD_RESOURCE_EXHAUSTED,
      "; a limit (ulimit -f) or the file system forbids files of this size" },
    { ENOMEM, JD_RESOURCE_EXHAUSTED, "" },
    { EMFILE, JD_RESOURCE_EXHAUSTED, "; ulimit -n is the limit" },
    { ENFILE, JD_RESOURCE_EXHAUSTED, "" },
    { EACCES, JD_PERMISSION_DENIED, "; change the permissions" },
    { EPERM, JD_PERMISSION_DENIED, "" },
    { EROFS, JD_PERMISSION_DENIED, "" },
    { ENOENT, JD_NOT_FOUND,
      "; all hosts must see it: use a file system that they share" },
    { ENOTDIR, JD_INVALID_ARGUMENT, "" },
    { EISDIR, JD_INVALID_ARGUMENT, "" },
    { ELOOP, JD_INVALID_ARGUMENT, "" },
    { ENAMETOOLONG, JD_INVALID_ARGUMENT, "; give a shorter name" },
};

jd_status jd__checkpoint_io_fail(const struct jd_io *io, const char *what,
                                 const char *path, int64_t offset, int error)
{
    jd_status status = JD_DATA_LOSS;
    const char *remedy = "";
    char at[48] = "";
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (causes[i].error == error) {
            status = causes[i].status;
            remedy = causes[i].remedy;
        }
    if (offset >= 0)
        snprintf(at, sizeof at, " at offset %" PRId64, offset);
    return jd_fail(status, "%s: %s could not %s %s%s: %s%s", io->operation,
                   io->who, what, path, at, strerror(error), remedy);
}

jd_status jd__checkpoint_io_path(const struct jd_io *io, const char *dir,
                                 const char *suffix, const char *file,
                                 char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s%s%s%s", dir, suffix,
                          file ? "/" : "", file ? file : "");
    if (length < PATH_MAX)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: dir has %zu bytes, and its files' paths would have "
                   "more than %d; give a shorter one",
                   io->operation, strlen(dir), PATH_MAX - 1);
}

/* ---- writing ------------------------------------------------------------- */

jd_status jd__checkpoint_io_create(const struct jd_io *io, const char *path,
                                   int *ret_fd)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return jd__checkpoint_io_fail(io, "create", path, -1, errno);
    *ret_fd = fd;
    return JD_OK;
}

jd_status jd__checkpoint_io_write(const struct jd_io *io, const char *path,
                                  int fd, const void *data, size_t bytes,
                                  int64_t offset)
{
    const char *from = data;
    while (bytes > 0) {
        ssize_t written = pwrite(fd, from, bytes, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return jd__checkpoint_io_fail(io, "write", path, offset,
                                          written < 0 ? errno : EIO);
        from += written;
        offset += written;
        bytes -= (size_t)written;
    }
    return JD_OK;
}

int jd__checkpoint_io_sync(int fd)
{
    int result;
    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

jd_status jd__checkpoint_io_sync_and_close(const struct jd_io *io,
                                           const char *path, int fd)
{
    int error = jd__checkpoint_io_sync(fd);
    if (close(fd) != 0 && !error && errno != EINTR)
        error = errno;
    if (error)
        return jd__checkpoint_io_fail(io, "bring to the disk", path, -1, error);
    return JD_OK;
}

/* ---- reading ------------------------------------------------------------- */

/* Without a wait: a pipe of that name would have one for its other end. */
jd_status jd__checkpoint_io_open(const struct jd_io *io, const char *path,
                                 int *ret_fd)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return jd__checkpoint_io_fail(io, "open", path, -1, errno);
    *ret_fd = fd;
    return JD_OK;
}

jd_status jd__checkpoint_io_read(const struct jd_io *io, const char *path,
                                 int fd, void *data, size_t bytes,
                                 int64_t offset)
{
    char *to = data;
    while (bytes > 0) {
        ssize_t got = pread(fd, to, bytes, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return jd__checkpoint_io_fail(io, "read", path, offset, errno);
        if (got == 0)
            return jd_fail(JD_DATA_LOSS,
                           "%s: %s: %s ends at offset %" PRId64
                           ", %zu bytes too early; restore another checkpoint",
                           io->operation, io->who, path, offset, bytes);
        to += got;
        offset += got;
        bytes -= (size_t)got;
    }
    return JD_OK;
}

static jd_status read_all(const struct jd_io *io, const char *path, int fd,
                          char **ret_text, size_t *ret_bytes)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return jd__checkpoint_io_fail(io, "look at", path, -1, errno);
    if (!S_ISREG(info.st_mode))
        return jd_fail(JD_INVALID_ARGUMENT, "%s: %s is no file", io->operation,
                       path);
    size_t bytes = (size_t)info.st_size;
    char *text = malloc(bytes + 1);
    if (!text)
        return jd__fail_no_memory(io->operation, bytes + 1);
    jd_status status = jd__checkpoint_io_read(io, path, fd, text, bytes, 0);
    if (status != JD_OK) {
        free(text);
        return status;
    }
    text[bytes] = '\0';
    *ret_text = text;
    *ret_bytes = bytes;
    return JD_OK;
}

jd_status jd__checkpoint_io_read_file(const struct jd_io *io, const char *path,
                                      char **ret_text, size_t *ret_bytes)
{
    int fd = -1;
    jd_status status = jd__checkpoint_io_open(io, path, &fd);
    if (status != JD_OK)
        return status;
    status = read_all(io, path, fd, ret_text, ret_bytes);
    close(fd);
    return status;
}
