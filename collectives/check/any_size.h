/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * any_size.h - whether a send fits a receive of any size up to its capacity,
 * and the sentence that both ends return where it does not.
 *
 *     if (!jd__any_size_fits(&sent, &wanted))
 *         status = jd__any_size_fail("jd_send", detail, &sent, &wanted);
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_CHECK_ANY_SIZE_H
#define COLLECTIVES_CHECK_ANY_SIZE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* What one of the two ends says; the receiver's count is its capacity. */
struct jd_any_size_end {
    int process, member;
    uint64_t count;
    uint32_t dtype; /* jd_dtype */
    int32_t tag;
};

bool jd__any_size_fits(const struct jd_any_size_end *sent,
                       const struct jd_any_size_end *wanted);

/* INVALID_ARGUMENT with what the two say. detail follows the operation, or is
 * NULL. */
jd_status jd__any_size_fail(const char *operation, const char *detail,
                            const struct jd_any_size_end *sent,
                            const struct jd_any_size_end *wanted);

#endif
