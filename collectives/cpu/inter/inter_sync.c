/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_sync.c - the beginning of each collective between teams: each team
 * meets, the teams' leaders tell each other what was said there, and each
 * leader publishes what came of it in its team.
 *
 * A leader's bounce memory begins with that verdict. It is written after its
 * team has met, when nobody reads the last one any more.
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
    uint64_t in, out; /* jd__team_place() */
    uint64_t hides;   /* in, once the meeting is over */
};
static_assert(sizeof(struct told) + JD_BETWEEN_BRING <= JD_TEAM_PAYLOAD,
              "what comes along fits into the payload");

/* What was said in a team, and what it brings. */
struct jd_summary {
    struct jd_summary_head said;
    _Alignas(16) char data[JD_BETWEEN_BRING_ALL];
};
#define HEAD offsetof(struct jd_summary, data)

/* What came of it. */
struct verdict {
    _Atomic uint64_t broken; /* the meeting in which the leader failed */
    jd_status failure;
    char sentence[900];
    int32_t odd, other, failed, status; /* -1: nobody */
    struct jd_signature odd_signature, other_signature;
    uint32_t is_seen;
    _Alignas(16) char data[JD_BETWEEN_BRING_ALL];
};
static_assert(sizeof(struct verdict) <= JD_TEAM_BOUNCE - JD_BETWEEN_BOUNCE,
              "the verdict has its place");

size_t jd__between_summary_size(void)
{
    return sizeof(struct jd_summary);
}

static struct verdict *verdict_of(const struct jd_clique *clique)
{
    return (struct verdict *)(void *)jd__team_bounce(clique->team, 0);
}

static const struct told *told_by(const struct jd_clique *clique, int place)
{
    return jd__team_payload(clique->team, place);
}

/* What a member of this team brings. */
static const char *brought_by(const struct jd_clique *clique,
                              const struct jd_meeting *meeting, int place)
{
    if (meeting->offers)
        return jd__team_at(clique->team, place, told_by(clique, place)->in,
                           meeting->bytes);
    return (const char *)(told_by(clique, place) + 1);
}

const char *jd__between_brought(const struct jd_clique *clique)
{
    return verdict_of(clique)->data;
}

bool jd__between_all_seen(const struct jd_clique *clique)
{
    return verdict_of(clique)->is_seen;
}

char *jd__between_in_of(const struct jd_clique *clique, int place, size_t bytes)
{
    const struct told *told = told_by(clique, place);
    return told->hides ? NULL
                       : jd__team_at(clique->team, place, told->in, bytes);
}

char *jd__between_out_of(const struct jd_clique *clique, int place,
                         size_t bytes)
{
    return jd__team_at(clique->team, place, told_by(clique, place)->out, bytes);
}

char *jd__between_bounce(const struct jd_clique *clique, int place)
{
    return jd__team_bounce(clique->team, place) +
           (JD_TEAM_BOUNCE - JD_BETWEEN_BOUNCE);
}

/* How long what leaders tell each other may become. */
static size_t brought_bytes(const struct jd_clique *clique, jd_dtype dtype,
                            enum jd_bringing brings, size_t bytes)
{
    if (brings == JD_BRING_ALL)
        return bytes * (size_t)clique->size;
    if (brings == JD_BRING_SOURCE)
        return bytes;
    return bytes / jd_dtype_size(dtype) * jd_dtype_size(jd__fold_wide(dtype));
}

bool jd__between_bring(const struct jd_clique *clique,
                       struct jd_meeting *meeting, enum jd_bringing brings,
                       size_t bytes)
{
    bool fits = bytes <= JD_BETWEEN_BRING_ALL &&
                brought_bytes(clique, meeting->call->dtype, brings, bytes) <=
                    JD_BETWEEN_BRING_ALL;
    meeting->bytes = bytes;
    meeting->brings = fits ? brings : JD_BRING_NOTHING;
    meeting->offers = fits && bytes > JD_BETWEEN_BRING;
    return fits && !meeting->offers;
}

void *jd__between_scratch(struct jd_clique *clique, struct jd_meeting *meeting,
                          size_t bytes)
{
    void *scratch = jd__group_scratch(clique->wire, bytes);
    if (!scratch)
        meeting->signature.status = jd__fail_no_memory(
            jd__activity_name(meeting->call->activity), bytes);
    return scratch;
}

jd_status jd__between_give_up(struct jd_clique *clique, jd_status status)
{
    bool goes_on = status == JD_OK || status == JD_INVALID_ARGUMENT ||
                   status == JD_RESOURCE_EXHAUSTED;
    if (!goes_on)
        jd__team_revoke(clique->team);
    return status;
}

int jd__between_failed(const struct jd_clique *clique)
{
    const struct verdict *verdict = verdict_of(clique);
    return verdict->odd < 0 ? verdict->failed : -1;
}

