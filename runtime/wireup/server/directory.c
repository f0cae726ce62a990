/* SPDX-License-Identifier: BSD-3-Clause */
/* directory.c - directories that are made, and leave nothing behind. */
#include "runtime/wireup/server/directory.h"

#include "runtime/topology/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define MEMORY "/dev/shm"
#define BEGINNING "jd-wireup-"
#define LOCK "lock"

enum {
    ROOM = 9 << 20,    /* libpmix's files for some processes take 8 MiB */
    NAME_SIZE = 44,    /* "/jd-wireup-4194304-5a0b1c-000004-XXXXXX" */
    YOUNG_SECONDS = 60 /* from the making to the lock, and far more */
};

/* ---- names -------------------------------------------------------------- */

/* Whose a directory is: pids of another boot, or of another namespace, say
 * nothing here. */
struct directory_owner {
    int pid;
    char boot[7]; /* "" where the kernel does not say */
    unsigned names;
};

static struct directory_owner own_identity(void)
{
    struct directory_owner owner = { .pid = (int)getppid() };
    char boot[40] = "";
    struct stat is;
    jd__host_boot_id(boot, sizeof boot);
    snprintf(owner.boot, sizeof owner.boot, "%.6s", boot[0] ? boot : "000000");
    if (stat("/proc/self/ns/pid", &is) == 0)
        owner.names = (unsigned)is.st_ino & 0xffffff;
    return owner;
}

/* "/jd-wireup-PID-BOOT-NAMES-XXXXXX" */
static void make_name(char name[NAME_SIZE])
{
    struct directory_owner own = own_identity();
    snprintf(name, NAME_SIZE, "/" BEGINNING "%d-%.6s-%06x-XXXXXX", own.pid,
             own.boot, own.names);
}

/* As make_name makes it, but for the end. */
static bool has_shape(const char *name, const struct directory_owner *owner)
{
    char same[NAME_SIZE];
    int length = snprintf(same, sizeof same, BEGINNING "%d-%.6s-%06x-",
                          owner->pid, owner->boot, owner->names);
    return strlen(owner->boot) == 6 &&
           strncmp(name, same, (size_t)length) == 0 &&
           strlen(name + length) == 6;
}

static bool read_name(const char *name, struct directory_owner *owner)
{
    int end = 0;
    return sscanf(name, BEGINNING "%d-%6[0-9a-f]-%6x-%*6[A-Za-z0-9]%n",
                  &owner->pid, owner->boot, &owner->names, &end) == 3 &&
           end && !name[end] && owner->pid > 0 && has_shape(name, owner);
}

/* ---- places ------------------------------------------------------------- */

/* Where nobody has said which: the first that can be written to and has room.
 */
static const char *const usual[] = { "/tmp", MEMORY, "/var/tmp" };
enum { NUM_USUAL = sizeof usual / sizeof *usual };

/* What was wrong with each that was tried. */
struct trial {
    char text[512];
    size_t length;
    int error; /* of the first */
};

static void note_place(struct trial *trial, const char *place)
{
    int error = errno;
    if (!trial->length)
        trial->error = error;
    int more = snprintf(trial->text + trial->length,
                        sizeof trial->text - trial->length, "%s%s: %s",
                        trial->length ? ", " : "", place, strerror(error));
    trial->length += (size_t)more;
    if (trial->length >= sizeof trial->text)
        trial->length = sizeof trial->text - 1;
}

static jd_status fail_directory(const struct trial *trial)
{
    int error = trial->error;
    jd_status status = error == EACCES || error == EPERM || error == EROFS
                           ? JD_PERMISSION_DENIED
                       : error == ENOENT || error == ENOTDIR
                           ? JD_NOT_FOUND
                           : JD_RESOURCE_EXHAUSTED;
    return jd_fail(status,
                   "a directory with room for %d MiB cannot be made in %s; "
                   "JD_TMPDIR names another place, which must be this host's "
                   "own",
                   ROOM >> 20, trial->text);
}

/* ---- removing ----------------------------------------------------------- */

/* Held by the server and its supervisor, who have this descriptor both: whoever
 * gets the lock knows that they have gone. */
