/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_recorder.c - what a process records of its own calls. The recorder is
 * the process's: Check gives each test a process of its own.
 */
#include "runtime/recorder/recorder.h"
#include "base/clock.h"
#include "jd.h"
#include "tests/unit/unit.h"

#include <pthread.h>

static struct jd_ring_call read_last(void)
{
    const struct jd_ring *ring = jd__recorder_own();
    struct jd_ring_call call;
    ck_assert_ptr_nonnull(ring);
    ck_assert(jd__ring_read(ring, jd__ring_last(ring), &call));
    return call;
}

static void expect_text(const char *wanted)
{
    struct jd_ring_call call = read_last();
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    jd__ring_print(out, jd__recorder_own(), &call);
    fclose(out);
    ck_assert_msg(strncmp(text, wanted, strlen(wanted)) == 0,
                  "wanted '%s' in: %s", wanted, text);
    free(text);
}

static void enter(const char *operation, struct jd_ring_comm *comm)
{
    jd__recorder_enter(&(struct jd_recorder_call){
        .operation = operation, .comm = comm, .count = 3, .dtype = JD_F32 });
}

static void switch_on(void)
{
    jd__recorder_configure(true, false);
}

/* ---- calls -------------------------------------------------------------- */

START_TEST(a_call_goes_through_its_states)
{
    enter("one", NULL);
    ck_assert_int_eq(read_last().state, JD_CALL_ENTERED);
    jd__recorder_met();
    ck_assert_int_eq(read_last().state, JD_CALL_MET);
    ck_assert_int_eq(jd__recorder_leave(JD_ABORTED), JD_ABORTED);
    ck_assert_int_eq(read_last().state, JD_CALL_DONE);
    ck_assert_int_eq(read_last().status, JD_ABORTED);
    ck_assert_uint_eq(read_last().number, 1);
    jd__recorder_met(); /* nothing is under way */
    ck_assert_int_eq(read_last().state, JD_CALL_DONE);
}
END_TEST

START_TEST(a_call_within_a_call_is_part_of_it)
{
    enter("outer", NULL);
    enter("inner", NULL);
    expect_text("outer of 3 x F32");
    jd__recorder_leave(JD_OK);
    ck_assert_int_eq(read_last().state, JD_CALL_ENTERED);
    jd__recorder_leave(JD_OK);
    ck_assert_int_eq(read_last().state, JD_CALL_DONE);
    ck_assert_uint_eq(read_last().number, 1);
}
END_TEST

START_TEST(many_names_are_told_apart)
{
    static char names[2 * JD_RING_NAMES][20];
    for (int i = 0; i < 2 * JD_RING_NAMES; i++)
        snprintf(names[i], sizeof names[i], "name %d", i);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < JD_RING_NAMES; i++) {
            enter(names[i], NULL);
            expect_text(names[i]);
            jd__recorder_leave(JD_OK);
        }
    for (int i = JD_RING_NAMES; i < 2 * JD_RING_NAMES; i++) {
        enter(names[i], NULL); /* no room: another's name, and no crash */
        jd__recorder_leave(JD_OK);
    }
    ck_assert_uint_eq(read_last().number, 3 * JD_RING_NAMES);
}
END_TEST

START_TEST(where_it_is_off_there_is_nothing)
{
    jd__recorder_configure(false, true);
    ck_assert_ptr_null(jd__recorder_own());
    ck_assert_ptr_null(jd__recorder_comm_get(1, 0, 2, "all"));
    jd__recorder_comm_put(NULL);
    enter("one", NULL);
    jd__recorder_wait_begins(5);
    jd__recorder_wait_ends(1);
    jd__recorder_met();
    ck_assert_int_eq(jd__recorder_leave(JD_INTERNAL), JD_INTERNAL);
    struct jd_progress progress;
    jd__progress_sample(&progress);
    ck_assert_str_eq(progress.operation, "one");
    ck_assert(!progress.inside);
    jd__recorder_configure(true, false);
    ck_assert_uint_eq(jd__ring_last(jd__recorder_own()), 0);
    enter("two", NULL);
    expect_text("two");
}
END_TEST

/* ---- times -------------------------------------------------------------- */

