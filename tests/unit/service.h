/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * service.h - the coordination service driven by hand: a clock that the test
 * moves, and peers that keep what they are sent. The service's connection of a
 * peer is given back once the service has ended it and the test calls lose().
 *
 *     start(3);
 *     meet_all();
 *     uint64_t id = join(&peers[0]);
 *     expect_ok(&peers[0], id);
 *     finish();
 */
#ifndef TESTS_UNIT_SERVICE_H
#define TESTS_UNIT_SERVICE_H

#include "runtime/coordination/net/process_lists.h"
#include "runtime/coordination/server/service_private.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#ifndef UNIT_MAX_PEERS
#define UNIT_MAX_PEERS 64
#endif
#ifndef UNIT_MAX_INBOX
#define UNIT_MAX_INBOX 256
#endif
enum {
    MAX_PEERS = UNIT_MAX_PEERS,
    MAX_INBOX = UNIT_MAX_INBOX,
    NO_DEADLINE = -1
};

struct peer {
    struct jd_connection *connection; /* NULL: lost, or never there */
    Jd__Message *inbox[MAX_INBOX];
    int first, last;
    bool has_keys, is_welcome, is_ended, is_dropped;
    bool is_old;    /* of a jd that shows no traces */
    size_t backlog; /* bytes that it has not read */
    enum jd_peer_owner owner;
    uint64_t last_id;
    uint8_t challenge[JD_AUTH_NONCE];
    char *credential; /* that munge was asked about */
};

static struct jd_service *service;
static struct peer peers[MAX_PEERS];
static double now;
static bool has_no_munge;

/* ---- what the service does to a peer ------------------------------------ */

static inline void hook_send(void *arg, const Jd__Message *message)
{
    struct peer *peer = arg;
    ck_assert(!peer->is_ended);
    peer->is_welcome |= message->body_case == JD__MESSAGE__BODY_ADMITTED;
    ck_assert_int_lt(peer->last, MAX_INBOX);
    peer->inbox[peer->last] = jd__wire_copy(message);
    ck_assert_ptr_nonnull(peer->inbox[peer->last]);
    peer->last++;
}

static inline void hook_welcome(void *arg, const struct jd_auth_keys *keys)
{
    ((struct peer *)arg)->has_keys = keys != NULL;
}

static inline void hook_end(void *arg)
{
    struct peer *peer = arg;
    ck_assert(!peer->is_ended);
    peer->is_ended = true;
}

static inline void hook_drop(void *arg)
{
    struct peer *peer = arg;
    ck_assert(!peer->is_dropped);
    peer->is_ended = peer->is_dropped = true;
    peer->connection = NULL;
}

static inline bool hook_vouch(void *arg, const struct jd_munge_spec *spec)
{
    struct peer *peer = arg;
    ck_assert_uint_eq(spec->size, JD_AUTH_MAC);
    ck_assert_uint_eq(spec->answer_size, JD_AUTH_MAC);
    free(peer->credential);
    peer->credential = strdup(spec->credential);
    return !has_no_munge;
}

static inline enum jd_peer_owner hook_owner(void *arg)
{
    return ((struct peer *)arg)->owner;
}

static inline size_t hook_backlog(void *arg)
{
    return ((struct peer *)arg)->backlog;
}

static const struct jd_service_hooks hooks = {
    .send = hook_send,
    .welcome = hook_welcome,
    .end = hook_end,
    .drop = hook_drop,
    .vouch = hook_vouch,
    .backlog = hook_backlog,
    .owner = hook_owner,
};

/* ---- the service -------------------------------------------------------- */

static const struct jd_auth open_auth = { .way = JD_AUTH_OPEN };

/* What start() begins with: a test may change it and call start_spec. */
static inline struct jd_service_spec make_spec(int count)
{
    return (struct jd_service_spec){
        .hooks = &hooks,
        .auth = &open_auth,
        .job = "job",
        .attempt = 2,
        .count = count,
        .heartbeat_timeout = 100,
        .max_message = 65536,
        .host = "h0",
        .program = "train",
        .pid = 100,
    };
}

