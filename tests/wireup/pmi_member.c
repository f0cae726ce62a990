/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_member.c - one process of a job that jd-pmix-server serves by PMI-1,
 * without an MPI: it says what MPI's client says, and checks the answers. It
 * holds its connection to the server (TEST_LIFE), has another for PMI
 * (TEST_PMI), and says its index (TEST_PROCESS) at both.
 *
 *     pmi_member MODE     prints "ok RANK SIZE MAPPING" where all is well
 *
 *     plain        puts, meets the others twice, has what all have put
 *     wait         the same, says "up", and waits to be killed
 *     abort        as wait, but the last rank aborts with 7 at the end of its
 *                  stdin
 *     wrong        says what is wrong in many ways, and prints each answer
 *     flood        says a line that does not end, until it is sent away
 *     leave        the last rank goes after the first meeting; the others come
 *                  to a barrier
 *     twice        comes a second time, and is sent away
 */
#include "tests/wireup/pmi_talk.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE = 8192 };

static const char *get(int fd, const char *key)
{
    static const char begin[] = "cmd=get_result rc=0 msg=success value=";
    talk_say(fd, "cmd=get kvsname=jd key=%s\n", key);
    const char *got = talk_hear(fd);
    if (strncmp(got, begin, sizeof begin - 1) != 0)
        talk_fail(key, got);
    return got + sizeof begin - 1;
}

static void start(int fd)
{
    char sizes[64];
    talk_say(fd, "cmd=init pmi_version=1 pmi_subversion=1\n");
    talk_expect(fd, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
    talk_say(fd, "cmd=get_maxes\n");
    talk_expect(fd,
                "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=4096");
    talk_say(fd, "cmd=get_appnum\n");
    talk_expect(fd, "cmd=appnum rc=0 appnum=0");
    talk_say(fd, "cmd=get_my_kvsname\n");
    talk_expect(fd, "cmd=my_kvsname rc=0 kvsname=jd");
    snprintf(sizes, sizeof sizes, "cmd=universe_size rc=0 size=%d",
             talk_number("PMI_SIZE"));
    talk_say(fd, "cmd=get_universe_size\n");
    talk_expect(fd, sizes);
}

/* Each puts a card of this round, and has all cards. */
static void meet(int fd, int round)
{
    int rank = talk_number("PMI_RANK"), size = talk_number("PMI_SIZE");
    char key[32], value[64];
    talk_say(fd, "cmd=put kvsname=jd key=card-%d-%d value=#a=%d b$%d\n", round,
             rank, rank, round);
    talk_expect(fd, "cmd=put_result rc=0 msg=success");
    talk_say(fd, "cmd=barrier_in\n");
    talk_expect(fd, "cmd=barrier_out rc=0");
    for (int other = 0; other < size; other++) {
        snprintf(key, sizeof key, "card-%d-%d", round, other);
        snprintf(value, sizeof value, "#a=%d b$%d", other, round);
        if (strcmp(get(fd, key), value) != 0)
            talk_fail(key, get(fd, key));
    }
}

static void be_wrong(int fd)
{
    static char long_key[100], long_value[5000];
    memset(long_key, 'k', sizeof long_key - 1);
    memset(long_value, 'v', sizeof long_value - 1);
    talk_say(fd, "cmd=init pmi_version=3 pmi_subversion=0\n");
    printf("%s\n", talk_hear(fd));
    talk_say(fd, "cmd=put kvsname=jd value=no key\n");
    printf("%s\n", talk_hear(fd));
    talk_say(fd, "cmd=put kvsname=jd key=%s value=1\n", long_key);
    printf("%s\n", talk_hear(fd));
    talk_say(fd, "cmd=dance\n\n=\ncmd=get kvsname=jd key=nobody\n");
    printf("%s\n", talk_hear(fd));
    talk_say(fd, "cmd=publish_name service=a port=b\n");
    printf("%s\n", talk_hear(fd));
    talk_say(fd, "cmd=put kvsname=jd key=k value=%s\n", long_value);
    printf("gone: \"%s\"\n", talk_hear(fd));
    fflush(stdout);
}

static void flood(int fd)
{
    static char text[LINE];
    memset(text, 'x', sizeof text);
    while (send(fd, text, sizeof text, MSG_NOSIGNAL) > 0)
        ;
    printf("sent away\n");
}

static void come_twice(void)
{
    int fd = talk_come("TEST_PMI");
    printf("the second hears \"%s\"\n", talk_hear(fd));
}

/* The last rank does not come back. */
static void meet_without_last(int fd)
{
    if (talk_number("PMI_RANK") == talk_number("PMI_SIZE") - 1)
        _exit(0);
    talk_say(fd, "cmd=barrier_in\n");
    talk_expect(fd, "cmd=barrier_out rc=0");
}

static void finalize(int fd)
{
    talk_say(fd, "cmd=finalize\n");
    talk_expect(fd, "cmd=finalize_ack rc=0");
}

static void wait_for_end(int fd, const char *mode)
{
    talk_wait();
    if (strcmp(mode, "abort") == 0 &&
        talk_number("PMI_RANK") == talk_number("PMI_SIZE") - 1) {
        talk_say(fd, "cmd=abort exitcode=7\n");
        _exit(7);
    }
    pause();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "plain";
    talk_come("TEST_LIFE");
    int fd = talk_come("TEST_PMI");
    start(fd);
    if (strcmp(mode, "wrong") == 0) {
        be_wrong(fd);
    } else if (strcmp(mode, "flood") == 0) {
        flood(fd);
    } else {
        meet(fd, 1);
        if (strcmp(mode, "leave") == 0)
            meet_without_last(fd);
        else
            meet(fd, 2);
        if (strcmp(mode, "twice") == 0)
            come_twice();
        if (strcmp(mode, "wait") == 0 || strcmp(mode, "abort") == 0) {
            talk_word("up", get(fd, "PMI_process_mapping"));
            wait_for_end(fd, mode);
        }
        talk_word("ok", get(fd, "PMI_process_mapping"));
        finalize(fd);
    }
    return 0;
}
