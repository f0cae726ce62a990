/* SPDX-License-Identifier: BSD-3-Clause */
/* test_shm_move_ragged.c - ragged_all_to_all inside a group. */
#include "tests/unit/shm_move.h"

/* What all members know of a ragged call: sizes and places of all pieces, in
 * rows of ROW bytes. */
enum { ROW = 3, MOST_PIECES = 400, MOST_ROWS = 900 };

struct ragged {
    int size, pieces;
    int64_t sizes[CROWD_MAX][CROWD_MAX][MOST_PIECES]; /* producer, consumer */
    int64_t from[CROWD_MAX][CROWD_MAX][MOST_PIECES];
    int64_t to[CROWD_MAX][CROWD_MAX][MOST_PIECES];
    int64_t in_rows[CROWD_MAX], out_rows[CROWD_MAX];
};

static struct ragged ragged; /* of the present test; read by all members */

/* In and out are packed, but for some gaps. */
static void draw_ragged(int size, int pieces, int64_t most, unsigned seed)
{
    memset(&ragged, 0, sizeof ragged);
    ragged.size = size;
    ragged.pieces = pieces;
    for (int producer = 0; producer < size; producer++)
        for (int consumer = 0; consumer < size; consumer++)
            for (int i = 0; i < pieces; i++) {
                int64_t rows = rand_r(&seed) % 3 ? rand_r(&seed) % most : 0;
                ragged.sizes[producer][consumer][i] = rows;
                ragged.from[producer][consumer][i] = ragged.in_rows[producer];
                ragged.to[producer][consumer][i] = ragged.out_rows[consumer];
                ragged.in_rows[producer] += rows + rand_r(&seed) % 2;
                ragged.out_rows[consumer] += rows + rand_r(&seed) % 2;
            }
}

struct ragged_arrays {
    int64_t in[CROWD_MAX * MOST_PIECES], send[CROWD_MAX * MOST_PIECES];
    int64_t out[CROWD_MAX * MOST_PIECES], receive[CROWD_MAX * MOST_PIECES];
};

static struct jd_ragged describe_ragged(const struct member *m,
                                        struct ragged_arrays *a)
{
    for (int j = 0; j < m->size; j++)
        for (int i = 0; i < ragged.pieces; i++) {
            int k = j * ragged.pieces + i;
            a->in[k] = ragged.from[m->index][j][i];
            a->send[k] = ragged.sizes[m->index][j][i];
            a->out[k] = ragged.to[m->index][j][i];
            a->receive[k] = ragged.sizes[j][m->index][i];
        }
    return (struct jd_ragged){
        .input_offsets = a->in,
        .send_sizes = a->send,
        .output_offsets = a->out,
        .recv_sizes = a->receive,
        .per_member = ragged.pieces,
        .in_rows = (size_t)ragged.in_rows[m->index],
        .out_rows = (size_t)ragged.out_rows[m->index],
    };
}

static jd_status call_ragged(struct member *m, const struct test_call *test,
                             const struct jd_ragged *r, char *in, char *out)
{
    struct jd_collective call = {
        .in = in, .out = out, .count = ROW, .dtype = JD_U8
    };
    void *payload = jd__shm_payload_space(m->group);
    (void)test;
    meet(m, payload, jd__shm_move_tell_ragged(m->group, &call, r, payload));
    return jd__shm_move_run_ragged(m->group, &call, r);
}

static void check_ragged(const struct member *m, const struct test_call *test,
                         const char *out)
{
    size_t rows = (size_t)ragged.out_rows[m->index];
    char *wanted = malloc(rows * ROW + 1);
    memset(wanted, 0xa5, rows * ROW + 1);
    for (int j = 0; j < m->size; j++)
        for (int i = 0; i < ragged.pieces; i++)
            memcpy(wanted + ragged.to[j][m->index][i] * ROW,
                   stream(test, j, m->index, (size_t)i),
                   (size_t)ragged.sizes[j][m->index][i] * ROW);
    expect(test, m, -1, out, wanted, rows * ROW + 1);
    free(wanted);
}

static void make_ragged_calls(struct crowd *crowd, int index, void *arg)
{
    struct member m = make_member(crowd, index);
    struct ragged_arrays *arrays = malloc(sizeof *arrays);
    struct test_call test = { .number = 0 };
    (void)arg;
    for (int kind = 0; kind < NUM_KINDS; kind++, test.number++) {
        test.kind = (enum kind)kind;
        char *in = memory_of(&m, &test), *out = in + HALF_OF_MEMORY - 16;
        struct jd_ragged r = describe_ragged(&m, arrays);
        memset(out, 0xa5, r.out_rows * ROW + 1);
        for (int j = 0; j < m.size; j++)
            for (int i = 0; i < ragged.pieces; i++)
                memcpy(in + ragged.from[index][j][i] * ROW,
                       stream(&test, index, j, (size_t)i),
                       (size_t)ragged.sizes[index][j][i] * ROW);
        UNIT_OK(call_ragged(&m, &test, &r, in, out));
        memset(in, 0x5a, r.in_rows * ROW);
        check_ragged(&m, &test, out);
    }
    free(arrays);
    free(m.private);
}

