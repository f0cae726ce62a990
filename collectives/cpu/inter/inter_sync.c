/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_sync.c - the beginning of each collective between groups: each group
 * meets, the groups' leaders merge what was said there and what was brought, in
 * the rounds of one schedule, and each leader publishes what came of it (of
 * data that are for itself alone only that they came).
 *
 * A leader's bounce memory begins with that outcome. It is written after its
 * group has met, when nobody reads the last one any more.
 */
#include "collectives/cpu/inter/inter_private.h"
#include "collectives/cpu/shm/shm_private.h"
#include "collectives/platform/mismatch.h"
#include "runtime/recorder/recorder.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A member's payload, and where the bytes that it brings begin in it. */
struct told {
    uint64_t in, out; /* jd__shm_place() */
    uint64_t hides;   /* in, once the sync is over */
};
static_assert(sizeof(struct told) + JD_INTER_BRING <= JD_SHM_PAYLOAD,
              "what comes along fits into the payload");

/*
 * What leaders merge. What all bring lies group by group, so that what is known
 * of it is one range; a message is the result right in front of that range, in
 * the place of what is not known yet.
 */
#define HEAD JD_INTER_RESULT_SPACE
struct jd_inter_pass {
    struct jd_inter_result said;
    const char *data; /* behind the result that has come */
    _Alignas(64) char message[];
};

/* What came of it. */
struct outcome {
    _Atomic uint64_t broken; /* the sync in which the leader failed */
    jd_status failure;
    char sentence[900];
    int32_t odd, other, failed, status; /* -1: nobody */
    struct jd_signature odd_signature, other_signature;
    uint32_t is_seen;
    _Alignas(16) char data[JD_INTER_BRING_ALL];
};
static_assert(sizeof(struct outcome) <= JD_SHM_BOUNCE_ALONE,
              "the outcome has its place");

static bool are_two_apart(const struct jd_comm *comm)
{
    return comm->size == 2 && comm->num_groups == 2;
}

/* What they bring may be longer: by fours as many bytes are moved as in pieces,
 * in half the messages. From 256 KiB on it would be slower. */
static bool are_lone_in_crowd(const struct jd_comm *comm)
{
    return jd__inter_is_lone(comm) && jd__inter_is_crowd(comm);
}

static size_t message_size(const struct jd_comm *comm)
{
    bool are_lone = are_two_apart(comm) || are_lone_in_crowd(comm);
    return HEAD + (are_lone ? JD_INTER_BRING_LONE : JD_INTER_BRING_ALL);
}

/* A multiple of its alignment. */
size_t jd__inter_pass_size(const struct jd_comm *comm)
{
    const size_t alignment = _Alignof(struct jd_inter_pass);
    size_t bytes = offsetof(struct jd_inter_pass, message) + message_size(comm);
    return (bytes + alignment - 1) / alignment * alignment;
}

static struct outcome *outcome_of(const struct jd_comm *comm)
{
    return (struct outcome *)(void *)jd__shm_bounce(comm->group, 0);
}

static const struct told *told_by(const struct jd_comm *comm, int place)
{
    return jd__shm_payload(comm->group, place);
}

/* What a member of this group brings. */
static const char *brought_by(const struct jd_comm *comm,
                              const struct jd_inter_sync *sync, int place)
{
    if (place == comm->inter->place && sync->bytes)
        return sync->call->in;
    if (!sync->offers)
        return (const char *)(told_by(comm, place) + 1);
    return jd__shm_at(comm->group, place, told_by(comm, place)->in,
                      sync->bytes);
}

/* What came of what was brought; of members that are alone, which publish
 * nothing, where the last message came. */
static char *result_of(const struct jd_comm *comm)
{
    return are_lone_in_crowd(comm) ? comm->inter->other->message
                                   : outcome_of(comm)->data;
}

const char *jd__inter_brought(const struct jd_comm *comm)
{
    return result_of(comm);
}

/* What each brings stays where it came. */
static bool stays_apart(const struct jd_comm *comm,
                        const struct jd_inter_sync *sync)
{
    return are_two_apart(comm) &&
           (sync->brings == JD_BRING_PIECE ||
            (sync->brings == JD_BRING_ALL && sync->takes_each));
}

