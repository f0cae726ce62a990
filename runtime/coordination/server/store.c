/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.c - the items in a PATRICIA tree, without recursion and with one
 * allocation for each item.
 *
 * A key counts as a row of bits, nine for each byte: a 1, "here is a byte",
 * and the byte, its highest bit first; 0s follow for ever. So a prefix comes
 * before what it begins, and the order of the bits is that of the bytes.
 *
 * An entry is an item and a node of the tree at once. A node tests one bit;
 * all keys below it agree in the bits before. A link to a node of a later bit
 * leads down; one to an earlier or the same bit ends the way, at the item of
 * that entry. Each item is found below its own entry's node. The head stands
 * for the empty key, which is never set, and its child[0] is the tree.
 */
#include "base/parse.h"
#include "runtime/coordination/server/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct store_entry {
    struct store_entry *child[2];
    uint32_t bit; /* 0 of the head alone */
    uint32_t owner;
    struct jd_item item;
    /* the bytes of the key, then those of the value */
};

struct jd_store {
    struct store_entry head;
    size_t count;
    size_t bytes;
    size_t *owned; /* by each; NULL: that is not counted */
    uint32_t owner;
    size_t most; /* for that one; 0: any */
};

/* ---- bits --------------------------------------------------------------- */

/* A bit's number: 16 for each byte, of which 1 ... 9 are used. */
static uint32_t first_bit(size_t byte)
{
    return (uint32_t)byte << 4 | 1;
}

static unsigned test_bit(ProtobufCBinaryData key, uint32_t bit)
{
    size_t byte = bit >> 4;
    if (byte >= key.len)
        return 0;
    return (0x100u | key.data[byte]) >> (9 - (bit & 15)) & 1;
}

/* The first bit in which the keys differ; 0 where they are equal. */
static uint32_t differing_bit(ProtobufCBinaryData a, ProtobufCBinaryData b)
{
    size_t common = a.len < b.len ? a.len : b.len, byte = 0;
    while (byte < common && a.data[byte] == b.data[byte])
        byte++;
    if (byte == common)
        return a.len == b.len ? 0 : first_bit(byte);
    uint32_t bit = first_bit(byte) + 1;
    for (unsigned x = a.data[byte] ^ b.data[byte]; !(x & 0x80); x <<= 1)
        bit++;
    return bit;
}

/* ---- ways through the tree ---------------------------------------------- */

/* The only item that can have the key; the head's where there is none. */
static const struct store_entry *find_nearest(const struct jd_store *store,
                                              ProtobufCBinaryData key)
{
    const struct store_entry *entry = store->head.child[0];
    for (uint32_t bit = 0; entry->bit > bit;) {
        bit = entry->bit;
        entry = entry->child[test_bit(key, bit)];
    }
    return entry;
}

static bool has_key(const struct store_entry *entry, ProtobufCBinaryData key)
{
    return entry->item.key.len == key.len && key.len &&
           memcmp(entry->item.key.data, key.data, key.len) == 0;
}

/* A part of the tree: what hangs on a link of a node of that bit. */
struct store_part {
    const struct store_entry *top;
    uint32_t bit;
};

/* The first (side 0) or the last item (side 1) of the part. */
static const struct store_entry *find_end(struct store_part part, unsigned side)
{
    while (part.top->bit > part.bit)
        part = (struct store_part){ part.top->child[side], part.top->bit };
    return part.top;
}

/* The item of the part that follows the key of another; NULL at the end. */
static const struct store_entry *find_next(struct store_part part,
                                           ProtobufCBinaryData key)
{
    struct store_part rest = { NULL, 0 };
    while (part.top->bit > part.bit) {
        unsigned side = test_bit(key, part.top->bit);
        if (side == 0)
            rest = (struct store_part){ part.top->child[1], part.top->bit };
        part = (struct store_part){ part.top->child[side], part.top->bit };
    }
    return rest.top ? find_end(rest, 0) : NULL;
}

static bool begins_with(const struct store_entry *entry,
                        ProtobufCBinaryData prefix)
{
    return entry->item.key.len >= prefix.len &&
           (prefix.len == 0 ||
            memcmp(entry->item.key.data, prefix.data, prefix.len) == 0);
}

/* All keys that begin so, if any of the part does. */
static struct store_part find_part(const struct jd_store *store,
                                   ProtobufCBinaryData prefix)
{
    struct store_part part = { store->head.child[0], 0 };
    while (part.top->bit > part.bit && part.top->bit < first_bit(prefix.len)) {
        unsigned side = test_bit(prefix, part.top->bit);
        part = (struct store_part){ part.top->child[side], part.top->bit };
    }
    return part;
}

/* ---- changes ------------------------------------------------------------ */

static void copy_bytes(ProtobufCBinaryData *to, ProtobufCBinaryData from)
{
    to->len = from.len;
    if (from.len)
        memmove(to->data, from.data, from.len);
}

