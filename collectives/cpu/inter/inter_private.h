/* SPDX-License-Identifier: BSD-3-Clause */
/* inter_private.h - what the files of inter*.c share. */
#ifndef COLLECTIVES_CPU_INTER_INTER_PRIVATE_H
#define COLLECTIVES_CPU_INTER_INTER_PRIVATE_H

#include "collectives/cpu/inter/inter.h"
#include "collectives/kernels/fold.h"
#include "collectives/kernels/strided.h"

/* ---- inter_posts.c ------------------------------------------------------ */

/* Messages that are waited for together. */
struct jd_posts {
    MPI_Request *requests;
    int *processes; /* at their other ends */
    int count;
};

/* How many pieces of a collective are under way at a time. */
#define JD_INTER_DEPTH 3

bool jd__inter_make_posts(struct jd_posts *posts, int capacity);
void jd__inter_free_posts(struct jd_posts *posts);

/* Posts a message from one member and one to another; zero bytes are none. */
jd_status jd__inter_post(struct jd_comm *comm, struct jd_posts *posts, int from,
                         void *target, size_t in_bytes, int to,
                         const void *source, size_t out_bytes);
/* Waits for all of them. */
jd_status jd__inter_finish(struct jd_comm *comm, struct jd_posts *posts);

/* After a failure while the group's members may be in each other's buffers:
 * gives up, and returns when they are not. Returns status. */
jd_status jd__inter_break(struct jd_comm *comm, jd_status status);

/* ---- inter.c ------------------------------------------------------------ */

/* What the collectives of a communicator keep between calls. */
struct jd_inter {
    int group; /* this member's */
    int place; /* in it; 0: its leader */
    int rails; /* how many members the smallest group has */
    bool is_deterministic;
    int *sizes;    /* of each group */
    int **members; /* of each group, by place */
    int *list;     /* all members, group by group */

    struct jd_strided *sends; /* to each member; for jd__inter_exchange */
    struct jd_strided *receives;
    struct jd_strided *blocks; /* of an all_gather's out */
    struct jd_strided inside;  /* what each other gives this member, as if their
                                * in were this one's */
    const void **ins;          /* of each member; for folds */
    void **outs;

    struct jd_posts posts[JD_INTER_DEPTH]; /* of pieces under way */

    uint64_t meetings;               /* how many there were */
    struct jd_inter_result *summary; /* of each group; inter_sync.c's */

    struct jd_inbox *inboxes; /* of each member; inter_transfer.c's */
    struct jd_transfers *transfers;

    struct jd_inter *next; /* of those that are kept for MPI */
};

/* A signature of the call, without source and digest. */
struct jd_signature jd__inter_sign(const struct jd_collective *call);

/* Nothing moves in the next jd__inter_exchange() unless it is said to. */
void jd__inter_clear(struct jd_comm *comm);

/* ---- inter_sync.c ------------------------------------------------------- */

size_t jd__inter_summary_size(void);

/* What members bring along to a meeting. */
enum jd_bringing {
    JD_BRING_NOTHING,
    JD_BRING_ALL,    /* everybody's bytes become everybody's, in member order */
    JD_BRING_SOURCE, /* the source's bytes become everybody's */
    JD_BRING_SUM,    /* their reduction becomes everybody's */
};

struct jd_inter_sync {
    const struct jd_collective *call;
    struct jd_signature signature;
    enum jd_bringing brings;
    size_t bytes;      /* that a member brings: as many as each other */
    enum jd_reduce op; /* of JD_BRING_SUM */

    /* They are more than fits into what a member tells its group, and come
     * along where every group's leader can read its members' in: where
     * jd__inter_all_seen(). */
    bool offers;

    /* All that is read of in (at the source alone, where there is one) and
     * written of out, to tell the group where the buffers are. */
    size_t in_bytes, out_bytes;
    bool hides; /* in is not to be read after it: out lies over it */

    /* Called in the meeting, once the group has met, by all members of a group
     * whose buffers are not all seen: what is done in it is seen by those who
     * await the step that the meeting ends with. Or NULL. */
    void (*unless_seen)(void *arg);
    void *arg;
};

/* The most that a member tells its group; that all together may bring. */
#define JD_INTER_BRING 4032
#define JD_INTER_BRING_ALL ((size_t)32 << 10)