const char *jd__inter_brought_by(const struct jd_comm *comm,
                                 const struct jd_inter_sync *sync, int member)
{
    const struct jd_inter *inter = comm->inter;
    size_t begin = (size_t)member * sync->bytes;
    if (!stays_apart(comm, sync))
        return jd__inter_brought(comm) + begin;
    return member == comm->index
               ? inter->own->message + HEAD +
                     (size_t)inter->begins[inter->group] * sync->bytes
               : inter->other->data;
}

bool jd__inter_all_seen(const struct jd_comm *comm)
{
    return outcome_of(comm)->is_seen;
}

char *jd__inter_shared_in(const struct jd_comm *comm, int place, size_t bytes)
{
    const struct told *told = told_by(comm, place);
    return told->hides ? NULL : jd__shm_at(comm->group, place, told->in, bytes);
}

char *jd__inter_in_of(const struct jd_comm *comm,
                      const struct jd_collective *call, int place, size_t bytes)
{
    return place == comm->inter->place
               ? (char *)call->in
               : jd__inter_shared_in(comm, place, bytes);
}

char *jd__inter_out_of(const struct jd_comm *comm,
                       const struct jd_collective *call, int place,
                       size_t bytes)
{
    if (place == comm->inter->place)
        return call->out;
    return jd__shm_at(comm->group, place, told_by(comm, place)->out, bytes);
}

char *jd__inter_bounce(const struct jd_comm *comm, int place)
{
    return jd__shm_bounce(comm->group, place) +
           (JD_SHM_BOUNCE - JD_INTER_BOUNCE);
}

/* How long what leaders tell each other may become. */
static size_t brought_bytes(const struct jd_comm *comm, jd_dtype dtype,
                            enum jd_bringing brings, size_t bytes)
{
    if (brings == JD_BRING_ALL)
        return bytes * (size_t)comm->size;
    if (brings == JD_BRING_SOURCE || brings == JD_BRING_PIECE)
        return bytes;
    return bytes / jd_dtype_size(dtype) * jd_dtype_size(jd__fold_wide(dtype));
}

/* Two, apart, send half of what both bring, at once. Who is alone publishes
 * nothing. */
static size_t most_brought(const struct jd_comm *comm,
                           const struct jd_inter_sync *sync,
                           enum jd_bringing brings)
{
    bool is_cut =
        brings == JD_BRING_ALL && sync->takes_each && are_two_apart(comm);
    return is_cut || are_lone_in_crowd(comm) ? JD_INTER_BRING_LONE
                                             : JD_INTER_BRING_ALL;
}

bool jd__inter_bring(const struct jd_comm *comm, struct jd_inter_sync *sync,
                     enum jd_bringing brings, size_t bytes)
{
    size_t most = most_brought(comm, sync, brings);
    bool fits = bytes <= most &&
                brought_bytes(comm, sync->call->dtype, brings, bytes) <= most;
    sync->bytes = bytes;
    sync->brings = fits ? brings : JD_BRING_NOTHING;
    sync->offers = fits && bytes > JD_INTER_BRING;
    return fits && !sync->offers;
}

/* With the result in front of it it goes at once. */
bool jd__inter_bring_piece(const struct jd_comm *comm,
                           struct jd_inter_sync *sync, struct jd_strided piece)
{
    size_t bytes = jd__strided_bytes(&piece);
    bool fits = are_two_apart(comm) && bytes <= JD_GROUP_EAGER;
    if (!fits)
        return false;
    sync->bytes = bytes;
    sync->brings = JD_BRING_PIECE;
    sync->piece = piece;
    return true;
}

void *jd__inter_scratch(struct jd_comm *comm, struct jd_inter_sync *sync,
                        size_t bytes)
{
    void *scratch = jd__channel_scratch(comm->wire, bytes);
    if (!scratch)
        sync->signature.status = jd__fail_no_memory(
            jd__signature_activity_name(sync->call->activity), bytes);
    return scratch;
}

jd_status jd__inter_give_up(struct jd_comm *comm, jd_status status)
{
    bool goes_on = status == JD_OK || status == JD_INVALID_ARGUMENT ||
                   status == JD_RESOURCE_EXHAUSTED;
    if (!goes_on)
        jd__shm_revoke(comm->group);
    return status;
}

