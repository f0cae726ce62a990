/* SPDX-License-Identifier: BSD-3-Clause */
/* listen.c - sockets that listen. */
#include "runtime/coordination/net/listen.h"
#include "base/text.h"
#include "runtime/coordination/net/child.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BACKLOG = 4096, /* agents that may knock at once */
    MAX_TRIES = 16, /* ports tried until one is free on both families */
};

void jd__listen_close(struct jd_listeners *listeners)
{
    for (int i = 0; i < listeners->count; i++) {
        jd__child_forget(listeners->fds[i]);
        close(listeners->fds[i]);
    }
    listeners->count = 0;
}

/* ---- one socket --------------------------------------------------------- */

static bool is_any(const struct jd_endpoint *endpoint)
{
    static const uint8_t zero[16] = { 0 };
    return memcmp(endpoint->bytes, zero, sizeof zero) == 0;
}

/* Whichever an earlier attempt of the job has left in TIME_WAIT is no
 * obstacle; [::] takes both families. */
static int prepare_socket(int fd, const struct jd_endpoint *endpoint)
{
    struct sockaddr_storage address;
    socklen_t length = jd__addresses_sockaddr(endpoint, &address);
    int yes = 1, no = 0;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0)
        return -1;
    if (endpoint->family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no))
        return -1;
    if (bind(fd, (struct sockaddr *)&address, length) != 0)
        return -1;
    return listen(fd, BACKLOG);
}

static int port_of(int fd)
{
    struct sockaddr_storage address;
    struct jd_endpoint endpoint;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0 ||
        !jd__addresses_from_sockaddr((struct sockaddr *)&address, &endpoint))
        return 0;
    return endpoint.port;
}

/* Adds a socket that listens there. Returns 0 or an errno. */
static int add_socket(struct jd_listeners *listeners,
                      const struct jd_endpoint *endpoint)
{
    int fd =
        socket(endpoint->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    if (prepare_socket(fd, endpoint) != 0) {
        int error = errno;
        close(fd);
        return error;
    }
    listeners->fds[listeners->count++] = fd;
    listeners->port = port_of(fd);
    return 0;
}

/* ---- sentences ---------------------------------------------------------- */

/* A text that a function prints, malloc'ed; NULL without memory. */
static char *print_owner(const struct jd_endpoint *endpoint)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    jd__port_owner_print(out, endpoint);
    return jd__text_end(&text);
}

/* What a user can set: of names that are a launcher's own the next better. */
static const char *how_to_set(const char *variable)
{
    bool is_ours = strncmp(variable, "JD_", 3) == 0 ||
                   strncmp(variable, "JAX_", 4) == 0 ||
                   strncmp(variable, "option ", 7) == 0;
    return is_ours ? variable
                   : "JD_COORDINATOR_ADDRESS (HOST:PORT, the same in every "
                     "process)";
}

static jd_status fail_in_use(const struct jd_endpoint *endpoint,
                             const char *where, const char *variable)
{
    char *owner = print_owner(endpoint);
    jd_fail(JD_ALREADY_EXISTS,
            "cannot listen on %s (%s): port %d is in use by %s; end that "
            "process, or choose another port with %s",
            where, variable, endpoint->port, owner ? owner : "a process",
            how_to_set(variable));
    free(owner);
    return JD_ALREADY_EXISTS;
}

static jd_status fail_not_ours(const struct jd_endpoint *endpoint,
                               const char *where, const char *variable)
{
    char host[JD_ENDPOINT_TEXT];
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out)
        jd__interfaces_print(out);
    char *own = jd__text_end(&written);
    jd__addresses_format_host(endpoint, host);
    jd_fail(JD_NOT_FOUND,
            "cannot listen on %s (%s): %s is no address of this host, which "
            "has %s; give %s one of these, or start process 0 on the host "
            "that it names",
            where, variable, host, own ? own : "others", how_to_set(variable));
    free(own);
    return JD_NOT_FOUND;
}

static jd_status fail_denied(const struct jd_endpoint *endpoint,
                             const char *where, const char *variable)
{
    return jd_fail(JD_PERMISSION_DENIED,
                   "cannot listen on %s (%s): port %d: %s; ports below 1024 "
                   "are the system's: choose a higher one with %s",
                   where, variable, endpoint->port, strerror(EACCES),
                   how_to_set(variable));
}

static jd_status fail_exhausted(int error, const char *where,
                                const char *variable)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED, "cannot listen on %s (%s): %s; %s",
                   where, variable, strerror(error),
                   error == EMFILE
                       ? "raise this process's limit of open files (ulimit -n)"
                       : "free what other processes of this host hold");
}

