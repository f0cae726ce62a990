/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server_socket.h - a connection from a process to MPI's server of its host,
 * which begins with the process's index.
 */
#ifndef RUNTIME_WIREUP_SERVER_SOCKET_H
#define RUNTIME_WIREUP_SERVER_SOCKET_H

#include "base/status.h"

#include <stdint.h>

/*
 * Connects to the Unix socket and says the index. The descriptor is closed at
 * exec, and the caller's after JD_OK.
 * Returns: JD_OK; UNAVAILABLE naming the path and the call that failed;
 *   PERMISSION_DENIED where another user listens; INVALID_ARGUMENT where the
 *   path is too long.
 */
jd_status jd__server_socket_connect(const char *path, uint32_t index,
                                    int *ret_fd);

#endif
