/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_private.h - what a group's end and a segment are, for the files
 * of its name.
 */
#ifndef COLLECTIVES_CPU_SHM_SHM_PRIVATE_H
#define COLLECTIVES_CPU_SHM_SHM_PRIVATE_H

#include "collectives/cpu/shm/shm.h"

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>

#define JD_CACHE_LINE 64

#define JD_SHM_EARLY ((size_t)1 << 18)
#define JD_SHM_NOTE 128
#define JD_SHM_HALF (JD_SHM_BOUNCE / 2) /* pieces go through them by turns */

/* What a member brings to a meeting. Its flag is the meeting's number. The
 * signature's digest stands for it, so that a short payload is in the flag's
 * cache line. */
struct jd_slot {
    alignas(JD_CACHE_LINE) _Atomic uint64_t round;
    uint64_t digest;
    unsigned char payload[JD_SHM_PAYLOAD];
};
static_assert(sizeof(struct jd_slot) == 4096, "whole pages");

/* What a leader hands on in a meeting: its flag is the meeting's number, and
 * what is short is in the flag's cache line. */
struct jd_handover {
    alignas(JD_CACHE_LINE) _Atomic uint64_t round;
    uint64_t digest; /* of the leader's signature */
    uint32_t agrees; /* all that it stands for came with that one */
    uint32_t has_data;
    unsigned char data[JD_SHM_MERGED];
};
static_assert(sizeof(struct jd_handover) == 4096, "whole pages");

struct jd_segment {
    struct jd_slot slots[2];
    /* Whole, of the same meetings: read where digests differ. */
    alignas(JD_CACHE_LINE) struct jd_signature signatures[2];
    /* Written often by the owner. */
    alignas(JD_CACHE_LINE) _Atomic uint64_t step;
    /* Written by the others, once each. */
    alignas(JD_CACHE_LINE) _Atomic uint64_t departed;
    /* The owner is to revoke as soon as it looks. */
    atomic_bool is_aborted;
    /* Another member has given up: it says so itself. */
    atomic_bool is_told;
    /* The last meeting whose call the owner has left. */
    alignas(JD_CACHE_LINE) _Atomic uint64_t left;
    /* A word of the owner's private memory, and where it is (0: not yet); what
     * the owner found out about the others'. */
    uint64_t secret;
    _Atomic uint64_t secret_at;
    atomic_int reads;
    /* What a collective tells after its meeting; a step later it is there. */
    alignas(JD_CACHE_LINE) unsigned char note[JD_SHM_NOTE];
    /* A member that is alone has the first part of it, and nothing behind. */
    alignas(JD_CONTROL_ALIGNMENT) char bounce[JD_SHM_BOUNCE];
    /* Of the meetings: what a leader tells the others of its subgroup, and what
     * it tells its subgroup of all. */
    struct jd_handover gathered[2], released[2];
    /* For what is given before a meeting, by turns as the slots. */
    char early[2][JD_SHM_EARLY];
};

/* How a group meets in two levels. */
struct jd_shm_levels {
    int leader;  /* of this member's subgroup */
    int num_own; /* members of the subgroup that this one leads; 0: none */
    int num_leaders;
    int *leaders;  /* by rising subgroup */
    int numbers[]; /* the own ones, in order, then the leaders */
};

struct jd_shm_group {
    struct jd_shm_spec spec;
    struct jd_shm_member *members;
    int *processes;               /* of each member, for sentences */
    struct jd_shm_levels *levels; /* NULL: one */
    const void **ins;             /* a place for each member, for folds */
    void **outs;                  /* and one more */
    struct jd_shm_p2p *p2p;
    uint64_t secret; /* shm_cma.h: for the others to be read */
    bool is_one_process;
    bool has_tried;      /* to read theirs */
    bool is_read_by_all; /* for certain */
    void *scratch;       /* grows and never shrinks */
    size_t scratch_bytes;
    struct jd_segment *own;
    int size;
    int index;
    int spins; /* looks at a flag before the first yield */
    uint64_t round;
    uint64_t step;
    uint64_t digests[2]; /* of the own signatures, by turns as the slots */
    bool is_revoked;
};

/* Which flag of a member. */
enum jd_flag {
    JD_FLAG_ROUND,
    JD_FLAG_STEP,
    JD_FLAG_GATHERED,
    JD_FLAG_RELEASED
};

/* ---- shm_levels.c ------------------------------------------------------- */

/* NULL where there is no memory. */
struct jd_shm_levels *jd__shm_levels_create(const struct jd_shm_spec *spec);

/* The wait of a meeting in two levels, once this member's slot is there. */
jd_status jd__shm_levels_meet(struct jd_shm_group *group,
                              const struct jd_shm_merge *merge);

/* What the own leader has released in the last meeting. */
const struct jd_handover *
jd__shm_levels_released(const struct jd_shm_group *group);

/* ---- shm_wait.c --------------------------------------------------------- */

int jd__shm_spins(const struct jd_shm_spec *spec);

/* Waits until that flag of every member has the value. */
jd_status jd__shm_await_flags(struct jd_shm_group *group, enum jd_flag flag,
                              uint64_t value);

/* Waits until that flag of those members has this meeting's number. */
jd_status jd__shm_await_members(struct jd_shm_group *group, enum jd_flag flag,
                                const int *members, int count);

/* ABORTED, after letting go, where another member has told that it gave up. */
jd_status jd__shm_check_told(struct jd_shm_group *group);

/* What a member does while it waits for several others at a time. */
enum jd_work { JD_WORK_IDLE, JD_WORK_MOVED, JD_WORK_DONE, JD_WORK_FAILED };

struct jd_shm_work {
    /* Does what can be done. IDLE: nothing could; FAILED: with that status and
     * its sentence. */
    enum jd_work (*work)(void *arg, jd_status *ret_status);
    /* Writes the members that it waits for, each at most once; their number. */
    int (*find_missing)(void *arg, int *members);
    /* Whether a member that has not revoked may touch our buffers. */
    bool (*holds_on)(void *arg, int member);
};

/* Works until all is done, each deadline beginning when something was.
 * Returns: as jd__shm_await_all, or what the work failed with. */
jd_status jd__shm_await_work(struct jd_shm_group *group,
                             const struct jd_shm_work *work, void *arg);

/*
 * Gives up with that status and the sentence that is there: revokes, and waits
 * until no living member that has come to this meeting can touch this one's
 * buffers. Adds to the sentence where one does not let go. Returns status.
 */
jd_status jd__shm_let_go(struct jd_shm_group *group, jd_status status);

/* ABORTED: a call on a group that has been revoked. */
jd_status jd__shm_fail_revoked(const struct jd_shm_group *group);

#endif