static struct store_entry *make_entry(ProtobufCBinaryData key,
                                      ProtobufCBinaryData value)
{
    size_t size = sizeof(struct store_entry) + key.len;
    struct store_entry *entry = NULL;
    if (value.len <= SIZE_MAX - size)
        entry = malloc(size + value.len);
    if (!entry)
        return NULL;
    entry->item.key.data = (uint8_t *)(entry + 1);
    entry->item.value.data = entry->item.key.data + key.len;
    copy_bytes(&entry->item.key, key);
    copy_bytes(&entry->item.value, value);
    return entry;
}

static size_t entry_weight(size_t key, size_t value)
{
    return key + value + JD_STORE_ITEM;
}

static void charge_owner(struct jd_store *store, struct store_entry *entry)
{
    entry->owner = store->owner;
    if (store->owned)
        store->owned[entry->owner] +=
            entry_weight(entry->item.key.len, entry->item.value.len);
}

static void take_away(struct jd_store *store, const struct store_entry *entry)
{
    if (store->owned)
        store->owned[entry->owner] -=
            entry_weight(entry->item.key.len, entry->item.value.len);
}

/* Whether the owner may have this, in the place of old where that is one. */
static bool may_have(const struct jd_store *store,
                     const struct store_entry *old, size_t key, size_t value)
{
    if (!store->most || !store->owned)
        return true;
    size_t has = store->owned[store->owner];
    if (old && old->owner == store->owner)
        has -= entry_weight(key, old->item.value.len);
    return has <= store->most && value <= store->most - has &&
           entry_weight(key, value) <= store->most - has;
}

static void insert_entry(struct jd_store *store, struct store_entry *entry,
                         uint32_t bit)
{
    struct store_entry **link = &store->head.child[0];
    for (uint32_t above = 0; (*link)->bit > above && (*link)->bit < bit;) {
        above = (*link)->bit;
        link = &(*link)->child[test_bit(entry->item.key, above)];
    }
    unsigned side = test_bit(entry->item.key, bit);
    entry->bit = bit;
    entry->child[side] = entry;
    entry->child[!side] = *link;
    *link = entry;
    store->count++;
    store->bytes += entry->item.key.len + entry->item.value.len;
    charge_owner(store, entry);
}

/* Puts the new entry of the same key in the place of the old. Both links to
 * it, as a node and as an item, are on the key's way. */
static void replace_entry(struct jd_store *store, struct store_entry *old,
                          struct store_entry *entry)
{
    struct store_entry **link = &store->head.child[0];
    memcpy(entry->child, old->child, sizeof entry->child);
    entry->bit = old->bit;
    for (uint32_t above = 0; (*link)->bit > above;) {
        if (*link == old)
            *link = entry;
        above = (*link)->bit;
        link = &(*link)->child[test_bit(entry->item.key, above)];
    }
    *link = entry;
    store->bytes += entry->item.value.len;
    store->bytes -= old->item.value.len;
    take_away(store, old);
    charge_owner(store, entry);
    free(old);
}

/* The node above the item goes; where that is another's, it takes the place
 * of the item's own node first. */
static void remove_entry(struct jd_store *store, struct store_entry *entry)
{
    struct store_entry **link = &store->head.child[0], **parent = link,
                       **own = link;
    for (uint32_t above = 0; (*link)->bit > above;) {
        if (*link == entry)
            own = link;
        parent = link;
        above = (*link)->bit;
        link = &(*link)->child[test_bit(entry->item.key, above)];
    }
    struct store_entry *last = *parent;
    *parent = last->child[link == &last->child[0]];
    if (last != entry) {
        memcpy(last->child, entry->child, sizeof last->child);
        last->bit = entry->bit;
        *own = last;
    }
    store->count--;
    store->bytes -= entry->item.key.len + entry->item.value.len;
    take_away(store, entry);
    free(entry);
}

static size_t remove_part(struct jd_store *store, ProtobufCBinaryData prefix)
{
    size_t count = 0;
    for (;;) {
        const struct store_entry *last = find_end(find_part(store, prefix), 1);
        if (last == &store->head || !begins_with(last, prefix))
            return count;
        remove_entry(store, (struct store_entry *)last);
        count++;
    }
}

/* ---- directories -------------------------------------------------------- */

/* What keys under the directory begin with. */
struct prefix {
    uint8_t bytes[JD_STORE_KEY_MAX];
    size_t length;
};

/* False where it is too long for a key. */
static bool make_prefix(struct prefix *prefix, ProtobufCBinaryData directory)
{
    bool needs_slash =
        directory.len && directory.data[directory.len - 1] != '/';
    if (directory.len > sizeof prefix->bytes - needs_slash)
        return false;
    if (directory.len)
        memcpy(prefix->bytes, directory.data, directory.len);
    if (needs_slash)
        prefix->bytes[directory.len] = '/';
    prefix->length = directory.len + needs_slash;
    return true;
}

/* ---- the store ---------------------------------------------------------- */