static inline void start_spec(const struct jd_service_spec *spec)
{
    now = 1000;
    UNIT_OK(jd__auth_start());
    UNIT_OK(jd__service_create(spec, &service));
}

static inline void start(int count)
{
    struct jd_service_spec spec = make_spec(count);
    start_spec(&spec);
}

static inline void forget_messages(struct peer *peer)
{
    while (peer->first < peer->last)
        jd__message__free_unpacked(peer->inbox[peer->first++], NULL);
    peer->first = peer->last = 0;
}

static inline void finish(void)
{
    jd__service_destroy(service);
    for (int i = 0; i < MAX_PEERS; i++) {
        forget_messages(&peers[i]);
        free(peers[i].credential);
    }
    memset(peers, 0, sizeof peers);
}

/* What the service counts along the way is what a walk over all counts. */
static inline void check_tally(void)
{
    if (MAX_PEERS > 64)
        return;
    struct jd_tally tally = jd__processes_count(service);
    ck_assert_int_eq(service->tally.staying, tally.staying);
    ck_assert_int_eq(service->tally.connected, tally.connected);
    ck_assert_int_eq(service->tally.late_live, tally.late_live);
    ck_assert_int_eq(service->tally.to_step, tally.to_step);
    ck_assert_int_eq(service->tally.to_acknowledge, tally.to_acknowledge);
    ck_assert_int_eq(service->tally.armed, tally.armed);
}

static inline double tick(void)
{
    double next = jd__service_tick(service, now);
    check_tally();
    return next;
}

/* Time goes by in steps, as for a server whose loop runs. */
static inline void pass(double seconds)
{
    double end = now + seconds;
    while (now < end) {
        double next = tick();
        now = fmin(end, fmax(next, now + 0.001));
    }
    tick();
}

/* ---- a peer's messages -------------------------------------------------- */

static inline void send_message(struct peer *peer, const Jd__Message *message)
{
    ck_assert_ptr_nonnull(peer->connection);
    jd__service_receive(service, peer->connection, message, now);
    check_tally();
}

/* A request with the body, which may wait so long (ms); returns its id. */
static inline uint64_t ask(struct peer *peer, Jd__Message__BodyCase body,
                           void *body_message, int64_t timeout_ms)
{
    Jd__Message message = JD__MESSAGE__INIT;
    message.id = ++peer->last_id;
    message.timeout_ms = timeout_ms;
    message.body_case = body;
    message.reply = body_message; /* a union of pointers */
    send_message(peer, &message);
    return message.id;
}

/* The same without an id. */
static inline void tell(struct peer *peer, Jd__Message__BodyCase body,
                        void *body_message)
{
    Jd__Message message = JD__MESSAGE__INIT;
    message.body_case = body;
    message.reply = body_message;
    send_message(peer, &message);
}

static inline void expect_quiet(const struct peer *peer)
{
    if (peer->first < peer->last)
        ck_abort_msg("peer %d got \"%s\"", (int)(peer - peers),
                     jd__wire_body_name(peer->inbox[peer->first]));
}

static inline void expect_all_quiet(void)
{
    for (int i = 0; i < MAX_PEERS; i++)
        expect_quiet(&peers[i]);
}

/* The oldest message of the peer, which is of this kind. The caller frees
 * it. */
static inline Jd__Message *take(struct peer *peer, Jd__Message__BodyCase body)
{
    ck_assert_msg(peer->first < peer->last, "peer %d got nothing",
                  (int)(peer - peers));
    Jd__Message *message = peer->inbox[peer->first++];
    if (peer->first == peer->last)
        peer->first = peer->last = 0;
    ck_assert_msg(message->body_case == body, "peer %d got \"%s\": %s",
                  (int)(peer - peers), jd__wire_body_name(message),
                  message->body_case == JD__MESSAGE__BODY_REPLY
                      ? message->reply->text
                      : "");
    return message;
}

