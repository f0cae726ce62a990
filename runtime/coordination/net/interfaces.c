/* SPDX-License-Identifier: BSD-3-Clause */
/* interfaces.c - this host's own addresses: which there are, which of them
 * JD_INTERFACE chooses, and which networks another host shares. */
#include "base/text.h"
#include "runtime/coordination/net/addresses.h"
#include "runtime/coordination/net/interface_list.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* The better the lower. Only the best kind is used, except that the first two
 * go together. */
enum interface_kind {
    KIND_GLOBAL,
    KIND_LINK_LOCAL_V4,
    KIND_LINK_LOCAL_V6,
    KIND_LOOPBACK
};

static enum interface_kind kind_of(const struct jd_endpoint *endpoint)
{
    const uint8_t *bytes = endpoint->bytes;
    if (jd__addresses_is_loopback(endpoint))
        return KIND_LOOPBACK;
    if (endpoint->family == AF_INET)
        return bytes[0] == 169 && bytes[1] == 254 ? KIND_LINK_LOCAL_V4
                                                  : KIND_GLOBAL;
    return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80 ? KIND_LINK_LOCAL_V6
                                                         : KIND_GLOBAL;
}

/* ---- what there is ------------------------------------------------------ */

/* The set bits of a netmask; 0 where there is none. */
static uint8_t prefix_of(const struct sockaddr *mask, uint16_t family)
{
    struct jd_endpoint bits;
    unsigned count = 0;
    if (!mask || !jd__addresses_from_sockaddr(mask, &bits) ||
        bits.family != family)
        return 0;
    for (int i = 0; i < 16; i++)
        count += (unsigned)__builtin_popcount(bits.bytes[i]);
    return (uint8_t)count;
}

/* True where the interface can carry something now, and the address is one
 * that a socket can have. */
static bool read_own(const struct ifaddrs *entry, struct jd_endpoint *ret_own)
{
    unsigned needed = IFF_UP | IFF_RUNNING;
    if (!entry->ifa_addr || (entry->ifa_flags & needed) != needed ||
        !jd__addresses_from_sockaddr(entry->ifa_addr, ret_own))
        return false;
    ret_own->prefix = prefix_of(entry->ifa_netmask, ret_own->family);
    return true;
}

static jd_status get_own(struct ifaddrs **ret_own)
{
    if (getifaddrs(ret_own) == 0)
        return JD_OK;
    return jd_fail(errno == ENOMEM || errno == EMFILE || errno == ENFILE
                       ? JD_RESOURCE_EXHAUSTED
                       : JD_INTERNAL,
                   "the addresses of this host cannot be listed: getifaddrs: "
                   "%s",
                   strerror(errno));
}

static void print_own(FILE *out, const struct ifaddrs *own)
{
    struct jd_endpoint endpoint;
    char text[JD_ENDPOINT_TEXT];
    const char *separator = "";
    for (; own; own = own->ifa_next) {
        if (!read_own(own, &endpoint))
            continue;
        jd__addresses_format_host(&endpoint, text);
        fprintf(out, "%s%s %s/%d", separator, own->ifa_name, text,
                endpoint.prefix);
        separator = ", ";
    }
    if (!*separator)
        fputs("none", out);
}

void jd__interfaces_print(FILE *out)
{
    struct ifaddrs *own = NULL;
    if (getifaddrs(&own) != 0)
        own = NULL;
    print_own(out, own);
    freeifaddrs(own);
}

/* ---- which of them are chosen ------------------------------------------- */

static bool has_other_than_loopback(const struct ifaddrs *own)
{
    struct jd_endpoint endpoint;
    for (; own; own = own->ifa_next)
        if (read_own(own, &endpoint) && kind_of(&endpoint) != KIND_LOOPBACK)
            return true;
    return false;
}

/* Adds those of one kind that the list chooses, as far as there is room. */
static void add_kind(const struct ifaddrs *own, enum interface_kind kind,
                     const char *interfaces, struct jd_endpoints *endpoints)
{
    struct jd_endpoint endpoint;
    for (; own && endpoints->count < JD_MAX_ENDPOINTS; own = own->ifa_next)
        if (read_own(own, &endpoint) && kind_of(&endpoint) == kind &&
            jd__interface_list_chooses(interfaces, own->ifa_name, &endpoint))
            endpoints->items[endpoints->count++] = endpoint;
}

