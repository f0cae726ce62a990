/* SPDX-License-Identifier: BSD-3-Clause */
/* model.c - what a service does to its sessions, checked. */
#include "tests/fuzz/model.h"

#include <math.h>
#include <string.h>

#define REPORT_SECONDS 1.0 /* a report is answered in that */

/* ---- what was asked ----------------------------------------------------- */

static struct asked *find_asked(struct connection *connection, uint64_t id)
{
    for (size_t i = 0; i < connection->num_asked; i++)
        if (connection->asked[i].id == id && !connection->asked[i].is_answered)
            return &connection->asked[i];
    return NULL;
}

static double deadline_of(const struct model *model, const Jd__Message *message)
{
    double end = message->timeout_ms < 0
                     ? INFINITY
                     : model->now + (double)message->timeout_ms / 1000;
    switch (message->body_case) {
    case JD__MESSAGE__BODY_INQUIRY:
        return message->inquiry->n_processes ? end : -INFINITY;
    case JD__MESSAGE__BODY_GET:
    case JD__MESSAGE__BODY_ARRIVE:
    case JD__MESSAGE__BODY_JOIN:
    case JD__MESSAGE__BODY_LEAVE:
    case JD__MESSAGE__BODY_LIVE:
    case JD__MESSAGE__BODY_STACK_OF:
        return end;
    case JD__MESSAGE__BODY_TRACE_OF: /* none waits longer */
        return fmin(model->now + 60, message->timeout_ms < 0 ? INFINITY : end);
    case JD__MESSAGE__BODY_REPORT:
        return message->timeout_ms < 0 ? model->now + REPORT_SECONDS
                                       : model->now + REPORT_SECONDS +
                                             (double)message->timeout_ms / 1000;
    case JD__MESSAGE__BODY_PREEMPTED:
    case JD__MESSAGE__BODY_STEP:
    case JD__MESSAGE__BODY_ACKNOWLEDGE:
    case JD__MESSAGE__BODY_WITHDRAW:
    case JD__MESSAGE__BODY_BLOCKED:
    case JD__MESSAGE__BODY_SENT:
    case JD__MESSAGE__BODY_STACK:
    case JD__MESSAGE__BODY_STACK_SHOWN:
    case JD__MESSAGE__BODY_TRACE_PART:
    case JD__MESSAGE__BODY_SITE_NAMED:
        return INFINITY; /* these have no reply */
    default:
        return -INFINITY; /* these have it when the call returns */
    }
}

static void note_withdrawn(struct connection *connection, uint64_t id)
{
    struct asked *asked = find_asked(connection, id);
    if (asked && !connection->has_twins)
        asked->is_withdrawn = true;
}

static void note_asked(struct connection *connection,
                       const Jd__Message *message)
{
    if (!message->id)
        return;
    for (size_t i = 0; i < connection->num_asked; i++)
        connection->has_twins |= connection->asked[i].id == message->id;
    if (connection->num_asked == connection->max_asked) {
        connection->max_asked = 2 * connection->max_asked + 8;
        connection->asked =
            realloc(connection->asked,
                    connection->max_asked * sizeof *connection->asked);
    }
    connection->asked[connection->num_asked++] = (struct asked){
        .id = message->id,
        .body = message->body_case,
        .deadline = deadline_of(connection->model, message),
    };
}

/* Those of an ended connection have nobody to come to. */
static void check_due(const struct connection *connection, double now)
{
    if (!connection->is_welcome || connection->is_ended ||
        connection->is_lost || connection->has_twins)
        return;
    for (size_t i = 0; i < connection->num_asked; i++) {
        const struct asked *asked = &connection->asked[i];
        FUZZ_EXPECT(asked->is_answered || asked->is_withdrawn ||
                        asked->deadline > now,
                    "request %llu (body %d) has no reply",
                    (unsigned long long)asked->id, (int)asked->body);
    }
}

/* ---- what the service sends --------------------------------------------- */

