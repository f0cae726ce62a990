/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.c - how several of jd's threads share MPI. */
#include "runtime/mpi/lock.h"
#include "base/clock.h"
#include "runtime/mpi/world.h"

#include <sched.h>
#include <stdatomic.h>

/* No message has it. A probe that finds a message returns with it, and lets
 * nothing else go on. */
#define TAG_OF_NOBODY 0

#define NOT_USED (-1) /* beside MPI's levels */

#define TRIES_BEFORE_YIELD 100 /* most calls of MPI take less than a us */
#define TRIES_BEFORE_SLEEP 1000
#define LONGEST_SLEEP 100000 /* ns: one that moves a long piece */

/*
 * A word, not a mutex: who gives it back has just put a message where another
 * process reads, and a mutex's locked instruction would wait until that has
 * gone. Nothing inside it waits, so that who wants it may poll.
 */
static struct {
    atomic_bool is_taken;
    atomic_int level;   /* MPI's; NOT_USED: no world has had MPI */
    atomic_int waiting; /* in jd__mpi_lock */
} state = { .level = NOT_USED };

void jd__mpi_lock_configure(void)
{
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    atomic_store(&state.level, level);
}

static int thread_level(void)
{
    return atomic_load_explicit(&state.level, memory_order_relaxed);
}

static bool needs_lock(void)
{
    return thread_level() == MPI_THREAD_SERIALIZED;
}

static bool take_lock(void)
{
    return !atomic_load_explicit(&state.is_taken, memory_order_relaxed) &&
           !atomic_exchange_explicit(&state.is_taken, true,
                                     memory_order_acquire);
}

/* Who holds it may need this thread's processor. */
static void give_turn(unsigned tries)
{
    if (tries >= TRIES_BEFORE_SLEEP)
        jd__clock_sleep_step(tries - TRIES_BEFORE_SLEEP, LONGEST_SLEEP);
    else if (tries >= TRIES_BEFORE_YIELD)
        sched_yield();
}

void jd__mpi_lock(void)
{
    if (!needs_lock() || take_lock())
        return;
    atomic_fetch_add(&state.waiting, 1);
    for (unsigned tries = 1; !take_lock(); tries++)
        give_turn(tries);
    atomic_fetch_sub(&state.waiting, 1);
}

bool jd__mpi_try_lock(void)
{
    if (!needs_lock())
        return true;
    return atomic_load_explicit(&state.waiting, memory_order_relaxed) == 0 &&
           take_lock();
}

void jd__mpi_unlock(void)
{
    if (needs_lock())
        atomic_store_explicit(&state.is_taken, false, memory_order_release);
}

bool jd__mpi_may_call(void)
{
    int level = thread_level(), is_main = 1;
    if (level == MPI_THREAD_SINGLE || level == MPI_THREAD_FUNNELED)
        MPI_Is_thread_main(&is_main);
    return is_main;
}

static const char *level_name(int level)
{
    return level == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE"
                                      : "MPI_THREAD_FUNNELED";
}

jd_status jd__mpi_check_thread(const char *operation)
{
    if (jd__mpi_may_call())
        return JD_OK;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s: MPI was initialised with %s, which leaves it to the "
                   "thread that did so, and this is another; call from that "
                   "thread, or ask MPI_Init_thread for MPI_THREAD_SERIALIZED",
                   operation, level_name(thread_level()));
}

bool jd__mpi_serves_threads(void)
{
    int level = thread_level();
    return level == NOT_USED || level >= MPI_THREAD_SERIALIZED;
}

jd_status jd__mpi_check_devices(const char *operation, int count)
{
    if (count <= 1 || jd__mpi_serves_threads())
        return JD_OK;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s: this process has %d devices, with a thread each, and "
                   "MPI was initialised with %s, which serves one; ask "
                   "MPI_Init_thread for MPI_THREAD_SERIALIZED, let "
                   "jd_initialize() start MPI, or set JD_NUM_CPU_DEVICES=1",
                   operation, count, level_name(thread_level()));
}

void jd__mpi_make_progress(void *world)
{
    const struct jd_world *mine = world;
    int found;
    if (!mine->has_mpi || !jd__mpi_may_call() || !jd__mpi_try_lock())
        return;
    MPI_Iprobe(mine->index, TAG_OF_NOBODY, mine->comm, &found,
               MPI_STATUS_IGNORE);
    jd__mpi_unlock();
}
