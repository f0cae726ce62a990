/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_service.c - the service's state machine, driven by any steps (steps.h):
 * connections that come and go, right and wrong Hellos, requests and garbage,
 * and time. model.h says what is checked.
 */
#include "runtime/coordination/server/speakers.h"
#include "tests/fuzz/model.h"
#include "tests/fuzz/requests.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- randomness: the same in every run of an input ---------------------- */

static uint64_t seed;

static const char *random_name(void)
{
    return "the same each time";
}

static void random_fill(void *const bytes, const size_t size)
{
    uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        at[i] = (uint8_t)(seed >> 56);
    }
}

static uint32_t random_number(void)
{
    uint32_t number;
    random_fill(&number, sizeof number);
    return number;
}

static randombytes_implementation repeatable = {
    .implementation_name = random_name,
    .random = random_number,
    .buf = random_fill,
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    randombytes_set_implementation(&repeatable);
    return jd__auth_start() == JD_OK ? 0 : 1;
}

/* ---- the Hello ---------------------------------------------------------- */

static void fill_hello(const struct model *model, Jd__Hello *hello,
                       uint32_t process, unsigned flags, unsigned host)
{
    static const char *const hosts[] = { "h0", "h1", "", "h2" };
    static uint8_t nonce[JD_AUTH_NONCE], public_key[JD_AUTH_KEY] = { 9 };
    jd__hello__init(hello);
    hello->protocol = JD_WIRE_PROTOCOL;
    hello->role = (Jd__Role)((flags & FUZZ_ROLE) / 4);
    hello->job = (char *)(flags & FUZZ_WRONG_JOB ? "other" : "job");
    hello->attempt = flags & FUZZ_WRONG_ATTEMPT ? 7 : 1;
    hello->process = process;
    hello->count = (uint32_t)model->count;
    hello->incarnation = flags & FUZZ_OTHER_INCARNATION ? 99 : 10 + process;
    hello->host = (char *)hosts[host % COUNT(hosts)];
    hello->boot_id = hello->host;
    hello->program = (char *)"train";
    hello->shows_traces = host % COUNT(hosts) != 3;
    hello->pid = 100 + process;
    hello->is_back = (flags & FUZZ_IS_BACK) != 0;
    hello->nonce = jd__wire_bytes(nonce, sizeof nonce);
    hello->public_key = jd__wire_bytes(public_key, sizeof public_key);
    if (!(flags & FUZZ_NO_CREDENTIAL))
        hello->credential = (char *)"MUNGE:";
}

/* One whom this Hello must not let in. */
static bool is_stranger(const struct model *model, const Jd__Hello *hello,
                        unsigned flags)
{
    bool is_observer = hello->role == JD__ROLE__OBSERVER;
    return hello->process >= (uint32_t)model->count ||
           (flags & FUZZ_WRONG_MAC && model->auth.way != JD_AUTH_MUNGE) ||
           (flags & (FUZZ_WRONG_JOB | FUZZ_WRONG_ATTEMPT) && !is_observer);
}

static void say_hello(struct connection *connection, uint32_t process,
                      unsigned flags, unsigned host)
{
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Hello hello;
    uint8_t mac[JD_AUTH_MAC];
    bool was_welcome = connection->is_welcome;
    fill_hello(connection->model, &hello, process, flags, host);
    jd__auth_hello_mac(&connection->model->auth,
                       jd__wire_bytes(connection->challenge, JD_AUTH_NONCE),
                       &hello, mac);
    mac[0] ^= flags & FUZZ_WRONG_MAC;
    hello.mac = jd__wire_bytes(mac, sizeof mac);
    message.body_case = JD__MESSAGE__BODY_HELLO;
    message.hello = &hello;
    model_receive(connection, &message);
    FUZZ_EXPECT(was_welcome || !connection->is_welcome ||
                    !is_stranger(connection->model, &hello, flags),
                "process %u is let in, flags %x", (unsigned)process, flags);
}

static void say_join(struct connection *connection)
{
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Join join = JD__JOIN__INIT;
    message.id = ++connection->last_id;
    message.timeout_ms = -1;
    message.body_case = JD__MESSAGE__BODY_JOIN;
    message.join = &join;
    model_receive(connection, &message);
}

