/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bootstrap.h - how the processes of a clique-to-be come to terms, by a speaker
 * each: that they mean the same, where their members' control blocks and tags
 * are, and who can see whose memory.
 *
 *     struct jd_agreement a = { .spec = spec, .layout = layout,
 *                               .begin = jd__clock_now() };
 *     status = jd__agreement_meet(&a, &belief);
 *     if (status == JD_OK)
 *         status = jd__agreement_see(&a);
 *     ... make the members' ends, from a.teams and a.processes ...
 *     status = jd__agreement_end(&a, status);      all have made theirs
 *     ... take what is to stay: views, controls, tags ...
 *     jd__agreement_finish(&a);
 *
 * Collective: the processes of the layout; once one step has failed, only
 *   finish follows, and end where see was JD_OK.
 * Blocks: all steps together with one collective deadline, from begin on. A
 * process that fails on its own comes
 *   all the same, with its status, and all return that.
 * Threads: one agreement, one thread; several agreements at once, whose
 *   processes' lowest devices differ.
 */
#ifndef COLLECTIVES_CPU_BOOTSTRAP_H
#define COLLECTIVES_CPU_BOOTSTRAP_H

#include "collectives/cpu/comm_check.h"
#include "collectives/cpu/shm/segment.h"
#include "collectives/mesh/layout.h"

#include <stdbool.h>
#include <stdint.h>

enum { JD_CORE_WORDS = 16 }; /* 1024 cores */

/* What a process tells of itself; plain bytes. */
struct jd_process_card {
    struct jd_arena_card arena;
    int32_t has_arena;
    int32_t first_tag;             /* of the messages to its members */
    uint64_t cores[JD_CORE_WORDS]; /* that it may run on, a bit each */
};

struct jd_agreement {
    const struct jd_clique_spec *spec; /* the speaker's */
    const struct jd_layout *layout;
    double begin; /* on the clock, of the call that needs the clique first */

    struct jd_group *group; /* the processes */
    struct jd_arena *arena; /* NULL: this process has none */
    int *teams;             /* of each process */
    int num_teams;
    struct jd_process_card *cards;     /* of each process */
    struct jd_arena_view **views;      /* of each; NULL: not seen */
    struct jd_held_control **controls; /* of this process's members */
    int first_tag;                     /* -1: none */

    uint64_t digest;
    size_t told_bytes;
    unsigned char *told; /* by each process, told_bytes of each */
    bool is_told;        /* others may know of the control blocks */
};

/* Compares beliefs and exchanges cards. */
jd_status jd__agreement_meet(struct jd_agreement *a,
                             const struct jd_belief *belief);

/* Maps the others' arenas, takes control blocks, and derives the teams. */
jd_status jd__agreement_see(struct jd_agreement *a);

/* After that: the control block of a member whose process is seen; NULL where
 * what its process told of it cannot be. */
struct jd_control *jd__agreement_control(const struct jd_agreement *a,
                                         int member);

/* The cores that the processes of a team may run on. */
int jd__agreement_cores(const struct jd_agreement *a, int team);

jd_status jd__agreement_end(struct jd_agreement *a, jd_status status);

/* Frees what is still in it. */
void jd__agreement_finish(struct jd_agreement *a);

/* The tags that this process's ends have borrowed. */
void jd__agreement_give_tags(int first_tag);

/* For tests: how many ranges of tags are lent. */
int jd__agreement_tags_lent(void);

#endif
