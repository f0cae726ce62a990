/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * detect_tpu.c - TPU-style pods: GKE's variables (TPU_WORKER_ID with
 * TPU_WORKER_HOSTNAMES or TPU_PROCESS_ADDRESSES), GCE's and libtpu's own
 * (CLOUD_TPU_TASK_ID, lists of name:id:address), and several slices joined
 * by MEGASCALE_*.
 *
 * One process runs per entry of the list; an entry may be there twice on
 * purpose (two processes on one host). Ports in the list are libtpu's.
 */
#include "autodetect/detector.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define TPU_PORT 8482 /* as JAX's */

static const struct jd_variables addresses = { { "TPU_PROCESS_ADDRESSES" } };
static const struct jd_variables any_id = { { "TPU_WORKER_ID",
                                              "CLOUD_TPU_TASK_ID" } };
static const struct jd_variables any_list = { { "TPU_PROCESS_ADDRESSES",
                                                "TPU_WORKER_HOSTNAMES" } };

static bool tpu_present(const struct jd_env *env, char *reason, size_t size)
{
    const struct jd_variables minimum[] = { any_id, any_list };
    return jd__detector_minimum(env, minimum, 2, reason, size);
}

/* ---- the list of workers --------------------------------------------- */

struct host {
    const char *text;
    size_t length;
};

struct workers {
    const char *variable;
    int count;
    struct host first;
    bool all_loopback;
};

static bool is_ipv6(const char *text, size_t length)
{
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr address;
    if (length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return inet_pton(AF_INET6, copy, &address) == 1;
}

static size_t count_colons(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += text[i] == ':';
    return count;
}

/* The host in "host", "host:port", "fd00::1", "[fd00::1]:port" and
 * "name:id:address". */
static bool host_of_entry(const char *text, size_t length, struct host *ret)
{
    size_t colons = count_colons(text, length);
    const char *colon = memchr(text, ':', length);
    const char *bracket = memchr(text, ']', length);
    *ret = (struct host){ text, length };
    if (length && text[0] == '[') {
        ret->length = bracket ? (size_t)(bracket - text) + 1 : 0;
        return bracket && is_ipv6(text + 1, ret->length - 2) &&
               (ret->length == length || bracket[1] == ':');
    }
    if (colons == 0 || is_ipv6(text, length))
        return length > 0;
    if (colons == 1)
        ret->length = (size_t)(colon - text);
    if (colons == 2) {
        ret->text = (const char *)memrchr(text, ':', length) + 1;
        ret->length = length - (size_t)(ret->text - text);
    }
    return ret->length > 0 && colons <= 2;
}

static jd_status fail_entry(const char *variable, const char *list,
                            const char *entry, size_t length)
{
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s is \"%s\", but its entry \"%.*s\" is none of host, "
                   "host:port, [address]:port, name:id:address; correct it, "
                   "or leave the launcher out with "
                   "JD_CLUSTER_DETECTION_METHOD=^tpu",
                   variable, list, (int)length, entry);
}

static jd_status read_workers(const struct jd_env *env, struct workers *workers)
{
    const char *variable = jd__variables_first(env, &any_list);
    const char *list = jd__env_get(env, variable);
    *workers = (struct workers){ .variable = variable, .all_loopback = true };
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        struct host host;
        if (!host_of_entry(at, length, &host) || workers->count == INT_MAX)
            return fail_entry(variable, list, at, length);
        if (workers->count++ == 0)
            workers->first = host;
        if (!jd__host_is_loopback(host.text, host.length))
            workers->all_loopback = false;
        at += length;
        if (!*at)
            return JD_OK;
    }
}

/* Where each process has an address of its own, libtpu's task id counts
 * processes and the worker id hosts. */
static jd_status read_worker_id(const struct jd_env *env,
                                const struct jd_cluster *cluster,
                                const struct workers *workers,
                                struct jd_cluster_number *id)
{
    static const struct jd_variables process_id = { { "CLOUD_TPU_TASK_ID",
                                                      "TPU_WORKER_ID" } };
    bool per_process = jd__variables_first(env, &addresses) != NULL;
    jd_status status = jd__detector_number(
        env, cluster, per_process ? &process_id : &any_id, 0, id);
    if (status == JD_OK && id->value >= workers->count)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s is %lld, but %s has %d entries: it must be from 0 "
                       "to %d; correct one of the two",
                       id->source, id->value, workers->variable, workers->count,
                       workers->count - 1);
    return status;
}

/* ---- slices ---------------------------------------------------------- */