static void on_challenge(struct connection *connection,
                         const Jd__Challenge *challenge)
{
    FUZZ_EXPECT(!connection->has_challenge, "a second challenge");
    FUZZ_EXPECT(challenge->nonce.len == JD_AUTH_NONCE, "%zu bytes",
                challenge->nonce.len);
    connection->has_challenge = true;
    memcpy(connection->challenge, challenge->nonce.data, JD_AUTH_NONCE);
}

static void on_reply(struct connection *connection, uint64_t id)
{
    struct asked *asked = find_asked(connection, id);
    FUZZ_EXPECT(asked, "nobody asks %llu, or it was answered",
                (unsigned long long)id);
    FUZZ_EXPECT(!asked->is_withdrawn || connection->has_twins,
                "%llu was withdrawn", (unsigned long long)id);
    asked->is_answered = true;
}

static void on_decision(struct model *model, const Jd__Decision *decision)
{
    uint64_t round = decision->round;
    if (round >= MODEL_MAX_ROUNDS)
        return;
    FUZZ_EXPECT(!model->is_decided[round] ||
                    model->decisions[round] == decision->step,
                "round %d has two decisions", (int)round);
    model->is_decided[round] = true;
    model->decisions[round] = decision->step;
}

static void on_failure(struct connection *connection)
{
    FUZZ_EXPECT(!connection->has_failed, "a second failure");
    connection->has_failed = true;
}

/* It can be sent, and read on the other side. */
static void check_frame(const Jd__Message *message)
{
    struct jd_bytes bytes = { .data = NULL };
    struct jd_wire_frame frame;
    FUZZ_EXPECT(jd__wire_append(&bytes, message), "no memory");
    FUZZ_EXPECT(jd__wire_next(bytes.data, bytes.end, SIZE_MAX, NULL, &frame) ==
                    JD_WIRE_MESSAGE,
                "%s", frame.why);
    jd__message__free_unpacked(frame.message, NULL);
    jd__wire_bytes_finish(&bytes);
}

static void on_admitted(struct connection *connection)
{
    FUZZ_EXPECT(!connection->is_welcome, "it is let in twice");
    connection->is_welcome = true;
}

static void expect_open(const struct connection *connection, const char *what)
{
    FUZZ_EXPECT(!connection->is_ended, "%s on an ended session", what);
    FUZZ_EXPECT(!connection->is_lost, "%s on a lost session", what);
}

static void hook_send(void *peer, const Jd__Message *message)
{
    struct connection *connection = peer;
    const char *name = jd__wire_body_name(message);
    bool is_first = message->body_case == JD__MESSAGE__BODY_CHALLENGE ||
                    message->body_case == JD__MESSAGE__BODY_WELCOME;
    bool is_last = message->body_case == JD__MESSAGE__BODY_REFUSAL;
    if (message->body_case == JD__MESSAGE__BODY_ADMITTED)
        on_admitted(connection);
    expect_open(connection, name);
    check_frame(message);
    FUZZ_EXPECT(connection->is_welcome || is_first || is_last,
                "%s to a stranger", name);
    FUZZ_EXPECT(!connection->is_welcome || !is_last, "a refusal after all");
    FUZZ_EXPECT((message->id != 0) ==
                    (message->body_case == JD__MESSAGE__BODY_REPLY),
                "%s has the id %llu", name, (unsigned long long)message->id);
    if (message->body_case == JD__MESSAGE__BODY_CHALLENGE)
        on_challenge(connection, message->challenge);
    else if (message->id)
        on_reply(connection, message->id);
    else if (message->body_case == JD__MESSAGE__BODY_DECISION)
        on_decision(connection->model, message->decision);
    else if (message->body_case == JD__MESSAGE__BODY_FAILURE)
        on_failure(connection);
}

static void hook_welcome(void *peer, const struct jd_auth_keys *keys)
{
    struct connection *connection = peer;
    expect_open(connection, "welcome");
    FUZZ_EXPECT(!connection->is_welcome, "a second welcome");
    FUZZ_EXPECT((keys != NULL) == (connection->model->auth.way != JD_AUTH_OPEN),
                "keys, or none");
    connection->limit = connection->model->max_message;
}

