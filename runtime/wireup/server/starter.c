/* SPDX-License-Identifier: BSD-3-Clause */
/* starter.c - the other end of standard output. */
#include "runtime/wireup/server/starter.h"
#include "base/write_all.h"
#include "runtime/wireup/server/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static struct {
    bool is_on;
    pthread_t thread;
    int stop[2]; /* a pipe whose end says that the answer comes */
} watching;

/* A pipe that nobody reads is an error, for which poll always looks. */
static void *watch_output(void *unused)
{
    struct pollfd fds[] = {
        { .fd = STDOUT_FILENO },
        { .fd = watching.stop[0], .events = POLLIN },
    };
    (void)unused;
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    if (!fds[1].revents)
        _exit(1); /* the supervisor removes what there is */
    return NULL;
}

void starter_watch(void)
{
    if (pipe2(watching.stop, O_CLOEXEC) != 0)
        return;
    watching.is_on =
        pthread_create(&watching.thread, NULL, watch_output, NULL) == 0;
}

/* As long as it polls, the pipe is not closed for the starter. */
static void stop_watching(void)
{
    if (!watching.is_on)
        return;
    watching.is_on = false;
    close(watching.stop[1]);
    pthread_join(watching.thread, NULL);
    close(watching.stop[0]);
}

void starter_answer(const struct jd_bytes *environments, const char *text)
{
    stop_watching();
    if (environments)
        jd__write_all(STDOUT_FILENO, environments->data + environments->begin,
                  jd__bytes_size(environments));
    jd__write_all(STDOUT_FILENO, text, strlen(text));
    supervisor_close_standard();
}
