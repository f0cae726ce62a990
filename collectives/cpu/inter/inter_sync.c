/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_sync.c - the beginning of each collective between groups: each group
 * meets, the groups' leaders tell each other what was said there, and each
 * leader publishes what came of it in its group.
 *
 * A leader's bounce memory begins with that verdict. It is written after its
 * group has met, when nobody reads the last one any more.
 */
#include "collectives/cpu/inter/inter_private.h"
#include "collectives/cpu/inter/inter_result.h"
#include "collectives/platform/mismatch.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A member's payload, and where the bytes that it brings begin in it. */
struct told {
    uint64_t in, out; /* jd__shm_place() */
    uint64_t hides;   /* in, once the meeting is over */
};
static_assert(sizeof(struct told) + JD_INTER_BRING <= JD_SHM_PAYLOAD,
              "what comes along fits into the payload");

/* What was said in a group, and what it brings. */
struct jd_inter_result {
    struct jd_inter_result_head said;
    _Alignas(16) char data[JD_INTER_BRING_ALL];
};
#define HEAD offsetof(struct jd_inter_result, data)

/* What came of it. */
struct verdict {
    _Atomic uint64_t broken; /* the meeting in which the leader failed */
    jd_status failure;
    char sentence[900];
    int32_t odd, other, failed, status; /* -1: nobody */
    struct jd_signature odd_signature, other_signature;
    uint32_t is_seen;
    _Alignas(16) char data[JD_INTER_BRING_ALL];
};
static_assert(sizeof(struct verdict) <= JD_SHM_BOUNCE - JD_INTER_BOUNCE,
              "the verdict has its place");

size_t jd__inter_summary_size(void)
{
    return sizeof(struct jd_inter_result);
}

static struct verdict *verdict_of(const struct jd_comm *comm)
{
    return (struct verdict *)(void *)jd__shm_bounce(comm->group, 0);
}

static const struct told *told_by(const struct jd_comm *comm, int place)
{
    return jd__shm_payload(comm->group, place);
}

/* What a member of this group brings. */
static const char *brought_by(const struct jd_comm *comm,
                              const struct jd_inter_sync *meeting, int place)
{
    if (meeting->offers)
        return jd__shm_at(comm->group, place, told_by(comm, place)->in,
                          meeting->bytes);
    return (const char *)(told_by(comm, place) + 1);
}

const char *jd__inter_brought(const struct jd_comm *comm)
{
    return verdict_of(comm)->data;
}

bool jd__inter_all_seen(const struct jd_comm *comm)
{
    return verdict_of(comm)->is_seen;
}

char *jd__inter_in_of(const struct jd_comm *comm, int place, size_t bytes)
{
    const struct told *told = told_by(comm, place);
    return told->hides ? NULL : jd__shm_at(comm->group, place, told->in, bytes);
}

char *jd__inter_out_of(const struct jd_comm *comm, int place, size_t bytes)
{
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
    if (brings == JD_BRING_SOURCE)
        return bytes;
    return bytes / jd_dtype_size(dtype) * jd_dtype_size(jd__fold_wide(dtype));
}

bool jd__inter_bring(const struct jd_comm *comm, struct jd_inter_sync *meeting,
                     enum jd_bringing brings, size_t bytes)
{
    bool fits = bytes <= JD_INTER_BRING_ALL &&
                brought_bytes(comm, meeting->call->dtype, brings, bytes) <=
                    JD_INTER_BRING_ALL;
    meeting->bytes = bytes;
    meeting->brings = fits ? brings : JD_BRING_NOTHING;
    meeting->offers = fits && bytes > JD_INTER_BRING;
    return fits && !meeting->offers;
}

