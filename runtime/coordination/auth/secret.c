/* SPDX-License-Identifier: BSD-3-Clause */
/* secret.c - where a job's secret comes from when MPI does not carry it. */
#include "runtime/coordination/auth/auth.h"
#include "runtime/coordination/auth/munge.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET_MAX 4096
#define MUNGE_SECONDS 5 /* it answers in less than one millisecond */

/* The words of the remedy: a secret, and only for its owner. */
#define HOW_TO_WRITE "(umask 077; head -c 32 /dev/urandom | base64 >%s)"

/* ---- the file ----------------------------------------------------------- */

static jd_status fail_open(const char *path, int error)
{
    if (error == ENOENT || error == ENOTDIR)
        return jd_fail(JD_NOT_FOUND,
                       "JD_SECRET_FILE: there is no %s on this host; write a "
                       "secret: " HOW_TO_WRITE
                       " and copy it to each host of the job",
                       path, path);
    if (error == EACCES || error == EPERM)
        return jd_fail(JD_PERMISSION_DENIED,
                       "JD_SECRET_FILE: %s cannot be read: %s; let its owner "
                       "start the job, and chmod 600 %s",
                       path, strerror(error), path);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "JD_SECRET_FILE: %s cannot be read: %s; name a file that "
                   "can, of mode 0600",
                   path, strerror(error));
}

static jd_status check_file(const char *path, const struct stat *file)
{
    if (!S_ISREG(file->st_mode))
        return jd_fail(JD_INVALID_ARGUMENT,
                       "JD_SECRET_FILE: %s is %s, but it must be a regular "
                       "file of mode 0600",
                       path,
                       S_ISDIR(file->st_mode) ? "a directory"
                                              : "a device, pipe or socket");
    if (file->st_uid != geteuid())
        return jd_fail(JD_PERMISSION_DENIED,
                       "JD_SECRET_FILE: %s belongs to user %u, and this "
                       "process is user %u's: its owner knows the secret; name "
                       "a file of its own user, of mode 0600",
                       path, (unsigned)file->st_uid, (unsigned)geteuid());
    if (file->st_mode & 077)
        return jd_fail(JD_PERMISSION_DENIED,
                       "JD_SECRET_FILE: %s has mode %04o, so that others than "
                       "its owner may use it, but it must be 0600 or 0400; "
                       "chmod 600 %s, and change the secret if it was seen",
                       path, (unsigned)file->st_mode & 07777, path);
    return JD_OK;
}

/* A secret of size bytes has been read, SECRET_MAX + 1 if it is longer. */
static jd_status check_size(const char *path, size_t size)
{
    if (size == 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "JD_SECRET_FILE: %s is empty; write a secret: "
                       "" HOW_TO_WRITE,
                       path, path);
    if (size > SECRET_MAX)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "JD_SECRET_FILE: %s has more than %d bytes; a secret "
                       "needs some 32: " HOW_TO_WRITE,
                       path, SECRET_MAX, path);
    return JD_OK;
}

/* Reads until size bytes are there or the file ends; -1 sets errno. */
static ssize_t read_all(int fd, char *data, size_t size)
{
    size_t length = 0;
    while (length < size) {
        ssize_t n = read(fd, data + length, size - length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? n : (ssize_t)length;
        length += (size_t)n;
    }
    return (ssize_t)length;
}

/* text has room for SECRET_MAX bytes, a newline, and one byte too many. */
static jd_status read_secret(int fd, const char *path, char *text,
                             size_t *ret_size)
{
    struct stat file;
    if (fstat(fd, &file) != 0)
        return fail_open(path, errno);
    jd_status status = check_file(path, &file);
    if (status != JD_OK)
        return status;
    ssize_t length = read_all(fd, text, SECRET_MAX + 2);
    if (length < 0)
        return fail_open(path, errno);
    size_t size = (size_t)length;
    if (size > 0 && text[size - 1] == '\n')
        size--;
    *ret_size = size;
    return check_size(path, size);
}

/* ---- from a text to a key ----------------------------------------------- */

/* Every bit of the secret counts, whatever its length. */
static void set_secret(struct jd_auth *auth, const void *text, size_t size,
                       const char *source)
{
    static const char purpose[] = "jd secret 1";
    crypto_generichash_state state;
    *auth = (struct jd_auth){ .way = JD_AUTH_SECRET };
    snprintf(auth->source, sizeof auth->source, "%s", source);
    crypto_generichash_init(&state, NULL, 0, sizeof auth->key);
    crypto_generichash_update(&state, (const void *)purpose, sizeof purpose);
    crypto_generichash_update(&state, text, size);
    crypto_generichash_final(&state, auth->key, sizeof auth->key);
    sodium_memzero(&state, sizeof state);
}

static jd_status find_in_file(const char *path, struct jd_auth *auth)
{
    char text[SECRET_MAX + 2];
    size_t size = 0;
    /* O_NONBLOCK: a pipe that nobody writes to would block the opening. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return fail_open(path, errno);
    jd_status status = read_secret(fd, path, text, &size);
    close(fd);
    if (status == JD_OK)
        set_secret(auth, text, size, "JD_SECRET_FILE");
    sodium_memzero(text, sizeof text);
    return status;
}

static bool is_slurm_job(const struct jd_env *env)
{
    return jd__env_get_nonempty(env, "SLURM_JOB_ID") != NULL;
}

/* A munged that does not answer is not taken for none: who floods it would
 * have this process believe any service. */
static jd_status find_without_secret(const struct jd_env *env,
                                     const struct jd_clock *clock,
                                     struct jd_auth *ret_auth)
{
    bool is_there = false;
    jd_status status = JD_OK;
    if (is_slurm_job(env))
        status = jd__munge_look(MUNGE_SECONDS, clock, &is_there);
    if (status != JD_OK)
        return jd__fail_prefix(status,
                               "in a Slurm job (SLURM_JOB_ID is set) the "
                               "processes know each other by munge, but ");
    *ret_auth = is_there ? (struct jd_auth){ JD_AUTH_MUNGE, .source = "munge" }
                         : (struct jd_auth){ .way = JD_AUTH_OPEN };
    return JD_OK;
}

jd_status jd__secret_find(const struct jd_env *env,
                          const struct jd_settings *settings,
                          const struct jd_clock *clock,
                          struct jd_auth *ret_auth)
{
    const char *secret = jd__options_text(settings, JD_OPTION_SECRET);
    const char *path = jd__options_text(settings, JD_OPTION_SECRET_FILE);
    if (secret && path)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "JD_SECRET and JD_SECRET_FILE (\"%s\") are both set, "
                       "and a job has one secret; leave one of them out",
                       path);
    if (path)
        return find_in_file(path, ret_auth);
    if (!secret)
        return find_without_secret(env, clock, ret_auth);
    set_secret(ret_auth, secret, strlen(secret), "JD_SECRET");
    return JD_OK;
}
