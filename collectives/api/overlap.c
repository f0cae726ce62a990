/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap.c - the public collectives that are started; groups are
 * transfers.c's.
 */
#include "base/progress.h"
#include "collectives/mesh/started.h"
#include "jd_collectives.h"

typedef jd_status (*vector_f)(jd_shard *shard, const char *axes, const void *in,
                              void *out, size_t count, jd_dtype dtype);

/* One with a vector in and one out. */
struct vector_args {
    vector_f function; /* NULL: jd_pbroadcast(), from source */
    const void *in;
    void *out;
    size_t count;
    jd_dtype dtype;
    int source;
};

static jd_status run_vector(jd_shard *shard, const char *axes, void *args)
{
    const struct vector_args *a = args;
    if (!a->function)
        return jd_pbroadcast(shard, axes, a->source, a->in, a->out, a->count,
                             a->dtype);
    return a->function(shard, axes, a->in, a->out, a->count, a->dtype);
}

static jd_status run_barrier(jd_shard *shard, const char *axes, void *args)
{
    (void)args;
    return jd_barrier(shard, axes);
}

static jd_status start_vector(jd_shard *shard, const char *axes,
                              const char *operation,
                              const struct vector_args *args,
                              jd_request **ret_request)
{
    const struct jd_started_call call = {
        .run = run_vector, .axes = axes, .args = args, .bytes = sizeof *args
    };
    return jd__started_begin(shard, operation, &call, ret_request);
}

#define DEFINE_START(name)                                                     \
    jd_status name##_start(jd_shard *shard, const char *axes, const void *in,  \
                           void *out, size_t count, jd_dtype dtype,            \
                           jd_request **ret_request)                           \
    {                                                                          \
        JD_NOTE_CALLER();                                                      \
        const struct vector_args args = { name, in, out, count, dtype, 0 };    \
        return start_vector(shard, axes, #name "_start", &args, ret_request);  \
    }

DEFINE_START(jd_psum)
DEFINE_START(jd_pmean)
DEFINE_START(jd_pmax)
DEFINE_START(jd_pmin)
DEFINE_START(jd_pprod)
DEFINE_START(jd_pand)
DEFINE_START(jd_por)
DEFINE_START(jd_pxor)
DEFINE_START(jd_psum_scatter)
DEFINE_START(jd_all_gather)
DEFINE_START(jd_all_to_all)

jd_status jd_pbroadcast_start(jd_shard *shard, const char *axes, int source,
                              const void *in, void *out, size_t count,
                              jd_dtype dtype, jd_request **ret_request)
{
    JD_NOTE_CALLER();
    const struct vector_args args = { NULL, in, out, count, dtype, source };
    return start_vector(shard, axes, "jd_pbroadcast_start", &args, ret_request);
}

jd_status jd_barrier_start(jd_shard *shard, const char *axes,
                           jd_request **ret_request)
{
    JD_NOTE_CALLER();
    const struct jd_started_call call = { .run = run_barrier,
                                          .axes = axes,
                                          .args = "" };
    return jd__started_begin(shard, "jd_barrier_start", &call, ret_request);
}
