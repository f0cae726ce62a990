/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message_count.h - how many messages jd has sent to each process by its
 * communicator, and how many have come from each.
 *
 * Where a process leaves the job, who waits for a message of it learns by them
 * that none is under way: as many have come as were ever sent. They are
 * therefore exact in one direction: what is sent counts before it can come, and
 * what has come after that.
 * Threads: any; opened while no other is in here.
 */
#ifndef RUNTIME_MPI_MESSAGE_COUNT_H
#define RUNTIME_MPI_MESSAGE_COUNT_H

#include "base/status.h"

#include <stdint.h>

/* A new communicator of so many processes: all are 0. Returns: JD_OK;
 * RESOURCE_EXHAUSTED. */
jd_status jd__message_count_open(int processes);

/* One more, to a process, or from one. */
void jd__message_count_sent(int process);
void jd__message_count_came(int process);

/* How many; 0 of a number that is no process's. */
uint64_t jd__message_count_to(int process);
uint64_t jd__message_count_from(int process);

#endif
