/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_seeds wire|seal|service|agent|inter|pmi DIRECTORY - writes the inputs
 * that the fuzz targets begin with: frames of every body, what jobs do, a
 * result and a fault that can be, and what MPIs say.
 */
#include "collectives/cpu/inter/inter_result.h"
#include "collectives/platform/ragged_fault.h"
#include "runtime/coordination/net/wire.h"
#include "tests/fuzz/pmi_seeds.h"
#include "tests/fuzz/steps.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_seed(const char *directory, const char *name,
                       const void *data, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

/* ---- frames ------------------------------------------------------------- */

/* A message whose fields all have something in them, as far as the descriptor
 * tells: bytes that decode to that. */
static void fill_field(struct jd_bytes *out, unsigned id,
                       const ProtobufCFieldDescriptor *field)
{
    bool is_number = field->type != PROTOBUF_C_TYPE_MESSAGE &&
                     field->type != PROTOBUF_C_TYPE_BYTES &&
                     field->type != PROTOBUF_C_TYPE_STRING;
    bool is_fixed = field->type == PROTOBUF_C_TYPE_FIXED64;
    uint8_t bytes[10] = { 0 };
    size_t size = is_fixed ? 8 : is_number ? 1 : 3;
    bytes[0] = is_number ? 1 : 2; /* a number; a length */
    bytes[1] = bytes[2] = field->type == PROTOBUF_C_TYPE_MESSAGE ? 0 : 'k';
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        bytes[0] = 0, size = 1;
    uint8_t *at = jd__wire_bytes_reserve(out, 2 + size);
    at[0] = (uint8_t)(id << 3 | (is_fixed ? 1u : is_number ? 0u : 2u));
    memcpy(at + 1, bytes, size);
    out->end += 1 + size;
}

static void write_frame(const char *directory,
                        const ProtobufCFieldDescriptor *body, uint8_t first)
{
    char name[80];
    const ProtobufCMessageDescriptor *type = body->descriptor;
    struct jd_bytes fields = { .data = NULL };
    for (unsigned i = 0; i < type->n_fields; i++)
        fill_field(&fields, type->fields[i].id, &type->fields[i]);
    size_t size = jd__bytes_size(&fields);
    uint8_t seed[300] = { first, 7 };
    size_t at = 2;
    seed[at] = (uint8_t)(size + 5);
    at += JD_WIRE_HEADER;
    seed[at++] = 1 << 3; /* id 5 */
    seed[at++] = 5;
    seed[at++] = (uint8_t)((body->id << 3 | 2) & 0x7f) | 0x80;
    seed[at++] = (uint8_t)(body->id >> 4);
    seed[at++] = (uint8_t)size;
    if (size)
        memcpy(seed + at, fields.data, size);
    snprintf(name, sizeof name, "%s-%d", body->name, first);
    write_seed(directory, name, seed, at + size);
    jd__wire_bytes_finish(&fields);
}

/* More than a buffer begins with, and another frame behind it. */
static void write_large(const char *directory)
{
    static uint8_t value[900];
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Set set = JD__SET__INIT;
    Jd__Entry entry = JD__ENTRY__INIT, *entries[] = { &entry, &entry };
    struct jd_bytes seed = { .data = NULL };
    memset(value, 'v', sizeof value);
    entry.key = jd__wire_text("key");
    entry.value = jd__wire_bytes(value, sizeof value);
    set.entries = entries;
    set.n_entries = 2;
    message.body_case = JD__MESSAGE__BODY_SET;
    message.set = &set;
    uint8_t *header = jd__wire_bytes_reserve(&seed, 2);
    header[0] = 0, header[1] = 50;
    seed.end += 2;
    jd__wire_append(&seed, &message);
    jd__wire_append(&seed, &message);
    write_seed(directory, "large", seed.data, jd__bytes_size(&seed));
    jd__wire_bytes_finish(&seed);
}

/* first: of fuzz_wire the limit, of fuzz_seal from whom, of fuzz_agent the
 * flags. */
static void write_frames(const char *directory, uint8_t first)
{
    const ProtobufCMessageDescriptor *type = &jd__message__descriptor;
    for (unsigned i = 0; i < type->n_fields; i++)
        if (type->fields[i].type == PROTOBUF_C_TYPE_MESSAGE)
            write_frame(directory, &type->fields[i], first);
    write_large(directory);
}

/* ---- what jobs do ------------------------------------------------------- */

/* Bodies as FUZZ_REQUEST numbers them. */
enum {
    HEARTBEAT,
    JOIN,
    LEAVE,
    SET,
    GET,
    LIST,
    DELETE,
    INCREMENT,
    ARRIVE,
    CANCEL,
    LIVE,
    REPORT,
    PREEMPTED,
    STEP,
    ACKNOWLEDGE,
    ARMED,
    INQUIRY,
    WITHDRAW,
    BLOCKED,
    SENT,
    STACK_OF,
    STACK,
    STACK_SHOWN,
    TRACE_OF,
    TRACE_PART,
    SITE_NAMED,
};

