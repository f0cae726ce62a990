/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drilled HOW WHO MOMENT CALLS MICROSECONDS - a process of a job of which one,
 * or several at once, WHO ("2", "0,3"), fail in the way HOW while all are in
 * MOMENT.
 *
 *   HOW     kill, segv, abort, _exit, stop, close: on another thread, wherever
 *           the process is then; exit, leave (exit(0) without jd_shutdown):
 *           between two calls; wait: nobody fails by himself; unharmed: all
 *           come to the end, while something else fails
 *   MOMENT  initialize, shutdown, and the names of moments[] and of calls.c,
 *           which are made again and again
 *
 * It fails MICROSECONDS after it has made so many CALLS. In $FAULT_DIR it makes
 * the file "failed", with its process id, right before; where nobody fails by
 * himself, process 0 makes "ready" then, and, where all are unharmed, goes on
 * when there is a file "go".
 */
#include "calls.h"

#include <jd.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_CODE = 3, LONG = 300, ROWS = 240, PASSES = 20, ALL_FILES = 4096 };

static struct {
    const char *how, *moment;
    const char *who;
    int calls;
    long microseconds;
    bool fails;
} drill;

static atomic_int made;

static bool is(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}

static void nap(long microseconds)
{
    struct timespec left = { microseconds / 1000000,
                             microseconds % 1000000 * 1000 };
    while (nanosleep(&left, &left) != 0)
        ;
}

/* As the launcher says: jd_initialize() has not been called yet. */
static int own_rank(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    rank = rank ? rank : getenv("JD_PROCESS_ID");
    return rank ? atoi(rank) : -1;
}

/* ---- files --------------------------------------------------------------- */

static void path_of(const char *name, char path[4096])
{
    const char *dir = getenv("FAULT_DIR");
    snprintf(path, 4096, "%s/%s", dir ? dir : ".", name);
}

/* Whole, or not there. */
static void make_mark(const char *name)
{
    char part[4096 + 8], path[4096];
    path_of(name, path);
    snprintf(part, sizeof part, "%s.%d", path, own_rank());
    FILE *out = fopen(part, "w");
    if (!out)
        _exit(91);
    fprintf(out, "%ld\n", (long)getpid());
    fclose(out);
    rename(part, path);
}

static void await_mark(const char *name)
{
    char path[4096];
    path_of(name, path);
    while (access(path, F_OK) != 0)
        nap(2000);
}

/* ---- how a process fails ------------------------------------------------- */

static void close_all(void)
{
    for (int fd = 3; fd < ALL_FILES; fd++)
        close(fd);
}

static void crash(void)
{
    int *volatile nowhere = NULL;
    *(volatile int *)nowhere = 1;
}

static bool fails_between_calls(void)
{
    return is(drill.how, "exit") || is(drill.how, "leave");
}

static void fail(void)
{
    make_mark("failed");
    if (is(drill.how, "kill"))
        raise(SIGKILL);
    else if (is(drill.how, "segv"))
        crash();
    else if (is(drill.how, "abort"))
        abort();
    else if (is(drill.how, "_exit"))
        _exit(0);
    else if (is(drill.how, "stop"))
        kill(getpid(), SIGSTOP);
    else if (is(drill.how, "close"))
        close_all();
    else if (is(drill.how, "exit"))
        exit(EXIT_CODE);
    else if (is(drill.how, "leave"))
        exit(0);
    else
        _exit(93);
}

static void *fail_later(void *arg)
{
    while (atomic_load(&made) < drill.calls)
        sched_yield();
    nap(drill.microseconds);
    fail();
    return arg;
}

static void start_to_fail(void)
{
    pthread_t thread;
    if (drill.fails && !fails_between_calls() &&
        pthread_create(&thread, NULL, fail_later, NULL) != 0)
        _exit(91);
}

/* After each call, on any thread. */
static void count_call(void)
{
    if (atomic_fetch_add(&made, 1) + 1 != drill.calls)
        return;
    if (drill.fails && fails_between_calls())
        fail();
    if (is(drill.how, "wait") && jd_process_index() == 0)
        make_mark("ready");
}

/* ---- what they are in ---------------------------------------------------- */

static jd_mesh *make_mesh(void)
{
    static const char *const names[] = { "data" };
    jd_mesh *mesh;
    JD_CHECK(jd_mesh_create(&mesh, 1, (int[]){ -1 }, names, NULL));
    return mesh;
}

