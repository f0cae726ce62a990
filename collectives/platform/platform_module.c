/* SPDX-License-Identifier: BSD-3-Clause */
/* platform_module.c - loads the platform of GPUs, and gives it what it needs of
 * jd. */
#include "base/installed.h"
#include "base/options.h"
#include "base/ranges.h"
#include "collectives/check/signature.h"
#include "collectives/platform/platform_module.h"
#include "base/prefix.h"
#include "jd_process.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/mpi/lock.h"
#include "runtime/process/runtime.h"
#include "runtime/recorder/recorder.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CUDA "cuda"
#define MODULE "platform_cuda.so"
#define DRIVER "/dev/nvidiactl"

static struct {
    pthread_mutex_t lock; /* held while it is loaded */
    _Atomic(const struct jd_platform *) platform;
    char why[320];   /* it could not be loaded the last time */
    bool is_missing; /* as there is none: a jd without CUDA is no fault */
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- what the module is given ------------------------------------------- */

static jd_status fail_with_text(jd_status status, const char *text)
{
    return jd_fail(status, "%s", text);
}

static jd_status fail_prefix(jd_status status, const char *text)
{
    return jd__fail_prefix(status, "%s", text);
}

static void log_text(enum jd_log_level level, const char *text)
{
    jd__log(level, "%s", text);
}

static int64_t settings_integer(const struct jd_settings *settings,
                                enum jd_option option)
{
    return jd__options_integer(settings, option);
}

static bool settings_boolean(const struct jd_settings *settings,
                             enum jd_option option)
{
    return jd__options_integer(settings, option) != 0;
}

static void make_progress(const struct jd_runtime *runtime)
{
    jd__mpi_make_progress((void *)(uintptr_t)&runtime->world);
}

static const struct jd_platform_host host = {
    .interface = JD_PLATFORM_MODULE_INTERFACE,
    .version = JD_VERSION,
    .fail = fail_with_text,
    .fail_prefix = fail_prefix,
    .fail_no_memory = jd__fail_no_memory,
    .error_message = jd_error_message,
    .log_enabled = jd__log_enabled,
    .log = log_text,
    .settings_integer = settings_integer,
    .settings_seconds = jd__options_seconds,
    .settings_boolean = settings_boolean,
    .runtime_wait = jd__runtime_wait,
    .wait_check = jd__wait_check,
    .wait_start = jd__wait_start,
    .wait_look = jd__wait_look,
    .wait_look_own = jd__wait_look_own,
    .wait_end = jd__wait_end,
    .make_progress = make_progress,
    .failure_exit_set_hook = jd__failure_exit_set_hook,
    .print_ranges = jd__ranges_print,
    .activity_name = jd__signature_activity_name,
    .site_of_caller = jd__site_of_caller,
    .site_compared = jd__site_compared,
    .recorder_queue = jd__recorder_queue,
    .recorder_set_lane = jd__recorder_set_lane,
    .recorder_own_call = jd__recorder_own_call,
    .abort_job = jd_abort,
    .fold_find = jd__fold_find,
    .cpu = &jd__platform_cpu,
};

/* ---- where it is -------------------------------------------------------- */

static const struct jd_installed module = {
    .name = MODULE,
    .folder = JD_LIBDIR "/jd",
    .build_folder = "collectives/cuda",
    .mode = R_OK,
};

/* ---- loading ------------------------------------------------------------ */

__attribute__((format(printf, 1, 2))) static const struct jd_platform *
give_up(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(state.why, sizeof state.why, format, args);
    va_end(args);
    return NULL;
}

/* ISO C has no way from an object's address to a function's. */
static jd_platform_module_f *find_entry(void *library)
{
    jd_platform_module_f *entry;
    void *symbol = dlsym(library, JD_PLATFORM_MODULE_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

/* What the module says against this jd. It is a reason, and no failure of the
 * program's call. */
static const struct jd_platform *enter_module(jd_platform_module_f *entry,
                                              const char *path)
{
    const struct jd_platform *platform = entry(&host);
    if (!platform)
        return give_up("%s is not taken: %s", path, jd_error_message());
    if (strcmp(platform->source->platform, CUDA) != 0)
        return give_up("%s has the platform \"%s\", not \"" CUDA "\"", path,
                       platform->source->platform);
    return platform;
}

static const struct jd_platform *open_module(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return give_up("%s cannot be loaded: %s", path, dlerror());
    jd_platform_module_f *entry = find_entry(library);
    const struct jd_platform *platform =
        entry
            ? enter_module(entry, path)
            : give_up(
                  "%s is no module of jd: it has no " JD_PLATFORM_MODULE_SYMBOL,
                  path);
    if (!platform)
        dlclose(library);
    return platform;
}

static const struct jd_platform *load_module(const char *folder)
{
    char *path = folder ? jd__installed_try(&module, folder)
                        : jd__installed_find(&module);
    state.is_missing = !path && !folder;
    if (!path && folder)
        return give_up("there is no " MODULE " in %s (JD_PLATFORM_DIR)",
                       folder);
    if (!path)
        return give_up("there is no " MODULE ": this jd was built without "
                       "CUDA, or it is not in libdir/jd (JD_PLATFORM_DIR says "
                       "where it is)");
    const struct jd_platform *platform = open_module(path);
    free(path);
    return platform;
}

const struct jd_platform *
jd__platform_module_load(const char *name, const struct jd_settings *settings,
                         const char **ret_why)
{
    if (strcmp(name, CUDA) != 0) {
        *ret_why = "no such platform";
        return NULL;
    }
    pthread_mutex_lock(&state.lock);
    const struct jd_platform *platform = atomic_load(&state.platform);
    if (!platform)
        platform =
            load_module(jd__options_text(settings, JD_OPTION_PLATFORM_DIR));
    atomic_store(&state.platform, platform);
    pthread_mutex_unlock(&state.lock);
    if (!platform)
        *ret_why = state.why;
    return platform;
}

const struct jd_platform *jd__platform_module_loaded(const char *name)
{
    return strcmp(name, CUDA) == 0 ? atomic_load(&state.platform) : NULL;
}

/* ---- its devices -------------------------------------------------------- */

static jd_status enumerate_devices(const struct jd_settings *settings,
                                   const struct jd_host_facts *facts,
                                   struct jd_found_devices *found)
{
    const char *why;
    const struct jd_platform *platform =
        jd__platform_module_load(CUDA, settings, &why);
    if (platform)
        return platform->source->enumerate(settings, facts, found);
    snprintf(found->why_none, sizeof found->why_none, "%s", why);
    found->is_fault = !state.is_missing && access(DRIVER, F_OK) == 0;
    return JD_OK;
}

static void settle_devices(const int *natives, int count)
{
    const struct jd_platform *platform = jd__platform_module_loaded(CUDA);
    if (platform && platform->source->settle)
        platform->source->settle(natives, count);
}

static void leave_world(void)
{
    const struct jd_platform *platform = jd__platform_module_loaded(CUDA);
    if (platform && platform->source->leave)
        platform->source->leave();
}

static void describe_platform(jd_describe_f say, void *arg)
{
    const struct jd_platform *platform = jd__platform_module_loaded(CUDA);
    if (platform && platform->source->describe)
        platform->source->describe(say, arg);
}

const struct jd_device_source jd__device_source_cuda = {
    .platform = CUDA,
    .enumerate = enumerate_devices,
    .settle = settle_devices,
    .leave = leave_world,
    .describe = describe_platform,
};