jd_status jd__store_create(struct jd_store **ret_store)
{
    struct jd_store *store = calloc(1, sizeof *store);
    if (!store)
        return jd__fail_no_memory("the key-value store", sizeof *store);
    store->head.child[0] = store->head.child[1] = &store->head;
    *ret_store = store;
    return JD_OK;
}

void jd__store_destroy(struct jd_store *store)
{
    if (!store)
        return;
    remove_part(store, (ProtobufCBinaryData){ 0, NULL });
    free(store->owned);
    free(store);
}

jd_status jd__store_have_owners(struct jd_store *store, size_t count)
{
    store->owned = calloc(count, sizeof *store->owned);
    return store->owned ? JD_OK
                        : jd__fail_no_memory("the key-value store",
                                             count * sizeof *store->owned);
}

size_t jd__store_owned(const struct jd_store *store, size_t owner)
{
    return store->owned ? store->owned[owner] : 0;
}

void jd__store_act_for(struct jd_store *store, size_t owner, size_t most)
{
    store->owner = (uint32_t)owner;
    store->most = most;
}

size_t jd__store_count(const struct jd_store *store)
{
    return store->count;
}

size_t jd__store_bytes(const struct jd_store *store)
{
    return store->bytes;
}

jd_status jd__store_set(struct jd_store *store, ProtobufCBinaryData key,
                        ProtobufCBinaryData value, bool overwrite)
{
    if (key.len == 0 || key.len > JD_STORE_KEY_MAX)
        return JD_INVALID_ARGUMENT;
    struct store_entry *found = (struct store_entry *)find_nearest(store, key);
    uint32_t bit = differing_bit(key, found->item.key);
    if (bit == 0 && !overwrite)
        return JD_ALREADY_EXISTS;
    if (!may_have(store, bit == 0 ? found : NULL, key.len, value.len))
        return JD_PERMISSION_DENIED;
    if (bit == 0 && value.len == found->item.value.len) {
        take_away(store, found);
        copy_bytes(&found->item.value, value);
        charge_owner(store, found);
        return JD_OK;
    }
    struct store_entry *entry = make_entry(key, value);
    if (!entry)
        return jd__fail_no_memory("the key-value store", value.len);
    if (bit == 0)
        replace_entry(store, found, entry);
    else
        insert_entry(store, entry, bit);
    return JD_OK;
}

const struct jd_item *jd__store_get(const struct jd_store *store,
                                    ProtobufCBinaryData key)
{
    const struct store_entry *entry = find_nearest(store, key);
    return has_key(entry, key) ? &entry->item : NULL;
}

void jd__store_list(const struct jd_store *store, ProtobufCBinaryData directory,
                    jd_store_visit_f visit, void *arg)
{
    struct prefix prefix;
    if (!make_prefix(&prefix, directory))
        return;
    ProtobufCBinaryData bytes = { prefix.length, prefix.bytes };
    struct store_part part = find_part(store, bytes);
    const struct store_entry *entry = find_end(part, 0);
    if (!begins_with(entry, bytes))
        return;
    for (; entry; entry = find_next(part, entry->item.key))
        if (entry != &store->head && !visit(&entry->item, arg))
            return;
}

bool jd__store_remove(struct jd_store *store, ProtobufCBinaryData key)
{
    struct store_entry *entry = (struct store_entry *)find_nearest(store, key);
    if (!has_key(entry, key))
        return false;
    remove_entry(store, entry); /* the key may have been the item's */
    return true;
}

size_t jd__store_delete(struct jd_store *store, ProtobufCBinaryData key)
{
    struct prefix prefix;
    bool can_be_prefix = make_prefix(&prefix, key);
    size_t count = jd__store_remove(store, key);
    if (can_be_prefix)
        count += remove_part(
            store, (ProtobufCBinaryData){ prefix.length, prefix.bytes });
    return count;
}

/* ---- numbers ------------------------------------------------------------ */

static bool read_number(ProtobufCBinaryData value, int64_t *ret_number)
{
    char text[24];
    long long number;
    if (value.len >= sizeof text ||
        (value.len && memchr(value.data, 0, value.len)))
        return false;
    if (value.len)
        memcpy(text, value.data, value.len);
    text[value.len] = 0;
    if (!jd__parse_integer(text, &number))
        return false;
    *ret_number = number;
    return true;
}

static bool add_checked(int64_t a, int64_t b, int64_t *ret_sum)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return false;
    *ret_sum = a + b;
    return true;
}

jd_status jd__store_increment(struct jd_store *store, ProtobufCBinaryData key,
                              int64_t by, int64_t *ret_sum)
{
    const struct jd_item *item = jd__store_get(store, key);
    int64_t sum = 0;
    char text[24];
    if (item && !read_number(item->value, &sum))
        return JD_FAILED_PRECONDITION;
    if (!add_checked(sum, by, &sum))
        return JD_OUT_OF_RANGE;
    int length = snprintf(text, sizeof text, "%" PRId64, sum);
    jd_status status =
        jd__store_set(store, key, jd__wire_bytes(text, (size_t)length), true);
    if (status == JD_OK)
        *ret_sum = sum;
    return status;
}
