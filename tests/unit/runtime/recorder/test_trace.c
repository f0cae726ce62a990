/* SPDX-License-Identifier: BSD-3-Clause */
/* test_trace.c - a ring as a message, and the file that it is left in. */
#include "runtime/recorder/recorder.h"
#include "runtime/recorder/trace.h"
#include "runtime/recorder/trace.pb-c.h"
#include "runtime/recorder/trace_file.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the message -------------------------------------------------------- */

static const struct jd_trace_about about = {
    .job = "8f2c", .host = "h1", .end = "left", .processes = 4, .writer = 2
};

static struct jd_ring *make_ring(void)
{
    struct jd_ring *ring = calloc(1, sizeof *ring);
    jd__ring_init(ring, 77, "a boot");
    atomic_store(&ring->process, 3);
    strcpy(ring->names[0], "jd_psum");
    strcpy(ring->names[1], "jd_kv_get");
    atomic_store(&ring->comms[5].id, 0xabcdef);
    strcpy(ring->comms[5].text, "axis \"x\"");
    ring->comms[5].size = 4;
    return ring;
}

static Jd__Trace *pack(const struct jd_ring *ring)
{
    size_t size;
    void *bytes = jd__trace_pack(ring, &about, &size);
    Jd__Trace *trace = jd__trace__unpack(NULL, size, bytes);
    ck_assert_ptr_nonnull(trace);
    free(bytes);
    return trace;
}

static struct jd_ring_call psum_of(uint64_t number)
{
    return (struct jd_ring_call){ .number = number,
                                  .comm = 0xabcdef,
                                  .member = 1,
                                  .sequence = number + 10,
                                  .count = 100 + number,
                                  .rest = UINT64_MAX,
                                  .dtype = 3,
                                  .came = 1.5,
                                  .met = 2,
                                  .left = 2.25,
                                  .last = 2 };
}

START_TEST(who_it_is_of_is_said)
{
    struct jd_ring *ring = make_ring();
    Jd__Trace *trace = pack(ring);
    ck_assert_uint_eq(trace->version, 1);
    ck_assert_str_eq(trace->job, "8f2c");
    ck_assert_str_eq(trace->host, "h1");
    ck_assert_str_eq(trace->boot_id, "a boot");
    ck_assert_str_eq(trace->end, "left");
    ck_assert_int_eq(trace->process, 3);
    ck_assert_int_eq(trace->processes, 4);
    ck_assert_uint_eq(trace->pid, 77);
    ck_assert_int_eq(trace->writer, 2);
    ck_assert_int_gt(trace->written_ns, 0);
    ck_assert_uint_eq(trace->calls->n_number, 0);
    jd__trace__free_unpacked(trace, NULL);
    free(ring);
}
END_TEST

START_TEST(calls_are_as_they_were)
{
    struct jd_ring *ring = make_ring();
    struct jd_ring_call call = psum_of(1);
    jd__ring_write(ring, &call);
    jd__ring_set_times(ring, &call);
    jd__ring_set_state(jd__ring_entry(ring, 1), 1, JD_CALL_DONE, JD_ABORTED);
    call = (struct jd_ring_call){ .number = 2, .name = 1, .member = -1 };
    jd__ring_write(ring, &call);
    Jd__Trace *trace = pack(ring);
    const Jd__TraceCalls *calls = trace->calls;
    ck_assert_uint_eq(calls->n_number, 2);
    ck_assert_uint_eq(calls->number[0], 1);
    ck_assert_str_eq(trace->names[calls->name[0]], "jd_psum");
    ck_assert_uint_eq(calls->sequence[0], 11);
    ck_assert_uint_eq(calls->count[0], 101);
    ck_assert_uint_eq(calls->rest[0], UINT64_MAX);
    ck_assert_uint_eq(calls->dtype[0], 3);
    ck_assert_uint_eq(calls->state[0], JD_CALL_DONE);
    ck_assert_int_eq(calls->status[0], JD_ABORTED);
    ck_assert_int_eq(calls->came_ns[0], 1500000000);
    ck_assert_int_eq(calls->met_ns[0], 2000000000);
    ck_assert_int_eq(calls->left_ns[0], 2250000000);
    ck_assert_int_eq(calls->last[0], 2);
    ck_assert_uint_eq(calls->comm[0], 1);
    ck_assert_uint_eq(trace->comms[0]->id, 0xabcdef);
    ck_assert_int_eq(trace->comms[0]->member, 1);
    ck_assert_int_eq(trace->comms[0]->size, 4);
    ck_assert_str_eq(trace->comms[0]->text, "axis \"x\"");
    ck_assert_str_eq(trace->names[calls->name[1]], "jd_kv_get");
    ck_assert_uint_eq(calls->comm[1], 0);
    ck_assert_uint_eq(calls->site[1], 0);
    ck_assert_int_eq(calls->came_ns[1], 0);
    ck_assert_int_eq(calls->last[1], -1);
    jd__trace__free_unpacked(trace, NULL);
    free(ring);
}
END_TEST

