/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_client.c - what is said to one process, and of it. */
#include "runtime/wireup/server/pmi_client.h"
#include "base/text.h"
#include "runtime/wireup/server/log.h"

#include <stdlib.h>
#include <sys/socket.h>

bool pmi_client_send(const struct pmi_client *client, const void *data,
                     size_t size)
{
    return send(client->fd, data, size, MSG_NOSIGNAL) == (ssize_t)size;
}

void pmi_client_name(const struct pmi_client *client, char *text, size_t size)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out)
        liveness_print_process(out, client->host->serving->liveness,
                               client->process);
    char *who = jd__text_end(&written);
    snprintf(text, size, "%s", who ? who : "a process");
    free(who);
}

void pmi_client_refuse(const struct pmi_client *client, int version,
                       const char *why)
{
    char who[64];
    pmi_client_name(client, who, sizeof who);
    log_say(JD_LOG_ERROR,
            "%s spoke PMI-%d that cannot be read: %s; it is sent away: see "
            "whether its MPI speaks PMI, or choose the other version (MPICH: "
            "MPIR_CVAR_PMI_VERSION=%d, Intel MPI: I_MPI_PMI=pmi%d)",
            who, version, why, 3 - version, 3 - version);
}

void pmi_client_abort(const struct pmi_client *client, const char *how)
{
    char who[64];
    pmi_client_name(client, who, sizeof who);
    log_say(JD_LOG_ERROR, "%s called PMI_Abort %s", who, how);
    liveness_end(client->host->serving->liveness, LIVENESS_FAILED);
}
