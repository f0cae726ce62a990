/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_queued.h - who keeps a GPU waiting: of the members of its communicators
 * those that have not queued as many calls as this process (queued.h).
 *
 *     if (wait->num_queues && jd__wait_queued_find(wait, &missing))
 *         ... the missing are these alone ...
 */
#ifndef RUNTIME_PROCESS_WAIT_QUEUED_H
#define RUNTIME_PROCESS_WAIT_QUEUED_H

#include "runtime/process/wait_text.h"

/*
 * Leaves those among the missing that have queued less, and notes the first
 * call that they have not queued, as this process has made it. True where there
 * are any; else all stay, and where it is known that each has queued as much,
 * that is noted. Sorted, each once. Blocks: at most a second for each queue.
 */
bool jd__wait_queued_find(const struct jd_wait *wait,
                          struct jd_missing *missing);

#endif
