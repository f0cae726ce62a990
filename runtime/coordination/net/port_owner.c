/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port_owner.c - who has a port, or the other end of a connection:
 * /proc/net/tcp and tcp6 give the socket's inode and user, /proc/PID/fd the
 * process that holds it.
 */
#include "runtime/coordination/net/listen.h"

#include <ctype.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    STATE_ESTABLISHED = 0x01,
    STATE_LISTEN = 0x0a
}; /* as /proc/net/tcp numbers them */

/* A row of the table. */
struct socket_row {
    struct jd_endpoint local, remote;
    unsigned state;
    unsigned user;
    unsigned long inode; /* 0: the kernel's own, of a connection that ended */
};

/* ---- the socket --------------------------------------------------------- */

/* "0100007F": each word of the address as this host prints a number. */
static bool parse_address(const char *text, struct jd_endpoint *ret_local)
{
    struct jd_endpoint local = { .family = 0 };
    size_t length = strspn(text, "0123456789ABCDEF");
    local.family = length == 8 ? AF_INET : AF_INET6;
    if (length != 8 && length != 32)
        return false;
    for (size_t i = 0; i < length / 8; i++) {
        char digits[9] = "";
        memcpy(digits, text + 8 * i, 8);
        uint32_t word = (uint32_t)strtoul(digits, NULL, 16);
        memcpy(local.bytes + 4 * i, &word, sizeof word);
    }
    *ret_local = local;
    return true;
}

static bool parse_row(const char *line, struct socket_row *ret_row)
{
    char local[40], remote[40];
    unsigned port, remote_port;
    if (sscanf(line,
               " %*d: %39[0-9A-F]:%4X %39[0-9A-F]:%4X %2X %*X:%*X %*X:%*X %*X "
               "%u %*u %lu",
               local, &port, remote, &remote_port, &ret_row->state,
               &ret_row->user, &ret_row->inode) != 7)
        return false;
    if (!parse_address(local, &ret_row->local) ||
        !parse_address(remote, &ret_row->remote))
        return false;
    ret_row->local.port = (uint16_t)port;
    ret_row->remote.port = (uint16_t)remote_port;
    return true;
}

/* As IPv6 has it: ::ffff:10.0.0.1; both families' "any" are all zero. */
static void widen_address(const struct jd_endpoint *endpoint, uint8_t bytes[16])
{
    static const uint8_t zero[16] = { 0 };
    memcpy(bytes, endpoint->bytes, 16);
    if (endpoint->family == AF_INET6 || memcmp(bytes, zero, 4) == 0)
        return;
    memset(bytes, 0, 10);
    memset(bytes + 10, 0xff, 2);
    memcpy(bytes + 12, endpoint->bytes, 4);
}

/* True where two sockets cannot both have these. */
static bool endpoints_collide(const struct jd_endpoint *a,
                              const struct jd_endpoint *b)
{
    static const uint8_t zero[16] = { 0 };
    uint8_t left[16], right[16];
    widen_address(a, left);
    widen_address(b, right);
    return a->port == b->port &&
           (memcmp(left, right, 16) == 0 || memcmp(left, zero, 16) == 0 ||
            memcmp(right, zero, 16) == 0);
}

/* Calls look for each row of one table until that is true. */
static bool each_row(const char *path,
                     bool (*look)(const struct socket_row *row, void *arg),
                     void *arg)
{
    char *line = NULL;
    size_t size = 0;
    struct socket_row row;
    bool is_found = false;
    FILE *table = fopen(path, "re");
    while (!is_found && table && getline(&line, &size, table) > 0)
        is_found = parse_row(line, &row) && look(&row, arg);
    free(line);
    if (table)
        fclose(table);
    return is_found;
}

struct port {
    const struct jd_endpoint *endpoint;
    struct socket_row found;
};

/* A listening socket goes before a connection. */
static bool look_for_port(const struct socket_row *row, void *arg)
{
    struct port *port = arg;
    if (endpoints_collide(&row->local, port->endpoint) &&
        (!port->found.inode ||
         (row->state == STATE_LISTEN && port->found.state != STATE_LISTEN)))
        port->found = *row;
    return false;
}

/* ---- the other end of a connection -------------------------------------- */

struct ends {
    struct jd_endpoint own, other;
    unsigned user;
};

static bool is_same(const struct jd_endpoint *a, const struct jd_endpoint *b)
{
    uint8_t left[16], right[16];
    widen_address(a, left);
    widen_address(b, right);
    return memcmp(left, right, 16) == 0;
}

