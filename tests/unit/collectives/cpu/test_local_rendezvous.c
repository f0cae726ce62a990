/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_local_rendezvous.c - the members of one process come together, a thread
 * each.
 */
#include "collectives/cpu/local_rendezvous.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/topology/topology.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST = 8, NEVER = -1000000000, SELF = 3 };

static struct jd_process_info processes[SELF + 1];
static const struct jd_topology topology = { .processes = processes,
                                             .num_processes = SELF + 1 };

/* A device's thread. */
struct member {
    struct jd_wait wait;
    struct jd_rendezvous party;
    pthread_t thread;
    jd_status finish_with; /* of the speaker */
    jd_status status;
    char sentence[512];
    bool spoke;
    int others; /* that the speaker found */
    _Atomic(int *) told;
};

static struct member all[MOST];
static const int first_devices[MOST] = { 0, 1, 2, 3, 4, 5, 6, 7 };

/* The member of the device, which expects the first devices, as many as that.
 */
static struct member *prepare(int device, int num_devices, uint64_t digest)
{
    struct member *m = &all[device];
    *m = (struct member){
        .wait = { .operation = "jd_psum",
                  .timeout = 30,
                  .notice = -1,
                  .variable = "JD_COLLECTIVE_TIMEOUT",
                  .topology = &topology,
                  .self = SELF },
        .party = { .digest = digest,
                   .desc = "\"data\" of 4 devices",
                   .device = device,
                   .devices = first_devices,
                   .num_devices = num_devices,
                   .item = m },
    };
    m->party.wait = &m->wait;
    return m;
}

static void speak(struct member *m)
{
    static int told = 7;
    for (int i = 0; i < m->party.num_devices; i++) {
        int device = m->party.devices[i];
        struct jd_rendezvous *a = jd__local_rendezvous_find(&m->party, device);
        ck_assert_ptr_nonnull(a);
        ck_assert_int_eq(a->device, device);
        struct member *other = a->item;
        atomic_store(&other->told, &told);
        m->others++;
    }
    if (m->finish_with != JD_OK)
        jd_fail(m->finish_with, "jd_psum: the speaker's sentence");
    jd__local_rendezvous_finish(&m->party, m->finish_with);
}

static void *come(void *arg)
{
    struct member *m = arg;
    m->status = jd__local_rendezvous_come(&m->party, &m->spoke);
    if (m->spoke)
        speak(m);
    else if (m->status != JD_OK)
        snprintf(m->sentence, sizeof m->sentence, "%s", jd_error_message());
    return NULL;
}

static void start(struct member *m)
{
    ck_assert_int_eq(pthread_create(&m->thread, NULL, come, m), 0);
}

static void join(struct member *m)
{
    ck_assert_int_eq(pthread_join(m->thread, NULL), 0);
}

static void await_count(int count)
{
    while (jd__local_rendezvous_count() != count)
        sched_yield();
}

/* ---- coming together ---------------------------------------------------- */

START_TEST(one_alone_speaks)
{
    struct member *m = prepare(0, 1, 1);
    come(m);
    UNIT_OK(m->status);
    ck_assert(m->spoke);
    ck_assert_int_eq(m->others, 1);
    ck_assert_int_eq(jd__local_rendezvous_count(), 0);
}
END_TEST

START_TEST(the_last_speaks_for_all)
{
    for (int round = 0; round < 200; round++) {
        int speakers = 0;
        for (int i = 0; i < 4; i++)
            start(prepare((i + round) % 4, 4, 1));
        for (int i = 0; i < 4; i++) {
            join(&all[i]);
            UNIT_OK(all[i].status);
            ck_assert_ptr_nonnull(atomic_load(&all[i].told));
            speakers += all[i].spoke;
        }
        ck_assert_int_eq(speakers, 1);
    }
    ck_assert_int_eq(jd__local_rendezvous_count(), 0);
}
END_TEST

/* Device 0 of one platform comes while that of another waits for its fellow. */
START_TEST(platforms_do_not_disturb_each_other)
{
    struct member *other = prepare(5, 2, 2);
    other->party.device = 0;
    other->party.platform = 1;
    start(other);
    await_count(1);
    come(prepare(0, 1, 1));
    UNIT_OK(all[0].status);
    ck_assert_int_eq(all[0].others, 1);
    prepare(6, 2, 2)->party.device = 1;
    all[6].party.platform = 1;
    come(&all[6]);
    UNIT_OK(all[6].status);
    ck_assert_int_eq(all[6].others, 2);
    join(other);
    UNIT_OK(other->status);
}
END_TEST

START_TEST(a_failure_is_everybodys)
{
    start(prepare(0, 3, 1));
    start(prepare(1, 3, 1));
    await_count(2);
    prepare(2, 3, 1)->finish_with = JD_RESOURCE_EXHAUSTED;
    come(&all[2]);
    for (int i = 0; i < 2; i++) {
        join(&all[i]);
        ck_assert_int_eq(all[i].status, JD_RESOURCE_EXHAUSTED);
        ck_assert_str_eq(all[i].sentence, "jd_psum: the speaker's sentence");
    }
}
END_TEST

