/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_any_size - receives that do not know how much comes: alone, in groups
 * with others, started, to oneself; what does not fit, and who goes on. With
 * "late" the sender never comes.
 */
#include "jd.h"

#include "expect.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LONGEST = (1 << 20) + 3, MARK = -1 };
#define OVER " over axis \"x\""

static const size_t counts[] = { 0,   1,       5,     243,    244,    250,
                                 500, 1 << 12, 40000, 300001, LONGEST };
enum { NUM_COUNTS = sizeof counts / sizeof *counts };

/* One member's. */
struct member {
    jd_shard *me;
    int size, index;
    int32_t *in, *out;
};

/* ---- buffers ------------------------------------------------------------ */

static int32_t value_of(int member, size_t i)
{
    return (int32_t)(i * 7 + (size_t)member * 1000003) & INT32_MAX;
}

static void fill(struct member *m)
{
    for (size_t i = 0; i < LONGEST; i++) {
        m->in[i] = value_of(m->index, i);
        m->out[i] = MARK;
    }
}

/* What came, and nothing behind it. */
static void expect_came(const int32_t *out, int from, size_t count, size_t room)
{
    for (size_t i = 0; i < room; i++)
        EXPECT(out[i] == (i < count ? value_of(from, i) : MARK),
               "%zu of %zu: %d", i, count, out[i]);
}

static int process_of(const struct member *m, int member)
{
    return member / (m->size / jd_process_count());
}

static void expect_sum(const struct member *m)
{
    double mine = m->index + 1, sum = 0;
    EXPECT_OK(jd_psum(m->me, "x", &mine, &sum, 1, JD_F64));
    EXPECT(sum == m->size * (m->size + 1) / 2, "the sum is %g", sum);
}

/* ---- alone -------------------------------------------------------------- */

/* Between neighbours, there and back; an odd last one has none. */
static int partner_of(const struct member *m)
{
    int partner = m->index ^ 1;
    return partner < m->size ? partner : -1;
}

static void send_and_receive(struct member *m, int turn, size_t count,
                             size_t capacity)
{
    int partner = partner_of(m);
    size_t came = 77;
    fill(m);
    if (partner < 0)
        return;
    if (m->index % 2 == turn) {
        EXPECT_OK(jd_send(m->me, "x", partner, m->in, count, JD_S32));
        return;
    }
    EXPECT_OK(
        jd_recv_any_size(m->me, "x", partner, m->out, capacity, &came, JD_S32));
    EXPECT(came == count, "%zu of %zu", came, count);
    expect_came(m->out, partner, count, LONGEST);
}

static void try_counts(struct member *m)
{
    for (int i = 0; i < NUM_COUNTS; i++)
        for (int turn = 0; turn < 2; turn++) {
            send_and_receive(m, turn, counts[i], counts[i]);
            send_and_receive(m, turn, counts[i], LONGEST);
        }
}

/* Without memory there is room for nothing. */
static void try_no_room(struct member *m)
{
    size_t came = 77;
    if (m->size < 2 || m->index > 1)
        return;
    if (m->index == 0)
        EXPECT_OK(jd_send(m->me, "x", 1, NULL, 0, JD_S32));
    else
        EXPECT_OK(jd_recv_any_size(m->me, "x", 0, NULL, 0, &came, JD_S32));
    EXPECT(came == (m->index ? 0 : 77), "%zu", came);
}

/* ---- what does not fit -------------------------------------------------- */

/* What member 1 sends when it has been refused. */
static jd_status hear_of_it(struct member *m)
{
    char word = 0;
    return jd_recv(m->me, "x", 1, &word, 1, JD_S8);
}

/* Member 0 sends, 1 receives; both return the sentence, the sender of a short
 * one in its next transfer. */
static void expect_refused(struct member *m, size_t count, size_t capacity,
                           jd_dtype dtype, int32_t tag, const char *said)
{
    size_t came = 77;
    bool is_late = false;
    jd_status status;
    fill(m);
    if (m->size < 2 || m->index > 1)
        return;
    if (m->index == 0)
        status = jd_send_tagged(m->me, "x", 1, tag, m->in, count, JD_S32);
    else
        status =
            jd_recv_any_size(m->me, "x", 0, m->out, capacity, &came, dtype);
    is_late = m->index == 0 && status == JD_OK;
    if (is_late)
        status = hear_of_it(m);
    expect_sentence(status, JD_INVALID_ARGUMENT,
                    "%s" OVER ": process %d (member 0) sends %zu x S32%s%s",
                    m->index ? "jd_recv_any_size" : "jd_send", process_of(m, 0),
                    count, said,
                    is_late ? "; this is of an earlier jd_send, which returned "
                              "before its receive was there, as short ones do"
                            : "");
    if (m->index == 1)
        EXPECT_OK(jd_send(m->me, "x", 0, "", 1, JD_S8));
    else if (!is_late)
        EXPECT_OK(hear_of_it(m));
    EXPECT(came == 77, "%zu", came);
    expect_came(m->out, 0, 0, LONGEST);
}

