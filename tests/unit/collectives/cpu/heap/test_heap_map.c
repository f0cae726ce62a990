/* SPDX-License-Identifier: BSD-3-Clause */
/* test_heap_map.c - two processes that see the same memory, and descriptions
 * that lead to nothing. */
#include "tests/unit/heap_refusals.h"
#include "tests/unit/heap_use.h"
#include "tests/unit/unit.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES ((size_t)3 << 20)

/* Another process with a heap, and an allocation in it. */
struct neighbour {
    pid_t pid;
    struct jd_heap_desc desc;
    uint64_t offset;
    int order, answer; /* pipes: a byte each */
};

static void send_all(int to, const void *data, size_t bytes)
{
    ck_assert_int_eq(write(to, data, bytes), (ssize_t)bytes);
}

static void receive_all(int from, void *data, size_t bytes)
{
    ck_assert_int_eq(read(from, data, bytes), (ssize_t)bytes);
}

/* The other process: fills its memory, waits for an order, and says whether
 * the memory is what the test has written. Ends when the test does. */
static void run_neighbour(int order, int answer)
{
    struct jd_heap *heap = jd__heap_get("test");
    struct jd_heap_desc desc;
    uint64_t offset;
    char byte;
    ck_assert_msg(heap != NULL, "%s", jd_error_message());
    char *memory = take(heap, BYTES, 0);
    memset(memory, 'n', BYTES);
    ck_assert(jd__heap_offset(heap, memory, BYTES, &offset));
    jd__heap_describe(heap, &desc);
    send_all(answer, &desc, sizeof desc);
    send_all(answer, &offset, sizeof offset);
    while (read(order, &byte, 1) == 1) {
        bool same = true;
        for (size_t i = 0; i < BYTES; i++)
            same = same && memory[i] == byte;
        send_all(answer, same ? "y" : "n", 1);
    }
    _exit(0);
}

