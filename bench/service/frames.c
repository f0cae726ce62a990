/* SPDX-License-Identifier: BSD-3-Clause */
/* frames.c - jd's messages as a client writes them: all that the raw
 * clients of `bench-service` know of the protocol. */
#include "bench/service/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint8_t some_bytes[JD_AUTH_MAC] = "as long as a MAC and a nonce";

static bool append(struct jd_bytes *out, uint64_t id, double timeout,
                   Jd__Message__BodyCase body, void *body_message)
{
    Jd__Message message = JD__MESSAGE__INIT;
    message.id = id;
    message.timeout_ms = (int64_t)(1e3 * timeout);
    message.body_case = body;
    message.set = body_message; /* all members of the union are pointers */
    return jd__wire_append(out, &message);
}

void bench_frame_set_id(uint8_t *frame, uint64_t id)
{
    frame[BENCH_ID_AT] = (uint8_t)(id | 0x80);
    frame[BENCH_ID_AT + 1] = (uint8_t)(id >> 7 | 0x80);
    frame[BENCH_ID_AT + 2] = (uint8_t)(id >> 14);
}

void bench_key(int i, char key[BENCH_KEY + 1])
{
    snprintf(key, BENCH_KEY + 1, "bench/key/%06u", (unsigned)i % 1000000u);
}

/* ---- the meeting -------------------------------------------------------- */

bool bench_frame_challenge(struct jd_bytes *out)
{
    Jd__Challenge body = JD__CHALLENGE__INIT;
    body.protocol = JD_WIRE_PROTOCOL;
    body.nonce = jd__wire_bytes(some_bytes, JD_AUTH_NONCE);
    return append(out, 0, 0, JD__MESSAGE__BODY_CHALLENGE, &body);
}

bool bench_frame_hello(struct jd_bytes *out, const struct bench_server *server,
                       int process, const Jd__Challenge *challenge)
{
    Jd__Hello body = JD__HELLO__INIT;
    uint8_t mac[JD_AUTH_MAC];
    body.protocol = JD_WIRE_PROTOCOL;
    body.role = JD__ROLE__PROCESS;
    body.job = (char *)"bench";
    body.process = (uint32_t)process;
    body.count = (uint32_t)server->count;
    body.incarnation = (uint64_t)process + 1;
    body.host = (char *)"localhost";
    body.boot_id = (char *)"00000000-0000-0000-0000-000000000000";
    body.program = (char *)"bench-service";
    body.pid = (uint32_t)getpid();
    body.nonce = jd__wire_bytes(some_bytes, JD_AUTH_NONCE);
    jd__auth_hello_mac(&server->auth, challenge->nonce, &body, mac);
    body.mac = jd__wire_bytes(mac, sizeof mac);
    return append(out, 0, 0, JD__MESSAGE__BODY_HELLO, &body);
}

struct jd_seal bench_frame_seal(const struct bench_server *server,
                                const Jd__Challenge *challenge)
{
    static const ProtobufCBinaryData none = { 0, NULL };
    struct jd_seal seal = { .is_on = false };
    struct jd_auth_keys keys;
    if (server->auth.way == JD_AUTH_OPEN)
        return seal;
    jd__auth_agree(&server->auth, NULL, none, challenge->nonce,
                   jd__wire_bytes(some_bytes, JD_AUTH_NONCE), &keys);
    jd__seal_begin(&seal, keys.to_service);
    return seal;
}

bool bench_frame_admitted(struct jd_bytes *out)
{
    Jd__Admitted body = JD__ADMITTED__INIT;
    body.incarnation = 1;
    body.host = (char *)"localhost";
    body.pid = (uint32_t)getpid();
    body.program = (char *)"bench-service";
    return append(out, 0, 0, JD__MESSAGE__BODY_ADMITTED, &body);
}

bool bench_frame_reply(struct jd_bytes *out)
{
    Jd__Reply body = JD__REPLY__INIT;
    return append(out, BENCH_FIRST_ID, 0, JD__MESSAGE__BODY_REPLY, &body);
}

