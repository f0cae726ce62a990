/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_host_rings.c - the rings of a host's processes. The first of the group
 * is this process, the other a child, and MPI a pair of sockets.
 */
#include "runtime/recorder/host_rings.h"
#include "runtime/recorder/last_calls.h"
#include "runtime/recorder/recorder.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- an MPI of two processes -------------------------------------------- */

static int line, played_index;

static void send_all(const void *data, size_t bytes)
{
    ck_assert_int_eq(send(line, data, bytes, 0), (ssize_t)bytes);
}

static void receive_all(void *data, size_t bytes)
{
    ck_assert_int_eq(recv(line, data, bytes, MSG_WAITALL), (ssize_t)bytes);
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)type, (void)comm;
    ck_assert_int_eq(root, 0);
    if (played_index == 0)
        send_all(data, (size_t)count);
    else
        receive_all(data, (size_t)count);
    return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm)
{
    char byte = 0;
    (void)comm;
    send_all(&byte, 1);
    receive_all(&byte, 1);
    return MPI_SUCCESS;
}

/* ---- the two ------------------------------------------------------------ */

static struct jd_host_group group_of(int index, int count)
{
    played_index = index;
    return (struct jd_host_group){ .index = index,
                                   .count = count,
                                   .num_leaders = 1,
                                   .comm = count > 1 ? MPI_COMM_WORLD
                                                     : MPI_COMM_NULL,
                                   .leaders = MPI_COMM_NULL };
}

static void enter(const char *operation, uint64_t count)
{
    jd__recorder_enter(&(struct jd_recorder_call){
        .operation = operation, .count = count, .dtype = 12 });
}

static void share(int index)
{
    struct jd_host_group group = group_of(index, 2);
    UNIT_OK(jd__recorder_share(&group));
    jd__recorder_set_process(10 + index);
}

/* Calls before and after the memory is shared, and is killed in one. */
static void call_and_die(void)
{
    jd__recorder_configure(true, false);
    enter("early", 1);
    jd__recorder_leave(JD_OK);
    share(1);
    enter("early", 2);
    jd__recorder_leave(JD_OK);
    enter("late", 3);
    raise(SIGKILL);
}

/* Gives the other side of the line to a child that runs this. */
static pid_t start(void (*body)(void))
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t child = fork();
    line = ends[child == 0];
    close(ends[child != 0]);
    if (child == 0) {
        body();
        _exit(0);
    }
    return child;
}

static void expect_last(int process, const char *wanted)
{
    char *text = jd__recorder_last_call(process);
    ck_assert_pstr_eq(text, wanted);
    free(text);
}

START_TEST(what_a_killed_process_did_is_read)
{
    int how;
    struct jd_ring_call call;
    pid_t child = start(call_and_die);
    jd__recorder_configure(true, false);
    share(0);
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    expect_last(11, "was in late of 3 x F64");
    const struct jd_ring *ring = jd__recorder_ring_of(11);
    ck_assert_int_eq(ring->pid, child);
    ck_assert_uint_eq(jd__ring_last(ring), 3);
    ck_assert(jd__ring_read(ring, 1, &call));
    ck_assert_uint_eq(call.count, 1);
    ck_assert_int_eq(call.state, JD_CALL_DONE);
    expect_last(10, NULL); /* has called nothing */
    enter("own", 4);
    jd__recorder_leave(JD_OK);
    expect_last(10, "had returned from own of 4 x F64");
    expect_last(12, NULL);
}
END_TEST

static void refuse_to_open(void)
{
    struct rlimit none = { 3, 3 };
    setrlimit(RLIMIT_NOFILE, &none);
    jd__recorder_configure(true, false);
    share(1);
    enter("one", 1);
    ck_assert_ptr_null(jd__recorder_ring_of(11));
    ck_assert_uint_eq(jd__ring_last(jd__recorder_own()), 1);
}

