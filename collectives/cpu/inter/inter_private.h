/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_private.h - what the files of inter*.c share.
 *
 * Words: a group is the members of one host, numbered as hosts; its leader is
 * at place 0 and speaks for it. A rail is one part of what moves between hosts;
 * the rail of that number is owned, in each group, by the member at that place.
 */
#ifndef COLLECTIVES_CPU_INTER_INTER_PRIVATE_H
#define COLLECTIVES_CPU_INTER_INTER_PRIVATE_H

#include "collectives/channel/pair.h"
#include "collectives/cpu/inter/inter.h"
#include "collectives/cpu/inter/inter_result.h"
#include "collectives/kernels/fold.h"
#include "collectives/kernels/strided.h"
#include "collectives/schedule/schedule.h"

/* What the collectives of a communicator keep between calls. */
struct jd_inter {
    int group; /* this member's */
    int place; /* in it; 0: its leader */
    int rails; /* how many members the smallest group has */
    int *begins; /* of each group in the list, and where it ends */
    int *served; /* by this member's rail in all groups before each */
    int *list;   /* all members, group by group, by place; NULL: so they are
                  * numbered */

    const void **ins; /* a place for each member of this group, and two; or
                       * for each member of all, where sums are in order */
    void **outs;      /* as many */

    enum jd_schedule_kind merge; /* how leaders come to a call */
    struct jd_round *rounds;     /* of it, a leader's own; none that is idle */
    int num_rounds;
    uint64_t syncs;              /* how many there were */
    struct jd_inter_pass *own; /* of a leader; inter_sync.c's */
    struct jd_inter_pass *other;

    struct jd_inter_early *early; /* inter_transfer.c's */
    struct jd_transfers *transfers;

    struct jd_inter *next; /* of those that are kept for MPI */
};

static inline int jd__inter_group_size(const struct jd_inter *inter, int group)
{
    return inter->begins[group + 1] - inter->begins[group];
}

/* Whether each member is a group of its own. */
static inline bool jd__inter_is_lone(const struct jd_comm *comm)
{
    return comm->size == comm->num_groups;
}

/* Whether leaders wait for each other's processors; the same for all members.
 */
static inline bool jd__inter_is_crowd(const struct jd_comm *comm)
{
    return comm->inter->merge == JD_SCHEDULE_MERGE_BY_FOURS;
}

static inline int jd__inter_member(const struct jd_inter *inter, int group,
                                   int place)
{
    int at = inter->begins[group] + place;
    return inter->list ? inter->list[at] : at;
}

/* A signature of the call, without source and digest. */
struct jd_signature jd__inter_sign(const struct jd_collective *call);

/* ---- inter_sync.c ------------------------------------------------------- */

size_t jd__inter_pass_size(const struct jd_comm *comm);

/* What members bring along. */
enum jd_bringing {
    JD_BRING_NOTHING,
    JD_BRING_ALL,    /* everybody's bytes become everybody's, in member order */
    JD_BRING_SOURCE, /* the source's bytes become everybody's */
    JD_BRING_SUM,    /* their reduction becomes everybody's */
    JD_BRING_PIECE,  /* each of two its piece for the other */
};

struct jd_inter_sync {
    const struct jd_collective *call;
    struct jd_signature signature;
    enum jd_bringing brings;
    size_t bytes;      /* that a member brings: as many as each other */
    enum jd_reduce op; /* of JD_BRING_SUM */
    struct jd_strided piece; /* of JD_BRING_PIECE */

    /* They are more than fits into what a member tells its group, and come
     * along where every group's leader can read its members' in: where
     * jd__inter_all_seen(). */
    bool offers;

    /* All that is read of in (at the source alone, where there is one) and
     * written of out, to tell the group where the buffers are. */
    size_t in_bytes, out_bytes;
    bool hides; /* in is not to be read after it: out lies over it */
    /* What all bring is read by jd__inter_brought_by() alone. */
    bool takes_each;

    /* Called once the group has met, by all members of a group whose buffers
     * are not all seen: what is done in it is seen by those who await the step
     * that the sync ends with. Or NULL. */
    void (*unless_seen)(void *arg);
    void *arg;
};