static inline void drop(Jd__Message *message)
{
    jd__message__free_unpacked(message, NULL);
}

static inline Jd__Message *take_reply(struct peer *peer, uint64_t id,
                                      jd_status status)
{
    Jd__Message *message = take(peer, JD__MESSAGE__BODY_REPLY);
    ck_assert_uint_eq(message->id, id);
    ck_assert_msg(message->reply->status == (int32_t)status,
                  "%s, wanted %s: %s",
                  jd_status_name((jd_status)message->reply->status),
                  jd_status_name(status), message->reply->text);
    return message;
}

static inline void expect_ok(struct peer *peer, uint64_t id)
{
    drop(take_reply(peer, id, JD_OK));
}

static inline void expect_number(struct peer *peer, uint64_t id, int64_t number)
{
    Jd__Message *message = take_reply(peer, id, JD_OK);
    ck_assert_int_eq(message->reply->number, number);
    drop(message);
}

static inline void expect_fails(struct peer *peer, uint64_t id,
                                jd_status status, const char *text)
{
    Jd__Message *message = take_reply(peer, id, status);
    ck_assert_str_eq(message->reply->text, text);
    drop(message);
}

static inline void expect_refused(struct peer *peer, jd_status status,
                                  const char *text)
{
    if (peer->first < peer->last &&
        peer->inbox[peer->first]->body_case == JD__MESSAGE__BODY_WELCOME)
        drop(take(peer, JD__MESSAGE__BODY_WELCOME));
    Jd__Message *message = take(peer, JD__MESSAGE__BODY_REFUSAL);
    ck_assert_str_eq(jd_status_name((jd_status)message->refusal->status),
                     jd_status_name(status));
    ck_assert_str_eq(message->refusal->text, text);
    ck_assert(peer->is_ended);
    drop(message);
}

/* ---- meeting ------------------------------------------------------------ */

static inline void accept_peer(struct peer *peer)
{
    peer->is_ended = peer->is_dropped = peer->is_welcome = false;
    peer->connection = jd__service_accept(service, peer, "10.0.0.9:5555", now);
    ck_assert_ptr_nonnull(peer->connection);
    Jd__Message *message = take(peer, JD__MESSAGE__BODY_CHALLENGE);
    ck_assert_uint_eq(message->challenge->protocol, JD_WIRE_PROTOCOL);
    ck_assert_uint_eq(message->challenge->nonce.len, JD_AUTH_NONCE);
    memcpy(peer->challenge, message->challenge->nonce.data, JD_AUTH_NONCE);
    drop(message);
}

static uint8_t own_nonce[JD_AUTH_NONCE];
/* 9, which X25519 begins from, is as good a public key as any other. */
static uint8_t own_public[JD_AUTH_KEY] = { 9 };

/* A Hello of process i of count, on that host. */
static inline Jd__Hello make_hello(int i, int count, const char *host)
{
    Jd__Hello hello = JD__HELLO__INIT;
    hello.protocol = JD_WIRE_PROTOCOL;
    hello.job = (char *)"job";
    hello.attempt = 2;
    hello.process = (uint32_t)i;
    hello.count = (uint32_t)count;
    hello.incarnation = 7000 + (uint64_t)i;
    hello.host = (char *)host;
    hello.boot_id = (char *)host;
    hello.program = (char *)"train";
    hello.pid = 100 + (uint32_t)i;
    hello.nonce = jd__wire_bytes(own_nonce, sizeof own_nonce);
    hello.public_key = jd__wire_bytes(own_public, sizeof own_public);
    return hello;
}

