/* SPDX-License-Identifier: BSD-3-Clause */
/* child.c - sockets that a forked child closes. */
#include "runtime/coordination/net/child.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* A bit per descriptor: nothing has to be locked to read it in a child. */
static _Atomic uint64_t noted[JD_CHILD_FILES / 64];

static bool can_be_noted(int fd)
{
    return fd >= 0 && fd < JD_CHILD_FILES;
}

void jd__child_note(int fd)
{
    if (can_be_noted(fd))
        atomic_fetch_or(&noted[fd / 64], (uint64_t)1 << fd % 64);
}

void jd__child_forget(int fd)
{
    if (can_be_noted(fd))
        atomic_fetch_and(&noted[fd / 64], ~((uint64_t)1 << fd % 64));
}

void jd__child_close_all(void)
{
    for (int word = 0; word < JD_CHILD_FILES / 64; word++) {
        uint64_t bits = atomic_exchange(&noted[word], 0);
        for (int bit = 0; bits; bit++, bits >>= 1)
            if (bits & 1)
                close(64 * word + bit);
    }
}

static void install_fork_handler(void)
{
    pthread_atfork(NULL, NULL, jd__child_close_all);
}

void jd__child_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_fork_handler);
}
