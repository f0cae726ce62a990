/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kv.c - the store's requests, and those who wait for keys. A Get
 * waits in the queue of the first key it lacks; when that is set it looks on
 * from there, so that a Get of many keys costs each of them once.
 */
#include "base/key_text.h"
#include "base/text.h"
#include "runtime/coordination/server/service_private.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMED 8 /* keys that a sentence names */

/* A key that is waited for. */
struct awaited {
    ProtobufCBinaryData key; /* behind the struct */
    struct jd_queue queue;
};

/* ---- the tree of awaited keys ------------------------------------------- */

static int compare_awaited(const void *a, const void *b)
{
    const struct awaited *left = a, *right = b;
    return jd__wire_compare(left->key, right->key);
}

static struct awaited *find_awaited(struct jd_service *service,
                                    ProtobufCBinaryData key)
{
    struct awaited wanted = { .key = key };
    struct awaited **node =
        tfind(&wanted, &service->awaited_keys, compare_awaited);
    return node ? *node : NULL;
}

static struct awaited *await_key(struct jd_service *service,
                                 ProtobufCBinaryData key)
{
    struct awaited *awaited = find_awaited(service, key);
    if (awaited)
        return awaited;
    awaited = calloc(1, sizeof *awaited + key.len);
    if (!awaited)
        return NULL;
    memcpy(awaited + 1, key.data, key.len);
    awaited->key = jd__wire_bytes(awaited + 1, key.len);
    if (tsearch(awaited, &service->awaited_keys, compare_awaited))
        return awaited;
    free(awaited);
    return NULL;
}

static void drop_if_empty(struct jd_service *service, struct awaited *awaited)
{
    if (!awaited || awaited->queue.count)
        return;
    tdelete(awaited, &service->awaited_keys, compare_awaited);
    free(awaited);
}

void jd__kv_forget(struct jd_service *service,
                   struct jd_pending_request *waiter)
{
    drop_if_empty(service, waiter->owner);
}

void jd__kv_finish(struct jd_service *service)
{
    while (service->awaited_keys) {
        struct awaited *awaited = *(struct awaited **)service->awaited_keys;
        tdelete(awaited, &service->awaited_keys, compare_awaited);
        free(awaited);
    }
}

/* ---- keys --------------------------------------------------------------- */

/* False where it has refused the request: jd's own calls have looked already,
 * another client may not. */
static bool check_key(struct jd_service *service,
                      struct jd_connection *connection,
                      const Jd__Message *message, ProtobufCBinaryData key)
{
    if (key.len >= 1 && key.len <= JD_STORE_KEY_MAX)
        return true;
    jd__service_reply(service, connection, message->id, JD_INVALID_ARGUMENT,
                      "a key has %zu bytes; 1 to %d are allowed", key.len,
                      (int)JD_STORE_KEY_MAX);
    return false;
}

/* ---- get ---------------------------------------------------------------- */

/* The first key from there on that is not in the store; n_keys: none. */
static size_t find_missing(const struct jd_service *service, const Jd__Get *get,
                           size_t from)
{
    while (from < get->n_keys && jd__store_get(service->store, get->keys[from]))
        from++;
    return from;
}

static void print_missing(FILE *out, const struct jd_service *service,
                          const Jd__Get *get)
{
    size_t missing = 0;
    for (size_t i = 0; i < get->n_keys; i++) {
        if (jd__store_get(service->store, get->keys[i]))
            continue;
        if (missing++ < MAX_NAMED) {
            fputs(missing > 1 ? ", " : "", out);
            jd__key_text_print(out, get->keys[i]);
        }
    }
    if (missing > MAX_NAMED)
        fprintf(out, " and %zu more", missing - MAX_NAMED);
}

void jd__kv_describe(FILE *out, const struct jd_service *service,
                     const struct jd_pending_request *waiter)
{
    const Jd__Get *get = waiter->keys->get;
    print_missing(out, service, get);
    fputs(", which nobody has set", out);
}

