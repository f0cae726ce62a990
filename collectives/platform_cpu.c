/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * platform_cpu.c - the cpu platform: a device is a share of this process's
 * cores, a clique is a group of processes, data moves as bytes by MPI, and
 * jd's own kernels do the arithmetic.
 *
 * Every collective begins with a meeting. Its message has the same shape
 * whatever is called, so that members who call different things find out
 * there; what fits in it needs no second one. Longer data follows in pieces,
 * once all have agreed on its length.
 */
#include "collectives/bulk.h"
#include "collectives/digest.h"
#include "collectives/group.h"
#include "collectives/handshake.h"
#include "collectives/kernels.h"
#include "collectives/platform.h"
#include "runtime/peers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jd_clique {
    struct jd_group *group;
    const char *detail;
};

/*
 * JD_NUM_CPU_DEVICES devices, all alike. Their memory is the host's, which
 * the processes of the host share, so memory_bytes is not to be added up.
 */
static jd_status enumerate(const struct jd_settings *settings,
                           const struct jd_host_facts *host,
                           struct jd_local_device **ret_devices, int *ret_count)
{
    int count = (int)jd__settings_integer(settings, JD_OPTION_NUM_CPU_DEVICES);
    struct jd_local_device *devices = calloc((size_t)count, sizeof *devices);
    if (!devices)
        return jd__fail_no_memory("jd_initialize",
                                  (size_t)count * sizeof *devices);
    for (int i = 0; i < count; i++) {
        snprintf(devices[i].kind, sizeof devices[i].kind, "%s",
                 host->cpu_model[0] ? host->cpu_model : "cpu");
        devices[i].numa_node = host->numa_node;
        devices[i].memory_bytes = host->memory_bytes;
    }
    *ret_devices = devices;
    *ret_count = count;
    return JD_OK;
}

static jd_status check_reduce(const struct jd_call *call, enum jd_reduce op)
{
    (void)op; /* there is one */
    if (jd__kernel_add(call->dtype))
        return JD_OK;
    if (call->dtype == JD_PRED)
        return jd_fail(JD_UNIMPLEMENTED,
                       "%s: PRED has no sum, as its values are 0 and 1; count "
                       "in a wider type, S32 for example",
                       call->operation);
    return jd_fail(JD_UNIMPLEMENTED,
                   "%s: the cpu platform of this version has no sum of %s; "
                   "convert to F32 and sum that",
                   call->operation, jd_dtype_name(call->dtype));
}

/* A process that has several of the members cannot serve them yet. */
static jd_status check_one_each(const struct jd_clique_spec *spec,
                                const int *processes)
{
    int own = processes[spec->index];
    bool *seen = calloc((size_t)spec->runtime->world.count, sizeof *seen);
    if (!seen)
        return jd__fail_no_memory(spec->operation,
                                  (size_t)spec->runtime->world.count);
    int several = -1;
    for (int i = 0; i < spec->size && several < 0; i++) {
        several = seen[processes[i]] ? processes[i] : -1;
        seen[processes[i]] = true;
    }
    free(seen);
    if (several < 0)
        return JD_OK;
    return jd_fail(JD_UNIMPLEMENTED,
                   "%s: process %d has several devices in the mesh, and this "
                   "version's collectives serve processes that have one (this "
                   "is process %d); set JD_NUM_CPU_DEVICES=1 there",
                   spec->operation, several, own);
}

/* Writes "0-3,7" in the order of the members; cut where it does not fit. text
 * is all zeros, and its last one stays. */
static void print_processes(char *text, size_t size, const int *processes,
                            int count)
{
    FILE *out = fmemopen(text, size - 1, "w");
    if (!out)
        return;
    jd__print_ranges(out, processes, count);
    fclose(out);
}

static struct jd_belief describe(const struct jd_clique_spec *spec,
                                 const int *processes)
{
    struct jd_belief belief = { .digest = 0 };
    char list[128] = "";
    belief.digest = jd__digest(0, spec->axes, strlen(spec->axes));
    for (int i = 0; i < spec->size; i++)
        belief.digest = jd__digest(belief.digest, &spec->members[i]->id,
                                   sizeof spec->members[i]->id);
    print_processes(list, sizeof list, processes, spec->size);
    snprintf(belief.text, sizeof belief.text,
             "%.64s of %d device%s, of process%s %s", spec->axes, spec->size,
             spec->size == 1 ? "" : "s", spec->size == 1 ? "" : "es", list);
    return belief;
}

