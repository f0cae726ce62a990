/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * last_calls.h - where the processes of this host are, by communicator: who is
 * how many calls behind the others, and in which call, at which line. It is
 * what the end of a job that has failed is understood from.
 *
 *     struct jd_last_calls calls;
 *     jd__last_calls_look(&calls);
 *     for (int i = 0; i < calls.count; i++)
 *         jd__log(JD_LOG_WARNING, "%s", calls.lines[i]);
 *     jd__last_calls_free(&calls);
 *
 * axis "data": processes 0-2 were in jd_psum of 1 x F64 over axis "data" (call
 * 7 there), called at train.c:57 (step+0x59f); process 3, 1 call behind, had
 * returned from jd_kv_get, called at train.c:41 (main+0x1fa)
 */
#ifndef RUNTIME_RECORDER_LAST_CALLS_H
#define RUNTIME_RECORDER_LAST_CALLS_H

/* The last line stands for all communicators that are left then. */
enum { JD_LAST_CALLS_LINES = 5 };

struct jd_last_calls {
    char *lines[JD_LAST_CALLS_LINES]; /* malloc'ed */
    int count;
};

/*
 * Of each communicator that a process of this host is in a call of, or whose
 * members have made different numbers of calls; the one that most are in comes
 * first. Where not all members have made calls here, the line has those
 * processes too that have made none there. None where the host's processes
 * cannot be read, or there is no memory. Blocks: for the lines of calls, half
 * of jd__lines_timeout(); those that it has not come to then have their place
 * in the file alone. Threads: any; the rings may be written meanwhile.
 */
void jd__last_calls_look(struct jd_last_calls *ret_calls);

void jd__last_calls_free(struct jd_last_calls *calls);

#endif
