/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agents.c - many agents of one job in one process: each connects,
 * shows that it knows the secret, joins, passes a barrier and leaves, at its
 * own pace. At most 512 are in their handshake at a time.
 */
#include "base/clock.h"
#include "bench/service/parts.h"
#include "runtime/coordination/client/agent.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_HANDSHAKES = 512, EVENTS = 256, BUFFER = 1 << 16 };

struct agent {
    int fd; /* -1: none */
    enum bench_phase phase;
    uint64_t last_id;
    struct jd_seal next_seal, seal; /* from the Welcome on */
    struct jd_bytes in;             /* of a frame that is not complete */
};

struct bench_agents {
    struct bench_server server; /* a copy: it may end before them */
    int count;
    int connected;  /* so many have begun */
    int handshakes; /* so many of them are not let in yet */
    int done;       /* so many are where they are to go */
    enum bench_phase goal;
    bool has_failed;
    bool is_beating; /* replies are to heartbeats */
    long answers;
    enum bench_coming coming;
    double begun;         /* the first came */
    bool expects_failure; /* one has been taken away */
    int told;             /* so many have heard what all are to hear */
    double first_told;
    int epoll;
    struct jd_bytes out;
    struct jd_wire_arena arena;
    struct agent items[];
};

static bool fail(struct bench_agents *agents, int index, const char *what,
                 const char *why)
{
    if (!agents->has_failed)
        bench_complain("agent %d of %d at the %s server: %s%s%s", index,
                       agents->count, agents->server.name, what,
                       *why ? ": " : "", why);
    agents->has_failed = true;
    return false;
}

static int index_of(const struct bench_agents *agents,
                    const struct agent *agent)
{
    return (int)(agent - agents->items);
}

/* ---- sending ------------------------------------------------------------ */

/* Sends what was appended to agents->out, if it was. */
static bool send_out(struct bench_agents *agents, struct agent *agent,
                     bool was_appended)
{
    size_t size = jd__bytes_size(&agents->out);
    was_appended =
        was_appended && jd__wire_bytes_reserve(&agents->out, JD_SEAL_SIZE);
    uint8_t *data = agents->out.data + agents->out.begin;
    if (was_appended && agent->seal.is_on) {
        jd__seal_batch(&agent->seal, data, size);
        agents->out.end += JD_SEAL_SIZE;
        size += JD_SEAL_SIZE;
    }
    bool is_sent = was_appended &&
                   send(agent->fd, data, size, MSG_NOSIGNAL) == (ssize_t)size;
    int error = errno;
    jd__wire_bytes_consume(&agents->out, size);
    return is_sent || fail(agents, index_of(agents, agent),
                           "a request cannot be sent", strerror(error));
}

/* The next request, or none where the agent is where it is to go. */
static bool advance(struct bench_agents *agents, struct agent *agent)
{
    if (agent->phase >= agents->goal) {
        agents->done++;
        return true;
    }
    uint64_t id = ++agent->last_id;
    struct jd_bytes *out = &agents->out;
    return send_out(agents, agent,
                    agent->phase == BENCH_WELCOME ? bench_frame_join(out, id)
                    : agent->phase == BENCH_JOINED
                        ? bench_frame_arrive(out, id)
                        : bench_frame_leave(out, id));
}

/* From one of several addresses of loopback, as agents of several hosts: the
 * kernel looks long for a free port where one has many. */
static void choose_source(int fd, int index)
{
    static const int on = 1;
    struct sockaddr_in address = { .sin_family = AF_INET };
    address.sin_addr.s_addr =
        htonl(INADDR_LOOPBACK + (uint32_t)(index / MAX_HANDSHAKES));
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    bind(fd, (const struct sockaddr *)&address, sizeof address);
}

