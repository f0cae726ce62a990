/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.c - the public calls about the program's own ranges. */
#include "jd_trace.h"
#include "base/forked.h"
#include "jd_process.h"
#include "runtime/recorder/recorder.h"

/* The runtime is looked at and not made. */
static jd_status check_world(const char *operation)
{
    jd_status status = jd__forked_check(operation);
    if (status != JD_OK || jd_is_initialized())
        return status;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s: ranges are recorded between jd_initialize() and "
                   "jd_shutdown(), and this is outside of them; call "
                   "jd_initialize() before",
                   operation);
}

jd_status jd_trace_begin(const char *name)
{
    jd_status status = check_world("jd_trace_begin");
    return status == JD_OK ? jd__recorder_begin_range(name) : status;
}

jd_status jd_trace_end(void)
{
    jd_status status = check_world("jd_trace_end");
    return status == JD_OK ? jd__recorder_end_range() : status;
}
