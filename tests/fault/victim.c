/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * victim WHERE WHO HOW - a job in which somebody fails. All processes come to
 * WHERE; those that WHO names ("3", "2-5", "0-7") fail there, in the way HOW.
 *
 *   WHERE  psum, sync, barrier, kv, mpi, loop: what the others are in;
 *          exit, return, check, finalize: how they come to jd_shutdown;
 *          a name of calls.c: all make that call again and again
 *   HOW    kill, stop, exit, _exit, return, abort, jd_abort, report, check;
 *          close: closes all descriptors but the first three, and goes on;
 *          kill-inside: when the call has been made some times, wherever the
 *          process is then
 *
 * The one that fails is in a range "failing" of its own then, all in "work".
 *
 * With a word more, "callback", survivors have a callback for failures; with
 * "callback-exits" it ends by exit(0).
 */
#include "calls.h"

#include <jd.h>
#include <jd_mpi.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_CODE = 3, ABORT_CODE = 5, REPORT_CODE = 9, LONG = 300, SOME = 20 };

static bool is(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}

/* ---- how a process fails ------------------------------------------------ */

/* Reports, goes on for a while, and ends as it likes. */
static void report(void)
{
    JD_CHECK(jd_report_error(JD_DATA_LOSS, "the checksum is wrong"));
    if (jd_sync_global_devices("after") != JD_ABORTED)
        _exit(90);
    exit(REPORT_CODE);
}

/* Other than a call's own thread, this one may run while it is anywhere. */
static void *kill_later(void *arg)
{
    while (calls_made() < SOME)
        sched_yield();
    raise(SIGKILL);
    return arg;
}

static void kill_inside(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, kill_later, NULL) != 0)
        _exit(91);
}

static void close_all(void)
{
    enum { FIRST = 3, LAST = 4095 };
    for (int fd = FIRST; fd <= LAST; fd++)
        close(fd);
}

static void fail(const char *how)
{
    if (is(how, "kill"))
        raise(SIGKILL);
    else if (is(how, "kill-inside"))
        kill_inside();
    else if (is(how, "stop"))
        raise(SIGSTOP);
    else if (is(how, "exit"))
        exit(EXIT_CODE);
    else if (is(how, "_exit"))
        _exit(0);
    else if (is(how, "abort"))
        abort();
    else if (is(how, "jd_abort"))
        jd_abort(ABORT_CODE, "the disk is full");
    else if (is(how, "close"))
        close_all();
    else if (is(how, "report"))
        report();
    else if (is(how, "check"))
        JD_CHECK(jd_mesh_create(NULL, 0, NULL, NULL, NULL));
}

/* ---- where the others are ----------------------------------------------- */

static void psum_for_ever(void)
{
    static const int shape[] = { -1 };
    static const char *const names[] = { "data" };
    double in = 1, out;
    jd_mesh *mesh;
    JD_CHECK(jd_mesh_create(&mesh, 1, shape, names, NULL));
    for (;;)
        JD_CHECK(jd_psum(jd_mesh_shard(mesh), "data", &in, &out, 1, JD_F64));
}

/* Blocks inside MPI: nobody sends. */
static void receive(void)
{
    char byte;
    MPI_Recv(&byte, 1, MPI_BYTE, MPI_ANY_SOURCE, 7, jd_mpi_comm(),
             MPI_STATUS_IGNORE);
}

static void wait_at(const char *where)
{
    void *value;
    size_t size;
    volatile unsigned count = 0;
    if (is(where, "psum"))
        psum_for_ever();
    else if (is(where, "sync"))
        JD_CHECK(jd_sync_global_devices("never"));
    else if (is(where, "barrier"))
        JD_CHECK(jd_wait_at_barrier("never", LONG, NULL, 0));
    else if (is(where, "kv"))
        JD_CHECK(jd_kv_get("never", LONG, &value, &size));
    else if (is(where, "mpi"))
        receive();
    else if (is(where, "finalize"))
        MPI_Finalize();
    else if (is(where, "exit"))
        exit(0);
    else if (is(where, "check"))
        JD_CHECK(jd_shutdown());
    else if (is(where, "loop"))
        for (;;)
            count++;
    else if (!is(where, "return"))
        calls_make(where, NULL);
}

/* ---- a callback ---------------------------------------------------------- */

static void ask(jd_status status, const char *what)
{
    if (status != JD_OK)
        fprintf(stderr, "in the callback, %s: %s\n", what, jd_error_message());
}

/* Saves, and says how many others do. */
static void save(const jd_peer_failure *failure, void *arg)
{
    int *living = NULL;
    size_t count = 0;
    int64_t saved = 0;
    ask(jd_live_processes(10, &living, &count), "who lives");
    ask(jd_wait_at_barrier("saved", 10, living, count), "the barrier");
    ask(jd_kv_increment("saved", 1, &saved), "the store");
    ask(jd_wait_at_barrier("counted", 10, living, count), "the barrier");
    ask(jd_kv_increment("saved", 0, &saved), "the store");
    printf("process %d saved %s: %zu live, %d have saved, %zu failed\n",
           jd_process_index(), (char *)arg, count, (int)saved,
           failure->num_processes);
    free(living);
    if (is(arg, "callback-exits"))
        exit(0);
}

/* ---- the whole ----------------------------------------------------------- */

static bool is_among(const char *who, int index)
{
    int first = -1, last;
    if (sscanf(who, "%d-%d", &first, &last) != 2)
        last = first;
    return index >= first && index <= last;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    JD_CHECK(jd_initialize());
    /* One of several victims may hear of another before it fails itself: it
     * would save with those that live. */
    bool fails = is_among(argv[2], jd_process_index());
    if (argc > 4 && !(fails && strchr(argv[2], '-')))
        JD_CHECK(jd_on_peer_failure(save, argv[4]));
    JD_CHECK(jd_trace_begin("work"));
    JD_CHECK(jd_sync_global_devices("begin"));
    if (fails) {
        JD_CHECK(jd_trace_begin("failing"));
        fail(argv[3]);
        if (is(argv[3], "return"))
            return EXIT_CODE;
    }
    wait_at(argv[1]);
    return jd_shutdown();
}