START_TEST(of_many_the_last_are_kept)
{
    struct jd_ring *ring = make_ring();
    for (uint64_t number = 1; number <= JD_RING_CALLS + 10; number++) {
        struct jd_ring_call call = psum_of(number);
        jd__ring_write(ring, &call);
    }
    Jd__Trace *trace = pack(ring);
    ck_assert_uint_eq(trace->calls->n_number, JD_RING_CALLS);
    ck_assert_uint_eq(trace->calls->number[0], 11);
    ck_assert_uint_eq(trace->calls->number[JD_RING_CALLS - 1],
                      JD_RING_CALLS + 10);
    jd__trace__free_unpacked(trace, NULL);
    free(ring);
}
END_TEST

/* ---- the file ----------------------------------------------------------- */

static char dir[] = "/tmp/jd-test-trace-XXXXXX";

static void call_once(const char *operation)
{
    jd__recorder_enter(&(struct jd_recorder_call){ .operation = operation });
    jd__recorder_leave(JD_OK);
}

static void begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(strcpy(dir, "/tmp/jd-test-trace-XXXXXX")));
    jd__recorder_configure(true, false);
    jd__recorder_set_process(5);
    call_once("jd_barrier");
    ck_assert_int_eq(jd__trace_file_configure(dir), JD_OK);
    jd__trace_file_begin(0x1f, "h1", 5, 8);
}

static Jd__Trace *read_trace(const char *name)
{
    static char bytes[1 << 20];
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *in = fopen(path, "rb");
    ck_assert_msg(in != NULL, "%s", path);
    size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(memcmp(bytes, JD_TRACE_MAGIC, 8), 0);
    Jd__Trace *trace =
        jd__trace__unpack(NULL, size - 8, (const uint8_t *)bytes + 8);
    ck_assert_ptr_nonnull(trace);
    return trace;
}

START_TEST(the_first_end_stands)
{
    begin();
    jd__trace_file_write("exit code 3");
    jd__trace_file_write("left");
    Jd__Trace *trace = read_trace("000000000000001f-5.jdtrace");
    ck_assert_str_eq(trace->end, "exit code 3");
    ck_assert_int_eq(trace->writer, 5);
    ck_assert_str_eq(trace->names[trace->calls->name[0]], "jd_barrier");
    jd__trace__free_unpacked(trace, NULL);
    ck_assert_int_eq(rmdir(dir), 0); /* nothing is left beside it */
}
END_TEST

START_TEST(without_a_world_nothing_is_written)
{
    begin();
    jd__trace_file_end();
    jd__trace_file_write("left");
    ck_assert_int_eq(rmdir(dir), 0);
    ck_assert_int_eq(jd__trace_file_configure(NULL), JD_OK);
    jd__trace_file_begin(0x1f, "h1", 5, 8);
    jd__trace_file_write("left");
}
END_TEST