/* Memory for the entries of a reply. */
struct entries {
    Jd__Entry *items;
    Jd__Entry **pointers;
    size_t count, capacity;
    size_t bytes;  /* about what they will take in the frame */
    bool is_short; /* of memory: some are missing */
};

static void entries_finish(struct entries *entries)
{
    free(entries->items);
    free(entries->pointers);
}

static bool entries_grow(struct entries *entries, size_t capacity)
{
    Jd__Entry *items = realloc(entries->items, capacity * sizeof *items);
    if (items)
        entries->items = items;
    entries->capacity = items ? capacity : entries->capacity;
    return items != NULL;
}

static bool entries_add(struct entries *entries, const struct jd_item *item)
{
    if (entries->count == entries->capacity &&
        !entries_grow(entries,
                      entries->capacity ? 2 * entries->capacity : 16)) {
        entries->is_short = true;
        return false;
    }
    Jd__Entry *entry = &entries->items[entries->count++];
    jd__entry__init(entry);
    entry->key = item->key;
    entry->value = item->value;
    entries->bytes += item->key.len + item->value.len + 16;
    return true;
}

static void answer_entries(struct jd_service *service,
                           struct jd_connection *connection, uint64_t id,
                           struct entries *entries)
{
    Jd__Reply reply = JD__REPLY__INIT;
    if (entries->bytes > service->max_message) {
        jd__service_reply(service, connection, id, JD_RESOURCE_EXHAUSTED,
                          "the reply would have %zu bytes, over the %zu of "
                          "JD_MAX_MESSAGE on process 0",
                          entries->bytes, service->max_message);
        return;
    }
    if (!entries->is_short)
        entries->pointers = malloc((entries->count + 1) * sizeof(Jd__Entry *));
    if (!entries->pointers) {
        jd__service_reply(service, connection, id, JD_RESOURCE_EXHAUSTED,
                          "the service has no memory left");
        return;
    }
    for (size_t i = 0; i < entries->count; i++)
        entries->pointers[i] = &entries->items[i];
    reply.entries = entries->pointers;
    reply.n_entries = entries->count;
    jd__service_answer(service, connection, id, &reply);
}

/* One key is the common case: no memory is needed for it. */
static void answer_one(struct jd_service *service,
                       struct jd_connection *connection, uint64_t id,
                       const struct jd_item *item)
{
    Jd__Entry entry = JD__ENTRY__INIT, *pointer = &entry;
    Jd__Reply reply = JD__REPLY__INIT;
    entry.value = item->value;
    reply.entries = &pointer;
    reply.n_entries = 1;
    jd__service_answer(service, connection, id, &reply);
}

/* Looks each key up once; returns the first that is not in the store, n_keys:
 * none. The keys of a Get are the asker's own: only values travel. */
static size_t collect_values(const struct jd_service *service,
                             const Jd__Get *get, struct entries *entries)
{
    size_t i = 0;
    if (!entries_grow(entries, get->n_keys + 1)) {
        entries->is_short = true;
        return find_missing(service, get, 0);
    }
    for (; i < get->n_keys; i++) {
        const struct jd_item *item =
            jd__store_get(service->store, get->keys[i]);
        if (!item)
            break;
        entries_add(entries, &(struct jd_item){ .value = item->value });
    }
    return i;
}

/* Answers where all keys are there; returns the first that is not. */
static size_t answer_get(struct jd_service *service,
                         struct jd_connection *connection, uint64_t id,
                         const Jd__Get *get)
{
    struct entries entries = { .items = NULL };
    if (get->n_keys == 1) {
        const struct jd_item *item =
            jd__store_get(service->store, get->keys[0]);
        if (item)
            answer_one(service, connection, id, item);
        return item ? 1 : 0;
    }
    size_t missing = collect_values(service, get, &entries);
    if (missing == get->n_keys)
        answer_entries(service, connection, id, &entries);
    entries_finish(&entries);
    return missing;
}

