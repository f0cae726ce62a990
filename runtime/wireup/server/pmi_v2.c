/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_v2.c - frames of PMI-2, and their answers. */
#include "runtime/wireup/server/pmi_v2.h"
#include "runtime/wireup/server/pmi_barrier.h"
#include "runtime/wireup/server/pmi_v2_node.h"
#include "runtime/wireup/server/pmi_v2_wire.h"

#include <stdio.h>
#include <string.h>

/* Its clients' own limit, with the NUL; they cut what is longer. */
enum { VALUE_MOST = 1024 };

struct command {
    const char *name;
    bool (*serve)(struct pmi_client *client, const struct pmi_v2_asker *asker,
                  const struct pmi_v2_request *request);
};

/* ---- beginning and end -------------------------------------------------- */

static bool serve_fullinit(struct pmi_client *client,
                           const struct pmi_v2_asker *asker,
                           const struct pmi_v2_request *request)
{
    char told[128];
    (void)request;
    client->stage = PMI_V2_FULL;
    snprintf(told, sizeof told,
             "pmi-version=2;pmi-subversion=0;rank=%u;size=%u;appnum=0;"
             "debugged=FALSE;pmiverbose=FALSE;",
             (unsigned)client->process,
             (unsigned)client->host->serving->plan->count);
    return pmi_v2_reply_done(asker, told);
}

static bool serve_finalize(struct pmi_client *client,
                           const struct pmi_v2_asker *asker,
                           const struct pmi_v2_request *request)
{
    (void)request;
    client->stage = PMI_V2_FINALIZED;
    liveness_note_finalized(client->host->serving->liveness, client->process);
    return pmi_v2_reply_done(asker, "");
}

/* There is no answer to it. */
static bool serve_abort(struct pmi_client *client,
                        const struct pmi_v2_asker *asker,
                        const struct pmi_v2_request *request)
{
    char how[200];
    (void)asker;
    int length = (int)strcspn(request->message, "\n");
    if (strcmp(request->world, "FALSE") == 0)
        return true;
    snprintf(how, sizeof how, "(\"%.*s\")", length < 150 ? length : 150,
             request->message);
    pmi_client_abort(client, how);
    return true;
}

static bool serve_job(struct pmi_client *client,
                      const struct pmi_v2_asker *asker,
                      const struct pmi_v2_request *request)
{
    (void)client, (void)request;
    return pmi_v2_reply_done(asker, "jobid=" PMI_KVS_NAME ";");
}

/* ---- what is put and got ------------------------------------------------ */

/* 0 where both are as they may be. */
static enum pmi_v2_fault check_pair(const struct pmi_v2_request *request)
{
    if (!request->key[0] || strpbrk(request->key, "= \n"))
        return PMI_V2_FAULT_KEY;
    if (strlen(request->key) >= PMI_KEY_MOST)
        return PMI_V2_FAULT_KEY_LENGTH;
    if (strchr(request->value, '\n'))
        return PMI_V2_FAULT_VALUE;
    return strlen(request->value) < VALUE_MOST ? 0 : PMI_V2_FAULT_VALUE_LENGTH;
}

static bool answer_put(const struct pmi_v2_asker *asker,
                       enum pmi_v2_fault fault, bool is_put)
{
    if (fault)
        return pmi_v2_reply_fault(
            asker, fault,
            "a key has 1 to 63 bytes without '=', blank and newline, a value "
            "at most 1023 without newline");
    return is_put ? pmi_v2_reply_done(asker, "")
                  : pmi_v2_reply_fault(asker, PMI_V2_FAULT_OTHER,
                                       "there is no room for it");
}

static bool serve_put(struct pmi_client *client,
                      const struct pmi_v2_asker *asker,
                      const struct pmi_v2_request *request)
{
    struct pmi_host *host = client->host;
    const char *key = request->key, *value = request->value;
    size_t bytes = 0;
    enum pmi_v2_fault fault = check_pair(request);
    bool is_put = !fault &&
                  pmi_client_may_put(client, &host->kvs, key, value, &bytes) &&
                  pmi_kvs_put(&host->kvs, key, value);
    if (is_put)
        host->put_bytes = bytes;
    return answer_put(asker, fault, is_put);
}

static bool serve_get(struct pmi_client *client,
                      const struct pmi_v2_asker *asker,
                      const struct pmi_v2_request *request)
{
    if (request->job[0] && strcmp(request->job, PMI_KVS_NAME) != 0)
        return pmi_v2_reply_fault(asker, PMI_V2_FAULT_OTHER,
                                  "jd serves this job alone, " PMI_KVS_NAME);
    return pmi_v2_reply_found(asker,
                              pmi_kvs_get(&client->host->kvs, request->key));
}

static bool serve_fence(struct pmi_client *client,
                        const struct pmi_v2_asker *asker,
                        const struct pmi_v2_request *request)
{
    if (client->is_waiting)
        return pmi_v2_reply_fault(asker, PMI_V2_FAULT_OTHER,
                                  "this process is in a fence already");
    snprintf(client->fence_thread, sizeof client->fence_thread, "%s",
             request->thread);
    pmi_barrier_enter(client);
    return true;
}

static bool release_client(struct pmi_client *client)
{
    const struct pmi_v2_asker asker = { client, "kvs-fence",
                                        client->fence_thread };
    return pmi_v2_reply_done(&asker, "");
}

