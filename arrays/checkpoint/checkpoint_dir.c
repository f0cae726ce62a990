/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint_dir.c - how a checkpoint's directory comes to be, and takes
 * another one's place so that one of the two is whole at any time.
 */
#include "arrays/checkpoint/checkpoint_index.h"
#include "arrays/checkpoint/checkpoint_io.h"
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* What stands beside DIR: an unfinished or replaced one, and, where names
 * cannot be exchanged, the one that is being replaced. */
static const char temporary[] = ".tmp-", replaced[] = ".old-";
enum { DIGITS = 16 };

void jd__checkpoint_suffix(uint64_t word, char suffix[JD_CHECKPOINT_SUFFIX])
{
    snprintf(suffix, JD_CHECKPOINT_SUFFIX, "%s%016" PRIx64, temporary, word);
}

const char *jd__checkpoint_dir_fault(const char *dir)
{
    if (!dir)
        return "is NULL";
    if (!*dir)
        return "is empty";
    const char *slash = strrchr(dir, '/');
    const char *name = slash ? slash + 1 : dir;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return "does not end with a name: a new directory is made beside it, "
               "and takes that name";
    return NULL;
}

/* ---- names --------------------------------------------------------------- */

/* "/a/b" is "/a" and "b", "b" is "." and "b". */
static void split_path(const char *dir, char parent[PATH_MAX],
                       const char **ret_name)
{
    const char *slash = strrchr(dir, '/');
    *ret_name = slash ? slash + 1 : dir;
    if (!slash)
        snprintf(parent, PATH_MAX, ".");
    else
        snprintf(parent, PATH_MAX, "%.*s", slash > dir ? (int)(slash - dir) : 1,
                 dir);
}

/* Whether entry is name, kind and 16 digits. */
static bool is_beside(const char *entry, const char *name, const char *kind)
{
    size_t length = strlen(name), rest = strlen(kind);
    return strncmp(entry, name, length) == 0 &&
           strncmp(entry + length, kind, rest) == 0 &&
           strlen(entry + length + rest) == DIGITS &&
           strspn(entry + length + rest, "0123456789abcdef") == DIGITS;
}

static bool is_block(const char *entry)
{
    size_t length = strlen(entry);
    return length > 4 && strcmp(entry + length - 4, ".npy") == 0;
}

static bool is_of_checkpoint(const char *entry)
{
    return is_block(entry) || strcmp(entry, JD_CHECKPOINT_INDEX) == 0;
}

static bool is_dots(const char *entry)
{
    return strcmp(entry, ".") == 0 || strcmp(entry, "..") == 0;
}

/* ---- removing ------------------------------------------------------------ */

/* Only what a checkpoint has in it: with anything else it stays. */
static void remove_checkpoint(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return;
    for (struct dirent *e; (e = readdir(folder)) != NULL;)
        if (is_of_checkpoint(e->d_name))
            unlinkat(dirfd(folder), e->d_name, 0);
    closedir(folder);
    rmdir(path);
}

/* Calls handle() with the path of each entry that stands beside DIR. */
static void for_each_beside(const char *dir, const char *kind,
                            void (*handle)(const char *path, void *arg),
                            void *arg)
{
    char parent[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    const char *name;
    split_path(dir, parent, &name);
    DIR *folder = opendir(parent);
    if (!folder)
        return;
    for (struct dirent *e; (e = readdir(folder)) != NULL;)
        if (is_beside(e->d_name, name, kind)) {
            snprintf(path, sizeof path, "%.*s%s", (int)(name - dir), dir,
                     e->d_name);
            handle(path, arg);
        }
    closedir(folder);
}

static void remove_one(const char *path, void *arg)
{
    (void)arg;
    remove_checkpoint(path);
}

void jd__checkpoint_discard(const char *dir, uint64_t word)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s%016" PRIx64, dir, temporary, word);
    remove_checkpoint(path);
    snprintf(path, sizeof path, "%s%s%016" PRIx64, dir, replaced, word);
    remove_checkpoint(path);
}

