/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * env.h - the environment as an object, so that detection can be run on a
 * saved one and tested from a text file.
 *
 *     struct jd_env *env;
 *     jd__env_from_process(&env);
 *     const char *rank = jd__env_get(env, "SLURM_PROCID");
 *     jd__env_destroy(env);
 *
 * This is the one file of jd that reads or writes the process's environment.
 * Threads: an object is immutable, so any thread may read it. Making one
 * from the process, and the functions that change the process's, race
 * with setenv() in other threads.
 */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include "base/status.h"

#include <stdbool.h>

struct jd_env;

struct jd_env_entry {
    const char *name;
    const char *value;
};

/* Copies the process's environment. Returns JD_OK, RESOURCE_EXHAUSTED. */
jd_status jd__env_from_process(struct jd_env **ret_env);

/*
 * Reads the output of `env` or `env -0`: one NAME=value a line, '#' begins a
 * comment line, and a line that is no assignment continues the value before
 * it. "-" is standard input. Returns JD_OK; NOT_FOUND or PERMISSION_DENIED
 * naming the file; INVALID_ARGUMENT naming the file and the line that comes
 * before any assignment, or a name that is there twice; RESOURCE_EXHAUSTED.
 */
jd_status jd__env_from_file(const char *path, struct jd_env **ret_env);

/* As jd__env_from_file, from length bytes of memory; label is for errors. */
jd_status jd__env_from_text(const char *text, size_t length, const char *label,
                            struct jd_env **ret_env);

/* From the length bytes of a /proc/PID/environ: what is no assignment is left
 * out, and of two with one name one counts. Returns JD_OK,
 * RESOURCE_EXHAUSTED. */
jd_status jd__env_from_block(const char *block, size_t length,
                             struct jd_env **ret_env);

void jd__env_destroy(struct jd_env *env);

/* The value, or NULL where the variable is not set. Borrowed from env. */
const char *jd__env_get(const struct jd_env *env, const char *name);

/* As jd__env_get, but an empty value counts as not set. */
const char *jd__env_get_nonempty(const struct jd_env *env, const char *name);

/* All variables in the order of their names. Borrowed from env. */
size_t jd__env_count(const struct jd_env *env);
const struct jd_env_entry *jd__env_at(const struct jd_env *env, size_t index);

/* True where some variable's name begins with prefix. */
bool jd__env_has_prefix(const struct jd_env *env, const char *prefix);

/* The process's environment as execve() takes it, without the variables of
 * count names. NULL where memory ends.
 * Owns: the caller frees the array; the strings are the process's. */
char **jd__env_strings_without(const char *const *names, size_t count);

/* Makes the process's environment what env is: what has come since goes, what
 * has gone or changed comes back. Returns JD_OK; INTERNAL, RESOURCE_EXHAUSTED.
 */
jd_status jd__env_restore(const struct jd_env *env);

/* Sets or (value NULL) removes a variable of the process itself. */
jd_status jd__env_export(const char *name, const char *value);

/* The same where it is not set: it goes when the process ends. */
jd_status jd__env_offer(const char *name, const char *value);

/* Where this process has no HOME and its user is unknown, libpmix crashes:
 * sets HOME to "/" then, and returns whether it has. */
bool jd__env_lend_home(void);

#endif