bool jd__between_has_come(const struct jd_clique *clique,
                          const struct jd_meeting *meeting)
{
    return meeting->brings != JD_BRING_NOTHING &&
           (!meeting->offers || jd__between_all_seen(clique));
}

/* ---- in a team ---------------------------------------------------------- */

/* Whether this member's bytes are in what it tells its team. */
static bool tells_bytes(const struct jd_clique *clique,
                        const struct jd_meeting *meeting)
{
    return meeting->brings != JD_BRING_NOTHING && meeting->bytes &&
           !meeting->offers &&
           (meeting->brings != JD_BRING_SOURCE ||
            meeting->signature.source == clique->index);
}

static jd_status meet_team(struct jd_clique *clique,
                           const struct jd_meeting *meeting)
{
    const struct jd_collective *call = meeting->call;
    char *payload = jd__team_payload_space(clique->team);
    struct told told = {
        .in = jd__team_place(clique->team, call->in, meeting->in_bytes),
        .out = jd__team_place(clique->team, call->out, meeting->out_bytes),
        .hides = meeting->hides,
    };
    bool brings = tells_bytes(clique, meeting);
    size_t bytes = sizeof told + (brings ? meeting->bytes : 0);
    memcpy(payload, &told, sizeof told);
    if (brings)
        memcpy(payload + sizeof told, call->in, meeting->bytes);
    return jd__team_meet(clique->team, &meeting->signature, payload, bytes);
}

static void listen(const struct jd_clique *clique, struct jd_summary *summary)
{
    const struct jd_between *between = clique->between;
    const int *members = between->members[between->team];
    struct jd_voice *first = &summary->said.voices[0],
                    *odd = &summary->said.voices[1];
    *first = (struct jd_voice){ *jd__team_signature(clique->team, 0),
                                members[0], 0 };
    summary->said.head =
        (struct jd_between_head){ .kind = JD_BETWEEN_SUMMARY,
                                  .signature = first->signature };
    odd->member = summary->said.failed = -1;
    for (int i = 0; i < between->sizes[between->team]; i++) {
        const struct jd_signature *said = jd__team_signature(clique->team, i);
        if (said->status != JD_OK && summary->said.failed < 0) {
            summary->said.failed = members[i];
            summary->said.status = said->status;
        }
        if (jd__signature_agrees(said, &first->signature))
            first->count++;
        else if (odd->member < 0)
            *odd = (struct jd_voice){ *said, members[i], 1 };
        else
            odd->count += jd__signature_agrees(said, &odd->signature);
    }
}

static bool team_is_seen(const struct jd_clique *clique,
                         const struct jd_meeting *meeting)
{
    const struct jd_between *between = clique->between;
    int source = meeting->signature.source;
    const int *members = between->members[between->team];
    for (int i = 0; i < between->sizes[between->team]; i++) {
        bool reads = meeting->in_bytes && (source < 0 || source == members[i]);
        if (reads && !jd__team_at(clique->team, i, told_by(clique, i)->in,
                                  meeting->in_bytes))
            return false;
        if (meeting->out_bytes &&
            !jd__between_out_of(clique, i, meeting->out_bytes))
            return false;
    }
    return true;
}

/* Folds what the team brought; the result is wide. */
static size_t fold_team(struct jd_clique *clique,
                        const struct jd_meeting *meeting, void *out)
{
    const struct jd_between *between = clique->between;
    const struct jd_collective *call = meeting->call;
    int size = between->sizes[between->team];
    size_t count = meeting->bytes / jd_dtype_size(call->dtype);
    for (int i = 0; i < size; i++)
        between->ins[i] = brought_by(clique, meeting, i);
    if (count)
        jd__fold_find(call->dtype, meeting->op,
                      JD_FOLD_PARTIAL)(&(struct jd_fold){ .ins = between->ins,
                                                          .num_ins = size,
                                                          .outs = &out,
                                                          .num_outs = 1,
                                                          .count = count });
    return count * jd_dtype_size(jd__fold_wide(call->dtype));
}

/* What the team has to give to the others; its length. */
static size_t collect(struct jd_clique *clique,
                      const struct jd_meeting *meeting, char *data)
{
    const struct jd_between *between = clique->between;
    int source = meeting->signature.source;
    int size = between->sizes[between->team];
    size_t bytes = meeting->bytes;
    if (meeting->brings == JD_BRING_SUM)
        return fold_team(clique, meeting, data);
    if (meeting->brings == JD_BRING_SOURCE) {
        if (clique->teams[source] != between->team)
            return 0;
        memcpy(data, brought_by(clique, meeting, clique->places[source]),
               bytes);
        return bytes;
    }
    if (meeting->brings == JD_BRING_NOTHING)
        return 0;
    for (int i = 0; i < size; i++)
        memcpy(data + (size_t)i * bytes, brought_by(clique, meeting, i), bytes);
    return (size_t)size * bytes;
}

