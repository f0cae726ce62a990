/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_transfer.c - sends and receives between two members.
 *
 * Both ends of a transfer announce it to the other, with its count and type:
 * the k-th send that a announces to b is that of the k-th receive that b
 * announces to a. Short data comes with the announcement. Long data follows
 * when the ends are known to agree, behind a message that says so, because an
 * announcement of a later call may come before it. What comes before it is
 * asked for is kept. A receive of any size announces its capacity, and how much
 * comes is what the send announces.
 */
#include "collectives/check/any_size.h"
#include "collectives/cpu/inter/inter_private.h"
#include "collectives/cpu/inter/inter_result.h"
#include "collectives/platform/transfer_pair.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum kind { SEND, RECEIVE };

/* What fits into one goes at once over most networks. */
#define MESSAGE 2048
struct message {
    struct jd_inter_head head;
    char data[MESSAGE - sizeof(struct jd_inter_head)];
};
#define HEAD offsetof(struct message, data)
#define SHORT (MESSAGE - HEAD)

/* What may come in a message's place: a collective's result, which is longer,
 * and which MPI would not deliver into less. Memory that nothing comes to is
 * never touched. */
union incoming {
    struct message message;
    char result[sizeof(struct jd_inter_result) + 16 + JD_INTER_BRING_LONE];
};

/* Announced by a member, and not asked for yet. */
struct jd_inter_early {
    struct jd_inter_early *next; /* that came later */
    int member;
    struct message message;
};

enum state { UNMATCHED, AGREED, MOVING, DONE };

/* One transfer of the present call. */
struct transfer {
    const struct jd_transfer *asked;
    enum kind kind;
    enum state state;
    size_t count; /* elements; of any size: the capacity, until it is matched */
    size_t moved;
    size_t piece; /* that is under way */
    struct message announcement;
    uint64_t data_follows;
};

/* The requests of a transfer, beside those of each peer's next message. */
enum { ANNOUNCING, PREPARING, MOVING_DATA, REQUESTS };

/* The present call, and memory that stays for the next. */
struct jd_transfers {
    struct jd_comm *comm;
    int capacity, count;
    struct transfer *transfers;
    int *peers, num_peers;     /* the members at the other ends, each once */
    union incoming *messages;  /* of each peer, the next */
    MPI_Request *requests;     /* REQUESTS of each transfer; of each peer */
    struct jd_wait_end *ends;  /* their other ones */
    jd_status status;          /* INVALID_ARGUMENT where two ends differ */
    struct jd_transfers *next; /* of those that are kept for MPI */
};

/* MPI may still write into the memory of those that failed. */
static _Atomic(struct jd_transfers *) kept;

static void free_transfers(struct jd_transfers *call)
{
    if (!call)
        return;
    free(call->transfers);
    free(call->peers);
    free(call->messages);
    free(call->requests);
    free(call->ends);
    free(call);
}

void jd__inter_free_transfers(struct jd_comm *comm)
{
    struct jd_inter *inter = comm->inter;
    while (inter->early) {
        struct jd_inter_early *early = inter->early;
        inter->early = early->next;
        free(early);
    }
    if (inter->transfers && jd__channel_has_failed(comm->wire))
        inter->transfers->next = atomic_exchange(&kept, inter->transfers);
    else
        free_transfers(inter->transfers);
}

static struct jd_transfers *make_transfers(struct jd_comm *comm, int count)
{
    size_t n = (size_t)count, requests = (REQUESTS + 1) * n;
    struct jd_transfers *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->comm = comm;
    call->capacity = count;
    call->transfers = calloc(n, sizeof *call->transfers);
    call->peers = calloc(n, sizeof *call->peers);
    call->messages = calloc(n, sizeof *call->messages);
    call->requests = calloc(requests, sizeof *call->requests);
    call->ends = calloc(requests, sizeof *call->ends);
    if (call->transfers && call->peers && call->messages && call->requests &&
        call->ends)
        return call;
    free_transfers(call);
    return NULL;
}

/* Memory for so many transfers. */
static bool make_room(struct jd_comm *comm, int count)
{
    struct jd_inter *inter = comm->inter;
    if (inter->transfers && inter->transfers->capacity >= count)
        return true;
    struct jd_transfers *larger = make_transfers(comm, 2 * count);
    if (!larger)
        return false;
    free_transfers(inter->transfers);
    inter->transfers = larger;
    return true;
}

