/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_keys.c - the store's requests, and those who wait for keys. */
#include "runtime/coordination/server/service_private.h"
#include "tests/unit/service.h"

#include <inttypes.h>

/* ---- requests ----------------------------------------------------------- */

static uint64_t delete_key(struct peer *peer, const char *key)
{
    Jd__Delete body = JD__DELETE__INIT;
    body.key = jd__wire_text(key);
    return ask(peer, JD__MESSAGE__BODY_DELETE, &body, 0);
}

static uint64_t list(struct peer *peer, const char *directory)
{
    Jd__List body = JD__LIST__INIT;
    body.directory = jd__wire_text(directory);
    return ask(peer, JD__MESSAGE__BODY_LIST, &body, 0);
}

static uint64_t increment(struct peer *peer, const char *key, int64_t by)
{
    Jd__Increment body = JD__INCREMENT__INIT;
    body.key = jd__wire_text(key);
    body.by = by;
    return ask(peer, JD__MESSAGE__BODY_INCREMENT, &body, 0);
}

/* "a=1,b=2" in one request. */
static uint64_t set_many(struct peer *peer, const char *pairs, bool overwrite)
{
    Jd__Set body = JD__SET__INIT;
    Jd__Entry entries[16], *pointers[16];
    for (const char *p = pairs; *p; p += *p == ',') {
        size_t length = strcspn(p, ","), key = strcspn(p, "=");
        Jd__Entry *entry = &entries[body.n_entries];
        jd__entry__init(entry);
        entry->key = jd__wire_bytes(p, key);
        entry->value = jd__wire_bytes(p + key + 1, length - key - 1);
        pointers[body.n_entries++] = entry;
        p += length;
    }
    body.entries = pointers;
    body.overwrite = overwrite;
    return ask(peer, JD__MESSAGE__BODY_SET, &body, 0);
}

/* The reply's entries: "a=1,b=2," (keys only where they travel). */
static void expect_entries(struct peer *peer, uint64_t id, const char *wanted)
{
    Jd__Message *message = take_reply(peer, id, JD_OK);
    char text[400] = "";
    for (size_t i = 0; i < message->reply->n_entries; i++) {
        const Jd__Entry *e = message->reply->entries[i];
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s=%.*s,",
                 (int)e->key.len, (const char *)e->key.data, (int)e->value.len,
                 (const char *)e->value.data);
    }
    ck_assert_str_eq(text, wanted);
    drop(message);
}

/* Nothing of any wait is left. */
static void expect_nothing_left(void)
{
    ck_assert_ptr_null(service->awaited_keys);
    ck_assert_uint_eq(service->heap.count, 0);
    for (int i = 0; i < 4; i++)
        if (peers[i].connection)
            ck_assert_ptr_null(peers[i].connection->waiters);
}

static void start_two(void)
{
    start(2);
    start_joined(2);
}

/* ---- set and get -------------------------------------------------------- */

START_TEST(what_is_set_can_be_got)
{
    start_two();
    expect_ok(&peers[0], set(&peers[0], "a", "1"));
    expect_entries(&peers[1], get(&peers[1], "a", 0), "=1,");
    uint64_t id = set(&peers[1], "a", "2");
    expect_fails(&peers[1], id, JD_ALREADY_EXISTS,
                 "\"a\" is there already (allow_overwrite is 0)");
    expect_ok(&peers[1], set_many(&peers[1], "a=2", true));
    expect_entries(&peers[0], get(&peers[0], "a", 1000), "=2,");
    expect_nothing_left();
    finish();
}
END_TEST

START_TEST(a_get_of_many_has_them_in_its_order)
{
    start_two();
    expect_ok(&peers[0], set_many(&peers[0], "a=1,b=2,c=3", false));
    expect_entries(&peers[1], get(&peers[1], "c,a,b,a", 0), "=3,=1,=2,=1,");
    Jd__Get none = JD__GET__INIT;
    expect_entries(&peers[1], ask(&peers[1], JD__MESSAGE__BODY_GET, &none, 0),
                   "");
    finish();
}
END_TEST