/* The child has no room for a descriptor, but the line is there. */
START_TEST(who_cannot_open_it_goes_on_alone)
{
    int how;
    pid_t child = start(refuse_to_open);
    jd__recorder_configure(true, false);
    share(0);
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    expect_last(11, NULL);
    ck_assert_ptr_nonnull(jd__recorder_ring_of(10));
}
END_TEST

static void follow(void)
{
    jd__recorder_configure(true, false);
    share(1);
}

START_TEST(where_there_is_no_file_all_go_on_alone)
{
    int how;
    struct rlimit limit = { 4096, 4096 };
    pid_t child = start(follow);
    jd__recorder_configure(true, false);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    share(0);
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    ck_assert_ptr_null(jd__recorder_ring_of(10));
    enter("one", 1);
    ck_assert_uint_eq(jd__ring_last(jd__recorder_own()), 1);
}
END_TEST

START_TEST(one_alone_needs_none)
{
    struct jd_host_group group = group_of(0, 1);
    jd__recorder_configure(true, false);
    UNIT_OK(jd__recorder_share(&group));
    ck_assert_ptr_null(jd__recorder_ring_of(0));
    enter("one", 1);
    ck_assert_uint_eq(jd__ring_last(jd__recorder_own()), 1);
}
END_TEST

/* One more descriptor would stay open in each job. */
START_TEST(no_descriptor_stays)
{
    int how, before = open("/dev/null", O_RDONLY);
    close(before);
    pid_t child = start(follow);
    jd__recorder_configure(true, false);
    share(0);
    waitpid(child, &how, 0);
    close(line);
    int after = open("/dev/null", O_RDONLY);
    ck_assert_int_eq(after, before);
    close(after);
}
END_TEST

/* A world that follows another has memory of its own, and the calls so far. */
START_TEST(the_next_world_goes_on)
{
    int how;
    pid_t child = start(follow);
    jd__recorder_configure(true, false);
    share(0);
    waitpid(child, &how, 0);
    struct jd_ring_comm *comm = jd__recorder_comm_get(5, 0, 2, "x");
    enter("first", 1);
    jd__recorder_leave(JD_OK);
    close(line);
    child = start(follow);
    share(0);
    waitpid(child, &how, 0);
    jd__recorder_comm_put(comm); /* its memory is no more */
    expect_last(10, "had returned from first of 1 x F64");
    enter("second", 2);
    expect_last(10, "was in second of 2 x F64");
}
END_TEST

/* ---- by communicator ---------------------------------------------------- */

static void call_of(struct jd_ring_comm *comm, const char *operation)
{
    jd__recorder_enter(
        &(struct jd_recorder_call){ .operation = operation, .comm = comm });
}

static void expect_lines(int count, const char *const *wanted)
{
    struct jd_last_calls calls;
    jd__last_calls_look(&calls);
    ck_assert_int_eq(calls.count, count);
    for (int i = 0; i < count; i++)
        ck_assert_str_eq(calls.lines[i], wanted[i]);
    jd__last_calls_free(&calls);
}

/* Its second call of "x" is another's first of "y"; it is killed in that. */
static void fall_behind(void)
{
    jd__recorder_configure(true, false);
    share(1);
    call_of(jd__recorder_comm_get(5, 1, 2, "axis \"x\""), "gather");
    jd__recorder_leave(JD_OK);
    call_of(jd__recorder_comm_get(6, 1, 2, "axis \"y\""), "scatter");
    raise(SIGKILL);
}

