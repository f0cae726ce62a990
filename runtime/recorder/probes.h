/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probes.h - places in each call at which bpftrace, perf, SystemTap and gdb can
 * look on (USDT; doc/tracing.md): one instruction that does nothing, and a note
 * in the library of where its arguments lie. Without sys/sdt.h there are none.
 *
 *     jd:enter   number of the call in its process, its name, its communicator
 *                ("" without one), its number there, count, the address that
 *                it returns to
 *     jd:met     number: all members have come
 *     jd:leave   number, status
 *
 * Users' scripts know these: what changes here is told in NEWS.md.
 */
#ifndef RUNTIME_RECORDER_PROBES_H
#define RUNTIME_RECORDER_PROBES_H

#if JD_HAVE_PROBES
/* Arguments in registers: tools do not read thread-local memory. */
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>
#define JD_PROBE_ENTER(number, name, comm, sequence, count, caller)            \
    DTRACE_PROBE6(jd, enter, number, name, comm, sequence, count, caller)
#define JD_PROBE_MET(number) DTRACE_PROBE1(jd, met, number)
#define JD_PROBE_LEAVE(number, status) DTRACE_PROBE2(jd, leave, number, status)
#else
#define JD_PROBE_ENTER(number, name, comm, sequence, count, caller) ((void)0)
#define JD_PROBE_MET(number) ((void)0)
#define JD_PROBE_LEAVE(number, status) ((void)(status))
#endif

#endif