START_TEST(a_get_that_does_not_wait_names_what_is_missing)
{
    start_two();
    expect_ok(&peers[0], set(&peers[0], "b", ""));
    uint64_t id = get(&peers[1], "a,b,c\n", 0);
    expect_fails(&peers[1], id, JD_NOT_FOUND,
                 "nobody has set \"a\", \"c\\x0a\"");
    id = get(&peers[1], "k0,k1,k2,k3,k4,k5,k6,k7,k8,b,k9", 0);
    expect_fails(&peers[1], id, JD_NOT_FOUND,
                 "nobody has set \"k0\", \"k1\", \"k2\", \"k3\", \"k4\", "
                 "\"k5\", \"k6\", \"k7\" and 2 more");
    expect_nothing_left();
    finish();
}
END_TEST

START_TEST(a_list_is_set_as_a_whole_or_not)
{
    start_two();
    expect_ok(&peers[0], set(&peers[0], "b", "old"));
    uint64_t id = set_many(&peers[1], "a=1,b=2,c=3", false);
    expect_fails(&peers[1], id, JD_ALREADY_EXISTS,
                 "\"b\" is there already (allow_overwrite is 0)");
    expect_entries(&peers[1], list(&peers[1], ""), "b=old,");
    id = set_many(&peers[1], "x=1,y=2,x=3", false); /* twice in one list */
    drop(take_reply(&peers[1], id, JD_ALREADY_EXISTS));
    expect_entries(&peers[1], list(&peers[1], ""), "b=old,");
    expect_ok(&peers[1], set_many(&peers[1], "a=1,b=2,c=3", true));
    expect_entries(&peers[1], list(&peers[1], ""), "a=1,b=2,c=3,");
    finish();
}
END_TEST

START_TEST(keys_are_looked_at)
{
    char key[4098];
    memset(key, 'k', sizeof key);
    key[4097] = '\0';
    start_two();
    drop(take_reply(&peers[1], set(&peers[1], "", "1"), JD_INVALID_ARGUMENT));
    uint64_t id = get(&peers[1], key, 1000);
    expect_fails(&peers[1], id, JD_INVALID_ARGUMENT,
                 "a key has 4097 bytes; 1 to 4096 are allowed");
    drop(take_reply(&peers[1], delete_key(&peers[1], ""), JD_INVALID_ARGUMENT));
    drop(take_reply(&peers[1], increment(&peers[1], key, 1),
                    JD_INVALID_ARGUMENT));
    drop(take_reply(&peers[1], set_many(&peers[1], "a=1,=2", false),
                    JD_INVALID_ARGUMENT));
    key[4096] = '\0';
    expect_ok(&peers[1], set(&peers[1], key, "1"));
    expect_nothing_left();
    ck_assert_uint_eq(jd__store_count(service->store), 1);
    finish();
}
END_TEST

START_TEST(a_reply_over_the_limit_is_refused)
{
    struct jd_service_spec spec = make_spec(2);
    spec.max_message = 1000;
    start_spec(&spec);
    start_joined(2);
    char value[401];
    memset(value, 'v', 400);
    value[400] = '\0';
    for (int i = 0; i < 3; i++)
        expect_ok(
            &peers[1],
            set(&peers[1], (const char *[]){ "d/a", "d/b", "d/c" }[i], value));
    uint64_t id = list(&peers[1], "d");
    expect_fails(&peers[1], id, JD_RESOURCE_EXHAUSTED,
                 "the reply would have 1257 bytes, over the 1000 of "
                 "JD_MAX_MESSAGE on process 0");
    id = get(&peers[1], "d/a,d/b,d/c", 0);
    drop(take_reply(&peers[1], id, JD_RESOURCE_EXHAUSTED));
    drop(take_reply(&peers[1], get(&peers[1], "d/a,d/b", 0), JD_OK));
    finish();
}
END_TEST

static char filling[65536];

static uint64_t fill(struct peer *peer, const char *key, size_t bytes)
{
    memset(filling, 'v', bytes);
    filling[bytes] = '\0';
    return set(peer, key, filling);
}