jd_status jd__inter_break(struct jd_comm *comm, jd_status status)
{
    return jd__shm_let_go(comm->group, status);
}

int jd__inter_failed(const struct jd_comm *comm)
{
    const struct outcome *outcome = outcome_of(comm);
    return outcome->odd < 0 ? outcome->failed : -1;
}

bool jd__inter_has_come(const struct jd_comm *comm,
                        const struct jd_inter_sync *sync)
{
    return sync->brings != JD_BRING_NOTHING &&
           (!sync->offers || jd__inter_all_seen(comm));
}

/* ---- in a group ---------------------------------------------------------- */

static bool is_alone(const struct jd_comm *comm)
{
    return jd__inter_group_size(comm->inter, comm->inter->group) == 1;
}

/* Whether this member's bytes are in what it tells its group, if there are
 * others in it. */
static bool tells_bytes(const struct jd_comm *comm,
                        const struct jd_inter_sync *sync)
{
    return !is_alone(comm) && sync->brings != JD_BRING_NOTHING && sync->bytes &&
           !sync->offers && sync->brings != JD_BRING_PIECE &&
           (sync->brings != JD_BRING_SOURCE ||
            sync->signature.source == comm->index);
}

static jd_status meet_group(struct jd_comm *comm,
                            const struct jd_inter_sync *sync)
{
    const struct jd_collective *call = sync->call;
    char *payload = jd__shm_payload_space(comm->group);
    struct told told = {
        .in = jd__shm_place(comm->group, call->in, sync->in_bytes),
        .out = jd__shm_place(comm->group, call->out, sync->out_bytes),
        .hides = sync->hides,
    };
    bool brings = tells_bytes(comm, sync);
    size_t bytes = sizeof told + (brings ? sync->bytes : 0);
    memcpy(payload, &told, sizeof told);
    if (is_alone(comm))
        return jd__shm_meet_alone(comm->group);
    if (brings)
        memcpy(payload + sizeof told, call->in, sync->bytes);
    return jd__shm_meet(comm->group, &sync->signature, payload, bytes);
}

/* Of one alone nobody else needs to see anything. */
static bool group_is_seen(const struct jd_comm *comm,
                          const struct jd_inter_sync *sync)
{
    const struct jd_inter *inter = comm->inter;
    int source = sync->signature.source;
    int size = jd__inter_group_size(inter, inter->group);
    for (int i = 0; i < size && size > 1; i++) {
        int member = jd__inter_member(inter, inter->group, i);
        bool reads = sync->in_bytes && (source < 0 || source == member);
        if (reads &&
            !jd__shm_at(comm->group, i, told_by(comm, i)->in, sync->in_bytes))
            return false;
        if (sync->out_bytes &&
            !jd__shm_at(comm->group, i, told_by(comm, i)->out, sync->out_bytes))
            return false;
    }
    return true;
}

/* count > 0 */
static void fold_members(struct jd_comm *comm, const struct jd_inter_sync *sync,
                         size_t count, void *out)
{
    const struct jd_inter *inter = comm->inter;
    int size = jd__inter_group_size(inter, inter->group);
    for (int i = 0; i < size; i++)
        inter->ins[i] = brought_by(comm, sync, i);
    jd__fold_find(sync->call->dtype, sync->op,
                  JD_FOLD_PARTIAL)(&(struct jd_fold){ .ins = inter->ins,
                                                      .num_ins = size,
                                                      .outs = &out,
                                                      .num_outs = 1,
                                                      .count = count });
}

/* Folds what the group brought; the result is wide. */
static size_t fold_group(struct jd_comm *comm, const struct jd_inter_sync *sync,
                         void *out)
{
    jd_dtype dtype = sync->call->dtype;
    size_t count = sync->bytes / jd_dtype_size(dtype);
    if (count && is_alone(comm))
        jd__fold_one(dtype, sync->op, JD_FOLD_PARTIAL, sync->call->in, out,
                     count, 0);
    else if (count)
        fold_members(comm, sync, count, out);
    return count * jd_dtype_size(jd__fold_wide(dtype));
}

