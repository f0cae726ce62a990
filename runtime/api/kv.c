/* SPDX-License-Identifier: BSD-3-Clause */
/* kv.c - the public calls of the key-value store. */
#include "base/digest.h"
#include "base/key_text.h"
#include "base/text.h"
#include "jd_coordination.h"
#include "runtime/api/barrier.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/server/store.h"
#include "runtime/process/runtime.h"
#include "runtime/recorder/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One call of this file: a request, and what a sentence about it needs. */
struct kv_question {
    const struct jd_runtime *runtime;
    struct jd_call call;
    char detail[JD_KEY_TEXT_SIZE + 16];
};

/* ---- arguments ---------------------------------------------------------- */

static jd_status fail_null(const char *operation, const char *argument)
{
    return jd_fail(JD_INVALID_ARGUMENT, "%s: %s is NULL", operation, argument);
}

static jd_status fail_key(const char *operation, const char *place,
                          const char *key)
{
    char text[JD_KEY_TEXT_SIZE];
    if (!key)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: %s is NULL; a key has 1 to %d bytes", operation,
                       place, JD_STORE_KEY_MAX);
    if (!key[0])
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: %s is empty; a key has 1 to %d bytes", operation,
                       place, JD_STORE_KEY_MAX);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: %s is too long: %s; a key has 1 to %d bytes", operation,
                   place, jd__key_text_format(text, jd__wire_text(key)),
                   JD_STORE_KEY_MAX);
}

static bool is_key(const char *key)
{
    return key && key[0] &&
           strnlen(key, JD_STORE_KEY_MAX + 1) <= JD_STORE_KEY_MAX;
}

static jd_status check_key(const char *operation, const char *key)
{
    return is_key(key) ? JD_OK : fail_key(operation, "key", key);
}

/* A key of a list. */
static jd_status check_key_at(const char *operation, const char *array,
                              size_t at, const char *member, const char *key)
{
    char place[64];
    if (is_key(key))
        return JD_OK;
    snprintf(place, sizeof place, "%s[%zu]%s", array, at, member);
    return fail_key(operation, place, key);
}

/* ---- questions ---------------------------------------------------------- */

static jd_status begin_question(struct kv_question *question,
                                const char *operation)
{
    question->call = (struct jd_call){ .operation = operation };
    return jd__runtime_get(&question->runtime, operation);
}

/* About this key or directory. */
static jd_status begin_with(struct kv_question *question, const char *operation,
                            const char *noun, const char *key)
{
    char text[JD_KEY_TEXT_SIZE];
    snprintf(question->detail, sizeof question->detail, " of %s %s", noun,
             jd__key_text_format(text, jd__wire_text(key)));
    jd_status status = begin_question(question, operation);
    question->call.detail = question->detail;
    return status;
}

/* About so many keys. */
static jd_status begin_with_many(struct kv_question *question,
                                 const char *operation, size_t count)
{
    snprintf(question->detail, sizeof question->detail, " of %zu key%s", count,
             jd__text_s(count));
    jd_status status = begin_question(question, operation);
    question->call.detail = question->detail;
    return status;
}

static jd_status ask_service(struct kv_question *question,
                             Jd__Message__BodyCase body, void *body_message)
{
    jd__call_init(&question->call, body, body_message);
    return jd__client_call(jd__session_client(question->runtime->session),
                           &question->call);
}

/* The values of these keys; waits for them. */
static jd_status ask_for(struct kv_question *question,
                         ProtobufCBinaryData *keys, size_t count)
{
    Jd__Get body = JD__GET__INIT;
    body.keys = keys;
    body.n_keys = count;
    jd__recorder_enter(&(struct jd_recorder_call){
        .operation = question->call.operation,
        .count = count,
        .rest = count == 1 ? jd__digest(0, keys->data, keys->len) : 0,
    });
    jd_status status =
        jd__recorder_leave(ask_service(question, JD__MESSAGE__BODY_GET, &body));
    if (status != JD_OK || question->call.reply->n_entries == count)
        return status;
    size_t values = question->call.reply->n_entries;
    jd__call_finish(&question->call);
    return jd_fail(JD_INTERNAL,
                   "%s%s: %zu values came from process 0 for %zu keys; does it "
                   "run another version of jd?",
                   question->call.operation, question->call.detail, values,
                   count);
}

/* ---- values and lists --------------------------------------------------- */

