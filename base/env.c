/* SPDX-License-Identifier: BSD-3-Clause */
/* env.c - the environment as an object: a sorted array of name and value. */
#include "base/env.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

struct jd_env {
    struct jd_env_entry *entries;
    size_t count;
    size_t capacity;
};

static int compare_entries(const void *a, const void *b)
{
    const struct jd_env_entry *left = a, *right = b;
    return strcmp(left->name, right->name);
}

static jd_status grow_entries(struct jd_env *env)
{
    if (env->count < env->capacity)
        return JD_OK;
    size_t capacity = env->capacity ? 2 * env->capacity : 64;
    size_t bytes = capacity * sizeof *env->entries;
    struct jd_env_entry *entries = realloc(env->entries, bytes);
    if (!entries)
        return jd__fail_no_memory("reading the environment", bytes);
    env->entries = entries;
    env->capacity = capacity;
    return JD_OK;
}

/* name and value stand in one block, name first; free(name) frees both. */
static jd_status add_entry(struct jd_env *env, const char *name,
                           size_t name_length, const char *value,
                           size_t value_length)
{
    jd_status status = grow_entries(env);
    if (status != JD_OK)
        return status;
    char *block = malloc(name_length + value_length + 2);
    if (!block)
        return jd__fail_no_memory("reading the environment",
                                  name_length + value_length + 2);
    memcpy(block, name, name_length);
    block[name_length] = '\0';
    memcpy(block + name_length + 1, value, value_length);
    block[name_length + 1 + value_length] = '\0';
    env->entries[env->count++] = (struct jd_env_entry){
        .name = block,
        .value = block + name_length + 1,
    };
    return JD_OK;
}

static void sort_entries(struct jd_env *env)
{
    if (env->count)
        qsort(env->entries, env->count, sizeof *env->entries, compare_entries);
}

void jd__env_destroy(struct jd_env *env)
{
    if (!env)
        return;
    for (size_t i = 0; i < env->count; i++)
        free((char *)env->entries[i].name);
    free(env->entries);
    free(env);
}

static jd_status create_env(struct jd_env **ret_env)
{
    *ret_env = calloc(1, sizeof **ret_env);
    return *ret_env ? JD_OK
                    : jd__fail_no_memory("reading the environment",
                                         sizeof **ret_env);
}

static jd_status add_process_variables(struct jd_env *env)
{
    for (char **item = environ; item && *item; item++) {
        const char *equals = strchr(*item, '=');
        if (!equals)
            continue;
        jd_status status = add_entry(env, *item, (size_t)(equals - *item),
                                     equals + 1, strlen(equals + 1));
        if (status != JD_OK)
            return status;
    }
    sort_entries(env);
    return JD_OK;
}

jd_status jd__env_from_process(struct jd_env **ret_env)
{
    struct jd_env *env;
    jd_status status = create_env(&env);
    if (status != JD_OK)
        return status;
    status = add_process_variables(env);
    if (status != JD_OK) {
        jd__env_destroy(env);
        return status;
    }
    *ret_env = env;
    return JD_OK;
}

/* The length of NAME in "NAME=...", 0 where the line is no assignment. */
static size_t assignment_name_length(const char *line, size_t length)
{
    size_t n = 0;
    while (n < length && line[n] != '=') {
        if (!isalnum((unsigned char)line[n]) && !strchr("_-.%()", line[n]))
            return 0;
        n++;
    }
    bool starts_well = n && !isdigit((unsigned char)line[0]);
    return n < length && starts_well ? n : 0;
}

/* Appends "\nLINE" to the last value: values may span lines. */
static jd_status continue_value(struct jd_env *env, const char *line,
                                size_t length)
{
    struct jd_env_entry *last = &env->entries[env->count - 1];
    size_t name = strlen(last->name), value = strlen(last->value);
    char *block = realloc((char *)last->name, name + value + length + 3);
    if (!block)
        return jd__fail_no_memory("reading the environment",
                                  name + value + length + 3);
    char *end = block + name + 1 + value;
    *end++ = '\n';
    memcpy(end, line, length);
    end[length] = '\0';
    *last = (struct jd_env_entry){ block, block + name + 1 };
    return JD_OK;
}

struct lines {
    const char *label; /* NULL: what is no assignment is left out */
    char separator;
    size_t number;
};

static jd_status add_line(struct jd_env *env, const struct lines *lines,
                          const char *line, size_t length)
{
    if (lines->separator == '\n' && (!length || line[0] == '#'))
        return JD_OK;
    size_t name = assignment_name_length(line, length);
    if (name)
        return add_entry(env, line, name, line + name + 1, length - name - 1);
    if (!length || !lines->label)
        return JD_OK;
    if (env->count && lines->separator == '\n')
        return continue_value(env, line, length);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s, line %zu: \"%.*s\" is no NAME=value; the file must be "
                   "the output of env or env -0",
                   lines->label, lines->number,
                   (int)(length > 60 ? 60 : length), line);
}

static jd_status add_lines(struct jd_env *env, const char *text, size_t length,
                           const char *label)
{
    bool has_zeros = !label || memchr(text, '\0', length);
    struct lines lines = { label, has_zeros ? '\0' : '\n', 1 };
    for (size_t at = 0; at < length; lines.number++) {
        const char *line = text + at;
        const char *end = memchr(line, lines.separator, length - at);
        size_t n = end ? (size_t)(end - line) : length - at;
        jd_status status = add_line(env, &lines, line, n);
        if (status != JD_OK)
            return status;
        at += n + 1;
    }
    return JD_OK;
}

