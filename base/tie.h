/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tie.h - a process ends with the jd-run that started it, however jd-run ends
 * and whatever stands between the two: a shell, a script, a profiler.
 *
 *     jd_run:      a pipe; the write end is its own, the read end inherited
 *                  JD_RUN_PIPE=10:12345, the read end and its inode
 *     a process:   jd__tie_to_jd_run(env);
 *
 * From then on the kernel ends the process by SIGKILL once the write end is
 * closed. Nobody has to look: it holds before there is a thread, inside
 * MPI_Init, and with every thread stuck. Nothing is said, because what was
 * listening to this process's outputs is what has gone.
 */
#ifndef BASE_TIE_H
#define BASE_TIE_H

#include "base/env.h"

#define JD_TIE_VARIABLE "JD_RUN_PIPE"

/*
 * True where this process is tied. Takes the descriptor over: programs that
 * this process starts do not get it. False, and nothing is touched, where no
 * jd-run is told of, or a wrapper has closed the descriptor or made another
 * file of its number. Threads: one.
 */
bool jd__tie_to_jd_run(const struct jd_env *env);

#endif