/* ---- attributes of the job and of the host ------------------------------ */

/* A mapping that its clients would cut is none: MPI finds out by itself. */
static const char *find_mapping(const struct pmi_host *host)
{
    const char *mapping = pmi_kvs_get(&host->kvs, "PMI_process_mapping");
    return mapping && strlen(mapping) < VALUE_MOST ? mapping : NULL;
}

static bool serve_job_attribute(struct pmi_client *client,
                                const struct pmi_v2_asker *asker,
                                const struct pmi_v2_request *request)
{
    char count[16];
    if (strcmp(request->key, "PMI_process_mapping") == 0)
        return pmi_v2_reply_found(asker, find_mapping(client->host));
    if (strcmp(request->key, "hasNameServ") == 0)
        return pmi_v2_reply_found(asker, "FALSE");
    if (strcmp(request->key, "universeSize") != 0)
        return pmi_v2_reply_found(asker, NULL);
    snprintf(count, sizeof count, "%u",
             (unsigned)client->host->serving->plan->count);
    return pmi_v2_reply_found(asker, count);
}

static bool serve_node_put(struct pmi_client *client,
                           const struct pmi_v2_asker *asker,
                           const struct pmi_v2_request *request)
{
    struct pmi_host *host = client->host;
    const char *key = request->key, *value = request->value;
    size_t bytes = 0;
    enum pmi_v2_fault fault = check_pair(request);
    bool is_put = !fault &&
                  pmi_client_may_put(client, &host->node, key, value, &bytes) &&
                  pmi_v2_node_put(host, key, value);
    if (is_put)
        host->put_bytes = bytes;
    return answer_put(asker, fault, is_put);
}

static bool serve_node_get(struct pmi_client *client,
                           const struct pmi_v2_asker *asker,
                           const struct pmi_v2_request *request)
{
    const char *value = pmi_kvs_get(&client->host->node, request->key);
    if (value || strcmp(request->wait, "TRUE") != 0)
        return pmi_v2_reply_found(asker, value);
    enum pmi_v2_fault fault = check_pair(request);
    if (fault || !pmi_v2_node_await(client->host, asker, request->key))
        return answer_put(asker, fault, false);
    return true;
}

/* ---- requests ----------------------------------------------------------- */

static const struct command commands[] = {
    { "fullinit", serve_fullinit },
    { "finalize", serve_finalize },
    { "abort", serve_abort },
    { "job-getid", serve_job },
    { "kvs-put", serve_put },
    { "kvs-get", serve_get },
    { "kvs-fence", serve_fence },
    { "info-getjobattr", serve_job_attribute },
    { "info-putnodeattr", serve_node_put },
    { "info-getnodeattr", serve_node_get },
};

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

/* NULL: it may come now. */
static const char *check_order(const struct pmi_client *client,
                               const struct command *command)
{
    bool is_first = command->serve == serve_fullinit;
    if (command->serve == serve_abort)
        return NULL;
    if (client->stage == PMI_V2_BEGUN)
        return is_first ? NULL : "fullinit comes first";
    if (client->stage == PMI_V2_FINALIZED)
        return "this process has finalized PMI";
    return is_first ? "fullinit has been" : NULL;
}

static bool serve_request(struct pmi_client *client,
                          const struct pmi_v2_request *request)
{
    const struct pmi_v2_asker asker = { client, request->name,
                                        request->thread };
    const struct command *command = find_command(request->name);
    if (!command) {
        pmi_client_note(client, "asks by PMI-2 for %.40s, which is not served",
                        request->name);
        return pmi_v2_reply_fault(&asker, PMI_V2_FAULT_OTHER,
                                  "jd does not serve it");
    }
    const char *why = check_order(client, command);
    if (why)
        return pmi_v2_reply_fault(&asker, PMI_V2_FAULT_OTHER, why);
    return command->serve(client, &asker, request);
}

/* ---- frames ------------------------------------------------------------- */

static bool serve_text(struct pmi_client *client, char *text, size_t length)
{
    struct pmi_v2_request request;
    const char *fault = pmi_v2_wire_read(text, length, &request);
    if (!fault && strlen(request.thread) >= sizeof client->fence_thread)
        fault = "the name of a thread is too long";
    if (!fault)
        return serve_request(client, &request);
    pmi_client_refuse(client, 2, fault);
    return false;
}

/* The request points into the input, which stays as it is until then. */
static enum pmi_step serve_next(struct pmi_client *client)
{
    struct jd_bytes *input = &client->input;
    char why[PMI_V2_WHY];
    char *begin = (char *)input->data + input->begin;
    size_t length;
    switch (pmi_v2_wire_cut(begin, jd__bytes_size(input), &length, why)) {
    case PMI_V2_PARTIAL:
        return PMI_STEP_PARTIAL;
    case PMI_V2_BROKEN:
        pmi_client_refuse(client, 2, why);
        return PMI_STEP_GONE;
    default:
        break;
    }
    bool is_served = serve_text(client, begin + PMI_V2_HEADER, length);
    jd__wire_bytes_consume(input, PMI_V2_HEADER + length);
    return is_served ? PMI_STEP_SERVED : PMI_STEP_GONE;
}

const struct pmi_protocol pmi_v2_protocol = { serve_next, release_client };
