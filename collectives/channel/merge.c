/* SPDX-License-Identifier: BSD-3-Clause */
/* merge.c - how the members of a channel come to a call. */
#include "collectives/channel/merge.h"
#include "base/clock.h"
#include "base/digest.h"
#include "collectives/channel/chunks.h"
#include "collectives/channel/merge_state.h"
#include "collectives/channel/pair.h"
#include "collectives/schedule/schedule.h"
#include "runtime/mpi/lock.h"

#include <string.h>

enum {
    KIND_STATE,
    KIND_NOTIFICATION, /* of one who waits: a state follows when it has come on
                        */
    KIND_END, /* a state, and no round follows: lists of parties differ */

    MOST_ROUNDS = 34,
    MOST_MISSING = 32, /* that a notification names */
};

/* What a message begins with; the texts follow, then the records. */
struct header {
    int32_t kind;
    int32_t begin, count;                /* the parties whose records follow */
    uint16_t first_length, other_length; /* of the texts, without an end */
    uint64_t bytes;                      /* of a record */
    uint64_t list;                       /* the sender's */
    struct jd_merge_outcome outcome;
};

struct notification {
    struct header header; /* its count is that of the missing */
    int32_t missing[MOST_MISSING];
};

#define LONGEST_MESSAGE                                                        \
    (sizeof(struct header) + (size_t)2 * JD_MERGE_TEXT + JD_MERGE_PAYLOAD)

/* The channel's memory: MPI may read and write it after a failure. */
struct memory {
    struct jd_merge_state state, theirs;
    struct notification notification;
    MPI_Request told[MOST_ROUNDS];        /* notifications to later rounds */
    struct jd_wait_end ends[MOST_ROUNDS]; /* the other ones */
    unsigned char in[LONGEST_MESSAGE], out[LONGEST_MESSAGE];
    unsigned char end[LONGEST_MESSAGE]; /* while MPI may still send out */
    unsigned char records[JD_MERGE_PAYLOAD];
};

struct meet {
    struct jd_channel *channel;
    const struct jd_merge_call *call;
    struct jd_parties parties;
    struct jd_schedule schedule;
    struct memory *memory;
    struct jd_merge_state *state; /* merged so far */
    unsigned char *records;
    uint64_t list;
    bool has_records; /* they travel in the rounds */
    bool has_record;  /* it has come */
    bool is_over;
    int round;
    int came;                 /* bytes of the message in memory->in */
    int behind[MOST_MISSING]; /* as those whom this one waits for notify */
};

/* What came from the parties before these, or behind. */
static void fold_state(struct meet *m, enum jd_then then)
{
    struct jd_merge_state *theirs = &m->memory->theirs;
    if (then == JD_THEN_FOLD_ABOVE) {
        jd__merge_state_fold(m->state, theirs);
        return;
    }
    if (then == JD_THEN_FOLD_BELOW)
        jd__merge_state_fold(theirs, m->state);
    *m->state = *theirs;
}

static bool has_other_call(const struct meet *m)
{
    return m->state->outcome.other.count > 0;
}

/* ---- messages ------------------------------------------------------------ */

static size_t pack_texts(const struct jd_merge_state *state,
                         struct header *header, unsigned char *to)
{
    bool has_other = state->outcome.other.count > 0;
    size_t first = strlen(state->first_text);
    size_t other = has_other ? strlen(state->other_text) : 0;
    header->first_length = (uint16_t)first;
    header->other_length = (uint16_t)other;
    memcpy(to, state->first_text, first);
    memcpy(to + first, state->other_text, other);
    return first + other;
}

/* None of calls that differ. */
static size_t pack_records(const struct meet *m, const struct jd_blocks *blocks,
                           struct header *header, unsigned char *to)
{
    size_t bytes = m->call->bytes;
    header->bytes = bytes;
    if (has_other_call(m) || !m->has_records ||
        (m->call->is_of_one && !m->has_record))
        return 0;
    header->begin = m->call->is_of_one ? 0 : blocks->first;
    header->count = m->call->is_of_one ? 1 : blocks->count;
    size_t length = (size_t)header->count * bytes;
    if (length)
        memcpy(to, m->records + (size_t)header->begin * bytes, length);
    return length;
}

