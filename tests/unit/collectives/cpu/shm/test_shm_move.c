/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shm_move.c - all_gather, all_to_all, permute and broadcast inside a
 * group, against what each member should get.
 *
 * A crowd makes all calls of a list one after the other: short and long, from
 * memory of every kind, so that what one call leaves behind is in the way of
 * the next.
 */
#include "collectives/cpu/shm/shm_cma.h"
#include "collectives/cpu/shm/shm_private.h"
#include "tests/lib/sanitized.h"
#include "tests/unit/shm_move.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t counts[] = { 0,         1,         7,      1000,
                                 4056,      PIECE - 1, PIECE,  4057,
                                 PIECE + 1, 2 * PIECE, LONGEST };
enum { NUM_COUNTS = sizeof counts / sizeof *counts };

static void run_move(struct member *m, const struct jd_shm_move *move)
{
    void *payload = jd__shm_payload_space(m->group);
    size_t bytes = jd__shm_move_tell(m->group, move, payload);
    meet(m, payload, bytes);
    UNIT_OK(jd__shm_move_run(m->group, move));
}

/* ---- the calls ---------------------------------------------------------- */

static void test_gather(struct member *m, const struct test_call *test)
{
    size_t rows = test->op == GATHER_ROWS ? ROWS : 1, count = test->count;
    size_t size = (size_t)m->size, all = rows * size * count;
    char *in = memory_of(m, test), *out = in + HALF_OF_MEMORY - 16;
    if (test->in_place && rows == 1)
        in = out + (size_t)m->index * count;
    struct jd_collective call = {
        .in = in, .out = out, .count = count, .dtype = JD_U8
    };
    memset(out, 0xa5, all + 1);
    for (size_t row = 0; row < rows; row++)
        memcpy(in + row * count, stream(test, m->index, -1, row), count);
    struct jd_shm_move move = jd__shm_move_all_gather(m->group, &call, rows);
    run_move(m, &move);
    if (!test->in_place)
        memset(in, 0x5a, rows * count);
    for (size_t row = 0; row < rows; row++)
        for (int i = 0; i < m->size; i++)
            expect(test, m, i, out + (row * size + (size_t)i) * count,
                   stream(test, i, -1, row), count);
    ck_assert_int_eq((unsigned char)out[all], 0xa5);
}

/* Pieces one after the other, or rows of all pieces side by side. */
static struct jd_pieces make_pieces(const struct member *m,
                                    const struct test_call *test)
{
    size_t size = (size_t)m->size, width = test->count;
    struct jd_pieces plain = {
        .rows = 1, .width = width, .in_step = width, .out_step = width
    };
    struct jd_pieces wide = { .rows = ROWS,
                              .width = width,
                              .in_step = width,
                              .in_pitch = width * size,
                              .out_step = width,
                              .out_pitch = width * size };
    if (test->op == SWAP)
        return plain;
    if (!test->in_place) {
        wide.out_step = width * ROWS;
        wide.out_pitch = width;
    }
    return wide;
}

static void test_swap(struct member *m, const struct test_call *test)
{
    struct jd_pieces p = make_pieces(m, test);
    size_t all = p.rows * p.width * (size_t)m->size;
    char *in = memory_of(m, test), *out = in + HALF_OF_MEMORY - 16;
    if (test->in_place)
        out = in;
    struct jd_collective call = {
        .in = in, .out = out, .count = p.rows * p.width, .dtype = JD_U8
    };
    memset(out, 0xa5, all + 1);
    for (int i = 0; i < m->size; i++)
        for (size_t row = 0; row < p.rows; row++)
            memcpy(in + (size_t)i * p.in_step + row * p.in_pitch,
                   stream(test, m->index, i, row), p.width);
    struct jd_shm_move move = jd__shm_move_all_to_all(m->group, &call, &p);
    run_move(m, &move);
    if (!test->in_place)
        memset(in, 0x5a, all);
    for (int i = 0; i < m->size; i++)
        for (size_t row = 0; row < p.rows; row++)
            expect(test, m, i, out + (size_t)i * p.out_step + row * p.out_pitch,
                   stream(test, i, m->index, row), p.width);
    ck_assert_int_eq((unsigned char)out[all], 0xa5);
}

/* Some members' data go nowhere, to themselves, or to another; the same on all
 * members. */