/* Where the bytes of some groups begin, and how many they are. */
struct range {
    size_t begin, bytes;
};

static struct range range_of(const struct jd_comm *comm,
                             const struct jd_inter_sync *sync,
                             const struct jd_blocks *groups)
{
    const int *begins = comm->inter->begins;
    size_t bytes = sync->bytes;
    if (sync->brings != JD_BRING_ALL)
        return (struct range){ 0, 0 };
    size_t begin = (size_t)begins[groups->first];
    size_t end = (size_t)begins[groups->first + groups->count];
    return (struct range){ begin * bytes, (end - begin) * bytes };
}

/* What the group has to give to the others; its length. */
static size_t collect_data(struct jd_comm *comm,
                           const struct jd_inter_sync *sync, char *data)
{
    const struct jd_inter *inter = comm->inter;
    int source = sync->signature.source;
    int size = jd__inter_group_size(inter, inter->group);
    size_t bytes = sync->bytes;
    if (sync->brings == JD_BRING_SUM)
        return fold_group(comm, sync, data);
    if (sync->brings == JD_BRING_SOURCE) {
        if (comm->groups[source] != inter->group)
            return 0;
        memcpy(data, brought_by(comm, sync, comm->places[source]), bytes);
        return bytes;
    }
    if (sync->brings == JD_BRING_NOTHING)
        return 0;
    if (sync->brings == JD_BRING_PIECE) {
        jd__strided_read(&sync->piece, 0, bytes, data);
        return bytes;
    }
    data += (size_t)inter->begins[inter->group] * bytes;
    for (int i = 0; i < size; i++)
        memcpy(data + (size_t)i * bytes, brought_by(comm, sync, i), bytes);
    return (size_t)size * bytes;
}

static void make_group_result(struct jd_comm *comm,
                              const struct jd_inter_sync *sync)
{
    const struct jd_inter *inter = comm->inter;
    struct jd_inter_result *said = &inter->own->said;
    int size = jd__inter_group_size(inter, inter->group);
    jd__inter_result_clear(said);
    for (int i = 0; i < size; i++)
        jd__inter_result_add(said,
                             is_alone(comm) ? &sync->signature
                                            : jd__shm_signature(comm->group, i),
                             jd__inter_member(inter, inter->group, i));
    bool agrees = jd__inter_result_agrees(said);
    said->is_seen = agrees && group_is_seen(comm, sync);
    bool has_data = sync->offers ? said->is_seen : agrees;
    said->bytes = has_data ? (uint32_t)collect_data(comm, sync,
                                                    inter->own->message + HEAD)
                           : 0;
}

/* ---- among leaders ------------------------------------------------------ */

/* What has come may be another call's, and its numbers become indices. */
static jd_status check_other(const struct jd_comm *comm,
                             const struct jd_inter_sync *sync, int from,
                             const struct jd_inter_result *result)
{
    int member = jd__inter_member(comm->inter, from, 0);
    struct jd_inter_ends ends = {
        .operation = jd__signature_activity_name(sync->call->activity),
        .detail = sync->call->detail,
        .from_process = comm->processes[member],
        .from = member,
        .to_process = comm->processes[comm->index],
        .to = comm->index,
    };
    return jd__inter_result_check(result, comm->size, comm->size,
                                  message_size(comm) - HEAD, &ends);
}

/* Data that came, below or above the own. */
static void fold_other(struct jd_comm *comm, const struct jd_inter_sync *sync,
                       enum jd_then then, const char *theirs)
{
    char *ours = comm->inter->own->message + HEAD;
    jd_dtype dtype = sync->call->dtype;
    bool is_below = then == JD_THEN_FOLD_BELOW;
    const void *ins[2] = { is_below ? theirs : ours, is_below ? ours : theirs };
    void *out = ours;
    size_t wide = jd_dtype_size(jd__fold_wide(dtype));
    jd__fold_find(dtype, sync->op, JD_FOLD_WIDE)(
        &(struct jd_fold){ .ins = ins,
                           .num_ins = 2,
                           .outs = &out,
                           .num_outs = 1,
                           .count = comm->inter->own->said.bytes / wide });
}

