/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_listen.c - sockets that listen, on both families and on one; and
 * who has a port that is in use.
 */
#include "runtime/coordination/net/listen.h"
#include "tests/unit/netns.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <limits.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- a kernel that refuses ---------------------------------------------- */

static bool has_no_ipv6;  /* as with ipv6.disable=1 */
static int refused_on_v6; /* so many more find their port in use */
static int asked_on_v6;

int socket(int domain, int type, int protocol)
{
    if (has_no_ipv6 && domain == AF_INET6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return (int)syscall(SYS_socket, domain, type, protocol);
}

int listen(int fd, int backlog)
{
    int domain = 0;
    socklen_t size = sizeof domain;
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    asked_on_v6 += domain == AF_INET6;
    if (domain == AF_INET6 && refused_on_v6 && refused_on_v6--) {
        errno = EADDRINUSE;
        return -1;
    }
    return (int)syscall(SYS_listen, fd, backlog);
}

/* ---- what the tests share ----------------------------------------------- */

static int count_fds(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static struct sockaddr_storage address_of(const char *host, int port,
                                          socklen_t *ret_length)
{
    struct jd_endpoint endpoint = { .family = AF_INET, .port = (uint16_t)port };
    struct sockaddr_storage address;
    if (inet_pton(AF_INET, host, endpoint.bytes) != 1) {
        endpoint.family = AF_INET6;
        ck_assert_int_eq(inet_pton(AF_INET6, host, endpoint.bytes), 1);
    }
    *ret_length = jd__addresses_sockaddr(&endpoint, &address);
    return address;
}

/* A connection, or -1. */
static int reach(const char *host, int port)
{
    socklen_t length;
    struct sockaddr_storage address = address_of(host, port, &length);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool can_reach(const char *host, int port)
{
    int fd = reach(host, port);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool host_has_ipv6(void)
{
    socklen_t length;
    struct sockaddr_storage address = address_of("::1", 0, &length);
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0;
    close(fd);
    return bound;
}

static struct jd_listen everywhere(int port)
{
    return (struct jd_listen){ .port = port, .variable = "JD_TEST" };
}

static struct jd_listen on_loopback(int port)
{
    return (struct jd_listen){ .port = port,
                               .loopback = true,
                               .variable = "JD_TEST" };
}

/* "host:port"; the text is the caller's until listening is over. */
static struct jd_listen on_text(char text[64], const char *host, int port)
{
    snprintf(text, 64, "%s:%d", host, port);
    return (
        struct jd_listen){ .bind = text, .variable = "JD_TEST", .timeout = 30 };
}

static void expect_failure(struct jd_listen spec, jd_status status,
                           const char *sentence)
{
    struct jd_listeners listeners = { .count = -5 };
    int before = count_fds();
    UNIT_FAILS(jd__listen_open(&spec, &listeners), status, sentence);
    ck_assert_int_eq(listeners.count, -5);
    ck_assert_int_eq(count_fds(), before);
}

/* ---- listening ---------------------------------------------------------- */

static int backlog_of(int fd)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    return (int)info.tcpi_sacked; /* of a listening socket: its backlog */
}

static int backlog_limit(void)
{
    int limit = 0;
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "re");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%d", &limit), 1);
    fclose(file);
    return limit;
}

START_TEST(everywhere_is_both_families)
{
    struct jd_listen spec = everywhere(0);
    struct jd_listeners listeners;
    int before = count_fds();
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert_int_eq(listeners.count, 1);
    ck_assert_int_gt(listeners.port, 0);
    ck_assert(can_reach("127.0.0.1", listeners.port));
    ck_assert(can_reach("::1", listeners.port) == host_has_ipv6());
    int fd = listeners.fds[0];
    ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
    ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    int limit = backlog_limit();
    ck_assert_int_eq(backlog_of(fd), limit < 4096 ? limit : 4096);
    jd__listen_close(&listeners);
    ck_assert_int_eq(listeners.count, 0);
    jd__listen_close(&listeners);
    ck_assert_int_eq(count_fds(), before);
}
END_TEST

START_TEST(everywhere_where_v6_means_v6_only)
{
    struct jd_listen spec = everywhere(0);
    struct jd_listeners listeners;
    const char *name = "everywhere_where_v6_means_v6_only";
    if (!netns_enter(name))
        return;
    if (!netns_sysctl("/proc/sys/net/ipv6/bindv6only", "1")) {
        fprintf(stderr, "# %s: skipped, bindv6only cannot be set\n", name);
        return;
    }
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert(can_reach("127.0.0.1", listeners.port));
    ck_assert(can_reach("::1", listeners.port));
    jd__listen_close(&listeners);
}
END_TEST

START_TEST(loopback_is_both_families_and_no_more)
{
    struct jd_listen spec = on_loopback(0);
    struct jd_listeners listeners;
    if (!netns_enter("loopback_is_both_families_and_no_more"))
        return;
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert_int_eq(listeners.count, 2);
    ck_assert(can_reach("127.0.0.1", listeners.port));
    ck_assert(can_reach("::1", listeners.port));
    ck_assert(!can_reach("127.0.0.2", listeners.port));
    /* the port that it had can be had again by its number */
    spec.port = listeners.port;
    jd__listen_close(&listeners);
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert_int_eq(listeners.port, spec.port);
    jd__listen_close(&listeners);
}
END_TEST

START_TEST(an_address_alone)
{
    char text[64];
    struct jd_listeners free_port, listeners;
    struct jd_listen spec = on_loopback(0);
    if (!netns_enter("an_address_alone"))
        return;
    UNIT_OK(jd__listen_open(&spec, &free_port));
    jd__listen_close(&free_port);
    spec = on_text(text, "127.0.0.1", free_port.port);
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert_int_eq(listeners.count, 1);
    ck_assert_int_eq(listeners.port, free_port.port);
    ck_assert(can_reach("127.0.0.1", listeners.port));
    ck_assert(!can_reach("::1", listeners.port));
    jd__listen_close(&listeners);
    spec = on_text(text, "[::1]", free_port.port);
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert(!can_reach("127.0.0.1", listeners.port));
    ck_assert(can_reach("::1", listeners.port));
    jd__listen_close(&listeners);
    spec = on_text(text, "0.0.0.0", free_port.port);
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert(can_reach("127.0.0.1", listeners.port));
    ck_assert(!can_reach("::1", listeners.port));
    jd__listen_close(&listeners);
    spec = on_text(text, "[::]", free_port.port);
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert(can_reach("127.0.0.1", listeners.port));
    ck_assert(can_reach("::1", listeners.port));
    jd__listen_close(&listeners);
    spec = on_text(text, "localhost", free_port.port);
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert(can_reach("127.0.0.1", listeners.port));
    jd__listen_close(&listeners);
}
END_TEST

/* Everywhere, loopback and "[::]" fall back to IPv4. */
static void expect_v4_alone(void)
{
    char text[64];
    struct jd_listen spec = on_loopback(0);
    struct jd_listeners listeners;
    int before = count_fds();
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert_int_eq(listeners.count, 1);
    ck_assert(can_reach("127.0.0.1", listeners.port));
    int port = listeners.port;
    jd__listen_close(&listeners);
    spec = everywhere(port);
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert_int_eq(listeners.count, 1);
    ck_assert(can_reach("127.0.0.1", port));
    jd__listen_close(&listeners);
    spec = on_text(text, "[::]", port);
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert(can_reach("127.0.0.1", port));
    jd__listen_close(&listeners);
    ck_assert_int_eq(count_fds(), before);
}

START_TEST(a_kernel_without_ipv6)
{
    has_no_ipv6 = true;
    expect_v4_alone();
    has_no_ipv6 = false;
}
END_TEST

START_TEST(ipv6_switched_off)
{
    char text[64];
    const char *name = "ipv6_switched_off";
    if (!netns_enter(name))
        return;
    if (!netns_sysctl("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1")) {
        fprintf(stderr, "# %s: skipped, disable_ipv6 cannot be set\n", name);
        return;
    }
    expect_v4_alone();
    expect_failure(on_text(text, "[::1]", 5000), JD_NOT_FOUND,
                   "cannot listen on [::1]:5000 (JD_TEST): ::1 is no address "
                   "of this host, which has lo 127.0.0.1/8; give JD_TEST one "
                   "of these, or start process 0 on the host that it names");
}
END_TEST

/* The port that 127.0.0.1 got may be another's on ::1. */
START_TEST(a_port_that_both_families_have)
{
    struct jd_listen spec = on_loopback(0);
    struct jd_listeners listeners = { .count = 0 };
    if (!netns_enter("a_port_that_both_families_have"))
        return;
    int before = count_fds();
    refused_on_v6 = 15;
    UNIT_OK(jd__listen_open(&spec, &listeners));
    ck_assert_int_eq(asked_on_v6, 16);
    ck_assert_int_eq(listeners.count, 2);
    ck_assert_int_eq(count_fds(), before + 2);
    ck_assert(can_reach("::1", listeners.port));
    jd__listen_close(&listeners);
    refused_on_v6 = INT_MAX;
    ck_assert_int_eq(jd__listen_open(&spec, &listeners), JD_ALREADY_EXISTS);
    ck_assert_int_eq(asked_on_v6, 32);
    ck_assert_int_eq(count_fds(), before);
    refused_on_v6 = 1; /* a port that was asked for is tried once */
    spec.port = 5000;
    ck_assert_int_eq(jd__listen_open(&spec, &listeners), JD_ALREADY_EXISTS);
    ck_assert_int_eq(asked_on_v6, 33);
    ck_assert_int_eq(count_fds(), before);
}
END_TEST

static int accept_one(int listener)
{
    struct pollfd wanted = { .fd = listener, .events = POLLIN };
    ck_assert_int_eq(poll(&wanted, 1, 20000), 1);
    int fd = accept(listener, NULL, NULL);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* The side that closes first keeps the port in TIME_WAIT. */
START_TEST(a_port_in_time_wait)
{
    struct jd_listen spec = on_loopback(0);
    struct jd_listeners listeners;
    char byte;
    if (!netns_enter("a_port_in_time_wait")) /* others take free ports */
        return;
    UNIT_OK(jd__listen_open(&spec, &listeners));
    int client = reach("127.0.0.1", listeners.port);
    ck_assert_int_ge(client, 0);
    int server = accept_one(listeners.fds[0]);
    close(server);
    ck_assert_int_eq(read(client, &byte, 1), 0);
    close(client);
    jd__listen_close(&listeners);
    spec.port = listeners.port;
    UNIT_OK(jd__listen_open(&spec, &listeners));
    jd__listen_close(&listeners);
}
END_TEST

/* ---- a port in use ------------------------------------------------------ */

/* Another process that listens: argv is NAME "hold" "host:port". */
static int hold(const char *text)
{
    struct jd_listen spec = { .bind = text,
                              .variable = "JD_TEST",
                              .timeout = 30 };
    struct jd_listeners listeners;
    prctl(PR_SET_NAME, "holder");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (jd__listen_open(&spec, &listeners) != JD_OK)
        return 2;
    if (write(STDOUT_FILENO, "!", 1) != 1)
        return 2;
    for (;;)
        pause();
}

static pid_t start_holder(const char *text)
{
    char *argv[] = { (char *)"holder", (char *)"hold", (char *)text, NULL };
    char *none[] = { NULL };
    posix_spawn_file_actions_t actions;
    int ready[2];
    char byte;
    pid_t pid;
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ready[1], STDOUT_FILENO);
    ck_assert_int_eq(
        posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, none), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ready[1]);
    ck_assert_msg(read(ready[0], &byte, 1) == 1, "nobody holds %s", text);
    close(ready[0]);
    return pid;
}

static void end_holder(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static void expect_in_use(struct jd_listen spec, const char *where, int port,
                          const char *owner)
{
    char sentence[512];
    snprintf(sentence, sizeof sentence,
             "cannot listen on %s:%d (JD_TEST): port %d is in use by %s; end "
             "that process, or choose another port with JD_TEST",
             where, port, port, owner);
    expect_failure(spec, JD_ALREADY_EXISTS, sentence);
}

static unsigned user(void)
{
    return (unsigned)geteuid();
}

START_TEST(in_use_by_another_process)
{
    char owner[64], text[64];
    if (!netns_enter("in_use_by_another_process"))
        return;
    pid_t pid = start_holder("127.0.0.1:5000");
    snprintf(owner, sizeof owner, "holder (pid %d, user %u)", (int)pid, user());
    expect_in_use(on_loopback(5000), "127.0.0.1", 5000, owner);
    expect_in_use(everywhere(5000), "[::]", 5000, owner);
    expect_in_use(on_text(text, "127.0.0.1", 5000), "127.0.0.1", 5000, owner);
    end_holder(pid);
    pid = start_holder("[::1]:5000");
    snprintf(owner, sizeof owner, "holder (pid %d, user %u)", (int)pid, user());
    expect_in_use(on_loopback(5000), "[::1]", 5000, owner);
    end_holder(pid);
    pid = start_holder("[::]:5000");
    snprintf(owner, sizeof owner, "holder (pid %d, user %u)", (int)pid, user());
    expect_in_use(on_text(text, "[::1]", 5000), "[::1]", 5000, owner);
    end_holder(pid);
}
END_TEST

/* What a launcher has set, a user cannot set: what he can is advised. */
START_TEST(in_use_and_chosen_by_a_launcher)
{
    char sentence[512];
    struct jd_listen spec = on_loopback(5000);
    if (!netns_enter("in_use_and_chosen_by_a_launcher"))
        return;
    pid_t pid = start_holder("127.0.0.1:5000");
    spec.variable = "SLURM_STEP_NODELIST, SLURM_JOB_ID";
    snprintf(sentence, sizeof sentence,
             "cannot listen on 127.0.0.1:5000 (SLURM_STEP_NODELIST, "
             "SLURM_JOB_ID): port 5000 is in use by holder (pid %d, user %u); "
             "end that process, or choose another port with "
             "JD_COORDINATOR_ADDRESS (HOST:PORT, the same in every process)",
             (int)pid, user());
    expect_failure(spec, JD_ALREADY_EXISTS, sentence);
    end_holder(pid);
}
END_TEST

static void expect_holder(const char *text)
{
    char owner[64];
    pid_t pid = start_holder(text);
    snprintf(owner, sizeof owner, "holder (pid %d, user %u)", (int)pid, user());
    expect_in_use(on_loopback(5000), "127.0.0.1", 5000, owner);
    end_holder(pid);
}

/* An IPv4 address may be that of an IPv6 socket. */
START_TEST(in_use_by_the_other_family)
{
    if (!netns_enter("in_use_by_the_other_family"))
        return;
    expect_holder("[::]:5000");
    expect_holder("[::ffff:127.0.0.1]:5000");
}
END_TEST

/* A connection that an earlier listener left behind is no obstacle, and not
 * the culprit. */
START_TEST(in_use_beside_a_connection)
{
    struct jd_listen spec = on_loopback(5000);
    struct jd_listeners listeners;
    if (!netns_enter("in_use_beside_a_connection"))
        return;
    UNIT_OK(jd__listen_open(&spec, &listeners));
    int client = reach("127.0.0.1", 5000);
    int server = accept_one(listeners.fds[0]);
    jd__listen_close(&listeners);
    expect_holder("[::]:5000");
    close(client);
    close(server);
}
END_TEST

START_TEST(in_use_by_this_process)
{
    char owner[128], name[64] = "";
    struct jd_listen spec = on_loopback(0);
    struct jd_listeners listeners;
    ck_assert_int_eq(prctl(PR_GET_NAME, name), 0);
    UNIT_OK(jd__listen_open(&spec, &listeners));
    snprintf(owner, sizeof owner, "this process itself, %s (pid %d, user %u)",
             name, (int)getpid(), user());
    expect_in_use(on_loopback(listeners.port), "127.0.0.1", listeners.port,
                  owner);
    jd__listen_close(&listeners);
}
END_TEST

/* An outgoing connection has a port too. */
START_TEST(in_use_by_a_connection)
{
    char owner[128], name[64] = "";
    struct jd_listen spec = on_loopback(0);
    struct jd_listeners listeners;
    struct sockaddr_in local;
    socklen_t length = sizeof local;
    ck_assert_int_eq(prctl(PR_GET_NAME, name), 0);
    UNIT_OK(jd__listen_open(&spec, &listeners));
    int client = reach("127.0.0.1", listeners.port);
    ck_assert_int_eq(getsockname(client, (struct sockaddr *)&local, &length),
                     0);
    int port = ntohs(local.sin_port);
    snprintf(owner, sizeof owner, "this process itself, %s (pid %d, user %u)",
             name, (int)getpid(), user());
    expect_in_use(on_loopback(port), "127.0.0.1", port, owner);
    close(client);
    jd__listen_close(&listeners);
}
END_TEST

/* Of those that have the port on other addresses, none is the culprit. */
START_TEST(in_use_on_this_address)
{
    char owner[64];
    struct jd_listeners listeners;
    struct jd_listen spec = on_loopback(5000);
    if (!netns_enter("in_use_on_this_address"))
        return;
    pid_t other = start_holder("127.0.0.2:5000");
    UNIT_OK(jd__listen_open(&spec, &listeners));
    jd__listen_close(&listeners);
    pid_t another = start_holder("127.0.0.1:5001");
    pid_t culprit = start_holder("127.0.0.1:5000");
    snprintf(owner, sizeof owner, "holder (pid %d, user %u)", (int)culprit,
             user());
    expect_in_use(on_loopback(5000), "127.0.0.1", 5000, owner);
    end_holder(other);
    end_holder(another);
    end_holder(culprit);
}
END_TEST

static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3
    };
    struct __user_cap_data_struct none[2];
    memset(none, 0, sizeof none);
    ck_assert_int_eq((int)syscall(SYS_capset, &header, none), 0);
}