/* The message's length. */
static size_t pack_state(struct meet *m, int kind,
                         const struct jd_blocks *blocks, unsigned char *to)
{
    struct header header = { .kind = kind,
                             .list = m->list,
                             .outcome = m->state->outcome };
    size_t at = sizeof header;
    at += pack_texts(m->state, &header, to + at);
    at += pack_records(m, blocks, &header, to + at);
    memcpy(to, &header, sizeof header);
    return at;
}

static jd_status fail_stray(const struct meet *m, int from)
{
    return jd_fail(JD_ABORTED,
                   "%s: a message of another call came from process %d, as an "
                   "earlier one failed between it and process %d; the job "
                   "should end",
                   jd__channel_operation(m->channel), from,
                   jd__channel_runtime(m->channel)->world.index);
}

static int process_of(const struct meet *m, int party)
{
    return jd__channel_process(m->channel,
                               jd__channel_party(&m->parties, party));
}

static jd_status take_records(struct meet *m, const struct jd_round *round,
                              const struct header *header,
                              const unsigned char *from)
{
    size_t bytes = m->call->bytes;
    bool is_of_one = m->call->is_of_one;
    if (has_other_call(m) || !m->has_records || (is_of_one && !header->count))
        return JD_OK;
    int begin = is_of_one ? 0 : round->in.first;
    int count = is_of_one ? 1 : round->in.count;
    if (header->bytes != bytes || header->begin != begin ||
        header->count != count)
        return fail_stray(m, process_of(m, round->from));
    if (bytes)
        memcpy(m->records + (size_t)begin * bytes, from, (size_t)count * bytes);
    m->has_record = is_of_one;
    return JD_OK;
}

/* Of another list than this one's is who sent the message, or one of whom it
 * speaks. */
static bool has_other_list(const struct meet *m, const struct header *header)
{
    const struct jd_merge_outcome *outcome = &header->outcome;
    return header->list != m->list ||
           (header->kind == KIND_STATE &&
            (outcome->first.list != m->list ||
             (outcome->other.count && outcome->other.list != m->list)));
}

static void read_header(const struct meet *m, struct header *header)
{
    memcpy(header, m->memory->in, sizeof *header);
}

/* Whether as much has come as a message must have, of which the header says
 * the rest. */
static jd_status check_length(const struct meet *m, int member)
{
    struct header header;
    size_t wanted = sizeof header;
    if ((size_t)m->came < wanted)
        return jd__pair_fail_length(m->channel, member, m->came, wanted);
    read_header(m, &header);
    if (header.kind == KIND_NOTIFICATION)
        wanted = sizeof(struct notification);
    else
        wanted += (size_t)header.first_length + header.other_length +
                  (size_t)header.count * header.bytes;
    return (size_t)m->came == wanted
               ? JD_OK
               : jd__pair_fail_length(m->channel, member, m->came, wanted);
}

/* What has come is of rounds that do not fit to these. */
static bool fits_not(const struct meet *m)
{
    struct header header;
    read_header(m, &header);
    return header.kind == KIND_END || has_other_list(m, &header);
}

/* A state that has come. In rounds that do not fit together the own one is
 * kept beside it. */
static jd_status unpack_state(struct meet *m, const struct jd_round *round)
{
    struct header header;
    struct jd_merge_state *theirs = &m->memory->theirs;
    const unsigned char *at = m->memory->in + sizeof header;
    read_header(m, &header);
    if (header.first_length >= JD_MERGE_TEXT ||
        header.other_length >= JD_MERGE_TEXT)
        return fail_stray(m, process_of(m, round->from));
    theirs->outcome = header.outcome;
    jd__merge_state_set_text(theirs->first_text, at, header.first_length);
    jd__merge_state_set_text(theirs->other_text, at + header.first_length,
                             header.other_length);
    if (header.kind == KIND_END)
        fold_state(m, JD_THEN_STORE);
    else
        fold_state(m, has_other_list(m, &header) ? JD_THEN_FOLD_ABOVE
                                                 : round->then);
    return take_records(m, round, &header,
                        at + header.first_length + header.other_length);
}