static jd_status refuse_duplicates(const struct jd_env *env, const char *label)
{
    for (size_t i = 1; i < env->count; i++) {
        const struct jd_env_entry *a = &env->entries[i - 1], *b = a + 1;
        if (strcmp(a->name, b->name) == 0)
            return jd_fail(JD_INVALID_ARGUMENT,
                           "%s: %s is set twice, to \"%s\" and to \"%s\"; "
                           "remove one",
                           label, a->name, a->value, b->value);
    }
    return JD_OK;
}

jd_status jd__env_from_text(const char *text, size_t length, const char *label,
                            struct jd_env **ret_env)
{
    struct jd_env *env;
    jd_status status = create_env(&env);
    if (status != JD_OK)
        return status;
    status = length ? add_lines(env, text, length, label) : JD_OK;
    sort_entries(env);
    if (status == JD_OK && label)
        status = refuse_duplicates(env, label);
    if (status != JD_OK) {
        jd__env_destroy(env);
        return status;
    }
    *ret_env = env;
    return JD_OK;
}

jd_status jd__env_from_block(const char *block, size_t length,
                             struct jd_env **ret_env)
{
    return jd__env_from_text(block, length, NULL, ret_env);
}

static jd_status fail_file(const char *path, int error)
{
    jd_status status = error == ENOENT   ? JD_NOT_FOUND
                       : error == EACCES ? JD_PERMISSION_DENIED
                                         : JD_UNAVAILABLE;
    return jd_fail(status, "the saved environment %s cannot be read: %s", path,
                   strerror(error));
}

/* Reads the stream to its end; environments are small, 16 MiB is refused. */
static jd_status slurp_file(FILE *file, const char *path, char **ret_text,
                            size_t *ret_length)
{
    size_t capacity = 1 << 16, length = 0, limit = 1 << 24;
    char *text = malloc(capacity);
    while (text && length < limit) {
        size_t n = fread(text + length, 1, capacity - length, file);
        length += n;
        if (n == 0)
            break;
        if (length == capacity) {
            char *more = realloc(text, capacity *= 2);
            if (!more)
                free(text);
            text = more;
        }
    }
    if (!text)
        return jd__fail_no_memory("reading a saved environment", capacity);
    if (ferror(file) || length >= limit) {
        int error = ferror(file) ? errno : EFBIG;
        free(text);
        return fail_file(path, error);
    }
    *ret_text = text;
    *ret_length = length;
    return JD_OK;
}

jd_status jd__env_from_file(const char *path, struct jd_env **ret_env)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    if (!file)
        return fail_file(path, errno);
    char *text = NULL;
    size_t length = 0;
    jd_status status = slurp_file(file, path, &text, &length);
    if (!is_stdin)
        fclose(file);
    if (status != JD_OK)
        return status;
    status = jd__env_from_text(text, length, path, ret_env);
    free(text);
    return status;
}

const char *jd__env_get(const struct jd_env *env, const char *name)
{
    struct jd_env_entry key = { .name = name };
    if (!env->count)
        return NULL;
    const struct jd_env_entry *found =
        bsearch(&key, env->entries, env->count, sizeof key, compare_entries);
    return found ? found->value : NULL;
}

const char *jd__env_get_nonempty(const struct jd_env *env, const char *name)
{
    const char *value = jd__env_get(env, name);
    return value && value[0] ? value : NULL;
}

size_t jd__env_count(const struct jd_env *env)
{
    return env->count;
}

const struct jd_env_entry *jd__env_at(const struct jd_env *env, size_t index)
{
    return &env->entries[index];
}

bool jd__env_has_prefix(const struct jd_env *env, const char *prefix)
{
    for (size_t i = 0; i < env->count; i++)
        if (strncmp(env->entries[i].name, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

/* What setenv() or unsetenv() has returned. */
static jd_status check_set(int error, const char *name)
{
    return error ? jd_fail(JD_INTERNAL, "setting the variable %s: %s", name,
                           strerror(errno))
                 : JD_OK;
}

jd_status jd__env_export(const char *name, const char *value)
{
    return check_set(value ? setenv(name, value, 1) : unsetenv(name), name);
}

jd_status jd__env_offer(const char *name, const char *value)
{
    return check_set(setenv(name, value, 0), name);
}

bool jd__env_lend_home(void)
{
    return !getenv("HOME") && !getpwuid(geteuid()) &&
           setenv("HOME", "/", 1) == 0;
}

static bool is_one_of(const char *string, const char *const *names,
                      size_t count)
{
    size_t length = strcspn(string, "=");
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length &&
            strncmp(string, names[i], length) == 0)
            return true;
    return false;
}

char **jd__env_strings_without(const char *const *names, size_t count)
{
    size_t all = 0, kept = 0;
    while (environ && environ[all])
        all++;
    char **strings = calloc(all + 1, sizeof *strings);
    for (size_t i = 0; strings && i < all; i++)
        if (!is_one_of(environ[i], names, count))
            strings[kept++] = environ[i];
    return strings;
}

jd_status jd__env_restore(const struct jd_env *env)
{
    struct jd_env *now;
    jd_status status = jd__env_from_process(&now);
    if (status != JD_OK)
        return status;
    for (size_t i = 0; status == JD_OK && i < jd__env_count(now); i++)
        if (!jd__env_get(env, jd__env_at(now, i)->name))
            status = jd__env_export(jd__env_at(now, i)->name, NULL);
    for (size_t i = 0; status == JD_OK && i < jd__env_count(env); i++) {
        const struct jd_env_entry *entry = jd__env_at(env, i);
        const char *value = jd__env_get(now, entry->name);
        if (!value || strcmp(value, entry->value) != 0)
            status = jd__env_export(entry->name, entry->value);
    }
    jd__env_destroy(now);
    return status;
}
