/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * litter.h - the directories of this host's jd-pmix-server, where nobody else
 * can remove them: a program that is the first process of its container takes
 * the server with it when it ends.
 *
 *     jd__litter_note("/tmp/jd-wireup-1-.../life");
 *     ... at the very end of the process:
 *     jd__litter_remove();
 */
#ifndef BASE_LITTER_H
#define BASE_LITTER_H

/* The folder of this path is the server's that this process has started. Does
 * nothing where its name is no such folder's, or this is not process 1. Two
 * are kept. */
void jd__litter_note(const char *path);

/* Removes what was noted, in the process that noted it. Threads: one. */
void jd__litter_remove(void);

#endif