/* Lets so many bytes of each member (of one: JD_BRING_SOURCE) come along or be
 * offered, or nothing where they are too many. Returns whether they surely
 * come. */
bool jd__inter_bring(const struct jd_comm *comm, struct jd_inter_sync *meeting,
                     enum jd_bringing brings, size_t bytes);

/*
 * The beginning of each collective: all members meet, and compare what they
 * call.
 * Returns: JD_OK; INVALID_ARGUMENT, the same on every member, where they do
 *   not call the same; the status of a member that came with one, on every
 *   member; the failures of a wait.
 */
jd_status jd__inter_meet(struct jd_comm *comm,
                         const struct jd_inter_sync *meeting);

/* After a meeting that was INVALID_ARGUMENT: the first member that came with
 * that, where all call the same, else -1. */
int jd__inter_failed(const struct jd_comm *comm);

/* After a meeting: whether what was brought, or offered, has come. */
bool jd__inter_has_come(const struct jd_comm *comm,
                        const struct jd_inter_sync *meeting);

/* What came of the bytes that were brought; until the next meeting. */
const char *jd__inter_brought(const struct jd_comm *comm);

/* Whether each member's in and out can be seen by the others of its group. */
bool jd__inter_all_seen(const struct jd_comm *comm);

/* A buffer of a member of this group, by its place; NULL where it cannot be
 * seen. */
char *jd__inter_in_of(const struct jd_comm *comm, int place, size_t bytes);
char *jd__inter_out_of(const struct jd_comm *comm, int place, size_t bytes);

/* After a failure that leaves members out of step: the group is revoked.
 * Returns status. */
jd_status jd__inter_give_up(struct jd_comm *comm, jd_status status);

/* Memory for the call; where there is none, the signature says so to the
 * others at the meeting. */
void *jd__inter_scratch(struct jd_comm *comm, struct jd_inter_sync *meeting,
                        size_t bytes);

/* This member's bounce memory, behind what meetings need of it. */
char *jd__inter_bounce(const struct jd_comm *comm, int place);
#define JD_INTER_BOUNCE (JD_SHM_BOUNCE - ((size_t)36 << 10))

/* ---- inter_exchange.c --------------------------------------------------- */

/* How much goes between two members at once where each piece is waited for. */
size_t jd__inter_piece(const struct jd_comm *comm);

/* How much scratch an exchange needs where none of it is contiguous. */
size_t jd__inter_exchange_scratch(const struct jd_comm *comm);

/*
 * Moves between->sends[i] to member i and what it sends to
 * between->receives[i], all pairs at once, after a meeting; the two ends of a
 * pair agree on its bytes. is_in_place: what is received may lie where the
 * same part of what is sent lies. arrived (or NULL) is called for what has
 * come, while it is in the caches.
 */
typedef void jd_arrived_f(void *arg, const struct jd_strided *strided,
                          size_t begin, size_t bytes);
jd_status jd__inter_exchange(struct jd_comm *comm, char *scratch,
                             bool is_in_place, jd_arrived_f *arrived,
                             void *arg);

/* ---- inter_spread.c ----------------------------------------------------- */

/*
 * After a meeting in which all buffers were seen. blocks: where each member's
 * rows go. scratch is an exchange's.
 */
jd_status jd__inter_gather_seen(struct jd_comm *comm,
                                const struct jd_collective *call,
                                const struct jd_strided *blocks, char *scratch);
jd_status jd__inter_broadcast_seen(struct jd_comm *comm,
                                   const struct jd_collective *call, int source,
                                   char *scratch);

/* ---- inter_scatter.c ---------------------------------------------------- */

/* After a meeting in which all inputs were seen; scratch is an exchange's. */
jd_status jd__inter_scatter_seen(struct jd_comm *comm,
                                 const struct jd_inter_sync *meeting,
                                 size_t rows, char *scratch);

/* ---- inter_rails.c ------------------------------------------------------ */

/* An all_reduce, meeting included, whose order is group by group; out is left
 * alone where what the meeting offers has come. */
jd_status jd__inter_reduce_lanes(struct jd_comm *comm,
                                 struct jd_inter_sync *meeting);

/* ---- inter_transfer.c --------------------------------------------------- */

void jd__inter_free_transfers(struct jd_comm *comm);

#endif