/* 1000 bytes for each process; an item counts 64, its key and its value. */
START_TEST(a_process_may_store_so_much)
{
    struct jd_service_spec spec = make_spec(2);
    spec.max_store = 1000;
    start_spec(&spec);
    start_joined(2);
    expect_ok(&peers[1], fill(&peers[1], "a", 435)); /* 500 */
    expect_ok(&peers[1], fill(&peers[1], "b", 335)); /* 900 */
    expect_fails(&peers[1], fill(&peers[1], "c", 36), JD_RESOURCE_EXHAUSTED,
                 "\"c\" with its 36 bytes has no room: process 1 has stored "
                 "900 bytes (with the keys, and 64 for each) of the 1000 of "
                 "JD_MAX_STORE on process 0; delete what is not needed any "
                 "more, or raise JD_MAX_STORE");
    expect_ok(&peers[0], fill(&peers[0], "c", 36)); /* another's */
    expect_ok(&peers[1], fill(&peers[1], "d", 35)); /* all of it */
    uint64_t id = increment(&peers[1], "n", 1);
    drop(take_reply(&peers[1], id, JD_RESOURCE_EXHAUSTED));
    expect_number(&peers[0], delete_key(&peers[0], "a"), 1);
    expect_number(&peers[1], increment(&peers[1], "n", 1), 1);
    expect_ok(&peers[1], fill(&peers[1], "a", 300));
    finish();
}
END_TEST

START_TEST(what_is_overwritten_is_the_last_ones)
{
    struct jd_service_spec spec = make_spec(2);
    spec.max_store = 1000;
    start_spec(&spec);
    start_joined(2);
    expect_ok(&peers[0], set_many(&peers[0], "a=0", true));
    ck_assert_uint_eq(jd__store_owned(service->store, 0), 66);
    expect_ok(&peers[1], set_many(&peers[1], "a=1", true));
    ck_assert_uint_eq(jd__store_owned(service->store, 0), 0);
    ck_assert_uint_eq(jd__store_owned(service->store, 1), 66);
    expect_ok(&peers[0], set_many(&peers[0], "a=long", true));
    ck_assert_uint_eq(jd__store_owned(service->store, 0), 69);
    ck_assert_uint_eq(jd__store_owned(service->store, 1), 0);
    finish();
}
END_TEST

/* ---- waiting ------------------------------------------------------------ */

START_TEST(a_get_waits_until_the_key_is_set)
{
    start_two();
    uint64_t id = get(&peers[1], "a", 1000);
    uint64_t other = get(&peers[0], "a", NO_DEADLINE);
    expect_ok(&peers[0], set(&peers[0], "b", "0"));
    expect_all_quiet();
    uint64_t by = set(&peers[1], "a", "1");
    expect_ok(&peers[1], by); /* first */
    expect_entries(&peers[1], id, "=1,");
    expect_entries(&peers[0], other, "=1,");
    expect_nothing_left();
    finish();
}
END_TEST

START_TEST(an_increment_wakes_too)
{
    start_two();
    uint64_t id = get(&peers[1], "n", 1000);
    expect_number(&peers[0], increment(&peers[0], "n", 5), 5);
    expect_entries(&peers[1], id, "=5,");
    expect_nothing_left();
    finish();
}
END_TEST

