/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_client.c - what is said to one process, and of it. */
#include "runtime/wireup/server/pmi_client.h"
#include "base/text.h"
#include "runtime/wireup/server/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void print_name(const struct pmi_client *client, char *text, size_t size)
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

/* ---- of it -------------------------------------------------------------- */

/* What it sent may be in it. */
__attribute__((format(printf, 3, 0))) static void
print_line(enum jd_log_level level, const struct pmi_client *client,
           const char *format, va_list args)
{
    char who[64], text[512];
    print_name(client, who, sizeof who);
    vsnprintf(text, sizeof text, format, args);
    jd__text_make_plain(text, false);
    log_say(level, "%s %s", who, text);
}

void pmi_client_note(const struct pmi_client *client, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(JD_LOG_DEBUG, client, format, args);
    va_end(args);
}

void pmi_client_say(struct pmi_client *client, const char *format, ...)
{
    va_list args;
    if (client->num_said >= PMI_SAID_MOST)
        return;
    client->num_said++;
    va_start(args, format);
    print_line(JD_LOG_ERROR, client, format, args);
    va_end(args);
}

/* Why it is sent away is always said, and why the job ends. */
__attribute__((format(printf, 2, 3))) static void
say_last(const struct pmi_client *client, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(JD_LOG_ERROR, client, format, args);
    va_end(args);
}

static size_t cost_of(const char *key, const char *value)
{
    return strlen(key) + strlen(value) + PMI_ENTRY_COST;
}

/* What would be there with it: what it replaces is not, and what goes to the
 * other hosts is there twice until the next barrier. */
static size_t bytes_with(const struct pmi_host *host, const struct pmi_kvs *kvs,
                         const char *key, const char *value)
{
    const char *old = pmi_kvs_get(kvs, key);
    size_t replaced = old ? cost_of(key, old) : 0;
    size_t rest = host->put_bytes > replaced ? host->put_bytes - replaced : 0;
    return rest + cost_of(key, value);
}

bool pmi_client_may_put(struct pmi_client *client, const struct pmi_kvs *kvs,
                        const char *key, const char *value, size_t *ret_bytes)
{
    const struct pmi_host *host = client->host;
    size_t most = host->serving->own->n_processes * PMI_PUT_MOST;
    *ret_bytes = bytes_with(host, kvs, key, value);
    if (*ret_bytes + jd__bytes_size(&host->kvs.fresh) <= most)
        return true;
    pmi_client_say(
        client,
        "puts \"%.63s\" by PMI, and the processes of this host may "
        "put %zu bytes, %d for each entry among them: it is not kept",
        key, most, PMI_ENTRY_COST);
    return false;
}

void pmi_client_refuse(const struct pmi_client *client, int version,
                       const char *why)
{
    say_last(client,
             "spoke PMI-%d that cannot be read: %s; it is sent away: see "
             "whether its MPI speaks PMI, or choose the other version "
             "(MPICH: MPIR_CVAR_PMI_VERSION=%d, Intel MPI: I_MPI_PMI=pmi%d)",
             version, why, 3 - version, 3 - version);
}

void pmi_client_abort(struct pmi_client *client, const char *how)
{
    if (!client->has_aborted)
        say_last(client, "called PMI_Abort %s", how);
    client->has_aborted = true;
    liveness_end(client->host->serving->liveness, LIVENESS_FAILED);
}

/* ---- to it -------------------------------------------------------------- */

bool pmi_client_send(const struct pmi_client *client, const void *data,
                     size_t size)
{
    ssize_t n = send(client->fd, data, size, MSG_NOSIGNAL);
    bool is_gone = n < 0 && errno != EAGAIN && errno != EWOULDBLOCK;
    if (n != (ssize_t)size && !is_gone)
        say_last(client, "does not read what it asks for by PMI; it is sent "
                         "away");
    return n == (ssize_t)size;
}
