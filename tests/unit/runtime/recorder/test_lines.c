/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_lines.c - lines of the source. Built with debugging information; a skip
 * where jd was built without libdw, or it is not there.
 */
#include "base/clock.h"
#include "runtime/recorder/lines.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- this program -------------------------------------------------------- */

static const void *volatile caller;
static volatile int calls;

__attribute__((noinline)) static void note_caller(void)
{
    caller = __builtin_return_address(0);
}

/* Its line is that of the call, not of what comes behind it. */
__attribute__((noinline)) static int static_function(void)
{
    note_caller();
    calls++;
    return __LINE__ - 2;
}

/* It may be late once and again on a busy machine. */
static struct jd_line line_of(const void *address)
{
    struct jd_line line;
    while (!jd__lines_find(address, &line))
        sched_yield();
    return line;
}

START_TEST(a_call_has_its_function_and_line)
{
    int wanted = static_function();
    struct jd_line line = line_of((const void *)caller);
    ck_assert_str_eq(line.function, "static_function");
    ck_assert_str_eq(line.file, "test_lines.c");
    ck_assert_int_eq(line.number, wanted);
    ck_assert_uint_eq(line.offset,
                      (uintptr_t)caller - (uintptr_t)static_function);
}
END_TEST

START_TEST(what_is_no_code_has_none)
{
    struct jd_line line;
    ck_assert(!jd__lines_find(NULL, &line));
    ck_assert(!jd__lines_find(&line, &line));
    ck_assert_int_eq(line.number, 0);
    ck_assert_str_eq(line.function, "");
}
END_TEST

/* ---- a library that is replaced ------------------------------------------ */

static char library[] = "/tmp/jd-test-lines-XXXXXX";

static void copy(const char *from)
{
    struct stat facts;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = mkstemp(strcpy(library, "/tmp/jd-test-lines-XXXXXX"));
    ck_assert(in >= 0 && out >= 0 && fstat(in, &facts) == 0);
    for (off_t at = 0; at < facts.st_size;)
        ck_assert_int_gt(sendfile(out, in, &at, (size_t)facts.st_size), 0);
    close(in);
    close(out);
}

static const char *path_of(const char *name, const char *function)
{
    Dl_info info;
    void *loaded = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(loaded != NULL, "%s", dlerror());
    ck_assert(dladdr(dlsym(loaded, function), &info));
    return info.dli_fname;
}

/* A library of its own, of which nobody else has anything. */
static const char *load_copy(void)
{
    copy(path_of("libelf.so.1", "elf_begin"));
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(loaded != NULL, "%s", dlerror());
    return dlsym(loaded, "elf_begin");
}

START_TEST(without_debugging_information_the_function_is_found)
{
    struct jd_line line = line_of(load_copy() + 1);
    ck_assert_str_eq(line.function, "elf_begin");
    ck_assert_uint_eq(line.offset, 1);
    unlink(library);
}
END_TEST

/* The same file but for its build id. */
static void alter_build_id(void)
{
    static const char note[] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU";
    static char head[64 * 1024];
    int fd = open(library, O_RDWR | O_CLOEXEC);
    ssize_t size = read(fd, head, sizeof head);
    ck_assert_int_gt(size, 0);
    char *found = memmem(head, (size_t)size, note, sizeof note);
    ck_assert_ptr_nonnull(found);
    char *id = found + sizeof note;
    id[0] = (char)~id[0];
    ck_assert_int_eq(pwrite(fd, id, 1, id - head), 1);
    close(fd);
}

START_TEST(another_file_of_that_name_has_other_lines)
{
    struct jd_line line;
    char before[sizeof library];
    const char *function = load_copy();
    strcpy(before, library);
    copy(path_of("libelf.so.1", "elf_begin"));
    alter_build_id();
    ck_assert_int_eq(rename(library, before), 0);
    ck_assert(!jd__lines_find(function + 1, &line));
    unlink(before);
    ck_assert(!jd__lines_find(function + 1, &line));
}
END_TEST

/* ---- a disk that does not answer ----------------------------------------- */

/* Reading it waits until somebody writes. */
static void replace_by_fifo(void)
{
    ck_assert_int_eq(unlink(library), 0);
    ck_assert_int_eq(mkfifo(library, 0600), 0);
}

/* Opens for writing as often as somebody waits, until it is joined. */
static void *answer_reads(void *is_over)
{
    while (!atomic_load((atomic_bool *)is_over)) {
        int fd = open(library, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0)
            close(fd);
        sched_yield();
    }
    return NULL;
}

START_TEST(who_asks_does_not_wait_for_it)
{
    struct jd_line line;
    atomic_bool is_over = false;
    pthread_t thread;
    const char *function = load_copy();
    line_of(function + 2);
    static_function();
    replace_by_fifo();
    jd__lines_configure(0.1);
    ck_assert(!jd__lines_find(function + 1, &line));
    ck_assert(!jd__lines_find((const void *)caller, &line));
    ck_assert(jd__lines_find(function + 2, &line)); /* it was kept */
    jd__lines_configure(60);
    pthread_create(&thread, NULL, answer_reads, &is_over);
    line = line_of((const void *)caller);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    ck_assert_str_eq(line.function, "static_function");
    unlink(library);
}
END_TEST

/* ---- several who ask ----------------------------------------------------- */

/* The answer is there, though another has asked since. */
static void *ask_often(void *first)
{
    struct jd_line line;
    for (int i = 0; i < 200; i++) {
        ck_assert(jd__lines_find((const char *)first + 2 * (i % 20), &line));
        ck_assert_str_eq(line.file, "test_lines.c");
    }
    return NULL;
}

/* Of a function into which no header's lines come, as FORTIFY's do. */
START_TEST(an_answer_is_that_of_who_has_asked)
{
    pthread_t thread;
    const char *function = (const char *)(uintptr_t)ask_often;
    pthread_create(&thread, NULL, ask_often, (void *)(uintptr_t)(function + 3));
    ask_often((void *)(uintptr_t)(function + 4));
    pthread_join(thread, NULL);
}
END_TEST

int main(void)
{
    if (!HAVE_LIBDW || !dlopen("libdw.so.1", RTLD_NOW)) {
        puts("1..0 # SKIP jd was built without libdw, or it is not here");
        return 0;
    }
    jd__lines_configure(60); /* no test fails as the processor is late */
    Suite *suite = suite_create("lines");
    TCase *lines = unit_case(suite, "lines");
    tcase_set_timeout(lines, 60);
    tcase_add_test(lines, a_call_has_its_function_and_line);
    tcase_add_test(lines, what_is_no_code_has_none);
    tcase_add_test(lines, without_debugging_information_the_function_is_found);
    tcase_add_test(lines, another_file_of_that_name_has_other_lines);
    tcase_add_test(lines, who_asks_does_not_wait_for_it);
    tcase_add_test(lines, an_answer_is_that_of_who_has_asked);
    return unit_main(suite);
}
