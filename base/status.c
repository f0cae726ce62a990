/* SPDX-License-Identifier: BSD-3-Clause */
/* status.c - status names and the calling thread's last sentence. */
#include "base/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last sentence, and some that were: a pointer to one is still good where a
 * call that fails stands beside jd_error_message() in a list of arguments. A
 * failure on its way may get its sentence in several steps. */
enum { KEPT = 4 };
static _Thread_local struct texts {
    const char *last;
    const char *earlier[KEPT]; /* the latest first */
} own_texts __attribute__((tls_model("initial-exec")));

/* Only for its destructor, which frees them when the thread ends. */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t texts_key;
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

static void free_text(const char *text)
{
    if (text != no_memory_message)
        free((char *)text);
}

static void free_texts(void *arg)
{
    struct texts *texts = arg;
    free_text(texts->last);
    for (int i = 0; i < KEPT; i++)
        free_text(texts->earlier[i]);
    *texts = (struct texts){ .last = NULL };
}

static void make_key(void)
{
    key_error = pthread_key_create(&texts_key, free_texts);
}

/* Whether the thread's end will free what is kept for it. */
static bool can_keep(void)
{
    pthread_once(&key_once, make_key);
    return !key_error && (pthread_getspecific(texts_key) ||
                          pthread_setspecific(texts_key, &own_texts) == 0);
}

/* It is no longer the last. */
static void keep_earlier(const char *text)
{
    const char **earlier = own_texts.earlier;
    if (!text)
        return;
    free_text(earlier[KEPT - 1]);
    memmove(earlier + 1, earlier, (KEPT - 1) * sizeof *earlier);
    earlier[0] = text;
}

/* Takes ownership of message; NULL stands for "no memory for it". */
static void set_message(char *message)
{
    if (!can_keep()) {
        free(message);
        return;
    }
    keep_earlier(own_texts.last);
    own_texts.last = message ? message : no_memory_message;
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
    char *message = (char *)own_texts.last;
    own_texts.last = NULL;
    return message;
}

void jd__message_give_back(char *before)
{
    if (own_texts.last)
        keep_earlier(before);
    else
        own_texts.last = before;
}

void jd__message_put_back(char *before)
{
    keep_earlier(jd__message_take());
    own_texts.last = before;
}

const char *jd_error_message(void)
{
    return own_texts.last ? own_texts.last : "";
}
