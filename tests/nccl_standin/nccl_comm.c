/* SPDX-License-Identifier: BSD-3-Clause */
/* nccl_comm.c - a communicator's life, from its ranks' meeting to its end. */
#include "nccl_private.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* None is ever freed: a graph, or a caller, may name one that is gone. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ncclComm *all_comms;

static bool is_known(const struct ncclComm *comm)
{
    pthread_mutex_lock(&list_lock);
    const struct ncclComm *at = all_comms;
    while (at && at != comm)
        at = at->next;
    pthread_mutex_unlock(&list_lock);
    return at != NULL;
}

void standin_comm_set_state(ncclComm_t comm, ncclResult_t state)
{
    pthread_mutex_lock(&comm->lock);
    if (comm->state == ncclSuccess || comm->state == ncclInProgress)
        comm->state = state;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

static ncclResult_t check_alive(ncclComm_t comm, const char *call)
{
    if (comm && is_known(comm)) {
        pthread_mutex_lock(&comm->lock);
        bool is_gone = comm->is_gone;
        pthread_mutex_unlock(&comm->lock);
        if (!is_gone)
            return ncclSuccess;
    }
    return standin_explain(ncclInvalidArgument,
                           "%s: %p is no communicator, or was destroyed", call,
                           (void *)comm);
}

ncclResult_t standin_comm_ready(ncclComm_t comm, const char *call)
{
    ncclResult_t result = check_alive(comm, call);
    if (result != ncclSuccess)
        return result;
    pthread_mutex_lock(&comm->lock);
    result = comm->state;
    bool is_finalized = comm->is_finalized, is_revoked = comm->is_revoked;
    pthread_mutex_unlock(&comm->lock);
    if (is_revoked)
        return standin_explain(ncclInvalidUsage,
                               "%s: the communicator is revoked", call);
    if (result == ncclInProgress)
        return standin_explain(ncclInvalidArgument,
                               "%s: the communicator is used before the "
                               "previous operation returned ncclSuccess",
                               call);
    if (result == ncclSuccess && is_finalized)
        return standin_explain(ncclInvalidUsage,
                               "%s: the communicator is finalized", call);
    return result;
}

/* ---- helpers ------------------------------------------------------------ */

struct help {
    ncclComm_t comm;
    void (*run)(void *);
    void *arg;
};

static void *be_helper(void *arg)
{
    struct help help = *(struct help *)arg;
    free(arg);
    help.run(help.arg);
    pthread_mutex_lock(&help.comm->lock);
    help.comm->helpers--;
    pthread_cond_broadcast(&help.comm->changed);
    pthread_mutex_unlock(&help.comm->lock);
    return NULL;
}

ncclResult_t standin_comm_help(ncclComm_t comm, void (*run)(void *), void *arg)
{
    pthread_t thread;
    struct help *help = malloc(sizeof *help);
    if (!help)
        return standin_explain(ncclSystemError, "no memory");
    *help = (struct help){ comm, run, arg };
    pthread_mutex_lock(&comm->lock);
    comm->helpers++;
    pthread_mutex_unlock(&comm->lock);
    if (pthread_create(&thread, NULL, be_helper, help) == 0) {
        pthread_detach(thread);
        return ncclSuccess;
    }
    free(help);
    pthread_mutex_lock(&comm->lock);
    comm->helpers--;
    pthread_mutex_unlock(&comm->lock);
    return standin_explain(ncclSystemError, "no thread");
}

void standin_comm_hang(ncclComm_t comm)
{
    struct pollfd waker = { .fd = comm->waker, .events = POLLIN };
    pthread_mutex_lock(&comm->lock);
    comm->is_hanging = true;
    pthread_mutex_unlock(&comm->lock);
    while (poll(&waker, 1, -1) <= 0)
        ;
}

/* ---- making ------------------------------------------------------------- */

static void meet(void *arg)
{
    ncclComm_t comm = arg;
    standin_comm_set_state(comm, standin_meet(comm));
}

/* As the real one's: minCTAs without maxCTAs is refused. */
static ncclResult_t check_options(const ncclConfig_t *config)
{
    const int unset = NCCL_CONFIG_UNDEF_INT;
    if ((config->minCTAs != unset && config->minCTAs <= 0) ||
        (config->maxCTAs != unset && config->maxCTAs <= 0) ||
        config->minCTAs > config->maxCTAs)
        return standin_explain(ncclInvalidArgument,
                               "ncclConfig_t: minCTAs is %d and maxCTAs %d",
                               config->minCTAs, config->maxCTAs);
    if (config->CTAPolicy != unset &&
        (config->CTAPolicy < NCCL_CTA_POLICY_DEFAULT ||
         config->CTAPolicy > NCCL_CTA_POLICY_ZERO))
        return standin_explain(ncclInvalidArgument,
                               "ncclConfig_t: CTAPolicy is %d",
                               config->CTAPolicy);
    return ncclSuccess;
}

static ncclResult_t check_config(const ncclConfig_t *config)
{
    ncclConfig_t wanted = NCCL_CONFIG_INITIALIZER;
    if (!config)
        return ncclSuccess;
    if (config->magic != wanted.magic)
        return standin_explain(ncclInvalidArgument,
                               "the ncclConfig_t was not initialized by "
                               "NCCL_CONFIG_INITIALIZER");
    if (config->blocking != NCCL_CONFIG_UNDEF_INT && config->blocking != 0 &&
        config->blocking != 1)
        return standin_explain(ncclInvalidArgument,
                               "ncclConfig_t: blocking is %d",
                               config->blocking);
    return check_options(config);
}

static bool connects_at_once(void)
{
    const char *wanted = getenv("NCCL_RUNTIME_CONNECT");
    return wanted && strcmp(wanted, "0") == 0;
}

static ncclComm_t new_comm(int size, int rank, const char *id)
{
    struct ncclComm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return NULL;
    comm->peers = calloc((size_t)size, sizeof *comm->peers);
    comm->waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!comm->peers || comm->waker < 0) {
        free(comm->peers);
        free(comm);
        return NULL;
    }
    for (int i = 0; i < size; i++)
        comm->peers[i] = (struct peer){ .out = -1, .in = -1 };
    comm->size = size;
    comm->rank = rank;
    comm->is_connected = connects_at_once();
    memcpy(comm->id, id, sizeof comm->id);
    pthread_mutex_init(&comm->lock, NULL);
    pthread_cond_init(&comm->changed, NULL);
    return comm;
}

