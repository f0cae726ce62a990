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
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINE = 8192 };

static int number_of(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : -1;
}

static int fail(const char *what, const char *got)
{
    printf("process %d: %s: %s\n", number_of("TEST_PROCESS"), what, got);
    fflush(stdout);
    exit(1);
}

/* To the socket that the variable names; the index is said. */
static int come(const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = getenv(name);
    uint32_t index = (uint32_t)number_of("TEST_PROCESS");
    uint8_t bytes[4];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(index >> 8 * i);
    if (!path || strlen(path) >= sizeof address.sun_path)
        fail("no path", name);
    strcpy(address.sun_path, path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) ||
        write(fd, bytes, 4) != 4)
        fail("cannot come", path);
    return fd;
}

__attribute__((format(printf, 2, 3))) static void say(int fd,
                                                      const char *format, ...)
{
    char line[LINE];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (write(fd, line, (size_t)length) != length)
        fail("cannot say", line);
}

/* The next line, without its newline; "" at the end. */
static const char *hear(int fd)
{
    static char line[LINE];
    size_t used = 0;
    while (used + 1 < sizeof line && read(fd, line + used, 1) == 1 &&
           line[used] != '\n')
        used++;
    line[used] = '\0';
    return line;
}

static void expect(int fd, const char *wanted)
{
    const char *got = hear(fd);
    if (strcmp(got, wanted) != 0)
        fail(wanted, got);
}

static const char *get(int fd, const char *key)
{
    static const char begin[] = "cmd=get_result rc=0 msg=success value=";
    say(fd, "cmd=get kvsname=jd key=%s\n", key);
    const char *got = hear(fd);
    if (strncmp(got, begin, sizeof begin - 1) != 0)
        fail(key, got);
    return got + sizeof begin - 1;
}

static void start(int fd)
{
    char sizes[64];
    say(fd, "cmd=init pmi_version=1 pmi_subversion=1\n");
    expect(fd, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
    say(fd, "cmd=get_maxes\n");
    expect(fd, "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=4096");
    say(fd, "cmd=get_appnum\n");
    expect(fd, "cmd=appnum rc=0 appnum=0");
    say(fd, "cmd=get_my_kvsname\n");
    expect(fd, "cmd=my_kvsname rc=0 kvsname=jd");
    snprintf(sizes, sizeof sizes, "cmd=universe_size rc=0 size=%d",
             number_of("PMI_SIZE"));
    say(fd, "cmd=get_universe_size\n");
    expect(fd, sizes);
}

/* Each puts a card of this round, and has all cards. */
static void meet(int fd, int round)
{
    int rank = number_of("PMI_RANK"), size = number_of("PMI_SIZE");
    char key[32], value[64];
    say(fd, "cmd=put kvsname=jd key=card-%d-%d value=#a=%d b$%d\n", round, rank,
        rank, round);
    expect(fd, "cmd=put_result rc=0 msg=success");
    say(fd, "cmd=barrier_in\n");
    expect(fd, "cmd=barrier_out rc=0");
    for (int other = 0; other < size; other++) {
        snprintf(key, sizeof key, "card-%d-%d", round, other);
        snprintf(value, sizeof value, "#a=%d b$%d", other, round);
        if (strcmp(get(fd, key), value) != 0)
            fail(key, get(fd, key));
    }
}

static void be_wrong(int fd)
{
    static char long_key[100], long_value[5000];
    memset(long_key, 'k', sizeof long_key - 1);
    memset(long_value, 'v', sizeof long_value - 1);
    say(fd, "cmd=init pmi_version=2 pmi_subversion=0\n");
    printf("%s\n", hear(fd));
    say(fd, "cmd=put kvsname=jd value=no key\n");
    printf("%s\n", hear(fd));
    say(fd, "cmd=put kvsname=jd key=%s value=1\n", long_key);
    printf("%s\n", hear(fd));
    say(fd, "cmd=dance\n\n=\ncmd=get kvsname=jd key=nobody\n");
    printf("%s\n", hear(fd));
    say(fd, "cmd=publish_name service=a port=b\n");
    printf("%s\n", hear(fd));
    say(fd, "cmd=put kvsname=jd key=k value=%s\n", long_value);
    printf("gone: \"%s\"\n", hear(fd));
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
    int fd = come("TEST_PMI");
    printf("the second hears \"%s\"\n", hear(fd));
}

/* The last rank does not come back. */
static void meet_without_last(int fd)
{
    if (number_of("PMI_RANK") == number_of("PMI_SIZE") - 1)
        _exit(0);
    say(fd, "cmd=barrier_in\n");
    expect(fd, "cmd=barrier_out rc=0");
}

static void finalize(int fd)
{
    say(fd, "cmd=finalize\n");
    expect(fd, "cmd=finalize_ack rc=0");
}

static void say_word(const char *word, const char *mapping)
{
    printf("%s %d %d %s\n", word, number_of("PMI_RANK"), number_of("PMI_SIZE"),
           mapping);
    fflush(stdout);
}

static void wait_for_end(int fd, const char *mode)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    if (strcmp(mode, "abort") == 0 &&
        number_of("PMI_RANK") == number_of("PMI_SIZE") - 1) {
        say(fd, "cmd=abort exitcode=7\n");
        _exit(7);
    }
    pause();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "plain";
    come("TEST_LIFE");
    int fd = come("TEST_PMI");
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
            say_word("up", get(fd, "PMI_process_mapping"));
            wait_for_end(fd, mode);
        }
        say_word("ok", get(fd, "PMI_process_mapping"));
        finalize(fd);
    }
    return 0;
}
