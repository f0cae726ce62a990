/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.h - the key-value store as a data structure: exact binary keys in the
 * order of their bytes, binary values. It knows nothing of processes, waits
 * or sockets.
 *
 *     struct jd_store *store;
 *     jd__store_create(&store);
 *     jd__store_set(store, jd__wire_text("a/b"), value, false);
 *     const struct jd_item *item = jd__store_get(store, jd__wire_text("a/b"));
 *
 * A key is under the directory "a" when it begins with "a/"; under "a/" just
 * the same; every key is under "". A get, a set and a delete cost the length
 * of the key, however many keys there are; a directory costs what is in it.
 * An item is one allocation, of 56 bytes and its own.
 * Threads: one at a time.
 */
#ifndef RUNTIME_COORDINATION_SERVER_STORE_H
#define RUNTIME_COORDINATION_SERVER_STORE_H

#include "base/status.h"
#include "runtime/coordination/net/wire.h"

enum { JD_STORE_KEY_MAX = 4096 }; /* bytes of a key; the least is 1 */

struct jd_store;

/* Borrowed from the store, until the next change of that key. */
struct jd_item {
    ProtobufCBinaryData key;
    ProtobufCBinaryData value;
};

jd_status jd__store_create(struct jd_store **ret_store);
void jd__store_destroy(struct jd_store *store);

size_t jd__store_count(const struct jd_store *store);
/* The bytes of all keys and values. */
size_t jd__store_bytes(const struct jd_store *store);

/*
 * Whose what is: owners from 0 on, of whom each has what it has set last, until
 * that is removed. An item counts with its key, its value and JD_STORE_ITEM
 * bytes. Once, while the store is empty; before, nobody has anything. Returns
 * JD_OK, RESOURCE_EXHAUSTED.
 */
enum { JD_STORE_ITEM = 64 };
jd_status jd__store_have_owners(struct jd_store *store, size_t count);
size_t jd__store_owned(const struct jd_store *store, size_t owner);
/* What is set from now on is this owner's, which may have so much; 0: any. */
void jd__store_act_for(struct jd_store *store, size_t owner, size_t most);

/* Copies both. Returns JD_OK; without a sentence ALREADY_EXISTS where the key
 * is there and overwrite is false, INVALID_ARGUMENT where it is empty or too
 * long, and PERMISSION_DENIED where the owner would have too much;
 * RESOURCE_EXHAUSTED. */
jd_status jd__store_set(struct jd_store *store, ProtobufCBinaryData key,
                        ProtobufCBinaryData value, bool overwrite);

/* NULL where there is no such key. */
const struct jd_item *jd__store_get(const struct jd_store *store,
                                    ProtobufCBinaryData key);

/* Calls visit for each item under the directory, in order, until it returns
 * false. The store must not be changed meanwhile. */
typedef bool (*jd_store_visit_f)(const struct jd_item *item, void *arg);
void jd__store_list(const struct jd_store *store, ProtobufCBinaryData directory,
                    jd_store_visit_f visit, void *arg);

/* Removes the key alone; returns whether it was there. */
bool jd__store_remove(struct jd_store *store, ProtobufCBinaryData key);

/* Removes the key and all under it (of "": all); returns how many. */
size_t jd__store_delete(struct jd_store *store, ProtobufCBinaryData key);

/*
 * Adds to the decimal number that the key's value is ("-7", "42": no blanks,
 * no "+"), and writes it back as text; a key that is not there counts as 0.
 * Returns JD_OK; FAILED_PRECONDITION where the value is no 64-bit number,
 * OUT_OF_RANGE where the sum is none (both without a sentence; nothing has
 * changed); else as jd__store_set.
 */
jd_status jd__store_increment(struct jd_store *store, ProtobufCBinaryData key,
                              int64_t by, int64_t *ret_sum);

#endif
