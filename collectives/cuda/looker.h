/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * looker.h - a list of things, and a thread of its own that looks at all of
 * them now and then, from the first that is added to the last that goes.
 *
 *     static struct jd_looker looker =
 *         JD_LOOKER("jd-gpu-watch", 0.1, look_at_all);
 *     jd__looker_add(&looker, &watch->looked);
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_CUDA_LOOKER_H
#define COLLECTIVES_CUDA_LOOKER_H

#include <pthread.h>
#include <stdbool.h>

/* What is looked at begins with one. */
struct jd_looked {
    struct jd_looked *next;
};

struct jd_looker {
    const char *thread;
    double seconds;                               /* between two rounds */
    void (*look_at_all)(struct jd_looked *first); /* locked; may block */
    pthread_mutex_t lock;
    /* Guarded by lock: */
    pthread_cond_t changed; /* while it is running */
    struct jd_looked *first;
    bool is_running;
};

#define JD_LOOKER(thread, seconds, look)                                       \
    {                                                                          \
        thread, seconds, look, .lock = PTHREAD_MUTEX_INITIALIZER               \
    }

/* False where there is no thread: then nobody looks. */
bool jd__looker_add(struct jd_looker *looker, struct jd_looked *looked);
/* NULL: all; one that was not added is none. Blocks: while the thread looks. */
void jd__looker_remove(struct jd_looker *looker, struct jd_looked *looked);

#endif
