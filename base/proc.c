/* SPDX-License-Identifier: BSD-3-Clause */
/* proc.c - a process of this host, as /proc shows it. */
#include "base/proc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ENVIRONMENT (1 << 20)

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

char jd__proc_state(int pid)
{
    char text[512];
    const char *stat = read_stat(pid, text, sizeof text);
    return stat ? stat[0] : 0;
}

int jd__proc_parent(int pid)
{
    char text[512];
    const char *stat = read_stat(pid, text, sizeof text);
    return stat && stat[0] ? atoi(stat + 1) : 0;
}

void jd__proc_print_state(FILE *out, int pid)
{
    switch (jd__proc_state(pid)) {
    case 0:
        fprintf(out, "has ended");
        break;
    case 'Z':
    case 'X':
        fprintf(out, "has ended and is not yet reaped");
        break;
    case 'T':
    case 't':
        fprintf(out, "is stopped (kill -CONT %d)", pid);
        break;
    default:
        fprintf(out, "is running");
    }
}

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
