/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl_private.h - what the parts of the stand-in for NCCL share.
 *
 *     nccl.c             versions, ids, texts, memory: what has no communicator
 *     nccl_comm.c        a communicator's life
 *     nccl_meet.c        its ranks find each other: two sockets for each pair
 *     nccl_calls.c       collectives and groups: checked, queued on a stream
 *     nccl_work.c        what they do when the stream comes to them
 *     nccl_exchange.c    sends and receives that proceed together
 *     nccl_arithmetic.c  sums, products, maxima
 *
 * Data goes from rank a to rank b on a socket of that direction, a head before
 * it; b answers with a byte when it has all of it. So a send without its
 * receive never ends, as it may not on a GPU, and never does here.
 */
#ifndef NCCL_STANDIN_NCCL_PRIVATE_H
#define NCCL_STANDIN_NCCL_PRIVATE_H

#include "standin.h"

#include <nccl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* What goes before the data; a receiver that waits for another one hangs. */
struct head {
    uint32_t kind; /* enum call */
    uint32_t detail;
    uint64_t bytes;
};

enum call {
    CALL_NONE,
    CALL_SEND, /* a receive waits for the head of a send */
    CALL_RECV,
    CALL_ALL_REDUCE,
    CALL_REDUCE_SCATTER,
    CALL_ALL_GATHER,
    CALL_BROADCAST,
    CALL_LEFT /* the last on a socket: the rank has ended in order */
};

enum { CONNECTS_SEND = 1, CONNECTS_RECV = 2 };

struct peer {
    int out, in;        /* sockets; -1: the own rank, or not connected */
    bool has_left;      /* or was found dead: not looked at any more */
    bool is_beside;     /* in another process of the host */
    bool is_far;        /* on another host, whose end is heard of */
    unsigned connected; /* CONNECTS_SEND, CONNECTS_RECV: the work's own */
    unsigned called;    /* the same, as calls ask for it; the callers' own */
};

struct registration {
    struct registration *next;
};

#define HOST_BYTES 64
struct ncclComm {
    /* Stay the same once the ranks have met. */
    int rank, size, device;
    bool is_blocking;
    bool shares;             /* with those that are split off it */
    struct ncclComm *parent; /* that it has its connections from; NULL */
    char id[NCCL_UNIQUE_ID_BYTES];
    unsigned char uuid[16];
    char host[HOST_BYTES];
    struct peer *peers;
    int waker; /* eventfd: readable once it is aborted or revoked */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    ncclResult_t state; /* what ncclCommGetAsyncError tells */
    bool is_aborted, is_revoked, is_finalized, is_gone;
    struct ncclComm *child; /* the last that shares with it; NULL */
    int num_split;
    int helpers;             /* threads that meet, or queue, for it */
    uint64_t issued, served; /* pieces of work, but those of graphs */
    bool is_busy;            /* one runs */
    bool is_hanging;         /* and looks at no socket */
    unsigned calls;
    bool is_connected; /* all ranks are: by its making, or a collective */
    struct registration *registrations;
    struct ncclComm *next; /* all that were made: work may name them later */
};

/* ---- nccl.c ------------------------------------------------------------- */

/* Notes the text for ncclGetLastError() (and prints it where NCCL_DEBUG is WARN
 * or INFO); gives the result back. */
ncclResult_t standin_explain(ncclResult_t result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The result that STANDIN_FAIL wants of the call; ncclSuccess. */
ncclResult_t standin_wanted_failure(const char *call);

/* ---- nccl_comm.c -------------------------------------------------------- */

/* ncclSuccess where calls may be made on it. */
ncclResult_t standin_comm_ready(ncclComm_t comm, const char *call);

/* Runs it on a thread of its own, as one of the communicator's helpers. */
ncclResult_t standin_comm_help(ncclComm_t comm, void (*run)(void *), void *arg);

/* Sets the state, unless it is a failure already. */
void standin_comm_set_state(ncclComm_t comm, ncclResult_t state);

/* Waits until it is aborted or revoked. */
void standin_comm_hang(ncclComm_t comm);

/* The communicator whose connections to other ranks it uses. */
ncclComm_t standin_comm_connections(ncclComm_t comm);

/* ---- nccl_meet.c -------------------------------------------------------- */

/* Opens comm->peers. Returns what the communicator's state becomes. */
ncclResult_t standin_meet(ncclComm_t comm);

/* Waits until all ranks are here; only while no work uses sockets. */
ncclResult_t standin_connect(ncclComm_t comm);

/* Tells the others that this rank leaves in order. */
void standin_leave(ncclComm_t comm);

/* Waits until those in other processes of the host have left, or ended. */
void standin_await_leaving(ncclComm_t comm);
void standin_close(ncclComm_t comm);

/* Whether the peer ended without leaving; only while no work uses sockets. */
bool standin_is_dead(ncclComm_t comm, int peer);

/* ---- nccl_calls.c ------------------------------------------------------- */

/* One call, as it is queued. */
struct op {
    enum call call;
    const void *in;
    void *out;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int peer; /* root */
};

/* Whether the thread is in a group, so that ncclGroupEnd() waits until the
 * blocking communicator's ranks have met. */
bool standin_group_keeps(ncclComm_t comm);
/* Waits for it; gives the communicator's state. */
ncclResult_t standin_comm_wait(ncclComm_t comm);

/* ---- nccl_work.c -------------------------------------------------------- */

enum fault { FAULT_NONE, FAULT_HANG, FAULT_ASYNC, FAULT_BLOCK };

/* The calls of one group on one communicator, and so what a stream gets. */
struct work {
    ncclComm_t comm;
    uint64_t ticket; /* 0: of a graph */
    enum fault fault;
    ncclResult_t async;
    int num_ops;
    struct op ops[];
};
void standin_run_work(void *arg);

/* ---- nccl_exchange.c ---------------------------------------------------- */

struct transfer {
    int peer;
    bool is_send;
    struct head head; /* the same on both sides */
    char *data;
    size_t bytes;

    /* The exchange's own. */
    struct head seen;
    size_t done; /* of head and data */
    struct transfer *next;
};

/* All of them at once, in order between two ranks. Returns false where the
 * communicator was aborted. */
bool standin_exchange(ncclComm_t comm, struct transfer *transfers, int count);

/* ---- nccl_arithmetic.c -------------------------------------------------- */

size_t standin_type_size(ncclDataType_t type);

/* to = to op from, each rounded to the type, as a GPU does. */
void standin_reduce(ncclDataType_t type, ncclRedOp_t op, void *to,
                    const void *from, size_t count);

/* An average's terms before, and its sum after: of floating types each term is
 * multiplied by 1 / ranks, of integers the sum is divided. */
void standin_before_sum(ncclDataType_t type, ncclRedOp_t op, int ranks,
                        void *data, size_t count);
void standin_after_sum(ncclDataType_t type, ncclRedOp_t op, int ranks,
                       void *data, size_t count);

#endif