/* The number of a member among the peers. */
static int peer_of(const struct jd_transfers *call, int member)
{
    int i = 0;
    while (i < call->num_peers && call->peers[i] != member)
        i++;
    return i;
}

static size_t bytes_of(const struct transfer *t)
{
    return t->count * jd_dtype_size(t->asked->call.dtype);
}

static MPI_Request *request_of(const struct jd_transfers *call, int transfer,
                               int which)
{
    return &call->requests[transfer * REQUESTS + which];
}

static struct jd_wait_end *end_of(const struct jd_transfers *call, int transfer,
                                  int which)
{
    return &call->ends[transfer * REQUESTS + which];
}

/* The request of a peer's next message. */
static int message_index(const struct jd_transfers *call, int peer)
{
    return call->count * REQUESTS + peer;
}

/* ---- matching ----------------------------------------------------------- */

static jd_status fail_differs(const struct jd_transfers *call,
                              const struct transfer *t,
                              const struct jd_signature *theirs, int32_t tag)
{
    const struct jd_collective *own = &t->asked->call;
    char own_text[96], other_text[96];
    struct jd_signature mine = jd__inter_sign(own);
    jd__signature_print(&mine, own_text, sizeof own_text);
    jd__signature_print(theirs, other_text, sizeof other_text);
    const struct jd_transfer_pair pair = {
        .own = t->asked,
        .process = call->comm->processes[call->comm->index],
        .other = call->comm->processes[t->asked->member],
        .member = call->comm->index,
        .count = theirs->count,
        .rest = theirs->digest,
        .dtype = theirs->dtype,
        .tag = tag,
    };
    return jd_fail(
        JD_INVALID_ARGUMENT,
        "%s%s: process %d (member %d) calls %s%s, and its other end, "
        "process %d (member %d), calls %s%s; %s",
        jd__signature_activity_name(jd__transfer_activity(t->asked)),
        own->detail ? own->detail : "",
        call->comm->processes[call->comm->index], call->comm->index, own_text,
        jd__tag_text(t->asked->tag, tag).text,
        call->comm->processes[t->asked->member], t->asked->member, other_text,
        jd__tag_text(tag, t->asked->tag).text, jd__transfer_why(&pair).text);
}

static enum kind kind_of(const struct message *message)
{
    return message->head.kind == JD_INTER_SEND ? SEND : RECEIVE;
}

/* What the other end of a transfer says. */
struct other_end {
    const struct jd_signature *signature;
    int32_t tag;
    bool is_any_size;
};

static bool is_equal(const struct transfer *t, struct other_end theirs)
{
    const struct jd_collective *own = &t->asked->call;
    return theirs.signature->count == own->count &&
           theirs.signature->dtype == (uint32_t)own->dtype &&
           theirs.signature->digest == own->rest && theirs.tag == t->asked->tag;
}

static bool fits_any_size(struct jd_transfers *call, const struct transfer *t,
                          struct other_end theirs)
{
    const struct jd_comm *comm = call->comm;
    const struct jd_collective *own = &t->asked->call;
    int other = t->asked->member;
    const struct jd_any_size_end ends[] = {
        { comm->processes[comm->index], comm->index, own->count,
          (uint32_t)own->dtype, t->asked->tag },
        { comm->processes[other], other, theirs.signature->count,
          theirs.signature->dtype, theirs.tag },
    };
    bool sends = t->kind == SEND;
    if (jd__any_size_fits(&ends[!sends], &ends[sends]))
        return true;
    call->status = jd__any_size_fail(
        jd__signature_activity_name(jd__transfer_activity(t->asked)),
        own->detail, &ends[!sends], &ends[sends]);
    return false;
}

/* Whether both ends fit together; how much comes is then known. */
static bool agree_on_count(struct jd_transfers *call, struct transfer *t,
                           struct other_end theirs)
{
    if (t->asked->came || theirs.is_any_size) {
        if (!fits_any_size(call, t, theirs))
            return false;
    } else if (!is_equal(t, theirs)) {
        call->status = fail_differs(call, t, theirs.signature, theirs.tag);
        return false;
    }
    if (t->asked->came)
        *t->asked->came = t->count = theirs.signature->count;
    return true;
}

