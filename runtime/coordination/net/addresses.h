/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * addresses.h - socket addresses: this host's own, those of a name, and which
 * of a host's addresses to try first. listen.h listens on them.
 *
 *     jd__interfaces_list(interfaces, false, port, &mine);    process 0
 *     ... they travel to the other processes ...
 *     jd__interfaces_sort(&theirs);                           each other one
 *     length = jd__addresses_sockaddr(&theirs.items[0], &address);
 *     connect(fd, (struct sockaddr *)&address, length);
 *
 * Threads: any.
 */
#ifndef RUNTIME_COORDINATION_NET_ADDRESSES_H
#define RUNTIME_COORDINATION_NET_ADDRESSES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

enum { JD_MAX_ENDPOINTS = 32, JD_ENDPOINT_TEXT = 64 };

/* One address with its port. Plain data: travels by MPI. */
struct jd_endpoint {
    uint16_t family; /* AF_INET or AF_INET6, host order */
    uint16_t port;   /* host order */
    uint32_t scope;  /* of a link-local IPv6 address: of use on its host only */
    uint8_t bytes[16];
    uint8_t prefix; /* bits of its network, where known; else 0 */
};

struct jd_endpoints {
    int32_t count;
    struct jd_endpoint items[JD_MAX_ENDPOINTS];
};

/* "10.0.0.1:1234", "[fe80::1]:1234"; "?" where the family is neither. */
void jd__addresses_format(const struct jd_endpoint *endpoint,
                          char text[JD_ENDPOINT_TEXT]);
/* The same without its port and brackets. */
void jd__addresses_format_host(const struct jd_endpoint *endpoint,
                               char text[JD_ENDPOINT_TEXT]);
/* For connect() and bind(); returns its length, 0 where the family is
 * neither. */
socklen_t jd__addresses_sockaddr(const struct jd_endpoint *endpoint,
                                 struct sockaddr_storage *ret_address);
/* The opposite, without a prefix; false where the family is neither. */
bool jd__addresses_from_sockaddr(const struct sockaddr *address,
                                 struct jd_endpoint *ret_endpoint);
bool jd__addresses_is_loopback(const struct jd_endpoint *endpoint);
/* True where the first bits of both addresses agree, and the families. */
bool jd__addresses_in_network(const struct jd_endpoint *endpoint,
                              const struct jd_endpoint *network, unsigned bits);

/*
 * The addresses of this host's interfaces that are up and have a carrier,
 * with the port: loopback ones only where nothing else is there or loopback
 * is true (then only those, and interfaces is checked but chooses nothing).
 * interfaces (JD_INTERFACE; NULL or "": all) is a comma list of interface
 * names ("eth0"), networks ("10.0.0.0/8", "fd00::/8") and addresses; with ^
 * before the list, all but those. Link-local addresses come last; those of
 * IPv6, which mean nothing without their interface, only where nothing but
 * loopback is left.
 * Returns JD_OK; INVALID_ARGUMENT for an entry that is none of these, or
 * where nothing is left, naming JD_INTERFACE, its value and what there is;
 * NOT_FOUND where no interface is up; INTERNAL.
 */
jd_status jd__interfaces_list(const char *interfaces, bool loopback, int port,
                              struct jd_endpoints *ret_endpoints);

/* "eth0 10.0.0.1/24, lo 127.0.0.1/8", of interfaces that are up, or "none":
 * for sentences. */
void jd__interfaces_print(FILE *out);

/*
 * Puts those first that are in a network which this host has too, by their
 * prefix, and those last that are this host's own: on another host they are
 * of a bridge that every host has (docker0). The order stays otherwise, and
 * where all are this host's own.
 */
void jd__interfaces_sort(struct jd_endpoints *endpoints);

/*
 * The addresses of "host:port", looked up on a thread of its own that is left
 * behind where the resolver does not answer in time; numeric ones without.
 * Returns: JD_OK; INVALID_ARGUMENT where the text is none; NOT_FOUND with the
 *   resolver's words; DEADLINE_EXCEEDED; RESOURCE_EXHAUSTED. Blocks at most
 *   timeout seconds.
 */
jd_status jd__resolve_address(const char *text, double timeout,
                              struct jd_endpoints *ret_endpoints);

#endif
