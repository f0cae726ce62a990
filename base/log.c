/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c - one line format, one write per line. */
#include "base/log.h"
#include "base/write_all.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {
    [JD_LOG_ERROR] = "error",
    [JD_LOG_WARNING] = "warning",
    [JD_LOG_INFO] = "info",
    [JD_LOG_DEBUG] = "debug",
};

static atomic_int threshold = JD_LOG_WARNING;
static atomic_int own_index = -1;
static atomic_int own_count = -1;

void jd__log_set_identity(int process_index, int process_count)
{
    atomic_store(&own_index, process_index);
    atomic_store(&own_count, process_count);
}

void jd__log_set_level(const char *name)
{
    for (int i = 0; i <= JD_LOG_DEBUG; i++)
        if (strcmp(name, level_names[i]) == 0)
            atomic_store(&threshold, i);
}

bool jd__log_enabled(enum jd_log_level level)
{
    return (int)level <= atomic_load(&threshold);
}

static void print_number(char *text, size_t size, int number)
{
    if (number < 0)
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%d", number);
}

void jd__log_identity(char *text, size_t size)
{
    char host[65] = "", index[16], count[16];
    gethostname(host, sizeof host - 1);
    print_number(index, sizeof index, atomic_load(&own_index));
    print_number(count, sizeof count, atomic_load(&own_count));
    snprintf(text, size, "%s/%s %s:%d", index, count, host, (int)getpid());
}

/* The text of any length, or a cut one where memory has run out. */
__attribute__((format(printf, 2, 0))) static void
write_line(const char *head, const char *format, va_list args)
{
    char small[1024], *line = small;
    size_t head_length = strlen(head);
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        return;
    size_t size = head_length + (size_t)length + 2;
    if (size > sizeof small && !(line = malloc(size))) {
        line = small;
        size = sizeof small;
    }
    memcpy(line, head, head_length);
    vsnprintf(line + head_length, size - head_length - 1, format, args);
    size_t end = strlen(line);
    line[end] = '\n';
    jd__write_all(STDERR_FILENO, line, end + 1);
    if (line != small)
        free(line);
}

void jd__log(enum jd_log_level level, const char *format, ...)
{
    if (!jd__log_enabled(level))
        return;
    char identity[128], head[160];
    jd__log_identity(identity, sizeof identity);
    snprintf(head, sizeof head, "jd %s %s ", identity, level_names[level]);
    va_list args;
    va_start(args, format);
    write_line(head, format, args);
    va_end(args);
}