/* ---- bytes -------------------------------------------------------------- */

static void receive_frames(struct connection *connection)
{
    struct jd_bytes *bytes = &connection->bytes;
    struct jd_wire_arena heap = { .block = NULL };
    enum jd_wire_result result = JD_WIRE_MESSAGE;
    while (result == JD_WIRE_MESSAGE && jd__bytes_size(bytes)) {
        struct jd_wire_frame frame;
        result =
            jd__wire_next(bytes->data + bytes->begin, jd__bytes_size(bytes),
                          connection->limit, &heap, &frame);
        if (result == JD_WIRE_MESSAGE) {
            model_receive(connection, frame.message);
            jd__wire_bytes_consume(bytes, frame.bytes);
        } else if (result == JD_WIRE_BROKEN) {
            model_lose(connection, EPROTO, frame.why);
        }
        jd__wire_arena_reset(&heap);
    }
    jd__wire_arena_finish(&heap);
}

static void append(struct connection *connection, const void *data, size_t size)
{
    if (!size)
        return;
    uint8_t *room = jd__wire_bytes_reserve(&connection->bytes, size);
    FUZZ_EXPECT(room, "no room for %zu bytes", size);
    memcpy(room, data, size);
    connection->bytes.end += size;
}

/* The next bytes of the input, their number before them. */
static void take_bytes(struct fuzz_input *input, struct connection *connection,
                       bool is_frame)
{
    size_t size = fuzz_byte(input), left = (size_t)(input->end - input->at);
    size = size < left ? size : left;
    uint8_t header[JD_WIRE_HEADER] = { (uint8_t)size };
    if (is_frame)
        append(connection, header, sizeof header);
    append(connection, input->at, size);
    input->at += size;
    receive_frames(connection);
}

/* ---- steps -------------------------------------------------------------- */

static struct connection **take_slot(struct fuzz_input *input,
                                     struct model *model)
{
    return &model->slots[fuzz_byte(input) % FUZZ_SLOTS];
}

/* A slot whose connection was ended can be taken again. */
static struct connection *accept_into(struct model *model,
                                      struct connection **slot)
{
    if (*slot && (*slot)->is_ended)
        model_lose(*slot, 0, NULL);
    if (!*slot)
        *slot = model_accept(model);
    return *slot;
}

static void meet(struct model *model, struct connection **slot,
                 uint32_t process)
{
    struct connection *connection = accept_into(model, slot);
    if (!connection || connection->is_welcome)
        return;
    say_hello(connection, process, 0, process / 2);
    if (connection->is_vouching)
        model_vouch(connection, JD_OK);
    say_join(connection);
}

static void request(struct fuzz_input *input, struct connection *connection)
{
    struct request request;
    struct jd_bytes bytes = { .data = NULL };
    uint8_t id = fuzz_byte(input);
    fuzz_request(input, &request);
    request.message.id = id >= FUZZ_OLD_ID ? id % 16 : ++connection->last_id;
    FUZZ_EXPECT(jd__wire_append(&bytes, &request.message), "no memory");
    if (!jd__bytes_size(&connection->bytes)) { /* else it is garbage there */
        append(connection, bytes.data, bytes.end);
        receive_frames(connection);
    }
    jd__wire_bytes_finish(&bytes);
}

static void lose(struct fuzz_input *input, struct connection *connection)
{
    static const int errors[] = { 0,         ECONNRESET,   EPIPE,
                                  ETIMEDOUT, EHOSTUNREACH, EPROTO };
    model_lose(connection, errors[fuzz_byte(input) % COUNT(errors)], NULL);
}

static void pass_time(struct fuzz_input *input, struct model *model)
{
    static const double seconds[] = { 0.001, 0.02, 0.05, 0.2, 1, 5, 30, 1000 };
    model->now += seconds[fuzz_byte(input) % COUNT(seconds)];
}