/* Copies with a NUL behind it, and gives where the copy ends. */
static char *append_text(char *end, const void *data, size_t size)
{
    if (size)
        memcpy(end, data, size);
    end[size] = 0;
    return end + size + 1;
}

static jd_status copy_value(const char *operation,
                            const ProtobufCBinaryData *value, void **ret_value,
                            size_t *ret_size)
{
    char *copy = malloc(value->len + 1);
    if (!copy)
        return jd__fail_no_memory(operation, value->len + 1);
    append_text(copy, value->data, value->len);
    *ret_value = copy;
    *ret_size = value->len;
    return JD_OK;
}

/* The entry's own key, or where the asker has the keys, that. */
static ProtobufCBinaryData key_of(const Jd__Entry *entry,
                                  const ProtobufCBinaryData *keys, size_t at)
{
    return keys ? keys[at] : entry->key;
}

static jd_status copy_entries(const struct jd_call *call,
                              const ProtobufCBinaryData *keys,
                              jd_kv_entry **ret_entries)
{
    const Jd__Reply *reply = call->reply;
    size_t bytes = 1 + reply->n_entries * (sizeof **ret_entries + 2);
    for (size_t i = 0; i < reply->n_entries; i++)
        bytes += key_of(reply->entries[i], keys, i).len +
                 reply->entries[i]->value.len;
    jd_kv_entry *entries = malloc(bytes);
    if (!entries)
        return jd__fail_no_memory(call->operation, bytes);
    char *end = (char *)(entries + reply->n_entries);
    for (size_t i = 0; i < reply->n_entries; i++) {
        const Jd__Entry *from = reply->entries[i];
        ProtobufCBinaryData key = key_of(from, keys, i);
        entries[i].key = end;
        end = append_text(end, key.data, key.len);
        entries[i].value = end;
        entries[i].size = from->value.len;
        end = append_text(end, from->value.data, from->value.len);
    }
    *ret_entries = entries;
    return JD_OK;
}

/* What an empty list is: something to free. */
static jd_status give_nothing(const char *operation, jd_kv_entry **ret_entries)
{
    jd_kv_entry *entries = malloc(sizeof *entries);
    if (!entries)
        return jd__fail_no_memory(operation, sizeof *entries);
    *ret_entries = entries;
    return JD_OK;
}

/* ---- one key ------------------------------------------------------------ */

jd_status jd_kv_set(const char *key, const void *value, size_t size,
                    int allow_overwrite)
{
    static const char operation[] = "jd_kv_set";
    struct kv_question question;
    Jd__Set body = JD__SET__INIT;
    Jd__Entry entry = JD__ENTRY__INIT, *entries = &entry;
    jd_status status = check_key(operation, key);
    if (status == JD_OK && !value && size)
        status = fail_null(operation, "value");
    if (status == JD_OK)
        status = begin_with(&question, operation, "key", key);
    if (status != JD_OK)
        return status;
    entry.key = jd__wire_text(key);
    entry.value = jd__wire_bytes(value, size);
    body.entries = &entries;
    body.n_entries = 1;
    body.overwrite = allow_overwrite != 0;
    status = ask_service(&question, JD__MESSAGE__BODY_SET, &body);
    jd__call_finish(&question.call);
    return status;
}

/* With the deadline that is in the question. */
static jd_status get_one(struct kv_question *question, const char *key,
                         void **ret_value, size_t *ret_size)
{
    ProtobufCBinaryData bytes = jd__wire_text(key);
    jd_status status = ask_for(question, &bytes, 1);
    if (status == JD_OK)
        status = copy_value(question->call.operation,
                            &question->call.reply->entries[0]->value, ret_value,
                            ret_size);
    jd__call_finish(&question->call);
    return status;
}

static jd_status begin_get(struct kv_question *question, const char *operation,
                           const char *key, void **ret_value, size_t *ret_size)
{
    jd_status status = check_key(operation, key);
    if (status == JD_OK && (!ret_value || !ret_size))
        status = fail_null(operation, ret_value ? "ret_size" : "ret_value");
    if (status == JD_OK)
        status = begin_with(question, operation, "key", key);
    return status;
}