static void take_data(struct jd_comm *comm, const struct jd_inter_sync *sync,
                      const struct jd_round *round, const char *theirs,
                      uint32_t bytes)
{
    struct jd_inter_pass *own = comm->inter->own;
    struct range range = range_of(comm, sync, &round->in);
    if (!bytes)
        return;
    if (sync->brings == JD_BRING_SUM && round->then != JD_THEN_STORE) {
        fold_other(comm, sync, round->then, theirs);
        return;
    }
    if (!stays_apart(comm, sync))
        memcpy(own->message + HEAD + range.begin, theirs, bytes);
    if (sync->brings == JD_BRING_ALL && round->then != JD_THEN_STORE)
        own->said.bytes += bytes;
    else
        own->said.bytes = bytes;
}

/* Whether so many bytes are what comes in this round where all agree; of a
 * source's, all or none. */
static bool fits_round(const struct jd_comm *comm,
                       const struct jd_inter_sync *sync,
                       const struct jd_round *round, uint32_t bytes)
{
    jd_dtype dtype = sync->call->dtype;
    switch (sync->brings) {
    case JD_BRING_ALL:
        return bytes == range_of(comm, sync, &round->in).bytes;
    case JD_BRING_PIECE:
        return bytes == sync->bytes;
    case JD_BRING_SOURCE:
        return bytes == 0 || bytes == sync->bytes;
    case JD_BRING_SUM:
        return bytes == brought_bytes(comm, dtype, sync->brings, sync->bytes);
    default:
        return bytes == 0;
    }
}

static jd_status fail_bytes(const struct jd_comm *comm,
                            const struct jd_inter_sync *sync, int from,
                            uint32_t bytes)
{
    int member = jd__inter_member(comm->inter, from, 0);
    return jd_fail(JD_INTERNAL,
                   "%s: %u bytes of data came from process %d (member %d), "
                   "which is not what its call has; do all processes run the "
                   "same version of jd?",
                   jd__signature_activity_name(sync->call->activity),
                   (unsigned)bytes, comm->processes[member], member);
}

/* Of so many bytes; how many of them are data. */
static jd_status merge_said(struct jd_comm *comm,
                            const struct jd_inter_sync *sync,
                            const struct jd_round *round, int came,
                            uint32_t *ret_bytes)
{
    struct jd_inter_result *said = &comm->inter->own->said, theirs;
    const char *message = comm->inter->other->message;
    if (round->then != JD_THEN_STORE &&
        jd__inter_result_merge_like(said, message, (size_t)came, comm->size,
                                    message_size(comm) - HEAD, ret_bytes)) {
        comm->inter->other->data = message + JD_INTER_AGREED_SPACE;
        return JD_OK;
    }
    size_t head = jd__inter_result_unpack(message, &theirs);
    comm->inter->other->data = message + head;
    jd_status status = check_other(comm, sync, round->from, &theirs);
    if (status != JD_OK)
        return status;
    if ((size_t)came != head + theirs.bytes)
        return jd__pair_fail_length(
            comm->wire, jd__inter_member(comm->inter, round->from, 0), came,
            head + theirs.bytes);
    if (round->then == JD_THEN_STORE)
        *said = theirs;
    else
        jd__inter_result_merge(said, &theirs);
    *ret_bytes = theirs.bytes;
    return JD_OK;
}

/* What came of so many bytes. */
static jd_status merge_theirs(struct jd_comm *comm,
                              const struct jd_inter_sync *sync,
                              const struct jd_round *round, int came)
{
    struct jd_inter_result *said = &comm->inter->own->said;
    uint32_t bytes;
    jd_status status = merge_said(comm, sync, round, came, &bytes);
    if (status != JD_OK)
        return status;
    bool counts =
        jd__inter_result_agrees(said) && (!sync->offers || said->is_seen);
    if (counts && !fits_round(comm, sync, round, bytes))
        return fail_bytes(comm, sync, round->from, bytes);
    if (counts)
        take_data(comm, sync, round, comm->inter->other->data, bytes);
    else
        said->bytes = 0;
    return JD_OK;
}