START_TEST(in_use_by_somebody_else)
{
    const char *name = "in_use_by_somebody_else";
    if (geteuid() != 0) {
        fprintf(stderr, "# %s: skipped, only root can be two users\n", name);
        return;
    }
    if (!netns_enter(name))
        return;
    pid_t pid = start_holder("127.0.0.1:5000");
    if (setuid(65534) != 0) {
        fprintf(stderr, "# %s: skipped, there is no other user: %s\n", name,
                strerror(errno));
        end_holder(pid);
        return;
    }
    prctl(PR_SET_DUMPABLE, 1); /* or /proc/self/fd is root's */
    expect_in_use(on_loopback(5000), "127.0.0.1", 5000,
                  "a process of user 0 that cannot be seen from here (another "
                  "user's, or in another container)");
}
END_TEST

/* A socket that does not listen yet is in no table. */
START_TEST(in_use_by_nobody_in_the_table)
{
    socklen_t length;
    if (!netns_enter("in_use_by_nobody_in_the_table"))
        return;
    struct sockaddr_storage address = address_of("127.0.0.1", 5000, &length);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, length), 0);
    expect_in_use(on_loopback(5000), "127.0.0.1", 5000,
                  "a process that cannot be seen from here");
    close(fd);
}
END_TEST

/* ---- other refusals ----------------------------------------------------- */

