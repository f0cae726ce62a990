/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_agent_stack.c - an agent shows the stack of its process, as a tool
 * reads it: the test's own eu-stack, the only program of that kind in PATH.
 */
#include "tests/unit/agent.h"

#include <fcntl.h>
#include <sys/stat.h>

/* ---- helpers ------------------------------------------------------------ */

static struct process first;
static char folder[40];

static void path_of(const char *name, char path[80])
{
    snprintf(path, 80, "%s/%s", folder, name);
}

static void write_tool(const char *script)
{
    char path[80];
    path_of("eu-stack", path);
    FILE *out = fopen(path, "we");
    ck_assert_ptr_nonnull(out);
    fprintf(out, "#!/bin/sh\n%s\n", script);
    fclose(out);
    ck_assert_int_eq(chmod(path, 0755), 0);
}

/* What the shell needs, and no gdb. */
static void make_path(void)
{
    static const char *const names[] = { "timeout", "sleep", "head" };
    strcpy(folder, "/tmp/jd-unit-stack-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (int i = 0; i < 3; i++) {
        char path[80], target[40];
        path_of(names[i], path);
        snprintf(target, sizeof target, "/usr/bin/%s", names[i]);
        ck_assert_int_eq(symlink(target, path), 0);
    }
}

static void remove_path(void)
{
    static const char *const names[] = { "timeout",  "sleep", "head",
                                         "eu-stack", "runs",  "gate" };
    for (int i = 0; i < 6; i++) {
        char path[80];
        path_of(names[i], path);
        unlink(path);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}

static char *(*takes)(const char **ret_why); /* what the next agent has */

/* A tool has half of the heartbeat timeout. */
static void begin_with(bool shows_stack, double heartbeat_timeout)
{
    make_path();
    start_service(2, &secret_auth);
    struct jd_agent_spec spec = make_spec(1, 2);
    spec.tool_path = shows_stack ? folder : NULL;
    spec.take_stack = takes;
    spec.heartbeat_timeout = heartbeat_timeout;
    open_agent(&first, &spec);
    UNIT_OK(meet_for(&first, 30));
}

static void begin(void)
{
    begin_with(true, 60);
}

static void end(void)
{
    ck_assert_int_eq(first.num_lost, 0);
    close_agent(&first);
    stop_service();
    remove_path();
}

/* The process asks about itself; the text is for free(). */
static jd_status ask_stack(char **ret_text)
{
    Jd__StackOf body = JD__STACK_OF__INIT;
    struct jd_call call = { .operation = "stack", .timeout = 30 };
    body.process = 1;
    jd_status status =
        call_service(&first, &call, JD__MESSAGE__BODY_STACK_OF, &body);
    if (status == JD_OK)
        *ret_text = strdup(call.reply->text);
    jd__call_finish(&call);
    return status;
}

static void expect_text(const char *text)
{
    char *is = NULL;
    UNIT_OK(ask_stack(&is));
    ck_assert_str_eq(is, text);
    free(is);
}

/* ---- a stack ------------------------------------------------------------ */

START_TEST(what_the_tool_prints_is_shown)
{
    char wanted[200];
    begin();
    write_tool("echo \"$1 $2\"; echo '#0 here'; echo 'and there' >&2");
    snprintf(wanted, sizeof wanted,
             "process 1 (train, pid 101 on h0):\n-p %d\n#0 here\nand there\n",
             (int)getpid());
    expect_text(wanted);
    expect_text(wanted); /* and again */
    end();
}
END_TEST

/* It may ask no terminal, and its environment is its own. */
START_TEST(the_tool_is_alone)
{
    begin();
    setenv("DEBUGINFOD_URLS", "http://nowhere", 1);
    write_tool("read -r line || echo \"#0 no input ${DEBUGINFOD_URLS-none}\"");
    expect_text("process 1 (train, pid 101 on h0):\n#0 no input none\n");
    end();
}
END_TEST

START_TEST(what_is_too_long_is_cut_and_said)
{
    char *text = NULL;
    begin();
    write_tool("echo '#0 here'; i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); "
               "echo 'a line of fifty characters with its end ... ......'; "
               "done");
    UNIT_OK(ask_stack(&text));
    size_t length = strlen(text);
    ck_assert_uint_ge(length, JD_STACK_MOST - 100);
    ck_assert_uint_le(length, JD_STACK_MOST + 100);
    char *cut = strstr(text, "\n(cut: ");
    ck_assert_ptr_nonnull(cut);
    int more = 0;
    ck_assert_int_eq(sscanf(cut, "\n(cut: %d bytes more)", &more), 1);
    size_t shown = (size_t)(cut + 1 - (strchr(text, '\n') + 1));
    ck_assert_uint_eq(shown + (size_t)more, 8 + 2000 * 51);
    free(text);
    end();
}
END_TEST

/* It has ended, whatever it has started: that ends when the gate is opened. */
START_TEST(what_a_tool_leaves_behind_is_not_waited_for)
{
    char gate[80], script[200];
    begin();
    path_of("gate", gate);
    ck_assert_int_eq(mkfifo(gate, 0600), 0);
    snprintf(script, sizeof script, "(read -r line <%s) & echo '#0 here'",
             gate);
    write_tool(script);
    expect_text("process 1 (train, pid 101 on h0):\n#0 here\n");
    int opened = open(gate, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(opened, 0);
    close(opened);
    end();
}
END_TEST

/* What gdb says before the first thread. */
START_TEST(a_preface_is_left_out)
{
    begin();
    write_tool("printf '[New LWP 7]\\n0x7 in f\\n\\nThread 1 (x):\\n#0 f\\n'");
    expect_text("process 1 (train, pid 101 on h0):\nThread 1 (x):\n#0 f\n");
    end();
}
END_TEST

static void *ask_for_end(void *arg)
{
    char *text = NULL;
    UNIT_OK(ask_stack(&text));
    ck_assert_ptr_nonnull(strstr(text, "#0"));
    free(text);
    return arg;
}

/* Six ask while one reads: those that came later have one more reading. */
START_TEST(who_asks_meanwhile_has_one_more_reading)
{
    pthread_t threads[6];
    char path[80], script[200];
    struct stat facts;
    begin();
    path_of("runs", path);
    snprintf(script, sizeof script, "echo >>%s; sleep 0.6; echo '#0'", path);
    write_tool(script);
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, ask_for_end, NULL);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(stat(path, &facts), 0);
    ck_assert_int_ge(facts.st_size, 1);
    ck_assert_int_le(facts.st_size, 2);
    end();
}
END_TEST

/* ---- none --------------------------------------------------------------- */

START_TEST(without_a_tool_it_says_what_to_install)
{
    char *text = NULL;
    begin();
    UNIT_FAILS(ask_stack(&text), JD_NOT_FOUND,
               "stack: process 1 (train, pid 101 on h0): there is neither gdb "
               "nor eu-stack in the PATH there; install gdb or elfutils on "
               "that host");
    end();
}
END_TEST

START_TEST(what_may_not_be_read_says_what_lets_it)
{
    static const char wanted[] =
        "stack: process 1 (train, pid 101 on h0): its stack may not be read "
        "there: the tool's last line is \"ptrace: Operation not permitted.\"; "
        "a child must be let trace it: sysctl kernel.yama.ptrace_scope at "
        "most 1 (";
    char *text = NULL;
    begin();
    write_tool("echo first; echo 'ptrace: Operation not permitted.'");
    ck_assert_int_eq(ask_stack(&text), JD_PERMISSION_DENIED);
    ck_assert_msg(strncmp(jd_error_message(), wanted, strlen(wanted)) == 0,
                  "%s", jd_error_message());
    end();
}
END_TEST

START_TEST(a_tool_that_shows_none_has_the_last_word)
{
    char *text = NULL;
    begin();
    write_tool("echo 'no such thing'; echo; exit 3");
    UNIT_FAILS(ask_stack(&text), JD_UNAVAILABLE,
               "stack: process 1 (train, pid 101 on h0): the tool that was to "
               "read its stack has shown none; its last line is \"no such "
               "thing\"; run eu-stack or gdb -p there");
    end();
}
END_TEST

START_TEST(a_tool_that_does_not_end_is_killed)
{
    char *text = NULL;
    begin_with(true, 3);
    write_tool("trap '' TERM; sleep 100; sleep 100");
    UNIT_FAILS(ask_stack(&text), JD_UNAVAILABLE,
               "stack: process 1 (train, pid 101 on h0): the tool that was to "
               "read its stack has shown none; its last line is \"eu-stack "
               "had not ended after 1 s and was killed\"; run eu-stack or gdb "
               "-p there");
    end();
}
END_TEST

START_TEST(one_that_shows_none_starts_no_tool)
{
    char *text = NULL, path[80], script[200];
    begin_with(false, 60);
    path_of("runs", path);
    snprintf(script, sizeof script, "echo >>%s; echo '#0'", path);
    write_tool(script);
    UNIT_FAILS(ask_stack(&text), JD_PERMISSION_DENIED,
               "stack: process 1 (train, pid 101 on h0): it has JD_STACK=0: "
               "nobody may ask for its stack");
    ck_assert_int_ne(access(path, F_OK), 0);
    end();
}
END_TEST

/* ---- taken -------------------------------------------------------------- */

static sem_t may_take;

static char *take_one(const char **ret_why)
{
    sem_wait(&may_take);
    *ret_why = NULL;
    return strdup("one thread\n#0 here\n");
}

static char *take_none(const char **ret_why)
{
    *ret_why = "it has none";
    return NULL;
}

/* Others that ask meanwhile have it, or one more. */
START_TEST(where_no_tool_reads_it_it_is_taken)
{
    takes = take_one;
    sem_init(&may_take, 0, 2);
    begin();
    expect_text("process 1 (train, pid 101 on h0):\none thread\n#0 here\n");
    write_tool("echo 'ptrace: Operation not permitted.'");
    expect_text("process 1 (train, pid 101 on h0):\none thread\n#0 here\n");
    write_tool("echo '#0 all'"); /* a tool that can is asked before */
    expect_text("process 1 (train, pid 101 on h0):\n#0 all\n");
    end();
}
END_TEST

START_TEST(where_it_is_not_taken_both_say_why)
{
    char *text = NULL;
    takes = take_none;
    begin();
    UNIT_FAILS(ask_stack(&text), JD_NOT_FOUND,
               "stack: process 1 (train, pid 101 on h0): there is neither gdb "
               "nor eu-stack in the PATH there; install gdb or elfutils on "
               "that host; nor is it taken by JD_STACK_SIGNAL: it has none");
    end();
}
END_TEST

/* A tool that runs is no reason to wait. */
START_TEST(an_agent_ends_while_a_tool_runs)
{
    begin();
    write_tool("sleep 0.9; echo '#0'");
    Jd__StackOf body = JD__STACK_OF__INIT;
    struct jd_call call = { .operation = "stack", .timeout = 0.1 };
    body.process = 1;
    ck_assert_int_eq(
        call_service(&first, &call, JD__MESSAGE__BODY_STACK_OF, &body),
        JD_DEADLINE_EXCEEDED);
    double before = jd__clock_now();
    close_agent(&first);
    ck_assert_double_lt(jd__clock_now() - before, 0.5);
    stop_service();
    remove_path();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_stack");
    TCase *tcase = unit_case(suite, "a stack");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, what_the_tool_prints_is_shown);
    tcase_add_test(tcase, the_tool_is_alone);
    tcase_add_test(tcase, what_is_too_long_is_cut_and_said);
    tcase_add_test(tcase, what_a_tool_leaves_behind_is_not_waited_for);
    tcase_add_test(tcase, a_preface_is_left_out);
    tcase_add_test(tcase, who_asks_meanwhile_has_one_more_reading);
    tcase = unit_case(suite, "none");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, without_a_tool_it_says_what_to_install);
    tcase_add_test(tcase, what_may_not_be_read_says_what_lets_it);
    tcase_add_test(tcase, a_tool_that_shows_none_has_the_last_word);
    tcase_add_test(tcase, a_tool_that_does_not_end_is_killed);
    tcase_add_test(tcase, one_that_shows_none_starts_no_tool);
    tcase_add_test(tcase, an_agent_ends_while_a_tool_runs);
    tcase = unit_case(suite, "taken");
    tcase_add_test(tcase, where_no_tool_reads_it_it_is_taken);
    tcase_add_test(tcase, where_it_is_not_taken_both_say_why);
    return unit_main(suite);
}