static void summarise(struct jd_clique *clique,
                      const struct jd_meeting *meeting)
{
    struct jd_summary *own = &clique->between->summary[clique->between->team];
    listen(clique, own);
    bool goes_on = own->said.voices[1].member < 0 && own->said.failed < 0;
    own->said.is_seen = goes_on && team_is_seen(clique, meeting);
    bool has_data = meeting->offers ? own->said.is_seen : goes_on;
    own->said.bytes =
        has_data ? (uint32_t)collect(clique, meeting, own->data) : 0;
}

/* ---- among leaders ------------------------------------------------------ */

/* Posts a leader's messages. */
static jd_status tell_leaders(struct jd_clique *clique)
{
    struct jd_between *between = clique->between;
    const struct jd_summary *own = &between->summary[between->team];
    int teams = clique->num_teams;
    jd_status status = JD_OK;
    for (int i = 1; i < teams && status == JD_OK; i++) {
        int from = (between->team + teams - i) % teams;
        int to = (between->team + i) % teams;
        status = jd__group_receive(clique->wire, between->members[from][0],
                                   &between->summary[from],
                                   sizeof(struct jd_summary));
        if (status == JD_OK)
            status = jd__group_send(clique->wire, between->members[to][0], own,
                                    HEAD + own->said.bytes);
    }
    return status;
}

/* What has come may be another call's, and its numbers become indices. */
static jd_status check_summaries(const struct jd_clique *clique,
                                 const struct jd_collective *call)
{
    const struct jd_between *between = clique->between;
    jd_status status = JD_OK;
    for (int i = 0; i < clique->num_teams && status == JD_OK; i++) {
        int from = between->members[i][0];
        struct jd_between_ends ends = {
            .operation = jd__activity_name(call->activity),
            .detail = call->detail,
            .from_process = clique->processes[from],
            .from = from,
            .to_process = clique->processes[clique->index],
            .to = clique->index,
        };
        status = jd__summary_check(&between->summary[i].said, between->sizes[i],
                                   clique->size, JD_BETWEEN_BRING_ALL, &ends);
    }
    return status;
}

/* How many members of all teams say what a voice says. */
static int count_agreeing(const struct jd_clique *clique,
                          const struct jd_voice *voice)
{
    int count = 0;
    for (int i = 0; i < 2 * clique->num_teams; i++) {
        const struct jd_voice *v =
            &clique->between->summary[i / 2].said.voices[i % 2];
        if (v->member >= 0 &&
            jd__signature_agrees(&v->signature, &voice->signature))
            count += v->count;
    }
    return count;
}

/* The voice that most agree with; of equals that of the lowest member. */
static const struct jd_voice *find_most(const struct jd_clique *clique)
{
    const struct jd_voice *most = NULL;
    int most_count = 0;
    for (int i = 0; i < 2 * clique->num_teams; i++) {
        const struct jd_voice *v =
            &clique->between->summary[i / 2].said.voices[i % 2];
        int count = v->member < 0 ? 0 : count_agreeing(clique, v);
        if (count > most_count ||
            (count && count == most_count && v->member < most->member)) {
            most = v;
            most_count = count;
        }
    }
    return most;
}

