/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_agent.c - an agent against a service that says anything: one that knows
 * nobody's secret from its first word on, or one that is let believe and then
 * turns hostile.
 *
 * An input is a byte of flags, one that counts for nothing, and steps: a size,
 * a kind, two bytes that count for nothing, and so many bytes (as a frame of
 * wire.h, so that what fuzz_seeds writes for fuzz_wire serves here too).
 */
#include "base/clock.h"
#include "base/process_exit.h"
#include "runtime/coordination/client/agent_private.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FLAG_OPEN = 1, FLAG_STRANGER = 2 };
enum { MAX_MESSAGE = 4096, PENDING_ID = 5 };
enum { BARE = 7 }; /* a step's kind % 8: without a frame or a MAC */

/* The service's side. */
struct service {
    int fd;
    struct jd_loop *loop;
    struct jd_agent *agent;
    struct jd_seal sent;
    struct jd_bytes out;
    int num_lost;
};

static struct jd_auth auths[2] = {
    { .way = JD_AUTH_SECRET,
      .key = "a key that nobody else has",
      .source = "MPI" },
    { .way = JD_AUTH_OPEN },
};

/* Only a loop's thread calls it, and there is none. */
void jd__process_exit_now(int code)
{
    FUZZ_EXPECT(false, "exit code %d", code);
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return jd__auth_start() == JD_OK ? 0 : 1;
}

/* ---- the agent ---------------------------------------------------------- */

/* All of it is read. */
static void on_push(void *arg, const Jd__Message *message)
{
    struct jd_bytes bytes = { .data = NULL };
    (void)arg;
    FUZZ_EXPECT(jd__wire_append(&bytes, message), "no memory");
    jd__wire_bytes_finish(&bytes);
}

static void on_lost(void *arg, const char *why)
{
    struct service *service = arg;
    service->num_lost++;
    FUZZ_EXPECT(service->num_lost == 1, "lost twice: %s", why);
}

/* One part and a bit, or none. */
static void *show_trace(int place, int *ret_places, size_t *ret_size)
{
    *ret_places = 2;
    *ret_size = place < 2 ? 40000 : 0;
    return place < 2 ? calloc(1, *ret_size) : NULL;
}

static bool describe_wait(uint64_t site, char text[JD_WAIT_TEXT])
{
    snprintf(text, JD_WAIT_TEXT, "jd_psum at train.c:%d", (int)(site % 100));
    return site % 2;
}

/* The loop is this thread's: no other is started. */
static void open_agent(struct service *service, const struct jd_auth *auth)
{
    int fds[2];
    FUZZ_EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                           0, fds) == 0,
                "no sockets");
    FUZZ_EXPECT(jd__loop_create("fuzz", &service->loop) == JD_OK, "no loop");
    service->fd = fds[1];
    struct jd_agent_spec spec = {
        .loop = service->loop,
        .auth = auth,
        .job = "job",
        .process = 1,
        .count = 3,
        .host = "h0",
        .boot_id = "b0",
        .program = "train",
        .fd = fds[0],
        .heartbeat_timeout = -1,
        .notice = -1,
        .max_message = MAX_MESSAGE,
        .show_trace = show_trace,
        .describe_wait = describe_wait,
        .on_push = on_push,
        .on_lost = on_lost,
        .arg = service,
    };
    FUZZ_EXPECT(jd__agent_create(&spec, &service->agent) == JD_OK, "no agent");
    jd__agent_meet(service->agent, jd__clock_now()); /* it begins */
}

static void turn(struct service *service)
{
    event_base_loop(jd__loop_base(service->loop), EVLOOP_NONBLOCK);
}

/* ---- what the service says ---------------------------------------------- */

static void send_out(struct service *service)
{
    jd__seal_close(&service->sent, &service->out);
    ssize_t sent =
        send(service->fd, service->out.data + service->out.begin,
             jd__bytes_size(&service->out), MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)sent; /* the agent may have closed */
    jd__wire_bytes_consume(&service->out, jd__bytes_size(&service->out));
    turn(service);
}

static void say(struct service *service, Jd__Message__BodyCase body, void *what)
{
    Jd__Message message = JD__MESSAGE__INIT;
    message.body_case = body;
    message.challenge = what; /* a union of pointers */
    FUZZ_EXPECT(jd__seal_append(&service->sent, &service->out, &message),
                "no memory");
    send_out(service);
}

/* The agent's Hello, into the bytes. */
static Jd__Message *hear_hello(struct service *service)
{
    uint8_t bytes[2048];
    struct jd_wire_frame frame = { .message = NULL };
    ssize_t size = recv(service->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size > 0)
        jd__wire_next(bytes, (size_t)size, sizeof bytes, NULL, &frame);
    FUZZ_EXPECT(frame.message, "no Hello");
    return frame.message;
}

