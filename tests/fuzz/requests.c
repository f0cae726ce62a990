/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.c - requests of an input's bytes. */
#include "tests/fuzz/requests.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- words -------------------------------------------------------------- */

/* Also of jd's own barriers, an empty one, one too long and a number. */
static ProtobufCBinaryData take_key(struct fuzz_input *input)
{
    static const uint8_t own[] = "\0jd_psum", longest[5000] = "x";
    static const char *const texts[] = { "a", "b",     "a/b", "a/",
                                         "",  "a/b/c", "n",   "\n\x80\"" };
    size_t number = fuzz_byte(input) % (COUNT(texts) + 3);
    if (number < COUNT(texts))
        return jd__wire_text(texts[number]);
    if (number == COUNT(texts))
        return jd__wire_bytes(own, sizeof own - 1);
    return jd__wire_bytes(longest, number == COUNT(texts) + 1 ? 4096 : 5000);
}

static ProtobufCBinaryData take_value(struct fuzz_input *input)
{
    static const uint8_t large[1500] = "large";
    static const char *const texts[] = { "", "7", "-9223372036854775808",
                                         "value" };
    size_t number = fuzz_byte(input) % (COUNT(texts) + 1);
    return number < COUNT(texts) ? jd__wire_text(texts[number])
                                 : jd__wire_bytes(large, sizeof large);
}

static const char *take_text(struct fuzz_input *input)
{
    static const char *const texts[] = {
        "",
        "no memory",
        "1",
        "%s%n",
        "psum",
        "a sentence of which there is more than the place for an operation",
    };
    return texts[fuzz_byte(input) % COUNT(texts)];
}

static int64_t take_number(struct fuzz_input *input)
{
    static const int64_t numbers[] = { 0,  1,         -1,        2,
                                       17, INT64_MAX, INT64_MIN, 1000000 };
    return numbers[fuzz_byte(input) % COUNT(numbers)];
}

static int64_t take_timeout(struct fuzz_input *input)
{
    static const int64_t timeouts[] = { -1,   0,     1,         50,
                                        1000, 10000, INT64_MAX, INT64_MIN };
    return timeouts[fuzz_byte(input) % COUNT(timeouts)];
}

/* ---- bodies ------------------------------------------------------------- */

/* From what was taken already: an input means what it meant before. */
static void fill_waited(struct request *request)
{
    Jd__Heartbeat *heartbeat = &request->body.heartbeat;
    jd__waited__init(&request->waited);
    request->waited.process = (uint32_t)request->progress.since_ms % 5;
    request->waited.waited_us = request->progress.number;
    request->waited.call = request->progress.operation;
    request->waited.site = request->progress.number % 3;
    request->waited_pointers[0] = &request->waited;
    request->waited_pointers[1] = &request->waited;
    heartbeat->waited = request->waited_pointers;
    heartbeat->n_waited = 2;
    heartbeat->waited_us = request->progress.since_ms;
}

static void fill_standing(struct request *request)
{
    jd__standing__init(&request->standing);
    request->standing.wait = request->progress.number % 4;
    request->standing.call = request->progress.operation;
    request->standing_pointer = &request->standing;
    request->body.heartbeat.standing = &request->standing_pointer;
    request->body.heartbeat.n_standing = 1;
}

static void fill_heartbeat(struct fuzz_input *input, struct request *request)
{
    jd__heartbeat__init(&request->body.heartbeat);
    jd__progress__init(&request->progress);
    request->progress.operation = (char *)take_text(input);
    request->progress.number = (uint64_t)take_number(input);
    request->progress.inside = fuzz_byte(input) % 2;
    request->progress.since_ms = (uint64_t)take_number(input);
    if (request->progress.number != 17)
        request->body.heartbeat.progress = &request->progress;
    if (request->progress.number % 5 == 3)
        fill_waited(request);
    if (request->progress.number % 5 == 4)
        fill_standing(request);
}

static void fill_set(struct fuzz_input *input, struct request *request)
{
    Jd__Set *set = &request->body.set;
    jd__set__init(set);
    set->overwrite = fuzz_byte(input) % 2;
    set->n_entries = fuzz_byte(input) % (REQUEST_MAX_LIST + 1);
    set->entries = request->entry_pointers;
    for (size_t i = 0; i < set->n_entries; i++) {
        jd__entry__init(&request->entries[i]);
        request->entries[i].key = take_key(input);
        request->entries[i].value = take_value(input);
        request->entry_pointers[i] = &request->entries[i];
    }
}