jd_status jd_kv_get(const char *key, double timeout, void **ret_value,
                    size_t *ret_size)
{
    JD_NOTE_CALLER();
    struct kv_question question;
    jd_status status =
        begin_get(&question, "jd_kv_get", key, ret_value, ret_size);
    if (status != JD_OK)
        return status;
    question.call.timeout =
        jd__barrier_timeout(question.runtime, timeout, &question.call.variable);
    return get_one(&question, key, ret_value, ret_size);
}

jd_status jd_kv_try_get(const char *key, void **ret_value, size_t *ret_size)
{
    struct kv_question question;
    jd_status status =
        begin_get(&question, "jd_kv_try_get", key, ret_value, ret_size);
    if (status != JD_OK)
        return status;
    return get_one(&question, key, ret_value, ret_size);
}

jd_status jd_kv_delete(const char *key, size_t *ret_count)
{
    static const char operation[] = "jd_kv_delete";
    struct kv_question question;
    Jd__Delete body = JD__DELETE__INIT;
    jd_status status = check_key(operation, key);
    if (status == JD_OK)
        status = begin_with(&question, operation, "key", key);
    if (status != JD_OK)
        return status;
    body.key = jd__wire_text(key);
    status = ask_service(&question, JD__MESSAGE__BODY_DELETE, &body);
    if (status == JD_OK && ret_count)
        *ret_count = (size_t)question.call.reply->number;
    jd__call_finish(&question.call);
    return status;
}

jd_status jd_kv_increment(const char *key, int64_t by, int64_t *ret_sum)
{
    static const char operation[] = "jd_kv_increment";
    struct kv_question question;
    Jd__Increment body = JD__INCREMENT__INIT;
    jd_status status = check_key(operation, key);
    if (status == JD_OK && !ret_sum)
        status = fail_null(operation, "ret_sum");
    if (status == JD_OK)
        status = begin_with(&question, operation, "key", key);
    if (status != JD_OK)
        return status;
    body.key = jd__wire_text(key);
    body.by = by;
    status = ask_service(&question, JD__MESSAGE__BODY_INCREMENT, &body);
    if (status == JD_OK)
        *ret_sum = question.call.reply->number;
    jd__call_finish(&question.call);
    return status;
}

/* ---- directories -------------------------------------------------------- */

static jd_status check_directory(const char *operation, const char *directory,
                                 jd_kv_entry **ret_entries, size_t *ret_count)
{
    if (!directory)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: directory is NULL; \"\" has all keys", operation);
    if (directory[0] && !is_key(directory))
        return fail_key(operation, "directory", directory);
    if (!ret_entries || !ret_count)
        return fail_null(operation, ret_entries ? "ret_count" : "ret_entries");
    return JD_OK;
}

jd_status jd_kv_dir_get(const char *directory, jd_kv_entry **ret_entries,
                        size_t *ret_count)
{
    static const char operation[] = "jd_kv_dir_get";
    struct kv_question question;
    Jd__List body = JD__LIST__INIT;
    jd_status status =
        check_directory(operation, directory, ret_entries, ret_count);
    if (status == JD_OK)
        status = begin_with(&question, operation, "directory", directory);
    if (status != JD_OK)
        return status;
    body.directory = jd__wire_text(directory);
    status = ask_service(&question, JD__MESSAGE__BODY_LIST, &body);
    size_t count = status == JD_OK ? question.call.reply->n_entries : 0;
    if (status == JD_OK)
        status = copy_entries(&question.call, NULL, ret_entries);
    if (status == JD_OK)
        *ret_count = count;
    jd__call_finish(&question.call);
    return status;
}

/* ---- many keys ---------------------------------------------------------- */

static jd_status check_entries(const char *operation,
                               const jd_kv_entry *entries, size_t count)
{
    if (!entries)
        return fail_null(operation, "entries");
    if (count > SIZE_MAX / sizeof *entries)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: count is %zu, more than fit in memory", operation,
                       count);
    for (size_t i = 0; i < count; i++) {
        jd_status status =
            check_key_at(operation, "entries", i, ".key", entries[i].key);
        if (status != JD_OK)
            return status;
        if (!entries[i].value && entries[i].size)
            return jd_fail(JD_INVALID_ARGUMENT,
                           "%s: entries[%zu].value is NULL, but its size is "
                           "%zu",
                           operation, i, entries[i].size);
    }
    return JD_OK;
}

