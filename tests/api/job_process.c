/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job_process.c - a process that does what its arguments say, one after the
 * other, to be started by a launcher under test.
 * usage: job_process [WORD [VALUE]]...
 *
 *   only ID     the rest is for the process with this JD_PROCESS_ID
 *   but ID      the rest is for all others
 *   out TEXT    writes it to standard output, without a newline
 *   err TEXT    the same to standard error
 *   line TEXT   the same to standard output, with a newline
 *   long SIZE   writes so many letters "x" without a newline
 *   catch NAME  a signal (TERM, ...) is printed when it comes; TERM ends, 0
 *   note NAME   is printed too, and ends nothing
 *   ignore NAME ignores it
 *   mark PATH   makes the file PATH.ID
 *   fork WORD   the rest is done by a child, and this process goes
 *   wait -      until a signal ends it, 60 s at most
 *   exit CODE
 *   kill NAME   by its own hand
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TIMED_OUT = 99 };

static const struct {
    const char *name;
    int number;
} signals[] = {
    { "TERM", SIGTERM }, { "INT", SIGINT },   { "HUP", SIGHUP },
    { "QUIT", SIGQUIT }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },
    { "CONT", SIGCONT }, { "KILL", SIGKILL }, { "SEGV", SIGSEGV },
};
enum { NUM_SIGNALS = sizeof signals / sizeof *signals };

static const char *id;

static void write_all(int fd, const char *text, size_t size)
{
    while (size) {
        ssize_t written = write(fd, text, size);
        if (written <= 0)
            _exit(TIMED_OUT);
        text += written;
        size -= (size_t)written;
    }
}

static void write_text(int fd, const char *text)
{
    write_all(fd, text, strlen(text));
}

static int find_signal(const char *name)
{
    for (int i = 0; i < NUM_SIGNALS; i++)
        if (strcmp(signals[i].name, name) == 0)
            return signals[i].number;
    _exit(TIMED_OUT);
}

/* In one piece, which nobody else's comes into. */
static void noted(int number)
{
    char line[8];
    for (int i = 0; i < NUM_SIGNALS; i++) {
        if (signals[i].number != number)
            continue;
        size_t length = strlen(signals[i].name);
        memcpy(line, signals[i].name, length);
        line[length] = '\n';
        write_all(STDOUT_FILENO, line, length + 1);
    }
}

static void caught(int number)
{
    noted(number);
    if (number == SIGTERM)
        _exit(0);
}

static void write_long(const char *size)
{
    static char letters[4096];
    memset(letters, 'x', sizeof letters);
    for (size_t left = strtoul(size, NULL, 10); left;) {
        size_t now = left < sizeof letters ? left : sizeof letters;
        write_all(STDOUT_FILENO, letters, now);
        left -= now;
    }
}

static void mark(const char *path)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%s", path, id);
    close(open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void await_signal(void)
{
    for (int i = 0; i < 6000; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    _exit(TIMED_OUT);
}

static void end_by(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static void act(const char *word, const char *value)
{
    if (strcmp(word, "out") == 0)
        write_text(STDOUT_FILENO, value);
    else if (strcmp(word, "err") == 0)
        write_text(STDERR_FILENO, value);
    else if (strcmp(word, "line") == 0)
        printf("%s\n", value), fflush(stdout);
    else if (strcmp(word, "long") == 0)
        write_long(value);
    else if (strcmp(word, "catch") == 0)
        signal(find_signal(value), caught);
    else if (strcmp(word, "note") == 0)
        signal(find_signal(value), noted);
    else if (strcmp(word, "ignore") == 0)
        signal(find_signal(value), SIG_IGN);
    else if (strcmp(word, "mark") == 0)
        mark(value);
    else if (strcmp(word, "wait") == 0)
        await_signal();
    else if (strcmp(word, "fork") == 0 && fork() > 0)
        _exit(0);
    else if (strcmp(word, "exit") == 0)
        _exit(atoi(value));
    else if (strcmp(word, "kill") == 0)
        end_by(find_signal(value));
}

int main(int argc, char **argv)
{
    id = getenv("JD_PROCESS_ID");
    id = id ? id : "";
    for (int i = 1; i + 1 < argc; i += 2) {
        bool is_me = strcmp(id, argv[i + 1]) == 0;
        if (strcmp(argv[i], "only") == 0 && !is_me)
            return 0;
        if (strcmp(argv[i], "but") == 0 && is_me)
            return 0;
        act(argv[i], argv[i + 1]);
    }
    return 0;
}
