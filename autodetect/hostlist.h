/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostlist.h - Slurm's node lists, "rack[1-2]node[03-04],login" and
 * "n[001-003,7]-ib", as an array of names.
 *
 *     struct jd_hostlist hosts;
 *     jd__hostlist_expand("n[1-2]", "SLURM_STEP_NODELIST", &hosts);
 *     puts(hosts.names[0]);
 *     jd__hostlist_finish(&hosts);
 *
 * Names come in the order in which `scontrol show hostnames` prints them:
 * the last brackets count fastest. Threads: any; it is pure.
 */
#ifndef AUTODETECT_HOSTLIST_H
#define AUTODETECT_HOSTLIST_H

#include "base/status.h"

#include <stddef.h>

#define JD_HOSTLIST_MAX 65536 /* names; Slurm's own limit of a range */

struct jd_hostlist {
    char **names;
    size_t count;
};

/*
 * Expands text; label says where it came from. Returns JD_OK (at least one
 * name); INVALID_ARGUMENT naming label, text, offset and what is wrong there,
 * more than JD_HOSTLIST_MAX names among that; RESOURCE_EXHAUSTED. On failure
 * there is nothing to finish.
 */
jd_status jd__hostlist_expand(const char *text, const char *label,
                              struct jd_hostlist *ret_hosts);
void jd__hostlist_finish(struct jd_hostlist *hosts);

#endif