/* The most that a member tells its group; that all together may bring, and that
 * may two apart, and members of a crowd that share no memory. */
#define JD_INTER_BRING 4032
#define JD_INTER_BRING_ALL ((size_t)32 << 10)
#define JD_INTER_BRING_LONE ((size_t)64 << 10)

/* Lets so many bytes of each member (of one: JD_BRING_SOURCE) come along or be
 * offered, or nothing where they are too many. Returns whether they surely
 * come. */
bool jd__inter_bring(const struct jd_comm *comm, struct jd_inter_sync *sync,
                     enum jd_bringing brings, size_t bytes);

/*
 * The beginning of each collective: all members meet, and compare what they
 * call.
 * Returns: JD_OK; INVALID_ARGUMENT, the same on every member, where they do
 *   not call the same; the status of a member that came with one, on every
 *   member; the failures of a wait.
 */
jd_status jd__inter_sync(struct jd_comm *comm,
                         const struct jd_inter_sync *sync);

/* After one that was INVALID_ARGUMENT: the first member that came with that,
 * where all call the same, else -1. */
int jd__inter_failed(const struct jd_comm *comm);

/* Whether what was brought, or offered, has come. */
bool jd__inter_has_come(const struct jd_comm *comm,
                        const struct jd_inter_sync *sync);

/* The same of a piece for the other, where there are two, apart, and it is not
 * too long; else nothing, and false. */
bool jd__inter_bring_piece(const struct jd_comm *comm,
                           struct jd_inter_sync *sync, struct jd_strided piece);

/* What came of the bytes that were brought; until the next sync. */
const char *jd__inter_brought(const struct jd_comm *comm);

/* The same of one member, where all bring and sync->takes_each: without a copy
 * where there are two, apart; of the other one where each brought a piece. */
const char *jd__inter_brought_by(const struct jd_comm *comm,
                                 const struct jd_inter_sync *sync, int member);

/* Whether each member's in and out can be seen by the others of its group. */
bool jd__inter_all_seen(const struct jd_comm *comm);

/* A buffer of a member of this group, by its place: its own, of which the call
 * tells; NULL where it cannot be seen. */
char *jd__inter_in_of(const struct jd_comm *comm,
                      const struct jd_collective *call, int place,
                      size_t bytes);
char *jd__inter_out_of(const struct jd_comm *comm,
                       const struct jd_collective *call, int place,
                       size_t bytes);

/* The same of an in alone, as the others of the group see it: NULL of this
 * member's own too, where they cannot. */
char *jd__inter_shared_in(const struct jd_comm *comm, int place, size_t bytes);

/* After a failure that leaves members out of step: the group is revoked.
 * Returns status. */
jd_status jd__inter_give_up(struct jd_comm *comm, jd_status status);

/* After a failure while the group's members may be in each other's buffers:
 * gives up, and returns when they are not. Returns status. */
jd_status jd__inter_break(struct jd_comm *comm, jd_status status);

/* Memory for the call; where there is none, the signature says so to the
 * others at the sync. */
void *jd__inter_scratch(struct jd_comm *comm, struct jd_inter_sync *sync,
                        size_t bytes);

/* A member's bounce memory, behind what a sync needs of it. */
char *jd__inter_bounce(const struct jd_comm *comm, int place);
#define JD_INTER_BOUNCE (JD_SHM_BOUNCE - JD_SHM_BOUNCE_ALONE)

/* ---- inter_exchange.c --------------------------------------------------- */

/*
 * Data between all pairs of members, after a sync; the two ends of a pair
 * agree on its bytes.
 */
struct jd_inter_exchange {
    struct jd_comm *comm;
    const void *arg;
    /* What this member gives to another, and where that one's comes. */
    struct jd_strided (*send)(const void *arg, int member);
    struct jd_strided (*receive)(const void *arg, int member);
    bool is_in_place; /* what comes of a member lies where what it gets lay */
    char *scratch;
};

/* How much scratch it needs; of the short one, where each pair has so many
 * bytes. */
