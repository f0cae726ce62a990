/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_flow.h - bytes that go from members of a group to members of it, by the
 * way that each producer's memory allows: what shm_move.h is made of.
 *
 *     struct jd_shm_flow flow = { .group = group, .ops = &ops, .arg = &mine,
 * ... }; jd__shm_flow_give(&flow, &given);       before the members meet
 *     ... jd__shm_meet, each with its struct jd_given as payload ...
 *     status = jd__shm_flow_run(&flow);
 *
 * A stream goes from each producer to each of its consumers; what is in it, the
 * ops say. Ways, which the producer chooses and all members know from what it
 * told: straight   the consumers copy out of its buffer, which they can read
 * (its heap, or private memory of a process that they may read), and a step at
 * the end lets it go. bounce     the producer copies into its bounce memory,
 * piece by piece, and the consumers out of it. The first piece is there when
 * the members meet, and where it is the only one nothing else is waited for.
 *              Each later piece is a step, and there are two halves: while the
 *              consumers read one, the producer writes the other.
 * A producer whose out overwrites its in must not be read straight; it gives
 * each piece before it takes the same piece of any stream.
 *
 * Threads and failures: as shm.h. After a failure the buffers are nobody
 * else's any more.
 */
#ifndef COLLECTIVES_CPU_SHM_SHM_FLOW_H
#define COLLECTIVES_CPU_SHM_SHM_FLOW_H

#include "collectives/cpu/shm/shm.h"
#include "collectives/cpu/shm/shm_cma.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a producer tells about its in. */
struct jd_given {
    uint64_t place;   /* jd__shm_place(), or JD_PLACE_PRIVATE */
    uint64_t address; /* in its process, where the others may read that: or 0 */
    uint64_t bytes;   /* that these two span */
    uint64_t longest; /* bytes of its longest stream that bounces, or 0 */
};

struct jd_shm_flow;

/* Each is asked for streams that this member gives or takes; own ones, of
 * which it is both, only of bytes and copy. */
struct jd_shm_flow_ops {
    /* How long a stream is. */
    size_t (*bytes)(const struct jd_shm_flow *flow, int producer, int consumer);
    /* Copies [begin, begin + bytes) of the own stream to consumer. */
    void (*give)(const struct jd_shm_flow *flow, int consumer, size_t begin,
                 size_t bytes, char *to);
    /* Takes the same of the stream from producer. */
    void (*take)(const struct jd_shm_flow *flow, int producer, size_t begin,
                 size_t bytes, const char *from);
    /* Takes all of it from producer's in. */
    jd_status (*copy)(const struct jd_shm_flow *flow, int producer,
                      struct jd_shm_cma in);
    /* What producer told; known once the members have met. */
    const struct jd_given *(*given)(const struct jd_shm_flow *flow,
                                    int producer);
};

struct jd_shm_flow {
    struct jd_shm_group *group;
    const struct jd_shm_flow_ops *ops;
    const void *arg; /* the ops' */
    const char *in;  /* this member's; NULL where it gives nothing */
    size_t in_bytes; /* all that is read of it */
    bool overwrites; /* this member's out lies over its in */
    bool is_shared;  /* all consumers of a producer get the same stream */
    bool is_late;    /* nothing was given before the members met: the first
                      * piece is a step too */
};

/* Chooses this member's way. */
void jd__shm_flow_choose(const struct jd_shm_flow *flow,
                         struct jd_given *ret_given);

/* Chooses, and gives the first piece where it bounces. */
void jd__shm_flow_give(const struct jd_shm_flow *flow,
                       struct jd_given *ret_given);

/* Everything else. Returns: as jd__shm_await_all; INTERNAL where a member
 * told a place that does not exist. */
jd_status jd__shm_flow_run(const struct jd_shm_flow *flow);

/* For measuring; all members must have the same. */
struct jd_shm_flow_limits {
    size_t inline_bytes;   /* up to JD_SHM_PAYLOAD: streams in payloads */
    size_t straight_bytes; /* shorter streams bounce out of a heap too */
    size_t piece_bytes;    /* the longest piece */
};
extern struct jd_shm_flow_limits jd__shm_flow_limits;

#endif
