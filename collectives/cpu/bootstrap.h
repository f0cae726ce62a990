/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bootstrap.h - how the processes of a communicator-to-be come to terms, by a
 * leader each: that they mean the same, where their members' segments and tags
 * are, and who can see whose memory.
 *
 *     struct jd_bootstrap a = { .spec = spec, .layout = layout,
 *                               .begin = jd__clock_now() };
 *     status = jd__bootstrap_meet(&a, &desc);
 *     if (status == JD_OK)
 *         status = jd__bootstrap_see(&a);
 *     ... make the members' ends, from a.groups and a.processes ...
 *     status = jd__bootstrap_end(&a, status);      all have made theirs
 *     ... take what is to stay: views, controls, tags ...
 *     jd__bootstrap_finish(&a);
 *
 * Collective: the processes of the layout; once one step has failed, only
 *   finish follows, and end where see was JD_OK.
 * Blocks: all steps together with one collective deadline, from begin on. A
 *   process that fails on its own comes all the same, with its status, and all
 *   return that.
 * Threads: one bootstrap, one thread; several bootstraps at once, whose
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

/* What a process tells its host's others of itself; plain bytes. */
struct jd_peer_info {
    struct jd_heap_desc heap;
    uint64_t cores[JD_CORE_WORDS]; /* that it may run on, a bit each */
    int64_t subgroup_size;         /* JD_SUBGROUP_SIZE */
};

struct jd_bootstrap {
    const struct jd_comm_spec *spec; /* the leader's */
    const struct jd_layout *layout;
    double begin; /* on the clock, of the call that needs it first */

    struct jd_channel *channel; /* the processes */
    struct jd_heap *heap;       /* NULL: this process has none */
    int *numbers;               /* of processes, in several orders */
    int *order;                 /* by rising process */
    int *groups;                /* of each process */
    int num_groups;
    int *first_tags; /* of each: of the messages to its members */

    /* The processes of this host that have memory for each other, this one
     * among them, and what each tells. */
    int *neighbours;
    int num_neighbours;
    bool is_scattered; /* no process shares memory with another, and none has
                        * several members: each is alone */
    int *places;       /* of each process among them; -1 */
    struct jd_peer_info *infos;
    struct jd_heap_view **views; /* NULL: not seen */

    struct jd_held_segment **controls; /* of this process's members */
    int first_tag;                     /* -1: none */

    struct jd_comm_desc desc;
    size_t told_bytes;
    unsigned char *told; /* by each neighbour, told_bytes of each */
    bool is_told;        /* others may know of the segments */
};

/* Compares descriptions, and hears where each process's tags begin. */
jd_status jd__bootstrap_meet(struct jd_bootstrap *a,
                             const struct jd_comm_desc *desc);

/* Among the neighbours: maps their heaps, takes segments, and derives the
 * groups, which all processes then hear of. */
jd_status jd__bootstrap_see(struct jd_bootstrap *a);

/* After that: what is seen of a process of this one's group; the view may be
 * NULL. */
const struct jd_peer_info *jd__bootstrap_peer_info(const struct jd_bootstrap *a,
                                                   int process);
struct jd_heap_view *jd__bootstrap_view(const struct jd_bootstrap *a,
                                        int process);

/* The segment of a member whose process is seen; NULL where
 * what its process told of it cannot be. */
struct jd_segment *jd__bootstrap_control(const struct jd_bootstrap *a,
                                         int member);

/* The cores that the processes of a group may run on. */
int jd__bootstrap_cores(const struct jd_bootstrap *a, int group);

jd_status jd__bootstrap_end(struct jd_bootstrap *a, jd_status status);

/* Frees what is still in it. */
void jd__bootstrap_finish(struct jd_bootstrap *a);

#endif