size_t jd__inter_exchange_scratch(const struct jd_comm *comm);
size_t jd__inter_short_scratch(const struct jd_comm *comm, size_t bytes);

jd_status jd__inter_exchange(const struct jd_inter_exchange *x);

/* Only what comes from one member and goes to one, as it does from and to all
 * in a permutation; -1: nobody. */
jd_status jd__inter_exchange_one(const struct jd_inter_exchange *x, int from,
                                 int to);

/* The same in few messages, where all pairs have the same few bytes. */
bool jd__inter_is_short(const struct jd_comm *comm, size_t bytes);
jd_status jd__inter_exchange_short(const struct jd_inter_exchange *x,
                                   size_t bytes);

/* ---- inter_flow.c ------------------------------------------------------- */

/*
 * A long collective, cut into pieces that the owners of rails move between
 * hosts, several under way at a time. What is moved of a piece is a block for
 * each group, in up to two schedules one after the other; in callers' buffers
 * where blocks lie there as messages want them, else in memory of the flow that
 * begins with the block of jd__inter_flow_origin().
 *
 * Where all members' buffers can be seen by their groups, owners read and write
 * them directly, and there is one step at the end. Otherwise everything goes
 * through bounce memory, with a step for each piece: two halves of operands,
 * two of results.
 */
struct jd_inter_flow;

struct jd_inter_flow_ops {
    /* Where a group's block begins among the elements of this rail's piece, in
     * group order; of the group behind the last, where all end. */
    size_t (*begin)(const struct jd_inter_flow *flow, size_t piece, int group);
    /* Every member: what the owners of other rails need of it, into its bounce
     * memory; and what it gets of them. NULL: nothing. */
    void (*give)(const struct jd_inter_flow *flow, size_t piece);
    void (*take)(const struct jd_inter_flow *flow, size_t piece);
    /* An owner: fills the first schedule's memory (but for what operand tells);
     * folds or copies from it into the second's, where there are two; hands
     * over the result. */
    void (*load)(const struct jd_inter_flow *flow, size_t piece);
    void (*turn)(const struct jd_inter_flow *flow, size_t piece);
    void (*deliver)(const struct jd_inter_flow *flow, size_t piece);
    /* Where a group's block begins that is not in the flow's memory but in the
     * caller's, or NULL. */
    char *(*memory)(const struct jd_inter_flow *flow, size_t piece, int phase,
                    int group);
    /* The same of a block that the first round folds or sends, where load
     * leaves that to it; blocks lie in group order. NULL: the memory has all.
     */
    char *(*operand)(const struct jd_inter_flow *flow, size_t piece, int group);
};

#define JD_INTER_DEPTH 3 /* pieces under way */

/* A piece under way. */
struct jd_inter_piece {
    struct jd_pair pair, behind; /* of a range that wraps: its end */
    int phase, round;
    bool is_cut;
};

struct jd_inter_flow {
    struct jd_comm *comm;
    const struct jd_collective *call;
    const struct jd_inter_flow_ops *ops;
    struct jd_schedule phases[2];
    size_t widths[2]; /* of an element, bytes */
    int num_phases;
    jd_fold_function *fold; /* what comes to the own, in the first; or NULL */
    /* Memory lies in group order where blocks are long, whatever the schedule,
     * and a range that wraps goes as two messages; and so does what operand
     * tells. All owners have the same. */
    bool is_cut[2], cuts_operand;

    size_t length; /* elements of all pieces */
    size_t piece;  /* of one */
    size_t rail;   /* the most that there are of one in a rail */
    size_t unit;   /* bytes of an element of a member's buffers */
    bool is_seen, is_owner, has_given;
    char *scratch;
    struct jd_inter_piece under_way[JD_INTER_DEPTH];
};

/* Some elements. */
struct jd_part {
    size_t begin, count;
};

/* The i-th of n equal parts. */
struct jd_part jd__inter_cut(struct jd_part part, int n, int i);
struct jd_part jd__inter_piece_part(const struct jd_inter_flow *flow,
                                    size_t piece);

/* Of data that are cut evenly: a rail's part of a piece, this member's rail's,
 * and where a group's block begins in that. */
