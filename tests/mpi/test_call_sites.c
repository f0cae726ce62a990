/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_call_sites - sentences say where in the program each of two processes
 * calls: of calls that differ, and of a call that one does not come to. With
 * libdw by line; without it functions have names, as the program shows them to
 * others (-rdynamic). Run with JD_COLLECTIVE_TIMEOUT=6; with JD_CHECK_SITES=1
 * and "alike" calls that are the same but for their place differ, and with
 * "alone" only the last process has asked for that.
 */
#include "jd.h"

#include "expect.h"

#include <dlfcn.h>
#include <stdbool.h>

static jd_shard *me;
static double values[4];
static volatile int num_steps;

/* Callers: not inlined, and with something left to do after the call. */
#define CALLER __attribute__((visibility("default"), noinline))

CALLER jd_status step_of_the_first(size_t count);
CALLER jd_status step_of_the_last(size_t count);

enum { LINE_OF_THE_FIRST = __LINE__ + 4, LINE_OF_THE_LAST = __LINE__ + 11 };

jd_status step_of_the_first(size_t count)
{
    jd_status status = jd_psum(me, "x", values, values, count, JD_F64);
    num_steps++;
    return status;
}

jd_status step_of_the_last(size_t count)
{
    jd_status status = jd_psum(me, "x", values, values, count, JD_F64);
    num_steps++;
    return status;
}

CALLER jd_status broadcast_of_the_first(const jd_leaf *leaf);
CALLER jd_status broadcast_of_the_last(const jd_leaf *leaf);

enum {
    BROADCAST_OF_THE_FIRST = __LINE__ + 6,
    BROADCAST_OF_THE_LAST = __LINE__ + 12
};

jd_status broadcast_of_the_first(const jd_leaf *leaf)
{
    jd_status status = jd_broadcast_one_to_all(leaf, 1, 0);
    num_steps++;
    return status;
}

jd_status broadcast_of_the_last(const jd_leaf *leaf)
{
    jd_status status = jd_broadcast_one_to_all(leaf, 1, 0);
    num_steps++;
    return status;
}

static void expect_text(const char *text)
{
    EXPECT(strstr(jd_error_message(), text), "wanted '%s' in: %s", text,
           jd_error_message());
}

static bool has_lines(void)
{
    return HAVE_LIBDW && dlopen("libdw.so.1", RTLD_NOW);
}

/* "test_call_sites.c:36 (step_of_the_first+0x", after these words. */
static void expect_place(const char *before, int number, const char *function)
{
    char text[160], line[40] = "";
    if (has_lines())
        snprintf(line, sizeof line, "test_call_sites.c:%d (", number);
    snprintf(text, sizeof text, "%s%s%s+0x", before, line, function);
    expect_text(text);
    if (!line[0])
        expect_text(" (test_call_sites+0x");
}

static void expect_site(const char *before, bool is_of_last)
{
    if (is_of_last)
        expect_place(before, LINE_OF_THE_LAST, "step_of_the_last");
    else
        expect_place(before, LINE_OF_THE_FIRST, "step_of_the_first");
}

/* The process number is the last. */
static void try_mismatch(bool is_last, int number)
{
    char text[64];
    jd_status status = is_last ? step_of_the_last(2) : step_of_the_first(3);
    EXPECT_STATUS(status, JD_INVALID_ARGUMENT, "jd_psum of 2 x F64");
    snprintf(text, sizeof text, "; process %d calls at ", number);
    expect_site(text, true);
    expect_site(", process 0 at ", false);
}

/* A call of processes, without a mesh. */
static void try_broadcast(bool is_last, int number)
{
    char text[64];
    const jd_leaf leaf = { values, is_last ? JD_S64 : JD_F64, 0, NULL };
    EXPECT_STATUS(is_last ? broadcast_of_the_last(&leaf)
                          : broadcast_of_the_first(&leaf),
                  JD_INVALID_ARGUMENT, "jd_broadcast_one_to_all: process ");
    snprintf(text, sizeof text, "process %d calls at ", number);
    expect_place(text, BROADCAST_OF_THE_LAST, "broadcast_of_the_last");
    expect_place(", process 0 at ", BROADCAST_OF_THE_FIRST,
                 "broadcast_of_the_first");
}