static bool connect_one(struct bench_agents *agents)
{
    int index = agents->connected++, on = 1;
    struct agent *agent = &agents->items[index];
    struct sockaddr_in address = { .sin_family = AF_INET };
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = agent };
    address.sin_port = htons((uint16_t)agents->server.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    agents->handshakes++;
    agent->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (agent->fd >= 0 && agents->coming != BENCH_COME_SOME)
        choose_source(agent->fd, index);
    if (agent->fd < 0 ||
        (connect(agent->fd, (struct sockaddr *)&address, sizeof address) != 0 &&
         errno != EINPROGRESS) ||
        epoll_ctl(agents->epoll, EPOLL_CTL_ADD, agent->fd, &event) != 0)
        return fail(agents, index, "it cannot connect", strerror(errno));
    setsockopt(agent->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return true;
}

static bool may_come(const struct bench_agents *agents)
{
    if (agents->connected == agents->count)
        return false;
    if (agents->coming == BENCH_COME_SOME)
        return agents->handshakes < MAX_HANDSHAKES;
    return agents->coming == BENCH_COME_AS_FAST ||
           jd__clock_now() >= agents->begun + jd__agent_turn(agents->connected);
}

static bool connect_some(struct bench_agents *agents)
{
    for (int n = 0; n < MAX_HANDSHAKES && may_come(agents); n++)
        if (!connect_one(agents))
            return false;
    return true;
}

/* ---- receiving ---------------------------------------------------------- */

static bool on_reply(struct bench_agents *agents, struct agent *agent,
                     const Jd__Reply *reply)
{
    if (reply->status != JD_OK)
        return fail(agents, index_of(agents, agent), "a request failed",
                    reply->text);
    if (agents->is_beating) {
        agents->answers++;
        return true;
    }
    if (++agent->phase == BENCH_LEFT) {
        close(agent->fd);
        agent->fd = -1;
    }
    return advance(agents, agent);
}

static void note_told(struct bench_agents *agents)
{
    if (!agents->told++)
        agents->first_told = jd__clock_now();
}

static bool on_message(struct bench_agents *agents, struct agent *agent,
                       const Jd__Message *message)
{
    int index = index_of(agents, agent);
    switch (message->body_case) {
    case JD__MESSAGE__BODY_CHALLENGE:
        agent->next_seal =
            bench_frame_seal(&agents->server, message->challenge);
        return send_out(agents, agent,
                        bench_frame_hello(&agents->out, &agents->server, index,
                                          message->challenge));
    case JD__MESSAGE__BODY_WELCOME:
        agent->seal = agent->next_seal;
        return true;
    case JD__MESSAGE__BODY_ADMITTED:
        agent->phase = BENCH_WELCOME;
        agents->handshakes--;
        return advance(agents, agent) && connect_some(agents);
    case JD__MESSAGE__BODY_REPLY:
        return on_reply(agents, agent, message->reply);
    case JD__MESSAGE__BODY_REFUSAL:
        return fail(agents, index, "refused", message->refusal->text);
    case JD__MESSAGE__BODY_PREEMPTION:
        return send_out(
            agents, agent,
            bench_frame_step(&agents->out, message->preemption->round));
    case JD__MESSAGE__BODY_DECISION:
        note_told(agents);
        return send_out(
            agents, agent,
            bench_frame_acknowledge(&agents->out, message->decision->round));
    case JD__MESSAGE__BODY_FAILURE:
        if (agents->expects_failure) {
            note_told(agents);
            return true;
        }
        return fail(agents, index, "the job failed", message->failure->text);
    default:
        return fail(agents, index, "unexpected", jd__wire_body_name(message));
    }
}

/* As jd__seal_next, but MACs are passed over. */
static enum jd_wire_result next_frame(struct bench_agents *agents,
                                      const struct agent *agent, uint8_t *data,
                                      size_t size, struct jd_wire_frame *frame)
{
    bool is_joined;
    if (!agent->seal.is_on || size < JD_WIRE_HEADER)
        return jd__wire_next(data, size, INT32_MAX, &agents->arena, frame);
    size_t length = jd__seal_length(data, &is_joined);
    if (size < length + (is_joined ? 0 : JD_SEAL_SIZE))
        return JD_WIRE_PARTIAL;
    return jd__seal_take(data, INT32_MAX, &agents->arena, frame);
}

/* Handles the frames of the data; returns how much of it they were. */
static size_t handle_frames(struct bench_agents *agents, struct agent *agent,
                            uint8_t *data, size_t size)
{
    struct jd_wire_frame frame;
    size_t used = 0;
    while (!agents->has_failed) {
        enum jd_wire_result result =
            next_frame(agents, agent, data + used, size - used, &frame);
        if (result == JD_WIRE_PARTIAL)
            break;
        if (result == JD_WIRE_BROKEN) {
            fail(agents, index_of(agents, agent), "garbage", frame.why);
            break;
        }
        used += frame.bytes;
        on_message(agents, agent, frame.message);
        jd__wire_arena_reset(&agents->arena);
    }
    return used;
}

/* What came goes behind what is there of a frame. */
static bool handle_data(struct bench_agents *agents, struct agent *agent,
                        uint8_t *data, size_t size)
{
    struct jd_bytes *in = &agent->in;
    bool is_fresh = !jd__bytes_size(in);
    size_t used = is_fresh ? handle_frames(agents, agent, data, size) : 0;
    uint8_t *at = used < size ? jd__wire_bytes_reserve(in, size - used) : NULL;
    if (at) {
        memcpy(at, data + used, size - used);
        in->end += size - used;
    } else if (used < size) {
        return fail(agents, index_of(agents, agent), "no memory", "");
    }
    if (!is_fresh)
        jd__wire_bytes_consume(in, handle_frames(agents, agent,
                                                 in->data + in->begin,
                                                 jd__bytes_size(in)));
    return !agents->has_failed;
}

static bool on_readable(struct bench_agents *agents, struct agent *agent)
{
    static uint8_t buffer[BUFFER];
    ssize_t got = recv(agent->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0)
        return handle_data(agents, agent, buffer, (size_t)got);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    return fail(agents, index_of(agents, agent), "its connection is gone",
                got < 0 ? strerror(errno) : "end of file");
}

/* Waits at most that long for something, and handles it. */
static bool handle_events(struct bench_agents *agents, int milliseconds)
{
    struct epoll_event events[EVENTS];
    int ready = epoll_wait(agents->epoll, events, EVENTS, milliseconds);
    for (int i = 0; i < ready && !agents->has_failed; i++)
        on_readable(agents, events[i].data.ptr);
    return !agents->has_failed;
}

/* ---- what others call --------------------------------------------------- */

struct bench_agents *bench_agents_create(const struct bench_server *server,
                                         int count)
{
    struct bench_agents *agents =
        calloc(1, sizeof *agents + (size_t)count * sizeof *agents->items);
    if (!agents || !bench_allow_files(count)) {
        free(agents);
        return NULL;
    }
    agents->server = *server;
    agents->count = count;
    agents->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < count; i++)
        agents->items[i].fd = -1;
    return agents;
}