static void fill_get(struct fuzz_input *input, struct request *request)
{
    Jd__Get *get = &request->body.get;
    jd__get__init(get);
    get->n_keys = fuzz_byte(input) % (REQUEST_MAX_LIST + 1);
    get->keys = request->keys;
    for (size_t i = 0; i < get->n_keys; i++)
        request->keys[i] = take_key(input);
}

static void fill_arrive(struct fuzz_input *input, struct request *request)
{
    Jd__Arrive *arrive = &request->body.arrive;
    jd__arrive__init(arrive);
    arrive->barrier = take_key(input);
    arrive->label = take_value(input);
    arrive->n_processes = fuzz_byte(input) % (REQUEST_MAX_LIST + 1);
    arrive->processes = request->processes;
    for (size_t i = 0; i < arrive->n_processes; i++)
        request->processes[i] = fuzz_byte(input) % 6;
}

static void fill_report(struct fuzz_input *input, struct request *request)
{
    Jd__Report *report = &request->body.report;
    jd__report__init(report);
    report->kind = (Jd__Report__Kind)(fuzz_byte(input) % 5);
    report->code = (int32_t)take_number(input);
    report->text = (char *)take_text(input);
}

static void fill_step(struct fuzz_input *input, struct request *request)
{
    jd__step__init(&request->body.step);
    request->body.step.round = fuzz_byte(input) % 4;
    request->body.step.step = take_number(input);
}

/* The requests that change or ask the store. */
static void fill_store(struct fuzz_input *input, struct request *request)
{
    switch (request->message.body_case) {
    case JD__MESSAGE__BODY_SET:
        fill_set(input, request);
        break;
    case JD__MESSAGE__BODY_GET:
        fill_get(input, request);
        break;
    case JD__MESSAGE__BODY_LIST:
        jd__list__init(&request->body.list);
        request->body.list.directory = take_key(input);
        break;
    case JD__MESSAGE__BODY_DELETE:
        jd__delete__init(&request->body.delete);
        request->body.delete.key = take_key(input);
        break;
    default:
        jd__increment__init(&request->body.increment);
        request->body.increment.key = take_key(input);
        request->body.increment.by = take_number(input);
    }
}

static void fill_blocked(struct fuzz_input *input, struct request *request)
{
    Jd__Blocked *blocked = &request->body.blocked;
    jd__blocked__init(blocked);
    blocked->wait = fuzz_byte(input) % 4;
    blocked->operation = (char *)(fuzz_byte(input) % 2 ? "jd_psum" : "jd_pmax");
    blocked->waited_ms = 1000 * (uint64_t)fuzz_byte(input);
    blocked->look = fuzz_byte(input) % 8;
    unsigned bits = fuzz_byte(input);
    blocked->is_alone = bits % 4 > 0;
    blocked->is_far = bits & 8;
    request->messages[0] = bits / 64;
    blocked->n_messages = bits & 16 ? 1 : 0;
    blocked->messages = request->messages;
    request->members[0] = bits & 7;
    request->members[1] = bits / 32;
    request->others[0] = bits / 8 % 4;
    blocked->n_others = bits & 4 ? 1 : bits & 64 ? REQUEST_OTHERS : 0;
    blocked->others = request->others;
    blocked->n_members = bits & 32 ? 2 : bits & 1;
    blocked->members = request->members;
    blocked->n_processes = 1;
    request->processes[0] = fuzz_byte(input) % 8;
    blocked->processes = request->processes;
}

static void fill_trace(struct fuzz_input *input, struct request *request)
{
    static const uint8_t bytes[JD_WIRE_TRACE_PART + 1];
    if (request->message.body_case == JD__MESSAGE__BODY_TRACE_OF) {
        jd__trace_of__init(&request->body.trace_of);
        request->body.trace_of.process = fuzz_byte(input) % 5;
        request->body.trace_of.place = fuzz_byte(input) % 4;
        request->body.trace_of.offset = (uint64_t)take_number(input);
        return;
    }
    jd__trace_part__init(&request->body.trace_part);
    request->body.trace_part.number = fuzz_byte(input) % 8;
    request->body.trace_part.status = fuzz_byte(input) % 3;
    request->body.trace_part.text = (char *)take_text(input);
    request->body.trace_part.size = (uint64_t)take_number(input);
    size_t size = fuzz_byte(input);
    request->body.trace_part.bytes =
        jd__wire_bytes(bytes, size == 255 ? sizeof bytes : size);
}