static int take_lock(const char *path)
{
    char name[600];
    snprintf(name, sizeof name, "%s/" LOCK, path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int remove_one(const char *path, const struct stat *facts, int kind,
                      struct FTW *place)
{
    (void)facts, (void)kind, (void)place;
    remove(path);
    return 0;
}

static void remove_all(const char *path)
{
    if (path[0])
        nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool has_been_let_go(const char *path)
{
    int lock = take_lock(path);
    if (lock >= 0)
        close(lock);
    return lock >= 0;
}

static bool has_died(const struct directory_owner *owner,
                     const struct directory_owner *own)
{
    return owner->names == own->names && kill(owner->pid, 0) != 0 &&
           errno == ESRCH;
}

/* A pid that lives may be another's by now, as in a container that is started
 * again, and one of another namespace says nothing: the lock does, once it is
 * certain to have been taken. */
static bool is_left(const char *path, const char *name)
{
    struct directory_owner own = own_identity(), owner;
    struct stat is;
    if (!read_name(name, &owner) || lstat(path, &is) != 0 ||
        !S_ISDIR(is.st_mode) || is.st_uid != geteuid())
        return false;
    if (strcmp(owner.boot, own.boot) != 0)
        return true;
    bool is_old = time(NULL) - is.st_mtime > YOUNG_SECONDS;
    return (is_old || has_died(&owner, &own)) && has_been_let_go(path);
}

static void collect_litter(const char *place)
{
    struct dirent *entry;
    char path[512];
    DIR *dir = opendir(place);
    while (dir && (entry = readdir(dir))) {
        int length = snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
        if (strncmp(entry->d_name, BEGINNING, sizeof BEGINNING - 1) == 0 &&
            (size_t)length < sizeof path && is_left(path, entry->d_name))
            remove_all(path);
    }
    if (dir)
        closedir(dir);
}

void directory_remove(const struct directory *directory)
{
    remove_all(directory->shared);
    remove_all(directory->path);
}

/* ---- making ------------------------------------------------------------- */

static bool is_memory(const char *path)
{
    struct statfs facts;
    return statfs(path, &facts) == 0 && facts.f_type == TMPFS_MAGIC;
}

/* In memory where there is some, as MPI would do itself: a file on a disk is
 * written back while processes talk through it. */
static bool make_shared(struct directory *directory)
{
    if (is_memory(MEMORY)) {
        char name[NAME_SIZE];
        make_name(name);
        snprintf(directory->shared, sizeof directory->shared, MEMORY "%s",
                 name);
        if (mkdtemp(directory->shared)) {
            directory->locks[1] = take_lock(directory->shared);
            return true;
        }
    }
    snprintf(directory->shared, sizeof directory->shared, "%s/shm",
             directory->path);
    return mkdir(directory->shared, 0700) == 0;
}

/* libpmix does not say that a disk is full. False with errno. */
static bool has_room(const char *path)
{
    char name[sizeof((struct directory *)0)->liveness];
    snprintf(name, sizeof name, "%s/room", path);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    int error = posix_fallocate(fd, 0, ROOM);
    close(fd);
    unlink(name);
    errno = error;
    return error == 0;
}

static bool fill_paths(struct directory *directory)
{
    snprintf(directory->liveness, sizeof directory->liveness, "%s/life",
             directory->path);
    snprintf(directory->pmi, sizeof directory->pmi, "%s/pmi", directory->path);
    snprintf(directory->jobs, sizeof directory->jobs, "%s/job",
             directory->path);
    return mkdir(directory->jobs, 0700) == 0 && has_room(directory->path) &&
           make_shared(directory);
}

/* False with errno, and nothing left. */
static bool make_in(const char *place, struct directory *ret_directory)
{
    struct directory directory = { .path = "", .locks = { -1, -1 } };
    char name[NAME_SIZE];
    make_name(name);
    snprintf(directory.path, sizeof directory.path, "%s%s", place, name);
    if (!mkdtemp(directory.path))
        return false;
    directory.locks[0] = take_lock(directory.path);
    if (directory.locks[0] >= 0 && fill_paths(&directory)) {
        *ret_directory = directory;
        return true;
    }
    int error = errno;
    directory_remove(&directory);
    errno = error;
    return false;
}

static jd_status check_length(const char *place)
{
    size_t most = sizeof((struct directory *)0)->path - NAME_SIZE;
    if (strlen(place) <= most)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "the directory %s has a name of %zu bytes, too long for a "
                   "socket in it (at most %zu); JD_TMPDIR names another",
                   place, strlen(place), most);
}

jd_status directory_create(const char *tmpdir, struct directory *ret_directory)
{
    bool is_given = tmpdir[0] != '\0';
    struct trial trial = { .text = "" };
    jd_status status = check_length(tmpdir);
    if (status != JD_OK)
        return status;
    for (int i = 0; i < (is_given ? 1 : NUM_USUAL); i++) {
        const char *place = is_given ? tmpdir : usual[i];
        collect_litter(place);
        collect_litter(MEMORY);
        if (make_in(place, ret_directory))
            return JD_OK;
        note_place(&trial, place);
    }
    return fail_directory(&trial);
}

/* ---- the segments of MPI ------------------------------------------------ */

/* What Open MPI makes of the namespace (one-at-a-time). */
static uint32_t hash_name(const char *nspace)
{
    uint32_t hash = 0;
    for (const char *c = nspace; *c; c++) {
        hash += (uint8_t)*c;
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    hash += hash << 3;
    hash ^= hash >> 11;
    hash += hash << 15;
    return hash;
}

/* The job's number in Open MPI 4 and in 5. */
static void number_job(const char *nspace, uint32_t numbers[2])
{
    uint32_t hash = hash_name(nspace);
    numbers[0] = hash & ~UINT32_C(0x8000);
    numbers[1] = (hash ^ hash << 16) & UINT32_C(0xffff0000);
}

/* "vader_segment.HOST.USER.NUMBER.3"; the host's name may have dots. */
static bool is_segment_of(const char *name, const char *end)
{
    bool is_segment = strncmp(name, "vader_segment.", 14) == 0 ||
                      strncmp(name, "sm_segment.", 11) == 0;
    const char *rank = strrchr(name, '.');
    size_t length = strlen(end);
    return is_segment && rank && (size_t)(rank - name) > length &&
           strncmp(rank - length, end, length) == 0;
}

void directory_remove_segments(const char *nspace)
{
    uint32_t numbers[2];
    char ends[2][40];
    struct dirent *entry;
    DIR *dir = opendir(MEMORY);
    number_job(nspace, numbers);
    for (int i = 0; i < 2; i++)
        snprintf(ends[i], sizeof ends[i], ".%u.%x", (unsigned)geteuid(),
                 (unsigned)numbers[i]);
    while (dir && (entry = readdir(dir)))
        if (is_segment_of(entry->d_name, ends[0]) ||
            is_segment_of(entry->d_name, ends[1]))
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
}
