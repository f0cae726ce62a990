/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_kvs.c - entries in libc's balanced tree. */
#include "runtime/wireup/server/pmi_kvs.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* "key\0value\0", which starts as its key does. */
static int compare_keys(const void *a, const void *b)
{
    return strcmp(a, b);
}

static char *make_entry(const char *key, const char *value)
{
    size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;
    char *entry = malloc(key_size + value_size);
    if (!entry)
        return NULL;
    memcpy(entry, key, key_size);
    memcpy(entry + key_size, value, value_size);
    return entry;
}

bool pmi_kvs_know(struct pmi_kvs *kvs, const char *key, const char *value)
{
    char *entry = make_entry(key, value);
    char **place = entry ? tsearch(entry, &kvs->tree, compare_keys) : NULL;
    if (!place) {
        free(entry);
        return false;
    }
    if (*place != entry) {
        free(*place);
        *place = entry;
    }
    return true;
}

static bool append_text(struct jd_bytes *bytes, const char *text, char end)
{
    size_t size = strlen(text);
    uint8_t *at = jd__wire_bytes_reserve(bytes, size + 1);
    if (!at)
        return false;
    memcpy(at, text, size);
    at[size] = (uint8_t)end;
    bytes->end += size + 1;
    return true;
}

bool pmi_kvs_put(struct pmi_kvs *kvs, const char *key, const char *value)
{
    if (!key[0] || strpbrk(key, "= \n") || strchr(value, '\n'))
        return false;
    return pmi_kvs_know(kvs, key, value) &&
           append_text(&kvs->fresh, key, '=') &&
           append_text(&kvs->fresh, value, '\n');
}

/* One "key=value" of it, without the newline. */
static bool know_line(struct pmi_kvs *kvs, char *line)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return false;
    *equals = '\0';
    return pmi_kvs_know(kvs, line, equals + 1);
}

bool pmi_kvs_merge(struct pmi_kvs *kvs, const void *data, size_t size)
{
    char *text = malloc(size + 1), *rest = text, *line;
    bool is_known = text != NULL;
    if (!text)
        return false;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    while (is_known && (line = strsep(&rest, "\n")))
        is_known = !*line || know_line(kvs, line);
    free(text);
    return is_known;
}

const char *pmi_kvs_get(const struct pmi_kvs *kvs, const char *key)
{
    char *const *place = tfind(key, &kvs->tree, compare_keys);
    return place ? *place + strlen(*place) + 1 : NULL;
}

void pmi_kvs_finish(struct pmi_kvs *kvs)
{
    tdestroy(kvs->tree, free);
    jd__wire_bytes_finish(&kvs->fresh);
    kvs->tree = NULL;
}