/* Several processes may do it at the same time. */
START_TEST(a_folder_is_made)
{
    char below[64];
    begin();
    snprintf(below, sizeof below, "%s/new", dir);
    ck_assert_int_eq(jd__trace_file_configure(below), JD_OK);
    ck_assert_int_eq(jd__trace_file_configure(below), JD_OK);
    ck_assert_int_eq(rmdir(below), 0);
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(where_nothing_can_be_written_is_said)
{
    char text[256];
    char *name = malloc(5000);
    UNIT_FAILS(
        jd__trace_file_configure("/proc/self/nothing/here"),
        JD_INVALID_ARGUMENT,
        "JD_TRACE_DIR is \"/proc/self/nothing/here\", where this process "
        "cannot write: No such file or directory; name a folder that it "
        "can make or write to, or leave it out");
    memset(name, 'x', 4999);
    name[4999] = '\0';
    snprintf(text, sizeof text,
             "JD_TRACE_DIR is 4999 bytes long, and a path has %d at most; "
             "choose a shorter one",
             4095);
    UNIT_FAILS(jd__trace_file_configure(name), JD_INVALID_ARGUMENT, text);
    free(name);
    UNIT_FAILS(
        jd__trace_file_configure("/proc/self/exe"), JD_INVALID_ARGUMENT,
        "JD_TRACE_DIR is \"/proc/self/exe\", where this process cannot "
        "write: Not a directory; name a folder that it can make or write "
        "to, or leave it out");
}
END_TEST

/* ---- while it runs ------------------------------------------------------ */

START_TEST(what_it_has_called_so_far_is_such_a_file)
{
    int places = -1;
    size_t size = 0;
    begin();
    uint8_t *bytes = jd__trace_file_show(0, &places, &size);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(places, 1); /* its ring is its own */
    ck_assert_int_eq(memcmp(bytes, JD_TRACE_MAGIC, 8), 0);
    Jd__Trace *trace = jd__trace__unpack(NULL, size - 8, bytes + 8);
    ck_assert_ptr_nonnull(trace);
    ck_assert_str_eq(trace->job, "000000000000001f");
    ck_assert_str_eq(trace->host, "h1");
    ck_assert_str_eq(trace->end, "");
    ck_assert_int_eq(trace->process, 5);
    ck_assert_int_eq(trace->writer, 5);
    ck_assert_int_eq(trace->processes, 8);
    ck_assert_str_eq(trace->names[trace->calls->name[0]], "jd_barrier");
    jd__trace__free_unpacked(trace, NULL);
    free(bytes);
    ck_assert_int_eq(rmdir(dir), 0); /* and no file */
}
END_TEST

START_TEST(a_place_of_nobody_has_nothing)
{
    int places = -1;
    size_t size = 7;
    begin();
    ck_assert_ptr_null(jd__trace_file_show(1, &places, &size));
    ck_assert_int_eq(places, 1);
    ck_assert_uint_eq(size, 0);
    ck_assert_ptr_null(jd__trace_file_show(-1, &places, &size));
    ck_assert_uint_eq(size, 0);
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(without_a_world_or_a_recorder_nothing_is_shown)
{
    int places = -1;
    size_t size = 7;
    begin();
    jd__trace_file_end();
    ck_assert_ptr_null(jd__trace_file_show(0, &places, &size));
    ck_assert_int_eq(places, 0);
    ck_assert_uint_eq(size, 0);
    jd__trace_file_begin(0x1f, "h1", 5, 8);
    jd__recorder_configure(false, false);
    places = -1;
    ck_assert_ptr_null(jd__trace_file_show(0, &places, &size));
    ck_assert_int_eq(places, 0);
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace");
    TCase *message = unit_case(suite, "message");
    tcase_add_test(message, who_it_is_of_is_said);
    tcase_add_test(message, calls_are_as_they_were);
    tcase_add_test(message, of_many_the_last_are_kept);
    TCase *file = unit_case(suite, "file");
    tcase_add_test(file, the_first_end_stands);
    tcase_add_test(file, without_a_world_nothing_is_written);
    tcase_add_test(file, a_folder_is_made);
    tcase_add_test(file, where_nothing_can_be_written_is_said);
    TCase *running = unit_case(suite, "while it runs");
    tcase_add_test(running, what_it_has_called_so_far_is_such_a_file);
    tcase_add_test(running, a_place_of_nobody_has_nothing);
    tcase_add_test(running, without_a_world_or_a_recorder_nothing_is_shown);
    return unit_main(suite);
}