START_TEST(ragged_pieces_find_their_places)
{
    jd__shm_flow_limits.piece_bytes = 512;
    draw_ragged(sizes[_i], 3, MOST_ROWS, (unsigned)_i);
    run_crowd(sizes[_i], make_ragged_calls, NULL);
}
END_TEST

/* The table itself needs more pieces than two. */
START_TEST(so_do_many_ragged_pieces)
{
    jd__shm_flow_limits.piece_bytes = 500;
    draw_ragged(3, MOST_PIECES, 40, 5);
    run_crowd(3, make_ragged_calls, NULL);
}
END_TEST

START_TEST(nothing_ragged_is_nothing)
{
    draw_ragged(2, 1, 1, 1);
    run_crowd(2, make_ragged_calls, NULL);
}
END_TEST

/* ---- what does not fit -------------------------------------------------- */

/* Member 1 changes one number of what it says. */
struct lie {
    const char *text;
    int64_t *(*number)(struct ragged_arrays *a);
    int64_t value;
};

static int64_t *second_input(struct ragged_arrays *a)
{
    return &a->in[1 * 2 + 1];
}

static int64_t *first_output(struct ragged_arrays *a)
{
    return &a->out[0];
}

static int64_t *first_sent(struct ragged_arrays *a)
{
    return &a->send[0];
}

static int64_t *last_received(struct ragged_arrays *a)
{
    return &a->receive[2 * 2 + 1];
}

static const struct lie lies[] = {
    { "test over axis \"x\": process 1 (member 1) sends rows 999 to 999 + 5 to "
      "process 1 (member 1), piece 1; its in has 30 rows",
      second_input, 999 },
    { "test over axis \"x\": process 1 (member 1) sends rows -1 to -1 + 5 to "
      "process 1 (member 1), piece 1; its in has 30 rows",
      second_input, -1 },
    { "test over axis \"x\": process 1 (member 1) sends 5 rows to row 26 of "
      "process 0 (member 0), piece 0, whose out has 30 rows",
      first_output, 26 },
    { "test over axis \"x\": process 1 (member 1) sends 6 rows to process 0 "
      "(member 0), piece 0, which expects 5; recv_sizes are the others' "
      "send_sizes",
      first_sent, 6 },
    { "test over axis \"x\": process 2 (member 2) sends 5 rows to process 1 "
      "(member 1), piece 1, which expects 4; recv_sizes are the others' "
      "send_sizes",
      last_received, 4 },
    /* Member 0 expects 5; that this member has no such rows is said first. */
    { "test over axis \"x\": process 1 (member 1) sends rows 0 to 0 + "
      "9223372036854775807 to process 0 (member 0), piece 0; its in has 30 "
      "rows",
      first_sent, INT64_MAX },
    { "test over axis \"x\": process 1 (member 1) sends rows 0 to 0 + -1 to "
      "process 0 (member 0), piece 0; its in has 30 rows",
      first_sent, -1 },
};
enum { NUM_LIES = sizeof lies / sizeof *lies };

static void lie_once(struct crowd *crowd, int index, void *arg)
{
    const struct lie *lie = arg;
    struct member m = make_member(crowd, index);
    struct ragged_arrays *arrays = malloc(sizeof *arrays);
    struct test_call test = { .kind = MIXED };
    struct jd_ragged r = describe_ragged(&m, arrays);
    char *in = memory_of(&m, &test), *out = in + HALF_OF_MEMORY - 16;
    int64_t *number = lie->number(arrays), truth = *number;
    memset(in, 1, r.in_rows * ROW);
    memset(out, 2, r.out_rows * ROW);
    if (index == 1)
        *number = lie->value;
    jd__shm_begin(m.group, "test", " over axis \"x\"");
    UNIT_FAILS(call_ragged(&m, &test, &r, in, out), JD_INVALID_ARGUMENT,
               lie->text);
    for (size_t i = 0; i < r.out_rows * ROW; i++)
        ck_assert_int_eq(out[i], 2);
    *number = truth;
    UNIT_OK(call_ragged(&m, &test, &r, in, out));
    ck_assert_int_eq(out[0], 1);
    free(arrays);
    free(m.private);
}

/* Each piece has 5 rows, without gaps. */
START_TEST(all_hear_which_pair_does_not_fit)
{
    ragged.size = 3;
    ragged.pieces = 2;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++) {
                ragged.sizes[i][j][k] = 5;
                ragged.from[i][j][k] = (j * 2 + k) * 5;
                ragged.to[i][j][k] = (i * 2 + k) * 5;
                ragged.in_rows[i] = ragged.out_rows[i] = 30;
            }
    run_crowd(3, lie_once, (void *)(uintptr_t)&lies[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("move_ragged");
    TCase *pieces = unit_case(suite, "ragged");
    tcase_set_timeout(pieces, 100);
    tcase_add_loop_test(pieces, ragged_pieces_find_their_places, 0, NUM_SIZES);
    tcase_add_test(pieces, so_do_many_ragged_pieces);
    tcase_add_test(pieces, nothing_ragged_is_nothing);
    tcase_add_loop_test(pieces, all_hear_which_pair_does_not_fit, 0, NUM_LIES);
    return unit_main(suite);
}
