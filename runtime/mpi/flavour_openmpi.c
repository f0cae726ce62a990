/* SPDX-License-Identifier: BSD-3-Clause */
/* flavour_openmpi.c - Open MPI: does a living PMIx server serve this process?
 */
#include "base/parse.h"
#include "runtime/mpi/finalize_openmpi.h"
#include "runtime/mpi/flavour.h"
#include "runtime/mpi/tuning_openmpi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_MILLISECONDS 2000

/* ---- the server's address ----------------------------------------------- */

/* The newest of the variables that name the server; NULL where none does. */
static const char *server_uri(const struct jd_env *env, const char **ret_name)
{
    static const char *const names[] = {
        "PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
        "PMIX_SERVER_URI21", "PMIX_SERVER_URI2", "PMIX_SERVER_URI",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *uri = jd__env_get_nonempty(env, names[i]);
        if (uri) {
            *ret_name = names[i];
            return uri;
        }
    }
    return NULL;
}

/* From "name.rank;tcp4://127.0.0.1:49919"; false for any other form. */
static bool parse_uri(const char *uri, struct sockaddr_in *ret_address)
{
    const char *host = strstr(uri, "tcp4://");
    char text[INET_ADDRSTRLEN];
    size_t length;
    int port;
    if (!host)
        return false;
    host += strlen("tcp4://");
    if (!jd__parse_address(host, &length, &port) || length >= sizeof text)
        return false;
    memcpy(text, host, length);
    text[length] = '\0';
    *ret_address = (struct sockaddr_in){ .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port) };
    return inet_pton(AF_INET, text, &ret_address->sin_addr) == 1;
}

/* The error of a connection attempt; 0 where somebody answers. */
static int try_to_connect(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;
    if (fd < 0)
        return 0; /* it cannot be asked: MPI will find out */
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0)
        error = errno;
    if (error == EINPROGRESS) {
        struct pollfd poller = { .fd = fd, .events = POLLOUT };
        socklen_t size = sizeof error;
        int ready = poll(&poller, 1, CONNECT_MILLISECONDS);
        error = ready == 0 ? ETIMEDOUT : 0;
        if (ready == 1)
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    close(fd);
    return error;
}

/* A server on this host is asked; others are trusted. */
static int server_error(const char *uri)
{
    struct sockaddr_in address;
    if (!parse_uri(uri, &address) ||
        ntohl(address.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
        return 0;
    return try_to_connect(&address);
}

/* ---- what is missing ---------------------------------------------------- */

static bool has_variables(const struct jd_env *env, char *missing, size_t size)
{
    static const char *const needed[] = { "PMIX_NAMESPACE", "PMIX_RANK" };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        snprintf(missing, size, "no PMIx server serves them (%s is not set)",
                 needed[i]);
        if (!jd__env_get_nonempty(env, needed[i]))
            return false;
    }
    return true;
}

static bool is_served(const struct jd_env *env, char *missing, size_t size)
{
    const char *name = NULL;
    if (!has_variables(env, missing, size))
        return false;
    const char *uri = server_uri(env, &name);
    int error = uri ? server_error(uri) : 0;
    if (!uri)
        snprintf(missing, size,
                 "no PMIx server serves them (PMIX_SERVER_URI* is not set)");
    else if (error)
        snprintf(missing, size,
                 "the PMIx server that %s names (%.200s) does not answer (%s): "
                 "the launcher that set it has ended",
                 name, uri, strerror(error));
    return uri && !error;
}

const struct jd_mpi_flavour jd__flavour_open_mpi = {
    .sign = "Open MPI",
    .launcher = "mpirun",
    .srun = "pmix",
    .by = JD_SERVED_BY_PMIX,
    .is_joined = true,
    .is_served = is_served,
    .plan = jd__tuning_plan_open_mpi,
    .prepare_finalize = jd__finalize_prepare_open_mpi,
};