/* The result stands in front of what is known of the data. */
static struct jd_message_end outgoing_end(struct jd_comm *comm,
                                          const struct jd_inter_sync *sync,
                                          const struct jd_round *round)
{
    struct jd_inter_pass *own = comm->inter->own;
    if (round->to < 0)
        return (struct jd_message_end){ -1, NULL, 0 };
    char *data = own->message + HEAD + range_of(comm, sync, &round->out).begin;
    char *at = jd__inter_result_pack(&own->said, data);
    return (struct jd_message_end){ jd__inter_member(comm->inter, round->to, 0),
                                    at, (size_t)(data - at) + own->said.bytes };
}

static struct jd_message_end incoming_end(struct jd_comm *comm,
                                          const struct jd_round *round)
{
    struct jd_inter_pass *other = comm->inter->other;
    if (round->from < 0)
        return (struct jd_message_end){ -1, NULL, 0 };
    return (
        struct jd_message_end){ jd__inter_member(comm->inter, round->from, 0),
                                other->message, message_size(comm) };
}

static void use_time(const struct jd_comm *comm,
                     const struct jd_inter_sync *sync)
{
    if (sync->unless_seen && !group_is_seen(comm, sync))
        sync->unless_seen(sync->arg);
}

static jd_status go_round(struct jd_comm *comm,
                          const struct jd_inter_sync *sync,
                          const struct jd_round *round, bool is_first)
{
    struct jd_pair pair;
    jd_status status =
        jd__pair_post(comm->wire, &pair, incoming_end(comm, round),
                      outgoing_end(comm, sync, round));
    if (is_first)
        use_time(comm, sync);
    if (status == JD_OK)
        status = jd__pair_finish_any(comm->wire, &pair);
    if (status == JD_OK && round->from >= 0)
        status = merge_theirs(comm, sync, round, pair.came[0]);
    return status;
}

static jd_status tell_leaders(struct jd_comm *comm,
                              const struct jd_inter_sync *sync)
{
    const struct jd_inter *inter = comm->inter;
    jd_status status = JD_OK;
    struct jd_wait *wait = jd__channel_next_wait(comm->wire);
    double first_look = 0; /* all rounds have one deadline */
    wait->first_look = &first_look;
    for (int k = 0; status == JD_OK && k < inter->num_rounds; k++)
        status = go_round(comm, sync, &inter->rounds[k], k == 0);
    wait->first_look = NULL;
    return status;
}

/* Of two calls the one that more make is right, and of equals that of the
 * lowest member. */
static void write_outcome(const struct jd_comm *comm, struct outcome *outcome)
{
    const struct jd_inter_result *said = &comm->inter->own->said;
    const struct jd_vote *first = &said->votes[0], *second = &said->votes[1];
    bool first_is_odd = second->member >= 0 && second->count > first->count;
    const struct jd_vote *odd = first_is_odd ? first : second;
    const struct jd_vote *other = first_is_odd ? second : first;
    outcome->failed = said->failed;
    outcome->status = said->status;
    outcome->is_seen = said->is_seen;
    outcome->odd = second->member < 0 ? -1 : odd->member;
    if (outcome->odd < 0)
        return;
    outcome->other = other->member;
    outcome->odd_signature = odd->signature;
    outcome->other_signature = other->signature;
}

/* What all brought, in member order. */
static void spread_all(const struct jd_comm *comm, size_t bytes, char *data)
{
    const struct jd_inter *inter = comm->inter;
    const char *brought = inter->own->message + HEAD;
    if (!inter->list)
        memcpy(data, brought, (size_t)comm->size * bytes);
    for (int i = 0; inter->list && i < comm->size; i++)
        memcpy(data + (size_t)inter->list[i] * bytes,
               brought + (size_t)i * bytes, bytes);
}

static void fold_finish(struct jd_comm *comm, const struct jd_inter_sync *sync,
                        void *out)
{
    jd_dtype dtype = sync->call->dtype;
    size_t count = sync->bytes / jd_dtype_size(dtype);
    if (count)
        jd__fold_one(dtype, sync->op, JD_FOLD_FINISH,
                     comm->inter->own->message + HEAD, out, count, comm->size);
}