/* What members hand on when all have come is nobody's coming. */
START_TEST(who_came_last_stays)
{
    double begin = jd__clock_now();
    enter("one", NULL);
    jd__recorder_wait_begins(begin);
    jd__recorder_wait_ends(1);
    jd__recorder_wait_begins(begin);
    jd__recorder_wait_ends(2);
    jd__recorder_met();
    double met = read_last().met;
    jd__recorder_wait_begins(jd__clock_now());
    jd__recorder_wait_ends(3);
    ck_assert_int_eq(read_last().last, 2);
    ck_assert(read_last().met == met);
    jd__recorder_leave(JD_OK);
    enter("two", NULL);
    jd__recorder_met(); /* nobody waited for that */
    jd__recorder_wait_begins(jd__clock_now());
    jd__recorder_wait_ends(3);
    jd__recorder_wait_ends(4);
    ck_assert_int_eq(read_last().last, 3);
    jd__recorder_leave(JD_OK);
}
END_TEST

START_TEST(only_who_waits_has_times)
{
    enter("one", NULL);
    jd__recorder_wait_ends(1); /* it was no longer than its spin */
    jd__recorder_leave(JD_OK);
    ck_assert(read_last().came == 0 && read_last().left == 0);
    double begin = jd__clock_now();
    enter("two", NULL);
    jd__recorder_wait_begins(begin);
    jd__recorder_wait_ends(1);
    jd__recorder_wait_begins(begin + 9); /* it has begun already */
    jd__recorder_wait_ends(4);
    ck_assert(read_last().left == 0);
    jd__recorder_leave(JD_OK);
    struct jd_ring_call call = read_last();
    ck_assert(call.came > begin - 1e-6 && call.came < begin + 1e-6);
    ck_assert(call.met >= call.came && call.left >= call.met);
    ck_assert(call.left <= jd__clock_now());
    ck_assert_int_eq(call.last, 4);
    enter("three", NULL);
    ck_assert(read_last().came == 0);
}
END_TEST

START_TEST(a_trace_has_all_times)
{
    double begin = jd__clock_now();
    jd__recorder_configure(true, true);
    enter("one", NULL);
    jd__recorder_met();
    jd__recorder_leave(JD_OK);
    struct jd_ring_call call = read_last();
    ck_assert(call.came > begin - 1e-6 && call.left >= call.came);
    ck_assert(call.met == 0); /* nothing was waited for */
}
END_TEST

/* ---- communicators ------------------------------------------------------ */

START_TEST(a_communicator_counts_its_calls)
{
    struct jd_ring_comm *a = jd__recorder_comm_get(5, 1, 2, "axis \"a\"");
    struct jd_ring_comm *b = jd__recorder_comm_get(6, 1, 2, "axis \"b\"");
    ck_assert_ptr_ne(a, b);
    ck_assert_ptr_eq(jd__recorder_comm_get(5, 1, 2, "axis \"a\""), a);
    ck_assert_ptr_ne(jd__recorder_comm_get(5, 0, 2, "axis \"a\""), a);
    for (int i = 0; i < 3; i++) {
        enter("one", a);
        jd__recorder_leave(JD_OK);
    }
    expect_text("one of 3 x F32 over axis \"a\" (call 3 there)");
    enter("one", b);
    expect_text("one of 3 x F32 over axis \"b\" (call 1 there)");
    ck_assert_int_eq(read_last().member, 1);
    jd__recorder_leave(JD_OK);
    jd__recorder_comm_put(a);
    ck_assert_ptr_eq(jd__recorder_comm_get(5, 1, 2, "axis \"a\""), a);
    ck_assert_uint_eq(a->calls, 3); /* one was still using it */
    jd__recorder_comm_put(a);
    jd__recorder_comm_put(a);
    ck_assert_ptr_eq(jd__recorder_comm_get(5, 1, 2, "axis \"a\""), a);
    ck_assert_uint_eq(a->calls, 0);
}
END_TEST

