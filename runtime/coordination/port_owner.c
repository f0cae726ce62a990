/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port_owner.c - who has a port: /proc/net/tcp and tcp6 give the socket's
 * inode and user, /proc/PID/fd the process that holds it.
 */
#include "runtime/coordination/listen.h"

#include <ctype.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATE_LISTEN = 0x0a }; /* as /proc/net/tcp numbers them */

/* A row of the table. */
struct row {
    struct jd_endpoint local;
    unsigned state;
    unsigned user;
    unsigned long inode; /* 0: the kernel's own, of a connection that ended */
};

/* ---- the socket ------------------------------------------------------- */

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

static bool parse_row(const char *line, struct row *ret_row)
{
    char address[40];
    unsigned port;
    if (sscanf(line,
               " %*d: %39[0-9A-F]:%4X %*[0-9A-F]:%*4X %2X %*X:%*X %*X:%*X %*X "
               "%u %*u %lu",
               address, &port, &ret_row->state, &ret_row->user,
               &ret_row->inode) != 5)
        return false;
    if (!parse_address(address, &ret_row->local))
        return false;
    ret_row->local.port = (uint16_t)port;
    return true;
}

/* As IPv6 has it: ::ffff:10.0.0.1; both families' "any" are all zero. */
static void widen(const struct jd_endpoint *endpoint, uint8_t bytes[16])
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
static bool collide(const struct jd_endpoint *a, const struct jd_endpoint *b)
{
    static const uint8_t zero[16] = { 0 };
    uint8_t left[16], right[16];
    widen(a, left);
    widen(b, right);
    return a->port == b->port &&
           (memcmp(left, right, 16) == 0 || memcmp(left, zero, 16) == 0 ||
            memcmp(right, zero, 16) == 0);
}

/* Looks through one table; a listening socket goes before a connection. */
static void find_row(const char *path, const struct jd_endpoint *endpoint,
                     struct row *found)
{
    char *line = NULL;
    size_t size = 0;
    struct row row;
    FILE *table = fopen(path, "re");
    while (table && getline(&line, &size, table) > 0)
        if (parse_row(line, &row) && collide(&row.local, endpoint) &&
            (!found->inode ||
             (row.state == STATE_LISTEN && found->state != STATE_LISTEN)))
            *found = row;
    free(line);
    if (table)
        fclose(table);
}

/* ---- the process ------------------------------------------------------ */

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

void jd__print_port_owner(FILE *out, const struct jd_endpoint *endpoint)
{
    struct row row = { .inode = 0 };
    find_row("/proc/net/tcp", endpoint, &row);
    find_row("/proc/net/tcp6", endpoint, &row);
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