START_TEST(an_address_of_another_host)
{
    char text[64];
    if (!netns_enter("an_address_of_another_host"))
        return;
    expect_failure(on_text(text, "192.0.2.77", 5000), JD_NOT_FOUND,
                   "cannot listen on 192.0.2.77:5000 (JD_TEST): 192.0.2.77 is "
                   "no address of this host, which has lo 127.0.0.1/8, lo "
                   "::1/128; give JD_TEST one of these, or start process 0 on "
                   "the host that it names");
}
END_TEST

START_TEST(texts_that_are_no_address)
{
    char text[64];
    expect_failure(on_text(text, "", 5000), JD_INVALID_ARGUMENT,
                   "JD_TEST: \":5000\" is no address: it is \"host:port\", the "
                   "port 1 to 65535, an IPv6 address in brackets "
                   "(\"node7:1234\", \"[fd00::1]:1234\")");
    if (!host_has_ipv6())
        return;
    expect_failure(on_text(text, "[fe80::1]", 5000), JD_INVALID_ARGUMENT,
                   "cannot listen on [fe80::1]:5000 (JD_TEST): a link-local "
                   "address needs its interface (\"[fe80::1%eth0]:1234\")");
}
END_TEST

START_TEST(a_port_of_the_system)
{
    const char *name = "a_port_of_the_system";
    if (!netns_enter(name))
        return;
    netns_sysctl("/proc/sys/net/ipv4/ip_unprivileged_port_start", "1024");
    drop_capabilities();
    expect_failure(on_loopback(1023), JD_PERMISSION_DENIED,
                   "cannot listen on 127.0.0.1:1023 (JD_TEST): port 1023: "
                   "Permission denied; ports below 1024 are the system's: "
                   "choose a higher one with JD_TEST");
}
END_TEST

