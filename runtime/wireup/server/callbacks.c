/* SPDX-License-Identifier: BSD-3-Clause */
/* callbacks.c - the module of functions that libpmix calls. */
#include "runtime/wireup/server/callbacks.h"
#include "base/text.h"
#include "runtime/wireup/server/fence.h"
#include "runtime/wireup/server/log.h"
#include "runtime/wireup/server/modex.h"

#include <stdlib.h>

static const struct serving *serving; /* libpmix hands nothing back */

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object,
                                  pmix_op_cbfunc_t done, void *arg)
{
    (void)proc, (void)object, (void)done, (void)arg;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object,
                                  pmix_op_cbfunc_t done, void *arg)
{
    (void)object, (void)done, (void)arg;
    liveness_note_finalized(serving->liveness, proc->rank);
    return PMIX_OPERATION_SUCCEEDED;
}

/* The caller ends by itself when it is answered; the others have a moment. */
static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int code,
                              const char text[], pmix_proc_t procs[],
                              size_t num_procs, pmix_op_cbfunc_t done,
                              void *arg)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    (void)object, (void)procs, (void)num_procs, (void)done, (void)arg;
    if (out) {
        liveness_print_process(out, serving->liveness, proc->rank);
        fprintf(out, " called PMIx_Abort with code %d%s%s", code,
                text && *text ? ": " : "", text ? text : "");
    }
    char *said = jd__text_end(&written);
    if (said)
        jd__text_make_plain(said, false);
    log_say(JD_LOG_ERROR, "%s", said ? said : "a process called PMIx_Abort");
    free(said);
    liveness_end(serving->liveness, LIVENESS_FAILED);
    return PMIX_OPERATION_SUCCEEDED;
}

static int timeout_of(const pmix_info_t info[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_TIMEOUT) &&
            info[i].value.type == PMIX_INT && info[i].value.data.integer > 0)
            return info[i].value.data.integer;
    return -1;
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t num_procs,
                              const pmix_info_t info[], size_t num_info,
                              char *data, size_t size, pmix_modex_cbfunc_t done,
                              void *arg)
{
    return fence_begin(serving, procs, num_procs, timeout_of(info, num_info),
                       data, size, done, arg);
}

static pmix_status_t on_modex(const pmix_proc_t *proc, const pmix_info_t info[],
                              size_t num_info, pmix_modex_cbfunc_t done,
                              void *arg)
{
    return modex_ask(serving, proc, timeout_of(info, num_info), done, arg);
}

pmix_server_module_t *callbacks_module(const struct serving *of)
{
    static pmix_server_module_t module = {
        .client_connected = on_connected,
        .client_finalized = on_finalized,
        .abort = on_abort,
        .fence_nb = on_fence,
        .direct_modex = on_modex,
    };
    serving = of;
    return &module;
}
