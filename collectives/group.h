/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * group.h - messages between the members of an ordered set of processes, by
 * MPI, each wait with a deadline and the names of those who are missing.
 *
 *     jd__group_meet(group, &(struct jd_signature){ ... }, payload, bytes);
 *     ... jd__group_signature(group, i), jd__group_payload(group, i) ...
 *
 *     jd__group_receive(group, i, buffer, bytes);
 *     jd__group_send(group, j, data, bytes);
 *     status = jd__group_wait(group);
 *
 * Everything travels as bytes on jd's one communicator, under a tag of the
 * group's own: making a group needs no MPI call that could wait for a missing
 * process, and destroying one needs none at all. A group of one makes no MPI
 * call whatsoever. Members are numbered 0..size-1 in the group's order.
 *
 * A step that fails leaves messages under way: the group cannot be used again
 * (jd__group_destroy then keeps the memory that MPI may still touch).
 * Threads: one group, one thread at a time.
 */
#ifndef COLLECTIVES_GROUP_H
#define COLLECTIVES_GROUP_H

#include "runtime/runtime.h"
#include "runtime/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_group;

/* Who; copied by jd__group_create. */
struct jd_group_spec {
    const struct jd_runtime *runtime; /* must outlive the group's use */
    const int *processes;             /* one per member; each one once */
    int size;
    int index; /* this process's place among them */
    int tag;   /* nobody else uses it between the same processes */
};

/* Tags that are not agreed upon. */
enum {
    JD_TAG_HANDSHAKE = 1, /* where a clique's members agree on a tag */
    JD_TAG_PROCESSES = 2, /* all processes: the multihost utilities */
    JD_TAG_FIRST_CLIQUE = 16,
};

/* What the members of a meeting can be doing. */
#define JD_ACTIVITY_MAP(X)                                                     \
    X(PSUM, "jd_psum")                                                         \
    X(ALL_GATHER, "jd_all_gather")                                             \
    X(PBROADCAST, "jd_pbroadcast")                                             \
    X(BROADCAST_ONE_TO_ALL, "jd_broadcast_one_to_all")                         \
    X(PROCESS_ALLGATHER, "jd_process_allgather")                               \
    X(SYNC_GLOBAL_DEVICES, "jd_sync_global_devices")                           \
    X(ASSERT_EQUAL, "jd_assert_equal")

enum jd_activity {
#define JD_ACTIVITY_ENUM_ROW(name, text) JD_ACTIVITY_##name,
    JD_ACTIVITY_MAP(JD_ACTIVITY_ENUM_ROW)
#undef JD_ACTIVITY_ENUM_ROW
        JD_ACTIVITY_COUNT
};

/* "jd_psum"; for a number that is none, "not an activity". */
const char *jd__activity_name(uint32_t activity);

/*
 * What a member comes to a meeting with. All but status must be the same on
 * all members; status is not JD_OK where a member only comes to say that it
 * cannot take part.
 */
struct jd_signature {
    uint32_t activity; /* enum jd_activity */
    uint32_t dtype;
    int32_t source;
    int32_t status;
    uint64_t count;
    uint64_t digest; /* of what does not fit here */
};

/*
 * How much payload a meeting carries beside the signature. With MPI's header
 * the message stays within the 4096 bytes that Open MPI sends at once inside a
 * host. Measured: a sum of 4000 bytes takes 1.3 us (2 processes on 2 cores; 4:
 * 7 us); 4 bytes more, which go by shares after the meeting, take 3.0 us (4:
 * 14 us), and in one message of 4096 bytes they would take 3.4 us (4: 18 us).
 */
#define JD_MEETING_MESSAGE 4032
#define JD_MEETING_PAYLOAD (JD_MEETING_MESSAGE - sizeof(struct jd_signature))

/* The largest single message; longer data goes in pieces. */
#define JD_GROUP_MAX_MESSAGE ((size_t)1 << 30)

/*
 * How long a piece is: what stays in the caches while it is reduced. Measured,
 * a sum of 32 MiB by 2 processes: 4.6 ms in pieces of 256 KiB, 4.1 ms of 1
 * MiB, 4.7 ms of 4 MiB, 7 to 11 ms of 16 MiB (MPI_Allreduce: 14.5 ms).
 */
#define JD_GROUP_PIECE ((size_t)1 << 20)

/* Returns JD_OK; RESOURCE_EXHAUSTED naming operation. */
jd_status jd__group_create(const struct jd_group_spec *spec,
                           const char *operation, struct jd_group **ret_group);
void jd__group_destroy(struct jd_group *group);

int jd__group_size(const struct jd_group *group);
int jd__group_index(const struct jd_group *group);
int jd__group_process(const struct jd_group *group, int member);
const struct jd_runtime *jd__group_runtime(const struct jd_group *group);

/* What the next waits are for; both must stay until the next call of this.
 * detail (or NULL) follows the operation in sentences. */
void jd__group_begin(struct jd_group *group, const char *operation,
                     const char *detail);
/* The operation that jd__group_begin was given. */
const char *jd__group_operation(const struct jd_group *group);

/* How long data is cut: JD_GROUP_PIECE unless a test sets another length. All
 * members must have the same. */
size_t jd__group_piece(const struct jd_group *group);
void jd__group_set_piece(struct jd_group *group, size_t bytes);

/* From now on the group's messages have this tag. */
void jd__group_set_tag(struct jd_group *group, int tag);

/*
 * Gives every member everybody's signature and payload (at most
 * JD_MEETING_PAYLOAD bytes; members may give different lengths). All messages
 * of all meetings look alike, so members who come with different intentions
 * meet all the same, and find out.
 * Returns: as jd__group_wait. Signatures are not compared here.
 */
jd_status jd__group_meet(struct jd_group *group,
                         const struct jd_signature *signature,
                         const void *payload, size_t bytes);
const struct jd_signature *jd__group_signature(const struct jd_group *group,
                                               int member);
/* Aligned for any type; it stays until the next meeting. */
const void *jd__group_payload(const struct jd_group *group, int member);

/* Two members of the last meeting whose signatures differ: odd, and one who
 * agrees with most. False where all agree. Same answer on every member. */
bool jd__group_find_odd(const struct jd_group *group, int *ret_odd,
                        int *ret_other);

/*
 * After a meeting: JD_OK, or a failure if a member came with a status that is
 * not JD_OK. Every member returns that status, naming the lowest such member.
 */
jd_status jd__group_check_status(const struct jd_group *group);

/*
 * Posts one message, at most JD_GROUP_MAX_MESSAGE bytes; to and from each
 * member at most one between two waits. Zero bytes are no message.
 * Returns: JD_OK; INTERNAL when MPI fails.
 */
jd_status jd__group_receive(struct jd_group *group, int member, void *data,
                            size_t bytes);
jd_status jd__group_send(struct jd_group *group, int member, const void *data,
                         size_t bytes);

/*
 * Waits for all that was posted.
 * Returns: JD_OK; DEADLINE_EXCEEDED naming the members that are missing;
 *   INTERNAL when MPI fails.
 */
jd_status jd__group_wait(struct jd_group *group);

/*
 * At least bytes of memory, aligned for any type, that belongs to the group
 * and stays until the next call of this; NULL where there is none. Grows and
 * never shrinks.
 */
void *jd__group_scratch(struct jd_group *group, size_t bytes);

#endif
