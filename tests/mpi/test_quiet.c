/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_quiet - a small collective whose peer is not late asks nobody for
 * anything: it makes no system call, takes no lock and allocates nothing.
 *
 * This program's own malloc, pthread_mutex_lock and so on stand before the
 * library's, and the kernel tells of system calls by a signal
 * (PR_SET_SYSCALL_USER_DISPATCH). A wait that lasts yields; a call in which
 * nobody yielded is one whose peer was not late.
 */
#include "jd.h"

#include "../lib/sanitized.h"
#include "expect.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <ucontext.h>

/* What stands before the library's function of that name. */
#define EXPORTED __attribute__((visibility("default")))

enum { CALLS = 1000, MOST_BLOCKS = 1000 };

/* What one call did. */
struct account {
    int yields, allocations, locks, system_calls;
    long first_system_call;
};

static _Thread_local volatile bool is_watching;
static _Thread_local volatile struct account account;

/* ---- memory and locks --------------------------------------------------- */

#if defined(__GLIBC__) && !HAS_ASAN
#define COUNTS_MEMORY 1

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void __libc_free(void *memory);

static void note_allocation(void)
{
    if (is_watching)
        account.allocations++;
}

EXPORTED void *malloc(size_t size)
{
    note_allocation();
    return __libc_malloc(size);
}

EXPORTED void *calloc(size_t count, size_t size)
{
    note_allocation();
    return __libc_calloc(count, size);
}

EXPORTED void *realloc(void *memory, size_t size)
{
    note_allocation();
    return __libc_realloc(memory, size);
}

EXPORTED void free(void *memory)
{
    note_allocation();
    __libc_free(memory);
}
#else
#define COUNTS_MEMORY 0
#endif

static int (*real_lock)(pthread_mutex_t *);
static int (*real_trylock)(pthread_mutex_t *);
static int (*real_yield)(void);
static int (*real_sleep)(const struct timespec *, struct timespec *);

/* ISO C has no conversion from what dlsym() gives to a function. */
static void find(const char *name, void *ret_function)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    memcpy(ret_function, &found, sizeof found);
}

__attribute__((constructor)) static void find_all(void)
{
    find("pthread_mutex_lock", &real_lock);
    find("pthread_mutex_trylock", &real_trylock);
    find("sched_yield", &real_yield);
    find("nanosleep", &real_sleep);
}

EXPORTED int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (!real_lock)
        find_all();
    if (is_watching)
        account.locks++;
    return real_lock(mutex);
}

EXPORTED int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    if (!real_trylock)
        find_all();
    if (is_watching)
        account.locks++;
    return real_trylock(mutex);
}

/* ---- waits that last ---------------------------------------------------- */

EXPORTED int sched_yield(void)
{
    if (!real_yield)
        find_all();
    if (is_watching)
        account.yields++;
    return real_yield();
}

EXPORTED int nanosleep(const struct timespec *time, struct timespec *left)
{
    if (!real_sleep)
        find_all();
    if (is_watching)
        account.yields++;
    return real_sleep(time, left);
}

/* ---- system calls ------------------------------------------------------- */

#if defined(__x86_64__) && defined(PR_SET_SYSCALL_USER_DISPATCH)
static _Thread_local char selector = SYSCALL_DISPATCH_FILTER_ALLOW;

/* Notes a thread's first system call and makes it after all; the others of the
 * same watch are let through. A syscall instruction has two bytes. */
static void on_system_call(int number, siginfo_t *info, void *context)
{
    ucontext_t *user = context;
    (void)number;
    selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    account.system_calls++;
    account.first_system_call = info->si_syscall;
    user->uc_mcontext.gregs[REG_RIP] -= 2;
    user->uc_mcontext.gregs[REG_RAX] = info->si_syscall;
}

static bool begin_dispatch(void)
{
    struct sigaction action = { .sa_sigaction = on_system_call,
                                .sa_flags = SA_SIGINFO };
    return sigaction(SIGSYS, &action, NULL) == 0 &&
           prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0L, 0L,
                 &selector) == 0;
}

static void trap(bool traps)
{
    selector =
        traps ? SYSCALL_DISPATCH_FILTER_BLOCK : SYSCALL_DISPATCH_FILTER_ALLOW;
}
#else
static bool begin_dispatch(void)
{
    return false;
}

static void trap(bool traps)
{
    (void)traps;
}
#endif

/* ---- the watch ---------------------------------------------------------- */

static struct account watch_sum(jd_shard *me, double *value)
{
    account = (struct account){ .yields = 0 };
    is_watching = true;
    trap(true);
    jd_status status = jd_psum(me, NULL, value, value, 1, JD_F64);
    trap(false);
    is_watching = false;
    EXPECT_OK(status);
    return account;
}

/* How many of the calls had no late peer; they were quiet. */
static int64_t watch_block(jd_shard *me)
{
    int64_t punctual = 0;
    for (int i = 0; i < CALLS; i++) {
        double value = i;
        struct account did = watch_sum(me, &value);
        EXPECT(value == i * jd_axis_size(me, NULL), "%g", value);
        if (did.yields > 0)
            continue;
        punctual++;
        EXPECT(did.system_calls == 0 && did.locks == 0 && did.allocations == 0,
               "call %d: system calls: %d (the first is number %ld); locks: "
               "%d; allocations: %d",
               i, did.system_calls, did.first_system_call, did.locks,
               did.allocations);
    }
    return punctual;
}

/* The watch sees what it is to see. */
static void check_watch(bool has_dispatch)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    account = (struct account){ .yields = 0 };
    is_watching = true;
    trap(true);
    void *volatile memory = malloc(1);
    free(memory);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    sched_yield();
    trap(false);
    is_watching = false;
    EXPECT(account.allocations == 2 * COUNTS_MEMORY, "%d", account.allocations);
    EXPECT(account.locks == 1, "%d", account.locks);
    EXPECT(account.yields == 1, "%d", account.yields);
    EXPECT(account.system_calls == has_dispatch, "%d", account.system_calls);
}

/* Until each member has had as many calls without a late peer; of members
 * that meet again and again the last to come has one. */
static jd_status be_quiet(jd_shard *me, void *arg)
{
    int64_t punctual = 0, fewest = 0;
    (void)arg;
    bool has_dispatch = begin_dispatch();
    check_watch(has_dispatch);
    EXPECT_OK(jd_barrier(me, NULL));
    for (int block = 0; fewest < CALLS; block++) {
        EXPECT(block < MOST_BLOCKS, "a peer is late nearly always");
        punctual += watch_block(me);
        EXPECT_OK(jd_pmin(me, NULL, &punctual, &fewest, 1, JD_S64));
    }
    if (jd_axis_index(me, NULL) == 0)
        printf("%s; memory %s\n",
               has_dispatch ? "system calls counted"
                            : "no system calls counted",
               COUNTS_MEMORY ? "counted" : "not counted");
    return JD_OK;
}

int main(void)
{
    jd_mesh *mesh;
    JD_CHECK(jd_initialize());
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    EXPECT_OK(jd_shard_map(mesh, be_quiet, NULL));
    jd_mesh_destroy(mesh);
    JD_CHECK(jd_shutdown());
    return 0;
}
