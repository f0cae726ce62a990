/* SPDX-License-Identifier: BSD-3-Clause */
/* standing.c - whether this process can do anything that another waits for. */
#include "base/standing.h"

#include <pthread.h>
#include <stdatomic.h>

static struct {
    atomic_uint threads;     /* that enter, and live or may be followed */
    atomic_uint users;       /* of them, of the program's */
    pthread_mutex_t lock;
    uint64_t waits[JD_STANDING_MOST]; /* 0: free */
    uint64_t calls[JD_STANDING_MOST];
    bool is_users[JD_STANDING_MOST];
    unsigned resting;
    bool knows_all;
} standing = { .lock = PTHREAD_MUTEX_INITIALIZER };

_Thread_local struct jd_standing_thread jd__standing_thread
    __attribute__((tls_model("initial-exec")));

/* ---- threads ------------------------------------------------------------ */

static unsigned count_threads(void)
{
    return atomic_load_explicit(&standing.threads, memory_order_relaxed);
}

/* Only for its destructor, which counts a thread that ends. */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t ends_key;
static int key_error;

static void count_end(void *unused)
{
    (void)unused;
    if (jd__standing_thread.place)
        jd__standing_end();
    jd__standing_thread.is_counted = false;
    atomic_fetch_sub_explicit(&standing.threads, 1, memory_order_relaxed);
}

static void make_key(void)
{
    key_error = pthread_key_create(&ends_key, count_end);
}

static void count_thread(void)
{
    jd__standing_thread.is_counted = true;
    atomic_fetch_add_explicit(&standing.threads, 1, memory_order_relaxed);
}

void jd__standing_count_thread(void)
{
    if (jd__standing_thread.is_counted)
        return;
    atomic_fetch_add_explicit(&standing.users, 1, memory_order_relaxed);
    count_thread();
}

/* One whose end will not be heard of is taken to live. */
void jd__standing_count_own(void)
{
    if (jd__standing_thread.is_counted)
        return;
    count_thread();
    jd__standing_thread.is_own = true;
    pthread_once(&key_once, make_key);
    if (!key_error)
        pthread_setspecific(ends_key, &jd__standing_thread);
}

bool jd__standing_is_only_thread(void)
{
    return count_threads() == (jd__standing_thread.is_counted ? 1 : 0);
}

/* ---- who stands --------------------------------------------------------- */

/* The calling thread's place among them; NULL: it has none. */
static uint64_t *own_wait(void)
{
    int place = jd__standing_thread.place;
    return place ? &standing.waits[place - 1] : NULL;
}

static void find_place(void)
{
    for (int i = 0; i < JD_STANDING_MOST && !own_wait(); i++)
        if (!standing.waits[i])
            jd__standing_thread.place = i + 1;
}

void jd__standing_in(uint64_t wait, uint64_t call)
{
    if (!jd__standing_thread.is_counted)
        return;
    pthread_mutex_lock(&standing.lock);
    find_place();
    int place = jd__standing_thread.place - 1;
    if (place >= 0) {
        standing.waits[place] = wait;
        standing.calls[place] = call;
        standing.is_users[place] = !jd__standing_thread.is_own;
    }
    pthread_mutex_unlock(&standing.lock);
}

int jd__standing_list(uint64_t waits[JD_STANDING_MOST],
                      uint64_t calls[JD_STANDING_MOST])
{
    int count = 0;
    pthread_mutex_lock(&standing.lock);
    for (int i = 0; i < JD_STANDING_MOST; i++) {
        if (!standing.waits[i])
            continue;
        waits[count] = standing.waits[i];
        calls[count++] = standing.calls[i];
    }
    pthread_mutex_unlock(&standing.lock);
    return count;
}

void jd__standing_end(void)
{
    pthread_mutex_lock(&standing.lock);
    if (own_wait())
        *own_wait() = 0;
    jd__standing_thread.place = 0;
    pthread_mutex_unlock(&standing.lock);
}

static void look_at_others(struct jd_standing *seen)
{
    for (int i = 0; i < JD_STANDING_MOST; i++) {
        if (!standing.waits[i] || &standing.waits[i] == own_wait())
            continue;
        seen->waits[seen->count++] = standing.waits[i];
        seen->num_users += standing.is_users[i];
    }
}

void jd__standing_look(struct jd_standing *ret_standing)
{
    *ret_standing =
        (struct jd_standing){ .num_users = !jd__standing_thread.is_own };
    if (!jd__standing_thread.is_counted)
        return;
    pthread_mutex_lock(&standing.lock);
    look_at_others(ret_standing);
    ret_standing->knows_all =
        standing.knows_all &&
        atomic_load_explicit(&standing.users, memory_order_relaxed) <= 1;
    ret_standing->is_whole =
        count_threads() == 1 + (unsigned)ret_standing->count + standing.resting;
    pthread_mutex_unlock(&standing.lock);
}

static void add_resting(unsigned by)
{
    pthread_mutex_lock(&standing.lock);
    standing.resting += by;
    pthread_mutex_unlock(&standing.lock);
}

void jd__standing_rest(void)
{
    jd__standing_count_thread();
    add_resting(1);
}

void jd__standing_go_on(void)
{
    add_resting(-1u);
}

void jd__standing_know_all(void)
{
    pthread_mutex_lock(&standing.lock);
    standing.knows_all = true;
    pthread_mutex_unlock(&standing.lock);
}