static void start(struct neighbour *neighbour)
{
    int orders[2], answers[2];
    ck_assert_int_eq(pipe(orders), 0);
    ck_assert_int_eq(pipe(answers), 0);
    neighbour->pid = fork();
    ck_assert_int_ge(neighbour->pid, 0);
    if (neighbour->pid == 0) {
        close(orders[1]);
        close(answers[0]);
        run_neighbour(orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    neighbour->order = orders[1];
    neighbour->answer = answers[0];
    receive_all(answers[0], &neighbour->desc, sizeof neighbour->desc);
    receive_all(answers[0], &neighbour->offset, sizeof neighbour->offset);
}

static void stop(struct neighbour *neighbour, int signal)
{
    if (signal)
        ck_assert_int_eq(kill(neighbour->pid, signal), 0);
    close(neighbour->order);
    ck_assert_int_eq(waitpid(neighbour->pid, NULL, 0), neighbour->pid);
    close(neighbour->answer);
}

static struct jd_heap_view *map(const struct jd_heap_desc *desc)
{
    struct jd_heap_view *view = NULL;
    UNIT_OK(jd__heap_map(desc, &view));
    return view;
}

/* A neighbour's BYTES at the offset, which nobody has looked at here yet. */
static char *look_at(struct jd_heap_view *view, uint64_t offset)
{
    ck_assert_uint_ge(jd__heap_view_open(view, offset + BYTES), offset + BYTES);
    return jd__heap_view_base(view) + offset;
}

static void expect_bytes(const char *memory, char value)
{
    for (size_t i = 0; i < BYTES; i++)
        if (memory[i] != value)
            ck_abort_msg("byte %zu is %d", i, memory[i]);
}

/* ---- what works --------------------------------------------------------- */

static void share_with(struct neighbour *neighbour)
{
    char byte;
    struct jd_heap_view *view = map(&neighbour->desc);
    char *memory = look_at(view, neighbour->offset);
    ck_assert_uint_eq((uintptr_t)memory % JD_HEAP_HUGE, 0);
    expect_bytes(memory, 'n');
    memset(memory, 't', BYTES);
    send_all(neighbour->order, "t", 1);
    receive_all(neighbour->answer, &byte, 1);
    ck_assert_int_eq(byte, 'y');
    jd__heap_unmap(view);
}

START_TEST(both_see_what_either_writes)
{
    struct neighbour neighbour;
    start(&neighbour);
    share_with(&neighbour);
    stop(&neighbour, 0);
}
END_TEST

static size_t count_files(const char *pattern)
{
    glob_t found;
    size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

/* Not those of MPI, in whose names is the host's; nor those of jobs whose /tmp
 * is full, which other tests have meanwhile. */
static size_t count_jd_files(void)
{
    return count_files("/dev/shm/jd*") - count_files("/dev/shm/jd-wireup-*");
}

START_TEST(a_file_serves_where_memfd_is_refused)
{
    struct neighbour neighbour;
    size_t before = count_jd_files();
    refuse_memfd();
    start(&neighbour);
    share_with(&neighbour);
    ck_assert_uint_eq(count_jd_files(), before);
    stop(&neighbour, SIGKILL);
    ck_assert_uint_eq(count_jd_files(), before);
}
END_TEST

START_TEST(memory_outlives_its_owner)
{
    struct neighbour neighbour;
    start(&neighbour);
    struct jd_heap_view *view = map(&neighbour.desc);
    char *memory = look_at(view, neighbour.offset);
    stop(&neighbour, SIGKILL);
    expect_bytes(memory, 'n');
    memset(memory, 'x', BYTES);
    expect_bytes(memory, 'x');
    struct jd_heap_view *again = map(&neighbour.desc); /* it is known */
    ck_assert_ptr_eq(again, view);
    jd__heap_unmap(view);
    expect_bytes(memory, 'x');
    jd__heap_unmap(again);
    ck_assert_int_eq(msync(memory, 4096, MS_ASYNC), -1); /* not mapped */
}
END_TEST

START_TEST(the_own_heap_is_its_view)
{
    struct jd_heap *heap = jd__heap_get("test");
    struct jd_heap_desc desc;
    jd__heap_describe(heap, &desc);
    struct jd_heap_view *view = map(&desc);
    ck_assert_ptr_eq(jd__heap_view_base(view), heap->base);
    jd__heap_unmap(view);
    memset(take(heap, 100, 0), 1, 100);
}
END_TEST

/* The parent's is a neighbour's like any other. */
START_TEST(a_child_maps_its_parents)
{
    struct jd_heap *heap = jd__heap_get("test");
    struct jd_heap_desc desc;
    int how;
    uint64_t offset;
    char *memory = take(heap, BYTES, 0);
    memset(memory, 'p', BYTES);
    ck_assert(jd__heap_offset(heap, memory, BYTES, &offset));
    jd__heap_describe(heap, &desc);
    pid_t child = fork();
    if (child == 0) {
        ck_assert_ptr_ne(jd__heap_get("test"), heap);
        struct jd_heap_view *view = map(&desc);
        expect_bytes(look_at(view, offset), 'p');
        jd__heap_unmap(view);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert_int_eq(how, 0);
}
END_TEST

/* ---- how far ------------------------------------------------------------ */

/* How many bytes of a mapping of the range's size can be written. */
static uint64_t writable_bytes(const char *base, uint64_t size)
{
    char line[512], mode[8];
    unsigned long long begin, end, sum = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%llx-%llx %7s", &begin, &end, mode) == 3 &&
            begin >= (uintptr_t)base && end <= (uintptr_t)base + size &&
            strncmp(mode, "rw", 2) == 0)
            sum += end - begin;
    fclose(maps);
    return sum;
}

#define STEP ((uint64_t)64 << 20)

START_TEST(the_range_opens_as_memory_is_handed_out)
{
    struct jd_heap *heap = make_heap(&(struct jd_heap_spec){ .size = 1 << 30 });
    char *base = heap->base;
    ck_assert_uint_eq(writable_bytes(base, heap->size), STEP);
    char *first = take(heap, (size_t)STEP - (8 << 20), 0);
    ck_assert_uint_eq(writable_bytes(base, heap->size), STEP);
    char *second = take(heap, (size_t)STEP * 2, 0);
    memset(second, 1, (size_t)STEP * 2);
    ck_assert_uint_eq(writable_bytes(base, heap->size), 3 * STEP);
    ck_assert(jd__heap_free(heap, first));
    ck_assert(jd__heap_free(heap, second));
    take(heap, (size_t)STEP, 0);
    ck_assert_uint_eq(writable_bytes(base, heap->size), 3 * STEP);
    jd__heap_destroy(heap);
}
END_TEST

START_TEST(a_view_opens_as_far_as_it_is_asked)
{
    struct neighbour neighbour;
    start(&neighbour);
    struct jd_heap_view *view = map(&neighbour.desc);
    char *base = jd__heap_view_base(view);
    uint64_t size = neighbour.desc.size;
    ck_assert_uint_eq(writable_bytes(base, size), 0);
    ck_assert_uint_eq(jd__heap_view_open(view, 1), STEP);
    ck_assert_uint_eq(writable_bytes(base, size), STEP);
    ck_assert_uint_eq(jd__heap_view_open(view, STEP), STEP);
    ck_assert_uint_eq(jd__heap_view_open(view, STEP + 1), 2 * STEP);
    /* What is not there opens nothing. */
    ck_assert_uint_eq(jd__heap_view_open(view, size + 1), 2 * STEP);
    ck_assert_uint_eq(writable_bytes(base, size), 2 * STEP);
    ck_assert_uint_eq(jd__heap_view_open(view, size), size);
    ck_assert_uint_eq(writable_bytes(base, size), size);
    jd__heap_unmap(view);
    stop(&neighbour, 0);
}
END_TEST

/* ---- what does not ------------------------------------------------------ */

static void expect_refusal(const struct jd_heap_desc *desc, const char *reason)
{
    char sentence[512];
    struct jd_heap_view *view = NULL;
    snprintf(sentence, sizeof sentence,
             "the memory of the process with pid %d cannot be mapped: %s; "
             "data to and from it goes by MPI",
             (int)desc->pid, reason);
    UNIT_FAILS(jd__heap_map(desc, &view), JD_UNAVAILABLE, sentence);
    ck_assert_ptr_null(view);
}

START_TEST(another_nonce_is_another_process)
{
    struct neighbour neighbour;
    start(&neighbour);
    neighbour.desc.nonce[15] ^= 1;
    expect_refusal(&neighbour.desc, "another process has that pid here");
    stop(&neighbour, 0);
}
END_TEST

START_TEST(another_size_is_another_file)
{
    struct neighbour neighbour;
    char reason[256];
    start(&neighbour);
    neighbour.desc.size -= JD_HEAP_HUGE;
    snprintf(reason, sizeof reason, "/proc/%d/fd/%d is another process's file",
             (int)neighbour.desc.pid, (int)neighbour.desc.descriptor);
    expect_refusal(&neighbour.desc, reason);
    stop(&neighbour, 0);
}
END_TEST

/* The end of a pipe is there too, and must not be opened. */
START_TEST(another_kind_of_file_is_left_alone)
{
    struct neighbour neighbour;
    char reason[256];
    start(&neighbour);
    neighbour.desc.pid = (int32_t)getpid();
    neighbour.desc.descriptor = neighbour.answer;
    neighbour.desc.size = 0; /* as the kernel says of a pipe */
    snprintf(reason, sizeof reason, "/proc/%d/fd/%d is another process's file",
             (int)neighbour.desc.pid, (int)neighbour.desc.descriptor);
    expect_refusal(&neighbour.desc, reason);
    stop(&neighbour, 0);
}
END_TEST

START_TEST(a_process_that_has_ended_is_named)
{
    struct neighbour neighbour;
    char reason[256];
    start(&neighbour);
    stop(&neighbour, SIGKILL);
    snprintf(reason, sizeof reason,
             "/proc/%d/fd/%d: No such file or directory (a process that has "
             "ended, of another user, or in another container)",
             (int)neighbour.desc.pid, (int)neighbour.desc.descriptor);
    expect_refusal(&neighbour.desc, reason);
}
END_TEST

START_TEST(another_host_is_not_tried)
{
    struct jd_heap *heap = jd__heap_get("test");
    struct jd_heap_desc desc;
    char reason[256];
    jd__heap_describe(heap, &desc);
    desc.nonce[0] ^= 1; /* or it is this process's own */
    strcpy(desc.host, "11111111-2222-3333-4444-555555555555");
    snprintf(reason, sizeof reason,
             "it runs on another host (boot id "
             "11111111-2222-3333-4444-555555555555, here %s)",
             heap->boot_id);
    expect_refusal(&desc, reason);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena map");
    TCase *tcase = unit_case(suite, "shared");
    tcase_add_test(tcase, both_see_what_either_writes);
    tcase_add_test(tcase, a_file_serves_where_memfd_is_refused);
    tcase_add_test(tcase, memory_outlives_its_owner);
    tcase_add_test(tcase, the_own_heap_is_its_view);
    tcase_add_test(tcase, a_child_maps_its_parents);
    tcase = unit_case(suite, "opened");
    tcase_add_test(tcase, the_range_opens_as_memory_is_handed_out);
    tcase_add_test(tcase, a_view_opens_as_far_as_it_is_asked);
    tcase = unit_case(suite, "refused");
    tcase_add_test(tcase, another_nonce_is_another_process);
    tcase_add_test(tcase, another_size_is_another_file);
    tcase_add_test(tcase, another_kind_of_file_is_left_alone);
    tcase_add_test(tcase, a_process_that_has_ended_is_named);
    tcase_add_test(tcase, another_host_is_not_tried);
    return unit_main(suite);
}