static jd_status open_group(const struct jd_clique_spec *spec,
                            const int *processes, struct jd_group **ret_group)
{
    struct jd_group_spec group_spec = {
        .runtime = spec->runtime,
        .processes = processes,
        .size = spec->size,
        .index = spec->index,
        .tag = JD_TAG_HANDSHAKE,
    };
    struct jd_group *group;
    struct jd_belief belief = describe(spec, processes);
    jd_status status = jd__group_create(&group_spec, spec->operation, &group);
    if (status != JD_OK)
        return status;
    jd__group_begin(group, spec->operation, spec->detail);
    status = jd__handshake(group, &belief);
    if (status == JD_OK)
        *ret_group = group;
    else
        jd__group_destroy(group);
    return status;
}

static jd_status clique_create(const struct jd_clique_spec *spec,
                               struct jd_clique **ret_clique)
{
    size_t bytes = (size_t)spec->size * sizeof(int);
    struct jd_clique *clique = calloc(1, sizeof *clique);
    int *processes = malloc(bytes);
    jd_status status = clique && processes
                           ? JD_OK
                           : jd__fail_no_memory(spec->operation, bytes);
    for (int i = 0; status == JD_OK && i < spec->size; i++)
        processes[i] = spec->members[i]->process_index;
    if (status == JD_OK)
        status = check_one_each(spec, processes);
    if (status == JD_OK)
        status = open_group(spec, processes, &clique->group);
    free(processes);
    if (status != JD_OK) {
        free(clique);
        return status;
    }
    clique->detail = spec->detail;
    *ret_clique = clique;
    return JD_OK;
}

static void clique_destroy(struct jd_clique *clique)
{
    if (!clique)
        return;
    jd__group_destroy(clique->group);
    free(clique);
}

static void print_signature(char *text, size_t size,
                            const struct jd_signature *signature)
{
    int used =
        snprintf(text, size, "%s of %" PRIu64 " x %s",
                 jd__activity_name(signature->activity), signature->count,
                 jd_dtype_name((jd_dtype)signature->dtype));
    if (signature->source >= 0 && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " from source %d",
                 signature->source);
}

/* INVALID_ARGUMENT, the same on every member, where they do not all call the
 * same thing. */
static jd_status compare_calls(const struct jd_clique *clique,
                               const struct jd_call *call)
{
    const struct jd_group *group = clique->group;
    char odd_text[96], other_text[96];
    int odd, other;
    if (!jd__group_find_odd(group, &odd, &other))
        return JD_OK;
    print_signature(odd_text, sizeof odd_text, jd__group_signature(group, odd));
    print_signature(other_text, sizeof other_text,
                    jd__group_signature(group, other));
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s%s: process %d calls %s, process %d calls %s; all "
                   "members make the same calls in the same order, with the "
                   "same count and type",
                   call->operation, clique->detail,
                   jd__group_process(group, odd), odd_text,
                   jd__group_process(group, other), other_text);
}

/* The beginning of each collective. payload may be NULL. */
static jd_status meet(struct jd_clique *clique, const struct jd_call *call,
                      const struct jd_signature *signature, const void *payload,
                      size_t bytes)
{
    struct jd_group *group = clique->group;
    jd__group_begin(group, call->operation, clique->detail);
    jd_status status =
        jd__group_meet(group, signature, payload, payload ? bytes : 0);
    if (status == JD_OK)
        status = compare_calls(clique, call);
    return status == JD_OK ? jd__group_check_status(group) : status;
}

static struct jd_signature sign(enum jd_activity activity,
                                const struct jd_call *call)
{
    return (struct jd_signature){
        .activity = activity,
        .dtype = (uint32_t)call->dtype,
        .count = call->count,
        .source = -1,
    };
}

static size_t call_bytes(const struct jd_call *call)
{
    return call->count * jd_dtype_size(call->dtype);
}