static const struct jd_variables num_slices = { { "MEGASCALE_NUM_SLICES" } };
static const struct jd_variables slice_id = { { "MEGASCALE_SLICE_ID" } };

static jd_status read_slices(const struct jd_env *env,
                             struct jd_cluster *cluster)
{
    struct jd_cluster_number *count = &cluster->num_slices;
    struct jd_cluster_number *index = &cluster->slice_index;
    jd_status status = jd__detector_number(env, cluster, &num_slices, 1, count);
    if (status == JD_OK)
        status = jd__detector_number(env, cluster, &slice_id, 0, index);
    if (status == JD_OK && count->known && index->known &&
        index->value >= count->value)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "MEGASCALE_SLICE_ID is %lld, but MEGASCALE_NUM_SLICES "
                       "is %lld: it must be from 0 to %lld; correct one of "
                       "the two",
                       index->value, count->value, count->value - 1);
    return status;
}

/* One slice where MEGASCALE_* says nothing else. */
static bool is_one_slice(const struct jd_cluster *cluster)
{
    return cluster->num_slices.known ? cluster->num_slices.value == 1
                                     : !cluster->slice_index.known;
}

static jd_status set_count(struct jd_cluster *cluster,
                           const struct workers *workers)
{
    struct jd_cluster_number *number = &cluster->num_processes;
    bool one = is_one_slice(cluster);
    if (!one && !cluster->num_slices.known) {
        snprintf(number->source, sizeof number->source,
                 "MEGASCALE_NUM_SLICES is not set");
        return JD_OK;
    }
    number->value = workers->count * (one ? 1 : cluster->num_slices.value);
    if (number->value > INT_MAX)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "MEGASCALE_NUM_SLICES is %lld, but with the %d entries "
                       "of %s that makes more than %d processes; correct it",
                       cluster->num_slices.value, workers->count,
                       workers->variable, INT_MAX);
    number->known = true;
    snprintf(number->source, sizeof number->source, "%s%s", workers->variable,
             one ? "" : ", MEGASCALE_NUM_SLICES");
    return JD_OK;
}

static void set_index(struct jd_cluster *cluster, const struct workers *workers,
                      const struct jd_cluster_number *worker)
{
    struct jd_cluster_number *number = &cluster->process_id;
    bool one = is_one_slice(cluster);
    if (!one && !cluster->slice_index.known) {
        snprintf(number->source, sizeof number->source,
                 "MEGASCALE_SLICE_ID is not set");
        return;
    }
    number->known = true;
    number->value =
        worker->value + (one ? 0 : cluster->slice_index.value * workers->count);
    snprintf(number->source, sizeof number->source, "%.100s%s", worker->source,
             one ? "" : ", MEGASCALE_SLICE_ID");
}

/* ---- where process 0 is ---------------------------------------------- */

/* With several slices the list has this slice's workers only. */
static jd_status set_coordinator(const struct jd_env *env,
                                 struct jd_cluster *cluster,
                                 const struct workers *workers)
{
    const char *name = "MEGASCALE_COORDINATOR_ADDRESS";
    const char *given = jd__env_get_nonempty(env, name);
    bool one = is_one_slice(cluster);
    struct host host = workers->first;
    if (!one && !given) {
        jd__detector_no_coordinator(cluster, "%s is not set", name);
        return JD_OK;
    }
    if (!one && !host_of_entry(given, strlen(given), &host))
        return fail_entry(name, given, given, strlen(given));
    return jd__detector_coordinator(
        env, cluster,
        &(struct jd_detector_address){
            .host = host.text,
            .host_length = host.length,
            .port = TPU_PORT,
            .host_source = one ? workers->variable : name,
            .port_source = "the default port",
            .one_host = one && workers->all_loopback,
        });
}

static jd_status detect_tpu(const struct jd_env *env,
                            struct jd_cluster *cluster)
{
    struct workers workers;
    struct jd_cluster_number worker = { .known = false };
    jd_status status = read_workers(env, &workers);
    if (status == JD_OK)
        status = read_worker_id(env, cluster, &workers, &worker);
    if (status == JD_OK)
        status = read_slices(env, cluster);
    if (status == JD_OK)
        status = set_count(cluster, &workers);
    if (status != JD_OK)
        return status;
    set_index(cluster, &workers, &worker);
    return set_coordinator(env, cluster, &workers);
}

const struct jd_detector jd__detector_tpu = {
    .name = "tpu",
    .aliases = { "gketpu", "gcetpu" },
    .doc = "TPU-style pods of GKE and GCE, several slices too",
    .present = tpu_present,
    .detect = detect_tpu,
};