/* The steps of a connection, which there may not be. */
static void step_of_connection(struct fuzz_input *input, struct model *model,
                               enum fuzz_step step)
{
    static const jd_status statuses[] = { JD_OK, JD_UNAUTHENTICATED };
    struct connection *connection = *take_slot(input, model);
    if (!connection)
        return;
    if (step == FUZZ_HELLO) {
        uint32_t process = fuzz_byte(input) % (FUZZ_MAX_PROCESSES + 1);
        unsigned flags = fuzz_byte(input);
        say_hello(connection, process, flags, fuzz_byte(input));
    } else if (step == FUZZ_REQUEST) {
        request(input, connection);
    } else if (step == FUZZ_MESSAGE || step == FUZZ_BYTES) {
        take_bytes(input, connection, step == FUZZ_MESSAGE);
    } else if (step == FUZZ_LOSE) {
        lose(input, connection);
    } else {
        model_vouch(connection, statuses[fuzz_byte(input) % COUNT(statuses)]);
    }
}

static void take_step(struct fuzz_input *input, struct model *model)
{
    uint8_t byte = fuzz_byte(input);
    enum fuzz_step step =
        (enum fuzz_step)(byte % FUZZ_NO_TICK % FUZZ_NUM_STEPS);
    struct connection **slot;
    switch (step) {
    case FUZZ_MEET:
        slot = take_slot(input, model);
        meet(model, slot, fuzz_byte(input) % FUZZ_MAX_PROCESSES);
        break;
    case FUZZ_ALL:
        for (int i = 0; i < model->count; i++)
            meet(model, &model->slots[i], (uint32_t)i);
        break;
    case FUZZ_ACCEPT:
        accept_into(model, take_slot(input, model));
        break;
    case FUZZ_TIME:
        pass_time(input, model);
        break;
    default:
        step_of_connection(input, model, step);
    }
    if (byte < FUZZ_NO_TICK)
        model_tick(model);
}

/* ---- a run -------------------------------------------------------------- */

static struct jd_auth take_auth(struct fuzz_input *input)
{
    static const enum jd_auth_way ways[] = { JD_AUTH_SECRET, JD_AUTH_MUNGE,
                                             JD_AUTH_OPEN };
    struct jd_auth auth = { .source = "MPI" };
    auth.way = ways[fuzz_byte(input) % COUNT(ways)];
    memset(auth.key, 'k', sizeof auth.key);
    return auth;
}

static void begin(struct fuzz_input *input, struct model *model)
{
    model->count = 1 + fuzz_byte(input) % FUZZ_MAX_PROCESSES;
    model->auth = take_auth(input);
    model->now = 1000;
    model->can_vouch = true;
    enum jd_failure_speakers speakers =
        (enum jd_failure_speakers)(fuzz_byte(input) % 4);
    unsigned flags = input->at < input->end ? *input->at : 0;
    model->max_message = flags & FUZZ_SMALL ? 600 : 1 << 20;
    struct jd_service_spec spec = {
        .hooks = &model_hooks,
        .auth = &model->auth,
        .job = "job",
        .attempt = 1,
        .count = model->count,
        .heartbeat_timeout = flags & FUZZ_HEARTBEAT ? 10 : -1,
        .max_message = model->max_message,
        .speakers = speakers,
        .host = "h0",
        .program = "train",
        .pid = 100,
    };
    FUZZ_EXPECT(jd__service_create(&spec, &model->service) == JD_OK,
                "no memory");
}

static void end(struct model *model, bool is_open)
{
    for (size_t i = 0; !is_open && i < model->num_all; i++)
        if (!model->all[i]->is_lost)
            model_lose(model->all[i], 0, NULL);
    model_finish(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = { data, data + size };
    struct model model = { .count = 0 };
    seed = 1;
    begin(&input, &model);
    unsigned flags = fuzz_byte(&input);
    if (model.count == 1 && flags & FUZZ_ALONE)
        model.slots[0] = model_accept_alone(&model);
    while (!fuzz_is_empty(&input)) {
        take_step(&input, &model);
        jd__service_is_used(model.service);
        jd__service_has_armed(model.service);
    }
    end(&model, flags & FUZZ_OPEN_END);
    return 0;
}
