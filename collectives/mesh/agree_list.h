/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agree_list.h - how a list of processes comes to a call: each says what it
 * calls, all see whether they mean the same, and records go with it. What has
 * been opened for a list is kept for the next call among them.
 *
 *     static struct jd_agree_lists lists = JD_AGREE_LISTS(
 *         TAG, "the ...", "all ... must ...");
 *     struct jd_agree_list *list;
 *     status = jd__agree_list_enter(&lists, "jd_x", mark, arg, &list);
 *     if (status != JD_OK || !list)
 *         return status;                               not one of them
 *     status = jd__agree_list_meet(list, &call, &merge);
 *     ... jd__merge_record(&merge, i) is of list->processes[i] ...
 *     return jd__agree_list_leave(list, status);
 *
 * Collective: all processes of the list, the same calls in the same order.
 * Blocks: meet, with the collective deadline. After a failure that leaves
 *   processes out of step each later call of any of the lists is ABORTED.
 * Threads: one at a time.
 */
#ifndef COLLECTIVES_MESH_AGREE_LIST_H
#define COLLECTIVES_MESH_AGREE_LIST_H

#include "collectives/channel/merge.h"
#include "collectives/mesh/failure.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One list of processes that has come together. */
struct jd_agree_list {
    struct jd_agree_list *next;
    struct jd_agree_lists *lists;
    const char *operation; /* under way */
    struct jd_channel *channel;
    struct jd_ring_comm *recorded;
    int index; /* this process's */
    int size;
    int processes[]; /* rising */
};

/* Those of the world in force whose messages have one tag, the last one used
 * first: lists that share processes call in the same order there. */
struct jd_agree_lists {
    int tag;
    const char *name;     /* in the recorder */
    const char *duty;     /* what a sentence ends with where calls differ */
    pthread_mutex_t lock; /* of the list; never held while anybody waits */
    uint64_t world;       /* the number of the runtime; 0: none yet */
    struct jd_agree_list *first;
    struct jd_failure failure;
};
#define JD_AGREE_LISTS(tag_, name_, duty_)                                     \
    {                                                                          \
        .tag = (tag_), .name = (name_), .duty = (duty_),                       \
        .lock = PTHREAD_MUTEX_INITIALIZER                                      \
    }

/* What a process comes with. */
struct jd_agree_call {
    struct jd_merge_call merge;
    /* Writes what it calls in words: asked for where calls differ. */
    void (*print)(const void *arg, char *text, size_t size);
    const void *arg;
};

/*
 * Begins the call of the processes that mark() makes 1 among the world's; NULL:
 * of all. ret_list is NULL where this process is none of them; then there is
 * nothing to meet for and nothing to leave. operation stays for ever.
 * Returns: JD_OK; ABORTED after a failure; RESOURCE_EXHAUSTED; what
 *   jd__runtime_get says.
 */
jd_status jd__agree_list_enter(struct jd_agree_lists *lists,
                               const char *operation,
                               void (*mark)(const void *arg, char *marks),
                               const void *arg,
                               struct jd_agree_list **ret_list);

/*
 * Meets. Returns: JD_OK; INVALID_ARGUMENT on all where calls differ, naming two
 * processes and what each calls; the status of the first process that came with
 * one; the failures of a wait.
 */
jd_status jd__agree_list_meet(struct jd_agree_list *list,
                              const struct jd_agree_call *call,
                              struct jd_merge *ret_merge);

/* The end of each call that entered, whatever came of it. Returns status. */
jd_status jd__agree_list_leave(struct jd_agree_list *list, jd_status status);

#endif
