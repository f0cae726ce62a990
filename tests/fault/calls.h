/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls.h - collectives that a process makes again and again, until somebody
 * fails.
 *
 *     calls_make("all-gather", NULL);
 */
#ifndef CALLS_H
#define CALLS_H

/*
 * Makes the call of that name on each device of this process until it fails,
 * which ends the process by JD_CHECK; where there is none of that name, this
 * process ends with code 92. `after`, where not NULL, is called after each, on
 * the device's thread.
 */
void calls_make(const char *name, void (*after)(void));

/* How many have been made. Threads: any. */
int calls_made(void);

#endif
