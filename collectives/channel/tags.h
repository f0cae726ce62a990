/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tags.h - ranges of MPI's tags, lent to those who receive with them.
 *
 *     static struct jd_tags tags = JD_TAGS;
 *     status = jd__tags_take(&tags, &space, 8, "jd_psum", &first);
 *     ... messages to this process have the tags first .. first + 7 ...
 *     jd__tags_give(&tags, first);
 *
 * A range is given again as late as possible: ranges follow each other to the
 * end of the space, then from its beginning where there is room. So a message
 * that nobody has received, of somebody who has given up, meets nobody for a
 * long time.
 * Threads: any.
 */
#ifndef COLLECTIVES_CHANNEL_TAGS_H
#define COLLECTIVES_CHANNEL_TAGS_H

#include "base/status.h"

#include <pthread.h>

struct jd_tag_range {
    int first;
    int count;
};

struct jd_tags {
    pthread_mutex_t lock;
    int next;                    /* behind the last one that was lent */
    struct jd_tag_range *ranges; /* lent, in order */
    int num_ranges;
    int capacity;
};

#define JD_TAGS                                                                \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER                                      \
    }

/*
 * Lends count tags in a row, of those that are in the space.
 * Returns: JD_OK; RESOURCE_EXHAUSTED naming operation, where there is no such
 *   row, or no memory.
 */
jd_status jd__tags_take(struct jd_tags *tags, struct jd_tag_range space,
                        int count, const char *operation, int *ret_first);

/* Takes back the range that begins at first. */
void jd__tags_give(struct jd_tags *tags, int first);

/* How many ranges are lent; for tests. */
int jd__tags_lent(struct jd_tags *tags);

#endif
