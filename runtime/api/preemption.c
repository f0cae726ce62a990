/* SPDX-License-Identifier: BSD-3-Clause */
/* preemption.c - the public calls about preemption. */
#include "base/forked.h"
#include "jd_coordination.h"
#include "jd_multihost.h"
#include "runtime/coordination/preemption/preemption.h"
#include "runtime/coordination/preemption/preemption_callback.h"
#include "runtime/process/runtime.h"

/* Where there is no runtime a world of one is made here and now. */
static jd_status find_runtime(const char *operation)
{
    const struct jd_runtime *runtime;
    jd_status status = jd__forked_check(operation);
    if (status != JD_OK || jd__preemption_is_started())
        return status;
    return jd__runtime_get(&runtime, operation);
}

static jd_status be_ready(const char *operation)
{
    jd_status status = jd__forked_check(operation);
    if (status != JD_OK || !jd__preemption_is_unready())
        return status;
    status = find_runtime(operation);
    return status == JD_OK ? jd__preemption_prepare(operation) : status;
}

int jd_reached_preemption_sync_point(int64_t step)
{
    if (be_ready("jd_reached_preemption_sync_point") != JD_OK)
        jd__preemption_warn_of_failure();
    return !jd__forked_is_child && jd__preemption_poll(step);
}

jd_status jd_on_preemption(void (*callback)(void *arg), void *arg)
{
    static const char operation[] = "jd_on_preemption";
    jd_status status =
        callback ? be_ready(operation) : jd__forked_check(operation);
    return status == JD_OK ? jd__preemption_callback_set(callback, arg)
                           : status;
}

jd_status jd_acknowledge_preemption(void)
{
    jd_status status = find_runtime("jd_acknowledge_preemption");
    return status == JD_OK ? jd__preemption_acknowledge() : status;
}