static ncclResult_t find_device(ncclComm_t comm)
{
    const char *host = getenv("NCCL_HOSTID");
    cudaError_t error = cudaGetDevice(&comm->device);
    if (error != cudaSuccess)
        return standin_explain(ncclUnhandledCudaError, "cudaGetDevice: %s",
                               cudaGetErrorString(error));
    standin_uuid(comm->device, comm->uuid);
    snprintf(comm->host, sizeof comm->host, "%s", host ? host : "");
    return ncclSuccess;
}

ncclResult_t standin_comm_wait(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    while (comm->state == ncclInProgress)
        pthread_cond_wait(&comm->changed, &comm->lock);
    ncclResult_t result = comm->state;
    pthread_mutex_unlock(&comm->lock);
    return result;
}

static void say_option(FILE *out, const char *name, int value)
{
    if (value != NCCL_CONFIG_UNDEF_INT)
        fprintf(out, ", %s %d", name, value);
}

/* As the real one says with NCCL_DEBUG=INFO, and what of its options is set;
 * the line is written as one. */
static void say_init(ncclComm_t comm, const ncclConfig_t *config)
{
    static const ncclConfig_t unset = NCCL_CONFIG_INITIALIZER;
    const char *level = getenv("NCCL_DEBUG");
    char line[512] = "";
    FILE *out = level && strcmp(level, "INFO") == 0
                    ? fmemopen(line, sizeof line, "w")
                    : NULL;
    if (!out)
        return;
    if (!config)
        config = &unset;
    fprintf(out, "stand-in NCCL: INFO comm %s rank %d nranks %d%s",
            config->commName ? config->commName : "without name", comm->rank,
            comm->size, comm->parent ? ", split off" : "");
    say_option(out, "minCTAs", config->minCTAs);
    say_option(out, "maxCTAs", config->maxCTAs);
    say_option(out, "CTAPolicy", config->CTAPolicy);
    say_option(out, "trafficClass", config->trafficClass);
    fclose(out);
    fprintf(stderr, "%s\n", line);
    if (comm->size > 1)
        fprintf(stderr,
                "stand-in NCCL: INFO Channel 00/0 : %d[0] -> %d[0] [send] via "
                "STANDIN/socket/0\n",
                comm->rank, (comm->rank + 1) % comm->size);
}