/* ---- requests ----------------------------------------------------------- */

bool bench_frame_join(struct jd_bytes *out, uint64_t id)
{
    Jd__Join body = JD__JOIN__INIT;
    return append(out, id, BENCH_DEADLINE, JD__MESSAGE__BODY_JOIN, &body);
}

bool bench_frame_arrive(struct jd_bytes *out, uint64_t id)
{
    Jd__Arrive body = JD__ARRIVE__INIT;
    body.barrier = jd__wire_text("bench");
    return append(out, id, BENCH_DEADLINE, JD__MESSAGE__BODY_ARRIVE, &body);
}

bool bench_frame_leave(struct jd_bytes *out, uint64_t id)
{
    Jd__Leave body = JD__LEAVE__INIT;
    return append(out, id, BENCH_DEADLINE, JD__MESSAGE__BODY_LEAVE, &body);
}

bool bench_frame_heartbeat(struct jd_bytes *out, uint64_t id)
{
    Jd__Progress progress = JD__PROGRESS__INIT;
    Jd__Heartbeat body = JD__HEARTBEAT__INIT;
    progress.operation = (char *)"jd_psum";
    progress.number = 123456;
    progress.inside = true;
    progress.since_ms = 1234;
    body.progress = &progress;
    return append(out, id, 0, JD__MESSAGE__BODY_HEARTBEAT, &body);
}

bool bench_frame_preempted(struct jd_bytes *out)
{
    Jd__Preempted body = JD__PREEMPTED__INIT;
    return append(out, 0, 0, JD__MESSAGE__BODY_PREEMPTED, &body);
}

bool bench_frame_step(struct jd_bytes *out, uint64_t round)
{
    Jd__Step body = JD__STEP__INIT;
    body.round = round;
    body.step = 7;
    return append(out, 0, 0, JD__MESSAGE__BODY_STEP, &body);
}

bool bench_frame_acknowledge(struct jd_bytes *out, uint64_t round)
{
    Jd__Acknowledge body = JD__ACKNOWLEDGE__INIT;
    body.round = round;
    return append(out, 0, 0, JD__MESSAGE__BODY_ACKNOWLEDGE, &body);
}

bool bench_frame_set(struct jd_bytes *out, uint64_t id, int first, int count)
{
    static const char value[BENCH_VALUE] = "a value of thirty-two bytes ...";
    Jd__Entry *entries = calloc((size_t)count, sizeof *entries);
    Jd__Entry **pointers = calloc((size_t)count, sizeof *pointers);
    char(*keys)[BENCH_KEY + 1] = calloc((size_t)count, sizeof *keys);
    Jd__Set body = JD__SET__INIT;
    bool has_memory = entries && pointers && keys;
    for (int i = 0; has_memory && i < count; i++) {
        jd__entry__init(&entries[i]);
        bench_key(first + i, keys[i]);
        entries[i].key = jd__wire_text(keys[i]);
        entries[i].value = jd__wire_bytes(value, sizeof value);
        pointers[i] = &entries[i];
    }
    body.n_entries = (size_t)count;
    body.entries = pointers;
    body.overwrite = true;
    bool done = has_memory && append(out, id, 0, JD__MESSAGE__BODY_SET, &body);
    free(entries);
    free(pointers);
    free(keys);
    return done;
}

bool bench_frame_get(struct jd_bytes *out, uint64_t id, int count)
{
    ProtobufCBinaryData *pointers = calloc((size_t)count, sizeof *pointers);
    char(*keys)[BENCH_KEY + 1] = calloc((size_t)count, sizeof *keys);
    Jd__Get body = JD__GET__INIT;
    bool has_memory = pointers && keys;
    for (int i = 0; has_memory && i < count; i++) {
        bench_key(i, keys[i]);
        pointers[i] = jd__wire_text(keys[i]);
    }
    body.n_keys = (size_t)count;
    body.keys = pointers;
    bool done = has_memory && append(out, id, 0, JD__MESSAGE__BODY_GET, &body);
    free(pointers);
    free(keys);
    return done;
}
