/* SPDX-License-Identifier: BSD-3-Clause */
/* interface_list.c - the text of JD_INTERFACE. */
#include "base/parse.h"
#include "runtime/coordination/net/interface_list.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <net/if.h>
#include <string.h>

enum { ENTRY_TEXT = 64 }; /* longer than any address with its prefix */

/* One entry: a name, or an address with the bits of it that count. */
struct interface_entry {
    char text[ENTRY_TEXT];
    bool is_name;
    struct jd_endpoint address;
    unsigned bits;
};

static bool is_blank(const char *list)
{
    return !list || !*list;
}

bool jd__interface_list_is_negated(const char *list)
{
    return list && list[0] == '^';
}

static bool parse_host(const char *text, struct jd_endpoint *ret_address)
{
    struct jd_endpoint address = { .family = AF_INET };
    if (inet_pton(AF_INET, text, address.bytes) != 1) {
        address.family = AF_INET6;
        if (inet_pton(AF_INET6, text, address.bytes) != 1)
            return false;
    }
    *ret_address = address;
    return true;
}

/* An address, with or without /bits. */
static bool parse_network(struct interface_entry *entry)
{
    char host[ENTRY_TEXT];
    long long bits;
    size_t length = strcspn(entry->text, "/");
    memcpy(host, entry->text, length);
    host[length] = '\0';
    if (!parse_host(host, &entry->address))
        return false;
    int most = entry->address.family == AF_INET ? 32 : 128;
    entry->bits = (unsigned)most;
    if (!entry->text[length])
        return true;
    if (!jd__parse_integer(entry->text + length + 1, &bits) || bits < 0 ||
        bits > most)
        return false;
    entry->bits = (unsigned)bits;
    return true;
}

/* True for what the kernel allows, except what is plainly an address with a
 * slip in it: nothing but digits and dots, or several colons. */
static bool is_interface_name(const char *text)
{
    if (strlen(text) >= IFNAMSIZ ||
        strspn(text, "0123456789.") == strlen(text) ||
        strchr(text, ':') != strrchr(text, ':'))
        return false;
    for (; *text; text++)
        if (*text == '/' || isspace((unsigned char)*text))
            return false;
    return true;
}

static bool parse_entry(struct interface_entry *entry)
{
    entry->is_name = false;
    if (parse_network(entry))
        return true;
    entry->is_name = true;
    return is_interface_name(entry->text);
}

/*
 * Copies the entry at *list without the blanks around it, cut to fit, and
 * moves *list behind it: NULL at the end.
 */
static void next_entry(const char **list, struct interface_entry *entry)
{
    const char *begin = *list;
    const char *end = begin + strcspn(begin, ",");
    *list = *end ? end + 1 : NULL;
    while (begin < end && isspace((unsigned char)*begin))
        begin++;
    while (begin < end && isspace((unsigned char)end[-1]))
        end--;
    size_t length = (size_t)(end - begin);
    if (length > ENTRY_TEXT - 1)
        length = ENTRY_TEXT - 1;
    memcpy(entry->text, begin, length);
    entry->text[length] = '\0';
}

jd_status jd__interface_list_check(const char *list)
{
    struct interface_entry entry;
    const char *at = list;
    if (is_blank(list))
        return JD_OK;
    at += jd__interface_list_is_negated(list);
    while (at) {
        next_entry(&at, &entry);
        if (!parse_entry(&entry))
            return jd_fail(JD_INVALID_ARGUMENT,
                           "JD_INTERFACE=\"%s\": \"%s\" is no interface name, "
                           "network or address; it is a comma list of these "
                           "(\"eth0,10.0.0.0/8,fd00::1\"), or one behind ^ for "
                           "all but those",
                           list, entry.text);
    }
    return JD_OK;
}

static bool entry_matches(const struct interface_entry *entry,
                          const char *interface,
                          const struct jd_endpoint *address)
{
    if (!entry->is_name)
        return jd__addresses_in_network(address, &entry->address, entry->bits);
    size_t length = strlen(entry->text);
    return strncmp(interface, entry->text, length) == 0 &&
           (interface[length] == '\0' || interface[length] == ':');
}

bool jd__interface_list_chooses(const char *list, const char *interface,
                                const struct jd_endpoint *address)
{
    struct interface_entry entry;
    bool negated = jd__interface_list_is_negated(list);
    const char *at = list;
    if (is_blank(list))
        return true;
    at += negated;
    while (at) {
        next_entry(&at, &entry);
        if (parse_entry(&entry) && entry_matches(&entry, interface, address))
            return !negated;
    }
    return negated;
}