static void list_comm(ncclComm_t comm)
{
    comm->state = ncclInProgress;
    pthread_mutex_lock(&list_lock);
    comm->next = all_comms;
    all_comms = comm;
    pthread_mutex_unlock(&list_lock);
}

static ncclResult_t start_meeting(ncclComm_t comm)
{
    list_comm(comm);
    ncclResult_t result = standin_comm_help(comm, meet, comm);
    if (result != ncclSuccess)
        standin_comm_set_state(comm, result);
    else if (!comm->is_blocking)
        result = ncclInProgress;
    else if (!standin_group_keeps(comm))
        result = standin_comm_wait(comm);
    return result;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks,
                                    ncclUniqueId commId, int rank,
                                    ncclConfig_t *config)
{
    ncclResult_t result = standin_wanted_failure("ncclCommInitRankConfig");
    if (result == ncclSuccess)
        result = check_config(config);
    if (result != ncclSuccess)
        return result;
    if (!comm || nranks < 1 || rank < 0 || rank >= nranks ||
        strncmp(commId.internal, "nccl-", 5) != 0)
        return standin_explain(ncclInvalidArgument,
                               "ncclCommInitRankConfig: rank %d of %d, id %s",
                               rank, nranks,
                               strncmp(commId.internal, "nccl-", 5) == 0
                                   ? "good"
                                   : "not of ncclGetUniqueId");
    ncclComm_t made = new_comm(nranks, rank, commId.internal);
    if (!made)
        return standin_explain(ncclSystemError, "no memory or no eventfd");
    result = find_device(made);
    if (result != ncclSuccess)
        return result;
    made->is_blocking = !config || config->blocking != 0;
    made->shares = config && config->splitShare == 1;
    say_init(made, config);
    *comm = made;
    return start_meeting(made);
}

/* The first id is enough to meet by. */
ncclResult_t ncclCommInitRankScalable(ncclComm_t *newcomm, int nranks,
                                      int myrank, int nId,
                                      ncclUniqueId *commIds,
                                      ncclConfig_t *config)
{
    ncclResult_t wanted = standin_wanted_failure("ncclCommInitRankScalable");
    if (wanted != ncclSuccess)
        return wanted;
    if (!commIds || nId < 1 || nId > nranks)
        return standin_explain(ncclInvalidArgument,
                               "ncclCommInitRankScalable: %d ids of %d ranks",
                               nId, nranks);
    return ncclCommInitRankConfig(newcomm, nranks, commIds[0], myrank, config);
}

/* ---- splitting ---------------------------------------------------------- */

ncclComm_t standin_comm_connections(ncclComm_t comm)
{
    return comm->parent ? comm->parent : comm;
}

struct splitting {
    ncclComm_t made;
    ncclComm_t *ret_comm;
    ncclComm_t from;
};

static void split(void *arg)
{
    struct splitting splitting = *(struct splitting *)arg;
    free(arg);
    ncclResult_t result = standin_meet(splitting.made);
    standin_comm_set_state(splitting.made, result);
    if (result == ncclSuccess)
        *splitting.ret_comm = splitting.made;
    pthread_mutex_lock(&splitting.from->lock);
    if (splitting.from->state == ncclInProgress)
        splitting.from->state = result;
    pthread_cond_broadcast(&splitting.from->changed);
    pthread_mutex_unlock(&splitting.from->lock);
}

/* With an id that follows from that of the first and how often it was split. */
static ncclComm_t new_child(ncclComm_t comm, const ncclConfig_t *config)
{
    char id[NCCL_UNIQUE_ID_BYTES] = { 0 };
    snprintf(id, sizeof id, "%.37s.%d", comm->id, comm->num_split++ % 100);
    ncclComm_t made = new_comm(comm->size, comm->rank, id);
    if (!made)
        return NULL;
    made->device = comm->device;
    memcpy(made->uuid, comm->uuid, sizeof made->uuid);
    memcpy(made->host, comm->host, sizeof made->host);
    made->is_blocking = !config || config->blocking == NCCL_CONFIG_UNDEF_INT
                            ? comm->is_blocking
                            : config->blocking != 0;
    made->parent = comm->shares ? comm : NULL;
    say_init(made, config);
    return made;
}