/* A socket that its process has closed is the kernel's, without an inode and
 * with root's number. */
static bool look_for_end(const struct socket_row *row, void *arg)
{
    struct ends *ends = arg;
    bool is_it = row->state == STATE_ESTABLISHED && row->inode &&
                 row->local.port == ends->other.port &&
                 row->remote.port == ends->own.port &&
                 is_same(&row->local, &ends->other) &&
                 is_same(&row->remote, &ends->own);
    if (is_it)
        ends->user = row->user;
    return is_it;
}

/* An address of this host can be bound. */
static bool is_of_this_host(const struct sockaddr_storage *address,
                            socklen_t length)
{
    struct sockaddr_storage copy = *address;
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&copy)->sin6_port = 0;
    else
        ((struct sockaddr_in *)&copy)->sin_port = 0;
    bool is_bound =
        fd >= 0 && bind(fd, (const struct sockaddr *)&copy, length) == 0;
    if (fd >= 0)
        close(fd);
    return is_bound;
}

enum jd_peer_place jd__port_owner_peer_user(int fd, uid_t *ret_user)
{
    struct sockaddr_storage own, other;
    socklen_t own_length = sizeof own, other_length = sizeof other;
    struct ends ends;
    if (getsockname(fd, (struct sockaddr *)&own, &own_length) != 0 ||
        getpeername(fd, (struct sockaddr *)&other, &other_length) != 0)
        return JD_PEER_HIDDEN;
    if (own.ss_family == AF_UNIX) { /* a pair within this process */
        *ret_user = geteuid();
        return JD_PEER_HERE;
    }
    if (!jd__addresses_from_sockaddr((struct sockaddr *)&own, &ends.own) ||
        !jd__addresses_from_sockaddr((struct sockaddr *)&other, &ends.other))
        return JD_PEER_HIDDEN;
    bool is_here = jd__addresses_is_loopback(&ends.other) ||
                   is_same(&ends.own, &ends.other);
    if (!is_here && !is_of_this_host(&other, other_length))
        return JD_PEER_AWAY;
    if (!each_row("/proc/net/tcp", look_for_end, &ends) &&
        !each_row("/proc/net/tcp6", look_for_end, &ends))
        return is_here ? JD_PEER_HIDDEN : JD_PEER_AWAY;
    *ret_user = (uid_t)ends.user;
    return JD_PEER_HERE;
}

/* ---- the process -------------------------------------------------------- */

static bool is_number(const char *text)
{
    return isdigit((unsigned char)text[0]);
}

static bool has_socket(int pid, const char *link)
{
    char path[64], name[320], target[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *fds = opendir(path);
    for (struct dirent *d; fds && !found && (d = readdir(fds));) {
        snprintf(name, sizeof name, "%s/%s", path, d->d_name);
        ssize_t length = readlink(name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        found = strcmp(target, link) == 0;
    }
    if (fds)
        closedir(fds);
    return found;
}

/* The first process that has it open; 0 where none can be seen. */
static int find_process(unsigned long inode)
{
    char link[64];
    int pid = 0;
    snprintf(link, sizeof link, "socket:[%lu]", inode);
    DIR *processes = opendir("/proc");
    for (struct dirent *d; processes && !pid && (d = readdir(processes));)
        if (is_number(d->d_name) && has_socket(atoi(d->d_name), link))
            pid = atoi(d->d_name);
    if (processes)
        closedir(processes);
    return pid;
}

static void print_process(FILE *out, int pid)
{
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");
    if (file && !fgets(name, sizeof name, file))
        name[0] = '\0';
    if (file)
        fclose(file);
    name[strcspn(name, "\n")] = '\0';
    fputs(pid == getpid() ? "this process itself, " : "", out);
    fputs(name[0] ? name : "a process", out);
}

void jd__port_owner_print(FILE *out, const struct jd_endpoint *endpoint)
{
    struct port port = { .endpoint = endpoint };
    each_row("/proc/net/tcp", look_for_port, &port);
    each_row("/proc/net/tcp6", look_for_port, &port);
    struct socket_row row = port.found;
    int pid = row.inode ? find_process(row.inode) : 0;
    if (pid) {
        print_process(out, pid);
        fprintf(out, " (pid %d, user %u)", pid, row.user);
    } else if (row.inode) {
        fprintf(out,
                "a process of user %u that cannot be seen from here (another "
                "user's, or in another container)",
                row.user);
    } else {
        fputs("a process that cannot be seen from here", out);
    }
}