/* Timeouts: without end, at once, 1 s. */
enum { NEVER = 0, NOW = 1, SECOND = 4 };

#define ASK(slot, body, timeout) FUZZ_REQUEST, slot, 1, body, timeout
#define THREE 2, 0, 0 /* processes, a secret, all may speak */
#define SEED(name, ...)                                                        \
    {                                                                          \
        name, (const uint8_t[]){ __VA_ARGS__ },                                \
            sizeof((const uint8_t[]){ __VA_ARGS__ })                           \
    }

static const struct {
    const char *name;
    const uint8_t *bytes;
    size_t size;
} jobs[] = {
    SEED("meets_and_leaves", THREE, 0, FUZZ_ALL, ASK(0, LEAVE, NEVER), 0,
         ASK(1, LEAVE, NEVER), 0, ASK(2, LEAVE, NEVER), 0, FUZZ_LOSE, 1, 0,
         FUZZ_LOSE, 2, 0),
    SEED("waits_for_a_key", THREE, FUZZ_HEARTBEAT, FUZZ_ALL, ASK(0, GET, NEVER),
         2, 0, 1, ASK(1, SET, NOW), 0, 1, 0, 3, ASK(1, SET, NOW), 0, 1, 1, 2,
         ASK(2, LIST, NOW), 4, ASK(2, DELETE, NOW), 0, ASK(0, INCREMENT, NOW),
         6, 1, ASK(2, GET, SECOND), 1, 2, FUZZ_TIME, 5),
    SEED("barriers", THREE, 0, FUZZ_ALL, ASK(0, ARRIVE, NEVER), 0, 0, 0,
         ASK(1, ARRIVE, SECOND), 0, 0, 0, ASK(2, ARRIVE, NEVER), 0, 0, 0,
         ASK(0, ARRIVE, NEVER), 0, 0, 2, 0, 1, ASK(1, ARRIVE, NEVER), 0, 1, 0,
         ASK(0, ARRIVE, NEVER), 1, 0, 0, ASK(1, CANCEL, NOW), 1),
    SEED("one_dies", THREE, FUZZ_HEARTBEAT, FUZZ_ALL, ASK(0, ARMED, NOW),
         ASK(1, ARRIVE, NEVER), 0, 0, 0, FUZZ_LOSE, 2, 1, FUZZ_TIME, 2,
         ASK(0, LIVE, SECOND), ASK(1, LIVE, SECOND), ASK(0, LEAVE, NEVER), 0),
    SEED("reports", THREE, 0, FUZZ_ALL, ASK(0, REPORT, NEVER), 3, 1, 1,
         ASK(1, REPORT, NEVER), 3, 1, 1, FUZZ_TIME, 3, FUZZ_TIME, 3),
    SEED("is_preempted", THREE, 0, FUZZ_ALL, ASK(1, PREEMPTED, NOW),
         ASK(0, STEP, NOW), 1, 4, ASK(1, STEP, NOW), 1, 3, ASK(2, STEP, NOW), 1,
         0, ASK(0, ACKNOWLEDGE, NOW), 1, ASK(1, ACKNOWLEDGE, NOW), 1,
         ASK(2, ACKNOWLEDGE, NOW), 1),
    SEED("steps_on", THREE, 0, FUZZ_ALL, ASK(1, PREEMPTED, NOW),
         ASK(0, STEP, NOW), 1, 1, ASK(1, STEP, NOW), 1, 1, ASK(2, STEP, NOW), 1,
         3, ASK(0, STEP, NOW), 1, 4),
    SEED("comes_back", THREE, FUZZ_HEARTBEAT, FUZZ_ALL, FUZZ_LOSE, 1, 3,
         FUZZ_ACCEPT, 5, FUZZ_HELLO, 5, 1, FUZZ_IS_BACK, 0,
         ASK(5, HEARTBEAT, NOW), 4, 1, 1, 1, FUZZ_ACCEPT, 6, FUZZ_HELLO, 6, 2,
         FUZZ_IS_BACK, 1, FUZZ_TIME, 6),
    SEED("is_looked_at", THREE, 0, FUZZ_ALL, FUZZ_ACCEPT, 6, FUZZ_HELLO, 6, 0,
         8, 0, ASK(6, INQUIRY, NOW), 0, ASK(0, GET, NEVER), 1, 0,
         ASK(0, INQUIRY, NOW), 2, ASK(0, WITHDRAW, NOW), 2),
    SEED("shows_its_calls", THREE, 0, FUZZ_ALL, FUZZ_ACCEPT, 6, FUZZ_HELLO, 6,
         0, 8, 0, ASK(6, TRACE_OF, SECOND), 1, 0, 0, ASK(1, TRACE_PART, NOW), 1,
         0, 0, 7, 40, ASK(6, TRACE_OF, SECOND), 1, 1, 4,
         ASK(6, TRACE_OF, NEVER), 2, 0, 0, ASK(0, TRACE_OF, NEVER), 2, 0, 0,
         FUZZ_TIME, 5, FUZZ_LOSE, 2, 0),
    /* 1 and 2 have waited for 0 at the site 2. */
    SEED("names_a_site", THREE, 0, FUZZ_ALL, ASK(1, HEARTBEAT, NOW), 4, 6, 1, 7,
         ASK(1, SITE_NAMED, NOW), 2, 4, ASK(2, HEARTBEAT, NOW), 4, 6, 1, 7,
         ASK(2, INQUIRY, NOW), 0),
    SEED("waits_for_each_other", THREE, 0, FUZZ_ALL, ASK(0, BLOCKED, NOW), 1, 0,
         60, 0, 1, 1, ASK(1, BLOCKED, NOW), 1, 1, 60, 7, 1, 0,
         ASK(0, BLOCKED, NOW), 1, 0, 60, 7, 1, 1, FUZZ_TIME, 5,
         ASK(0, BLOCKED, NOW), 1, 0, 61, 7, 1, 1, ASK(1, LEAVE, NEVER), 0,
         FUZZ_TIME, 5),
    SEED("munge", 1, 1, 0, 0, FUZZ_ALL, FUZZ_ACCEPT, 4, FUZZ_HELLO, 4, 1, 8, 0,
         FUZZ_VOUCH, 4, 1, FUZZ_TIME, 5),
    SEED("alone", 0, 0, 0, FUZZ_ALONE, ASK(0, SET, NOW), 0, 1, 0, 1,
         ASK(0, GET, NOW), 1, 0, ASK(0, ARRIVE, NEVER), 0, 0, 0),
    SEED("garbage", THREE, FUZZ_OPEN_END, FUZZ_ACCEPT, 0, FUZZ_BYTES, 0, 6, 2,
         0, 0, 0, 8, 1, FUZZ_MEET, 1, 1, FUZZ_MESSAGE, 1, 4, 8, 1, 0x8a, 1),
};

