/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * munged.h - a munged of a test's own, in a folder of its own.
 *
 *     if (munged_start(&munged))
 *         ... munged.socket, munged.pid ...
 *     munged_end(&munged);
 *
 * munged_start returns when munged serves, so that no test has to wait; it is
 * false where munged is not installed or does not start. It ends with the
 * process that started it.
 */
#ifndef TESTS_UNIT_MUNGED_H
#define TESTS_UNIT_MUNGED_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct munged {
    pid_t pid;
    FILE *output;
    char folder[64];
    char socket[80];
    char key[80];
    char seed[80];
};

static inline bool munged_make_files(struct munged *munged)
{
    char bytes[64];
    strcpy(munged->folder, "/tmp/jd-test-munge-XXXXXX");
    if (!mkdtemp(munged->folder) || chmod(munged->folder, 0755) != 0)
        return false;
    snprintf(munged->socket, sizeof munged->socket, "%s/socket",
             munged->folder);
    snprintf(munged->key, sizeof munged->key, "%s/key", munged->folder);
    snprintf(munged->seed, sizeof munged->seed, "%s/seed", munged->folder);
    int fd = open(munged->key, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_good = fd >= 0 &&
                   getrandom(bytes, sizeof bytes, 0) == sizeof bytes &&
                   write(fd, bytes, sizeof bytes) == sizeof bytes;
    if (fd >= 0)
        close(fd);
    return is_good;
}

static inline void munged_run(const struct munged *munged, int output)
{
    char arguments[4][128];
    snprintf(arguments[0], 128, "--socket=%s", munged->socket);
    snprintf(arguments[1], 128, "--key-file=%s", munged->key);
    snprintf(arguments[2], 128, "--seed-file=%s", munged->seed);
    snprintf(arguments[3], 128, "--pid-file=%s/pid", munged->folder);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(output, STDERR_FILENO);
    execlp("munged", "munged", "--foreground", "--force", arguments[0],
           arguments[1], arguments[2], arguments[3], (char *)NULL);
    execl("/usr/sbin/munged", "munged", "--foreground", "--force", arguments[0],
          arguments[1], arguments[2], arguments[3], (char *)NULL);
    _exit(127);
}

/* It says what it does; the threads come last. */
static inline bool munged_serves(struct munged *munged)
{
    char line[512];
    while (fgets(line, sizeof line, munged->output))
        if (strstr(line, "work threads"))
            return true;
    return false;
}

static inline bool munged_start(struct munged *munged)
{
    int ends[2];
    *munged = (struct munged){ .pid = -1 };
    if (!munged_make_files(munged) || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    munged->pid = fork();
    if (munged->pid == 0)
        munged_run(munged, ends[1]);
    close(ends[1]);
    munged->output = fdopen(ends[0], "r");
    return munged->pid > 0 && munged_serves(munged);
}

static inline void munged_end(struct munged *munged)
{
    if (munged->pid > 0) {
        kill(munged->pid, SIGKILL);
        waitpid(munged->pid, NULL, 0);
    }
    if (munged->output)
        fclose(munged->output);
    static const char *const names[] = { "socket", "socket.lock", "key", "seed",
                                         "pid" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/%s", munged->folder, names[i]);
        unlink(path);
    }
    rmdir(munged->folder);
}

#endif