static void choose_addresses(const struct ifaddrs *own, const char *interfaces,
                             bool loopback, struct jd_endpoints *endpoints)
{
    endpoints->count = 0;
    if (loopback) {
        add_kind(own, KIND_LOOPBACK, NULL, endpoints);
        return;
    }
    add_kind(own, KIND_GLOBAL, interfaces, endpoints);
    add_kind(own, KIND_LINK_LOCAL_V4, interfaces, endpoints);
    if (!endpoints->count)
        add_kind(own, KIND_LINK_LOCAL_V6, interfaces, endpoints);
    /* To forbid the others is not yet to ask for loopback. */
    bool is_meant = !jd__interface_list_is_negated(interfaces) ||
                    !has_other_than_loopback(own);
    if (!endpoints->count && is_meant)
        add_kind(own, KIND_LOOPBACK, interfaces, endpoints);
}

/* Explains why none is left. */
static jd_status fail_none(const struct ifaddrs *own, const char *interfaces,
                           bool loopback)
{
    struct jd_text written;
    jd_status status;
    FILE *out = jd__text_begin(&written);
    if (out)
        print_own(out, own);
    char *have = jd__text_end(&written);
    if (loopback || !interfaces || !*interfaces)
        status = jd_fail(JD_NOT_FOUND,
                         "this host has no %s that is up (addresses of those "
                         "that are: %s); bring one up (ip link set %s up)",
                         loopback ? "loopback interface" : "interface",
                         have ? have : "unknown", loopback ? "lo" : "NAME");
    else
        status = jd_fail(JD_INVALID_ARGUMENT,
                         "JD_INTERFACE=\"%s\" leaves no address of this host; "
                         "its interfaces that are up have %s: name one of "
                         "them, or its network",
                         interfaces, have ? have : "unknown ones");
    free(have);
    return status;
}

jd_status jd__interfaces_list(const char *interfaces, bool loopback, int port,
                              struct jd_endpoints *ret_endpoints)
{
    struct ifaddrs *own;
    struct jd_endpoints endpoints;
    jd_status status = jd__interface_list_check(interfaces);
    if (status != JD_OK)
        return status;
    status = get_own(&own);
    if (status != JD_OK)
        return status;
    choose_addresses(own, interfaces, loopback, &endpoints);
    for (int i = 0; i < endpoints.count; i++)
        endpoints.items[i].port = (uint16_t)port;
    if (endpoints.count)
        *ret_endpoints = endpoints;
    else
        status = fail_none(own, interfaces, loopback);
    freeifaddrs(own);
    return status;
}

/* ---- which of another host's come first --------------------------------- */

enum nearness { NEAR_SHARED_NETWORK, NEAR_ELSEWHERE, NEAR_OWN, NUM_NEARNESSES };

static enum nearness nearness_of(const struct jd_endpoint *endpoint,
                                 const struct ifaddrs *own)
{
    enum nearness nearness = NEAR_ELSEWHERE;
    struct jd_endpoint mine;
    for (; own; own = own->ifa_next) {
        if (!read_own(own, &mine))
            continue;
        if (jd__addresses_in_network(endpoint, &mine,
                                     mine.family == AF_INET ? 32 : 128))
            return NEAR_OWN;
        if (endpoint->prefix && endpoint->prefix == mine.prefix &&
            jd__addresses_in_network(endpoint, &mine, mine.prefix))
            nearness = NEAR_SHARED_NETWORK;
    }
    return nearness;
}

void jd__interfaces_sort(struct jd_endpoints *endpoints)
{
    struct jd_endpoints sorted = { .count = 0 };
    struct ifaddrs *own;
    if (getifaddrs(&own) != 0)
        return; /* any order works, only slower */
    for (int wanted = 0; wanted < NUM_NEARNESSES; wanted++)
        for (int i = 0; i < endpoints->count; i++)
            if ((int)nearness_of(&endpoints->items[i], own) == wanted)
                sorted.items[sorted.count++] = endpoints->items[i];
    freeifaddrs(own);
    *endpoints = sorted;
}