static inline void say_hello(struct peer *peer, const struct jd_auth *auth,
                             Jd__Hello *hello)
{
    uint8_t mac[JD_AUTH_MAC];
    Jd__Message message = JD__MESSAGE__INIT;
    jd__auth_hello_mac(auth,
                       jd__wire_bytes(peer->challenge, sizeof peer->challenge),
                       hello, mac);
    hello->mac = jd__wire_bytes(mac, sizeof mac);
    message.body_case = JD__MESSAGE__BODY_HELLO;
    message.hello = hello;
    send_message(peer, &message);
}

static inline void expect_welcome(struct peer *peer, const struct jd_auth *auth)
{
    Jd__Message *message = take(peer, JD__MESSAGE__BODY_WELCOME);
    ck_assert(jd__auth_welcome_is_right(
        auth, jd__wire_bytes(peer->challenge, sizeof peer->challenge),
        jd__wire_bytes(own_nonce, sizeof own_nonce), message->welcome));
    ck_assert_int_eq(peer->has_keys, auth->way != JD_AUTH_OPEN);
    drop(message);
    message = take(peer, JD__MESSAGE__BODY_ADMITTED);
    ck_assert_str_eq(message->admitted->host, "h0");
    ck_assert_str_eq(message->admitted->program, "train");
    ck_assert_uint_eq(message->admitted->pid, 100);
    ck_assert(peer->is_welcome);
    drop(message);
}

/* A message's list of processes: "1 2 ". */
static inline void expect_processes(const uint32_t *ranges, size_t n,
                                    const char *list)
{
    char text[400] = "";
    size_t count;
    int *numbers = jd__process_lists_unpack(ranges, n, MAX_PEERS, &count);
    ck_assert_ptr_nonnull(numbers);
    for (size_t i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d ",
                 numbers[i]);
    ck_assert_str_eq(text, list);
    free(numbers);
}

/* Comes in as process i of the job. */
static inline void meet(struct peer *peer, int i, int count, const char *host)
{
    Jd__Hello hello = make_hello(i, count, host);
    hello.shows_traces = !peer->is_old;
    accept_peer(peer);
    say_hello(peer, &open_auth, &hello);
    expect_welcome(peer, &open_auth);
}

static inline void lose(struct peer *peer, int error)
{
    jd__service_lost(service, peer->connection, error, NULL, now);
    peer->connection = NULL;
    check_tally();
}

/* One that the service has ended closes now. */
static inline void close_ended(struct peer *peer)
{
    ck_assert(peer->is_ended);
    lose(peer, 0);
}

/* ---- requests ----------------------------------------------------------- */

static inline uint64_t join(struct peer *peer, int64_t timeout_ms)
{
    Jd__Join body = JD__JOIN__INIT;
    return ask(peer, JD__MESSAGE__BODY_JOIN, &body, timeout_ms);
}

static inline uint64_t leave(struct peer *peer, bool at_once,
                             int64_t timeout_ms)
{
    Jd__Leave body = JD__LEAVE__INIT;
    body.at_once = at_once;
    return ask(peer, JD__MESSAGE__BODY_LEAVE, &body, timeout_ms);
}

static inline void withdraw(struct peer *peer, uint64_t id)
{
    Jd__Withdraw body = JD__WITHDRAW__INIT;
    body.id = id;
    tell(peer, JD__MESSAGE__BODY_WITHDRAW, &body);
}

static inline void beat(struct peer *peer)
{
    Jd__Heartbeat body = JD__HEARTBEAT__INIT;
    tell(peer, JD__MESSAGE__BODY_HEARTBEAT, &body);
}

/* As beat_doing(), with the operation in more words; "": with none. */
static inline void beat_calling(struct peer *peer, const char *operation,
                                uint64_t number, bool inside, uint64_t since_ms,
                                const char *call)
{
    Jd__Heartbeat body = JD__HEARTBEAT__INIT;
    Jd__Progress progress = JD__PROGRESS__INIT;
    progress.operation = (char *)operation;
    progress.number = number;
    progress.inside = inside;
    progress.since_ms = since_ms;
    progress.call = (char *)call;
    body.progress = &progress;
    tell(peer, JD__MESSAGE__BODY_HEARTBEAT, &body);
}