/* Communicators of different devices are made side by side. */
START_TEST(comms_do_not_mix)
{
    static const int others[] = { 2, 3 };
    start(prepare(0, 2, 1));
    prepare(2, 2, 2)->party.devices = others;
    start(&all[2]);
    await_count(2);
    start(prepare(1, 2, 1));
    join(&all[0]);
    join(&all[1]);
    UNIT_OK(all[0].status);
    UNIT_OK(all[1].status);
    ck_assert_int_eq(jd__local_rendezvous_count(), 1);
    static struct member *last;
    last = prepare(3, 2, 2);
    last->party.devices = others;
    UNIT_OK(jd__local_rendezvous_come(&last->party, &last->spoke));
    ck_assert(last->spoke);
    ck_assert_ptr_null(jd__local_rendezvous_find(&last->party, 0));
    jd__local_rendezvous_finish(&last->party, JD_OK);
    join(&all[2]);
    UNIT_OK(all[2].status);
}
END_TEST

/* ---- not coming together ------------------------------------------------ */

/* Device 0 comes to two communicators one after the other; device 2 is early.
 * */
START_TEST(who_is_early_waits)
{
    static const int second[] = { 0, 2 };
    prepare(2, 2, 2)->party.devices = second;
    start(&all[2]);
    await_count(1);
    start(prepare(1, 2, 1));
    await_count(2);
    come(prepare(0, 2, 1));
    join(&all[1]);
    UNIT_OK(all[1].status);
    prepare(0, 2, 2)->party.devices = second;
    come(&all[0]);
    ck_assert(all[0].spoke);
    join(&all[2]);
    UNIT_OK(all[2].status);
}
END_TEST

START_TEST(beliefs_that_differ_are_named)
{
    static const char sentence[] =
        "jd_psum: device 2 of process 3 comes with a mesh \"model\" of 4 "
        "devices, device %d of the same process with a mesh \"data\" of 4 "
        "devices; all devices of a mesh must use it with the same axes, and "
        "use "
        "their meshes in the same order";
    char either[2][512];
    for (int i = 0; i < 2; i++)
        snprintf(either[i], sizeof either[i], sentence, i);
    start(prepare(0, 3, 1));
    start(prepare(1, 3, 1));
    await_count(2);
    prepare(2, 3, 2)->party.desc = "\"model\" of 4 devices";
    come(&all[2]);
    join(&all[0]);
    join(&all[1]);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(all[i].status, JD_INVALID_ARGUMENT);
        ck_assert(strcmp(all[i].sentence, either[0]) == 0 ||
                  strcmp(all[i].sentence, either[1]) == 0);
    }
    ck_assert_int_eq(jd__local_rendezvous_count(), 0);
}
END_TEST

START_TEST(a_device_is_here_once)
{
    start(prepare(0, 2, 1));
    await_count(1);
    struct member twin = { .party = all[0].party };
    twin.party.digest = 2;
    UNIT_FAILS(jd__local_rendezvous_come(&twin.party, &twin.spoke),
               JD_FAILED_PRECONDITION,
               "jd_psum: device 0 of process 3 is in the first collective of "
               "another mesh (\"data\" of 4 devices) on another thread; call "
               "the collectives of a device from one thread at a time");
    come(prepare(1, 2, 1));
    join(&all[0]);
    UNIT_OK(all[0].status);
}
END_TEST

/* ---- giving up ---------------------------------------------------------- */

START_TEST(the_missing_are_named_at_the_deadline)
{
    double waited;
    int at = 0;
    struct member *m = prepare(1, 4, 1);
    static const int backwards[] = { 3, 2, 1, 0 };
    m->party.devices = backwards;
    m->wait.timeout = 0.05;
    m->wait.detail = " over axis \"data\"";
    come(m);
    ck_assert_int_eq(m->status, JD_DEADLINE_EXCEEDED);
    sscanf(m->sentence,
           "jd_psum over axis \"data\": device 1 of process 3 has waited %lf "
           "s for %n",
           &waited, &at);
    ck_assert_int_gt(at, 0);
    ck_assert(waited >= 0.05);
    ck_assert_str_eq(m->sentence + at,
                     "devices 0,2-3 of the same process, whose thread has not "
                     "made this call, or waits for one that has not; the "
                     "deadline was 0.05 s (JD_COLLECTIVE_TIMEOUT changes it)");
    ck_assert_int_eq(jd__local_rendezvous_count(), 0);
}
END_TEST

static atomic_bool is_cancelled;
static atomic_int num_calls;

static void count_call(void *arg)
{
    ck_assert_ptr_eq(arg, &num_calls);
    if (atomic_fetch_add(&num_calls, 1) == 20)
        atomic_store(&is_cancelled, true);
}