START_TEST(no_file_left)
{
    struct rlimit before, none;
    struct jd_listeners listeners;
    struct jd_listen spec = everywhere(5000);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){ 0, before.rlim_max };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    jd_status status = jd__listen_open(&spec, &listeners);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(status, JD_RESOURCE_EXHAUSTED);
    ck_assert_str_eq(jd_error_message(),
                     "cannot listen on [::]:5000 (JD_TEST): Too many open "
                     "files; raise this process's limit of open files (ulimit "
                     "-n)");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("listen");
    TCase *listening = unit_case(suite, "listening");
    tcase_set_timeout(listening, 60);
    tcase_add_test(listening, everywhere_is_both_families);
    tcase_add_test(listening, everywhere_where_v6_means_v6_only);
    tcase_add_test(listening, loopback_is_both_families_and_no_more);
    tcase_add_test(listening, an_address_alone);
    tcase_add_test(listening, a_kernel_without_ipv6);
    tcase_add_test(listening, ipv6_switched_off);
    tcase_add_test(listening, a_port_that_both_families_have);
    tcase_add_test(listening, a_port_in_time_wait);
    TCase *in_use = unit_case(suite, "in_use");
    tcase_set_timeout(in_use, 60);
    tcase_add_test(in_use, in_use_by_another_process);
    tcase_add_test(in_use, in_use_and_chosen_by_a_launcher);
    tcase_add_test(in_use, in_use_by_the_other_family);
    tcase_add_test(in_use, in_use_beside_a_connection);
    tcase_add_test(in_use, in_use_by_this_process);
    tcase_add_test(in_use, in_use_by_a_connection);
    tcase_add_test(in_use, in_use_on_this_address);
    tcase_add_test(in_use, in_use_by_somebody_else);
    tcase_add_test(in_use, in_use_by_nobody_in_the_table);
    TCase *refused = unit_case(suite, "refused");
    tcase_add_test(refused, an_address_of_another_host);
    tcase_add_test(refused, texts_that_are_no_address);
    tcase_add_test(refused, a_port_of_the_system);
    tcase_add_test(refused, no_file_left);
    return suite;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "hold") == 0)
        return hold(argv[2]);
    return unit_main(make_suite());
}
