/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_v1.c - lines of PMI-1, and their answers. */
#include "runtime/wireup/server/pmi_v1.h"
#include "runtime/wireup/server/pmi_barrier.h"
#include "runtime/wireup/server/pmi_v1_wire.h"
#include "runtime/wireup/server/pmi_v2.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool
answer_line(const struct pmi_client *client, const char *format, ...)
{
    char line[PMI_LINE_MOST];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return length > 0 && (size_t)length < sizeof line &&
           pmi_client_send(client, line, (size_t)length);
}

static bool release_client(struct pmi_client *client)
{
    return answer_line(client, "cmd=barrier_out rc=0\n");
}

/* ---- requests ----------------------------------------------------------- */

static void say_version(struct pmi_client *client, const char *version)
{
    pmi_client_say(client,
                   "asks for version \"%.20s\" of PMI; served are 1 and 2 "
                   "(MPICH: MPIR_CVAR_PMI_VERSION, Intel MPI: I_MPI_PMI)",
                   version);
}

static bool answer_init(struct pmi_client *client, const char *version)
{
    bool is_first = strcmp(version, "1") == 0;
    if (strcmp(version, "2") == 0) {
        client->protocol = &pmi_v2_protocol;
        return answer_line(client, "cmd=response_to_init pmi_version=2 "
                                   "pmi_subversion=0 rc=0\n");
    }
    if (!is_first)
        say_version(client, version);
    return answer_line(
        client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n",
        is_first ? 0 : -1);
}

static bool answer_put(struct pmi_client *client,
                       const struct pmi_request *request)
{
    struct pmi_host *host = client->host;
    const char *key = request->key, *value = request->value;
    size_t bytes = 0;
    bool fits = strlen(key) < PMI_KEY_MOST && strlen(value) < PMI_VALUE_MOST;
    if (fits && !pmi_client_may_put(client, &host->kvs, key, value, &bytes))
        return answer_line(client, "cmd=put_result rc=-1 msg=too_much\n");
    bool is_put = fits && pmi_kvs_put(&host->kvs, key, value);
    if (is_put)
        host->put_bytes = bytes;
    return answer_line(client, "cmd=put_result rc=%d msg=%s\n", is_put ? 0 : -1,
                       is_put ? "success" : "bad_key_or_value");
}

static bool answer_get(const struct pmi_client *client, const char *key)
{
    const char *value = pmi_kvs_get(&client->host->kvs, key);
    if (value)
        return answer_line(client, "cmd=get_result rc=0 msg=success value=%s\n",
                           value);
    return answer_line(client, "cmd=get_result rc=-1 msg=key_not_found "
                               "value=unknown\n");
}

static void end_job(struct pmi_client *client, const char *code)
{
    char how[40];
    snprintf(how, sizeof how, "with code %.20s", code);
    pmi_client_abort(client, how);
}

/* What asks for a number or a name. */
static bool answer_question(const struct pmi_client *client,
                            enum pmi_command command)
{
    switch (command) {
    case PMI_GET_MAXES:
        return answer_line(client,
                           "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d "
                           "vallen_max=%d\n",
                           PMI_NAME_MOST, PMI_KEY_MOST, PMI_VALUE_MOST);
    case PMI_GET_APPNUM:
        return answer_line(client, "cmd=appnum rc=0 appnum=0\n");
    case PMI_GET_UNIVERSE_SIZE:
        return answer_line(client, "cmd=universe_size rc=0 size=%u\n",
                           (unsigned)client->host->serving->plan->count);
    default:
        return answer_line(client,
                           "cmd=my_kvsname rc=0 kvsname=" PMI_KVS_NAME "\n");
    }
}

/* False where the client is of no use any more. */
static bool serve_request(struct pmi_client *client,
                          const struct pmi_request *request)
{
    switch (request->command) {
    case PMI_INIT:
        return answer_init(client, request->version);
    case PMI_PUT:
        return answer_put(client, request);
    case PMI_GET:
        return answer_get(client, request->key);
    case PMI_BARRIER_IN:
        pmi_barrier_enter(client);
        return true;
    case PMI_FINALIZE:
        liveness_note_finalized(client->host->serving->liveness,
                                client->process);
        return answer_line(client, "cmd=finalize_ack rc=0\n");
    case PMI_ABORT:
        end_job(client, request->code);
        return true;
    case PMI_REFUSED:
        return answer_line(client, "cmd=%.40s rc=-1 msg=not_served_by_jd\n",
                           request->name);
    case PMI_UNKNOWN:
        pmi_client_note(client, "asks by PMI for %.40s, which is not known",
                        request->name);
        return true;
    default:
        return answer_question(client, request->command);
    }
}

/* ---- lines -------------------------------------------------------------- */

/* The first line into a text of its own, without its newline; false where
 * there is none yet. */
static bool cut_line(struct jd_bytes *input, char line[PMI_LINE_MOST])
{
    const uint8_t *begin = input->data + input->begin;
    const uint8_t *end = jd__bytes_size(input)
                             ? memchr(begin, '\n', jd__bytes_size(input))
                             : NULL;
    if (!end || end - begin >= PMI_LINE_MOST)
        return false;
    memcpy(line, begin, (size_t)(end - begin));
    line[end - begin] = '\0';
    jd__wire_bytes_consume(input, (size_t)(end - begin) + 1);
    return true;
}

static enum pmi_step serve_next(struct pmi_client *client)
{
    char line[PMI_LINE_MOST];
    struct pmi_request request;
    if (cut_line(&client->input, line)) {
        pmi_v1_wire_read(line, &request);
        return serve_request(client, &request) ? PMI_STEP_SERVED
                                               : PMI_STEP_GONE;
    }
    if (jd__bytes_size(&client->input) < PMI_LINE_MOST)
        return PMI_STEP_PARTIAL;
    snprintf(line, sizeof line, "a line has more than %d bytes", PMI_LINE_MOST);
    pmi_client_refuse(client, 1, line);
    return PMI_STEP_GONE;
}

const struct pmi_protocol pmi_v1_protocol = { serve_next, release_client };