static inline void beat_doing(struct peer *peer, const char *operation,
                              uint64_t number, bool inside, uint64_t since_ms)
{
    beat_calling(peer, operation, number, inside, since_ms, "");
}

static inline uint64_t set(struct peer *peer, const char *key,
                           const char *value)
{
    Jd__Set body = JD__SET__INIT;
    Jd__Entry entry = JD__ENTRY__INIT, *pointer = &entry;
    entry.key = jd__wire_text(key);
    entry.value = jd__wire_text(value);
    body.entries = &pointer;
    body.n_entries = 1;
    return ask(peer, JD__MESSAGE__BODY_SET, &body, 0);
}

/* Keys separated by commas. */
static inline uint64_t get(struct peer *peer, const char *keys,
                           int64_t timeout_ms)
{
    Jd__Get body = JD__GET__INIT;
    ProtobufCBinaryData list[16];
    body.keys = list;
    for (const char *k = keys; *k; k += *k == ',') {
        size_t length = strcspn(k, ",");
        list[body.n_keys++] = jd__wire_bytes(k, length);
        k += length;
    }
    return ask(peer, JD__MESSAGE__BODY_GET, &body, timeout_ms);
}

/* The processes of the list end with -1; NULL: all. */
static inline uint64_t arrive_with(struct peer *peer, const char *name,
                                   const int *list, const char *label,
                                   int64_t timeout_ms)
{
    Jd__Arrive body = JD__ARRIVE__INIT;
    uint32_t processes[MAX_PEERS];
    body.barrier = jd__wire_text(name);
    body.label = jd__wire_text(label);
    body.processes = processes;
    for (; list && *list >= 0; list++)
        processes[body.n_processes++] = (uint32_t)*list;
    return ask(peer, JD__MESSAGE__BODY_ARRIVE, &body, timeout_ms);
}

static inline uint64_t arrive(struct peer *peer, const char *name,
                              int64_t timeout_ms)
{
    return arrive_with(peer, name, NULL, "", timeout_ms);
}

static inline uint64_t cancel_barrier(struct peer *peer, const char *name)
{
    Jd__Cancel body = JD__CANCEL__INIT;
    body.barrier = jd__wire_text(name);
    return ask(peer, JD__MESSAGE__BODY_CANCEL, &body, 0);
}

static inline uint64_t report(struct peer *peer, Jd__Report__Kind kind,
                              int code, const char *text)
{
    Jd__Report body = JD__REPORT__INIT;
    body.kind = kind;
    body.code = code;
    body.text = (char *)text;
    return ask(peer, JD__MESSAGE__BODY_REPORT, &body, 250);
}

/* All come in, two on each host, and join. */
static inline void start_joined(int count)
{
    char host[16];
    for (int i = 0; i < count; i++) {
        snprintf(host, sizeof host, "h%d", i / 2);
        meet(&peers[i], i, count, host);
        join(&peers[i], 1000);
    }
    for (int i = 0; i < count; i++)
        expect_ok(&peers[i], 1);
}

/* Is let in as one that is no process. */
static inline void come_as(struct peer *peer, Jd__Role role)
{
    Jd__Hello hello = make_hello(0, 2, "h0");
    hello.role = role;
    accept_peer(peer);
    say_hello(peer, &open_auth, &hello);
    expect_welcome(peer, &open_auth);
}

/* One with this Hello comes, is refused in these words, and goes. */
static inline void refuse(Jd__Hello *hello, const struct jd_auth *auth,
                          jd_status status, const char *text)
{
    struct peer *peer = &peers[MAX_PEERS - 1];
    accept_peer(peer);
    say_hello(peer, auth, hello);
    expect_refused(peer, status, text);
    ck_assert(!peer->is_welcome);
    beat(peer); /* nothing counts any more */
    expect_quiet(peer);
    close_ended(peer);
}

#endif
