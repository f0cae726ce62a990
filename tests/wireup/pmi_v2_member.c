/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_v2_member.c - as pmi_member.c, by PMI-2.
 *
 *     pmi_v2_member MODE     prints "ok RANK SIZE MAPPING" where all is well
 *
 *     plain        puts, meets the others twice, has what all have put, and
 *                  waits for an attribute of the host
 *     wait         the same, says "up", and waits to be killed
 *     abort        as wait, but the last rank aborts at the end of its stdin
 *     leave        the last rank goes after the first meeting; the others come
 *                  to a fence
 *     patience     waits for an attribute that nobody puts
 *     dies         the last rank goes in the middle of a frame
 *     wrong        says what is wrong in many ways, and prints each answer
 *     BYTES        says these after fullinit ("\s" is a blank), and prints what
 *                  it hears
 *     flood        says one frame that does not end
 */
#include "tests/wireup/pmi_talk.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TEXT = 70000 };

/* Its length is on the left, as Slurm's client has it, or on the right, as
 * MPICH's. */
__attribute__((format(printf, 2, 3))) static void ask(int fd,
                                                      const char *format, ...)
{
    static char text[TEXT];
    static int count;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (count++ % 2)
        talk_say(fd, "%-6d", length);
    else
        talk_say(fd, "%6d", length);
    if (write(fd, text, (size_t)length) != length)
        talk_fail("cannot ask", text);
}

static size_t read_all(int fd, char *text, size_t size)
{
    size_t used = 0;
    ssize_t n = 1;
    while (used < size && n > 0) {
        n = read(fd, text + used, size - used);
        used += n > 0 ? (size_t)n : 0;
    }
    return used;
}

/* The next frame's text; "" at the end. */
static const char *hear(int fd)
{
    static char text[TEXT];
    char header[7] = "";
    size_t length = 0;
    if (read_all(fd, header, 6) == 6)
        length = strtoul(header, NULL, 10);
    if (length >= sizeof text || read_all(fd, text, length) < length)
        length = 0;
    text[length] = '\0';
    return text;
}

static void expect(int fd, const char *wanted)
{
    const char *got = hear(fd);
    if (strcmp(got, wanted) != 0)
        talk_fail(wanted, got);
}

static void expect_value(int fd, const char *command, const char *value)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "cmd=%s-response;rc=0;found=TRUE;value=%s;",
             command, value);
    expect(fd, wanted);
}

/* ---- who does what it should -------------------------------------------- */

static void begin(int fd)
{
    talk_say(fd, "cmd=init pmi_version=2 pmi_subversion=0\n");
    talk_expect(fd, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0");
}

static void start(int fd)
{
    char wanted[256];
    begin(fd);
    ask(fd, "cmd=fullinit;pmirank=%d;threaded=FALSE;", talk_number("PMI_RANK"));
    snprintf(wanted, sizeof wanted,
             "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;"
             "rank=%d;size=%d;appnum=0;debugged=FALSE;pmiverbose=FALSE;",
             talk_number("PMI_RANK"), talk_number("PMI_SIZE"));
    expect(fd, wanted);
    ask(fd, "cmd=job-getid;");
    expect(fd, "cmd=job-getid-response;rc=0;jobid=jd;");
    snprintf(wanted, sizeof wanted, "%d", talk_number("PMI_SIZE"));
    ask(fd, "cmd=info-getjobattr;key=universeSize;");
    expect_value(fd, "info-getjobattr", wanted);
    ask(fd, "cmd=info-getjobattr;key=hasNameServ;");
    expect_value(fd, "info-getjobattr", "FALSE");
    ask(fd, "cmd=info-getjobattr;key=nothing;");
    expect(fd, "cmd=info-getjobattr-response;rc=0;found=FALSE;");
}

/* Each puts a card of this round, and has all cards. */
static void meet(int fd, int round)
{
    int rank = talk_number("PMI_RANK"), size = talk_number("PMI_SIZE");
    char value[64];
    ask(fd, "cmd=kvs-put;key=card-%d-%d;value=#a=%d;;b$ %d;", round, rank, rank,
        round);
    expect(fd, "cmd=kvs-put-response;rc=0;");
    ask(fd, "cmd=kvs-fence;thrid=0x%d;", round);
    snprintf(value, sizeof value, "cmd=kvs-fence-response;thrid=0x%d;rc=0;",
             round);
    expect(fd, value);
    for (int other = 0; other < size; other++) {
        ask(fd, "cmd=kvs-get;jobid=jd;srcid=%d;key=card-%d-%d;", other, round,
            other);
        snprintf(value, sizeof value, "#a=%d;;b$ %d", other, round);
        expect_value(fd, "kvs-get", value);
    }
}

/* Each waits for what it puts itself; two answers come, in this order. */
static void share_on_host(int fd)
{
    int rank = talk_number("PMI_RANK");
    char wanted[128];
    ask(fd, "cmd=info-getnodeattr;key=at-%d;", rank);
    expect(fd, "cmd=info-getnodeattr-response;rc=0;found=FALSE;");
    ask(fd, "cmd=info-getnodeattr;thrid=0xa;key=at-%d;wait=TRUE;", rank);
    ask(fd, "cmd=info-putnodeattr;thrid=0xb;key=at-%d;value=/x;;%d;", rank,
        rank);
    snprintf(wanted, sizeof wanted,
             "cmd=info-getnodeattr-response;thrid=0xa;rc=0;found=TRUE;"
             "value=/x;;%d;",
             rank);
    expect(fd, wanted);
    expect(fd, "cmd=info-putnodeattr-response;thrid=0xb;rc=0;");
}

static const char *get_mapping(int fd)
{
    static const char begins[] =
        "cmd=info-getjobattr-response;rc=0;found=TRUE;value=";
    static char mapping[256];
    ask(fd, "cmd=info-getjobattr;key=PMI_process_mapping;");
    const char *got = hear(fd);
    if (strncmp(got, begins, sizeof begins - 1) != 0)
        talk_fail("the mapping", got);
    snprintf(mapping, sizeof mapping, "%s", got + sizeof begins - 1);
    mapping[strcspn(mapping, ";")] = '\0';
    return mapping;
}

static void finalize(int fd)
{
    ask(fd, "cmd=finalize;");
    expect(fd, "cmd=finalize-response;rc=0;");
}

/* ---- who does not ------------------------------------------------------- */

static void print_answer(int fd)
{
    printf("%s\n", hear(fd));
    fflush(stdout);
}

static void be_wrong(int fd)
{
    static char key[100], value[2000];
    memset(key, 'k', sizeof key - 1);
    memset(value, 'v', sizeof value - 1);
    ask(fd, "cmd=kvs-fence;thrid=7;");
    print_answer(fd);
    ask(fd, "cmd=fullinit;");
    hear(fd);
    ask(fd, "cmd=fullinit;");
    print_answer(fd);
    ask(fd, "cmd=dance;thrid=8;");
    print_answer(fd);
    ask(fd, "cmd=name-publish;name=a;port=b;");
    print_answer(fd);
    ask(fd, "cmd=spawn;ncmds=1;subcmd=%60000s;", "");
    print_answer(fd);
    ask(fd, "cmd=kvs-put;value=no key;");
    print_answer(fd);
    ask(fd, "cmd=kvs-put;key=%s;value=1;", key);
    print_answer(fd);
    ask(fd, "cmd=info-putnodeattr;key=k;value=%s;", value);
    print_answer(fd);
    ask(fd, "cmd=kvs-put;key=k;value=1\n2;");
    print_answer(fd);
    ask(fd, "cmd=kvs-get;jobid=other;key=k;");
    print_answer(fd);
    ask(fd, "cmd=kvs-get;jobid=jd;key=k;");
    print_answer(fd);
    finalize(fd);
    ask(fd, "cmd=kvs-fence;");
    print_answer(fd);
}

/* The server is gone from the other end, or says something. */
static void say_bytes(int fd, const char *bytes)
{
    for (; *bytes; bytes++) {
        char byte = bytes[0] == '\\' && bytes[1] == 's' ? ' ' : *bytes;
        bytes += byte != *bytes;
        if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1)
            break;
    }
    print_answer(fd);
}

