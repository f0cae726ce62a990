/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm.h - the members of a communicator that can see each other's memory: how
 * they meet, keep step, and give up together.
 *
 *     status = jd__shm_meet(group, &signature, payload, bytes);
 *     ... jd__shm_signature(group, i), jd__shm_payload(group, i) ...
 *     ... read and write the buffers that the payloads told of ...
 *     status = jd__shm_step(group);          nobody touches mine any more
 *
 * Each member has a segment in its process's heap, which all members
 * map. The owner alone writes its flags; the others read them. Flags only
 * grow, so no member resets anything: the round of a meeting, and steps
 * within. A collective is one meeting and as many steps as all members know of
 * from what they told each other there.
 *
 * A large group meets in two levels (shm_levels.h): its leaders on behalf of
 * those who share a cache with them.
 *
 * A meeting's payload is in one of two slots by turns: it stays until its
 * owner's next but one meeting, which cannot begin before all have come to the
 * next.
 *
 * Giving up: a member whose deadline has passed revokes the group: all its
 * flags become greater than any round or step. Whoever sees that in anybody's
 * flag revokes its own and returns ABORTED. A late member therefore sees it in
 * its first meeting, before it has touched anything; the one that gave up
 * returns when every member that had come to the meeting, and lives, has
 * revoked or left the call.
 *
 * Waiting: a short spin where there is a core for each member, then yielding,
 * then sleeps of up to a millisecond; by turns with the yields, and before each
 * sleep, MPI is let make progress where this thread may call it; and now and
 * then it looks for the job's failure, for the deadline, and for notices.
 *
 * Threads: one member's end, one thread at a time. Orders are C11 atomics
 * alone.
 */
#ifndef COLLECTIVES_CPU_SHM_SHM_H
#define COLLECTIVES_CPU_SHM_SHM_H

#include "base/status.h"
#include "collectives/check/signature.h"
#include "runtime/process/wait.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_shm_group;
struct jd_heap_view;

/* A member's memory that all members see; its bytes are zero before anybody
 * else knows of it. Aligned to JD_CONTROL_ALIGNMENT. */
struct jd_segment;
#define JD_CONTROL_ALIGNMENT 4096
size_t jd__shm_segment_size(int group_size);

/* The same of a member that is alone in its group, in a communicator none of
 * whose groups has another: what it needs, and how much of that is zero. */
size_t jd__shm_segment_alone_size(void);
size_t jd__shm_segment_zeros(void);

/* One member, as it is seen from this process. */
struct jd_shm_member {
    struct jd_segment *control;
    char *heap;                /* its process's, where it is mapped here */
    uint64_t heap_size;        /* offsets beyond it are not believed */
    struct jd_heap_view *view; /* NULL: all of it can be read */
    uint64_t opened;           /* as far as it is known to be, with a view */
    int process;
    int number; /* in the communicator, for sentences */
    int pid;    /* for process_vm_readv; 0: not to be tried */
};

struct jd_shm_spec {
    const struct jd_shm_member *members; /* copied */
    int size;
    int index;
    /* The subgroup of each member, read while the group is made; NULL: all meet
     * at once. The same on all members. */
    const int *subgroups;
    struct jd_wait wait; /* whose operation and detail each meeting replaces */
    int cores;           /* that the members of this host share */
    void (*make_progress)(void *arg); /* MPI's; or NULL */
    /* A living member keeps hold of the buffers of a call that was given up;
     * or NULL. text is the sentence about it. */
    void (*on_stuck)(void *arg, int process, const char *text);
    void *arg;
};

/* Returns JD_OK; RESOURCE_EXHAUSTED naming operation. */
jd_status jd__shm_create(const struct jd_shm_spec *spec, const char *operation,
                         struct jd_shm_group **ret_group);

/*
 * Frees this end and tells the other members that their blocks are not read
 * from here any more. Never waits. The own block may be freed or used again
 * when jd__shm_segment_is_left() says so: that all others have done the same.
 */
void jd__shm_destroy(struct jd_shm_group *group);
bool jd__shm_segment_is_left(const struct jd_segment *control, int group_size);

int jd__shm_size(const struct jd_shm_group *group);
int jd__shm_index(const struct jd_shm_group *group);

/* ---- meeting ------------------------------------------------------------ */

/* The first 48 bytes are in one cache line with the flag. */
#define JD_SHM_PAYLOAD 4080

/* What the next waits are for; texts stay until the next call of this. */
void jd__shm_begin(struct jd_shm_group *group, const char *operation,
                   const char *detail);

/* Where the next meeting's payload may be written instead of being copied:
 * JD_SHM_PAYLOAD bytes that nobody reads until then. */
void *jd__shm_payload_space(const struct jd_shm_group *group);

