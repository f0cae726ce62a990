/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_talk.c - sockets and lines of a member that plays PMI's client. */
#include "tests/wireup/pmi_talk.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINE = 8192 };

int talk_number(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : -1;
}

_Noreturn void talk_fail(const char *what, const char *got)
{
    printf("process %d: %s: %s\n", talk_number("TEST_PROCESS"), what, got);
    fflush(stdout);
    exit(1);
}

int talk_come(const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = getenv(name);
    uint32_t index = (uint32_t)talk_number("TEST_PROCESS");
    uint8_t bytes[4];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(index >> 8 * i);
    if (!path || strlen(path) >= sizeof address.sun_path)
        talk_fail("no path", name);
    strcpy(address.sun_path, path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) ||
        write(fd, bytes, 4) != 4)
        talk_fail("cannot come", path);
    return fd;
}

void talk_say(int fd, const char *format, ...)
{
    char line[LINE];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (write(fd, line, (size_t)length) != length)
        talk_fail("cannot say", line);
}

const char *talk_hear(int fd)
{
    static char line[LINE];
    size_t used = 0;
    while (used + 1 < sizeof line && read(fd, line + used, 1) == 1 &&
           line[used] != '\n')
        used++;
    line[used] = '\0';
    return line;
}

void talk_expect(int fd, const char *wanted)
{
    const char *got = talk_hear(fd);
    if (strcmp(got, wanted) != 0)
        talk_fail(wanted, got);
}

void talk_word(const char *word, const char *mapping)
{
    printf("%s %d %d %s\n", word, talk_number("PMI_RANK"),
           talk_number("PMI_SIZE"), mapping);
    fflush(stdout);
}

void talk_wait(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}
