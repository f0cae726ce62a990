/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_process.h - a process's place in the job: initialise, index, count, end.
 *
 *     JD_CHECK(jd_initialize());
 *     printf("%d of %d\n", jd_process_index(), jd_process_count());
 *     return jd_shutdown();
 *
 * Process indices are dense, 0..count-1. A program that never calls
 * jd_initialize() is a world of one process; where the launcher started more
 * than one, the first use of jd is FAILED_PRECONDITION.
 */
#ifndef JD_PROCESS_H
#define JD_PROCESS_H

#include "jd_status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What the program may say itself instead of having it detected. All zero
 * means "detect everything". num_processes > 0 makes process_id explicit and
 * num_slices > 0 makes slice_index explicit, 0 included; -1 is "detected".
 * Durations are seconds; 0 is the default; negative switches off what may be
 * switched off. Each member has a JD_* variable (doc/options.md). Option >
 * variable > detected > default. Members are only ever appended.
 */
typedef struct jd_options {
    int reserved_; /* nobody names it: jd_initialize's macro does */
    const char *coordinator_address;      /* "host:port", "[::1]:1234" */
    const char *coordinator_bind_address; /* "host:port" on process 0 */
    int num_processes;                    /* 0: detected */
    int process_id;                       /* see num_processes */
    int num_slices;                       /* 0: detected */
    int slice_index;                      /* see num_slices */
    const int *local_device_ids;          /* of the GPUs seen; NULL: all */
    size_t num_local_device_ids;
    const char *cluster_detection_method; /* "slurm,openmpi", "^tpu", ... */
    double initialization_timeout;        /* seconds; default 300 */
    double heartbeat_timeout;             /* seconds; default 100 */
    double shutdown_timeout;              /* seconds; default 300 */
    double collective_timeout;            /* seconds; default 1800 */
} jd_options;

/*
 * Joins this process to the job: finds out coordinator, count and index,
 * makes an MPI world in process order, and exchanges the topology.
 *
 * In C it is also a macro with keyword arguments:
 *     jd_initialize(.num_processes = 2, .process_id = rank)
 * and in C++ it takes a jd_options.
 *
 * From then on a child of fork() is no process of the job: each call of it is
 * FAILED_PRECONDITION, and its parent goes on. Excepted are calls that give an
 * object back (release, destroy, close), and those that only read what is in
 * this process or in files: questions to a type, a sharding, an array, a shard
 * or a mesh's axes (jd_array_shape, jd_axis_size, ...), jd_convert,
 * jd_checkpoint_open and its kin, jd_mesh_shape, jd_version, jd_wtime.
 * jd_is_initialized() is 0 there.
 *
 * Collective: every process of the job, once, before other threads start
 *   (MPI_Init changes the environment while it runs). Again after
 *   jd_shutdown(); never after a device was used without it.
 * Blocks: until all processes have come, at most initialization_timeout; a
 *   watchdog then says which step waits for whom and ends the process.
 * Threads: one thread, no other jd call at the same time.
 * Returns: JD_OK; INVALID_ARGUMENT for a bad option or variable, two
 *   processes with one id, or processes that disagree; FAILED_PRECONDITION
 *   when called twice, after a device was used, where the launcher serves
 *   nothing that MPI can use, or where the GPUs of a host cannot be shared out
 *   among its processes (the sentence has the remedy); INTERNAL when MPI or a
 *   GPU's driver fails; RESOURCE_EXHAUSTED.
 * Source: jax.distributed.initialize.
 */
JD_API jd_status jd_initialize(void);

/* What the macro calls: size is sizeof(jd_options) of the caller's build. */
JD_API jd_status jd_initialize_with(const jd_options *options, size_t size);

/*
 * Leaves the job, in order: waits until every process has come here, then
 * frees what jd_initialize() made, whatever it returns. MPI, where jd started
 * it, is finalised at process exit and not here. A no-op where not
 * initialised. At exit with code 0 it is called for a program that has not.
 *
 * Collective: every process, in any order.
 * Blocks: until all have come, at most shutdown_timeout; after JD_WAIT_NOTICE
 *   it says for whom. Not at all once a failure of the job is known, or this
 *   process has reported one.
 * Threads: one thread, no other jd call at the same time.
 * Returns: JD_OK; FAILED_PRECONDITION in a body of jd_shard_map(), where
 * nothing is done; ABORTED where a process has failed, or left without shutting
 * down, naming it; DEADLINE_EXCEEDED naming those who did not come; UNAVAILABLE
 * where the service was lost. Source: jax.distributed.shutdown.
 */
JD_API jd_status jd_shutdown(void);

/* 1 after jd_initialize() until jd_shutdown(), else 0. Threads: any.
 * Source: jax.distributed.is_initialized. */
JD_API int jd_is_initialized(void);

/*
 * This process's index, 0..jd_process_count()-1, and their number; -1 where
 * jd was not initialised although the launcher started several processes, and
 * after jd_shutdown(); jd_error_message() then says so, unless it has a
 * sentence already: that stays, for a line with both. Threads: any. Source:
 * jax.process_index, jax.process_count.
 */
JD_API int jd_process_index(void);
JD_API int jd_process_count(void);

/*
 * Ends the whole job at once with the exit code, 1..255 (anything else
 * counts as 1), after writing "jd_abort: why" on standard error. Does not
 * return, and waits for the coordination service alone, which has heard why in
 * a moment; where process 0 does not answer, for 2.5 s. Threads: any. Source:
 * MPI_Abort.
 */
JD_API JD_NORETURN void jd_abort(int code, const char *why);

/*
 * The version of these headers, for a program that is compiled with several:
 *
 *     #if JD_VERSION_GE(0, 2, 0)
 */
#define JD_VERSION_MAJOR 0
#define JD_VERSION_MINOR 1
#define JD_VERSION_PATCH 0

/* 1 where the headers are of that version or a later one, else 0; also in
 * #if. */
#define JD_VERSION_GE(major, minor, patch)                                     \
    (JD_VERSION_MAJOR > (major) ||                                             \
     (JD_VERSION_MAJOR == (major) &&                                           \
      (JD_VERSION_MINOR > (minor) ||                                           \
       (JD_VERSION_MINOR == (minor) && JD_VERSION_PATCH >= (patch)))))

/* The version of the library that runs, "0.1.0". Threads: any. */
JD_API const char *jd_version(void);

/*
 * Seconds since some moment in the past, for the length of what a program does
 * between two calls; they never go back. The moment is this process's own: to
 * compare what two processes have read means nothing. A child of fork() has its
 * parent's. Needs no jd_initialize(). Threads: any. Source: MPI_Wtime.
 */
JD_API double jd_wtime(void);

#ifdef __cplusplus
}

inline jd_status jd_initialize(const jd_options &options)
{
    return jd_initialize_with(&options, sizeof options);
}
#else
#define jd_initialize(...)                                                     \
    jd_initialize_with(&(jd_options){ .reserved_ = 0, __VA_ARGS__ },           \
                       sizeof(jd_options))
#endif

#endif
