/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * directory.h - the places that belong to one server: a fresh directory with
 * the server's sockets and files, and one in /dev/shm (where that is memory)
 * for the segments that the processes share. Both go when the server ends.
 *
 *     struct directory directory;
 *     status = directory_create("/tmp", &directory);
 *     ... directory.path, directory.liveness, directory.shared ...
 *     directory_remove(&directory);
 *     directory_remove_segments(nspace);
 *
 * Threads: any.
 */
#ifndef RUNTIME_WIREUP_SERVER_DIRECTORY_H
#define RUNTIME_WIREUP_SERVER_DIRECTORY_H

#include "base/status.h"

struct directory {
    char path[102];   /* "/tmp/jd-wireup-77-5a0b1c-000004-XXXXXX" */
    char liveness[108]; /* the socket, which fits into a sockaddr_un */
    char pmi[108];      /* the same, for PMI */
    char jobs[108];   /* what MPI may write into */
    char shared[108]; /* for shared memory */
    int locks[2];     /* held until the last process that has them ends */
};

/*
 * In tmpdir; where that is empty, in the first of /tmp, /dev/shm and /var/tmp
 * that can be written to and has room. Before, what others of this user have
 * left is removed: directories whose process has gone, which their names and
 * their locks tell. The name has the pid of the process that starts the
 * server, and the beginning or end of the numbers of the kernel's boot and of
 * the namespace in which the pid counts.
 * Returns: JD_OK; PERMISSION_DENIED, NOT_FOUND, RESOURCE_EXHAUSTED naming each
 *   place that was tried, what is wrong with it, and JD_TMPDIR;
 * INVALID_ARGUMENT where its name is too long for a socket.
 */
jd_status directory_create(const char *tmpdir, struct directory *ret_directory);

/* Removes both with all that is in them. */
void directory_remove(const struct directory *directory);

/* Removes what MPI's shared memory has left in /dev/shm for the namespace: a
 * process that was killed does not, where MPI was told another place. */
void directory_remove_segments(const char *nspace);

#endif
