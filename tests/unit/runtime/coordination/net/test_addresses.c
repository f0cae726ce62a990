/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_addresses.c - addresses as text and as sockets have them, this host's
 * own in networks made for the test, and names with a resolver of the test's.
 */
#include "runtime/coordination/net/addresses.h"
#include "base/clock.h"
#include "runtime/coordination/net/interface_list.h"
#include "tests/unit/netns.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>

static struct jd_endpoint endpoint_of(const char *host, int port, int prefix)
{
    struct jd_endpoint endpoint = { .family = AF_INET };
    if (inet_pton(AF_INET, host, endpoint.bytes) != 1) {
        endpoint.family = AF_INET6;
        ck_assert_int_eq(inet_pton(AF_INET6, host, endpoint.bytes), 1);
    }
    endpoint.port = (uint16_t)port;
    endpoint.prefix = (uint8_t)prefix;
    return endpoint;
}

/* "10.0.0.1:7 [::1]:7" */
static const char *text_of(const struct jd_endpoints *endpoints)
{
    static char text[JD_MAX_ENDPOINTS * JD_ENDPOINT_TEXT];
    char one[JD_ENDPOINT_TEXT];
    text[0] = '\0';
    for (int i = 0; i < endpoints->count; i++) {
        jd__addresses_format(&endpoints->items[i], one);
        strcat(strcat(text, i ? " " : ""), one);
    }
    return text;
}

static int count_entries(const char *path)
{
    int count = 0;
    DIR *directory = opendir(path);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* ---- one address -------------------------------------------------------- */

static void expect_text(const char *host, int port, const char *expected)
{
    char text[JD_ENDPOINT_TEXT];
    struct jd_endpoint endpoint = endpoint_of(host, port, 0);
    jd__addresses_format(&endpoint, text);
    ck_assert_str_eq(text, expected);
}

START_TEST(an_endpoint_as_text)
{
    char text[JD_ENDPOINT_TEXT];
    struct jd_endpoint broken = { .family = 77, .port = 9 };
    expect_text("10.0.0.1", 1234, "10.0.0.1:1234");
    expect_text("fe80::1", 65535, "[fe80::1]:65535");
    expect_text("1111:2222:3333:4444:5555:6666:7777:8888", 1,
                "[1111:2222:3333:4444:5555:6666:7777:8888]:1");
    expect_text("::ffff:255.255.255.255", 65535,
                "[::ffff:255.255.255.255]:65535");
    jd__addresses_format(&broken, text);
    ck_assert_str_eq(text, "?:9");
}
END_TEST

static void expect_same_after_sockaddr(struct jd_endpoint endpoint,
                                       socklen_t length)
{
    struct sockaddr_storage address;
    struct jd_endpoint back;
    ck_assert_uint_eq(jd__addresses_sockaddr(&endpoint, &address), length);
    ck_assert(jd__addresses_from_sockaddr((struct sockaddr *)&address, &back));
    ck_assert_uint_eq(back.family, endpoint.family);
    ck_assert_uint_eq(back.port, endpoint.port);
    ck_assert_uint_eq(back.scope, endpoint.scope);
    ck_assert_uint_eq(back.prefix, 0);
    ck_assert_mem_eq(back.bytes, endpoint.bytes, sizeof back.bytes);
}

START_TEST(an_endpoint_as_sockaddr)
{
    struct jd_endpoint local = endpoint_of("fe80::1", 1234, 64);
    struct jd_endpoint broken = { .family = 77 };
    struct sockaddr_storage address;
    local.scope = 3;
    expect_same_after_sockaddr(local, sizeof(struct sockaddr_in6));
    expect_same_after_sockaddr(endpoint_of("10.0.0.1", 1234, 8),
                               sizeof(struct sockaddr_in));
    struct jd_endpoint v4 = endpoint_of("10.0.0.1", 0x1234, 8);
    jd__addresses_sockaddr(&v4, &address);
    const struct sockaddr_in *in = (const struct sockaddr_in *)&address;
    ck_assert_uint_eq(ntohs(in->sin_port), 0x1234);
    ck_assert_uint_eq(ntohl(in->sin_addr.s_addr), 0x0a000001);
    ck_assert_uint_eq(jd__addresses_sockaddr(&broken, &address), 0);
    address.ss_family = AF_UNIX;
    ck_assert(
        !jd__addresses_from_sockaddr((struct sockaddr *)&address, &broken));
}
END_TEST

START_TEST(which_are_loopback)
{
    static const char *const yes[] = { "127.0.0.1", "127.1.2.3", "::1",
                                       "::ffff:127.0.0.9" };
    static const char *const no[] = {
        "128.0.0.1", "10.0.0.127",      "::",     "::2", "1::1",
        "0.0.0.0",   "::ffff:10.0.0.1", "7f00::1"
    };
    struct jd_endpoint broken = { .family = 77, .bytes = { 127 } };
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        struct jd_endpoint endpoint = endpoint_of(yes[i], 1, 0);
        ck_assert_msg(jd__addresses_is_loopback(&endpoint), "%s", yes[i]);
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        struct jd_endpoint endpoint = endpoint_of(no[i], 1, 0);
        ck_assert_msg(!jd__addresses_is_loopback(&endpoint), "%s", no[i]);
    }
    ck_assert(!jd__addresses_is_loopback(&broken));
}
END_TEST