static void reset(int fd)
{
    struct linger at_once = { .l_onoff = 1 };
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}

void bench_agents_destroy(struct bench_agents *agents)
{
    if (!agents)
        return;
    for (int i = 0; i < agents->count; i++) {
        if (agents->items[i].fd >= 0)
            reset(agents->items[i].fd);
        jd__wire_bytes_finish(&agents->items[i].in);
    }
    close(agents->epoll);
    jd__wire_bytes_finish(&agents->out);
    jd__wire_arena_finish(&agents->arena);
    free(agents);
}

void bench_agents_come(struct bench_agents *agents, enum bench_coming coming)
{
    agents->coming = coming;
}

/* Those whose turn is later are waited for with the others. */
static bool go_on(struct bench_agents *agents, double left)
{
    int wait = (int)(1e3 * left) + 1;
    if (agents->connected < agents->count && agents->coming != BENCH_COME_SOME)
        wait = agents->coming == BENCH_COME_IN_TURN;
    return connect_some(agents) && handle_events(agents, wait);
}

double bench_agents_run(struct bench_agents *agents, enum bench_phase phase)
{
    double begin = jd__clock_now();
    agents->begun = begin;
    agents->goal = phase;
    agents->done = 0;
    bool is_well = connect_some(agents);
    for (int i = 0; is_well && i < agents->count; i++)
        if (agents->items[i].phase >= BENCH_WELCOME)
            is_well = advance(agents, &agents->items[i]);
    while (is_well && agents->done < agents->count) {
        double left = begin + BENCH_DEADLINE - jd__clock_now();
        if (left <= 0)
            is_well = bench_complain("after %g s only %d of %d agents of the "
                                     "%s server were done",
                                     BENCH_DEADLINE, agents->done,
                                     agents->count, agents->server.name);
        else
            is_well = go_on(agents, left);
    }
    return is_well ? jd__clock_now() - begin : -1;
}