static void draw_permutation(const struct test_call *test, int size, int *to,
                             int *from)
{
    unsigned seed = test->number;
    for (int i = 0; i < size; i++)
        to[i] = i;
    for (int i = size - 1; i > 0; i--) {
        int j = rand_r(&seed) % (i + 1), t = to[i];
        to[i] = to[j];
        to[j] = t;
    }
    for (int i = 0; i < size; i++)
        from[i] = -1;
    for (int i = 0; i < size; i++) {
        if (rand_r(&seed) % 4 == 0)
            to[i] = -1;
        else
            from[to[i]] = i;
    }
}

static void test_permute(struct member *m, const struct test_call *test)
{
    static const char zeros[LONGEST];
    int to[CROWD_MAX], from[CROWD_MAX];
    size_t count = test->count;
    char *in = memory_of(m, test), *out = in + HALF_OF_MEMORY - 16;
    /* Some are in place, and some are not. */
    if (test->in_place && (m->index + (int)test->number) % 3)
        out = in;
    draw_permutation(test, m->size, to, from);
    struct jd_permute permute = { .to = to[m->index], .from = from[m->index] };
    struct jd_collective call = {
        .in = in, .out = out, .count = count, .dtype = JD_U8
    };
    memset(out, 0xa5, count + 1);
    memcpy(in, stream(test, m->index, -1, 0), count);
    struct jd_shm_move move = jd__shm_move_permute(m->group, &call, &permute);
    run_move(m, &move);
    if (out != in)
        memset(in, 0x5a, count);
    int producer = permute.from;
    expect(test, m, producer, out,
           producer < 0 ? (const void *)zeros : stream(test, producer, -1, 0),
           count);
    ck_assert_int_eq((unsigned char)out[count], 0xa5);
}

static void test_broadcast(struct member *m, const struct test_call *test)
{
    int source = (int)test->number % m->size;
    size_t count = test->count;
    char *in = memory_of(m, test), *out = in + HALF_OF_MEMORY - 16;
    if (test->in_place)
        in = out;
    struct jd_collective call = {
        .in = in, .out = out, .count = count, .dtype = JD_U8
    };
    memset(out, 0xa5, count + 1);
    if (m->index == source)
        memcpy(in, stream(test, source, -1, 0), count);
    struct jd_shm_move move = jd__shm_move_broadcast(m->group, &call, source);
    run_move(m, &move);
    if (in != out)
        memset(in, 0x5a, count);
    expect(test, m, source, out, stream(test, source, -1, 0), count);
    ck_assert_int_eq((unsigned char)out[count], 0xa5);
}

static void run_call(struct member *m, const struct test_call *test)
{
    static void (*const tests[])(struct member *, const struct test_call *) = {
        test_gather, test_gather,  test_swap,
        test_swap,   test_permute, test_broadcast
    };
    tests[test->op](m, test);
}

/* ---- all of them -------------------------------------------------------- */

static void make_all_calls(struct crowd *crowd, int index, void *arg)
{
    struct member m = make_member(crowd, index);
    struct test_call call = { .number = 0 };
    (void)arg;
    for (size_t i = 0; i < NUM_COUNTS; i += UNIT_STRIDE)
        for (int kind = 0; kind < NUM_KINDS; kind++)
            for (int place = 0; place < 2; place++)
                for (int op = 0; op < NUM_OPS; op++) {
                    call.count = counts[i];
                    call.kind = (enum kind)kind;
                    call.in_place = place;
                    call.op = (enum op)op;
                    call.number++;
                    run_call(&m, &call);
                }
    free(m.private);
}

START_TEST(everybody_gets_what_it_should)
{
    jd__shm_flow_limits.piece_bytes = PIECE;
    run_crowd(sizes[_i], make_all_calls, NULL);
}
END_TEST

START_TEST(so_it_does_in_long_pieces)
{
    run_crowd(3, make_all_calls, NULL);
}
END_TEST

START_TEST(so_it_does_where_short_data_bounce_out_of_heaps)
{
    jd__shm_flow_limits.piece_bytes = PIECE;
    jd__shm_flow_limits.straight_bytes = 2 * PIECE;
    jd__shm_flow_limits.inline_bytes = JD_SHM_PAYLOAD;
    run_crowd(3, make_all_calls, NULL);
}
END_TEST