START_TEST(which_are_in_a_network)
{
    static const struct {
        const char *host, *network;
        unsigned bits;
        bool expected;
    } cases[] = {
        { "10.0.0.1", "10.0.0.1", 32, true },
        { "10.0.0.1", "10.0.0.2", 32, false },
        { "10.0.0.1", "10.0.0.2", 31, false },
        { "10.0.0.3", "10.0.0.2", 31, true },
        { "10.127.0.1", "10.0.0.0", 9, true },
        { "10.128.0.1", "10.0.0.0", 9, false },
        { "10.128.0.1", "10.0.0.0", 8, true },
        { "10.0.0.1", "200.0.0.0", 0, true },
        { "10.0.0.1", "10.0.0.1", 33, false },
        { "fd00::1", "fd00::2", 64, true },
        { "fd00::1", "fd00:0:0:1::2", 64, false },
        { "fd00::1", "fd00:0:0:1::2", 63, true },
        { "fd00::1", "fd00::1", 128, true },
        { "fd00::1", "fd00::1", 129, false },
        { "10.0.0.1", "::", 0, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jd_endpoint a = endpoint_of(cases[i].host, 1, 0);
        struct jd_endpoint b = endpoint_of(cases[i].network, 2, 0);
        ck_assert_msg(jd__addresses_in_network(&a, &b, cases[i].bits) ==
                          cases[i].expected,
                      "%s in %s/%u", cases[i].host, cases[i].network,
                      cases[i].bits);
    }
}
END_TEST

/* ---- this host's own ---------------------------------------------------- */

static void add_address(const char *interface, const char *address)
{
    netns_ip("addr add %s dev %s%s", address, interface,
             strchr(address, ':') ? " nodad" : "");
}

/*
 * a0 and b0 are up, c0 is down, d0 has no carrier:
 *   a0 10.1.2.3/16 fd00:1::3/64 fe80::3/64
 *   b0 169.254.7.7/16 10.2.0.1/24, and 10.2.0.2/24 as b0:1
 *   c0 10.3.0.1/24, d0 10.4.0.1/24
 */
static bool enter_network(const char *test)
{
    if (!netns_enter(test) || !netns_has_links(test))
        return false;
    netns_add_link("a0");
    netns_add_link("b0");
    netns_add_link("c0");
    netns_add_link("d0");
    add_address("a0", "10.1.2.3/16");
    add_address("a0", "fd00:1::3/64");
    add_address("a0", "fe80::3/64");
    add_address("b0", "169.254.7.7/16");
    add_address("b0", "10.2.0.1/24");
    netns_ip("addr add 10.2.0.2/24 dev b0 label b0:1");
    add_address("c0", "10.3.0.1/24");
    add_address("d0", "10.4.0.1/24");
    netns_set_up("a0p");
    netns_set_up("b0p");
    netns_up("a0");
    netns_up("b0");
    netns_set_up("d0");
    return true;
}

static void expect_list(const char *interfaces, bool loopback,
                        const char *expected)
{
    struct jd_endpoints endpoints;
    UNIT_OK(jd__interfaces_list(interfaces, loopback, 7, &endpoints));
    ck_assert_msg(strcmp(text_of(&endpoints), expected) == 0,
                  "%s: expected %s, got %s", interfaces ? interfaces : "NULL",
                  expected, text_of(&endpoints));
}

START_TEST(those_that_are_up)
{
    struct jd_endpoints endpoints;
    if (!enter_network("those_that_are_up"))
        return;
    expect_list(NULL, false,
                "10.1.2.3:7 10.2.0.1:7 10.2.0.2:7 [fd00:1::3]:7 "
                "169.254.7.7:7");
    expect_list("", false,
                "10.1.2.3:7 10.2.0.1:7 10.2.0.2:7 [fd00:1::3]:7 "
                "169.254.7.7:7");
    expect_list(NULL, true, "127.0.0.1:7 [::1]:7");
    expect_list("a0", true, "127.0.0.1:7 [::1]:7");
    UNIT_OK(jd__interfaces_list(NULL, false, 0, &endpoints));
    ck_assert_uint_eq(endpoints.items[0].prefix, 16);
    ck_assert_uint_eq(endpoints.items[0].port, 0);
    ck_assert_uint_eq(endpoints.items[1].prefix, 24);
    ck_assert_uint_eq(endpoints.items[3].prefix, 64);
}
END_TEST

START_TEST(those_of_the_list)
{
    static const struct {
        const char *interfaces, *expected;
    } cases[] = {
        { "a0", "10.1.2.3:7 [fd00:1::3]:7" },
        { "b0", "10.2.0.1:7 10.2.0.2:7 169.254.7.7:7" },
        { "b0:1", "10.2.0.2:7" },
        { "b0,a0", "10.1.2.3:7 10.2.0.1:7 10.2.0.2:7 [fd00:1::3]:7 "
                   "169.254.7.7:7" },
        { " a0 , eno1 ", "10.1.2.3:7 [fd00:1::3]:7" },
        { "10.0.0.0/8", "10.1.2.3:7 10.2.0.1:7 10.2.0.2:7" },
        { "10.2.99.99/16", "10.2.0.1:7 10.2.0.2:7" },
        { "fd00::/8", "[fd00:1::3]:7" },
        { "::/0", "[fd00:1::3]:7" },
        { "0.0.0.0/0", "10.1.2.3:7 10.2.0.1:7 10.2.0.2:7 169.254.7.7:7" },
        { "10.2.0.2", "10.2.0.2:7" },
        { "fd00:1::3,10.2.0.1/32", "10.2.0.1:7 [fd00:1::3]:7" },
        { "fe80::/10", "[fe80::3]:7" },
        { "^a0,169.254.0.0/16", "10.2.0.1:7 10.2.0.2:7" },
        { "^10.2.0.0/16,docker0", "10.1.2.3:7 [fd00:1::3]:7 169.254.7.7:7" },
        { "lo", "127.0.0.1:7 [::1]:7" },
        { "127.0.0.0/8", "127.0.0.1:7" },
        { "lo,a0", "10.1.2.3:7 [fd00:1::3]:7" },
    };
    if (!enter_network("those_of_the_list"))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_list(cases[i].interfaces, false, cases[i].expected);
}
END_TEST

#define HAVE                                                                   \
    "lo 127.0.0.1/8, a0 10.1.2.3/16, b0 169.254.7.7/16, b0 10.2.0.1/24, "      \
    "b0:1 10.2.0.2/24, lo ::1/128, a0 fd00:1::3/64, a0 fe80::3/64"

START_TEST(a_list_that_leaves_nothing)
{
    struct jd_endpoints endpoints = { .count = -5 };
    if (!enter_network("a_list_that_leaves_nothing"))
        return;
    int before = count_entries("/proc/self/fd");
    UNIT_FAILS(jd__interfaces_list("eth7", false, 7, &endpoints),
               JD_INVALID_ARGUMENT,
               "JD_INTERFACE=\"eth7\" leaves no address of this host; its "
               "interfaces that are up have " HAVE
               ": name one of them, or its network");
    /* c0 is down and d0 has no carrier */
    ck_assert_int_eq(jd__interfaces_list("c0", false, 7, &endpoints),
                     JD_INVALID_ARGUMENT);
    ck_assert_int_eq(jd__interfaces_list("d0", false, 7, &endpoints),
                     JD_INVALID_ARGUMENT);
    /* loopback is nothing that another host could use */
    ck_assert_int_eq(jd__interfaces_list("^a0,b0", false, 7, &endpoints),
                     JD_INVALID_ARGUMENT);
    ck_assert_int_eq(endpoints.count, -5);
    ck_assert_int_eq(count_entries("/proc/self/fd"), before);
}
END_TEST

START_TEST(loopback_where_nothing_else_is)
{
    if (!netns_enter("loopback_where_nothing_else_is"))
        return;
    expect_list(NULL, false, "127.0.0.1:7 [::1]:7");
    expect_list("^docker0", false, "127.0.0.1:7 [::1]:7");
}
END_TEST

START_TEST(link_local_where_nothing_else_is)
{
    struct jd_endpoints endpoints;
    const char *name = "link_local_where_nothing_else_is";
    if (!netns_enter(name) || !netns_has_links(name))
        return;
    netns_add_link("a0");
    add_address("a0", "fe80::3/64");
    netns_set_up("a0p");
    netns_up("a0");
    expect_list(NULL, false, "[fe80::3]:7");
    UNIT_OK(jd__interfaces_list(NULL, false, 7, &endpoints));
    ck_assert_uint_eq(endpoints.items[0].scope, if_nametoindex("a0"));
    add_address("a0", "169.254.7.7/16");
    expect_list(NULL, false, "169.254.7.7:7");
}
END_TEST

START_TEST(a_host_without_addresses)
{
    struct jd_endpoints endpoints;
    if (!netns_enter_bare("a_host_without_addresses"))
        return;
    UNIT_FAILS(jd__interfaces_list(NULL, false, 7, &endpoints), JD_NOT_FOUND,
               "this host has no interface that is up (addresses of those "
               "that are: none); bring one up (ip link set NAME up)");
    UNIT_FAILS(jd__interfaces_list("eth0", true, 7, &endpoints), JD_NOT_FOUND,
               "this host has no loopback interface that is up (addresses of "
               "those that are: none); bring one up (ip link set lo up)");
}
END_TEST

START_TEST(more_addresses_than_there_is_room)
{
    const char *name = "more_addresses_than_there_is_room";
    struct jd_endpoints endpoints;
    if (!netns_enter(name) || !netns_has_links(name))
        return;
    netns_add_link("a0");
    for (int i = 1; i <= JD_MAX_ENDPOINTS + 3; i++)
        netns_ip("addr add 10.0.0.%d/8 dev a0", i);
    netns_set_up("a0p");
    netns_up("a0");
    UNIT_OK(jd__interfaces_list(NULL, false, 7, &endpoints));
    ck_assert_int_eq(endpoints.count, JD_MAX_ENDPOINTS);
}
END_TEST

static void expect_bad_entry(const char *list, const char *entry)
{
    char sentence[512];
    struct jd_endpoints endpoints;
    snprintf(sentence, sizeof sentence,
             "JD_INTERFACE=\"%s\": \"%s\" is no interface name, network or "
             "address; it is a comma list of these "
             "(\"eth0,10.0.0.0/8,fd00::1\"), or one behind ^ for all but "
             "those",
             list, entry);
    UNIT_FAILS(jd__interfaces_list(list, false, 7, &endpoints),
               JD_INVALID_ARGUMENT, sentence);
    UNIT_FAILS(jd__interfaces_list(list, true, 7, &endpoints),
               JD_INVALID_ARGUMENT, sentence);
}

START_TEST(entries_that_are_none)
{
    expect_bad_entry("^", "");
    expect_bad_entry(",", "");
    expect_bad_entry("eth0,", "");
    expect_bad_entry("eth0, ,eth1", "");
    expect_bad_entry("^eth0,^eth1,10.0.0.0/33", "10.0.0.0/33");
    expect_bad_entry("10.0.0.0/", "10.0.0.0/");
    expect_bad_entry("10.0.0.0/-1", "10.0.0.0/-1");
    expect_bad_entry("10.0.0.0/8x", "10.0.0.0/8x");
    expect_bad_entry("10.0.0/8", "10.0.0/8");
    expect_bad_entry("10.0.0.300", "10.0.0.300");
    expect_bad_entry("fd00::/129", "fd00::/129");
    expect_bad_entry("fd00::1::2", "fd00::1::2");
    expect_bad_entry("eth0 eth1", "eth0 eth1");
    expect_bad_entry("interface0123456", "interface0123456");
    expect_bad_entry("an-interface-whose-name-is-longer-than-any-address-of-"
                     "any-kind-is",
                     "an-interface-whose-name-is-longer-than-any-address-of-"
                     "any-kind-");
}
END_TEST

static bool chooses(const char *list, const char *interface)
{
    struct jd_endpoint endpoint = endpoint_of("10.0.0.1", 0, 0);
    ck_assert_int_eq(jd__interface_list_check(list), JD_OK);
    return jd__interface_list_chooses(list, interface, &endpoint);
}

START_TEST(names_are_whole)
{
    ck_assert(chooses("eth0", "eth0"));
    ck_assert(chooses("eth0", "eth0:1"));
    ck_assert(!chooses("eth0", "eth01"));
    ck_assert(!chooses("eth0", "eth"));
    ck_assert(!chooses("eth0:1", "eth0"));
    ck_assert(chooses("interface012345", "interface012345"));
    ck_assert(!chooses("^eth0", "eth0"));
    ck_assert(chooses("^eth0", "eth1"));
    ck_assert(chooses(NULL, "eth1"));
}
END_TEST

/* Another host in 10.1.0.0/16 too, with a bridge like b0 of its own. */
START_TEST(shared_networks_come_first)
{
    if (!enter_network("shared_networks_come_first"))
        return;
    struct jd_endpoints theirs = {
        .count = 9,
        .items = { endpoint_of("192.168.0.9", 7, 24),
                   endpoint_of("10.2.0.1", 7, 24), /* as b0 */
                   endpoint_of("10.3.0.9", 7, 24), /* c0 is down */
                   endpoint_of("fd00:2::9", 7, 64),
                   endpoint_of("10.1.99.9", 7, 16),
                   endpoint_of("10.2.0.9", 7, 0),    /* not known */
                   endpoint_of("10.1.99.10", 7, 24), /* of another size */
                   endpoint_of("fd00:1::9", 7, 64),
                   endpoint_of("10.2.0.77", 7, 24) },
    };
    jd__interfaces_sort(&theirs);
    ck_assert_str_eq(text_of(&theirs),
                     "10.1.99.9:7 [fd00:1::9]:7 10.2.0.77:7 "
                     "192.168.0.9:7 10.3.0.9:7 [fd00:2::9]:7 10.2.0.9:7 "
                     "10.1.99.10:7 10.2.0.1:7");
}
END_TEST

START_TEST(our_own_keep_their_order)
{
    struct jd_endpoints all;
    char before[JD_MAX_ENDPOINTS * JD_ENDPOINT_TEXT];
    UNIT_OK(jd__interfaces_list(NULL, false, 7, &all));
    strcpy(before, text_of(&all));
    jd__interfaces_sort(&all);
    ck_assert_str_eq(text_of(&all), before);
    all.count = 0;
    jd__interfaces_sort(&all);
    ck_assert_int_eq(all.count, 0);
}
END_TEST

/* ---- names -------------------------------------------------------------- */

/*
 * Instead of the C library's, for names under "test": "two.test" has two
 * addresses, one of them twice, "slow.test" waits until it is let go, and
 * the others fail.
 */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool let_go;
    int lookups; /* that may ask a server */
    int freed;
    bool took_signals;
} resolver = { .lock = PTHREAD_MUTEX_INITIALIZER,
               .changed = PTHREAD_COND_INITIALIZER };

