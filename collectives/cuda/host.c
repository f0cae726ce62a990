/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host.c - jd's functions for the module's files, by way of the table that
 * libjd gave. Sentences are formatted here: the table takes whole texts.
 */
#include "base/options.h"
#include "base/ranges.h"
#include "collectives/cuda/host.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/process/runtime.h"
#include "runtime/recorder/recorder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct jd_platform_host *host;

static jd_status fail_interface(const struct jd_platform_host *given)
{
    char text[160];
    snprintf(text, sizeof text,
             "the cuda platform's module has interface %d, and the library of "
             "jd %d; install both from one build",
             JD_PLATFORM_MODULE_INTERFACE, given->interface);
    return given->fail(JD_FAILED_PRECONDITION, text);
}

static jd_status fail_version(const struct jd_platform_host *given)
{
    char text[160];
    snprintf(text, sizeof text,
             "the cuda platform's module is of jd %s, and the library of jd "
             "%s; install both from one build",
             JD_VERSION, given->version);
    return given->fail(JD_FAILED_PRECONDITION, text);
}

/* The first three members stay where they are, whatever the interface. */
jd_status jd__host_set(const struct jd_platform_host *given)
{
    if (given->interface != JD_PLATFORM_MODULE_INTERFACE)
        return fail_interface(given);
    if (strcmp(given->version, JD_VERSION) != 0)
        return fail_version(given);
    host = given;
    return JD_OK;
}

const struct jd_platform *jd__host_cpu(void)
{
    return host->cpu;
}

void jd__host_make_progress(const struct jd_runtime *runtime)
{
    host->make_progress(runtime);
}

/* ---- base/status.h ------------------------------------------------------ */

/* The text, malloc'ed; NULL where memory has run out. */
__attribute__((format(printf, 1, 0))) static char *
format_text(const char *format, va_list args)
{
    char *text;
    return vasprintf(&text, format, args) < 0 ? NULL : text;
}

static const char *or_none(const char *text)
{
    return text ? text
                : "out of memory while the sentence of another failure was "
                  "written";
}

jd_status jd_fail(jd_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = format_text(format, args);
    va_end(args);
    host->fail(status, or_none(text));
    free(text);
    return status;
}

jd_status jd__fail_prefix(jd_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = format_text(format, args);
    va_end(args);
    if (text)
        host->fail_prefix(status, text);
    free(text);
    return status;
}

jd_status jd__fail_no_memory(const char *operation, size_t bytes)
{
    return host->fail_no_memory(operation, bytes);
}

const char *jd_error_message(void)
{
    return host->error_message();
}

/* ---- base/log.h --------------------------------------------------------- */

bool jd__log_enabled(enum jd_log_level level)
{
    return host->log_enabled(level);
}

void jd__log(enum jd_log_level level, const char *format, ...)
{
    if (!host->log_enabled(level))
        return;
    va_list args;
    va_start(args, format);
    char *text = format_text(format, args);
    va_end(args);
    host->log(level, or_none(text));
    free(text);
}

/* ---- base/options.h, runtime.h, wait.h ---------------------------------- */

long long jd__options_integer(const struct jd_settings *settings,
                              enum jd_option option)
{
    return host->settings_integer(settings, option);
}

double jd__options_seconds(const struct jd_settings *settings,
                           enum jd_option option)
{
    return host->settings_seconds(settings, option);
}

struct jd_wait jd__runtime_wait(const struct jd_runtime *runtime,
                                const char *operation)
{
    return host->runtime_wait(runtime, operation);
}

jd_status jd__wait_check(const struct jd_wait *wait)
{
    return host->wait_check(wait);
}

struct jd_wait_state jd__wait_start(const struct jd_wait *wait)
{
    return host->wait_start(wait);
}

jd_status jd__wait_look(const struct jd_wait *wait, struct jd_wait_state *state,
                        jd_wait_missing_f find_missing, void *arg, int count)
{
    return host->wait_look(wait, state, find_missing, arg, count);
}

jd_status jd__wait_look_own(const struct jd_wait *wait,
                            struct jd_wait_state *state, double waited,
                            const struct jd_wait_own *own)
{
    return host->wait_look_own(wait, state, waited, own);
}

void jd__wait_end(const struct jd_wait_state *state)
{
    host->wait_end(state);
}

/* ---- runtime/coordination/failure/failure_exit.h ------------------------ */

void jd__failure_exit_set_hook(void (*hook)(void))
{
    host->failure_exit_set_hook(hook);
}

/* ---- runtime/process/proc_peers.h --------------------------------------- */

void jd__ranges_print(FILE *out, const int *numbers, int count)
{
    host->print_ranges(out, numbers, count);
}

/* ---- fold.h ------------------------------------------------------------- */

jd_fold_function *jd__fold_find(jd_dtype dtype, enum jd_reduce op,
                                enum jd_fold_form form)
{
    return host->fold_find(dtype, op, form);
}

/* ---- runtime/recorder/site.h -------------------------------------------- */

struct jd_site_text jd__site_of_caller(void)
{
    return host->site_of_caller();
}

uint32_t jd__site_compared(void)
{
    return host->site_compared();
}

/* ---- runtime/recorder/recorder.h ---------------------------------------- */

uint64_t jd__recorder_queue(int lane)
{
    return host->recorder_queue(lane);
}

void jd__recorder_set_lane(int lane, uint64_t word)
{
    host->recorder_set_lane(lane, word);
}

char *jd__recorder_own_call(uint64_t number)
{
    return host->recorder_own_call(number);
}

/* ---- jd_process.h ------------------------------------------------------- */

void jd__host_abort(const char *why)
{
    host->abort_job(1, why);
}
