/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmix_server.h - starts jd-pmix-server, a program of its own, for this host:
 * found by JD_LIBEXEC, or relative to the library, given its Plan through a
 * pipe, and waited for until it says that it is ready.
 */
#ifndef RUNTIME_WIREUP_PMIX_SERVER_H
#define RUNTIME_WIREUP_PMIX_SERVER_H

#include "autodetect/cluster.h"
#include "base/options.h"
#include "runtime/coordination/net/wire.h"
#include "runtime/wireup/wireup.pb-c.h"

/*
 * The program's path, malloc'ed. libexec is JD_LIBEXEC or NULL.
 * Returns JD_OK; NOT_FOUND naming the places where it was looked for.
 */
jd_status jd__pmix_server_find(const char *libexec, char **ret_path);

/*
 * Starts it (posix_spawn), writes the plan, and waits until it says that it is
 * ready; it goes on when this process ends. deadline is a jd__clock_now(). Its
 * environment is ours without the variables that give cluster its indices of
 * this process.
 * Returns: JD_OK; UNAVAILABLE with the server's sentence where it ends;
 *   DEADLINE_EXCEEDED; INTERNAL naming the call.
 */
jd_status jd__pmix_server_start(const char *path, const Jd__Plan *plan,
                                const struct jd_cluster *cluster,
                                double deadline);

/*
 * The same for a plan that is held: the server goes on until *ret_held is
 * closed, by whatever way (it is close-on-exec), and has said the frames of the
 * Environments, in the order of processes.
 * Owns: both are the caller's, after JD_OK. Returns as above.
 */
jd_status jd__pmix_server_start_held(const char *path, const Jd__Plan *plan,
                                     char *const *environment, double deadline,
                                     int *ret_held,
                                     struct jd_bytes *ret_environments);

#endif
