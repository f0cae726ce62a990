/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interface_list.h - the text of JD_INTERFACE: "eth0,10.0.0.0/8" chooses
 * these, "^docker0" all but this, NULL or "" all.
 *
 *     status = jd__interface_list_check(text);
 *     if (jd__interface_list_chooses(text, "eth0", &address))
 *         ...
 *
 * Threads: any.
 */
#ifndef RUNTIME_COORDINATION_NET_INTERFACE_LIST_H
#define RUNTIME_COORDINATION_NET_INTERFACE_LIST_H

#include "base/status.h"
#include "runtime/coordination/net/addresses.h"

#include <stdbool.h>

/*
 * Returns JD_OK; INVALID_ARGUMENT naming JD_INTERFACE, its value and the entry
 * that is no name, network or address.
 */
jd_status jd__interface_list_check(const char *list);

/* Of a list that has been checked: whether it chooses an address of this
 * interface ("eth0:1" is one of eth0). */
bool jd__interface_list_chooses(const char *list, const char *interface,
                                const struct jd_endpoint *address);

/* True where it begins with ^. */
bool jd__interface_list_is_negated(const char *list);

#endif