static void welcome(struct service *service, const struct jd_auth *auth,
                    ProtobufCBinaryData challenge)
{
    Jd__Message *hello = hear_hello(service);
    ProtobufCBinaryData none = { 0, NULL };
    uint8_t mac[JD_AUTH_MAC];
    struct jd_auth_keys keys;
    Jd__Welcome body = JD__WELCOME__INIT;
    jd__auth_welcome_mac(auth, challenge, hello->hello->nonce, &body, mac);
    body.mac = jd__wire_bytes(mac, sizeof mac);
    say(service, JD__MESSAGE__BODY_WELCOME, &body);
    jd__auth_agree(auth, NULL, none, challenge, hello->hello->nonce, &keys);
    if (auth->way == JD_AUTH_SECRET)
        jd__seal_begin(&service->sent, keys.to_agent);
    jd__message__free_unpacked(hello, NULL);
}

/* As the real one does, as far as the Welcome. */
static void greet(struct service *service, const struct jd_auth *auth)
{
    static uint8_t nonce[JD_AUTH_NONCE];
    Jd__Challenge challenge = JD__CHALLENGE__INIT;
    challenge.protocol = JD_WIRE_PROTOCOL;
    challenge.nonce = jd__wire_bytes(nonce, sizeof nonce);
    say(service, JD__MESSAGE__BODY_CHALLENGE, &challenge);
    welcome(service, auth, challenge.nonce);
}

static void admit(struct service *service)
{
    Jd__Admitted admitted = JD__ADMITTED__INIT;
    admitted.host = (char *)"h0";
    say(service, JD__MESSAGE__BODY_ADMITTED, &admitted);
    FUZZ_EXPECT(service->agent->state == JD_AGENT_READY, "it is not let in");
}

/* ---- steps -------------------------------------------------------------- */

static void append(struct service *service, const void *data, size_t size)
{
    uint8_t *at = jd__wire_bytes_reserve(&service->out, size + 1);
    FUZZ_EXPECT(at, "no memory");
    if (size)
        memcpy(at, data, size);
    service->out.end += size;
}

/* A frame with its MAC where there is a key: what comes in is a message that
 * is sent again, as far as it is one. */
static void send_frame(struct service *service, const uint8_t *data,
                       size_t size)
{
    Jd__Message *message = jd__message__unpack(NULL, size, data);
    if (message && service->sent.is_on) {
        jd__seal_append(&service->sent, &service->out, message);
    } else {
        uint8_t header[JD_WIRE_HEADER];
        jd__wire_put_u32(header, (uint32_t)size);
        append(service, header, sizeof header);
        append(service, data, size);
    }
    if (message)
        jd__message__free_unpacked(message, NULL);
    send_out(service);
}

static void take_step(struct service *service, struct fuzz_input *input)
{
    char away[4096];
    size_t size = fuzz_byte(input);
    uint8_t kind = fuzz_byte(input);
    fuzz_byte(input), fuzz_byte(input);
    size_t left = (size_t)(input->end - input->at);
    size = size < left ? size : left;
    if (kind % 8 == BARE) {
        append(service, input->at, size);
        send_out(service);
    } else {
        send_frame(service, input->at, size);
    }
    input->at += size;
    while (recv(service->fd, away, sizeof away, MSG_DONTWAIT) > 0)
        ;
}

/* A request of a thread that waits. */
static void begin_asking(struct jd_agent *agent, Jd__Message *request,
                         struct jd_pending *pending)
{
    jd__message__init(request);
    request->id = PENDING_ID;
    pending->request = request;
    pthread_cond_init(&pending->changed, NULL);
    agent->pending = pending;
}

static void end_asking(struct jd_agent *agent, struct jd_pending *pending)
{
    agent->pending = NULL;
    if (pending->answer)
        jd__message__free_unpacked(pending->answer, NULL);
    pthread_cond_destroy(&pending->changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = { data, data + size };
    struct service service = { .fd = -1 };
    struct jd_pending pending = { .answer = NULL };
    Jd__Message request;
    unsigned flags = fuzz_byte(&input);
    const struct jd_auth *auth = &auths[flags & FLAG_OPEN];
    fuzz_byte(&input);
    open_agent(&service, auth);
    if (!(flags & FLAG_STRANGER)) {
        greet(&service, auth);
        admit(&service);
        begin_asking(service.agent, &request, &pending);
    }
    while (!fuzz_is_empty(&input))
        take_step(&service, &input);
    FUZZ_EXPECT(!(flags & FLAG_STRANGER) || flags & FLAG_OPEN ||
                    service.agent->state != JD_AGENT_READY,
                "a stranger is believed");
    if (!(flags & FLAG_STRANGER))
        end_asking(service.agent, &pending);
    jd__agent_destroy(service.agent);
    jd__loop_destroy(service.loop);
    jd__wire_bytes_finish(&service.out);
    close(service.fd);
    return 0;
}