static void forget_lookups(void)
{
    pthread_mutex_lock(&resolver.lock);
    resolver.lookups = 0;
    resolver.freed = 0;
    pthread_mutex_unlock(&resolver.lock);
}

struct fake {
    struct addrinfo info;
    struct sockaddr_in address;
};

static struct addrinfo *make_fake(const char *host, struct addrinfo *next)
{
    struct fake *fake = calloc(1, sizeof *fake);
    fake->address.sin_family = AF_INET;
    inet_pton(AF_INET, host, &fake->address.sin_addr);
    fake->info.ai_family = AF_INET;
    fake->info.ai_addr = (struct sockaddr *)&fake->address;
    fake->info.ai_flags = -77; /* so that freeaddrinfo knows it */
    fake->info.ai_next = next;
    return &fake->info;
}

static int look_up_fake(const char *name, struct addrinfo **ret_found)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    pthread_mutex_lock(&resolver.lock);
    resolver.took_signals |= !sigismember(&mask, SIGTERM);
    while (strcmp(name, "slow.test") == 0 && !resolver.let_go)
        pthread_cond_wait(&resolver.changed, &resolver.lock);
    pthread_mutex_unlock(&resolver.lock);
    if (strcmp(name, "gone.test") == 0)
        return EAI_NONAME;
    if (strcmp(name, "memory.test") == 0)
        return EAI_MEMORY;
    if (strcmp(name, "system.test") == 0) {
        errno = EMFILE;
        return EAI_SYSTEM;
    }
    *ret_found = make_fake("10.0.0.1",
                           make_fake("10.0.0.2", make_fake("10.0.0.1", NULL)));
    return 0;
}