static void hook_end(void *peer)
{
    struct connection *connection = peer;
    expect_open(connection, "an end");
    connection->is_ended = true;
}

static void close_slots(struct connection *connection)
{
    connection->is_lost = true;
    for (int i = 0; i < FUZZ_SLOTS; i++)
        if (connection->model->slots[i] == connection)
            connection->model->slots[i] = NULL;
}

static void hook_drop(void *peer)
{
    struct connection *connection = peer;
    FUZZ_EXPECT(!connection->is_welcome, "one that is let in is dropped");
    connection->is_vouching = false;
    close_slots(connection);
}

static bool hook_vouch(void *peer, const struct jd_munge_spec *spec)
{
    struct connection *connection = peer;
    FUZZ_EXPECT(spec->credential[0], "munge is asked about nothing");
    connection->is_vouching = connection->model->can_vouch;
    return connection->is_vouching;
}

/* Of every other one so much that it is to read first. */
static size_t hook_backlog(void *peer)
{
    const struct connection *connection = peer;
    return connection->num_asked % 2 ? 0 : connection->limit;
}

static enum jd_peer_owner hook_owner(void *peer)
{
    (void)peer;
    return JD_OWNER_OURS;
}

const struct jd_service_hooks model_hooks = {
    .send = hook_send,
    .welcome = hook_welcome,
    .end = hook_end,
    .drop = hook_drop,
    .vouch = hook_vouch,
    .backlog = hook_backlog,
    .owner = hook_owner,
};

/* ---- what the other ends do --------------------------------------------- */

static struct connection *create(struct model *model)
{
    if (model->num_all == MODEL_MAX_CONNECTIONS)
        return NULL;
    struct connection *connection = calloc(1, sizeof *connection);
    connection->model = model;
    connection->limit = JD_WIRE_STRANGER_MAX;
    model->all[model->num_all++] = connection;
    return connection;
}

struct connection *model_accept(struct model *model)
{
    struct connection *connection = create(model);
    if (!connection)
        return NULL;
    connection->session = jd__service_accept(model->service, connection,
                                             "10.0.0.9:5555", model->now);
    FUZZ_EXPECT(connection->session && connection->has_challenge,
                "no challenge");
    return connection;
}

struct connection *model_accept_alone(struct model *model)
{
    struct connection *connection = create(model);
    connection->is_welcome = true;
    connection->limit = model->max_message;
    connection->session = jd__service_accept_alone(model->service, connection);
    FUZZ_EXPECT(connection->session, "no session");
    return connection;
}

void model_receive(struct connection *connection, const Jd__Message *message)
{
    struct model *model = connection->model;
    bool counts = connection->is_welcome && !connection->is_ended;
    if (counts)
        note_asked(connection, message);
    jd__service_receive(model->service, connection->session, message,
                        model->now);
    if (counts && message->body_case == JD__MESSAGE__BODY_WITHDRAW)
        note_withdrawn(connection, message->withdraw->id);
    check_due(connection, -1); /* what needs no time */
}

/* It is lost before the service hears of it. */
void model_lose(struct connection *connection, int error, const char *why)
{
    struct model *model = connection->model;
    close_slots(connection);
    jd__service_lost(model->service, connection->session, error, why,
                     model->now);
}

void model_vouch(struct connection *connection, jd_status status)
{
    if (!connection->is_vouching)
        return;
    connection->is_vouching = false;
    jd__service_vouched(connection->model->service, connection->session, status,
                        "munge says so", connection->model->now);
}

void model_tick(struct model *model)
{
    double next = jd__service_tick(model->service, model->now);
    FUZZ_EXPECT(next > model->now, "it wants to be called %g s ago",
                model->now - next);
    for (size_t i = 0; i < model->num_all; i++)
        check_due(model->all[i], model->now);
}

static void destroy(struct connection *connection)
{
    jd__wire_bytes_finish(&connection->bytes);
    free(connection->asked);
    free(connection);
}

void model_finish(struct model *model)
{
    jd__service_destroy(model->service);
    for (size_t i = 0; i < model->num_all; i++)
        destroy(model->all[i]);
}
