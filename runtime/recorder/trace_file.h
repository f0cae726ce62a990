/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace_file.h - JD_TRACE_DIR: when a process ends, what it has called is
 * written to a file there, "JOB-PROCESS.jdtrace", which jd-trace reads.
 *
 *     jd__trace_file_configure(dir);
 *     ... the world is known ...
 *     jd__trace_file_begin(job, host, self, processes);
 *     ... this process ends ...
 *     jd__trace_file_write("exit code %d", code);
 *     ... others have died, and this one goes with them ...
 *     jd__trace_file_write_dead(processes, count, sentence);
 *
 * A file is "jdtrace" with its NUL and a Trace of trace.proto. It is written
 * beside and renamed: whoever sees it sees all of it. What cannot be written is
 * a warning. Nothing happens without a folder, or where the recorder is off.
 *
 * Blocks: as jd__trace_pack(), and for the disk. Threads: any.
 */
#ifndef RUNTIME_RECORDER_TRACE_FILE_H
#define RUNTIME_RECORDER_TRACE_FILE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define JD_TRACE_MAGIC "jdtrace" /* with its NUL, 8 bytes */
#define JD_TRACE_SUFFIX ".jdtrace"

/* Ends that jd-trace knows: in order, and by a code, which follows. */
#define JD_TRACE_LEFT "left"
#define JD_TRACE_EXIT_CODE "exit code "

/* Makes the folder where it is not there; NULL: none. Returns: JD_OK;
 * INVALID_ARGUMENT where this process cannot write there, with errno's text. */
jd_status jd__trace_file_configure(const char *dir);

/* A job's number names its files. */
void jd__trace_file_begin(uint64_t job, const char *host, int self,
                          int processes);

/*
 * What the processes of this host have called so far, each as such a file: of
 * those whose rings this process can read, its own among them, that at the
 * place, from 0 to below *ret_places. malloc'ed; NULL with a size of 0 where
 * nobody has that ring, and with a size of 1 where there is no memory. It has
 * no end, and its writer is the process itself. *ret_places is 0 where nothing
 * is recorded (JD_RECORDER=0), or the world is not known yet.
 * Blocks: as jd__trace_pack(). Threads: any.
 */
void *jd__trace_file_show(int place, int *ret_places, size_t *ret_size);

/* How this process ends, in words. The first that says it stands. */
__attribute__((format(printf, 1, 2))) void
jd__trace_file_write(const char *format, ...);

/* As that for others that cannot any more, and have not done it, of those of
 * this host whose rings can be read, by the lowest process of the host that is
 * not among them. */
void jd__trace_file_write_dead(const int *processes, size_t count,
                               const char *end);

/* The world has ended, and another may begin. */
void jd__trace_file_end(void);

#endif
