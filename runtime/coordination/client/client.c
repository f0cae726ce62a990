/* SPDX-License-Identifier: BSD-3-Clause */
/* client.c - calls to the service, whichever it is. */
#include "runtime/coordination/client/client.h"
#include "base/forked.h"
#include "runtime/coordination/client/agent.h"
#include "runtime/coordination/client/local.h"

#include <math.h>
#include <unistd.h>

#define FOREVER 1e9 /* seconds; some thirty years */

static jd_status check_fork(const struct jd_client *client,
                            const char *operation)
{
    if (client->pid == getpid())
        return JD_OK;
    return jd__forked_fail(operation, client->pid);
}

jd_status jd__client_call(struct jd_client *client, struct jd_call *call)
{
    jd_status status = check_fork(client, call->operation);
    if (status != JD_OK)
        return status;
    if (isnan(call->timeout))
        return jd_fail(JD_INVALID_ARGUMENT, "%s: its timeout is not a number",
                       call->operation);
    if (call->timeout > FOREVER)
        call->timeout = -1;
    call->request.timeout_ms =
        call->timeout < 0 ? -1 : (int64_t)ceil(1000 * call->timeout);
    return client->local ? jd__local_call(client->local, call)
                         : jd__agent_call(client->agent, call);
}

bool jd__client_tell(struct jd_client *client, const Jd__Message *message)
{
    return client->agent && client->pid == getpid() &&
           jd__agent_tell(client->agent, message);
}

struct jd_loop *jd__client_loop(struct jd_client *client)
{
    return client->loop;
}

const struct jd_job_key *jd__client_key(const struct jd_client *client)
{
    return &client->key;
}

uint64_t jd__client_incarnation(const struct jd_client *client)
{
    return client->agent ? jd__agent_place(client->agent).incarnation : 0;
}

int jd__client_host_of(const struct jd_client *client, int process)
{
    const int *hosts = atomic_load(&client->hosts);
    return hosts ? hosts[process] : 0;
}