START_TEST(unused_places_are_taken_last_and_used_ones_never)
{
    struct jd_ring_comm *all[JD_RING_COMMS];
    for (int i = 0; i < JD_RING_COMMS; i++) {
        all[i] = jd__recorder_comm_get(100 + (uint64_t)i, 0, 1, "x");
        ck_assert_ptr_nonnull(all[i]);
        for (int j = 0; j < i; j++)
            ck_assert_ptr_ne(all[i], all[j]);
        if (i == 7)
            jd__recorder_comm_put(all[7]); /* still to be read */
    }
    ck_assert_uint_eq(all[7]->id, 107);
    ck_assert_ptr_eq(jd__recorder_comm_get(900, 0, 1, "y"), all[7]);
    ck_assert_ptr_null(jd__recorder_comm_get(901, 0, 1, "z"));
    enter("one", NULL);
    ck_assert_uint_eq(read_last().comm, 0);
}
END_TEST

/* ---- who calls ---------------------------------------------------------- */

static jd_mesh *make_mesh(void)
{
    jd_mesh *mesh;
    UNIT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    return mesh;
}

/* The call is the last one, and comes from this program. */
static void expect_call(const char *text)
{
    char *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    struct jd_ring_call call = read_last();
    jd__ring_print(out, jd__recorder_own(), &call);
    fclose(out);
    ck_assert_msg(strncmp(printed, text, strlen(text)) == 0 &&
                      strstr(printed, ", called at ") &&
                      strstr(printed, "test_recorder"),
                  "wanted '%s' of here in: %s", text, printed);
    ck_assert_int_eq(call.state, JD_CALL_DONE);
    free(printed);
}

START_TEST(collectives_are_recorded_with_their_caller)
{
    jd_mesh *mesh = make_mesh();
    jd_shard *me = jd_mesh_shard(mesh);
    float in[2] = { 1, 2 }, out[2];
    jd_route route = { 0, 0 };
    int zero = 0;
    UNIT_OK(jd_psum(me, "x", in, out, 2, JD_F32));
    expect_call("jd_psum of 2 x F32 over axis \"x\" (call 1 there)");
    UNIT_OK(jd_pmean(me, "x", in, out, 1, JD_F32));
    expect_call("jd_pmean of 1 x F32 over axis \"x\" (call 2 there)");
    UNIT_OK(jd_pmax(me, NULL, in, out, 2, JD_F32));
    expect_call("jd_pmax of 2 x F32 over axis \"x\" (call 3 there)");
    UNIT_OK(jd_psum_scatter_2d(me, "x", in, out, 2, 1, JD_F32));
    expect_call("jd_psum_scatter_2d of 1 x F32");
    ck_assert_uint_eq(read_last().rest, 2);
    UNIT_OK(jd_all_gather(me, "x", in, out, 2, JD_F32));
    expect_call("jd_all_gather of 2 x F32");
    UNIT_OK(jd_all_to_all(me, "x", in, out, 2, JD_F32));
    expect_call("jd_all_to_all of 2 x F32");
    UNIT_OK(jd_ppermute(me, "x", in, out, 2, JD_F32, &route, 1));
    expect_call("jd_ppermute of 2 x F32");
    UNIT_OK(jd_pshuffle(me, "x", in, out, 2, JD_F32, &zero));
    expect_call("jd_pshuffle of 2 x F32");
    UNIT_OK(jd_pbroadcast(me, "x", 0, in, out, 2, JD_F32));
    expect_call("jd_pbroadcast of 2 x F32");
    UNIT_OK(jd_barrier(me, "x"));
    expect_call("jd_barrier over axis \"x\" (call 10 there)");
    UNIT_OK(jd_group_begin(me));
    UNIT_OK(jd_send(me, "x", 0, in, 2, JD_F32));
    UNIT_OK(jd_recv(me, "x", 0, out, 2, JD_F32));
    UNIT_OK(jd_group_end(me));
    expect_call("jd_group_end of 2 x F32");
    jd_mesh_destroy(mesh);
}
END_TEST

