/* SPDX-License-Identifier: BSD-3-Clause */
/* body_failure.c - the first body of jd_shard_map() that failed. */
#include "collectives/mesh/body_failure.h"

#include <stdlib.h>
#include <string.h>

bool jd__body_failure_set(struct jd_body_failure *failure, jd_status status,
                          const char *sentence)
{
    if (atomic_exchange(&failure->is_claimed, true))
        return false;
    failure->status = status;
    failure->sentence = strdup(sentence);
    atomic_store(&failure->happened, true);
    return true;
}

static const char *sentence_of(const struct jd_body_failure *failure)
{
    return failure->sentence ? failure->sentence
                             : "(no memory for its sentence)";
}

jd_status jd__body_failure_check(const struct jd_body_failure *failure,
                                 const char *operation, const char *where)
{
    if (!atomic_load_explicit(&failure->happened, memory_order_acquire))
        return JD_OK;
    return jd_fail(JD_ABORTED,
                   "%s%s: not begun, because another body of the mesh has "
                   "failed: %s",
                   operation, where, sentence_of(failure));
}

jd_status jd__body_failure_explain(const struct jd_body_failure *failure,
                                   const char *operation, const char *where,
                                   jd_status status)
{
    if (status != JD_ABORTED ||
        !atomic_load_explicit(&failure->happened, memory_order_acquire))
        return status;
    return jd_fail(JD_ABORTED,
                   "%s%s: ended, because another body of the mesh has failed: "
                   "%s",
                   operation, where, sentence_of(failure));
}

void jd__body_failure_finish(struct jd_body_failure *failure)
{
    free(failure->sentence);
    failure->sentence = NULL;
}