/* Private memory is then read straight. */
START_TEST(so_do_members_of_one_process)
{
    struct crowd crowd;
    jd__shm_flow_limits.piece_bytes = PIECE;
    make_pattern();
    crowd_start(&crowd, _i);
    for (int i = 0; i < _i; i++)
        memset(crowd.groups[i]->processes, 0,
               (size_t)_i * sizeof *crowd.groups[i]->processes);
    for (int i = 0; i < _i; i++)
        crowd.groups[i]->is_one_process = true;
    crowd_run(&crowd, make_all_calls, NULL);
    crowd_stop(&crowd);
}
END_TEST

/* ---- memory of other processes ------------------------------------------ */

/* The system is asked to read out of that process, whoever it is. */
static bool run_with_pid(pid_t pid)
{
    struct crowd crowd;
    jd__shm_flow_limits.piece_bytes = PIECE;
    jd__shm_cma_shortest = 0;
    make_pattern();
    crowd_start(&crowd, 3);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            crowd.groups[i]->members[j].pid = pid;
    crowd_run(&crowd, make_all_calls, NULL);
    bool is_read = crowd.groups[0]->is_read_by_all;
    crowd_stop(&crowd);
    return is_read;
}

START_TEST(private_memory_is_read_where_that_is_allowed)
{
    char from = 1, to = 0;
    struct iovec in = { &from, 1 }, out = { &to, 1 };
    bool is_allowed = process_vm_readv(getpid(), &out, 1, &in, 1, 0) == 1;
    ck_assert(run_with_pid(getpid()) == is_allowed);
}
END_TEST

/* It has another word there, or nothing, or keeps it to itself. */
START_TEST(it_bounces_where_the_process_is_another)
{
    ck_assert(!run_with_pid(getppid()));
}
END_TEST

START_TEST(it_bounces_where_there_is_no_process)
{
    ck_assert(!run_with_pid(0));
}
END_TEST

START_TEST(a_process_that_has_ended_cannot_be_read)
{
    struct crowd crowd;
    char byte = 0;
    struct jd_strided to = { &byte, 1, 1, 1 };
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    crowd_start(&crowd, 2);
    struct jd_shm_group *group = crowd.groups[0];
    struct jd_shm_cma cma = { (uintptr_t)&byte, child, 1 };
    jd__shm_begin(group, "test", " over axis \"x\"");
    UNIT_FAILS(jd__shm_cma_copy(group, cma, 0, 1, &to), JD_UNAVAILABLE,
               "test over axis \"x\": the memory of process 1 (member 1) "
               "cannot be read any more: No such process; has it ended?");
    cma = jd__shm_cma_of(group, 1, CROWD_HEAP - 1, 0, 2);
    UNIT_FAILS(jd__shm_cma_copy(group, cma, 0, 1, &to), JD_INTERNAL,
               "test over axis \"x\": process 1 (member 1) told of a buffer "
               "that is not in its memory; please report this");
    crowd_stop(&crowd);
}
END_TEST

/* ---- a group that is a part of a communicator --------------------------- */

enum { COMM = 5, LONG_COUNT = 3000 };

/* Blocks 4, 1 and 2 of five are this group's; the others stay. */
static void gather_a_part(struct crowd *crowd, int index, void *arg)
{
    static const int numbers[] = { 4, 1, 2 };
    struct member m = make_member(crowd, index);
    struct test_call test = { .kind = MIXED };
    char *in = memory_of(&m, &test), *out = in + HALF_OF_MEMORY - 16;
    size_t count = *(size_t *)arg;
    struct jd_shm_move move = {
        .in = { in, 1, count, count },
        .out = { out, 1, count, count },
        .in_step = count,
        .out_step = count,
        .number = numbers,
        .to = JD_MOVE_ALL,
        .from = JD_MOVE_ALL,
    };
    memset(out, 0xa5, COMM * count);
    for (int i = 0; i < 3; i++)
        memcpy(in + (size_t)numbers[i] * count, stream(&test, index, i, 0),
               count);
    run_move(&m, &move);
    for (int i = 0; i < 3; i++)
        expect(&test, &m, i, out + (size_t)numbers[i] * count,
               stream(&test, i, index, 0), count);
    ck_assert_int_eq((unsigned char)out[0], 0xa5);
    ck_assert_int_eq((unsigned char)out[4 * count - 1], 0xa5);
    free(m.private);
}