int getaddrinfo(const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints,
                struct addrinfo **restrict ret_found)
{
    typedef int function(const char *, const char *, const struct addrinfo *,
                         struct addrinfo **);
    if (!(hints->ai_flags & AI_NUMERICHOST)) {
        pthread_mutex_lock(&resolver.lock);
        resolver.lookups++;
        pthread_mutex_unlock(&resolver.lock);
    }
    if (!(hints->ai_flags & AI_NUMERICHOST) && strstr(node, ".test"))
        return look_up_fake(node, ret_found);
    function *real;
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(node, service, hints, ret_found);
}

void freeaddrinfo(struct addrinfo *found)
{
    typedef void function(struct addrinfo *);
    function *real;
    if (found->ai_flags != -77) {
        *(void **)&real = dlsym(RTLD_NEXT, "freeaddrinfo");
        real(found);
        return;
    }
    for (struct addrinfo *next; found; found = next) {
        next = found->ai_next;
        free(found);
    }
    pthread_mutex_lock(&resolver.lock);
    resolver.freed++;
    pthread_cond_broadcast(&resolver.changed);
    pthread_mutex_unlock(&resolver.lock);
}

static void expect_resolved(const char *text, const char *expected)
{
    struct jd_endpoints endpoints;
    UNIT_OK(jd__resolve_address(text, 30, &endpoints));
    ck_assert_str_eq(text_of(&endpoints), expected);
}

