/* SPDX-License-Identifier: BSD-3-Clause */
/* nccl_variables.c - NCCL's own variables. */
#include "runtime/process/nccl_variables.h"
#include "base/log.h"

#include <string.h>

/* A communicator's members are connected for its collectives when it is made:
 * in the first of them NCCL would wait inside of the call for those that have
 * not come. And each has a place of its own where they meet. */
void jd__nccl_variables_set(void)
{
    if (jd__env_offer("NCCL_RUNTIME_CONNECT", "0") != JD_OK ||
        jd__env_export("NCCL_COMM_ID", NULL) != JD_OK)
        jd__log(JD_LOG_WARNING, "%s, ignoring", jd_error_message());
}

void jd__nccl_variables_warn(const struct jd_env *env)
{
    const char *blocking = jd__env_get(env, "NCCL_COMM_BLOCKING");
    if (jd__env_get(env, "NCCL_COMM_ID"))
        jd__log(JD_LOG_WARNING,
                "NCCL_COMM_ID is taken out of the processes' environment: all "
                "communicators of NCCL would meet at that one address, where a "
                "second one fails or hangs; jd tells the members of each where "
                "they meet");
    if (blocking && strcmp(blocking, "1") == 0)
        jd__log(JD_LOG_WARNING,
                "NCCL_COMM_BLOCKING=1 makes NCCL's calls wait inside NCCL, "
                "where none of jd's deadlines ends them: a process that does "
                "not come is waited for without a word; unset it");
}