START_TEST(blocks_may_be_some_of_many)
{
    size_t counts_here[] = { 1, LONG_COUNT };
    run_crowd(3, gather_a_part, &counts_here[_i]);
}
END_TEST

/* Long blocks are copied by other instructions than short ones. */
START_TEST(a_long_block_is_copied_whole)
{
    size_t bytes = ((size_t)16 << 20) + 13;
    char *from = malloc(bytes + 1), *to = calloc(1, bytes + 3);
    ck_assert(from && to);
    make_pattern();
    for (size_t i = 0; i < bytes; i++)
        from[i + 1] = (char)pattern[i % sizeof pattern];
    struct jd_strided in = { from + 1, 1, bytes, bytes };
    struct jd_strided out = { to + 1, 1, bytes, bytes };
    jd__strided_copy(&out, &in);
    ck_assert(memcmp(to + 1, from + 1, bytes) == 0);
    ck_assert(to[0] == 0 && to[bytes + 1] == 0);
    free(from);
    free(to);
}
END_TEST

/* ---- more than 2^31 and 2^32 bytes -------------------------------------- */

enum { MAPPED = 2 << 20 };

/* Addresses for so many bytes, which are the same MAPPED ones over and over. */
static char *map_many(size_t size)
{
    int file = memfd_create("test", MFD_CLOEXEC);
    ck_assert(file >= 0 && ftruncate(file, MAPPED) == 0);
    char *base =
        mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(base, MAP_FAILED);
    for (size_t at = 0; at < size; at += MAPPED)
        ck_assert_ptr_ne(mmap(base + at, MAPPED, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED, file, 0),
                         MAP_FAILED);
    close(file);
    return base;
}

static void broadcast_many(struct crowd *crowd, int index, void *arg)
{
    struct member m = make_member(crowd, index);
    size_t bytes = *(size_t *)arg, mapped = bytes / MAPPED * MAPPED + MAPPED;
    char *data = map_many(mapped);
    struct jd_collective call = {
        .in = data, .out = data, .count = bytes / 4 + 1, .dtype = JD_F32
    };
    if (index == 0)
        for (size_t i = 0; i < MAPPED; i += LONGEST / 2)
            memcpy(data + i, pattern, 1000);
    struct jd_shm_move move = jd__shm_move_broadcast(m.group, &call, 0);
    run_move(&m, &move);
    for (size_t i = 0; i < MAPPED; i += LONGEST / 2)
        ck_assert(memcmp(data + i, pattern, 1000) == 0);
    munmap(data, mapped);
    free(m.private);
}

/* Through bounce memory, and read straight. */
START_TEST(a_stream_may_be_longer_than_2_gib)
{
    struct crowd crowd;
    size_t bytes = ((size_t)1 << (_i ? 31 : 32)) + 4097;
    make_pattern();
    crowd_start(&crowd, 2);
    for (int i = 0; i < 4 && _i; i++)
        crowd.groups[i / 2]->members[i % 2].pid = getpid();
    crowd_run(&crowd, broadcast_many, &bytes);
    crowd_stop(&crowd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("move");
    TCase *moves = unit_case(suite, "moves");
    tcase_set_timeout(moves, 250);
    tcase_add_loop_test(moves, everybody_gets_what_it_should, 0, NUM_SIZES);
    tcase_add_test(moves, so_it_does_in_long_pieces);
    tcase_add_test(moves, so_it_does_where_short_data_bounce_out_of_heaps);
    tcase_add_loop_test(moves, so_do_members_of_one_process, 1, 4);
    tcase_add_loop_test(moves, blocks_may_be_some_of_many, 0, 2);
    tcase_add_test(moves, a_long_block_is_copied_whole);
    if (HAS_TSAN)
        fputs("# without more than 2 GiB: ThreadSanitizer's shadow of them is "
              "larger than memory\n",
              stderr);
    else
        tcase_add_loop_test(moves, a_stream_may_be_longer_than_2_gib, 0, 2);
    TCase *cma = unit_case(suite, "cma");
    tcase_set_timeout(cma, 100);
    tcase_add_test(cma, private_memory_is_read_where_that_is_allowed);
    tcase_add_test(cma, it_bounces_where_the_process_is_another);
    tcase_add_test(cma, it_bounces_where_there_is_no_process);
    tcase_add_test(cma, a_process_that_has_ended_cannot_be_read);
    return unit_main(suite);
}
