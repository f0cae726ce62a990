/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls.h - collectives that a process makes again and again, until somebody
 * fails.
 *
 *     calls_make("all_gather");
 */
#ifndef CALLS_H
#define CALLS_H

/*
 * Makes the call of that name until it fails, which ends the process by
 * JD_CHECK; where there is none of that name, this process ends with code 92.
 */
void calls_make(const char *name);

/* How many have been made. Threads: any. */
int calls_made(void);

#endif