static void write_jobs(const char *directory)
{
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        write_seed(directory, jobs[i].name, jobs[i].bytes, jobs[i].size);
}

/* ---- what comes by MPI -------------------------------------------------- */

/* Of 8 members, 4 to a group; then of which record it is, and the record. */
static void write_records(const char *directory)
{
    uint8_t bytes[3 + JD_INTER_RESULT_SPACE] = { 7, 3, 0 };
    struct jd_inter_result result = { .head.kind = JD_INTER_RESULT,
                                      .votes[0] = { .member = 1, .count = 4 },
                                      .votes[1].member = -1,
                                      .failed = -1 };
    struct jd_inter_agreed agreed = { .head.kind = JD_INTER_AGREED,
                                      .member = 1,
                                      .count = 4 };
    const struct jd_ragged_fault fault = { .kind = JD_RAGGED_UNEQUAL,
                                           .consumer = 1 };
    memcpy(bytes + 3, &result, sizeof result);
    write_seed(directory, "result", bytes, sizeof bytes);
    memcpy(bytes + 3, &agreed, sizeof agreed);
    write_seed(directory, "agreed", bytes, sizeof bytes);
    bytes[2] = 2;
    memcpy(bytes + 3, &fault, sizeof fault);
    write_seed(directory, "fault", bytes, 3 + sizeof fault);
}

/* ---- what MPIs say ------------------------------------------------------ */

static void write_talks(const char *directory)
{
    uint8_t bytes[PMI_SEED_MOST];
    size_t size;
    const char *name;
    for (size_t i = 0; (name = pmi_seed(i, bytes, &size)); i++)
        write_seed(directory, name, bytes, size);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "wire") == 0)
        write_frames(argv[2], 0);
    else if (argc == 3 && strcmp(argv[1], "seal") == 0)
        for (uint8_t from = 0; from < 2; from++)
            write_frames(argv[2], from);
    else if (argc == 3 && strcmp(argv[1], "agent") == 0)
        for (uint8_t flags = 0; flags < 4; flags++)
            write_frames(argv[2], flags);
    else if (argc == 3 && strcmp(argv[1], "service") == 0)
        write_jobs(argv[2]);
    else if (argc == 3 && strcmp(argv[1], "inter") == 0)
        write_records(argv[2]);
    else if (argc == 3 && strcmp(argv[1], "pmi") == 0)
        write_talks(argv[2]);
    else
        return 2;
    return 0;
}
