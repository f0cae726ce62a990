/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_lost HOW - the last process is lost among collectives, and what the
 * others' waits say:
 *   stopped  it is stopped for longer than the deadline: DEADLINE_EXCEEDED,
 *            naming it; continued, it hears that it is out of step.
 *            Run with JD_COLLECTIVE_TIMEOUT=6
 *   silent   it is stopped until the coordination service misses it, which is
 *            what a callback for failures hears: ABORTED.
 *            Run with JD_HEARTBEAT_TIMEOUT=4
 *   killed   the same at once
 */
#include "jd.h"

#include "expect.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

static int self, last;
static int64_t pid; /* of the last process */
static jd_shard *me;

static jd_status sum(void)
{
    double value = self;
    return jd_psum(me, NULL, &value, &value, 1, JD_F64);
}

static void expect_text(const char *text)
{
    EXPECT(strstr(jd_error_message(), text), "wanted '%s' in: %s", text,
           jd_error_message());
}

static void find_pid(void)
{
    pid = self == last ? getpid() : 0;
    EXPECT_OK(jd_psum(me, NULL, &pid, &pid, 1, JD_S64));
}

/* Members in one memory see that it was given up. Between hosts messages that had
 * been sent before arrive, and who gets all of its own hears nothing; who waits
 * for one more names who has gone on. */
static void expect_late(jd_status status)
{
    bool is_apart = getenv("JD_SHARED_MEMORY") != NULL;
    if (is_apart && status == JD_DEADLINE_EXCEEDED) {
        expect_text("jd_psum over axis \"x\": process 2 has waited ");
        expect_text(" s for process 0 (");
        expect_text("it waits at barrier \"all\"");
        return;
    }
    if (is_apart && status == JD_OK)
        return;
    EXPECT_STATUS(status, JD_ABORTED,
                  "jd_psum over axis \"x\": another member gave up waiting, "
                  "or failed, and the members are out of step; the job should "
                  "end (the one that gave up says why)");
}

/* Who came to its deadline names the process that is stopped. In one memory the
 * first ends the wait of all: whose own time is not nearly over by then hears
 * only that. */
static void expect_given_up(jd_status status)
{
    int64_t count;
    char text[128];
    if (!getenv("JD_SHARED_MEMORY") && status == JD_ABORTED) {
        expect_text("jd_psum over axis \"x\": another member gave up waiting");
        return;
    }
    EXPECT_STATUS(status, JD_DEADLINE_EXCEEDED,
                  "jd_psum over axis \"x\": process ");
    snprintf(text, sizeof text, " s for process %d; ", last);
    expect_text(text);
    expect_text("is stopped (kill -CONT");
    expect_text("; the deadline was 6 s (JD_COLLECTIVE_TIMEOUT changes it)");
    EXPECT_OK(jd_kv_increment("named it", 1, &count));
}

/* The others tell each other that they have given up, by the store. */
static void try_stopped(void)
{
    int64_t count, named;
    if (self == last) {
        raise(SIGSTOP);
        expect_late(sum());
        return;
    }
    expect_given_up(sum());
    EXPECT_OK(jd_kv_increment("given up", 1, &count));
    if (count < last)
        return;
    EXPECT_OK(jd_kv_increment("named it", 1, &named));
    EXPECT(named > 1, "nobody has named process %d", last);
    kill((pid_t)pid, SIGCONT);
}

/* ---- with a callback ---------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_aborted;

/* The process ends when this returns. */
static void hear(const jd_peer_failure *failure, void *arg)
{
    int64_t count;
    (void)arg;
    EXPECT(failure->num_processes == 1 && failure->processes[0] == last, "%s",
           failure->text);
    pthread_mutex_lock(&lock);
    while (!is_aborted)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    printf("process %d: aborted\n", self);
    fflush(stdout);
    EXPECT_OK(jd_kv_increment("aborted", 1, &count));
    if (count == last)
        kill((pid_t)pid, SIGKILL);
}

static void try_lost(int how)
{
    if (self == last)
        raise(how);
    EXPECT_STATUS(sum(), JD_ABORTED, "jd_psum");
    EXPECT_STATUS(sum(), JD_ABORTED, "jd_psum");
    pthread_mutex_lock(&lock);
    is_aborted = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    for (;;)
        EXPECT_STATUS(jd_sync_global_devices("never"), JD_ABORTED, "");
}

int main(int argc, char **argv)
{
    jd_mesh *mesh;
    EXPECT(argc == 2, "how?");
    JD_CHECK(jd_initialize());
    self = jd_process_index();
    last = jd_process_count() - 1;
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    me = jd_mesh_shard(mesh);
    EXPECT_OK(sum());
    find_pid();
    if (strcmp(argv[1], "stopped") == 0) {
        try_stopped();
        EXPECT_OK(jd_wait_at_barrier("all", 20, NULL, 0));
        jd_mesh_destroy(mesh);
        return 0;
    }
    EXPECT_OK(jd_on_peer_failure(hear, NULL));
    EXPECT_OK(jd_wait_at_barrier("all", 20, NULL, 0));
    try_lost(strcmp(argv[1], "silent") == 0 ? SIGSTOP : SIGKILL);
}