static ncclResult_t start_split(ncclComm_t comm, ncclComm_t made,
                                ncclComm_t *ret_comm)
{
    struct splitting *splitting = malloc(sizeof *splitting);
    if (!splitting)
        return standin_explain(ncclSystemError, "no memory");
    *splitting = (struct splitting){ made, ret_comm, comm };
    list_comm(made);
    pthread_mutex_lock(&comm->lock);
    comm->state = ncclInProgress;
    comm->child = made->parent ? made : NULL;
    pthread_mutex_unlock(&comm->lock);
    ncclResult_t result = standin_comm_help(comm, split, splitting);
    if (result != ncclSuccess)
        standin_comm_set_state(comm, result);
    return result != ncclSuccess ? result : ncclInProgress;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key,
                           ncclComm_t *newcomm, ncclConfig_t *config)
{
    ncclResult_t result = standin_wanted_failure("ncclCommSplit");
    if (result == ncclSuccess)
        result = standin_comm_ready(comm, "ncclCommSplit");
    if (result == ncclSuccess)
        result = check_config(config);
    if (result != ncclSuccess)
        return result;
    if (!newcomm || color != 0 || key != comm->rank)
        return standin_explain(ncclInvalidArgument,
                               "ncclCommSplit: the stand-in takes color 0 and "
                               "the rank as key, not %d and %d",
                               color, key);
    *newcomm = NULL;
    ncclComm_t made = new_child(comm, config);
    if (!made)
        return standin_explain(ncclSystemError, "no memory or no eventfd");
    result = start_split(comm, made, newcomm);
    return comm->is_blocking && result == ncclInProgress
               ? standin_comm_wait(comm)
               : result;
}

/* ---- state -------------------------------------------------------------- */

/* Is there a rank of another host that died, where no work looks at the
 * sockets? */
static void look_at_peers(ncclComm_t comm)
{
    if (comm->state != ncclSuccess || (comm->is_busy && !comm->is_hanging))
        return;
    for (int i = 0; i < comm->size; i++)
        if (comm->peers[i].is_far && standin_is_dead(comm, i))
            comm->state = standin_explain(
                ncclRemoteError, "rank %d: rank %d has ended", comm->rank, i);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError)
{
    ncclResult_t result = standin_wanted_failure("ncclCommGetAsyncError");
    if (result == ncclSuccess)
        result = check_alive(comm, "ncclCommGetAsyncError");
    if (result != ncclSuccess)
        return result;
    if (!asyncError)
        return standin_explain(ncclInvalidArgument,
                               "ncclCommGetAsyncError: asyncError is NULL");
    pthread_mutex_lock(&comm->lock);
    look_at_peers(comm);
    *asyncError = comm->state;
    if (comm->state == ncclSuccess && comm->is_finalized &&
        comm->served < comm->issued)
        *asyncError = ncclInProgress;
    pthread_mutex_unlock(&comm->lock);
    return ncclSuccess;
}

/* ---- the end ------------------------------------------------------------ */

/* What was issued is done; only where nothing hangs. False where it was
 * revoked. */
static bool wait_until_done(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    while (!comm->is_aborted && !comm->is_revoked &&
           (comm->served < comm->issued || comm->is_busy || comm->helpers > 0))
        pthread_cond_wait(&comm->changed, &comm->lock);
    bool is_revoked = comm->is_revoked;
    pthread_mutex_unlock(&comm->lock);
    return !is_revoked;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    ncclResult_t result = standin_wanted_failure("ncclCommFinalize");
    if (result == ncclSuccess)
        result = standin_comm_ready(comm, "ncclCommFinalize");
    if (result != ncclSuccess)
        return result;
    pthread_mutex_lock(&comm->lock);
    comm->is_finalized = true;
    pthread_mutex_unlock(&comm->lock);
    if (!comm->is_blocking)
        return ncclInProgress;
    return wait_until_done(comm) ? ncclSuccess : ncclInternalError;
}

/* Nothing runs any more. */
static void free_parts(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    comm->is_gone = true;
    while (comm->registrations) {
        struct registration *next = comm->registrations->next;
        free(comm->registrations);
        comm->registrations = next;
    }
    pthread_mutex_unlock(&comm->lock);
    standin_close(comm);
    free(comm->peers);
    comm->peers = NULL;
    close(comm->waker);
}