static void flood(int fd)
{
    static char text[TEXT];
    memset(text, '9', sizeof text);
    while (send(fd, text, sizeof text, MSG_NOSIGNAL) > 0)
        ;
    talk_word("sent away", "");
}

static bool is_last(void)
{
    return talk_number("PMI_RANK") == talk_number("PMI_SIZE") - 1;
}

/* The last rank does not come back. */
static void meet_without_last(int fd)
{
    if (is_last())
        _exit(0);
    ask(fd, "cmd=kvs-fence;");
    expect(fd, "cmd=kvs-fence-response;rc=0;");
}

static void die_in_frame(int fd)
{
    if (is_last()) {
        talk_say(fd, "40    cmd=kvs-put;key=");
        _exit(3);
    }
    ask(fd, "cmd=kvs-fence;");
    expect(fd, "cmd=kvs-fence-response;rc=0;");
}

static void be_patient(int fd)
{
    ask(fd, "cmd=info-getnodeattr;key=never;wait=TRUE;");
    print_answer(fd);
}

static void wait_for_end(int fd, const char *mode)
{
    talk_wait();
    if (strcmp(mode, "abort") == 0 && is_last()) {
        ask(fd, "cmd=abort;isworld=FALSE;msg=not all;");
        ask(fd, "cmd=abort;isworld=TRUE;msg=enough is enough\nof it;");
        _exit(7);
    }
    pause();
}

/* ---- the whole ---------------------------------------------------------- */

static void meet_twice(int fd, const char *mode)
{
    meet(fd, 1);
    if (strcmp(mode, "leave") == 0)
        meet_without_last(fd);
    else if (strcmp(mode, "dies") == 0)
        die_in_frame(fd);
    else
        meet(fd, 2);
    share_on_host(fd);
    if (strcmp(mode, "wait") == 0 || strcmp(mode, "abort") == 0) {
        talk_word("up", get_mapping(fd));
        wait_for_end(fd, mode);
    }
    talk_word("ok", get_mapping(fd));
    finalize(fd);
}

static bool is_digit_or_escape(const char *mode)
{
    return strchr("0123456789\\", mode[0]) || strchr(mode, '=');
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "plain";
    talk_come("TEST_LIFE");
    int fd = talk_come("TEST_PMI");
    if (strcmp(mode, "wrong") == 0) {
        begin(fd);
        be_wrong(fd);
        return 0;
    }
    start(fd);
    if (strcmp(mode, "flood") == 0)
        flood(fd);
    else if (strcmp(mode, "patience") == 0)
        be_patient(fd);
    else if (is_digit_or_escape(mode))
        say_bytes(fd, mode);
    else
        meet_twice(fd, mode);
    return 0;
}
