/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_client.h - one process's connection by PMI, and what those of the host
 * share. Which version's protocol a client speaks, its first line says.
 *
 *     if (!pmi_client_send(client, text, length)) ... it is of no use any more
 *     pmi_client_say(client, "asks for version %s", version);
 *     pmi_client_abort(client, "with code 7");
 *
 * Threads: the loop's own.
 */
#ifndef RUNTIME_WIREUP_SERVER_PMI_CLIENT_H
#define RUNTIME_WIREUP_SERVER_PMI_CLIENT_H

#include "runtime/wireup/server/pmi_kvs.h"
#include "runtime/wireup/server/serving.h"

#define PMI_KVS_NAME "jd" /* of the job, to MPI */

struct pmi_client;

enum pmi_step {
    PMI_STEP_SERVED,
    PMI_STEP_PARTIAL, /* the next request is not all there */
    PMI_STEP_GONE,    /* the client is of no use any more */
};

struct pmi_protocol {
    /* The next request of the client's input. */
    enum pmi_step (*serve)(struct pmi_client *client);
    /* Answers who has waited in the barrier; false: it is of no use. */
    bool (*release)(struct pmi_client *client);
};

/* Whether it is there or not. */
struct pmi_process {
    struct pmi_host *host;
    uint32_t process;
    bool has_left;      /* since one came last; it is none of num_gone yet */
    unsigned num_times; /* until it is one that have not ended */
};

struct pmi_host {
    const struct serving *serving;
    struct pmi_kvs kvs; /* of the job */
    struct pmi_client *clients;
    size_t num_waiting; /* in the barrier */
    size_t num_gone;    /* for some seconds; they come to no barrier */
    struct pmi_process *processes; /* of the host, as the plan has them */
    bool is_exchanging; /* with other hosts */
    bool is_crowded;    /* by strangers, which has been said */
    uint64_t barriers;  /* that were */
    size_t put_bytes;   /* of entries that its processes have put */
    /* By PMI-2: */
    struct pmi_kvs node; /* of the host alone */
    struct pmi_v2_wait *waits;
};

enum pmi_v2_stage { PMI_V2_BEGUN, PMI_V2_FULL, PMI_V2_FINALIZED };

struct pmi_client {
    struct pmi_client *next;
    struct pmi_host *host;
    int fd;
    struct event *event;
    bool is_known, is_waiting, has_aborted;
    uint32_t process;
    unsigned num_said; /* errors, of it */
    struct jd_bytes input;
    const struct pmi_protocol *protocol;
    /* By PMI-2: */
    enum pmi_v2_stage stage;
    char fence_thread[PMI_KEY_MOST]; /* whose fence is_waiting is */
};

/* What a host's processes may put, for each of them, and what each entry costs
 * of it beside its bytes; how many errors of one client are printed, but for
 * its first PMI_Abort and the one that it is sent away with; and how many
 * connections that have not said whose they are may be there beside one for
 * each process. */
enum {
    PMI_PUT_MOST = 1 << 20,
    PMI_ENTRY_COST = 128,
    PMI_SAID_MOST = 8,
    PMI_SPARE_STRANGERS = 64,
};

/* A client waits for each answer before that thread asks again: what the
 * kernel does not take at once is no answer that anybody reads. */
bool pmi_client_send(const struct pmi_client *client, const void *data,
                     size_t size);

/* An error, behind its name; those beyond PMI_SAID_MOST are not printed. What
 * a terminal would obey is a '?', as it may be the client's. */
__attribute__((format(printf, 2, 3))) void
pmi_client_say(struct pmi_client *client, const char *format, ...);

/* The same for debugging, and all of them. */
__attribute__((format(printf, 2, 3))) void
pmi_client_note(const struct pmi_client *client, const char *format, ...);

/* Whether it may be put there; what is its host's put_bytes once it is. False
 * where its host would have put too much, which is said. */
bool pmi_client_may_put(struct pmi_client *client, const struct pmi_kvs *kvs,
                        const char *key, const char *value, size_t *ret_bytes);

/* What it has sent cannot be read, for this reason; it is to go. */
void pmi_client_refuse(const struct pmi_client *client, int version,
                       const char *why);

/* The caller ends by itself; the others of the job have a moment. How it called
 * PMI_Abort first is said, whatever was before. */
void pmi_client_abort(struct pmi_client *client, const char *how);

#endif