/* Threads that ask a resolver. */
static int count_resolvers(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *d; (d = readdir(tasks));) {
        char path[330], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", d->d_name);
        FILE *file = d->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (!file) /* it has ended meanwhile */
            continue;
        if (fgets(name, sizeof name, file))
            count += strcmp(name, "jd-resolve\n") == 0;
        fclose(file);
    }
    closedir(tasks);
    return count;
}

/* The kernel shows a beginning and an end a moment later. */
static void expect_resolvers(int expected)
{
    double deadline = jd__clock_now() + 20;
    while (count_resolvers() != expected) {
        ck_assert_double_lt(jd__clock_now(), deadline);
        sched_yield();
    }
}

/* Waits until so many answers are freed, by whichever side leaves last. */
static void expect_freed(int expected)
{
    pthread_mutex_lock(&resolver.lock);
    while (resolver.freed < expected)
        pthread_cond_wait(&resolver.changed, &resolver.lock);
    ck_assert_int_eq(resolver.freed, expected);
    pthread_mutex_unlock(&resolver.lock);
}

START_TEST(numbers_need_no_resolver)
{
    struct jd_endpoints endpoints;
    expect_resolved("10.0.0.1:1234", "10.0.0.1:1234");
    expect_resolved("[::1]:1", "[::1]:1");
    expect_resolved("[fd00::1]:65535", "[fd00::1]:65535");
    UNIT_OK(jd__resolve_address("127.0.0.1:5", 0, &endpoints));
    UNIT_OK(jd__resolve_address("[fe80::1%lo]:5", 0, &endpoints));
    ck_assert_uint_eq(endpoints.items[0].scope, if_nametoindex("lo"));
    ck_assert_int_eq(count_resolvers(), 0);
    ck_assert_int_eq(resolver.lookups, 0);
}
END_TEST