static void conclude_sync(struct jd_comm *comm,
                          const struct jd_inter_sync *sync)
{
    struct outcome *outcome = outcome_of(comm);
    write_outcome(comm, outcome);
    if (outcome->odd >= 0 || outcome->failed >= 0 ||
        (sync->offers && !outcome->is_seen))
        return;
    if (sync->brings == JD_BRING_SUM)
        fold_finish(comm, sync, result_of(comm));
    else if (sync->brings == JD_BRING_ALL && !stays_apart(comm, sync))
        spread_all(comm, sync->bytes, result_of(comm));
    else if (sync->brings == JD_BRING_SOURCE)
        memcpy(result_of(comm), comm->inter->own->message + HEAD, sync->bytes);
}

/* ---- everybody ---------------------------------------------------------- */

/* Tells the group why there will be no outcome, and gives up. */
static jd_status publish_failure(struct jd_comm *comm, jd_status status)
{
    struct outcome *outcome = outcome_of(comm);
    outcome->failure = status;
    snprintf(outcome->sentence, sizeof outcome->sentence, "%s",
             jd_error_message());
    atomic_store(&outcome->broken, comm->inter->syncs);
    return jd__inter_give_up(comm, status);
}

static jd_status lead_group(struct jd_comm *comm,
                            const struct jd_inter_sync *sync)
{
    make_group_result(comm, sync);
    jd_status status = tell_leaders(comm, sync);
    if (status != JD_OK)
        return publish_failure(comm, status);
    conclude_sync(comm, sync);
    jd__shm_advance(comm->group);
    return JD_OK;
}

/* The leader knows better why there is none. */
static jd_status follow_leader(struct jd_comm *comm,
                               const struct jd_inter_sync *sync)
{
    const struct outcome *outcome = outcome_of(comm);
    use_time(comm, sync);
    jd_status status =
        jd__shm_await(comm->group, 0, jd__shm_advance(comm->group));
    if (status != JD_OK && atomic_load(&outcome->broken) == comm->inter->syncs)
        return jd_fail(outcome->failure, "%s", outcome->sentence);
    return status;
}

static jd_status fail_odd(struct jd_comm *comm,
                          const struct jd_collective *call,
                          const struct outcome *outcome)
{
    struct jd_mismatch mismatch = {
        .platform = &jd__platform_cpu,
        .comm = comm,
        .call = call,
        .processes = comm->processes,
        .size = comm->size,
        .index = comm->index,
        .odd = { outcome->odd, outcome->odd_signature },
        .other = { outcome->other, outcome->other_signature },
    };
    return jd__mismatch_fail(&mismatch);
}

static struct jd_member_text name_of(const struct jd_comm *comm, int member)
{
    return jd__member_text(
        jd__signature_name(comm->processes, comm->size, member, member));
}

static jd_status accept_outcome(struct jd_comm *comm,
                                const struct jd_inter_sync *sync)
{
    const struct outcome *outcome = outcome_of(comm);
    jd_status status = (jd_status)outcome->status;
    if (outcome->odd >= 0)
        return fail_odd(comm, sync->call, outcome);
    if (outcome->failed < 0)
        return JD_OK;
    if (outcome->failed == comm->index)
        return status;
    return jd_fail(status,
                   "%s: process %d%s came, but could not take part: %s; its "
                   "own message says more",
                   jd__signature_activity_name(sync->call->activity),
                   comm->processes[outcome->failed],
                   name_of(comm, outcome->failed).text, jd_status_name(status));
}

jd_status jd__inter_sync(struct jd_comm *comm, const struct jd_inter_sync *sync)
{
    const struct jd_collective *call = sync->call;
    const char *operation = jd__signature_activity_name(call->activity);
    comm->inter->syncs++;
    jd__shm_begin(comm->group, operation, call->detail);
    jd__channel_begin(comm->wire, operation, call->detail);
    jd__channel_next_wait(comm->wire)->is_handed_on = true;
    jd_status status = meet_group(comm, sync);
    if (status == JD_OK)
        status = comm->inter->place == 0 ? lead_group(comm, sync)
                                         : follow_leader(comm, sync);
    if (status == JD_OK)
        jd__recorder_met();
    return status == JD_OK ? accept_outcome(comm, sync) : status;
}
