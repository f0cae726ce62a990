/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.h - threads of jd's own, to which no signal of the program comes. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* A thread with all signals blocked. Returns 0, or an errno. */
static inline int jd__thread_start(pthread_t *ret_thread, void *(*body)(void *),
                                   void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(ret_thread, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* As that, with a name of at most 15 characters; nobody joins it. */
static inline int jd__thread_start_detached(const char *name,
                                            void *(*body)(void *), void *arg,
                                            pthread_t *ret_thread)
{
    int error = jd__thread_start(ret_thread, body, arg);
    if (error)
        return error;
    if (name)
        pthread_setname_np(*ret_thread, name);
    pthread_detach(*ret_thread);
    return 0;
}

#endif