/* The meeting of a group of one: the payload is what was written into its
 * space. Returns: JD_OK; ABORTED as jd__shm_meet. */
jd_status jd__shm_meet_alone(struct jd_shm_group *group);

/*
 * Tells all members the signature and the payload (at most JD_SHM_PAYLOAD
 * bytes; may differ in length), and waits for theirs. Signatures are not
 * compared.
 * Returns: JD_OK; DEADLINE_EXCEEDED naming those who did not come; ABORTED
 *   where another member gave up, or the job has failed.
 */
jd_status jd__shm_meet(struct jd_shm_group *group,
                       const struct jd_signature *signature,
                       const void *payload, size_t bytes);

/*
 * What leaders make of payloads on the way, where the group meets in two
 * levels and all came with the same signature: all members then find one result
 * instead of reading all payloads. All come with the same one, or none.
 */
#define JD_SHM_MERGED 4072
struct jd_shm_merge {
    /* The payloads of count members, in order, into JD_SHM_MERGED bytes. False:
     * they are not to be merged. */
    bool (*gather)(void *arg, const int *members, int count, void *part);
    /* The parts of all subgroups, in order, into as many. */
    void (*finish)(void *arg, const void **parts, int count, void *result);
    void *arg;
};
jd_status jd__shm_meet_merging(struct jd_shm_group *group,
                               const struct jd_signature *signature,
                               const void *payload, size_t bytes,
                               const struct jd_shm_merge *merge);
/* What finish made in the last meeting; NULL: nothing was merged. Stays as
 * payloads do. */
const void *jd__shm_merged(const struct jd_shm_group *group);

const struct jd_signature *jd__shm_signature(const struct jd_shm_group *group,
                                             int member);
/* Whether all came with the signature that this member came with, but for the
 * status. */
bool jd__shm_agrees(const struct jd_shm_group *group);
/* Aligned to 8 bytes; stays until this member's next meeting begins. */
const void *jd__shm_payload(const struct jd_shm_group *group, int member);

/*
 * This member has done with the call that the last meeting began: it touches
 * nobody's buffers any more. To be said at each call's end, successful or not:
 * one that gives up later waits for those alone that have not said so.
 */
void jd__shm_leave(struct jd_shm_group *group);

/* ---- steps -------------------------------------------------------------- */

/* Says that this member has done what comes before; the number of its step. */
uint64_t jd__shm_advance(struct jd_shm_group *group);
uint64_t jd__shm_steps(const struct jd_shm_group *group);

/* Waits until the member, or each member, has advanced to the step.
 * Returns: as jd__shm_meet. */
jd_status jd__shm_await(struct jd_shm_group *group, int member, uint64_t step);
jd_status jd__shm_await_all(struct jd_shm_group *group, uint64_t step);

/* Advances and waits for all. */
jd_status jd__shm_step(struct jd_shm_group *group);

/*
 * Waits for a word of shared memory to become at least value; for boxes
 * and other flags in bounce memory. member is whom it waits for. A word that
 * is to be waited for must become JD_SHM_REVOKED when its writer gives up
 * (jd__shm_p2p_revoke()).
 */
#define JD_SHM_REVOKED UINT64_MAX
jd_status jd__shm_await_word(struct jd_shm_group *group, int member,
                             const _Atomic uint64_t *word, uint64_t value);

/* This member gives up, for a reason of its own (an MPI failure in the middle
 * of a collective): the others' waits return ABORTED. Never waits. */
void jd__shm_revoke(struct jd_shm_group *group);

/* This member's waits and the others' return ABORTED, those that come later
 * too. Never waits. Threads: any. */
void jd__shm_abort(struct jd_shm_group *group);

/* The number, in the communicator, of the first other member that has done one
 * of the two; -1. Never waits. */
int jd__shm_find_failed(const struct jd_shm_group *group);

/* ---- memory ------------------------------------------------------------- */

/* Where a buffer is, for another member: an offset in its process's heap, or
 * JD_PLACE_PRIVATE. Travels in payloads. */
#define JD_PLACE_PRIVATE UINT64_MAX
uint64_t jd__shm_place(const struct jd_shm_group *group, const void *data,
                       size_t bytes);

/* The same bytes as this process sees them; NULL for JD_PLACE_PRIVATE and for
 * what does not lie in that member's heap. */
void *jd__shm_at(const struct jd_shm_group *group, int member, uint64_t place,
                 size_t bytes);

/* A member's bounce memory: JD_SHM_BOUNCE bytes that all members may read
 * and write, in the order that meetings and steps give. */
#define JD_SHM_BOUNCE ((size_t)1 << 20)
#define JD_SHM_BOUNCE_ALONE ((size_t)36 << 10) /* of a member that is alone */
char *jd__shm_bounce(const struct jd_shm_group *group, int member);

#endif