START_TEST(who_is_behind_is_said)
{
    int how;
    pid_t child = start(fall_behind);
    jd__recorder_configure(true, false);
    share(0);
    waitpid(child, &how, 0);
    struct jd_ring_comm *x = jd__recorder_comm_get(5, 0, 2, "axis \"x\"");
    for (int i = 0; i < 2; i++) {
        call_of(x, "gather");
        jd__recorder_leave(JD_OK);
    }
    call_of(x, "gather");
    expect_lines(
        2,
        (const char *[]){
            "axis \"x\": process 10: was in gather over axis \"x\" (call 3 "
            "there); process 11, 2 calls behind: was in scatter over axis "
            "\"y\" (call 1 there)",
            "axis \"y\" (calls of 1 of its 2 members are seen on this host): "
            "process 11: was in scatter over axis \"y\" (call 1 there); "
            "process 10, no call there: was in gather over axis \"x\" (call "
            "3 there)" });
    jd__recorder_leave(JD_UNAVAILABLE);
    struct jd_last_calls calls;
    jd__last_calls_look(&calls);
    ck_assert(strstr(calls.lines[0],
                     "process 10: had returned with UNAVAILABLE from gather"));
    jd__last_calls_free(&calls);
}
END_TEST

/* Both have made the same calls, and are in none. */
static void keep_up(void)
{
    jd__recorder_configure(true, false);
    share(1);
    call_of(jd__recorder_comm_get(5, 1, 2, "x"), "gather");
    jd__recorder_leave(JD_OK);
}

START_TEST(of_those_that_are_even_nothing_is_said)
{
    int how;
    pid_t child = start(keep_up);
    jd__recorder_configure(true, false);
    share(0);
    waitpid(child, &how, 0);
    struct jd_ring_comm *comm = jd__recorder_comm_get(5, 0, 2, "x");
    call_of(comm, "gather");
    jd__recorder_leave(JD_OK);
    expect_lines(0, NULL);
    call_of(comm, "gather");
    expect_lines(1, (const char *[]){
                        "x: process 10: was in gather over x (call 2 there); "
                        "process 11, 1 call behind: had returned from gather "
                        "over x (call 1 there)" });
}
END_TEST

START_TEST(of_many_the_last_line_stands_for_the_rest)
{
    int how;
    pid_t child = start(follow);
    struct jd_last_calls calls;
    jd__recorder_configure(true, false);
    share(0);
    waitpid(child, &how, 0);
    for (uint64_t i = 1; i <= 7; i++) {
        call_of(jd__recorder_comm_get(i, 0, 1, "x"), "gather");
        jd__recorder_leave(JD_INTERNAL);
        call_of(jd__recorder_comm_get(i, 1, 1, "x"), "gather");
        jd__recorder_leave(JD_OK);
        call_of(jd__recorder_comm_get(i, 1, 1, "x"), "gather");
        jd__recorder_leave(JD_OK);
    }
    jd__last_calls_look(&calls);
    ck_assert_int_eq(calls.count, JD_LAST_CALLS_LINES);
    ck_assert_str_eq(calls.lines[JD_LAST_CALLS_LINES - 1],
                     "and 3 more communicators; JD_TRACE_DIR and jd-trace show "
                     "all");
    jd__last_calls_free(&calls);
}
END_TEST

START_TEST(alone_nothing_is_said)
{
    struct jd_host_group group = group_of(0, 1);
    jd__recorder_configure(true, false);
    UNIT_OK(jd__recorder_share(&group));
    call_of(jd__recorder_comm_get(5, 0, 2, "x"), "gather");
    expect_lines(0, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_rings");
    TCase *rings = unit_case(suite, "rings");
    tcase_set_timeout(rings, 60);
    tcase_add_test(rings, what_a_killed_process_did_is_read);
    tcase_add_test(rings, who_cannot_open_it_goes_on_alone);
    tcase_add_test(rings, where_there_is_no_file_all_go_on_alone);
    tcase_add_test(rings, one_alone_needs_none);
    tcase_add_test(rings, no_descriptor_stays);
    tcase_add_test(rings, the_next_world_goes_on);
    TCase *calls = unit_case(suite, "by communicator");
    tcase_set_timeout(calls, 60);
    tcase_add_test(calls, who_is_behind_is_said);
    tcase_add_test(calls, of_those_that_are_even_nothing_is_said);
    tcase_add_test(calls, of_many_the_last_line_stands_for_the_rest);
    tcase_add_test(calls, alone_nothing_is_said);
    return unit_main(suite);
}