/* ---- who has not come ---------------------------------------------------- */

static bool are_told(struct meet *m)
{
    int done = 0;
    jd__mpi_lock();
    int code =
        MPI_Testall(MOST_ROUNDS, m->memory->told, &done, MPI_STATUSES_IGNORE);
    jd__mpi_unlock();
    return code == MPI_SUCCESS && done;
}

/* Keeps what is to be told; false where it was told already. */
static bool renew_notification(struct notification *notification,
                               const int *missing, int count)
{
    size_t bytes;
    count = count < MOST_MISSING ? count : MOST_MISSING;
    bytes = (size_t)count * sizeof *missing;
    if (notification->header.count == count &&
        memcmp(notification->missing, missing, bytes) == 0)
        return false;
    notification->header.kind = KIND_NOTIFICATION;
    notification->header.count = count;
    memcpy(notification->missing, missing, bytes);
    return true;
}

/* Those who will get a message of a later round wait for this one. */
static void tell_waiting(struct meet *m, const int *missing, int count)
{
    struct memory *memory = m->memory;
    if (!are_told(m) ||
        !renew_notification(&memory->notification, missing, count))
        return;
    for (int k = m->round + 1; k < jd__schedule_rounds(&m->schedule); k++) {
        int to = jd__schedule_round(&m->schedule, k).to;
        if (to < 0)
            continue;
        int member = jd__channel_party(&m->parties, to);
        jd__channel_start_send(m->channel, member, &memory->notification,
                               sizeof memory->notification, &memory->told[k],
                               &memory->ends[k]);
    }
}

static void on_missing(void *arg, const int *missing, int count)
{
    struct meet *m = arg;
    const struct jd_wait *wait = jd__channel_next_wait(m->channel);
    if (wait->num_behind)
        tell_waiting(m, wait->behind, wait->num_behind);
    else
        tell_waiting(m, missing, count);
}

/* The one waited for waits itself; who waits for this one hears it too. */
static void read_notification(struct meet *m)
{
    struct jd_wait *wait = jd__channel_next_wait(m->channel);
    int processes = wait->topology->num_processes;
    struct notification notification;
    memcpy(&notification, m->memory->in, sizeof notification);
    wait->behind = m->behind;
    wait->num_behind = 0;
    for (int i = 0; i < notification.header.count && i < MOST_MISSING; i++)
        if (notification.missing[i] != wait->self &&
            notification.missing[i] >= 0 && notification.missing[i] < processes)
            m->behind[wait->num_behind++] = notification.missing[i];
    if (wait->num_behind)
        tell_waiting(m, wait->behind, wait->num_behind);
}

/* ---- rounds -------------------------------------------------------------- */

static jd_status post_receive(struct meet *m, int member, MPI_Request *request,
                              struct jd_wait_end *end)
{
    return jd__channel_start_receive(m->channel, member, m->memory->in,
                                     sizeof m->memory->in, request, end);
}

/* Until a state has come: requests are of it and of what is sent meanwhile. */
static jd_status await_state(struct meet *m, int member, MPI_Request *requests,
                             struct jd_wait_end *ends)
{
    jd_status status = JD_OK;
    int index = 1;
    while (status == JD_OK && index != 0) {
        int32_t kind;
        status = jd__channel_wait_any(m->channel, requests, ends, 2, &index,
                                      &m->came);
        if (status == JD_OK && index == 0)
            status = jd__channel_note(m->channel, check_length(m, member));
        if (status != JD_OK || index != 0)
            continue;
        memcpy(&kind, m->memory->in, sizeof kind);
        if (kind != KIND_NOTIFICATION)
            return JD_OK;
        index = 1;
        read_notification(m);
        status = post_receive(m, member, &requests[0], &ends[0]);
    }
    return status;
}