/* Until so many have heard it. */
static double await_told(struct bench_agents *agents, double begin, int count)
{
    bool is_well = true;
    while (is_well && agents->told < count) {
        double left = begin + BENCH_DEADLINE - jd__clock_now();
        is_well = left > 0
                      ? handle_events(agents, (int)(1e3 * left) + 1)
                      : bench_complain("after %g s only %d of %d agents had "
                                       "heard it",
                                       BENCH_DEADLINE, agents->told, count);
    }
    return is_well ? jd__clock_now() - begin : -1;
}

double bench_agents_preempt(struct bench_agents *agents)
{
    double begin = jd__clock_now();
    agents->told = 0;
    bool is_sent = send_out(agents, &agents->items[0],
                            bench_frame_preempted(&agents->out));
    return is_sent ? await_told(agents, begin, agents->count) : -1;
}

double bench_agents_fail(struct bench_agents *agents, double *ret_first)
{
    struct agent *victim = &agents->items[agents->count / 2];
    double begin = jd__clock_now();
    agents->told = 0;
    agents->expects_failure = true;
    close(victim->fd);
    victim->fd = -1;
    double seconds = await_told(agents, begin, agents->count - 1);
    *ret_first = agents->first_told - begin;
    return seconds;
}

void bench_agents_rewind(struct bench_agents *agents)
{
    for (int i = 0; i < agents->count; i++)
        agents->items[i].phase = BENCH_JOINED;
}

static bool beat(struct bench_agents *agents, long sent)
{
    struct agent *agent = &agents->items[sent % agents->count];
    uint64_t id = ++agent->last_id;
    return send_out(agents, agent, bench_frame_heartbeat(&agents->out, id));
}

bool bench_agents_beat(struct bench_agents *agents, double per_second,
                       double seconds, long *ret_sent)
{
    double begin = jd__clock_now();
    long sent = 0, total = (long)(per_second * seconds);
    bool is_well = true;
    agents->is_beating = true;
    agents->answers = 0;
    while (is_well && agents->answers < total) {
        double now = jd__clock_now() - begin;
        if (now > seconds + BENCH_DEADLINE)
            is_well = bench_complain("only %ld of %ld heartbeats were answered",
                                     agents->answers, total);
        while (is_well && sent < total && (double)sent <= now * per_second)
            is_well = beat(agents, sent++);
        is_well = is_well && handle_events(agents, 1);
    }
    agents->is_beating = false;
    *ret_sent = sent;
    return is_well;
}

struct jd_seal *bench_agents_seal(struct bench_agents *agents, int i)
{
    return &agents->items[i].seal;
}

int bench_agents_fd(const struct bench_agents *agents, int i)
{
    return agents->items[i].fd;
}