static void judge(const struct jd_clique *clique, struct verdict *verdict)
{
    const struct jd_voice *most = find_most(clique), *odd = NULL;
    verdict->failed = -1;
    verdict->is_seen = true;
    for (int i = 0; i < clique->num_teams; i++) {
        const struct jd_summary *summary = &clique->between->summary[i];
        verdict->is_seen &= summary->said.is_seen;
        if (summary->said.failed >= 0 &&
            (verdict->failed < 0 || summary->said.failed < verdict->failed)) {
            verdict->failed = summary->said.failed;
            verdict->status = summary->said.status;
        }
        for (int k = 0; k < 2; k++) {
            const struct jd_voice *v = &summary->said.voices[k];
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
static void spread_all(const struct jd_clique *clique, size_t bytes, char *data)
{
    const struct jd_between *between = clique->between;
    for (int t = 0; t < clique->num_teams; t++)
        for (int i = 0; i < between->sizes[t]; i++)
            memcpy(data + (size_t)between->members[t][i] * bytes,
                   between->summary[t].data + (size_t)i * bytes, bytes);
}

static void fold_teams(struct jd_clique *clique,
                       const struct jd_meeting *meeting, void *out)
{
    const struct jd_between *between = clique->between;
    const struct jd_collective *call = meeting->call;
    size_t count = meeting->bytes / jd_dtype_size(call->dtype);
    for (int i = 0; i < clique->num_teams; i++)
        between->ins[i] = between->summary[i].data;
    if (count)
        jd__fold_find(call->dtype, meeting->op, JD_FOLD_FINISH)(
            &(struct jd_fold){ .ins = between->ins,
                               .num_ins = clique->num_teams,
                               .outs = &out,
                               .num_outs = 1,
                               .count = count,
                               .divisor = clique->size });
}

static void conclude(struct jd_clique *clique, const struct jd_meeting *meeting)
{
    struct verdict *verdict = verdict_of(clique);
    judge(clique, verdict);
    if (verdict->odd >= 0 || verdict->failed >= 0 ||
        (meeting->offers && !verdict->is_seen))
        return;
    if (meeting->brings == JD_BRING_SUM)
        fold_teams(clique, meeting, verdict->data);
    else if (meeting->brings == JD_BRING_ALL)
        spread_all(clique, meeting->bytes, verdict->data);
    else if (meeting->brings == JD_BRING_SOURCE)
        memcpy(
            verdict->data,
            clique->between->summary[clique->teams[meeting->signature.source]]
                .data,
            meeting->bytes);
}

/* ---- everybody ---------------------------------------------------------- */

/* Tells the team why there will be no verdict, and gives up. */
static jd_status publish_failure(struct jd_clique *clique, jd_status status)
{
    struct verdict *verdict = verdict_of(clique);
    verdict->failure = status;
    snprintf(verdict->sentence, sizeof verdict->sentence, "%s",
             jd_error_message());
    atomic_store(&verdict->broken, clique->between->meetings);
    return jd__between_give_up(clique, status);
}

static void use_time(const struct jd_clique *clique,
                     const struct jd_meeting *meeting)
{
    if (meeting->unless_seen && !team_is_seen(clique, meeting))
        meeting->unless_seen(meeting->arg);
}

static jd_status lead(struct jd_clique *clique,
                      const struct jd_meeting *meeting)
{
    summarise(clique, meeting);
    jd_status status = tell_leaders(clique);
    use_time(clique, meeting);
    if (status == JD_OK)
        status = jd__group_wait(clique->wire);
    if (status == JD_OK)
        status = check_summaries(clique, meeting->call);
    if (status != JD_OK)
        return publish_failure(clique, status);
    conclude(clique, meeting);
    jd__team_advance(clique->team);
    return JD_OK;
}

/* The leader knows better why there is none. */
static jd_status follow(struct jd_clique *clique,
                        const struct jd_meeting *meeting)
{
    const struct verdict *verdict = verdict_of(clique);
    use_time(clique, meeting);
    jd_status status =
        jd__team_await(clique->team, 0, jd__team_advance(clique->team));
    if (status != JD_OK &&
        atomic_load(&verdict->broken) == clique->between->meetings)
        return jd_fail(verdict->failure, "%s", verdict->sentence);
    return status;
}

static jd_status fail_odd(struct jd_clique *clique,
                          const struct jd_collective *call,
                          const struct verdict *verdict)
{
    struct jd_mismatch mismatch = {
        .platform = &jd__platform_cpu,
        .clique = clique,
        .call = call,
        .processes = clique->processes,
        .size = clique->size,
        .index = clique->index,
        .odd = { verdict->odd, verdict->odd_signature },
        .other = { verdict->other, verdict->other_signature },
    };
    return jd__mismatch_fail(&mismatch);
}

static struct jd_member_text name_of(const struct jd_clique *clique, int member)
{
    return jd__member_text(
        jd__signature_name(clique->processes, clique->size, member, member));
}

static jd_status accept(struct jd_clique *clique,
                        const struct jd_meeting *meeting)
{
    const struct verdict *verdict = verdict_of(clique);
    jd_status status = (jd_status)verdict->status;
    if (verdict->odd >= 0)
        return fail_odd(clique, meeting->call, verdict);
    if (verdict->failed < 0)
        return JD_OK;
    if (verdict->failed == clique->index)
        return status;
    return jd_fail(status,
                   "%s: process %d%s came, but could not take part: %s; its "
                   "own message says more",
                   jd__activity_name(meeting->call->activity),
                   clique->processes[verdict->failed],
                   name_of(clique, verdict->failed).text,
                   jd_status_name(status));
}

jd_status jd__between_meet(struct jd_clique *clique,
                           const struct jd_meeting *meeting)
{
    const struct jd_collective *call = meeting->call;
    const char *operation = jd__activity_name(call->activity);
    clique->between->meetings++;
    jd__team_begin(clique->team, operation, call->detail);
    jd__group_begin(clique->wire, operation, call->detail);
    jd_status status = meet_team(clique, meeting);
    if (status == JD_OK)
        status = clique->between->place == 0 ? lead(clique, meeting)
                                             : follow(clique, meeting);
    return status == JD_OK ? accept(clique, meeting) : status;
}
