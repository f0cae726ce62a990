/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl_meet.c - the ranks of a communicator find each other. Each listens at an
 * abstract Unix socket that the id and its rank name, connects to each other
 * one, says who it is, and hears from each who that is; then all say that they
 * agree, so that one that refuses is seen by all.
 */
#include "nccl_private.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define RETRY_MS 2 /* until a rank that is not there yet is tried again */

/* The first words on a socket. */
struct hello {
    int rank, size, pid;
    unsigned char uuid[16];
    char host[HOST_BYTES];
};

static socklen_t make_address(ncclComm_t comm, int rank,
                              struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1,
                          "standin-%.40s-%d", comm->id, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)length);
}

/* Waits for the socket; false when it is aborted. fd -1: only for the time. */
static bool wait_for(ncclComm_t comm, int fd, short events, int milliseconds)
{
    struct pollfd looked[2] = { { .fd = comm->waker, .events = POLLIN },
                                { .fd = fd, .events = events } };
    int ready;
    do
        ready = poll(looked, 2, milliseconds);
    while (ready < 0 && errno == EINTR);
    return !(looked[0].revents & POLLIN);
}

/* All of it, one way or the other. */
static ncclResult_t move(ncclComm_t comm, int fd, void *data, size_t bytes,
                         bool is_send)
{
    char *at = data;
    while (bytes > 0) {
        if (!wait_for(comm, fd, is_send ? POLLOUT : POLLIN, -1))
            return ncclInternalError;
        ssize_t moved = is_send ? send(fd, at, bytes, MSG_NOSIGNAL)
                                : recv(fd, at, bytes, 0);
        if (moved < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (moved <= 0)
            return standin_explain(ncclRemoteError,
                                   "rank %d: another rank ended while the "
                                   "ranks met",
                                   comm->rank);
        at += moved;
        bytes -= (size_t)moved;
    }
    return ncclSuccess;
}

/* Communicators have two sockets for each pair of ranks. */
static void allow_many_sockets(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static ncclResult_t fail_system(ncclComm_t comm, const char *what)
{
    return standin_explain(ncclSystemError, "rank %d: %s: %s", comm->rank, what,
                           strerror(errno));
}

static ncclResult_t listen_here(ncclComm_t comm, int *ret_fd)
{
    struct sockaddr_un address;
    socklen_t length = make_address(comm, comm->rank, &address);
    *ret_fd = open_socket();
    if (*ret_fd < 0)
        return fail_system(comm, "socket");
    if (bind(*ret_fd, (struct sockaddr *)&address, length) < 0)
        return errno == EADDRINUSE
                   ? standin_explain(ncclInvalidUsage,
                                     "two ranks say that they are rank %d of "
                                     "one communicator",
                                     comm->rank)
                   : fail_system(comm, "bind");
    if (listen(*ret_fd, comm->size) < 0)
        return fail_system(comm, "listen");
    return ncclSuccess;
}

/* Until it is there: a rank may come at any time. */
static ncclResult_t connect_to(ncclComm_t comm, int rank, int *ret_fd)
{
    struct sockaddr_un address;
    socklen_t length = make_address(comm, rank, &address);
    int fd = open_socket();
    *ret_fd = fd;
    if (fd < 0)
        return fail_system(comm, "socket");
    while (connect(fd, (struct sockaddr *)&address, length) < 0) {
        if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
            return fail_system(comm, "connect");
        if (!wait_for(comm, -1, 0, RETRY_MS))
            return ncclInternalError;
    }
    return ncclSuccess;
}

static ncclResult_t check_hello(ncclComm_t comm, const struct hello *hello)
{
    const char *several = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    if (hello->size != comm->size || hello->rank < 0 ||
        hello->rank >= comm->size || comm->peers[hello->rank].in >= 0)
        return standin_explain(ncclInvalidArgument,
                               "rank %d of %d met rank %d of %d", comm->rank,
                               comm->size, hello->rank, hello->size);
    if (memcmp(hello->uuid, comm->uuid, sizeof comm->uuid) == 0 &&
        strcmp(hello->host, comm->host) == 0 &&
        !(several && strcmp(several, "1") == 0))
        return standin_explain(ncclInvalidUsage,
                               "Duplicate GPU detected : rank %d and rank %d "
                               "both on CUDA device %d",
                               comm->rank, hello->rank, comm->device);
    return ncclSuccess;
}

static ncclResult_t accept_one(ncclComm_t comm, int listener)
{
    struct hello hello;
    int fd;
    do {
        if (!wait_for(comm, listener, POLLIN, -1))
            return ncclInternalError;
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    } while (fd < 0 && (errno == EAGAIN || errno == EINTR));
    if (fd < 0)
        return fail_system(comm, "accept");
    ncclResult_t result = move(comm, fd, &hello, sizeof hello, false);
    if (result == ncclSuccess)
        result = check_hello(comm, &hello);
    if (result != ncclSuccess) {
        close(fd);
        return result;
    }
    comm->peers[hello.rank].in = fd;
    comm->peers[hello.rank].is_far = strcmp(hello.host, comm->host) != 0;
    comm->peers[hello.rank].is_beside =
        hello.pid != (int)getpid() && !comm->peers[hello.rank].is_far;
    return ncclSuccess;
}

static ncclResult_t connect_all(ncclComm_t comm, int listener)
{
    struct hello hello = { .rank = comm->rank,
                           .size = comm->size,
                           .pid = (int)getpid() };
    ncclResult_t result = ncclSuccess;
    memcpy(hello.uuid, comm->uuid, sizeof hello.uuid);
    memcpy(hello.host, comm->host, sizeof hello.host);
    for (int i = 1; i < comm->size && result == ncclSuccess; i++) {
        int rank = (comm->rank + i) % comm->size;
        int *out = &comm->peers[rank].out;
        result = connect_to(comm, rank, out);
        if (result == ncclSuccess)
            result = move(comm, *out, &hello, sizeof hello, true);
    }
    for (int i = 1; i < comm->size && result == ncclSuccess; i++)
        result = accept_one(comm, listener);
    return result;
}

/* Nobody is through before all are. */
static ncclResult_t agree(ncclComm_t comm)
{
    ncclResult_t result = ncclSuccess;
    char yes = 'y';
    for (int i = 0; i < comm->size && result == ncclSuccess; i++)
        if (i != comm->rank)
            result = move(comm, comm->peers[i].out, &yes, 1, true);
    for (int i = 0; i < comm->size && result == ncclSuccess; i++)
        if (i != comm->rank)
            result = move(comm, comm->peers[i].in, &yes, 1, false);
    return result;
}

ncclResult_t standin_connect(ncclComm_t comm)
{
    return agree(comm);
}

ncclResult_t standin_meet(ncclComm_t comm)
{
    int listener;
    allow_many_sockets();
    ncclResult_t result = listen_here(comm, &listener);
    if (result == ncclSuccess)
        result = connect_all(comm, listener);
    if (result == ncclSuccess)
        result = agree(comm);
    if (listener >= 0)
        close(listener);
    if (result != ncclSuccess)
        standin_close(comm); /* so that the others see it */
    return result;
}

/* ---- the end ------------------------------------------------------------ */

void standin_leave(ncclComm_t comm)
{
    struct head head = { .kind = CALL_LEFT };
    for (int i = 0; i < comm->size; i++)
        if (comm->peers[i].out >= 0 &&
            send(comm->peers[i].out, &head, sizeof head,
                 MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            comm->peers[i].has_left = true;
}

void standin_await_leaving(ncclComm_t comm)
{
    for (int i = 0; i < comm->size; i++) {
        struct peer *peer = &comm->peers[i];
        struct pollfd last = { .fd = peer->in, .events = POLLIN };
        while (peer->is_beside && !peer->has_left && poll(&last, 1, -1) <= 0)
            ;
    }
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void standin_close(ncclComm_t comm)
{
    for (int i = 0; i < comm->size; i++) {
        close_one(&comm->peers[i].out);
        close_one(&comm->peers[i].in);
    }
}

bool standin_is_dead(ncclComm_t comm, int peer)
{
    struct peer *looked = &comm->peers[peer];
    struct pollfd poll_one = { .fd = looked->in };
    struct head head;
    if (looked->in < 0 || looked->has_left || poll(&poll_one, 1, 0) <= 0 ||
        !(poll_one.revents & (POLLHUP | POLLERR)))
        return false;
    ssize_t bytes =
        recv(looked->in, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    looked->has_left = true;
    return bytes != (ssize_t)sizeof head || head.kind != CALL_LEFT;
}