/* Everybody has everybody's vector, and folds them in member order. */
static void fold_payloads(const struct jd_group *group,
                          const struct jd_call *call, jd_kernel *kernel)
{
    if (call->count == 0)
        return;
    memcpy(call->out, jd__group_payload(group, 0), call_bytes(call));
    for (int i = 1; i < jd__group_size(group); i++)
        kernel(call->out, jd__group_payload(group, i), call->count);
}

/* A member without memory comes to the meeting to say so, so that nobody
 * waits for it. */
static jd_status reduce_long(struct jd_clique *clique,
                             const struct jd_call *call,
                             struct jd_signature signature)
{
    struct jd_reduction reduction = {
        .kernel = jd__kernel_add(call->dtype),
        .in = call->in,
        .out = call->out,
        .count = call->count,
        .element = jd_dtype_size(call->dtype),
    };
    if (jd__group_size(clique->group) == 1) {
        if (call->in != call->out)
            memcpy(call->out, call->in, call_bytes(call));
        return JD_OK;
    }
    size_t bytes = jd__bulk_reduce_scratch(clique->group, &reduction);
    void *scratch = jd__group_scratch(clique->group, bytes);
    if (!scratch)
        signature.status = jd__fail_no_memory(call->operation, bytes);
    jd_status status = meet(clique, call, &signature, NULL, 0);
    if (status == JD_OK)
        status = jd__bulk_reduce(clique->group, &reduction, scratch);
    return status;
}

static jd_status all_reduce(struct jd_clique *clique,
                            const struct jd_call *call, enum jd_reduce op)
{
    (void)op;
    struct jd_signature signature = sign(JD_ACTIVITY_PSUM, call);
    if (call_bytes(call) > JD_MEETING_PAYLOAD)
        return reduce_long(clique, call, signature);
    jd_status status =
        meet(clique, call, &signature, call->in, call_bytes(call));
    if (status == JD_OK)
        fold_payloads(clique->group, call, jd__kernel_add(call->dtype));
    return status;
}

static void copy_payloads(const struct jd_group *group, char *out, size_t bytes)
{
    for (int i = 0; bytes && i < jd__group_size(group); i++)
        memcpy(out + (size_t)i * bytes, jd__group_payload(group, i), bytes);
}

static jd_status all_gather(struct jd_clique *clique,
                            const struct jd_call *call)
{
    struct jd_signature signature = sign(JD_ACTIVITY_ALL_GATHER, call);
    size_t bytes = call_bytes(call);
    bool is_short = bytes <= JD_MEETING_PAYLOAD;
    jd_status status =
        meet(clique, call, &signature, is_short ? call->in : NULL, bytes);
    if (status != JD_OK)
        return status;
    if (is_short)
        copy_payloads(clique->group, call->out, bytes);
    else
        status = jd__bulk_all_gather(clique->group, call->in, call->out, bytes);
    return status;
}

/* The source sends from out too, once it has its data there. */
static jd_status broadcast_long(struct jd_clique *clique,
                                const struct jd_call *call, int source)
{
    struct jd_group *group = clique->group;
    if (jd__group_index(group) == source && call->in != call->out)
        memcpy(call->out, call->in, call_bytes(call));
    return jd__bulk_broadcast(group, call->out, call_bytes(call), source);
}

static jd_status broadcast(struct jd_clique *clique, const struct jd_call *call,
                           int source)
{
    struct jd_signature signature = sign(JD_ACTIVITY_PBROADCAST, call);
    size_t bytes = call_bytes(call);
    bool is_short = bytes <= JD_MEETING_PAYLOAD;
    bool gives = is_short && jd__group_index(clique->group) == source;
    signature.source = source;
    jd_status status =
        meet(clique, call, &signature, gives ? call->in : NULL, bytes);
    if (status != JD_OK)
        return status;
    if (!is_short)
        return broadcast_long(clique, call, source);
    if (bytes)
        memcpy(call->out, jd__group_payload(clique->group, source), bytes);
    return JD_OK;
}

const struct jd_device_source jd__device_source_cpu = {
    .platform = "cpu",
    .enumerate = enumerate,
};

const struct jd_platform jd__platform_cpu = {
    .source = &jd__device_source_cpu,
    .check_reduce = check_reduce,
    .clique_create = clique_create,
    .clique_destroy = clique_destroy,
    .all_reduce = all_reduce,
    .all_gather = all_gather,
    .broadcast = broadcast,
};
