/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bootstrap_tags.h - the tags of MPI that communicators have: while they are
 * made, and later.
 *
 *     status = jd__bootstrap_borrow_tags(spec, 4, &first);
 *     ... messages to this process's member a from another's member b have
 *     ... the tag first + 4 * a + b, where each has up to 4 of them ...
 *     jd__bootstrap_give_tags(first);
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_CPU_BOOTSTRAP_TAGS_H
#define COLLECTIVES_CPU_BOOTSTRAP_TAGS_H

#include "collectives/channel/tags.h"
#include "collectives/platform/platform.h"

#include <stdint.h>

/* Numbers of the devices of a process, of all platforms: those of one begin at
 * first, and all are below bound. Tags are counted from first_tag. */
struct jd_device_numbers {
    int64_t first, bound;
    int64_t first_tag;
};

/*
 * Two processes make as many communicators at the same time as they have
 * devices, and a device is in one of them: the lowest device of each in the
 * communicator is the number of the tag. As many are made beside them for what
 * is started. Behind these are the tags that are lent.
 * Returns: JD_OK; RESOURCE_EXHAUSTED where a process has too many devices.
 */
jd_status jd__bootstrap_plan_tags(const struct jd_comm_spec *spec,
                                  struct jd_device_numbers *ret_numbers,
                                  struct jd_tag_range *ret_lent);

/* The tags of one communicator, most * most where no process has more members
 * than most. Returns: JD_OK; RESOURCE_EXHAUSTED. */
jd_status jd__bootstrap_borrow_tags(const struct jd_comm_spec *spec, int most,
                                    int *ret_first);

/* Negative: there are none. */
void jd__bootstrap_give_tags(int first_tag);

/* For tests: how many ranges of tags are lent. */
int jd__bootstrap_tags_lent(void);

#endif