/* Its place is in what it says itself, and what the other did is read in
 * memory that they share, or is what the other says with its heartbeats. */
static void try_deadline(bool is_last)
{
    void *value;
    size_t size;
    if (is_last) {
        EXPECT_OK(jd_kv_get("it is over", 30, &value, &size));
        free(value);
        return;
    }
    EXPECT_STATUS(step_of_the_first(1), JD_DEADLINE_EXCEEDED, "jd_psum");
    expect_site("; the deadline was 6 s (JD_COLLECTIVE_TIMEOUT changes it); it "
                "was called at ",
                false);
    expect_text("jd_kv_get, called at test_call_sites");
    EXPECT_OK(jd_kv_set("it is over", "", 0, 0));
}

/* ---- JD_CHECK_SITES ------------------------------------------------------ */

static jd_status psum_somewhere(bool is_last)
{
    return is_last ? step_of_the_last(2) : step_of_the_first(2);
}

/* What follows each call keeps the compiler from making one of them. */
static jd_status broadcast_somewhere(const jd_leaf *leaf, bool is_last)
{
    jd_status status;
    if (is_last) {
        status = jd_broadcast_one_to_all(leaf, 1, 0);
        num_steps++;
    } else {
        status = jd_broadcast_one_to_all(leaf, 1, 0);
        num_steps += 2;
    }
    return status;
}

/* The same call, at one place and at two. */
static void try_alike(bool is_last, int number)
{
    char text[64];
    int number_of_one = 1;
    EXPECT_STATUS(psum_somewhere(is_last), JD_INVALID_ARGUMENT,
                  "calls jd_psum of 2 x F64 at another place of the program "
                  "(JD_CHECK_SITES=1); all members must");
    snprintf(text, sizeof text, "; process %d calls at ", number);
    expect_site(text, true);
    expect_site(", process 0 at ", false);
    EXPECT_OK(step_of_the_first(2));
    EXPECT_OK(jd_sync_global_devices("here"));
    const jd_leaf leaf = { &number_of_one, JD_S32, 0, NULL };
    EXPECT_STATUS(broadcast_somewhere(&leaf, is_last), JD_INVALID_ARGUMENT,
                  " at another place of the program (JD_CHECK_SITES=1); all "
                  "processes must");
    expect_text("; process ");
    expect_text(" calls at ");
}

static void try_alone(bool is_last)
{
    EXPECT_STATUS(psum_somewhere(is_last), JD_INVALID_ARGUMENT,
                  ", but only one of them has JD_CHECK_SITES=1, which all must "
                  "have; ");
}

/* ---- ------------------------------------------------------------------- */

static void try_differing(bool is_last, int number)
{
    EXPECT_OK(jd_psum(me, "x", values, values, 1, JD_F64));
    try_mismatch(is_last, number);
    EXPECT_OK(jd_psum(me, "x", values, values, 1, JD_F64));
    try_broadcast(is_last, number);
    try_deadline(is_last);
}

int main(int argc, char **argv)
{
    jd_mesh *mesh;
    const char *what = argc > 1 ? argv[1] : "";
    const char *rank = launcher_rank_text();
    if (strcmp(what, "alone") == 0 && rank && strcmp(rank, "0") != 0)
        setenv("JD_CHECK_SITES", "1", 1);
    JD_CHECK(jd_initialize());
    int number = jd_process_count() - 1;
    bool is_last = jd_process_index() == number;
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    me = jd_mesh_shard(mesh);
    if (strcmp(what, "alike") == 0)
        try_alike(is_last, number);
    else if (strcmp(what, "alone") == 0)
        try_alone(is_last);
    else
        try_differing(is_last, number);
    jd_mesh_destroy(mesh);
    return jd_shutdown();
}
