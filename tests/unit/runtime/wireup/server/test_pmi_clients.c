/* SPDX-License-Identifier: BSD-3-Clause */
/* test_pmi_clients.c - processes that say to PMI what none should. */
#include "runtime/wireup/server/pmi_v2_node.h"
#include "tests/unit/runtime/wireup/server/played_pmi.h"
#include "tests/unit/unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static void setup(void)
{
    played_pmi_begin(60);
}

static void teardown(void)
{
    played_pmi_end();
}

__attribute__((format(printf, 2, 3))) static void say(int fd,
                                                      const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ck_assert(send(fd, text, (size_t)size, MSG_NOSIGNAL) == size);
    played_pmi_run();
}

static void say_frame(int fd, const char *text)
{
    say(fd, "%-6zu%s", strlen(text), text);
}

/* All that has come; "" where nothing has. */
static const char *hear(int fd)
{
    static char text[4096];
    ssize_t n = recv(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static bool is_sent_away(int fd)
{
    char byte;
    while (recv(fd, &byte, 1, 0) > 0)
        ;
    return recv(fd, &byte, 1, 0) == 0;
}

static int come(uint8_t process)
{
    const char index[4] = { (char)process };
    int fd = played_pmi_connect();
    ck_assert(send(fd, index, sizeof index, 0) == sizeof index);
    played_pmi_run();
    return fd;
}

static void leave(int fd)
{
    close(fd);
    played_pmi_run();
}

static int come_by_second(uint8_t process)
{
    int fd = come(process);
    say(fd, "cmd=init pmi_version=2 pmi_subversion=0\n");
    say_frame(fd, "cmd=fullinit;");
    hear(fd);
    return fd;
}

static void expect_sentence(const char *part)
{
    ck_assert_msg(strstr(played_pmi_told()->last, part), "%s",
                  played_pmi_told()->last);
}

START_TEST(who_may_not_come_has_a_sentence)
{
    int right = come(1), again = come(1), other = come(7);
    ck_assert(is_sent_away(again));
    ck_assert(is_sent_away(other));
    ck_assert(!is_sent_away(right));
    ck_assert_uint_eq(played_pmi_told()->sentences, 2);
    expect_sentence("process 7, which is not of this host; it is sent away");
    close(right), close(again), close(other);
}
END_TEST

/* Who is known is none of them; and of many that are too many one is said. */
START_TEST(who_says_nothing_is_one_of_few)
{
    enum { MOST = PLAYED_PMI_PROCESSES + PMI_SPARE_STRANGERS };
    int known = come(0), fds[MOST];
    for (int i = 0; i < MOST; i++)
        fds[i] = played_pmi_connect();
    played_pmi_run();
    for (int i = 0; i < MOST; i++)
        ck_assert(!is_sent_away(fds[i]));
    for (int i = 0; i < 3; i++) {
        int more = played_pmi_connect();
        ck_assert(is_sent_away(more));
        close(more);
    }
    ck_assert_uint_eq(played_pmi_told()->sentences, 1);
    expect_sentence("67 connections for PMI have not said whose they are");
    leave(fds[0]);
    fds[0] = come(1);
    ck_assert(!is_sent_away(fds[0]));
    for (int i = 0; i < MOST; i++)
        close(fds[i]);
    close(known);
}
END_TEST

START_TEST(who_does_not_read_is_sent_away)
{
    static const char line[] = "cmd=get_maxes\n";
    int fd = come(2);
    while (send(fd, line, sizeof line - 1, MSG_NOSIGNAL) > 0)
        played_pmi_run();
    ck_assert(is_sent_away(fd));
    expect_sentence("process 2 does not read what it asks for by PMI");
    close(fd);
}
END_TEST

/* Puts by PMI-1 until it may not; returns how often it could. */
static size_t put_all(int fd)
{
    char value[400];
    size_t count = 0;
    memset(value, 'v', sizeof value);
    value[sizeof value - 1] = '\0';
    do {
        ck_assert_uint_lt(count, 100000);
        say(fd, "cmd=put kvsname=jd key=a%zu value=%s\n", count++, value);
    } while (strcmp(hear(fd), "cmd=put_result rc=0 msg=success\n") == 0);
    return count - 1;
}

START_TEST(what_a_host_puts_has_an_end)
{
    char put[512];
    int fd = come(0), other = come_by_second(1);
    size_t count = put_all(fd);
    ck_assert_uint_gt(count, PLAYED_PMI_PROCESSES * PMI_PUT_MOST / 1000);
    ck_assert_uint_lt(count, PLAYED_PMI_PROCESSES * PMI_PUT_MOST / 900);
    say(fd, "cmd=put kvsname=jd key=a value=%0399d\n", 1);
    ck_assert_str_eq(hear(fd), "cmd=put_result rc=-1 msg=too_much\n");
    expect_sentence("process 0 puts \"a\" by PMI, and the processes of this "
                    "host may put 3145728 bytes");
    snprintf(put, sizeof put, "cmd=kvs-put;key=b;value=%0399d;", 1);
    say_frame(other, put);
    ck_assert_ptr_nonnull(strstr(hear(other), "rc=14;errmsg=there is no room"));
    close(fd), close(other);
}
END_TEST

START_TEST(what_is_refused_takes_nothing)
{
    int fd = come(0), second = come_by_second(1);
    for (int round = 0; round < 10000; round++) {
        say(fd, "cmd=put kvsname=jd key=a%d=b value=%0400d\n", round, round);
        ck_assert_str_eq(hear(fd),
                         "cmd=put_result rc=-1 msg=bad_key_or_value\n");
    }
    say(fd, "cmd=put kvsname=jd key= value=%0400d\n", 1);
    hear(fd);
    say_frame(second, "cmd=info-putnodeattr;key=a=b;value=1;");
    ck_assert_ptr_null(strstr(hear(second), "rc=0"));
    ck_assert_uint_eq(played_pmi_host()->put_bytes, 0);
    say(fd, "cmd=put kvsname=jd key=a value=%0400d\n", 1);
    ck_assert_str_eq(hear(fd), "cmd=put_result rc=0 msg=success\n");
    ck_assert_uint_eq(played_pmi_host()->put_bytes, 401 + PMI_ENTRY_COST);
    say_frame(second, "cmd=info-putnodeattr;key=b;value=1;");
    ck_assert_ptr_nonnull(strstr(hear(second), "rc=0"));
    ck_assert_uint_eq(played_pmi_host()->put_bytes, 403 + 2 * PMI_ENTRY_COST);
    say_frame(second, "cmd=kvs-put;key=cd;value=12;");
    ck_assert_ptr_nonnull(strstr(hear(second), "rc=0"));
    ck_assert_uint_eq(played_pmi_host()->put_bytes, 407 + 3 * PMI_ENTRY_COST);
    close(fd), close(second);
}
END_TEST

/* As of many programs, one after the other. */
START_TEST(what_is_put_again_takes_no_more)
{
    int fds[PLAYED_PMI_PROCESSES];
    for (uint8_t i = 0; i < PLAYED_PMI_PROCESSES; i++)
        fds[i] = come(i);
    for (int round = 0; round < 30000; round++) {
        say(fds[0], "cmd=put kvsname=jd key=a value=%0400d\n", round);
        ck_assert_str_eq(hear(fds[0]), "cmd=put_result rc=0 msg=success\n");
        for (int i = 0; round % 1000 == 0 && i < PLAYED_PMI_PROCESSES; i++)
            say(fds[i], "cmd=barrier_in\n");
        for (int i = 0; round % 1000 == 0 && i < PLAYED_PMI_PROCESSES; i++)
            ck_assert_str_eq(hear(fds[i]), "cmd=barrier_out rc=0\n");
    }
    for (int i = 0; i < PLAYED_PMI_PROCESSES; i++)
        close(fds[i]);
}
END_TEST

START_TEST(a_process_waits_for_so_many_attributes)
{
    int fd = come_by_second(0);
    for (int i = 0; i < PMI_V2_WAITS_MOST; i++)
        say_frame(fd, "cmd=info-getnodeattr;key=a;wait=TRUE;");
    ck_assert_str_eq(hear(fd), "");
    say_frame(fd, "cmd=info-getnodeattr;key=a;wait=TRUE;");
    ck_assert_str_eq(hear(fd), "    67cmd=info-getnodeattr-response;rc=14;"
                               "errmsg=there is no room for it;");
    close(fd);
    played_pmi_run();
    ck_assert_ptr_null(played_pmi_host()->waits);
}
END_TEST

/* As where one program comes after the other. */
START_TEST(who_comes_back_is_waited_for)
{
    int first = come(0), second = come(1), third;
    leave(first);
    ck_assert(played_pmi_pass_grace());
    ck_assert_uint_eq(played_pmi_host()->num_gone, 1);
    first = come(0);
    say(first, "cmd=barrier_in\n");
    say(second, "cmd=barrier_in\n");
    ck_assert_str_eq(hear(first), "");
    leave(first);
    first = come(0); /* before its time is up */
    ck_assert(played_pmi_pass_grace());
    ck_assert_uint_eq(played_pmi_host()->num_gone, 0);
    say(first, "cmd=barrier_in\n");
    third = come(2);
    say(third, "cmd=barrier_in\n");
    ck_assert_str_eq(hear(first), "cmd=barrier_out rc=0\n");
    close(first), close(second), close(third);
}
END_TEST

static void come_all(int fds[PLAYED_PMI_PROCESSES])
{
    for (uint8_t i = 0; i < PLAYED_PMI_PROCESSES; i++)
        fds[i] = come(i);
}

static void leave_all(const int fds[PLAYED_PMI_PROCESSES])
{
    for (int i = 0; i < PLAYED_PMI_PROCESSES; i++)
        leave(fds[i]);
}

static void pass_all_graces(void)
{
    while (played_pmi_pass_grace())
        ;
}

/* The first is in the barrier and has not been let go. */
static void expect_all_are_waited_for(int fds[PLAYED_PMI_PROCESSES])
{
    ck_assert_str_eq(hear(fds[0]), "");
    for (uint8_t i = 1; i < PLAYED_PMI_PROCESSES; i++) {
        fds[i] = come(i);
        say(fds[i], "cmd=barrier_in\n");
    }
    for (int i = 0; i < PLAYED_PMI_PROCESSES; i++)
        ck_assert_str_eq(hear(fds[i]), "cmd=barrier_out rc=0\n");
}

/* All are long between two programs; the first comes back alone. */
START_TEST(who_comes_back_first_waits_for_all)
{
    int fds[PLAYED_PMI_PROCESSES];
    come_all(fds);
    leave_all(fds);
    pass_all_graces();
    ck_assert_uint_eq(played_pmi_host()->num_gone, PLAYED_PMI_PROCESSES);
    fds[0] = come(0);
    say(fds[0], "cmd=barrier_in\n");
    expect_all_are_waited_for(fds);
    leave_all(fds);
}
END_TEST

/* The first is back at once, and the others are not in 2 s. */
START_TEST(who_is_back_at_once_waits_for_all)
{
    int fds[PLAYED_PMI_PROCESSES];
    come_all(fds);
    leave_all(fds);
    fds[0] = come(0);
    say(fds[0], "cmd=barrier_in\n");
    pass_all_graces();
    expect_all_are_waited_for(fds);
    leave_all(fds);
}
END_TEST

/* Of one that goes, comes and goes, the first 2 s say nothing. */
START_TEST(the_last_departure_decides)
{
    int fds[PLAYED_PMI_PROCESSES];
    come_all(fds);
    leave(fds[0]);
    fds[0] = come(0);
    for (int i = 1; i < PLAYED_PMI_PROCESSES; i++)
        say(fds[i], "cmd=barrier_in\n");
    leave(fds[0]);
    ck_assert(played_pmi_pass_grace());
    ck_assert_str_eq(hear(fds[1]), "");
    ck_assert(played_pmi_pass_grace());
    ck_assert_str_eq(hear(fds[1]), "cmd=barrier_out rc=0\n");
    ck_assert(!played_pmi_pass_grace());
    leave(fds[1]), leave(fds[2]);
}
END_TEST

START_TEST(an_answer_has_what_was_asked_in_its_own_signs)
{
    int fd = come_by_second(2);
    say_frame(fd, "cmd=da;;nce;thrid=7;;rc=0;");
    ck_assert_str_eq(hear(fd), "    69cmd=da;;nce-response;thrid=7;;rc=0;rc=14;"
                               "errmsg=jd does not serve it;");
    close(fd);
}
END_TEST

static void expect_note(const char *text)
{
    ck_assert_str_eq(played_pmi_told()->note, text);
}

/* A terminal would obey ESC and CR, and a newline would begin a line that the
 * server has not said. */
START_TEST(what_one_says_is_printed_plain)
{
    int fd = come(0), second = come_by_second(1);
    say(fd, "cmd=init pmi_version=\033[2J\r7\177\n");
    expect_sentence("process 0 asks for version \"?[2J?7?\" of PMI");
    say(fd, "cmd=da\033nce\n");
    expect_note("process 0 asks by PMI for da?nce, which is not known");
    say_frame(second, "cmd=da\rn\nce;");
    expect_note("process 1 asks by PMI-2 for da?n?ce, which is not served");
    say_frame(second, "cmd=abort;msg=a\033]0;");
    expect_sentence("process 1 called PMI_Abort (\"a?]0\")");
    say(fd, "cmd=abort exitcode=\b\b7\n");
    expect_sentence("process 0 called PMI_Abort with code ??7");
    close(fd), close(second);
}
END_TEST

START_TEST(the_errors_of_one_are_few)
{
    int fd = come(0);
    for (int i = 0; i < 100; i++) {
        say(fd, "cmd=init pmi_version=7\n");
        ck_assert_ptr_nonnull(strstr(hear(fd), "rc=-1"));
    }
    ck_assert_uint_eq(played_pmi_told()->sentences, PMI_SAID_MOST);
    expect_sentence("process 0 asks for version \"7\" of PMI");
    for (int i = 1; i <= 3; i++)
        say(fd, "cmd=abort exitcode=%d\n", i);
    ck_assert_uint_eq(played_pmi_told()->ends, 3);
    ck_assert_uint_eq(played_pmi_told()->sentences, PMI_SAID_MOST + 1);
    expect_sentence("process 0 called PMI_Abort with code 1");
    say(fd, "cmd=init pmi_version=2\nno frame");
    ck_assert(is_sent_away(fd)); /* why is said all the same */
    expect_sentence("process 0 spoke PMI-2 that cannot be read");
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pmi_clients");
    TCase *tcase = unit_case(suite, "clients");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, who_may_not_come_has_a_sentence);
    tcase_add_test(tcase, who_says_nothing_is_one_of_few);
    tcase_add_test(tcase, who_does_not_read_is_sent_away);
    tcase_add_test(tcase, what_a_host_puts_has_an_end);
    tcase_add_test(tcase, what_is_refused_takes_nothing);
    tcase_add_test(tcase, what_is_put_again_takes_no_more);
    tcase_add_test(tcase, a_process_waits_for_so_many_attributes);
    tcase_add_test(tcase, who_comes_back_is_waited_for);
    tcase_add_test(tcase, who_comes_back_first_waits_for_all);
    tcase_add_test(tcase, who_is_back_at_once_waits_for_all);
    tcase_add_test(tcase, the_last_departure_decides);
    tcase_add_test(tcase, an_answer_has_what_was_asked_in_its_own_signs);
    tcase_add_test(tcase, what_one_says_is_printed_plain);
    tcase_add_test(tcase, the_errors_of_one_are_few);
    return unit_main(suite);
}