static jd_status add_once(struct jd_store *seen, const char *operation,
                          const char *key)
{
    char text[JD_KEY_TEXT_SIZE];
    ProtobufCBinaryData bytes = jd__wire_text(key);
    jd_status status =
        jd__store_set(seen, bytes, jd__wire_bytes(NULL, 0), false);
    if (status == JD_ALREADY_EXISTS)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: the key %s is there twice in the list; nothing was "
                       "set",
                       operation, jd__key_text_format(text, bytes));
    return status;
}

static jd_status check_once(const char *operation, const jd_kv_entry *entries,
                            size_t count)
{
    struct jd_store *seen;
    if (count < 2)
        return JD_OK;
    jd_status status = jd__store_create(&seen);
    if (status != JD_OK)
        return status;
    for (size_t i = 0; status == JD_OK && i < count; i++)
        status = add_once(seen, operation, entries[i].key);
    jd__store_destroy(seen);
    return status;
}

static jd_status set_many(struct kv_question *question,
                          const jd_kv_entry *entries, size_t count,
                          bool overwrite)
{
    Jd__Set body = JD__SET__INIT;
    Jd__Entry *items = calloc(count, sizeof *items);
    Jd__Entry **pointers = calloc(count, sizeof *pointers);
    jd_status status = JD_OK;
    if (!items || !pointers)
        status = jd__fail_no_memory(question->call.operation,
                                    count * (sizeof *items + sizeof *pointers));
    for (size_t i = 0; status == JD_OK && i < count; i++) {
        pointers[i] = &items[i];
        jd__entry__init(&items[i]);
        items[i].key = jd__wire_text(entries[i].key);
        items[i].value = jd__wire_bytes(entries[i].value, entries[i].size);
    }
    body.entries = pointers;
    body.n_entries = count;
    body.overwrite = overwrite;
    if (status == JD_OK)
        status = ask_service(question, JD__MESSAGE__BODY_SET, &body);
    jd__call_finish(&question->call);
    free(pointers);
    free(items);
    return status;
}

jd_status jd_kv_set_many(const jd_kv_entry *entries, size_t count,
                         int allow_overwrite)
{
    static const char operation[] = "jd_kv_set_many";
    struct kv_question question;
    if (count == 0)
        return JD_OK;
    jd_status status = check_entries(operation, entries, count);
    if (status == JD_OK)
        status = check_once(operation, entries, count);
    if (status == JD_OK)
        status = begin_with_many(&question, operation, count);
    if (status != JD_OK)
        return status;
    return set_many(&question, entries, count, allow_overwrite != 0);
}

static jd_status check_keys(const char *operation, const char *const *keys,
                            size_t count, jd_kv_entry **ret_entries)
{
    jd_status status = JD_OK;
    if (!ret_entries)
        return fail_null(operation, "ret_entries");
    if (!keys && count)
        return fail_null(operation, "keys");
    if (count > SIZE_MAX / sizeof(ProtobufCBinaryData))
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: count is %zu, more than fit in memory", operation,
                       count);
    for (size_t i = 0; status == JD_OK && i < count; i++)
        status = check_key_at(operation, "keys", i, "", keys[i]);
    return status;
}

static jd_status get_many(struct kv_question *question, const char *const *keys,
                          size_t count, jd_kv_entry **ret_entries)
{
    ProtobufCBinaryData *bytes = malloc(count * sizeof *bytes);
    if (!bytes)
        return jd__fail_no_memory(question->call.operation,
                                  count * sizeof *bytes);
    for (size_t i = 0; i < count; i++)
        bytes[i] = jd__wire_text(keys[i]);
    jd_status status = ask_for(question, bytes, count);
    if (status == JD_OK)
        status = copy_entries(&question->call, bytes, ret_entries);
    jd__call_finish(&question->call);
    free(bytes);
    return status;
}

jd_status jd_kv_get_many(const char *const *keys, size_t count, double timeout,
                         jd_kv_entry **ret_entries)
{
    JD_NOTE_CALLER();
    static const char operation[] = "jd_kv_get_many";
    struct kv_question question;
    jd_status status = check_keys(operation, keys, count, ret_entries);
    if (status != JD_OK)
        return status;
    if (count == 0)
        return give_nothing(operation, ret_entries);
    status = begin_with_many(&question, operation, count);
    if (status != JD_OK)
        return status;
    question.call.timeout =
        jd__barrier_timeout(question.runtime, timeout, &question.call.variable);
    return get_many(&question, keys, count, ret_entries);
}