START_TEST(texts_that_are_no_address)
{
    struct jd_endpoints endpoints = { .count = -5 };
    UNIT_FAILS(jd__resolve_address("node7", 30, &endpoints),
               JD_INVALID_ARGUMENT,
               "\"node7\" is no address: it is \"host:port\", the port 1 to "
               "65535, an IPv6 address in brackets (\"node7:1234\", "
               "\"[fd00::1]:1234\")");
    UNIT_FAILS(jd__resolve_address("[fd00:x]:12", 30, &endpoints),
               JD_INVALID_ARGUMENT,
               "\"[fd00:x]:12\" is no address: between the brackets stands an "
               "IPv6 address (\"[fd00::1]:1234\")");
    static const char *const texts[] = { "",      ":1",    "a:0",  "a:65536",
                                         "::1:1", "[::1]", "a b:1" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(jd__resolve_address(texts[i], 30, &endpoints) ==
                          JD_INVALID_ARGUMENT,
                      "%s", texts[i]);
    ck_assert_int_eq(endpoints.count, -5);
    ck_assert_int_eq(resolver.lookups, 0);
}
END_TEST

START_TEST(a_name_has_each_address_once)
{
    expect_resolved("two.test:99", "10.0.0.1:99 10.0.0.2:99");
    expect_freed(1);
    ck_assert_int_eq(resolver.lookups, 1);
    ck_assert(!resolver.took_signals);
    UNIT_OK(jd__resolve_address("two.test:99", (double)INFINITY,
                                &(struct jd_endpoints){ .count = 0 }));
    expect_freed(2);
}
END_TEST

START_TEST(names_that_are_not_known)
{
    struct jd_endpoints endpoints = { .count = -5 };
    int before = count_entries("/proc/self/fd");
    UNIT_FAILS(jd__resolve_address("gone.test:1", 30, &endpoints), JD_NOT_FOUND,
               "looking up \"gone.test\": Name or service not known; give a "
               "name that this host can look up (getent hosts gone.test), or "
               "an IP address");
    UNIT_FAILS(jd__resolve_address("system.test:1", 30, &endpoints),
               JD_NOT_FOUND,
               "looking up \"system.test\": Too many open files; give a name "
               "that this host can look up (getent hosts system.test), or an "
               "IP address");
    ck_assert_int_eq(jd__resolve_address("memory.test:1", 30, &endpoints),
                     JD_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(endpoints.count, -5);
    ck_assert_int_eq(count_entries("/proc/self/fd"), before);
}
END_TEST

static void let_go(void)
{
    pthread_mutex_lock(&resolver.lock);
    ck_assert_int_eq(resolver.freed, 0);
    resolver.let_go = true;
    pthread_cond_broadcast(&resolver.changed);
    pthread_mutex_unlock(&resolver.lock);
}

/* The threads left behind come back to requests that only they hold. */
START_TEST(a_resolver_that_does_not_answer)
{
    struct jd_endpoints endpoints = { .count = -5 };
    double begin = jd__clock_now();
    for (int i = 0; i < 20; i++)
        UNIT_FAILS(jd__resolve_address("slow.test:1", 0.02, &endpoints),
                   JD_DEADLINE_EXCEEDED,
                   "looking up \"slow.test\": the resolver has not answered "
                   "within 0.02 s; give the host's IP address instead, or "
                   "mend its name service (/etc/resolv.conf)");
    ck_assert_double_ge(jd__clock_now() - begin, 20 * 0.02);
    ck_assert_int_eq(jd__resolve_address("slow.test:1", 0, &endpoints),
                     JD_DEADLINE_EXCEEDED);
    ck_assert_int_eq(endpoints.count, -5);
    expect_resolvers(21);
    let_go();
    expect_freed(21);
    expect_resolvers(0);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("address");
    TCase *one = unit_case(suite, "one");
    tcase_add_test(one, an_endpoint_as_text);
    tcase_add_test(one, an_endpoint_as_sockaddr);
    tcase_add_test(one, which_are_loopback);
    tcase_add_test(one, which_are_in_a_network);
    TCase *own = unit_case(suite, "own");
    tcase_set_timeout(own, 60);
    tcase_add_test(own, those_that_are_up);
    tcase_add_test(own, those_of_the_list);
    tcase_add_test(own, a_list_that_leaves_nothing);
    tcase_add_test(own, loopback_where_nothing_else_is);
    tcase_add_test(own, link_local_where_nothing_else_is);
    tcase_add_test(own, a_host_without_addresses);
    tcase_add_test(own, more_addresses_than_there_is_room);
    tcase_add_test(own, entries_that_are_none);
    tcase_add_test(own, names_are_whole);
    tcase_add_test(own, shared_networks_come_first);
    tcase_add_test(own, our_own_keep_their_order);
    TCase *names = unit_case(suite, "names");
    tcase_add_checked_fixture(names, forget_lookups, NULL);
    tcase_set_timeout(names, 60);
    tcase_add_test(names, numbers_need_no_resolver);
    tcase_add_test(names, texts_that_are_no_address);
    tcase_add_test(names, a_name_has_each_address_once);
    tcase_add_test(names, names_that_are_not_known);
    tcase_add_test(names, a_resolver_that_does_not_answer);
    return suite;
}

int main(void)
{
    return unit_main(make_suite());
}