START_TEST(other_calls_are_recorded_with_their_caller)
{
    int32_t number = 1, copy = 0;
    jd_leaf leaf = { &number, JD_S32, 0, NULL };
    jd_leaf out = { &copy, JD_S32, 1, (int64_t[]){ 1 } };
    jd_kv_entry *entries;
    void *value;
    size_t size;
    UNIT_OK(jd_sync_global_devices("here"));
    expect_call("jd_sync_global_devices");
    UNIT_OK(jd_wait_at_barrier("b", 0, NULL, 0));
    expect_call("jd_wait_at_barrier");
    UNIT_OK(jd_kv_set("k", "v", 1, 0));
    UNIT_OK(jd_kv_get("k", 0, &value, &size));
    expect_call("jd_kv_get");
    UNIT_OK(jd_kv_get_many((const char *[]){ "k" }, 1, 0, &entries));
    expect_call("jd_kv_get_many");
    UNIT_OK(jd_assert_equal(&leaf, 1, "a number"));
    expect_call("jd_assert_equal over all processes (call 1 there)");
    UNIT_OK(jd_broadcast_one_to_all(&leaf, 1, 0));
    expect_call("jd_broadcast_one_to_all over all processes (call 2 there)");
    UNIT_OK(jd_process_allgather(&leaf, &out, 1, 0));
    expect_call("jd_process_allgather over all processes (call 3 there)");
    free(value);
    free(entries);
}
END_TEST

START_TEST(arrays_are_recorded_with_their_caller)
{
    jd_mesh *mesh = make_mesh();
    jd_sharding *sharding;
    jd_array *array, *moved;
    float values[4] = { 0 };
    jd_leaf leaf = { values, JD_F32, 1, (int64_t[]){ 4 } };
    UNIT_OK(jd_sharding_create(&sharding, mesh, "x"));
    UNIT_OK(jd_device_put(&array, &leaf, sharding));
    expect_call("jd_device_put over the arrays' processes (call 1 there)");
    UNIT_OK(jd_array_reshard(&moved, array, sharding));
    expect_call("jd_array_reshard over the arrays' processes (call 2 there)");
    UNIT_OK(jd_process_allgather_array(array, &leaf));
    expect_call("jd_process_allgather_array");
    UNIT_OK(jd_process_gather_array(array, &leaf, 0));
    expect_call("jd_process_gather_array");
    jd_array_release(moved);
    jd_array_release(array);
    jd_sharding_release(sharding);
    jd_mesh_destroy(mesh);
}
END_TEST

/* ---- threads ------------------------------------------------------------ */

/* So many that none takes another's place: one that is held up loses its own.
 */
enum { THREADS = 3, ROUNDS = JD_RING_CALLS / THREADS };

static void *call_often(void *comm)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    for (int i = 0; i < ROUNDS; i++) {
        enter(names[i % 4], comm);
        jd__recorder_met();
        jd__recorder_leave(JD_OK);
    }
    return NULL;
}

START_TEST(threads_record_side_by_side)
{
    pthread_t threads[THREADS];
    struct jd_ring_comm *comms[THREADS];
    const struct jd_ring *ring = jd__recorder_own();
    struct jd_ring_call call;
    for (int i = 0; i < THREADS; i++) {
        comms[i] = jd__recorder_comm_get(1 + (uint64_t)i, 0, 1, "x");
        pthread_create(&threads[i], NULL, call_often, comms[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint64_t last = jd__ring_last(ring);
    ck_assert_uint_eq(last, THREADS * ROUNDS);
    for (uint64_t i = 1; i <= last; i++)
        if (!jd__ring_read(ring, i, &call) || call.state != JD_CALL_DONE)
            ck_abort_msg("call %d is not there", (int)i);
    for (int i = 0; i < THREADS; i++)
        ck_assert_uint_eq(comms[i]->calls, ROUNDS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recorder");
    TCase *calls = unit_case(suite, "calls");
    tcase_add_checked_fixture(calls, switch_on, NULL);
    tcase_add_test(calls, a_call_goes_through_its_states);
    tcase_add_test(calls, a_call_within_a_call_is_part_of_it);
    tcase_add_test(calls, many_names_are_told_apart);
    tcase_add_test(calls, where_it_is_off_there_is_nothing);
    tcase_add_test(calls, only_who_waits_has_times);
    tcase_add_test(calls, who_came_last_stays);
    tcase_add_test(calls, a_trace_has_all_times);
    tcase_add_test(calls, a_communicator_counts_its_calls);
    tcase_add_test(calls, unused_places_are_taken_last_and_used_ones_never);
    tcase_add_test(calls, threads_record_side_by_side);
    TCase *users = unit_case(suite, "users");
    tcase_set_timeout(users, 60);
    tcase_add_test(users, collectives_are_recorded_with_their_caller);
    tcase_add_test(users, other_calls_are_recorded_with_their_caller);
    tcase_add_test(users, arrays_are_recorded_with_their_caller);
    return unit_main(suite);
}