/* As the real one's, it returns when all ranks of the host have come to it:
 * they serve each other's connections until then. */
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    ncclResult_t result = standin_wanted_failure("ncclCommDestroy");
    if (result != ncclSuccess || !comm)
        return result;
    result = check_alive(comm, "ncclCommDestroy");
    if (result != ncclSuccess)
        return result;
    pthread_mutex_lock(&comm->lock);
    result = comm->state;
    pthread_mutex_unlock(&comm->lock);
    if (result != ncclSuccess)
        return standin_explain(ncclInvalidArgument,
                               "ncclCommDestroy: the communicator's state is "
                               "%s; ncclCommAbort ends it",
                               ncclGetErrorString(result));
    wait_until_done(comm);
    standin_leave(comm);
    standin_await_leaving(comm);
    free_parts(comm);
    return ncclSuccess;
}

/* STANDIN_FAIL wants the real one's worst. */
static void hang_for_good(void)
{
    for (;;)
        poll(NULL, 0, -1);
}

/* Locked: what runs ends, and what waits. */
static void wake(ncclComm_t comm)
{
    uint64_t one = 1;
    if (!comm->is_gone && write(comm->waker, &one, sizeof one) < 0)
        perror("stand-in NCCL: eventfd");
    pthread_cond_broadcast(&comm->changed);
}

/* A child that shares with it ends what it does, and is aborted by its owner.
 */
static void revoke_child(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    ncclComm_t child = comm->child;
    pthread_mutex_unlock(&comm->lock);
    if (!child)
        return;
    pthread_mutex_lock(&child->lock);
    child->is_revoked = true;
    wake(child);
    pthread_mutex_unlock(&child->lock);
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags)
{
    ncclResult_t result = standin_wanted_failure("ncclCommRevoke");
    if (result == ncclSuccess)
        result = check_alive(comm, "ncclCommRevoke");
    if (result != ncclSuccess)
        return result;
    if (revokeFlags != NCCL_REVOKE_DEFAULT)
        return standin_explain(ncclInvalidArgument,
                               "ncclCommRevoke: flags are %d", revokeFlags);
    pthread_mutex_lock(&comm->lock);
    comm->is_revoked = true;
    wake(comm);
    while (comm->is_blocking && (comm->is_busy || comm->helpers > 0))
        pthread_cond_wait(&comm->changed, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
    return comm->is_blocking ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (standin_fails("ABORT") != 0)
        hang_for_good();
    ncclResult_t result = standin_wanted_failure("ncclCommAbort");
    if (result != ncclSuccess || !comm)
        return result;
    result = check_alive(comm, "ncclCommAbort");
    if (result != ncclSuccess)
        return result;
    revoke_child(comm);
    pthread_mutex_lock(&comm->lock);
    bool is_first = !comm->is_aborted;
    comm->is_aborted = true;
    wake(comm);
    while (comm->is_busy || comm->helpers > 0)
        pthread_cond_wait(&comm->changed, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
    if (is_first)
        free_parts(comm);
    return ncclSuccess;
}

/* ---- registration ------------------------------------------------------- */

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buff, size_t size,
                              void **handle)
{
    struct cudaPointerAttributes attributes;
    ncclResult_t result = standin_wanted_failure("ncclCommRegister");
    if (result == ncclSuccess)
        result = standin_comm_ready(comm, "ncclCommRegister");
    if (result != ncclSuccess)
        return result;
    if (!handle || size == 0 ||
        cudaPointerGetAttributes(&attributes, buff) != cudaSuccess ||
        attributes.type == cudaMemoryTypeUnregistered)
        return standin_explain(ncclInvalidArgument,
                               "ncclCommRegister: %zu bytes at %p are not "
                               "device memory",
                               size, buff);
    struct registration *made = malloc(sizeof *made);
    if (!made)
        return standin_explain(ncclSystemError, "no memory");
    pthread_mutex_lock(&comm->lock);
    made->next = comm->registrations;
    comm->registrations = made;
    pthread_mutex_unlock(&comm->lock);
    *handle = made;
    return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    ncclResult_t result = standin_wanted_failure("ncclCommDeregister");
    if (result == ncclSuccess)
        result = check_alive(comm, "ncclCommDeregister");
    if (result != ncclSuccess)
        return result;
    pthread_mutex_lock(&comm->lock);
    struct registration **at = &comm->registrations;
    while (*at && *at != handle)
        at = &(*at)->next;
    if (*at)
        *at = (*at)->next;
    else
        handle = NULL;
    pthread_mutex_unlock(&comm->lock);
    if (!handle)
        return standin_explain(ncclInvalidArgument,
                               "ncclCommDeregister: no such handle");
    free(handle);
    return ncclSuccess;
}