/* ---- finding ------------------------------------------------------------- */

static bool has_index(const char *dir)
{
    char path[PATH_MAX + sizeof JD_CHECKPOINT_INDEX + 1];
    struct stat info;
    int length = snprintf(path, sizeof path, "%s/%s", dir, JD_CHECKPOINT_INDEX);
    return (size_t)length < sizeof path && stat(path, &info) == 0;
}

static void note_whole(const char *path, void *arg)
{
    char *found = arg;
    if (has_index(path) && strlen(path) < PATH_MAX)
        snprintf(found, PATH_MAX, "%s", path);
}

static bool path_exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 || errno != ENOENT;
}

/* Nothing is there, or an empty directory, as a job's script may make one. */
static bool is_vacant(const char *path)
{
    bool is_empty = true;
    DIR *folder = opendir(path);
    if (!folder)
        return !path_exists(path);
    for (struct dirent *e; is_empty && (e = readdir(folder)) != NULL;)
        is_empty = is_dots(e->d_name);
    closedir(folder);
    return is_empty;
}

jd_status jd__checkpoint_locate(const struct jd_io *io, const char *dir,
                                char path[PATH_MAX])
{
    path[0] = '\0';
    if (is_vacant(dir))
        for_each_beside(dir, replaced, note_whole, path);
    if (*path)
        return JD_OK;
    if (path_exists(dir))
        return jd__checkpoint_io_path(io, dir, "", NULL, path);
    return jd_fail(JD_NOT_FOUND,
                   "%s: %s sees no directory %s; it must be on a file system "
                   "that all hosts share",
                   io->operation, io->who, dir);
}

/* ---- preparing ----------------------------------------------------------- */

static jd_status fail_other(const struct jd_io *io, const char *dir,
                            const char *what)
{
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s: %s %s, and would be replaced; give the checkpoint a "
                   "directory of its own",
                   io->operation, dir, what);
}

/* Only a checkpoint or nothing is replaced. */
static jd_status check_entries(const struct jd_io *io, const char *dir)
{
    char what[NAME_MAX + 64] = "";
    bool is_empty = true;
    DIR *folder = opendir(dir);
    if (!folder)
        return jd__checkpoint_io_fail(io, "read", dir, -1, errno);
    for (struct dirent *e; !*what && (e = readdir(folder)) != NULL;) {
        if (is_dots(e->d_name))
            continue;
        is_empty = false;
        if (!is_of_checkpoint(e->d_name))
            snprintf(what, sizeof what,
                     "has \"%s\" in it, which is not of a "
                     "checkpoint",
                     e->d_name);
    }
    closedir(folder);
    if (!*what && !is_empty && !has_index(dir))
        snprintf(what, sizeof what, "has files but no index of a checkpoint");
    return *what ? fail_other(io, dir, what) : JD_OK;
}

static jd_status check_place(const struct jd_io *io, const char *dir)
{
    struct stat info;
    if (lstat(dir, &info) != 0)
        return errno == ENOENT
                   ? JD_OK
                   : jd__checkpoint_io_fail(io, "look at", dir, -1, errno);
    if (S_ISLNK(info.st_mode))
        return fail_other(io, dir, "is a symbolic link");
    if (!S_ISDIR(info.st_mode))
        return fail_other(io, dir, "is no directory");
    return check_entries(io, dir);
}

static jd_status sync_dir(const struct jd_io *io, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return jd__checkpoint_io_fail(io, "open", path, -1, errno);
    /* Some file systems have nothing to do for a directory, and say EINVAL. */
    int error = jd__checkpoint_io_sync(fd);
    close(fd);
    if (error && error != EINVAL)
        return jd__checkpoint_io_fail(io, "bring to the disk", path, -1, error);
    return JD_OK;
}

/* A crash between two renames has left it under its other name. */
static jd_status bring_back(const struct jd_io *io, const char *dir)
{
    char path[PATH_MAX] = "", parent[PATH_MAX];
    const char *name;
    if (!is_vacant(dir))
        return JD_OK;
    for_each_beside(dir, replaced, note_whole, path);
    if (!*path)
        return JD_OK;
    if (rename(path, dir) != 0)
        return jd__checkpoint_io_fail(io, "rename", path, -1, errno);
    split_path(dir, parent, &name);
    return sync_dir(io, parent);
}