static jd_status fail_listen(int error, const struct jd_endpoint *endpoint,
                             const char *variable)
{
    char where[JD_ENDPOINT_TEXT];
    jd__addresses_format(endpoint, where);
    switch (error) {
    case EADDRINUSE:
        return fail_in_use(endpoint, where, variable);
    case EAFNOSUPPORT:
    case EADDRNOTAVAIL:
        return fail_not_ours(endpoint, where, variable);
    case EACCES:
        return fail_denied(endpoint, where, variable);
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        return fail_exhausted(error, where, variable);
    case EINVAL:
        return jd_fail(JD_INVALID_ARGUMENT,
                       "cannot listen on %s (%s): a link-local address needs "
                       "its interface (\"[fe80::1%%eth0]:1234\")",
                       where, variable);
    default:
        return jd_fail(JD_INTERNAL, "cannot listen on %s (%s): %s", where,
                       variable, strerror(error));
    }
}

/* ---- several sockets ---------------------------------------------------- */

/* This host has no IPv6, or not this address. */
static bool is_missing(int error)
{
    return error == EAFNOSUPPORT || error == EADDRNOTAVAIL;
}

/*
 * Listens on those of the endpoints that this host has, all on the port that
 * the first one got. Returns 0; or an errno, *ret_culprit and no socket: that
 * of the last missing endpoint where all are missing.
 */
static int try_all(const struct jd_endpoints *endpoints,
                   struct jd_listeners *listeners,
                   struct jd_endpoint *ret_culprit)
{
    int missing = 0;
    *listeners = (struct jd_listeners){ .count = 0 };
    for (int i = 0; i < endpoints->count; i++) {
        struct jd_endpoint endpoint = endpoints->items[i];
        if (listeners->count == JD_MAX_LISTENERS)
            break;
        if (listeners->count)
            endpoint.port = (uint16_t)listeners->port;
        int error = add_socket(listeners, &endpoint);
        if (error)
            *ret_culprit = endpoint;
        if (is_missing(error)) {
            missing = error;
        } else if (error) {
            jd__listen_close(listeners);
            return error;
        }
    }
    return listeners->count ? 0 : missing;
}

static jd_status listen_on(const struct jd_endpoints *endpoints,
                           const char *variable,
                           struct jd_listeners *ret_listeners)
{
    struct jd_listeners listeners;
    struct jd_endpoint culprit;
    int error = EADDRINUSE;
    int tries = endpoints->items[0].port ? 1 : MAX_TRIES;
    while (tries-- > 0 && error == EADDRINUSE)
        error = try_all(endpoints, &listeners, &culprit);
    if (error)
        return fail_listen(error, &culprit, variable);
    *ret_listeners = listeners;
    return JD_OK;
}

/* [::], or 0.0.0.0 where that cannot be had. */
static jd_status listen_everywhere(int port, const char *variable,
                                   struct jd_listeners *ret_listeners)
{
    struct jd_listeners listeners = { .count = 0 };
    struct jd_endpoint any = { .family = AF_INET6, .port = (uint16_t)port };
    int error = add_socket(&listeners, &any);
    if (is_missing(error)) {
        any.family = AF_INET;
        error = add_socket(&listeners, &any);
    }
    if (error)
        return fail_listen(error, &any, variable);
    *ret_listeners = listeners;
    return JD_OK;
}

static jd_status listen_on_loopback(int port, const char *variable,
                                    struct jd_listeners *ret_listeners)
{
    struct jd_endpoints both = {
        .count = 2,
        .items = { { .family = AF_INET,
                     .port = (uint16_t)port,
                     .bytes = { 127, 0, 0, 1 } },
                   { .family = AF_INET6,
                     .port = (uint16_t)port,
                     .bytes = { [15] = 1 } } },
    };
    return listen_on(&both, variable, ret_listeners);
}

static jd_status listen_on_text(const struct jd_listen *listen,
                                struct jd_listeners *ret_listeners)
{
    struct jd_endpoints endpoints;
    jd_status status =
        jd__resolve_address(listen->bind, listen->timeout, &endpoints);
    if (status != JD_OK)
        return jd__fail_prefix(status, "%s: ", listen->variable);
    const struct jd_endpoint *first = &endpoints.items[0];
    if (endpoints.count == 1 && first->family == AF_INET6 && is_any(first))
        return listen_everywhere(first->port, listen->variable, ret_listeners);
    return listen_on(&endpoints, listen->variable, ret_listeners);
}

static jd_status listen_somewhere(const struct jd_listen *listen,
                                  struct jd_listeners *ret_listeners)
{
    if (listen->bind)
        return listen_on_text(listen, ret_listeners);
    if (listen->loopback)
        return listen_on_loopback(listen->port, listen->variable,
                                  ret_listeners);
    return listen_everywhere(listen->port, listen->variable, ret_listeners);
}

jd_status jd__listen_open(const struct jd_listen *listen,
                          struct jd_listeners *ret_listeners)
{
    jd_status status = listen_somewhere(listen, ret_listeners);
    for (int i = 0; status == JD_OK && i < ret_listeners->count; i++)
        jd__child_note(ret_listeners->fds[i]);
    return status;
}