/* Sends what there is to whom the round says, and takes what comes. */
static jd_status exchange_states(struct meet *m, const struct jd_round *round)
{
    struct jd_channel *channel = m->channel;
    MPI_Request requests[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
    struct jd_wait_end ends[2] = { { 0 }, { 0 } };
    jd_status status = JD_OK;
    if (round->from >= 0) {
        int member = jd__channel_party(&m->parties, round->from);
        status = post_receive(m, member, &requests[0], &ends[0]);
    }
    if (status == JD_OK && round->to >= 0) {
        int member = jd__channel_party(&m->parties, round->to);
        size_t bytes = pack_state(m, KIND_STATE, &round->out, m->memory->out);
        status = jd__channel_start_send(channel, member, m->memory->out, bytes,
                                        &requests[1], &ends[1]);
    }
    if (status == JD_OK && round->from >= 0)
        status = await_state(m, jd__channel_party(&m->parties, round->from),
                             requests, ends);
    if (status != JD_OK || (round->from >= 0 && fits_not(m)))
        return status; /* what was sent is perhaps waited for by nobody */
    return jd__channel_wait_for(channel, requests, ends, 2, NULL);
}

/* Those of another list have other rounds: whoever hears of that tells all of
 * its own, as each of them may wait for it, and waits for no message itself. */
static jd_status end_rounds(struct meet *m)
{
    struct jd_blocks none = { 0, 0, 0 };
    size_t bytes = pack_state(m, KIND_END, &none, m->memory->end);
    jd_status status = JD_OK;
    for (int i = 0; status == JD_OK && i < m->parties.count; i++) {
        MPI_Request request;
        struct jd_wait_end end;
        if (i != m->parties.self)
            status = jd__channel_start_send(
                m->channel, jd__channel_party(&m->parties, i), m->memory->end,
                bytes, &request, &end);
    }
    m->is_over = true;
    jd__channel_note(m->channel, JD_ABORTED);
    return status;
}

static jd_status go_round(struct meet *m, int k)
{
    struct jd_round round = jd__schedule_round(&m->schedule, k);
    struct jd_wait *wait = jd__channel_next_wait(m->channel);
    m->round = k;
    wait->num_behind = 0;
    m->memory->notification.header.count = 0;
    if (round.to < 0 && round.from < 0)
        return JD_OK;
    jd_status status = exchange_states(m, &round);
    if (status != JD_OK || round.from < 0)
        return status;
    status = jd__channel_note(m->channel, unpack_state(m, &round));
    return status == JD_OK && fits_not(m) ? end_rounds(m) : status;
}

/* One deadline for all rounds, and for notifications of who is missing. */
static jd_status go_rounds(struct meet *m)
{
    struct jd_wait *wait = jd__channel_next_wait(m->channel);
    int rounds = jd__schedule_rounds(&m->schedule);
    double begin = wait->begin;
    jd_status status = JD_OK;
    wait->begin = begin > 0 ? begin : jd__clock_now();
    wait->on_missing = on_missing;
    wait->arg = m;
    for (int k = 0; k < rounds && status == JD_OK && !m->is_over; k++)
        status = go_round(m, k);
    wait->on_missing = NULL;
    wait->num_behind = 0;
    if (status == JD_OK && !m->is_over)
        status = jd__channel_wait_for(m->channel, m->memory->told,
                                      m->memory->ends, MOST_ROUNDS, NULL);
    wait->begin = begin;
    return status;
}

/* ---- meeting ------------------------------------------------------------- */

static uint64_t digest_list(const struct meet *m)
{
    uint64_t digest = 0;
    if (!m->parties.members)
        return jd__channel_digest(m->channel);
    for (int i = 0; i < m->parties.count; i++) {
        int process = process_of(m, i);
        digest = jd__digest(digest, &process, sizeof process);
    }
    return digest;
}

static void begin_records(struct meet *m)
{
    const struct jd_merge_call *call = m->call;
    size_t place = call->is_of_one ? 0 : (size_t)m->parties.self * call->bytes;
    size_t all =
        call->is_of_one ? call->bytes : (size_t)m->parties.count * call->bytes;
    m->records = call->all ? call->all : m->memory->records;
    m->has_records = call->bytes && all <= JD_MERGE_PAYLOAD;
    m->has_record = call->is_of_one && call->record;
    if (m->has_records && call->record)
        memcpy(m->records + place, call->record, call->bytes);
    else if (m->has_records) /* it comes with a failure, or gets what one gives
                              */
        memset(m->records + place, 0, call->bytes);
}

static jd_status begin_meet(struct meet *m)
{
    m->memory = jd__channel_merge_scratch(m->channel, sizeof *m->memory);
    if (!m->memory)
        return jd__fail_no_memory(jd__channel_operation(m->channel),
                                  sizeof *m->memory);
    for (int i = 0; i < MOST_ROUNDS; i++) {
        m->memory->told[i] = MPI_REQUEST_NULL;
        m->memory->ends[i] = (struct jd_wait_end){ 0 };
    }
    memset(&m->memory->notification, 0, sizeof m->memory->notification);
    m->state = &m->memory->state;
    m->schedule = (struct jd_schedule){ .kind = JD_SCHEDULE_MERGE,
                                        .parties = m->parties.count,
                                        .self = m->parties.self };
    m->list = digest_list(m);
    jd__merge_state_begin(
        m->state, jd__channel_runtime(m->channel)->world.index, m->list,
        &m->call->signature, m->call->text ? m->call->text : "");
    begin_records(m);
    return JD_OK;
}

static void read_outcome(const struct meet *m, struct jd_merge *ret_merge)
{
    const struct jd_merge_outcome *outcome = &m->state->outcome;
    *ret_merge = (struct jd_merge){
        .first = outcome->first,
        .other = outcome->other,
        .failed = outcome->failed,
        .status = outcome->status,
        .first_text = m->state->first_text,
        .other_text = m->state->other_text,
        .records = m->records,
        .bytes = m->call->is_of_one ? 0 : m->call->bytes,
    };
}

/* Without a message, and without memory. */
static void meet_alone(const struct meet *m, struct jd_merge *ret_merge)
{
    const struct jd_merge_call *call = m->call;
    int self = jd__channel_runtime(m->channel)->world.index;
    *ret_merge = (struct jd_merge){
        .first = { .process = self, .count = 1, .signature = call->signature },
        .failed = self,
        .status = call->signature.status,
        .first_text = call->text ? call->text : "",
        .other_text = "",
        .records = call->all ? call->all : call->record,
        .bytes = call->is_of_one ? 0 : call->bytes,
    };
    if (call->all && call->record)
        memcpy(call->all, call->record, call->bytes);
}

/* What does not fit in the rounds, once all have said the same. */
static jd_status gather_rest(const struct meet *m)
{
    const struct jd_merge_call *call = m->call;
    if (m->has_records || !call->bytes || has_other_call(m) ||
        m->state->outcome.status != JD_OK)
        return JD_OK;
    return jd__chunks_all_gather_among(m->channel, &m->parties, call->record,
                                       call->all, call->bytes);
}

jd_status jd__merge_meet(struct jd_channel *channel,
                         const struct jd_merge_call *call,
                         struct jd_merge *ret_merge)
{
    struct meet m = { .channel = channel, .call = call };
    m.parties = call->parties ? *call->parties : jd__channel_parties(channel);
    if (m.parties.count == 1) {
        meet_alone(&m, ret_merge);
        return JD_OK;
    }
    jd_status status = begin_meet(&m);
    if (status == JD_OK)
        status = go_rounds(&m);
    if (status == JD_OK)
        status = gather_rest(&m);
    if (status == JD_OK)
        read_outcome(&m, ret_merge);
    return status;
}