static void try_too_many(struct member *m)
{
    static const size_t rooms[] = { 0, 4, 243, 500, 40000, LONGEST - 1 };
    char said[200];
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        snprintf(said, sizeof said,
                 ", and process %d (member 1) calls jd_recv_any_size with a "
                 "capacity of %zu; give it a capacity of %zu at least, or send "
                 "less",
                 process_of(m, 1), rooms[i], rooms[i] + 1);
        expect_refused(m, rooms[i] + 1, rooms[i], JD_S32, 0, said);
        expect_sum(m);
    }
}

static void try_unlike(struct member *m)
{
    char said[400];
    snprintf(said, sizeof said,
             ", where process %d (member 1) receives at most 9 x F32; a send "
             "and its receive have the same type, and match in the order of "
             "the calls",
             process_of(m, 1));
    expect_refused(m, 5, 9, JD_F32, 0, said);
    snprintf(said, sizeof said,
             " with tag 3, where process %d (member 1) receives at most 9 x "
             "S32 with tag 0; a send and its receive have the same tag; "
             "between two members the transfers of a group match in the order "
             "of their tags, others in that of the calls",
             process_of(m, 1));
    expect_refused(m, 5, 9, JD_S32, 3, said);
    expect_sum(m);
}

/* ---- groups ------------------------------------------------------------- */

static size_t length_from(int member, int which)
{
    return counts[(size_t)(member * 3 + which * 5) % NUM_COUNTS];
}

/* From each to its next, of any size and not by turns; and to itself. */
static void note_group(struct member *m, size_t came[4])
{
    int next = (m->index + 1) % m->size;
    int last = (m->index + m->size - 1) % m->size;
    size_t known = length_from(last, 1);
    for (int i = 0; i < 3; i++)
        EXPECT_OK(
            jd_send(m->me, "x", next, m->in, length_from(m->index, i), JD_S32));
    EXPECT_OK(
        jd_recv_any_size(m->me, "x", last, m->out, LONGEST, &came[0], JD_S32));
    EXPECT_OK(jd_recv(m->me, "x", last, m->out + LONGEST, known, JD_S32));
    EXPECT_OK(jd_recv_any_size(m->me, "x", last, m->out + 2 * LONGEST, LONGEST,
                               &came[2], JD_S32));
    if (m->size == 1)
        return;
    EXPECT_OK(jd_recv_any_size(m->me, "x", m->index, m->out + 3 * LONGEST,
                               LONGEST, &came[3], JD_S32));
    EXPECT_OK(
        jd_send(m->me, "x", m->index, m->in, length_from(m->index, 3), JD_S32));
}

static void clear_outs(struct member *m)
{
    for (size_t i = 0; i < (size_t)4 * LONGEST; i++)
        m->out[i] = MARK;
}

static void expect_group(struct member *m, const size_t came[4])
{
    int last = (m->index + m->size - 1) % m->size;
    for (int i = 0; i < 3; i++)
        expect_came(m->out + (size_t)i * LONGEST, last, length_from(last, i),
                    LONGEST);
    EXPECT(came[0] == length_from(last, 0), "%zu", came[0]);
    EXPECT(came[2] == length_from(last, 2), "%zu", came[2]);
    if (m->size == 1)
        return;
    EXPECT(came[3] == length_from(m->index, 3), "%zu", came[3]);
    expect_came(m->out + (size_t)3 * LONGEST, m->index, came[3], LONGEST);
}

static void try_groups(struct member *m)
{
    size_t came[4] = { 77, 77, 77, 77 };
    jd_request *request;
    clear_outs(m);
    EXPECT_OK(jd_group_begin(m->me));
    note_group(m, came);
    EXPECT(came[0] == 77, "%zu", came[0]);
    EXPECT_OK(jd_group_end(m->me));
    expect_group(m, came);
    clear_outs(m);
    EXPECT_OK(jd_group_begin(m->me));
    note_group(m, came);
    EXPECT_OK(jd_group_start(m->me, &request));
    EXPECT_OK(jd_wait(&request));
    expect_group(m, came);
}