static void sync_all(void)
{
    JD_CHECK(jd_sync_global_devices("again"));
}

static void barrier(void)
{
    JD_CHECK(jd_wait_at_barrier("again", LONG, NULL, 0));
}

static int neighbour(void)
{
    return (jd_process_index() + 1) % jd_process_count();
}

/* Each waits for what its neighbour says in this round. */
static void exchange_keys(void)
{
    static int round;
    char key[64];
    void *value;
    size_t size;
    snprintf(key, sizeof key, "said/%d/%d", round, jd_process_index());
    JD_CHECK(jd_kv_set(key, "x", 1, 0));
    snprintf(key, sizeof key, "said/%d/%d", round++, neighbour());
    JD_CHECK(jd_kv_get(key, LONG, &value, &size));
    free(value);
}

static void broadcast(void)
{
    double value = jd_process_index();
    jd_leaf leaf = { &value, JD_F64, 0, NULL };
    JD_CHECK(jd_broadcast_one_to_all(&leaf, 1, 1));
}

static jd_array *make_array(jd_mesh *mesh, const char *spec)
{
    jd_sharding *sharding;
    jd_array *array;
    JD_CHECK(jd_sharding_create(&sharding, mesh, spec));
    JD_CHECK(
        jd_array_zeros(&array, sharding, JD_F64, 2, (int64_t[]){ ROWS, ROWS }));
    jd_sharding_release(sharding);
    return array;
}

static void reshard(void)
{
    static jd_array *rows;
    static jd_sharding *columns;
    jd_array *turned;
    if (!rows) {
        jd_mesh *mesh = make_mesh();
        rows = make_array(mesh, "data,-");
        JD_CHECK(jd_sharding_create(&columns, mesh, "-,data"));
    }
    JD_CHECK(jd_array_reshard(&turned, rows, columns));
    jd_array_release(turned);
}

static void save(void)
{
    static jd_array *rows;
    static const char *const names[] = { "rows" };
    char dir[4096];
    if (!rows)
        rows = make_array(make_mesh(), "data,-");
    path_of("checkpoint", dir);
    JD_CHECK(jd_array_save(dir, names, &rows, 1));
}

static const struct moment {
    const char *name;
    void (*once)(void);
} moments[] = {
    { "sync", sync_all },       { "barrier", barrier }, { "kv", exchange_keys },
    { "broadcast", broadcast }, { "reshard", reshard }, { "save", save },
};

static void repeat(void (*once)(void))
{
    for (;;) {
        once();
        count_call();
    }
}

/* One process, after the first that fails, does not come, so that the others
 * wait. */
static void shut_down(void)
{
    int late = (atoi(drill.who) + 1) % jd_process_count();
    atomic_store(&made, drill.calls);
    if (is(drill.how, "wait") && jd_process_index() == 0)
        make_mark("ready");
    while (jd_process_index() == late)
        pause();
    JD_CHECK(jd_shutdown());
}

static void go_to(const char *name)
{
    if (is(name, "shutdown"))
        shut_down();
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        if (is(name, moments[i].name))
            repeat(moments[i].once);
    calls_make(is(name, "initialize") ? "psum-few" : name, count_call);
}

/* The job pauses while something fails, and goes on. */
static int come_to_the_end(void)
{
    sync_all();
    if (jd_process_index() == 0) {
        make_mark("ready");
        await_mark("go");
    }
    for (int i = 0; i < PASSES; i++) {
        sync_all();
        reshard();
        save();
    }
    return jd_shutdown();
}

/* ---- the whole ----------------------------------------------------------- */

static bool fails_itself(void)
{
    char rank[16];
    snprintf(rank, sizeof rank, "%d", own_rank());
    return !is(drill.how, "wait") && !is(drill.how, "unharmed") &&
           strstr(drill.who, rank);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    drill.how = argv[1];
    drill.who = argv[2];
    drill.moment = argv[3];
    drill.calls = atoi(argv[4]);
    drill.microseconds = atol(argv[5]);
    drill.fails = fails_itself();
    if (is(drill.moment, "initialize"))
        start_to_fail();
    JD_CHECK(jd_initialize());
    if (is(drill.how, "unharmed"))
        return come_to_the_end();
    if (!is(drill.moment, "initialize"))
        start_to_fail();
    sync_all();
    go_to(drill.moment);
    return 94;
}