/* Those that have nothing in them, or one number. */
static void fill_small(struct fuzz_input *input, struct request *request)
{
    switch (request->message.body_case) {
    case JD__MESSAGE__BODY_JOIN:
        jd__join__init(&request->body.join);
        break;
    case JD__MESSAGE__BODY_LEAVE:
        jd__leave__init(&request->body.leave);
        request->body.leave.at_once = fuzz_byte(input) % 2;
        break;
    case JD__MESSAGE__BODY_LIVE:
        jd__live__init(&request->body.live);
        break;
    case JD__MESSAGE__BODY_PREEMPTED:
        jd__preempted__init(&request->body.preempted);
        break;
    case JD__MESSAGE__BODY_ACKNOWLEDGE:
        jd__acknowledge__init(&request->body.acknowledge);
        request->body.acknowledge.round = fuzz_byte(input) % 4;
        break;
    case JD__MESSAGE__BODY_INQUIRY:
        jd__inquiry__init(&request->body.inquiry);
        request->body.inquiry.wait = fuzz_byte(input) % 8;
        break;
    case JD__MESSAGE__BODY_WITHDRAW:
        jd__withdraw__init(&request->body.withdraw);
        request->body.withdraw.id = fuzz_byte(input) % 8;
        break;
    case JD__MESSAGE__BODY_BLOCKED:
        fill_blocked(input, request);
        break;
    case JD__MESSAGE__BODY_SENT:
        jd__sent__init(&request->body.sent);
        request->body.sent.look = fuzz_byte(input) % 8;
        request->body.sent.messages = fuzz_byte(input) % 4;
        break;
    case JD__MESSAGE__BODY_STACK_OF:
        jd__stack_of__init(&request->body.stack_of);
        request->body.stack_of.process = fuzz_byte(input) % 5;
        break;
    case JD__MESSAGE__BODY_STACK:
        jd__stack__init(&request->body.stack);
        request->body.stack.number = fuzz_byte(input) % 8;
        request->body.stack.status = fuzz_byte(input) % 3;
        request->body.stack.text = (char *)take_text(input);
        break;
    case JD__MESSAGE__BODY_STACK_SHOWN:
        jd__stack_shown__init(&request->body.stack_shown);
        request->body.stack_shown.process = fuzz_byte(input) % 5;
        break;
    case JD__MESSAGE__BODY_SITE_NAMED:
        jd__site_named__init(&request->body.site_named);
        request->body.site_named.site = fuzz_byte(input) % 4;
        request->body.site_named.text = (char *)take_text(input);
        break;
    default:
        jd__armed__init(&request->body.armed);
    }
}

static void fill_body(struct fuzz_input *input, struct request *request)
{
    switch (request->message.body_case) {
    case JD__MESSAGE__BODY_HEARTBEAT:
        fill_heartbeat(input, request);
        break;
    case JD__MESSAGE__BODY_SET:
    case JD__MESSAGE__BODY_GET:
    case JD__MESSAGE__BODY_LIST:
    case JD__MESSAGE__BODY_DELETE:
    case JD__MESSAGE__BODY_INCREMENT:
        fill_store(input, request);
        break;
    case JD__MESSAGE__BODY_ARRIVE:
        fill_arrive(input, request);
        break;
    case JD__MESSAGE__BODY_CANCEL:
        jd__cancel__init(&request->body.cancel);
        request->body.cancel.barrier = take_key(input);
        break;
    case JD__MESSAGE__BODY_REPORT:
        fill_report(input, request);
        break;
    case JD__MESSAGE__BODY_STEP:
        fill_step(input, request);
        break;
    case JD__MESSAGE__BODY_TRACE_OF:
    case JD__MESSAGE__BODY_TRACE_PART:
        fill_trace(input, request);
        break;
    default:
        fill_small(input, request);
    }
}

void fuzz_request(struct fuzz_input *input, struct request *request)
{
    unsigned first = JD__MESSAGE__BODY_HEARTBEAT;
    unsigned count = JD__MESSAGE__BODY_SITE_NAMED - first + 1;
    memset(request, 0, sizeof *request);
    jd__message__init(&request->message);
    request->message.body_case =
        (Jd__Message__BodyCase)(first + fuzz_byte(input) % count);
    request->message.timeout_ms = take_timeout(input);
    /* One union of pointers; all bodies begin at the same place. */
    request->message.heartbeat = &request->body.heartbeat;
    fill_body(input, request);
}
