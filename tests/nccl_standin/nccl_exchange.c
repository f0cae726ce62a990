/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl_exchange.c - sends and receives that proceed together: whatever socket
 * is ready moves what it can, so that large messages both ways do not wait for
 * each other.
 */
#include "nccl_private.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* One direction between this rank and another. */
struct channel {
    struct transfer *current; /* is moved now; then its next */
    struct transfer *last;
    struct transfer *unanswered; /* the oldest send without an answer */
    unsigned owed;               /* answers to give */
};

struct exchange {
    ncclComm_t comm;
    struct channel *outs, *ins; /* by peer */
    struct pollfd *polls;       /* the waker, then out and in of each peer */
};

enum progress { GOES_ON, IS_BROKEN };

static void append(struct channel *channel, struct transfer *transfer)
{
    transfer->next = NULL;
    transfer->done = 0;
    if (channel->last)
        channel->last->next = transfer;
    else
        channel->current = transfer;
    channel->last = transfer;
}

/* ---- one step of a socket ----------------------------------------------- */

/* What send() and recv() return, as it concerns the channel. */
static enum progress judge(ssize_t bytes)
{
    if (bytes > 0 || (bytes < 0 && (errno == EAGAIN || errno == EINTR)))
        return GOES_ON;
    return IS_BROKEN;
}

/* The rest of head or data. */
static struct iovec rest_of(struct transfer *transfer, struct head *head)
{
    size_t done = transfer->done;
    if (done < sizeof *head)
        return (struct iovec){ (char *)head + done, sizeof *head - done };
    done -= sizeof *head;
    return (struct iovec){ transfer->data + done, transfer->bytes - done };
}

static void count_bytes(struct channel *channel, ssize_t bytes)
{
    struct transfer *transfer = channel->current;
    if (bytes > 0)
        transfer->done += (size_t)bytes;
}

static bool is_over(const struct transfer *transfer)
{
    return transfer->done == sizeof transfer->head + transfer->bytes;
}

static enum progress write_some(struct channel *out, int fd)
{
    struct transfer *transfer = out->current;
    struct iovec rest = rest_of(transfer, &transfer->head);
    ssize_t bytes =
        send(fd, rest.iov_base, rest.iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);
    enum progress progress = judge(bytes);
    count_bytes(out, bytes);
    if (is_over(transfer))
        out->current = transfer->next;
    return progress;
}

static enum progress read_answers(struct channel *out, int fd)
{
    char answers[64];
    ssize_t bytes = recv(fd, answers, sizeof answers, MSG_DONTWAIT);
    for (ssize_t i = 0; i < bytes && out->unanswered; i++)
        out->unanswered = out->unanswered->next;
    return judge(bytes);
}

