/* SPDX-License-Identifier: BSD-3-Clause */
/* proc.c - a process of this host, as /proc shows it. */
#include "base/proc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ENVIRONMENT (1 << 20)
#define MAX_PARENTS 8 /* between a process and a tool that it has started */

/* ---- files -------------------------------------------------------------- */

ssize_t jd__proc_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    if (fd < 0)
        return -1;
    while (length < size - 1) {
        ssize_t n = read(fd, text + length, size - 1 - length);
        if (n <= 0)
            break;
        length += (size_t)n;
    }
    close(fd);
    text[length] = '\0';
    return (ssize_t)length;
}

/* "S 1 ...", what /proc/PID/stat says behind the name, into text; NULL where
 * there is no such process. */
static const char *read_stat(int pid, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (jd__proc_read(path, text, size) <= 0)
        return NULL;
    const char *end = strrchr(text, ')'); /* names may hold anything */
    return end && end[1] == ' ' ? end + 2 : NULL;
}

int jd__proc_parent(int pid)
{
    char text[512];
    const char *stat = read_stat(pid, text, sizeof text);
    return stat && stat[0] ? atoi(stat + 1) : 0;
}

/* ---- the state ---------------------------------------------------------- */

static bool is_stop(char state)
{
    return state == 'T' || state == 't';
}

static bool is_ancestor(int pid, int of)
{
    for (int i = 0; i < MAX_PARENTS && of > 1; i++)
        if ((of = jd__proc_parent(of)) == pid)
            return true;
    return false;
}

/* A line of /proc/PID/status, "\nState:\t", behind its name. */
static const char *find_line(const char *text, const char *name)
{
    const char *line = strstr(text, name);
    return line ? line + strlen(name) : "";
}

/* The state of one that was seen to be stopped, and who holds it so: both of
 * one reading, because a reader of stacks lets go at once. */
static char read_stop(int pid, int *ret_tracer)
{
    char path[64], text[2048];
    *ret_tracer = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (jd__proc_read(path, text, sizeof text) <= 0)
        return 0;
    *ret_tracer = atoi(find_line(text, "\nTracerPid:\t"));
    char state = *find_line(text, "\nState:\t");
    return is_stop(state) && is_ancestor(pid, *ret_tracer) ? 'S' : state;
}

static char read_state(int pid, int *ret_tracer)
{
    char text[512];
    const char *stat = read_stat(pid, text, sizeof text);
    *ret_tracer = 0;
    if (!stat || !is_stop(stat[0]))
        return stat ? stat[0] : 0;
    return read_stop(pid, ret_tracer);
}

char jd__proc_state(int pid)
{
    int tracer;
    return read_state(pid, &tracer);
}

static void print_tracer(FILE *out, int pid)
{
    char path[64], name[64];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    if (jd__proc_read(path, name, sizeof name) <= 0)
        snprintf(name, sizeof name, "a debugger");
    name[strcspn(name, "\n")] = '\0';
    fprintf(out, "is held by %s (pid %d)", name, pid);
}

void jd__proc_print_state(FILE *out, int pid)
{
    int tracer;
    char state = read_state(pid, &tracer);
    if (!state)
        fprintf(out, "has ended");
    else if (strchr("ZX", state))
        fprintf(out, "has ended and is not yet reaped");
    else if (is_stop(state) && tracer)
        print_tracer(out, tracer);
    else if (is_stop(state))
        fprintf(out, "is stopped (kill -CONT %d)", pid);
    else
        fprintf(out, "is running");
}

/* ---- the variables ------------------------------------------------------ */

struct jd_env *jd__proc_environment(int pid)
{
    char path[64];
    struct jd_env *env = NULL;
    char *text = malloc(MAX_ENVIRONMENT);
    if (!text)
        return NULL;
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    ssize_t length = jd__proc_read(path, text, MAX_ENVIRONMENT);
    if (length > 0 && jd__env_from_block(text, (size_t)length, &env) != JD_OK)
        env = NULL;
    free(text);
    return env;
}
