/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * netns.h - a network of a test's own: this process leaves the host's for an
 * empty one with loopback up, and makes what else it needs with ip(8).
 *
 *     if (!netns_enter("the_test"))
 *         return;    (it has said on standard error why)
 *     netns_ip("link add a0 type veth peer name a1");
 *     netns_up("a0");
 *
 * A process cannot come back, so each test needs one of its own, which is
 * what Check does by itself.
 */
#ifndef TESTS_UNIT_NETNS_H
#define TESTS_UNIT_NETNS_H

#include "base/clock.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* For what changes the whole process. */
static inline bool netns_is_own_process(const char *test)
{
    const char *fork = getenv("CK_FORK");
    if (!fork || strcmp(fork, "no") != 0)
        return true;
    fprintf(stderr,
            "# %s: skipped, it needs a process of its own, but "
            "CK_FORK=no\n",
            test);
    return false;
}

static inline short netns_flags(const char *interface)
{
    struct ifreq request = { .ifr_flags = 0 };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
    ck_assert_int_eq(ioctl(fd, SIOCGIFFLAGS, &request), 0);
    close(fd);
    return request.ifr_flags;
}

static inline void netns_set_up(const char *interface)
{
    struct ifreq request = { .ifr_flags = 0 };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
    request.ifr_flags = (short)(netns_flags(interface) | IFF_UP);
    ck_assert_int_eq(ioctl(fd, SIOCSIFFLAGS, &request), 0);
    close(fd);
}

/* Up and with a carrier, which the kernel shows a moment later. */
static inline void netns_up(const char *interface)
{
    double deadline = jd__clock_now() + 20;
    netns_set_up(interface);
    while (!(netns_flags(interface) & IFF_RUNNING)) {
        ck_assert_msg(jd__clock_now() < deadline, "%s has no carrier",
                      interface);
        sched_yield();
    }
}

/* Becomes root of a user namespace, so that ip(8) may change its network. */
static inline bool netns_become_root(void)
{
    char map[32];
    int length = snprintf(map, sizeof map, "0 %u 1", (unsigned)geteuid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return false;
    int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, map, (size_t)length) == length;
    if (fd >= 0)
        close(fd);
    return written;
}

/* Without loopback. */
static inline bool netns_enter_bare(const char *test)
{
    if (!netns_is_own_process(test))
        return false;
    if (unshare(CLONE_NEWNET) == 0 || netns_become_root())
        return true;
    fprintf(stderr, "# %s: skipped, no network namespace: %s\n", test,
            strerror(errno));
    return false;
}

static inline bool netns_enter(const char *test)
{
    if (!netns_enter_bare(test))
        return false;
    netns_up("lo");
    return true;
}

/* True where ip(8) can make links here. */
static inline bool netns_has_links(const char *test)
{
    if (system("ip link add jd0 type veth peer name jd1 >&2 &&"
               " ip link del jd0 >&2") == 0)
        return true;
    fprintf(stderr, "# %s: skipped, ip(8) cannot make veth links here\n", test);
    return false;
}

__attribute__((format(printf, 1, 2))) static inline void
netns_ip(const char *format, ...)
{
    char arguments[200], command[256];
    va_list args;
    va_start(args, format);
    vsnprintf(arguments, sizeof arguments, format, args);
    va_end(args);
    snprintf(command, sizeof command, "ip %s >&2", arguments);
    ck_assert_msg(system(command) == 0, "failed: %s", command);
}

/* A pair of links NAME and NAMEp without addresses of their own making. */
static inline void netns_add_link(const char *name)
{
    netns_ip("link add %s type veth peer name %sp", name, name);
    netns_ip("link set %s addrgenmode none", name);
    netns_ip("link set %sp addrgenmode none", name);
}

/* Writes a setting of the kernel's; false where there is none. */
static inline bool netns_sysctl(const char *path, const char *value)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool written = write(fd, value, strlen(value)) == (ssize_t)strlen(value);
    close(fd);
    return written;
}

#endif
