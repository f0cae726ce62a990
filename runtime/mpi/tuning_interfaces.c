/* SPDX-License-Identifier: BSD-3-Clause */
/* tuning_interfaces.c - JD_INTERFACE as Open MPI's TCP transport reads it. */
#include "runtime/mpi/tuning.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#define MPIS_OWN_EXCLUSIONS "127.0.0.1/8,sppp" /* which ours would replace */

/* Adds an entry; false where the text has no room for it. */
static bool append_entry(struct jd_tune_interfaces *to, const char *entry)
{
    size_t length = strlen(to->text), room = sizeof to->text - length;
    int n = snprintf(to->text + length, room, "%s%s", length ? "," : "", entry);
    if ((size_t)n < room)
        return true;
    to->text[length] = '\0';
    return false;
}

/* "10.0.0.0/8" as it is, "10.0.0.1" as the network of one; true for either. */
static bool add_ipv4(struct jd_tune_interfaces *to, const char *entry)
{
    char network[80];
    struct in_addr address;
    size_t length = strcspn(entry, "/");
    snprintf(network, sizeof network, "%.*s", (int)length, entry);
    if (inet_pton(AF_INET, network, &address) != 1)
        return false;
    snprintf(network, sizeof network, "%s%s", entry,
             entry[length] ? "" : "/32");
    append_entry(to, network);
    return true;
}

/* A name that this host does not have is an error to Open MPI; "eth0:1" is
 * one of eth0's addresses. IPv6 it cannot choose by. */
static void add_entry(struct jd_tune_interfaces *to, const char *entry)
{
    char name[IF_NAMESIZE];
    struct in6_addr address;
    size_t length = strcspn(entry, ":");
    if (add_ipv4(to, entry) || length >= sizeof name || strchr(entry, '/') ||
        inet_pton(AF_INET6, entry, &address) == 1)
        return;
    snprintf(name, sizeof name, "%.*s", (int)length, entry);
    if (to->excludes || if_nametoindex(name))
        append_entry(to, name);
}

void jd__tuning_interfaces(const char *list,
                           struct jd_tune_interfaces *ret_interfaces)
{
    struct jd_tune_interfaces to = { .excludes = list && list[0] == '^' };
    if (to.excludes)
        append_entry(&to, MPIS_OWN_EXCLUSIONS);
    for (const char *at = list ? list + to.excludes : ""; *at;) {
        char entry[64];
        size_t length = strcspn(at, ",");
        snprintf(entry, sizeof entry, "%.*s", (int)length, at);
        add_entry(&to, entry);
        at += length + (at[length] == ',');
    }
    *ret_interfaces = to;
}