struct jd_part jd__inter_rail_part(const struct jd_inter_flow *flow,
                                   size_t piece, int rail);
struct jd_part jd__inter_own_rail(const struct jd_inter_flow *flow,
                                  size_t piece);
size_t jd__inter_even_begin(const struct jd_inter_flow *flow, size_t piece,
                            int group);

/* An owner's memory of a piece: where the block of a group begins, or, behind
 * it, what came last. */
char *jd__inter_flow_at(const struct jd_inter_flow *flow, size_t piece,
                        int phase, int group);
char *jd__inter_flow_came(const struct jd_inter_flow *flow, size_t piece);

/* A range that wraps is cut where blocks are so long: two messages cost less
 * then than copying what is under way. */
#define JD_INTER_LEAST_CUT ((size_t)32 << 10)

/* The group whose block is the memory's first; 0: it lies as callers' do. */
int jd__inter_flow_origin(const struct jd_inter_flow *flow, size_t piece,
                          int phase);

/* Of a fold by groups of one: whether operand may tell where theirs are; load
 * then has only the blocks that the first round leaves alone, one at most. */
bool jd__inter_folds_operand(const struct jd_inter_flow *flow, size_t piece);
struct jd_blocks jd__inter_left_alone(const struct jd_inter_flow *flow);

/* Of groups of one whose buffers have a block for each: whether each message's
 * blocks lie there one behind the other. */
bool jd__inter_lies_so(const struct jd_inter_flow *flow);

/* How many bytes of a rail are moved at a time, of so many in all; is_whole:
 * messages have all of them, else half at most. */
size_t jd__inter_rail_bytes(const struct jd_comm *comm, size_t all,
                            bool is_whole);

/* Scratch for rails of so many elements. */
size_t jd__inter_flow_scratch(const struct jd_inter_flow *flow);

/* Copies out the whole rail of the last schedule, in group order. */
void jd__inter_flow_read(const struct jd_inter_flow *flow, size_t piece,
                         void *to);

/* After the sync. Returns: as jd__inter_sync. */
jd_status jd__inter_flow_run(struct jd_inter_flow *flow);

/* The sync, in which the first piece is given where buffers are not seen. */
jd_status jd__inter_flow_sync(struct jd_inter_flow *flow,
                              struct jd_inter_sync *sync);

/* All of a flow whose data are cut evenly, and of whose in as much is read as of
 * out is written: pieces, scratch, sync and run; nothing where what the sync
 * offers has come. */
jd_status jd__inter_flow_even(struct jd_inter_flow *flow,
                              struct jd_inter_sync *sync);

/* ---- inter_reduce.c, _scatter.c, _ordered.c, _gather.c, _broadcast.c ---- */

/* An all_reduce, sync included, whose order is group by group; out is left
 * alone where what the sync offers has come. */
jd_status jd__inter_reduce_long(struct jd_comm *comm,
                                struct jd_inter_sync *sync);

/* The same of a reduce_scatter, of blocks of so many rows. */
struct jd_inter_scatter {
    size_t rows;
};
jd_status jd__inter_scatter_long(struct jd_comm *comm,
                                 struct jd_inter_sync *sync,
                                 const struct jd_inter_scatter *scatter);

/* Reductions in member order, whole; scatter is NULL of an all_reduce. */
jd_status jd__inter_reduce_ordered(struct jd_comm *comm,
                                   struct jd_inter_sync *sync,
                                   const struct jd_inter_scatter *scatter);

/* How many members of a group a rail serves: every rails-th one. */
int jd__inter_served(const struct jd_inter *inter, int group, int rail);
/* The same of all groups before one. */
int jd__inter_served_before(const struct jd_inter *inter, int group, int rail);

jd_status jd__inter_gather_long(struct jd_comm *comm,
                                struct jd_inter_sync *sync, size_t rows);
jd_status jd__inter_broadcast_long(struct jd_comm *comm,
                                   struct jd_inter_sync *sync, int source);

/* ---- inter_transfer.c --------------------------------------------------- */

void jd__inter_free_transfers(struct jd_comm *comm);

#endif