/* The other end of a transfer has announced itself. */
static void match_transfer(struct jd_transfers *call, struct transfer *t,
                           const struct message *message)
{
    const struct other_end theirs = {
        .signature = &message->head.signature,
        .tag = (int32_t)message->head.tag,
        .is_any_size = message->head.kind == JD_INTER_RECEIVE_ANY_SIZE,
    };
    t->state = DONE;
    if (!agree_on_count(call, t, theirs))
        return;
    if (bytes_of(t) > SHORT)
        t->state = AGREED;
    else if (t->kind == RECEIVE && bytes_of(t))
        memcpy(t->asked->call.out, message->data, bytes_of(t));
}

/* The first transfer with a member in that state, or NULL. */
static struct transfer *find_transfer(const struct jd_transfers *call,
                                      int member, enum kind kind,
                                      enum state state)
{
    for (int i = 0; i < call->count; i++) {
        struct transfer *t = &call->transfers[i];
        if (t->asked->member == member && t->kind == kind && t->state == state)
            return t;
    }
    return NULL;
}

static void match_early(struct jd_transfers *call, struct transfer *t)
{
    enum kind wanted = t->kind == SEND ? RECEIVE : SEND;
    struct jd_inter_early **at = &call->comm->inter->early, *early;
    while (*at && ((*at)->member != t->asked->member ||
                   kind_of(&(*at)->message) != wanted))
        at = &(*at)->next;
    early = *at;
    if (!early)
        return;
    *at = early->next;
    match_transfer(call, t, &early->message);
    free(early);
}

static jd_status keep_message(struct jd_transfers *call, int peer)
{
    struct jd_inter_early **last = &call->comm->inter->early;
    struct jd_inter_early *early = calloc(1, sizeof *early);
    if (!early)
        return jd_fail(JD_INTERNAL,
                       "%s: no memory to keep what process %d announced",
                       jd__channel_operation(call->comm->wire),
                       call->comm->processes[call->peers[peer]]);
    early->member = call->peers[peer];
    early->message = call->messages[peer].message;
    while (*last)
        last = &(*last)->next;
    *last = early;
    return JD_OK;
}

static jd_status fail_half(const struct jd_transfers *call)
{
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: member %d sends to itself what it does not receive in "
                   "the same group, or the other way round",
                   jd__channel_operation(call->comm->wire), call->comm->index);
}

/* Transfers with this member itself, both ends of each. */
static void match_self(struct jd_transfers *call)
{
    int self = call->comm->index;
    for (;;) {
        struct transfer *from = find_transfer(call, self, SEND, UNMATCHED);
        struct transfer *to = find_transfer(call, self, RECEIVE, UNMATCHED);
        if (!from && !to)
            return;
        if (from)
            from->state = DONE;
        if (to)
            to->state = DONE;
        if (!from || !to) {
            call->status = fail_half(call);
            continue;
        }
        const struct jd_collective *in = &from->asked->call;
        const struct jd_collective *out = &to->asked->call;
        struct jd_signature signature = jd__inter_sign(in);
        const struct other_end theirs = { .signature = &signature,
                                          .tag = from->asked->tag };
        if (agree_on_count(call, to, theirs) && bytes_of(to))
            memmove(out->out, in->in, bytes_of(to));
    }
}

/* ---- moving ------------------------------------------------------------- */

static enum jd_inter_kind announced_kind(const struct transfer *t)
{
    if (t->kind == SEND)
        return JD_INTER_SEND;
    return t->asked->came ? JD_INTER_RECEIVE_ANY_SIZE : JD_INTER_RECEIVE;
}

static jd_status announce_transfer(struct jd_transfers *call, int index)
{
    struct transfer *t = &call->transfers[index];
    size_t bytes = t->kind == SEND && bytes_of(t) <= SHORT ? bytes_of(t) : 0;
    t->announcement.head.kind = announced_kind(t);
    t->announcement.head.tag = t->asked->tag;
    t->announcement.head.signature = jd__inter_sign(&t->asked->call);
    if (bytes)
        memcpy(t->announcement.data, t->asked->call.in, bytes);
    return jd__channel_start_send(
        call->comm->wire, t->asked->member, &t->announcement, HEAD + bytes,
        request_of(call, index, ANNOUNCING), end_of(call, index, ANNOUNCING));
}

/* What is under way takes as long as it takes. */
static void note_moving(const struct jd_transfers *call)
{
    bool is_moving = false;
    for (int i = 0; i < call->count; i++)
        is_moving |= call->transfers[i].state == MOVING;
    jd__channel_next_wait(call->comm->wire)->is_moving = is_moving;
}