static void shuffle(int *order, int count, unsigned seed)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        seed = seed * 1103515245 + 12345;
        int j = (int)(seed >> 16) % (i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

START_TEST(many_keys_may_come_in_any_order)
{
    start_two();
    for (unsigned seed = 0; seed < 300; seed++) {
        int order[8];
        shuffle(order, 8, seed);
        uint64_t id = get(&peers[1], "k0,k1,k2,k3,k4,k5,k6,k7", 1000);
        for (int i = 0; i < 8; i++) {
            char key[] = { 'k', (char)('0' + order[i]), 0 };
            expect_quiet(&peers[1]);
            expect_ok(&peers[0], set(&peers[0], key, key + 1));
        }
        expect_entries(&peers[1], id, "=0,=1,=2,=3,=4,=5,=6,=7,");
        expect_nothing_left();
        for (int i = 0; i < 8; i++) {
            char key[] = { 'k', (char)('0' + i), 0 };
            expect_number(&peers[0], delete_key(&peers[0], key), 1);
        }
    }
    finish();
}
END_TEST

/* Keys come and go at random; the get is answered exactly when all are there.
 */
START_TEST(many_keys_may_be_deleted_in_between)
{
    unsigned random = 1;
    start_two();
    for (int round = 0; round < 200; round++) {
        unsigned there = 0;
        uint64_t id = get(&peers[1], "k0,k1,k2,k3,k4", NO_DEADLINE);
        while (there != 31) {
            random = random * 1103515245 + 12345;
            unsigned i = (random >> 16) % 5, has = there >> i & 1;
            char key[] = { 'k', (char)('0' + i), 0 };
            expect_quiet(&peers[1]);
            uint64_t by =
                has ? delete_key(&peers[0], key) : set(&peers[0], key, "v");
            drop(take_reply(&peers[0], by, JD_OK));
            there ^= 1u << i;
        }
        expect_entries(&peers[1], id, "=v,=v,=v,=v,=v,");
        expect_nothing_left();
        for (int i = 0; i < 5; i++) {
            char key[] = { 'k', (char)('0' + i), 0 };
            drop(take_reply(&peers[0], delete_key(&peers[0], key), JD_OK));
        }
    }
    finish();
}
END_TEST

START_TEST(one_set_may_wake_many)
{
    start_two();
    uint64_t ids[5];
    ids[0] = get(&peers[1], "a,b", 1000);
    ids[1] = get(&peers[1], "b,a", 1000);
    ids[2] = get(&peers[1], "b", 1000);
    ids[3] = get(&peers[1], "a,a,c", 1000);
    ids[4] = get(&peers[1], "b,c", 1000);
    uint64_t by = set_many(&peers[0], "b=2,a=1", false);
    expect_ok(&peers[0], by);
    for (int left = 3; left > 0; left--) {
        Jd__Message *message = take(&peers[1], JD__MESSAGE__BODY_REPLY);
        ck_assert(message->id == ids[0] || message->id == ids[1] ||
                  message->id == ids[2]);
        drop(message);
    }
    expect_all_quiet();
    expect_ok(&peers[0], set(&peers[0], "c", "3"));
    expect_entries(&peers[1], ids[4], "=2,=3,"); /* it came to wait for c */
    expect_entries(&peers[1], ids[3], "=1,=1,=3,");
    expect_nothing_left();
    finish();
}
END_TEST

START_TEST(a_get_that_gives_up_leaves_nothing)
{
    start_two();
    expect_ok(&peers[0], set(&peers[0], "b", "1"));
    uint64_t id = get(&peers[1], "a,b,c", 1500);
    now += 1.4999;
    tick();
    expect_all_quiet();
    now += 0.0002;
    tick();
    expect_fails(&peers[1], id, JD_DEADLINE_EXCEEDED,
                 "gave up after 1.5 s, waiting for \"a\", \"c\", which nobody "
                 "has set");
    expect_nothing_left();
    id = get(&peers[1], "a", NO_DEADLINE);
    withdraw(&peers[1], id);
    expect_nothing_left();
    get(&peers[1], "a", 1000);
    get(&peers[1], "b,c", NO_DEADLINE);
    lose(&peers[1], ETIMEDOUT);
    expect_nothing_left();
    expect_ok(&peers[0], set_many(&peers[0], "a=1,c=2", false));
    finish();
}
END_TEST

START_TEST(who_waits_is_told_for_what)
{
    Jd__Inquiry inquiry = JD__INQUIRY__INIT;
    start_two();
    expect_ok(&peers[0], set(&peers[0], "b", "1"));
    inquiry.wait = get(&peers[1], "a,b,c", NO_DEADLINE);
    uint64_t id = ask(&peers[1], JD__MESSAGE__BODY_INQUIRY, &inquiry, 0);
    Jd__Message *message = take_reply(&peers[1], id, JD_OK);
    ck_assert_str_eq(message->reply->text,
                     "\"a\", \"c\", which nobody has set");
    ck_assert_int_eq(message->reply->number, 1);
    drop(message);
    finish();
}
END_TEST

/* ---- the others --------------------------------------------------------- */

START_TEST(a_directory_has_what_is_under_it)
{
    start_two();
    expect_ok(&peers[0],
              set_many(&peers[0], "d/b=2,d=0,d/a/x=1,dd=3,c=4", false));
    expect_entries(&peers[1], list(&peers[1], "d"), "d/a/x=1,d/b=2,");
    expect_entries(&peers[1], list(&peers[1], ""),
                   "c=4,d=0,d/a/x=1,d/b=2,dd=3,");
    expect_entries(&peers[1], list(&peers[1], "nothing"), "");
    expect_number(&peers[1], delete_key(&peers[1], "d"), 3);
    expect_number(&peers[1], delete_key(&peers[1], "d"), 0);
    expect_entries(&peers[1], list(&peers[1], ""), "c=4,dd=3,");
    finish();
}
END_TEST

START_TEST(numbers_are_counted)
{
    start_two();
    expect_number(&peers[0], increment(&peers[0], "n", 3), 3);
    expect_number(&peers[1], increment(&peers[1], "n", -5), -2);
    expect_entries(&peers[1], get(&peers[1], "n", 0), "=-2,");
    expect_ok(&peers[1],
              set_many(&peers[1], "n=9223372036854775807,x=1 ", true));
    uint64_t id = increment(&peers[1], "n", 1);
    expect_fails(&peers[1], id, JD_OUT_OF_RANGE,
                 "its value is \"9223372036854775807\", and with 1 added it is "
                 "no 64-bit number");
    id = increment(&peers[1], "x", 1);
    expect_fails(&peers[1], id, JD_FAILED_PRECONDITION,
                 "its value is \"1 \", which is no 64-bit decimal number");
    expect_number(&peers[1], increment(&peers[1], "n", 0), INT64_MAX);
    finish();
}
END_TEST

START_TEST(the_store_survives_every_client)
{
    start(3);
    start_joined(3);
    expect_ok(&peers[1], set(&peers[1], "a", "1"));
    lose(&peers[1], 0);
    lose(&peers[2], 0);
    expect_entries(&peers[0], get(&peers[0], "a", 0), "=1,");
    finish();
}
END_TEST

/* A world of one needs no meeting. */
START_TEST(alone_one_has_the_store_too)
{
    struct jd_service_spec spec = make_spec(1);
    spec.heartbeat_timeout = -1;
    start_spec(&spec);
    peers[0].connection = jd__service_accept_alone(service, &peers[0]);
    ck_assert_ptr_nonnull(peers[0].connection);
    expect_ok(&peers[0], set(&peers[0], "a", "1"));
    expect_entries(&peers[0], get(&peers[0], "a", 0), "=1,");
    expect_ok(&peers[0], arrive(&peers[0], "b", 0));
    uint64_t id = get(&peers[0], "b", 500);
    now += 0.5;
    tick();
    drop(take_reply(&peers[0], id, JD_DEADLINE_EXCEEDED));
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service keys");
    TCase *tcase = unit_case(suite, "set and get");
    tcase_add_test(tcase, what_is_set_can_be_got);
    tcase_add_test(tcase, a_get_of_many_has_them_in_its_order);
    tcase_add_test(tcase, a_get_that_does_not_wait_names_what_is_missing);
    tcase_add_test(tcase, a_list_is_set_as_a_whole_or_not);
    tcase_add_test(tcase, keys_are_looked_at);
    tcase_add_test(tcase, a_reply_over_the_limit_is_refused);
    tcase_add_test(tcase, a_process_may_store_so_much);
    tcase_add_test(tcase, what_is_overwritten_is_the_last_ones);
    tcase = unit_case(suite, "waiting");
    tcase_add_test(tcase, a_get_waits_until_the_key_is_set);
    tcase_add_test(tcase, an_increment_wakes_too);
    tcase_add_test(tcase, many_keys_may_come_in_any_order);
    tcase_add_test(tcase, many_keys_may_be_deleted_in_between);
    tcase_add_test(tcase, one_set_may_wake_many);
    tcase_add_test(tcase, a_get_that_gives_up_leaves_nothing);
    tcase_add_test(tcase, who_waits_is_told_for_what);
    tcase = unit_case(suite, "the others");
    tcase_add_test(tcase, a_directory_has_what_is_under_it);
    tcase_add_test(tcase, numbers_are_counted);
    tcase_add_test(tcase, the_store_survives_every_client);
    tcase_add_test(tcase, alone_one_has_the_store_too);
    return unit_main(suite);
}