static void refuse_missing(struct jd_service *service,
                           struct jd_connection *connection, uint64_t id,
                           const Jd__Get *get)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out) {
        fputs("nobody has set ", out);
        print_missing(out, service, get);
    }
    char *text = jd__text_end(&written);
    jd__service_reply(service, connection, id, JD_NOT_FOUND, "%s",
                      text ? text : "there is no such key");
    free(text);
}

static void wait_for_key(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Message *message, size_t missing)
{
    struct awaited *awaited = await_key(service, message->get->keys[missing]);
    Jd__Message *copy = awaited ? jd__wire_copy(message) : NULL;
    if (!copy) {
        drop_if_empty(service, awaited);
        jd__service_reply(service, connection, message->id,
                          JD_RESOURCE_EXHAUSTED,
                          "the service has no memory left");
        return;
    }
    struct jd_pending_request *waiter = jd__pending_begin(
        service, &awaited->queue, JD_WAIT_KEYS, connection, message);
    if (!waiter) {
        jd__message__free_unpacked(copy, NULL);
        drop_if_empty(service, awaited);
        return;
    }
    waiter->owner = awaited;
    waiter->keys = copy;
    waiter->next_key = missing;
}

void jd__kv_on_get(struct jd_service *service, struct jd_connection *connection,
                   const Jd__Message *message)
{
    const Jd__Get *get = message->get;
    for (size_t i = 0; i < get->n_keys; i++)
        if (!check_key(service, connection, message, get->keys[i]))
            return;
    size_t missing = answer_get(service, connection, message->id, get);
    if (missing == get->n_keys)
        return;
    if (message->timeout_ms == 0)
        refuse_missing(service, connection, message->id, get);
    else
        wait_for_key(service, connection, message, missing);
}

/* ---- set: somebody may have waited -------------------------------------- */

/* Looks on for a waiter whose key has come: it moves to the queue of the next
 * key that is missing, or gets its reply. */
static void wake_waiter(struct jd_service *service,
                        struct jd_pending_request *waiter)
{
    const Jd__Get *get = waiter->keys->get;
    size_t missing = find_missing(service, get, waiter->next_key);
    if (missing == get->n_keys) /* some may have been deleted meanwhile */
        missing = find_missing(service, get, 0);
    if (missing == get->n_keys) {
        answer_get(service, waiter->connection, waiter->id, get);
        jd__pending_end(service, waiter);
        return;
    }
    struct awaited *old = waiter->owner;
    struct awaited *next = await_key(service, get->keys[missing]);
    if (!next) {
        jd__service_reply(service, waiter->connection, waiter->id,
                          JD_RESOURCE_EXHAUSTED,
                          "the service has no memory left");
        jd__pending_end(service, waiter);
        return;
    }
    waiter->owner = next;
    waiter->next_key = missing;
    jd__pending_move(waiter, &next->queue);
    drop_if_empty(service, old);
}

static void wake_waiters(struct jd_service *service, ProtobufCBinaryData key)
{
    if (!service->awaited_keys)
        return;
    struct awaited *awaited = find_awaited(service, key);
    for (int left = awaited ? awaited->queue.count : 0; left > 0; left--)
        wake_waiter(service, awaited->queue.first); /* the last frees awaited */
}

static void refuse_set(struct jd_service *service,
                       struct jd_connection *connection,
                       const Jd__Message *message, ProtobufCBinaryData key)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out) {
        jd__key_text_print(out, key);
        fputs(" is there already (allow_overwrite is 0)", out);
    }
    char *text = jd__text_end(&written);
    jd__service_reply(service, connection, message->id, JD_ALREADY_EXISTS, "%s",
                      text ? text : "a key is there already");
    free(text);
}

/* Takes back what was set of a list that does not come in whole: new keys go.
 * Of an overwriting list, which only lack of memory or of room can break off,
 * the first keep their new values. */
static void undo_entries(struct jd_service *service, const Jd__Set *set,
                         size_t done)
{
    for (size_t i = 0; !set->overwrite && i < done; i++)
        jd__store_remove(service->store, set->entries[i]->key);
}