/* Posts the next piece of what is agreed, or ends it. */
static jd_status move_on(struct jd_transfers *call, struct transfer *t)
{
    int index = (int)(t - call->transfers);
    MPI_Request *request = request_of(call, index, MOVING_DATA);
    struct jd_wait_end *end = end_of(call, index, MOVING_DATA);
    size_t left = bytes_of(t) - t->moved;
    size_t bytes = left < JD_GROUP_MAX_MESSAGE ? left : JD_GROUP_MAX_MESSAGE;
    size_t begin = t->moved;
    t->state = left ? MOVING : DONE;
    t->moved += bytes;
    t->piece = bytes;
    note_moving(call);
    if (left == 0)
        return JD_OK;
    if (t->kind == SEND)
        return jd__channel_start_send(call->comm->wire, t->asked->member,
                                      (const char *)t->asked->call.in + begin,
                                      bytes, request, end);
    return jd__channel_start_receive(call->comm->wire, t->asked->member,
                                     (char *)t->asked->call.out + begin, bytes,
                                     request, end);
}

/* Sends begin in their order: the next one when the last is under way whole. */
static jd_status begin_sends(struct jd_transfers *call, int member)
{
    jd_status status = JD_OK;
    struct transfer *t;
    while (status == JD_OK && !find_transfer(call, member, SEND, MOVING) &&
           (t = find_transfer(call, member, SEND, AGREED))) {
        int index = (int)(t - call->transfers);
        t->data_follows = JD_INTER_DATA_FOLLOWS;
        status = jd__channel_start_send(
            call->comm->wire, member, &t->data_follows, sizeof t->data_follows,
            request_of(call, index, PREPARING), end_of(call, index, PREPARING));
        if (status == JD_OK)
            status = move_on(call, t);
    }
    return status;
}

/* Whether something is still to come from a member; while data comes, nothing
 * else does. */
static bool wants_message(const struct jd_transfers *call, int member)
{
    return !find_transfer(call, member, RECEIVE, MOVING) &&
           (find_transfer(call, member, RECEIVE, AGREED) ||
            find_transfer(call, member, RECEIVE, UNMATCHED) ||
            find_transfer(call, member, SEND, UNMATCHED));
}

static jd_status ask_for_message(struct jd_transfers *call, int peer)
{
    int index = message_index(call, peer);
    MPI_Request *request = &call->requests[index];
    int member = call->peers[peer];
    if (*request != MPI_REQUEST_NULL || !wants_message(call, member))
        return JD_OK;
    return jd__channel_start_receive(
        call->comm->wire, member, &call->messages[peer], sizeof *call->messages,
        request, &call->ends[index]);
}

/* It is a collective's, or nothing that a transfer sends: messages to and from
 * the member are out of step. */
static jd_status fail_kind(const struct jd_transfers *call, int peer)
{
    const struct jd_comm *comm = call->comm;
    struct jd_inter_ends ends = {
        .operation = jd__channel_operation(comm->wire),
        .detail = call->transfers[0].asked->call.detail,
        .from_process = comm->processes[call->peers[peer]],
        .from = call->peers[peer],
        .to_process = comm->processes[comm->index],
        .to = comm->index,
    };
    return jd__channel_note(
        comm->wire,
        jd__inter_fail_kind(&call->messages[peer].message.head, &ends));
}

/* How long a message with that head is. */
static size_t length_of(const struct message *message)
{
    const struct jd_signature *s = &message->head.signature;
    size_t bytes = s->count * jd_dtype_size((jd_dtype)s->dtype);
    if (message->head.kind == JD_INTER_DATA_FOLLOWS)
        return sizeof message->head.kind;
    return kind_of(message) == SEND && bytes <= SHORT ? HEAD + bytes : HEAD;
}

static bool is_known(const struct message *message)
{
    return jd__inter_is_transfer(message->head.kind) ||
           message->head.kind == JD_INTER_DATA_FOLLOWS;
}

static jd_status check_length(const struct jd_transfers *call, int member,
                              int came, size_t wanted)
{
    if ((size_t)came == wanted)
        return JD_OK;
    return jd__channel_note(
        call->comm->wire,
        jd__pair_fail_length(call->comm->wire, member, came, wanted));
}