static jd_status fail_mkdir(const struct jd_io *io, const char *path, int error)
{
    if (error != ENOENT)
        return jd__checkpoint_io_fail(io, "create", path, -1, error);
    return jd_fail(JD_NOT_FOUND,
                   "%s: %s could not create %s: the directory it is to stand "
                   "in does not exist; make that first",
                   io->operation, io->who, path);
}

static jd_status make_temporary(const struct jd_io *io, const char *dir,
                                uint64_t *ret_word)
{
    char suffix[JD_CHECKPOINT_SUFFIX], path[PATH_MAX];
    uint64_t word;
    if (getrandom(&word, sizeof word, 0) != sizeof word)
        return jd__checkpoint_io_fail(io, "draw a name for", dir, -1, errno);
    jd__checkpoint_suffix(word, suffix);
    jd_status status = jd__checkpoint_io_path(io, dir, suffix, NULL, path);
    if (status == JD_OK && mkdir(path, 0777) != 0)
        return fail_mkdir(io, path, errno);
    if (status == JD_OK)
        *ret_word = word;
    return status;
}

jd_status jd__checkpoint_prepare(const struct jd_io *io, const char *dir,
                                 uint64_t *ret_word)
{
    char path[PATH_MAX];
    jd_status status = jd__checkpoint_io_path(io, dir, "", NULL, path);
    if (status == JD_OK)
        status = bring_back(io, dir);
    if (status == JD_OK)
        status = check_place(io, dir);
    if (status != JD_OK)
        return status;
    for_each_beside(dir, temporary, remove_one, NULL);
    for_each_beside(dir, replaced, remove_one, NULL);
    return make_temporary(io, dir, ret_word);
}

/* ---- taking the place ---------------------------------------------------- */

/* Where names cannot be exchanged: the old one stands beside DIR between two
 * steps, where jd__checkpoint_locate() finds it. */
static jd_status replace_in_steps(const struct jd_io *io, const char *dir,
                                  const char *path, uint64_t word)
{
    char old[PATH_MAX];
    snprintf(old, sizeof old, "%s%s%016" PRIx64, dir, replaced, word);
    if (rename(dir, old) != 0)
        return jd__checkpoint_io_fail(io, "rename", dir, -1, errno);
    if (rename(path, dir) == 0)
        return JD_OK;
    jd_status status = jd__checkpoint_io_fail(io, "rename", path, -1, errno);
    if (rename(old, dir) != 0)
        return jd__checkpoint_io_fail(io, "rename back", old, -1, errno);
    return status;
}

static jd_status exchange_dirs(const struct jd_io *io, const char *dir,
                               const char *path, uint64_t word)
{
    if (renameat2(AT_FDCWD, path, AT_FDCWD, dir, RENAME_EXCHANGE) == 0)
        return JD_OK;
    if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
        return replace_in_steps(io, dir, path, word);
    return jd__checkpoint_io_fail(io, "exchange with the checkpoint before",
                                  path, -1, errno);
}

jd_status jd__checkpoint_commit(const struct jd_io *io, const char *dir,
                                uint64_t word)
{
    char suffix[JD_CHECKPOINT_SUFFIX], path[PATH_MAX], parent[PATH_MAX];
    const char *name;
    jd__checkpoint_suffix(word, suffix);
    jd_status status = jd__checkpoint_io_path(io, dir, suffix, NULL, path);
    if (status == JD_OK)
        status = sync_dir(io, path);
    if (status != JD_OK)
        return status;
    if (path_exists(dir))
        status = exchange_dirs(io, dir, path, word);
    else if (rename(path, dir) != 0)
        status = jd__checkpoint_io_fail(io, "rename", path, -1, errno);
    split_path(dir, parent, &name);
    return status == JD_OK ? sync_dir(io, parent) : status;
}
