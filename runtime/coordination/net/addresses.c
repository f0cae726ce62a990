/* SPDX-License-Identifier: BSD-3-Clause */
/* addresses.c - one address with its port, and its two other forms. */
#include "runtime/coordination/net/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

void jd__addresses_format_host(const struct jd_endpoint *endpoint,
                               char text[JD_ENDPOINT_TEXT])
{
    if (!inet_ntop(endpoint->family, endpoint->bytes, text, JD_ENDPOINT_TEXT))
        strcpy(text, "?");
}

void jd__addresses_format(const struct jd_endpoint *endpoint,
                          char text[JD_ENDPOINT_TEXT])
{
    char host[JD_ENDPOINT_TEXT];
    jd__addresses_format_host(endpoint, host);
    snprintf(text, JD_ENDPOINT_TEXT,
             endpoint->family == AF_INET6 ? "[%.46s]:%u" : "%.46s:%u", host,
             (unsigned)endpoint->port);
}

socklen_t jd__addresses_sockaddr(const struct jd_endpoint *endpoint,
                                 struct sockaddr_storage *ret_address)
{
    memset(ret_address, 0, sizeof *ret_address);
    if (endpoint->family == AF_INET) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(endpoint->port);
        memcpy(&v4->sin_addr, endpoint->bytes, sizeof v4->sin_addr);
        return sizeof *v4;
    }
    if (endpoint->family == AF_INET6) {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(endpoint->port);
        v6->sin6_scope_id = endpoint->scope;
        memcpy(&v6->sin6_addr, endpoint->bytes, sizeof v6->sin6_addr);
        return sizeof *v6;
    }
    return 0;
}

bool jd__addresses_from_sockaddr(const struct sockaddr *address,
                                 struct jd_endpoint *ret_endpoint)
{
    struct jd_endpoint endpoint = { .family = address->sa_family };
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        endpoint.port = ntohs(v4->sin_port);
        memcpy(endpoint.bytes, &v4->sin_addr, sizeof v4->sin_addr);
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
        endpoint.port = ntohs(v6->sin6_port);
        endpoint.scope = v6->sin6_scope_id;
        memcpy(endpoint.bytes, &v6->sin6_addr, sizeof v6->sin6_addr);
    } else {
        return false;
    }
    *ret_endpoint = endpoint;
    return true;
}

bool jd__addresses_is_loopback(const struct jd_endpoint *endpoint)
{
    static const uint8_t mapped[13] = { [10] = 0xff, 0xff, 127 };
    static const uint8_t one[16] = { [15] = 1 };
    if (endpoint->family == AF_INET)
        return endpoint->bytes[0] == 127;
    return endpoint->family == AF_INET6 &&
           (memcmp(endpoint->bytes, one, sizeof one) == 0 ||
            memcmp(endpoint->bytes, mapped, sizeof mapped) == 0);
}

bool jd__addresses_in_network(const struct jd_endpoint *endpoint,
                              const struct jd_endpoint *network, unsigned bits)
{
    unsigned most = endpoint->family == AF_INET ? 32 : 128;
    if (endpoint->family != network->family || bits > most)
        return false;
    if (memcmp(endpoint->bytes, network->bytes, bits / 8) != 0)
        return false;
    if (bits % 8 == 0)
        return true;
    unsigned difference = endpoint->bytes[bits / 8] ^ network->bytes[bits / 8];
    return difference >> (8 - bits % 8) == 0;
}
