/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_stack.h - where the one stands for whom a wait has waited in vain: the
 * stack of its threads, as a warning of one of those that give up. It is read
 * when the deadline has passed, and who gives up stays until then, since its
 * end is the job's and the stack's too: six seconds at most, none where the
 * process has JD_STACK=0 or its host no tool.
 */
#ifndef RUNTIME_PROCESS_WAIT_STACK_H
#define RUNTIME_PROCESS_WAIT_STACK_H

/* detail follows the operation in sentences; NULL: none. Leaves the thread's
 * error text as it may. Threads: any. */
void jd__wait_stack_show(const char *operation, const char *detail,
                         int process);

#endif
