/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * last_thread.h - which thread of this process has called jd last: where a
 * process that does not come stands, as far as one thread says it.
 *
 *     jd__last_thread_note();                each operation's begin
 *     int thread = jd__last_thread();        anybody; it may have ended
 *
 * Threads: any. Costs a comparison where the same thread calls again.
 */
#ifndef BASE_LAST_THREAD_H
#define BASE_LAST_THREAD_H

/* It is the calling one. */
void jd__last_thread_note(void);

/* As gettid() of that thread has it; 0: none has called. */
int jd__last_thread(void);

#endif
