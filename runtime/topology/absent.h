/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * absent.h - who has no device of a platform, and why, as a sentence that names
 * those together who say the same.
 *
 *     struct jd_absent absent = jd__topology_absent(topology);
 *     if (jd__absent_count(&absent, "cuda"))
 *         jd__absent_print(stdout, &absent, "cuda");
 */
#ifndef RUNTIME_TOPOLOGY_ABSENT_H
#define RUNTIME_TOPOLOGY_ABSENT_H

#include <stdbool.h>
#include <stdio.h>

struct jd_absent {
    int count; /* of processes */

    /* Why the process has no device of the platform, "" where it does not say
     * why; NULL where it has one. */
    const char *(*why)(const void *of, int process, const char *platform);
    const void *of;
};

/* How many processes have no device of the platform. */
int jd__absent_count(const struct jd_absent *absent, const char *platform);

/* Prints who has no device of the platform, and why: "processes 0-2: no NVIDIA
 * driver is loaded; process 3: JD_PLATFORM is cpu". */
void jd__absent_print(FILE *out, const struct jd_absent *absent,
                      const char *platform);

/* The same as text; NULL where memory has run out. Owns: the caller frees. */
char *jd__absent_describe(const struct jd_absent *absent, const char *platform);

/* The same of every platform as a line of the log: for information, or a
 * warning, where nobody has any and some are nobody's (has_spare), or where a
 * driver is there that cannot be used (has_fault). */
void jd__absent_say(const struct jd_absent *absent, bool has_spare,
                    bool has_fault);

#endif
