/* SPDX-License-Identifier: BSD-3-Clause */
/* server_socket.c - connecting, and who listens. */
#include "runtime/wireup/server_socket.h"
#include "runtime/coordination/net/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static jd_status fail_call(const char *path, const char *call)
{
    return jd_fail(JD_UNAVAILABLE,
                   "jd_initialize: MPI's server of this host cannot be "
                   "reached at %s: %s failed: %s",
                   path, call, strerror(errno));
}

/* The server was started by a process of this user. */
static jd_status check_owner(int fd, const char *path)
{
    struct ucred owner = { .pid = 0 };
    socklen_t length = sizeof owner;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &length) != 0)
        return fail_call(path, "getsockopt");
    if (owner.uid == geteuid())
        return JD_OK;
    return jd_fail(JD_PERMISSION_DENIED,
                   "jd_initialize: what listens at %s, where MPI's server of "
                   "this host should be, belongs to user %u and not to %u; set "
                   "JD_SECRET_FILE, the same for all processes",
                   path, (unsigned)owner.uid, (unsigned)geteuid());
}

static jd_status connect_to(int fd, const char *path, uint32_t index)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    uint8_t number[4];
    strcpy(address.sun_path, path);
    jd__wire_put_u32(number, index);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return fail_call(path, "connect");
    jd_status status = check_owner(fd, path);
    if (status != JD_OK)
        return status;
    return send(fd, number, sizeof number, MSG_NOSIGNAL) == sizeof number
               ? JD_OK
               : fail_call(path, "send");
}

jd_status jd__server_socket_connect(const char *path, uint32_t index,
                                    int *ret_fd)
{
    if (strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_initialize: the path %s is too long for a socket; "
                       "JD_TMPDIR chooses another folder",
                       path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail_call(path, "socket");
    jd_status status = connect_to(fd, path, index);
    if (status == JD_OK)
        *ret_fd = fd;
    else
        close(fd);
    return status;
}