/* It ends with the speaker, then, and by nothing of its own. */
START_TEST(who_is_spoken_for_stays)
{
    struct member *m = prepare(0, 2, 1), *speaker = prepare(1, 2, 1);
    m->wait.timeout = -1;
    m->wait.is_cancelled = &is_cancelled;
    m->party.make_progress = count_call;
    m->party.arg = &num_calls;
    atomic_store(&num_calls, NEVER);
    start(m);
    await_count(1);
    UNIT_OK(jd__local_rendezvous_come(&speaker->party, &speaker->spoke));
    ck_assert(speaker->spoke);
    atomic_store(&num_calls, 0);
    while (atomic_load(&num_calls) < 40) /* cancelled at half of them */
        sched_yield();
    jd__local_rendezvous_finish(&speaker->party, JD_OK);
    join(m);
    UNIT_OK(m->status);
}
END_TEST

START_TEST(a_cancelled_wait_ends)
{
    struct member *m = prepare(0, 2, 1);
    m->wait.is_cancelled = &is_cancelled;
    m->wait.timeout = -1;
    start(m);
    await_count(1);
    atomic_store(&is_cancelled, true);
    join(m);
    ck_assert_int_eq(m->status, JD_ABORTED);
    ck_assert_str_eq(m->sentence, "jd_psum: another device of this process has "
                                  "failed, and this one waits no longer");
    jd__failure_exit_note("process 1 has failed");
    come(prepare(0, 2, 1));
    ck_assert_int_eq(all[0].status, JD_ABORTED);
    ck_assert_str_eq(all[0].sentence, "jd_psum: process 1 has failed");
}
END_TEST

START_TEST(mpi_makes_progress_meanwhile)
{
    struct member *m = prepare(0, 2, 1);
    m->wait.is_cancelled = &is_cancelled;
    m->party.make_progress = count_call;
    m->party.arg = &num_calls;
    come(m);
    ck_assert_int_eq(m->status, JD_ABORTED);
    ck_assert_int_ge(atomic_load(&num_calls), 21);
}
END_TEST

#define FOR_DEVICE_2                                                           \
    " s for device 2 of the same process, whose thread has not made this "     \
    "call, or waits for one that has not; it has no deadline "                 \
    "(JD_COLLECTIVE_TIMEOUT sets one)\n"

static FILE *captured;
static char captured_text[65536];

/* Until that is said; device 0 may have spoken before device 1 had come. Read
 * before the end, for the last to leave is the lowest too. */
static void cancel_when_said(void *unused)
{
    (void)unused;
    if (atomic_load(&is_cancelled))
        return;
    ssize_t size =
        pread(fileno(captured), captured_text, sizeof captured_text - 1, 0);
    captured_text[size] = '\0';
    if (strstr(captured_text, FOR_DEVICE_2))
        atomic_store(&is_cancelled, true);
}

START_TEST(the_lowest_speaks_of_it)
{
    captured = tmpfile();
    ck_assert_ptr_nonnull(captured);
    ck_assert_int_ge(dup2(fileno(captured), STDERR_FILENO), 0);
    for (int i = 0; i < 2; i++) {
        struct member *m = prepare(i, 3, 1);
        m->wait.notice = 0.02;
        m->wait.timeout = -1;
        m->wait.is_cancelled = &is_cancelled;
        m->party.make_progress = i == 0 ? cancel_when_said : NULL;
        start(m);
        if (i == 0)
            await_count(1);
    }
    join(&all[0]);
    join(&all[1]);
    fclose(captured);
    ck_assert_ptr_nonnull(strstr(captured_text,
                                 " warning jd_psum: device 0 of process 3 has "
                                 "waited "));
    ck_assert_ptr_null(strstr(captured_text, "device 1 of process"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registry");
    TCase *together = unit_case(suite, "together");
    tcase_set_timeout(together, 60);
    tcase_add_test(together, one_alone_speaks);
    tcase_add_test(together, the_last_speaks_for_all);
    tcase_add_test(together, platforms_do_not_disturb_each_other);
    tcase_add_test(together, a_failure_is_everybodys);
    tcase_add_test(together, comms_do_not_mix);
    TCase *apart = unit_case(suite, "apart");
    tcase_set_timeout(apart, 60);
    tcase_add_test(apart, who_is_early_waits);
    tcase_add_test(apart, beliefs_that_differ_are_named);
    tcase_add_test(apart, a_device_is_here_once);
    TCase *ends = unit_case(suite, "ends");
    tcase_set_timeout(ends, 60);
    tcase_add_test(ends, the_missing_are_named_at_the_deadline);
    tcase_add_test(ends, who_is_spoken_for_stays);
    tcase_add_test(ends, a_cancelled_wait_ends);
    tcase_add_test(ends, mpi_makes_progress_meanwhile);
    tcase_add_test(ends, the_lowest_speaks_of_it);
    return unit_main(suite);
}
