/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * platform_module.h - a platform that is loaded at run time: what a module
 * offers, and what it is given. One build of libjd runs where there is no GPU,
 * no driver and no CUDA library, because only the module is linked with them.
 *
 *     libdir/jd/platform_cuda.so exports jd__platform_module, nothing else
 *
 * A module links nothing of jd: what it needs is in the table that it is given,
 * or compiled into it where it has no state (dtype.c, signature.c). So it works
 * beside a libjd.so, and in a program that has jd's objects in itself.
 */
#ifndef COLLECTIVES_PLATFORM_PLATFORM_MODULE_H
#define COLLECTIVES_PLATFORM_PLATFORM_MODULE_H

#include "base/log.h"
#include "collectives/kernels/fold.h"
#include "collectives/platform/platform.h"
#include "runtime/process/wait.h"
#include "runtime/recorder/site.h"

#include <stdio.h>

/* Counts the changes of what is in this header, and of struct jd_platform. */
#define JD_PLATFORM_MODULE_INTERFACE 11

/* What a module may call; each as the header says that declares it under the
 * same name. Texts are whole: formatting is the module's. */
struct jd_platform_host {
    int interface;
    const char *version; /* jd_version() */

    /* base/status.h */
    jd_status (*fail)(jd_status status, const char *text);
    jd_status (*fail_prefix)(jd_status status, const char *text);
    jd_status (*fail_no_memory)(const char *operation, size_t bytes);
    const char *(*error_message)(void);

    /* base/log.h */
    bool (*log_enabled)(enum jd_log_level level);
    void (*log)(enum jd_log_level level, const char *text);

    /* base/options.h */
    int64_t (*settings_integer)(const struct jd_settings *settings,
                                enum jd_option option);
    double (*settings_seconds)(const struct jd_settings *settings,
                               enum jd_option option);
    bool (*settings_boolean)(const struct jd_settings *settings,
                             enum jd_option option);

    /* runtime/process/runtime.h, wait.h, lock.h: a loop that waits looks now
     * and then, and lets MPI make progress. */
    struct jd_wait (*runtime_wait)(const struct jd_runtime *runtime,
                                   const char *operation);
    jd_status (*wait_check)(const struct jd_wait *wait);
    struct jd_wait_state (*wait_start)(const struct jd_wait *wait);
    jd_status (*wait_look)(const struct jd_wait *wait,
                           struct jd_wait_state *state,
                           jd_wait_missing_f find_missing, void *arg,
                           int count);
    jd_status (*wait_look_own)(const struct jd_wait *wait,
                               struct jd_wait_state *state, double waited,
                               const struct jd_wait_own *own);
    void (*wait_end)(const struct jd_wait_state *state);
    void (*make_progress)(const struct jd_runtime *runtime);

    /* runtime/coordination/failure/failure_exit.h */
    void (*failure_exit_set_hook)(void (*hook)(void));

    /* runtime/process/proc_peers.h */
    void (*print_ranges)(FILE *out, const int *numbers, int count);

    /* signature.h */
    const char *(*activity_name)(uint32_t activity);

    /* site.h */
    struct jd_site_text (*site_of_caller)(void);
    uint32_t (*site_compared)(void);

    /* runtime/recorder/recorder.h */
    uint64_t (*recorder_queue)(int lane);
    void (*recorder_set_lane)(int lane, uint64_t word);
    char *(*recorder_own_call)(uint64_t number);

    /* jd_process.h */
    void (*abort_job)(int code, const char *why);

    /* fold.h */
    jd_fold_function *(*fold_find)(jd_dtype dtype, enum jd_reduce op,
                                   enum jd_fold_form form);

    /*
     * The cpu platform, whose communicators take devices of any platform as
     * members: by one, the ends of a module's communicator meet and tell each
     * other what they have to, on host memory, with deadlines that name who is
     * missing.
     */
    const struct jd_platform *cpu;
};

/* The module's one symbol. Returns: the platform; NULL where the interface or
 * the version is not its own, with the failure's text in the host. */
#define JD_PLATFORM_MODULE_SYMBOL "jd__platform_module"
typedef const struct jd_platform *
jd_platform_module_f(const struct jd_platform_host *host);

/*
 * The platform of that name (of JD_PLATFORM_DIR, else of libdir/jd), loaded
 * when it is asked for the first time; NULL where there is none, and then
 * ret_why says why: no such file, a library that the loader does not find, a
 * module of another version. Threads: any.
 */
const struct jd_platform *
jd__platform_module_load(const char *name, const struct jd_settings *settings,
                         const char **ret_why);

/* One that was loaded; NULL. */
const struct jd_platform *jd__platform_module_loaded(const char *name);

#endif
