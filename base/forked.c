/* SPDX-License-Identifier: BSD-3-Clause */
/* forked.c - a forked child of a process that uses jd. */
#include "base/forked.h"

#include <pthread.h>
#include <unistd.h>

bool jd__forked_is_child;
static pid_t parent;

static void begin_child(void)
{
    jd__forked_is_child = true;
}

static void install_handler(void)
{
    parent = getpid();
    pthread_atfork(NULL, NULL, begin_child);
}

void jd__forked_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_handler);
}

jd_status jd__forked_fail(const char *operation, pid_t of)
{
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s: this is a forked child (pid %d) of the process that "
                   "initialised jd (pid %d); only that one can call it",
                   operation, (int)getpid(), (int)of);
}

jd_status jd__forked_refuse(const char *operation)
{
    return jd__forked_fail(operation, parent);
}