/* All or none; *ret_done is how many came in before it failed. */
static jd_status set_all(struct jd_service *service, const Jd__Set *set,
                         size_t *ret_done)
{
    jd_status status = JD_OK;
    for (*ret_done = 0; *ret_done < set->n_entries; ++*ret_done) {
        const Jd__Entry *entry = set->entries[*ret_done];
        status = jd__store_set(service->store, entry->key, entry->value,
                               set->overwrite);
        if (status != JD_OK)
            break;
    }
    if (status != JD_OK)
        undo_entries(service, set, *ret_done);
    return status;
}

void jd__kv_on_set(struct jd_service *service, struct jd_connection *connection,
                   const Jd__Message *message)
{
    const Jd__Set *set = message->set;
    Jd__Reply reply = JD__REPLY__INIT;
    size_t done;
    for (size_t i = 0; i < set->n_entries; i++)
        if (!check_key(service, connection, message, set->entries[i]->key))
            return;
    jd__quota_begin(service, connection);
    jd_status status = set_all(service, set, &done);
    if (status == JD_ALREADY_EXISTS) {
        refuse_set(service, connection, message, set->entries[done]->key);
    } else if (status == JD_PERMISSION_DENIED) {
        jd__quota_refuse(service, connection, message->id,
                         set->entries[done]->key,
                         set->entries[done]->value.len);
    } else if (status != JD_OK) {
        jd__service_reply(service, connection, message->id, status,
                          "the service has no memory left");
    } else {
        jd__service_answer(service, connection, message->id, &reply);
        for (size_t i = 0; i < set->n_entries; i++)
            wake_waiters(service, set->entries[i]->key);
    }
}

/* ---- the others --------------------------------------------------------- */

static bool add_to_list(const struct jd_item *item, void *entries)
{
    return entries_add(entries, item);
}

void jd__kv_on_list(struct jd_service *service,
                    struct jd_connection *connection,
                    const Jd__Message *message)
{
    struct entries entries = { .items = NULL };
    jd__store_list(service->store, message->list->directory, add_to_list,
                   &entries);
    answer_entries(service, connection, message->id, &entries);
    entries_finish(&entries);
}

void jd__kv_on_delete(struct jd_service *service,
                      struct jd_connection *connection,
                      const Jd__Message *message)
{
    Jd__Reply reply = JD__REPLY__INIT;
    if (!check_key(service, connection, message, message->delete_->key))
        return;
    reply.number =
        (int64_t)jd__store_delete(service->store, message->delete_->key);
    jd__service_answer(service, connection, message->id, &reply);
}

static void refuse_increment(struct jd_service *service,
                             struct jd_connection *connection,
                             const Jd__Message *message, jd_status status)
{
    const struct jd_item *item =
        jd__store_get(service->store, message->increment->key);
    struct jd_text written;
    FILE *out = item ? jd__text_begin(&written) : NULL;
    if (out) {
        fputs("its value is ", out);
        jd__key_text_print(out, item->value);
        if (status == JD_OUT_OF_RANGE)
            fprintf(out, ", and with %lld added it is no 64-bit number",
                    (long long)message->increment->by);
        else
            fputs(", which is no 64-bit decimal number", out);
    }
    char *text = jd__text_end(&written);
    jd__service_reply(service, connection, message->id, status, "%s",
                      text ? text : "the service has no memory left");
    free(text);
}

void jd__kv_on_increment(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Message *message)
{
    const Jd__Increment *increment = message->increment;
    Jd__Reply reply = JD__REPLY__INIT;
    int64_t sum;
    if (!check_key(service, connection, message, increment->key))
        return;
    jd__quota_begin(service, connection);
    jd_status status = jd__store_increment(service->store, increment->key,
                                           increment->by, &sum);
    if (status == JD_PERMISSION_DENIED) {
        enum { NUMBER = 20 };
        jd__quota_refuse(service, connection, message->id, increment->key,
                         NUMBER);
        return;
    }
    if (status != JD_OK) {
        refuse_increment(service, connection, message, status);
        return;
    }
    reply.number = sum;
    jd__service_answer(service, connection, message->id, &reply);
    wake_waiters(service, increment->key);
}