void *jd__inter_scratch(struct jd_comm *comm, struct jd_inter_sync *meeting,
                        size_t bytes)
{
    void *scratch = jd__channel_scratch(comm->wire, bytes);
    if (!scratch)
        meeting->signature.status = jd__fail_no_memory(
            jd__signature_activity_name(meeting->call->activity), bytes);
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

int jd__inter_failed(const struct jd_comm *comm)
{
    const struct verdict *verdict = verdict_of(comm);
    return verdict->odd < 0 ? verdict->failed : -1;
}

bool jd__inter_has_come(const struct jd_comm *comm,
                        const struct jd_inter_sync *meeting)
{
    return meeting->brings != JD_BRING_NOTHING &&
           (!meeting->offers || jd__inter_all_seen(comm));
}

/* ---- in a group ---------------------------------------------------------- */

/* Whether this member's bytes are in what it tells its group. */
static bool tells_bytes(const struct jd_comm *comm,
                        const struct jd_inter_sync *meeting)
{
    return meeting->brings != JD_BRING_NOTHING && meeting->bytes &&
           !meeting->offers &&
           (meeting->brings != JD_BRING_SOURCE ||
            meeting->signature.source == comm->index);
}

static jd_status meet_group(struct jd_comm *comm,
                            const struct jd_inter_sync *meeting)
{
    const struct jd_collective *call = meeting->call;
    char *payload = jd__shm_payload_space(comm->group);
    struct told told = {
        .in = jd__shm_place(comm->group, call->in, meeting->in_bytes),
        .out = jd__shm_place(comm->group, call->out, meeting->out_bytes),
        .hides = meeting->hides,
    };
    bool brings = tells_bytes(comm, meeting);
    size_t bytes = sizeof told + (brings ? meeting->bytes : 0);
    memcpy(payload, &told, sizeof told);
    if (brings)
        memcpy(payload + sizeof told, call->in, meeting->bytes);
    return jd__shm_meet(comm->group, &meeting->signature, payload, bytes);
}

static void listen(const struct jd_comm *comm, struct jd_inter_result *summary)
{
    const struct jd_inter *inter = comm->inter;
    const int *members = inter->members[inter->group];
    struct jd_vote *first = &summary->said.voices[0],
                   *odd = &summary->said.voices[1];
    *first =
        (struct jd_vote){ *jd__shm_signature(comm->group, 0), members[0], 0 };
    summary->said.head =
        (struct jd_inter_head){ .kind = JD_INTER_SUMMARY,
                                .signature = first->signature };
    odd->member = summary->said.failed = -1;
    for (int i = 0; i < inter->sizes[inter->group]; i++) {
        const struct jd_signature *said = jd__shm_signature(comm->group, i);
        if (said->status != JD_OK && summary->said.failed < 0) {
            summary->said.failed = members[i];
            summary->said.status = said->status;
        }
        if (jd__signature_agrees(said, &first->signature))
            first->count++;
        else if (odd->member < 0)
            *odd = (struct jd_vote){ *said, members[i], 1 };
        else
            odd->count += jd__signature_agrees(said, &odd->signature);
    }
}

static bool group_is_seen(const struct jd_comm *comm,
                          const struct jd_inter_sync *meeting)
{
    const struct jd_inter *inter = comm->inter;
    int source = meeting->signature.source;
    const int *members = inter->members[inter->group];
    for (int i = 0; i < inter->sizes[inter->group]; i++) {
        bool reads = meeting->in_bytes && (source < 0 || source == members[i]);
        if (reads && !jd__shm_at(comm->group, i, told_by(comm, i)->in,
                                 meeting->in_bytes))
            return false;
        if (meeting->out_bytes &&
            !jd__inter_out_of(comm, i, meeting->out_bytes))
            return false;
    }
    return true;
}

/* Folds what the group brought; the result is wide. */
static size_t fold_group(struct jd_comm *comm,
                         const struct jd_inter_sync *meeting, void *out)
{
    const struct jd_inter *inter = comm->inter;
    const struct jd_collective *call = meeting->call;
    int size = inter->sizes[inter->group];
    size_t count = meeting->bytes / jd_dtype_size(call->dtype);
    for (int i = 0; i < size; i++)
        inter->ins[i] = brought_by(comm, meeting, i);
    if (count)
        jd__fold_find(call->dtype, meeting->op,
                      JD_FOLD_PARTIAL)(&(struct jd_fold){ .ins = inter->ins,
                                                          .num_ins = size,
                                                          .outs = &out,
                                                          .num_outs = 1,
                                                          .count = count });
    return count * jd_dtype_size(jd__fold_wide(call->dtype));
}

/* What the group has to give to the others; its length. */
static size_t collect(struct jd_comm *comm, const struct jd_inter_sync *meeting,
                      char *data)
{
    const struct jd_inter *inter = comm->inter;
    int source = meeting->signature.source;
    int size = inter->sizes[inter->group];
    size_t bytes = meeting->bytes;
    if (meeting->brings == JD_BRING_SUM)
        return fold_group(comm, meeting, data);
    if (meeting->brings == JD_BRING_SOURCE) {
        if (comm->groups[source] != inter->group)
            return 0;
        memcpy(data, brought_by(comm, meeting, comm->places[source]), bytes);
        return bytes;
    }
    if (meeting->brings == JD_BRING_NOTHING)
        return 0;
    for (int i = 0; i < size; i++)
        memcpy(data + (size_t)i * bytes, brought_by(comm, meeting, i), bytes);
    return (size_t)size * bytes;
}

static void summarise(struct jd_comm *comm, const struct jd_inter_sync *meeting)
{
    struct jd_inter_result *own = &comm->inter->summary[comm->inter->group];
    listen(comm, own);
    bool goes_on = own->said.voices[1].member < 0 && own->said.failed < 0;
    own->said.is_seen = goes_on && group_is_seen(comm, meeting);
    bool has_data = meeting->offers ? own->said.is_seen : goes_on;
    own->said.bytes =
        has_data ? (uint32_t)collect(comm, meeting, own->data) : 0;
}

/* ---- among leaders ------------------------------------------------------ */

/* Posts a leader's messages. */
static jd_status tell_leaders(struct jd_comm *comm)
{
    struct jd_inter *inter = comm->inter;
    const struct jd_inter_result *own = &inter->summary[inter->group];
    int groups = comm->num_groups;
    jd_status status = JD_OK;
    for (int i = 1; i < groups && status == JD_OK; i++) {
        int from = (inter->group + groups - i) % groups;
        int to = (inter->group + i) % groups;
        status = jd__channel_receive(comm->wire, inter->members[from][0],
                                     &inter->summary[from],
                                     sizeof(struct jd_inter_result));
        if (status == JD_OK)
            status = jd__channel_send(comm->wire, inter->members[to][0], own,
                                      HEAD + own->said.bytes);
    }
    return status;
}

/* What has come may be another call's, and its numbers become indices. */
static jd_status check_summaries(const struct jd_comm *comm,
                                 const struct jd_collective *call)
{
    const struct jd_inter *inter = comm->inter;
    jd_status status = JD_OK;
    for (int i = 0; i < comm->num_groups && status == JD_OK; i++) {
        int from = inter->members[i][0];
        struct jd_inter_ends ends = {
            .operation = jd__signature_activity_name(call->activity),
            .detail = call->detail,
            .from_process = comm->processes[from],
            .from = from,
            .to_process = comm->processes[comm->index],
            .to = comm->index,
        };
        status =
            jd__inter_result_check(&inter->summary[i].said, inter->sizes[i],
                                   comm->size, JD_INTER_BRING_ALL, &ends);
    }
    return status;
}

/* How many members of all groups say what a voice says. */
static int count_agreeing(const struct jd_comm *comm,
                          const struct jd_vote *voice)
{
    int count = 0;
    for (int i = 0; i < 2 * comm->num_groups; i++) {
        const struct jd_vote *v =
            &comm->inter->summary[i / 2].said.voices[i % 2];
        if (v->member >= 0 &&
            jd__signature_agrees(&v->signature, &voice->signature))
            count += v->count;
    }
    return count;
}

/* The voice that most agree with; of equals that of the lowest member. */
static const struct jd_vote *find_most(const struct jd_comm *comm)
{
    const struct jd_vote *most = NULL;
    int most_count = 0;
    for (int i = 0; i < 2 * comm->num_groups; i++) {
        const struct jd_vote *v =
            &comm->inter->summary[i / 2].said.voices[i % 2];
        int count = v->member < 0 ? 0 : count_agreeing(comm, v);
        if (count > most_count ||
            (count && count == most_count && v->member < most->member)) {
            most = v;
            most_count = count;
        }
    }
    return most;
}

static void judge(const struct jd_comm *comm, struct verdict *verdict)
{
    const struct jd_vote *most = find_most(comm), *odd = NULL;
    verdict->failed = -1;
    verdict->is_seen = true;
    for (int i = 0; i < comm->num_groups; i++) {
        const struct jd_inter_result *summary = &comm->inter->summary[i];
        verdict->is_seen &= summary->said.is_seen;
        if (summary->said.failed >= 0 &&
            (verdict->failed < 0 || summary->said.failed < verdict->failed)) {
            verdict->failed = summary->said.failed;
            verdict->status = summary->said.status;
        }
        for (int k = 0; k < 2; k++) {
            const struct jd_vote *v = &summary->said.voices[k];
            if (v->member >= 0 && (!odd || v->member < odd->member) &&
                !jd__signature_agrees(&v->signature, &most->signature))
                odd = v;
        }
    }
    verdict->odd = odd ? odd->member : -1;
    verdict->other = most->member;
    verdict->odd_signature = odd ? odd->signature : most->signature;
    verdict->other_signature = most->signature;
}

/* What all brought, in member order. */
static void spread_all(const struct jd_comm *comm, size_t bytes, char *data)
{
    const struct jd_inter *inter = comm->inter;
    for (int t = 0; t < comm->num_groups; t++)
        for (int i = 0; i < inter->sizes[t]; i++)
            memcpy(data + (size_t)inter->members[t][i] * bytes,
                   inter->summary[t].data + (size_t)i * bytes, bytes);
}

static void fold_groups(struct jd_comm *comm,
                        const struct jd_inter_sync *meeting, void *out)
{
    const struct jd_inter *inter = comm->inter;
    const struct jd_collective *call = meeting->call;
    size_t count = meeting->bytes / jd_dtype_size(call->dtype);
    for (int i = 0; i < comm->num_groups; i++)
        inter->ins[i] = inter->summary[i].data;
    if (count)
        jd__fold_find(call->dtype, meeting->op, JD_FOLD_FINISH)(
            &(struct jd_fold){ .ins = inter->ins,
                               .num_ins = comm->num_groups,
                               .outs = &out,
                               .num_outs = 1,
                               .count = count,
                               .divisor = comm->size });
}

static void conclude(struct jd_comm *comm, const struct jd_inter_sync *meeting)
{
    struct verdict *verdict = verdict_of(comm);
    judge(comm, verdict);
    if (verdict->odd >= 0 || verdict->failed >= 0 ||
        (meeting->offers && !verdict->is_seen))
        return;
    if (meeting->brings == JD_BRING_SUM)
        fold_groups(comm, meeting, verdict->data);
    else if (meeting->brings == JD_BRING_ALL)
        spread_all(comm, meeting->bytes, verdict->data);
    else if (meeting->brings == JD_BRING_SOURCE)
        memcpy(
            verdict->data,
            comm->inter->summary[comm->groups[meeting->signature.source]].data,
            meeting->bytes);
}

/* ---- everybody ---------------------------------------------------------- */

/* Tells the group why there will be no verdict, and gives up. */
static jd_status publish_failure(struct jd_comm *comm, jd_status status)
{
    struct verdict *verdict = verdict_of(comm);
    verdict->failure = status;
    snprintf(verdict->sentence, sizeof verdict->sentence, "%s",
             jd_error_message());
    atomic_store(&verdict->broken, comm->inter->meetings);
    return jd__inter_give_up(comm, status);
}

static void use_time(const struct jd_comm *comm,
                     const struct jd_inter_sync *meeting)
{
    if (meeting->unless_seen && !group_is_seen(comm, meeting))
        meeting->unless_seen(meeting->arg);
}

static jd_status lead(struct jd_comm *comm, const struct jd_inter_sync *meeting)
{
    summarise(comm, meeting);
    jd_status status = tell_leaders(comm);
    use_time(comm, meeting);
    if (status == JD_OK)
        status = jd__channel_wait(comm->wire);
    if (status == JD_OK)
        status = check_summaries(comm, meeting->call);
    if (status != JD_OK)
        return publish_failure(comm, status);
    conclude(comm, meeting);
    jd__shm_advance(comm->group);
    return JD_OK;
}

/* The leader knows better why there is none. */
static jd_status follow(struct jd_comm *comm,
                        const struct jd_inter_sync *meeting)
{
    const struct verdict *verdict = verdict_of(comm);
    use_time(comm, meeting);
    jd_status status =
        jd__shm_await(comm->group, 0, jd__shm_advance(comm->group));
    if (status != JD_OK &&
        atomic_load(&verdict->broken) == comm->inter->meetings)
        return jd_fail(verdict->failure, "%s", verdict->sentence);
    return status;
}

static jd_status fail_odd(struct jd_comm *comm,
                          const struct jd_collective *call,
                          const struct verdict *verdict)
{
    struct jd_mismatch mismatch = {
        .platform = &jd__platform_cpu,
        .comm = comm,
        .call = call,
        .processes = comm->processes,
        .size = comm->size,
        .index = comm->index,
        .odd = { verdict->odd, verdict->odd_signature },
        .other = { verdict->other, verdict->other_signature },
    };
    return jd__mismatch_fail(&mismatch);
}

static struct jd_member_text name_of(const struct jd_comm *comm, int member)
{
    return jd__member_text(
        jd__signature_name(comm->processes, comm->size, member, member));
}

static jd_status accept(struct jd_comm *comm,
                        const struct jd_inter_sync *meeting)
{
    const struct verdict *verdict = verdict_of(comm);
    jd_status status = (jd_status)verdict->status;
    if (verdict->odd >= 0)
        return fail_odd(comm, meeting->call, verdict);
    if (verdict->failed < 0)
        return JD_OK;
    if (verdict->failed == comm->index)
        return status;
    return jd_fail(status,
                   "%s: process %d%s came, but could not take part: %s; its "
                   "own message says more",
                   jd__signature_activity_name(meeting->call->activity),
                   comm->processes[verdict->failed],
                   name_of(comm, verdict->failed).text, jd_status_name(status));
}

jd_status jd__inter_meet(struct jd_comm *comm,
                         const struct jd_inter_sync *meeting)
{
    const struct jd_collective *call = meeting->call;
    const char *operation = jd__signature_activity_name(call->activity);
    comm->inter->meetings++;
    jd__shm_begin(comm->group, operation, call->detail);
    jd__channel_begin(comm->wire, operation, call->detail);
    jd_status status = meet_group(comm, meeting);
    if (status == JD_OK)
        status = comm->inter->place == 0 ? lead(comm, meeting)
                                         : follow(comm, meeting);
    return status == JD_OK ? accept(comm, meeting) : status;
}
