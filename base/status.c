/* SPDX-License-Identifier: BSD-3-Clause */
/* status.c - status names and the calling thread's last sentence. */
#include "base/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t message_key;
static int key_error;

static const char no_memory_message[] =
    "out of memory while the sentence of another failure was written";

const char *jd_status_name(jd_status status)
{
    switch (status) {
#define NAME_ROW(name, number, text)                                           \
    case JD_##name:                                                            \
        return #name;
        JD_STATUS_MAP(NAME_ROW)
#undef NAME_ROW
    }
    return "not a jd_status";
}

/* The thread's text is freed when it ends, except the constant one. */
static void free_message(void *message)
{
    if (message != no_memory_message)
        free(message);
}

static void make_key(void)
{
    key_error = pthread_key_create(&message_key, free_message);
}

static const char *get_message(void)
{
    pthread_once(&key_once, make_key);
    return key_error ? NULL : pthread_getspecific(message_key);
}

/* Takes ownership of message; NULL stands for "no memory for it". */
static void set_message(char *message)
{
    const char *old = get_message();

    if (key_error) {
        free(message);
        return;
    }
    const void *kept = message ? message : no_memory_message;
    if (pthread_setspecific(message_key, kept) != 0) {
        free(message);
        return;
    }
    if (old != no_memory_message)
        free((char *)old);
}

__attribute__((format(printf, 1, 0))) static char *
format_text(const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        return NULL;
    char *text = malloc((size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, args);
    return text;
}

jd_status jd_fail(jd_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_message(format_text(format, args));
    va_end(args);
    return status;
}

jd_status jd_fail_with(jd_status status, const char *format, ...)
{
    va_list args;
    if (status == JD_OK)
        return JD_OK;
    va_start(args, format);
    set_message(format_text(format, args));
    va_end(args);
    return status;
}

jd_status jd__fail_prefix(jd_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *prefix = format_text(format, args);
    va_end(args);
    if (prefix)
        jd_fail(status, "%s%s", prefix, jd_error_message());
    free(prefix);
    return status;
}

jd_status jd__fail_suffix(jd_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *suffix = format_text(format, args);
    va_end(args);
    if (suffix)
        jd_fail(status, "%s%s", jd_error_message(), suffix);
    free(suffix);
    return status;
}

jd_status jd__fail_no_memory(const char *operation, size_t bytes)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s: %zu bytes of memory could not be allocated; free "
                   "memory on this host or raise its limit (ulimit -v)",
                   operation, bytes);
}

char *jd__message_take(void)
{
    char *message = (char *)get_message();
    return message && pthread_setspecific(message_key, NULL) == 0 ? message
                                                                  : NULL;
}

void jd__message_give_back(char *before)
{
    if (before && (get_message() || pthread_setspecific(message_key, before)))
        free_message(before);
}

void jd__message_put_back(char *before)
{
    free_message(jd__message_take());
    jd__message_give_back(before);
}

const char *jd_error_message(void)
{
    const char *message = get_message();
    return message ? message : "";
}