static jd_status take_message(struct jd_transfers *call, int peer, int came)
{
    const struct message *message = &call->messages[peer].message;
    int member = call->peers[peer];
    struct transfer *t = find_transfer(call, member, RECEIVE, AGREED);
    jd_status status =
        is_known(message) ? check_length(call, member, came, length_of(message))
                          : JD_OK;
    if (status != JD_OK)
        return status;
    if (message->head.kind == JD_INTER_DATA_FOLLOWS && t)
        return move_on(call, t);
    if (!jd__inter_is_transfer(message->head.kind))
        return fail_kind(call, peer);
    t = find_transfer(call, member, kind_of(message) == SEND ? RECEIVE : SEND,
                      UNMATCHED);
    if (!t)
        return keep_message(call, peer);
    match_transfer(call, t, message);
    return begin_sends(call, member);
}

/* One request is done. */
static jd_status advance_request(struct jd_transfers *call, int index, int came)
{
    int first_message = message_index(call, 0), peer;
    jd_status status = JD_OK;
    if (index >= first_message) {
        peer = index - first_message;
        status = take_message(call, peer, came);
    } else {
        struct transfer *t = &call->transfers[index / REQUESTS];
        peer = peer_of(call, t->asked->member);
        bool is_data = index % REQUESTS == MOVING_DATA;
        if (is_data && t->kind == RECEIVE)
            status = check_length(call, t->asked->member, came, t->piece);
        if (is_data && status == JD_OK)
            status = move_on(call, t);
        if (status == JD_OK)
            status = begin_sends(call, t->asked->member);
    }
    return status == JD_OK ? ask_for_message(call, peer) : status;
}

/* ---- a call ------------------------------------------------------------- */

static void begin_transfers(struct jd_transfers *call,
                            const struct jd_transfer *transfers, int count)
{
    const struct jd_comm *comm = call->comm;
    call->count = count;
    call->num_peers = 0;
    call->status = JD_OK;
    for (int i = 0; i < count; i++) {
        struct transfer *t = &call->transfers[i];
        t->asked = &transfers[i];
        t->kind = transfers[i].sends ? SEND : RECEIVE;
        t->state = UNMATCHED;
        t->count = transfers[i].call.count;
        t->moved = 0;
        for (int r = 0; r < REQUESTS; r++)
            call->ends[i * REQUESTS + r] =
                jd__channel_end(comm->wire, transfers[i].member);
        if (peer_of(call, transfers[i].member) == call->num_peers)
            call->peers[call->num_peers++] = transfers[i].member;
    }
    for (int i = 0; i < call->num_peers; i++)
        call->ends[message_index(call, i)] =
            jd__channel_end(comm->wire, call->peers[i]);
    for (int i = 0; i < message_index(call, call->num_peers); i++)
        call->requests[i] = MPI_REQUEST_NULL;
}

static jd_status start_transfers(struct jd_transfers *call)
{
    jd_status status = JD_OK;
    for (int i = 0; i < call->count && status == JD_OK; i++) {
        if (call->transfers[i].state == DONE)
            continue;
        status = announce_transfer(call, i);
        match_early(call, &call->transfers[i]);
    }
    for (int i = 0; i < call->num_peers && status == JD_OK; i++) {
        status = begin_sends(call, call->peers[i]);
        if (status == JD_OK)
            status = ask_for_message(call, i);
    }
    return status;
}

static jd_status run_transfers(struct jd_transfers *call)
{
    jd_status status = start_transfers(call);
    for (int index = 0, came; status == JD_OK;) {
        status = jd__channel_wait_any(
            call->comm->wire, call->requests, call->ends,
            message_index(call, call->num_peers), &index, &came);
        if (status == JD_OK && index < 0)
            break;
        if (status == JD_OK)
            status = advance_request(call, index, came);
    }
    return status == JD_OK ? call->status : status;
}

jd_status jd__inter_transfer(struct jd_comm *comm,
                             const struct jd_transfer *transfers, int count)
{
    const char *operation =
        jd__signature_activity_name(jd__transfers_activity(transfers, count));
    if (!make_room(comm, count))
        return jd__fail_no_memory(operation,
                                  2 * (size_t)count * sizeof(struct transfer));
    struct jd_transfers *call = comm->inter->transfers;
    jd__channel_begin(comm->wire, operation, transfers[0].call.detail);
    begin_transfers(call, transfers, count);
    match_self(call);
    return jd__inter_give_up(comm, run_transfers(call));
}