/* What fits of a group is done. */
static void try_group_too_many(struct member *m)
{
    size_t came[2] = { 77, 77 };
    fill(m);
    if (m->size < 2 || m->index > 1)
        return;
    EXPECT_OK(jd_group_begin(m->me));
    for (size_t i = 0; i < 2; i++)
        if (m->index == 0)
            EXPECT_OK(jd_send(m->me, "x", 1, m->in, 600 - 100 * i, JD_S32));
        else
            EXPECT_OK(jd_recv_any_size(m->me, "x", 0, m->out + 1000 * i, 599,
                                       &came[i], JD_S32));
    EXPECT_STATUS(jd_group_end(m->me), JD_INVALID_ARGUMENT,
                  "with a capacity of 599; give it a capacity of 600");
    if (m->index == 0)
        return;
    EXPECT(came[0] == 77 && came[1] == 500, "%zu, %zu", came[0], came[1]);
    expect_came(m->out, 0, 0, 1000);
    expect_came(m->out + 1000, 0, 500, 1000);
}

static void try_self_too_many(struct member *m)
{
    size_t came = 77;
    fill(m);
    EXPECT_OK(jd_group_begin(m->me));
    EXPECT_OK(jd_recv_any_size(m->me, "x", m->index, m->out, 4, &came, JD_S32));
    EXPECT_OK(jd_send(m->me, "x", m->index, m->in, 5, JD_S32));
    EXPECT_STATUS(jd_group_end(m->me), JD_INVALID_ARGUMENT,
                  "with a capacity of 4; give it a capacity of 5");
    EXPECT(came == 77, "%zu", came);
    expect_came(m->out, 0, 0, 10);
}

/* ---- what is refused where it is called --------------------------------- */

static void try_refusals(struct member *m)
{
    size_t came = 77;
    EXPECT_STATUS(
        jd_recv_any_size(m->me, "x", 0, m->out, 4, NULL, JD_S32),
        JD_INVALID_ARGUMENT,
        "jd_recv_any_size: ret_count is NULL; it is where the number of "
        "elements that came is written");
    EXPECT_STATUS(jd_recv_any_size(m->me, "x", 0, NULL, 4, &came, JD_S32),
                  JD_INVALID_ARGUMENT,
                  "jd_recv_any_size: out is NULL and capacity is 4; only a "
                  "capacity of 0 needs no buffer");
    EXPECT_STATUS(
        jd_recv_any_size(m->me, "x", m->size, m->out, 4, &came, JD_S32),
        JD_INVALID_ARGUMENT, "jd_recv_any_size: from is ");
    EXPECT_STATUS(
        jd_recv_any_size(m->me, "x", m->index, m->out, 4, &came, JD_S32),
        JD_INVALID_ARGUMENT, "is the caller itself");
    EXPECT_STATUS(jd_recv_any_size(NULL, "x", 0, m->out, 4, &came, JD_S32),
                  JD_INVALID_ARGUMENT, "jd_shard_map");
}

/* ---- all of it ---------------------------------------------------------- */

static void open_member(struct member *m, jd_shard *shard)
{
    m->me = shard;
    m->size = jd_axis_size(shard, "x");
    m->index = jd_axis_index(shard, "x");
    m->in = malloc(LONGEST * sizeof *m->in);
    m->out = malloc((size_t)4 * LONGEST * sizeof *m->out);
    EXPECT(m->in && m->out, "no memory");
    EXPECT_OK(jd_barrier(shard, "x"));
}

static jd_status run_body(jd_shard *shard, void *arg)
{
    struct member m;
    (void)arg;
    open_member(&m, shard);
    try_counts(&m);
    try_no_room(&m);
    try_too_many(&m);
    try_unlike(&m);
    try_groups(&m);
    try_group_too_many(&m);
    try_self_too_many(&m);
    try_refusals(&m);
    expect_sum(&m);
    free(m.in);
    free(m.out);
    return JD_OK;
}

/* Process 1 sends nothing. */
static void wait_for_nothing(jd_mesh *mesh)
{
    jd_shard *me = jd_mesh_shard(mesh);
    void *word;
    size_t came = 77, length;
    int32_t out;
    EXPECT_OK(jd_barrier(me, "x"));
    if (jd_process_index() == 1) {
        EXPECT_OK(jd_kv_get("over", 60, &word, &length));
        free(word);
        return;
    }
    EXPECT_STATUS(jd_recv_any_size(me, "x", 1, &out, 1, &came, JD_S32),
                  JD_DEADLINE_EXCEEDED, "process 1");
    EXPECT(strstr(jd_error_message(), "jd_recv_any_size" OVER), "%s",
           jd_error_message());
    EXPECT(came == 77, "%zu", came);
    EXPECT_OK(jd_kv_set("over", "yes", 4, 0));
}

int main(int argc, char **argv)
{
    const char *name = "x";
    int size = -1;
    jd_mesh *mesh;
    EXPECT_OK(jd_initialize());
    EXPECT_OK(jd_mesh_create(&mesh, 1, &size, &name, NULL));
    if (argc > 1 && strcmp(argv[1], "late") == 0)
        wait_for_nothing(mesh);
    else
        EXPECT_OK(jd_shard_map(mesh, run_body, NULL));
    jd_mesh_destroy(mesh);
    return jd_shutdown();
}
