/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl_work.c - what a stream does for a group of calls. A sum begins, for each
 * rank's part of the result, with another rank's terms: as in a ring, and so
 * that nobody relies on the order of the ranks.
 */
#include "nccl_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One call that is being done. */
struct doing {
    ncclComm_t comm;
    const struct op *op;
    const char *in; /* where the stand-in may touch them */
    char *out;
    size_t size; /* of an element */
    struct head head;
    struct transfer *transfers; /* room for two a rank */
    int count;
};

static void add(struct doing *doing, int peer, bool is_send, const void *data,
                size_t bytes)
{
    doing->transfers[doing->count++] = (struct transfer){
        .peer = peer,
        .is_send = is_send,
        .head = doing->head,
        .data = (char *)data,
        .bytes = bytes,
    };
}

static bool exchange(struct doing *doing)
{
    bool is_done =
        standin_exchange(doing->comm, doing->transfers, doing->count);
    doing->count = 0;
    return is_done;
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (to != from && bytes > 0)
        memmove(to, from, bytes);
}

/* Parts of a whole of count elements: where a rank's begins. */
static size_t part_begin(const struct doing *doing, size_t count, int rank)
{
    size_t size = (size_t)doing->comm->size;
    return (count / size * (size_t)rank + count % size * (size_t)rank / size) *
           doing->size;
}

/* ---- reductions --------------------------------------------------------- */

/* Everybody's terms of this rank's part, in the order of a ring that ends
 * here; folds them into the first. */
static void fold(const struct doing *doing, char *terms, size_t bytes)
{
    const struct op *op = doing->op;
    int ranks = doing->comm->size, first = (doing->comm->rank + 1) % ranks;
    size_t count = bytes / doing->size;
    char *sum = terms + (size_t)first * bytes;
    for (int i = 0; i < ranks; i++)
        standin_before_sum(op->type, op->op, ranks, terms + (size_t)i * bytes,
                           count);
    for (int i = 1; i < ranks; i++)
        standin_reduce(op->type, op->op, sum,
                       terms + (size_t)((first + i) % ranks) * bytes, count);
    standin_after_sum(op->type, op->op, ranks, sum, count);
    copy(terms, sum, bytes);
}

/* Each rank gets its part of all terms, and folds it. begins: of the parts, and
 * the end. Returns the part; NULL where it was aborted. */
static char *reduce_part(struct doing *doing, const size_t *begins)
{
    int rank = doing->comm->rank, ranks = doing->comm->size;
    size_t bytes = begins[rank + 1] - begins[rank];
    char *terms = malloc(bytes * (size_t)ranks + 1);
    if (!terms)
        return NULL;
    copy(terms + (size_t)rank * bytes, doing->in + begins[rank], bytes);
    for (int i = 0; i < ranks; i++)
        if (i != rank) {
            add(doing, i, true, doing->in + begins[i],
                begins[i + 1] - begins[i]);
            add(doing, i, false, terms + (size_t)i * bytes, bytes);
        }
    if (!exchange(doing)) {
        free(terms);
        return NULL;
    }
    fold(doing, terms, bytes);
    return terms;
}

static bool do_all_reduce(struct doing *doing, size_t *begins)
{
    int rank = doing->comm->rank, ranks = doing->comm->size;
    for (int i = 0; i <= ranks; i++)
        begins[i] = part_begin(doing, doing->op->count, i);
    char *part = reduce_part(doing, begins);
    if (!part)
        return false;
    size_t bytes = begins[rank + 1] - begins[rank];
    copy(doing->out + begins[rank], part, bytes);
    for (int i = 0; i < ranks; i++)
        if (i != rank) {
            add(doing, i, true, part, bytes);
            add(doing, i, false, doing->out + begins[i],
                begins[i + 1] - begins[i]);
        }
    bool is_done = exchange(doing);
    free(part);
    return is_done;
}

static bool do_reduce_scatter(struct doing *doing, size_t *begins)
{
    size_t bytes = doing->op->count * doing->size;
    for (int i = 0; i <= doing->comm->size; i++)
        begins[i] = (size_t)i * bytes;
    char *part = reduce_part(doing, begins);
    if (!part)
        return false;
    copy(doing->out, part, bytes);
    free(part);
    return true;
}

/* ---- moves -------------------------------------------------------------- */

static bool do_all_gather(struct doing *doing)
{
    size_t bytes = doing->op->count * doing->size;
    int rank = doing->comm->rank;
    copy(doing->out + (size_t)rank * bytes, doing->in, bytes);
    for (int i = 0; i < doing->comm->size; i++)
        if (i != rank) {
            add(doing, i, true, doing->in, bytes);
            add(doing, i, false, doing->out + (size_t)i * bytes, bytes);
        }
    return exchange(doing);
}

static bool do_broadcast(struct doing *doing)
{
    size_t bytes = doing->op->count * doing->size;
    int rank = doing->comm->rank, root = doing->op->peer;
    if (rank == root)
        copy(doing->out, doing->in, bytes);
    for (int i = 0; i < doing->comm->size; i++)
        if (rank == root && i != root)
            add(doing, i, true, doing->in, bytes);
    if (rank != root)
        add(doing, root, false, doing->out, bytes);
    return exchange(doing);
}