static enum progress write_answers(struct channel *in, int fd)
{
    static const char answers[64];
    size_t count = in->owed < sizeof answers ? in->owed : sizeof answers;
    ssize_t bytes = send(fd, answers, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (bytes > 0)
        in->owed -= (unsigned)bytes;
    return judge(bytes);
}

static enum progress read_some(struct channel *in, int fd, ncclComm_t comm)
{
    struct transfer *transfer = in->current;
    struct iovec rest = rest_of(transfer, &transfer->seen);
    const struct head *seen = &transfer->seen, *wanted = &transfer->head;
    ssize_t bytes = recv(fd, rest.iov_base, rest.iov_len, MSG_DONTWAIT);
    enum progress progress = judge(bytes);
    count_bytes(in, bytes);
    if (transfer->done == sizeof *seen &&
        (seen->kind != wanted->kind || seen->detail != wanted->detail ||
         seen->bytes != wanted->bytes)) {
        standin_explain(ncclSuccess,
                        "rank %d: rank %d sends call %u (%#x) of %llu bytes, "
                        "wanted is %u (%#x) of %llu: this hangs",
                        comm->rank, transfer->peer, seen->kind, seen->detail,
                        (unsigned long long)seen->bytes, wanted->kind,
                        wanted->detail, (unsigned long long)wanted->bytes);
        standin_comm_hang(comm);
        return IS_BROKEN;
    }
    if (is_over(transfer)) {
        in->current = transfer->next;
        in->owed++;
    }
    return progress;
}

/* ---- all of them -------------------------------------------------------- */

/* Says what to wait for; false where nothing is left. */
static bool fill_polls(struct exchange *exchange)
{
    ncclComm_t comm = exchange->comm;
    bool is_left = false;
    exchange->polls[0] = (struct pollfd){ comm->waker, POLLIN, 0 };
    for (int i = 0; i < comm->size; i++) {
        struct channel *out = &exchange->outs[i], *in = &exchange->ins[i];
        struct pollfd *polls = &exchange->polls[1 + 2 * i];
        short out_events = (short)((out->current ? POLLOUT : 0) |
                                   (out->unanswered ? POLLIN : 0));
        short in_events =
            (short)((in->current ? POLLIN : 0) | (in->owed > 0 ? POLLOUT : 0));
        int other = comm->peers[i].has_left ? -1 : comm->peers[i].in;
        polls[0] = (struct pollfd){ out_events ? comm->peers[i].out : -1,
                                    out_events, 0 };
        polls[1] = (struct pollfd){ in_events ? comm->peers[i].in : other,
                                    in_events, 0 };
        is_left = is_left || out_events || in_events;
    }
    return is_left;
}

static enum progress step_out(struct channel *out, const struct pollfd *polled)
{
    enum progress progress = GOES_ON;
    if (polled->revents && out->unanswered)
        progress = read_answers(out, polled->fd);
    if (progress == GOES_ON && (polled->revents & POLLOUT) && out->current)
        progress = write_some(out, polled->fd);
    return progress;
}

static enum progress step_in(struct channel *in, const struct pollfd *polled,
                             ncclComm_t comm, int peer)
{
    enum progress progress = GOES_ON;
    if (polled->revents && polled->events == 0)
        return standin_is_dead(comm, peer) ? IS_BROKEN : GOES_ON;
    if (polled->revents && in->owed > 0)
        progress = write_answers(in, polled->fd);
    if (progress == GOES_ON && polled->revents && in->current)
        progress = read_some(in, polled->fd, comm);
    return progress;
}

/* A peer has ended: the state says so where it was on another host, as the real
 * one hears of those alone, and this waits to be aborted. */
static void report_dead(ncclComm_t comm, int peer)
{
    ncclResult_t told = standin_explain(
        ncclRemoteError, "rank %d: rank %d has ended", comm->rank, peer);
    if (comm->peers[peer].is_far)
        standin_comm_set_state(comm, told);
    standin_comm_hang(comm);
}

static bool run(struct exchange *exchange)
{
    ncclComm_t comm = exchange->comm;
    nfds_t count = 1 + 2 * (nfds_t)comm->size;
    while (fill_polls(exchange)) {
        if (poll(exchange->polls, count, -1) < 0)
            continue;
        if (exchange->polls[0].revents)
            return false;
        for (int i = 0; i < comm->size; i++) {
            const struct pollfd *polled = &exchange->polls[1 + 2 * i];
            if (step_out(&exchange->outs[i], &polled[0]) == IS_BROKEN ||
                step_in(&exchange->ins[i], &polled[1], comm, i) == IS_BROKEN) {
                report_dead(comm, i);
                return false;
            }
        }
    }
    return true;
}

bool standin_exchange(ncclComm_t comm, struct transfer *transfers, int count)
{
    size_t size = (size_t)comm->size;
    struct channel *channels = calloc(2 * size, sizeof *channels);
    struct pollfd *polls = calloc(2 * size + 1, sizeof *polls);
    bool is_done = false;
    if (channels && polls) {
        struct exchange exchange = { comm, channels, channels + size, polls };
        for (int i = 0; i < count; i++) {
            struct channel *side =
                transfers[i].is_send ? exchange.outs : exchange.ins;
            append(&side[transfers[i].peer], &transfers[i]);
        }
        for (size_t i = 0; i < size; i++)
            exchange.outs[i].unanswered = exchange.outs[i].current;
        is_done = run(&exchange);
    }
    free(channels);
    free(polls);
    return is_done;
}
