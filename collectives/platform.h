/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * platform.h - a kind of device, as one const table of functions: what it
 * finds in this process, and how its devices communicate.
 *
 *     const struct jd_platform *cpu = jd__platform_find("cpu");
 *     cpu->clique_create(&spec, &clique);
 *     cpu->all_reduce(clique, &call, JD_REDUCE_SUM);
 *
 * Arguments are checked above (collectives.c); a platform sees valid ones.
 */
#ifndef COLLECTIVES_PLATFORM_H
#define COLLECTIVES_PLATFORM_H

#include "jd_device.h"
#include "jd_dtype.h"
#include "runtime/device_source.h"
#include "runtime/runtime.h"
#include "runtime/status.h"

#include <stdbool.h>
#include <stddef.h>

/* One device's end of the communicator of an ordered set of devices. */
struct jd_clique;

struct jd_clique_spec {
    const struct jd_runtime *runtime; /* outlives the clique's use */
    const jd_device *const *members;  /* in order; copied if kept */
    int size;
    int index;             /* this end's device among them */
    const char *axes;      /* for sentences: "\"data\"" */
    const char *detail;    /* " over axis \"data\""; outlives the clique */
    const char *operation; /* the call that needs it first */
};

/* One collective of one member. operation is the public function's name. */
struct jd_call {
    const char *operation;
    const void *in;
    void *out;
    size_t count;
    jd_dtype dtype;
};

enum jd_reduce {
    JD_REDUCE_SUM,
};

/*
 * All members are mandatory. The functions with a clique run on the thread of
 * that end's shard, one at a time for each end, on all members in the same
 * order; they wait with the collective deadline. After a failure other than
 * INVALID_ARGUMENT and RESOURCE_EXHAUSTED nothing but clique_destroy is called
 * on the clique any more.
 */
struct jd_platform {
    /* The name, and this process's devices: called by the runtime. */
    const struct jd_device_source *source;

    /*
     * JD_OK where all_reduce has the operation for the type; else
     * UNIMPLEMENTED naming call->operation, the type and what to do instead.
     * Called before a clique is made for such a call, without communication.
     */
    jd_status (*check_reduce)(const struct jd_call *call, enum jd_reduce op);

    /*
     * Makes this end, with the other members: at the first collective of a
     * device set, by each of them. Returns JD_OK; INVALID_ARGUMENT where the
     * members do not mean the same set; UNIMPLEMENTED for a set that the
     * platform cannot serve; the failures of a wait.
     */
    jd_status (*clique_create)(const struct jd_clique_spec *spec,
                               struct jd_clique **ret_clique);

    /* Frees this end; never waits; NULL is allowed. After a failure, and
     * after jd_shutdown() too. */
    void (*clique_destroy)(struct jd_clique *clique);

    /* out = the members' in, reduced element by element; the same bits on
     * every member. in == out is allowed. */
    jd_status (*all_reduce)(struct jd_clique *clique,
                            const struct jd_call *call, enum jd_reduce op);

    /* out[i * count ...] = member i's in; in may be its place in out. */
    jd_status (*all_gather)(struct jd_clique *clique,
                            const struct jd_call *call);

    /* out = member source's in; in is read there alone, and may be out. */
    jd_status (*broadcast)(struct jd_clique *clique, const struct jd_call *call,
                           int source);
};

/* The platform of that name, or NULL. */
const struct jd_platform *jd__platform_find(const char *name);

/* Every platform is listed here, the default one first. */
#define JD_PLATFORM_MAP(X) X(cpu)

#define JD_PLATFORM_ROW(name)                                                  \
    extern const struct jd_device_source jd__device_source_##name;             \
    extern const struct jd_platform jd__platform_##name;
JD_PLATFORM_MAP(JD_PLATFORM_ROW)
#undef JD_PLATFORM_ROW

#endif