static bool do_collective(ncclComm_t comm, const struct op *op)
{
    struct doing doing = {
        .comm = comm,
        .op = op,
        .in = standin_address(op->in),
        .out = standin_address(op->out),
        .size = standin_type_size(op->type),
        .transfers = calloc(2 * (size_t)comm->size, sizeof(struct transfer)),
    };
    size_t *begins = calloc((size_t)comm->size + 1, sizeof *begins);
    bool is_done = false;
    doing.head =
        (struct head){ .kind = op->call,
                       .detail = (uint32_t)op->type | (uint32_t)op->op << 8 |
                                 (uint32_t)op->peer << 16,
                       .bytes = op->count * doing.size };
    if (!doing.transfers || !begins)
        fprintf(stderr, "stand-in NCCL: no memory\n");
    else if (op->call == CALL_ALL_REDUCE)
        is_done = do_all_reduce(&doing, begins);
    else if (op->call == CALL_REDUCE_SCATTER)
        is_done = do_reduce_scatter(&doing, begins);
    else if (op->call == CALL_ALL_GATHER)
        is_done = do_all_gather(&doing);
    else
        is_done = do_broadcast(&doing);
    free(doing.transfers);
    free(begins);
    return is_done;
}

/* ---- sends and receives ------------------------------------------------- */

static bool is_point(const struct op *op)
{
    return op->call == CALL_SEND || op->call == CALL_RECV;
}

static size_t bytes_of(const struct op *op)
{
    return op->count * standin_type_size(op->type);
}

/* The k-th send to the own rank goes to the k-th receive from it. */
static void copy_to_self(const struct work *work)
{
    int rank = work->comm->rank, next = 0;
    for (int i = 0; i < work->num_ops; i++) {
        const struct op *send = &work->ops[i];
        if (send->call != CALL_SEND || send->peer != rank)
            continue;
        while (work->ops[next].call != CALL_RECV ||
               work->ops[next].peer != rank)
            next++;
        const struct op *receive = &work->ops[next++];
        copy(standin_address(receive->out), standin_address(send->in),
             bytes_of(receive));
    }
}

/* Which ways the work connects this rank with the other for the first time. */
static unsigned connect_to(const struct work *work, int peer)
{
    unsigned *connected =
        &standin_comm_connections(work->comm)->peers[peer].connected;
    unsigned ways = 0;
    for (int i = 0; i < work->num_ops; i++)
        if (is_point(&work->ops[i]) && work->ops[i].peer == peer)
            ways |=
                work->ops[i].call == CALL_SEND ? CONNECTS_SEND : CONNECTS_RECV;
    ways &= ~*connected;
    *connected |= ways;
    return ways;
}

static unsigned mirror(unsigned ways)
{
    return (ways & CONNECTS_SEND ? CONNECTS_RECV : 0) |
           (ways & CONNECTS_RECV ? CONNECTS_SEND : 0);
}

/*
 * The real one connects all that a group has for another rank at once, and both
 * ranks have to come with the same: where the one has a send and a receive in a
 * group, and the other calls them one by one, they wait for each other, or
 * worse. So what is sent says what its group connects.
 */
static uint32_t detail_of(const unsigned *ways, const struct op *op)
{
    return op->call == CALL_SEND ? ways[op->peer] : mirror(ways[op->peer]);
}

static bool do_points(struct work *work)
{
    struct transfer *transfers =
        calloc((size_t)work->num_ops, sizeof *transfers);
    unsigned *ways = calloc((size_t)work->comm->size, sizeof *ways);
    int count = 0;
    if (!transfers || !ways) {
        free(transfers);
        free(ways);
        return false;
    }
    for (int i = 0; i < work->comm->size; i++)
        ways[i] = connect_to(work, i);
    copy_to_self(work);
    for (int i = 0; i < work->num_ops; i++) {
        const struct op *op = &work->ops[i];
        bool is_send = op->call == CALL_SEND;
        if (is_point(op) && op->peer != work->comm->rank)
            transfers[count++] = (struct transfer){
                .peer = op->peer,
                .is_send = is_send,
                .head = { .kind = CALL_SEND,
                          .detail = detail_of(ways, op),
                          .bytes = bytes_of(op) },
                .data = standin_address(is_send ? op->in : op->out),
                .bytes = bytes_of(op),
            };
    }
    bool is_done = standin_exchange(work->comm, transfers, count);
    free(transfers);
    free(ways);
    return is_done;
}

/* ---- the work ----------------------------------------------------------- */

/* Waits for its turn; false where there is nothing to do any more. */
static bool begin(ncclComm_t comm, uint64_t ticket)
{
    pthread_mutex_lock(&comm->lock);
    while (!comm->is_aborted && !comm->is_revoked && !comm->is_gone &&
           (comm->is_busy || (ticket > 0 && comm->served + 1 != ticket)))
        pthread_cond_wait(&comm->changed, &comm->lock);
    bool is_over = comm->is_aborted || comm->is_revoked || comm->is_gone;
    if (!is_over)
        comm->is_busy = true;
    pthread_mutex_unlock(&comm->lock);
    return !is_over;
}

static void end(ncclComm_t comm, uint64_t ticket)
{
    pthread_mutex_lock(&comm->lock);
    comm->is_busy = false;
    if (ticket > 0)
        comm->served = ticket;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

static void do_ops(struct work *work)
{
    bool is_done = true, has_points = false;
    for (int i = 0; i < work->num_ops && is_done; i++)
        if (is_point(&work->ops[i]))
            has_points = true;
        else
            is_done = do_collective(work->comm, &work->ops[i]);
    if (is_done && has_points)
        do_points(work);
}

void standin_run_work(void *arg)
{
    struct work *work = arg;
    if (!begin(work->comm, work->ticket))
        return;
    if (work->fault == FAULT_ASYNC)
        standin_comm_set_state(work->comm,
                               standin_explain(work->async,
                                               "rank %d: STANDIN_FAIL wants "
                                               "an asynchronous error",
                                               work->comm->rank));
    if (work->fault != FAULT_NONE)
        standin_comm_hang(work->comm);
    else
        do_ops(work);
    end(work->comm, work->ticket);
}
