/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scans.c - the public reduction of the members up to each one. Which way it
 * goes, the count, the type and the number of the members say, the same on all:
 *
 * - What is short in all is gathered, and each member folds its part.
 * - Longer vectors are reduced on the way: after k rounds a member has what
 *   the last 2^k members up to itself gave, and sends it 2^k further on.
 * - Floating sums and products, where their order is set
 *   (JD_DETERMINISTIC=1), go from each member to the next.
 *
 * The two last begin with a meeting, in which the calls are compared; from
 * there on pairs alone meet. What is rounded travels wide. The folds are the
 * host's; where the devices are GPUs, the vectors go by way of it.
 */
#include "base/progress.h"
#include "collectives/api/checks.h"
#include "collectives/api/host_copies.h"
#include "collectives/kernels/fold.h"
#include "collectives/kernels/identity.h"
#include "jd_collectives.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHORT_BYTES = 2048,  /* of all members, which are gathered */
    SHORT_MEMBERS = 256, /* who are, at most */
    NUM_VECTORS = 3
};

struct scan {
    struct jd_axis_comm *axis_comm;
    struct jd_collective call;
    enum jd_reduce op;
    bool is_exclusive;
};

static const struct jd_platform *platform_of(const struct scan *scan)
{
    return scan->axis_comm->shard->mesh->platform;
}

static void fold_vectors(const struct scan *scan, enum jd_fold_form form,
                         const void *const *ins, int num_ins, void *out)
{
    if (scan->call.count == 0)
        return;
    jd__fold_find(scan->call.dtype, scan->op,
                  form)(&(struct jd_fold){ .ins = ins,
                                           .outs = &out,
                                           .num_ins = num_ins,
                                           .num_outs = 1,
                                           .count = scan->call.count });
}

/* out, where no member comes before. */
static void write_identity(const struct scan *scan)
{
    jd__identity_fill(scan->call.dtype, scan->op, scan->call.count,
                      scan->call.out);
}

/* ---- short -------------------------------------------------------------- */

static size_t bytes_of(const struct scan *scan)
{
    return scan->call.count * jd_dtype_size(scan->call.dtype);
}

static bool is_short(const struct scan *scan)
{
    size_t size = (size_t)scan->axis_comm->size;
    return size <= SHORT_MEMBERS && bytes_of(scan) <= SHORT_BYTES / size;
}

static jd_status scan_short(const struct scan *scan)
{
    unsigned char all[SHORT_BYTES];
    const void *ins[SHORT_MEMBERS];
    struct jd_collective call = scan->call;
    int num_ins = scan->axis_comm->index + !scan->is_exclusive;
    call.out = all;
    jd_status status = platform_of(scan)->all_gather(
        jd__axis_comm_handle(scan->axis_comm), &call, 1);
    if (status != JD_OK)
        return status;
    for (int i = 0; i < num_ins; i++)
        ins[i] = all + (size_t)i * bytes_of(scan);
    if (num_ins > 0)
        fold_vectors(scan, JD_FOLD_WHOLE, ins, num_ins, scan->call.out);
    else
        write_identity(scan);
    return JD_OK;
}

/* ---- long --------------------------------------------------------------- */

/* Wide vectors of this member's. */
struct scan_parts {
    void *sum;    /* of some members up to itself */
    void *before; /* of those but itself, where has_before */
    void *got;    /* of those before these */
    bool has_before;
};

/* Sums and products of numbers of 8 and 16 bits are F32 until the end. */
static bool is_rounded(const struct scan *scan)
{
    return scan->op == JD_REDUCE_SUM || scan->op == JD_REDUCE_PROD;
}

static jd_dtype type_of_parts(const struct scan *scan)
{
    return is_rounded(scan) ? jd__fold_wide(scan->call.dtype)
                            : scan->call.dtype;
}

static void fold_parts(const struct scan *scan, const void *const *ins,
                       int num_ins, void *out)
{
    fold_vectors(scan, is_rounded(scan) ? JD_FOLD_WIDE : JD_FOLD_WHOLE, ins,
                 num_ins, out);
}

static struct jd_transfer half_of(const struct scan *scan, int member,
                                  bool sends, void *vector)
{
    struct jd_collective call = scan->call;
    call.activity = sends ? JD_ACTIVITY_SEND : JD_ACTIVITY_RECV;
    call.in = sends ? vector : NULL;
    call.out = sends ? NULL : vector;
    call.dtype = type_of_parts(scan);
    call.rest = 0;
    return (struct jd_transfer){ .member = member,
                                 .sends = sends,
                                 .whole = JD_ACTIVITY_SCAN,
                                 .call = call };
}

/* The sum to a member, and what another one has; -1: nobody. What has come is
 * before all that there was. */
static jd_status exchange_parts(const struct scan *scan,
                                struct scan_parts *parts, int to, int from)
{
    struct jd_transfer halves[2];
    const void *ins[] = { parts->got, parts->before };
    int count = 0;
    if (to >= 0)
        halves[count++] = half_of(scan, to, true, parts->sum);
    if (from >= 0)
        halves[count++] = half_of(scan, from, false, parts->got);
    for (int i = 0; i < count; i++)
        halves[i].number = i;
    jd_status status =
        count ? platform_of(scan)->transfer(
                    jd__axis_comm_handle(scan->axis_comm), halves, count)
              : JD_OK;
    if (status != JD_OK || from < 0)
        return status;
    fold_parts(scan, ins, 1 + parts->has_before, parts->before);
    parts->has_before = true;
    ins[1] = parts->sum;
    fold_parts(scan, ins, 2, parts->sum);
    return JD_OK;
}

/* Afterwards the parts are of all members before. */
static jd_status double_parts(const struct scan *scan, struct scan_parts *parts)
{
    int size = scan->axis_comm->size, index = scan->axis_comm->index;
    jd_status status = JD_OK;
    for (int64_t step = 1; step < size && status == JD_OK; step *= 2) {
        int64_t to = index + step, from = index - step;
        status = exchange_parts(scan, parts, to < size ? (int)to : -1,
                                from >= 0 ? (int)from : -1);
    }
    return status;
}

/* The same, one member after the other. */
static jd_status hand_parts_on(const struct scan *scan,
                               struct scan_parts *parts)
{
    int size = scan->axis_comm->size, index = scan->axis_comm->index;
    jd_status status = exchange_parts(scan, parts, -1, index - 1);
    return status == JD_OK
               ? exchange_parts(scan, parts, index + 1 < size ? index + 1 : -1,
                                -1)
               : status;
}

static bool is_in_order(const struct scan *scan)
{
    jd_dtype dtype = scan->call.dtype;
    bool is_integer = dtype >= JD_PRED && dtype <= JD_U64;
    return !is_integer && is_rounded(scan) &&
           jd__options_integer(scan->axis_comm->shard->mesh->runtime->settings,
                               JD_OPTION_DETERMINISTIC);
}

/* What nothing was added to comes out as it is, bit for bit. */
static void write_result(const struct scan *scan,
                         const struct scan_parts *parts)
{
    const void *wide = scan->is_exclusive ? parts->before : parts->sum;
    if (parts->has_before)
        fold_vectors(scan, is_rounded(scan) ? JD_FOLD_FINISH : JD_FOLD_WHOLE,
                     &wide, 1, scan->call.out);
    else if (scan->is_exclusive)
        write_identity(scan);
    else
        memmove(scan->call.out, scan->call.in, bytes_of(scan));
}

static jd_status scan_long(const struct scan *scan, struct scan_parts *parts)
{
    const void *in = scan->call.in;
    jd_status status = platform_of(scan)->barrier(
        jd__axis_comm_handle(scan->axis_comm), &scan->call);
    if (status != JD_OK || scan->call.count == 0)
        return status;
    fold_vectors(scan, is_rounded(scan) ? JD_FOLD_PARTIAL : JD_FOLD_WHOLE, &in,
                 1, parts->sum);
    status = is_in_order(scan) ? hand_parts_on(scan, parts)
                               : double_parts(scan, parts);
    if (status != JD_OK)
        return status;
    write_result(scan, parts);
    return JD_OK;
}

/* ---- the call ----------------------------------------------------------- */

static const enum jd_reduce reductions[] = {
    [JD_OP_SUM] = JD_REDUCE_SUM, [JD_OP_PROD] = JD_REDUCE_PROD,
    [JD_OP_MAX] = JD_REDUCE_MAX, [JD_OP_MIN] = JD_REDUCE_MIN,
    [JD_OP_AND] = JD_REDUCE_AND, [JD_OP_OR] = JD_REDUCE_OR,
    [JD_OP_XOR] = JD_REDUCE_XOR,
};
enum { NUM_OPS = sizeof reductions / sizeof *reductions };

static jd_status check_words(jd_op op, jd_scan_kind kind)
{
    if ((int)op < 0 || (int)op >= NUM_OPS)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_scan: op is %d, which is no jd_op; it is JD_OP_SUM, "
                       "JD_OP_PROD, JD_OP_MAX, JD_OP_MIN, JD_OP_AND, JD_OP_OR "
                       "or JD_OP_XOR",
                       (int)op);
    if (kind == JD_SCAN_INCLUSIVE || kind == JD_SCAN_EXCLUSIVE)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_scan: kind is %d; it is JD_SCAN_INCLUSIVE or "
                   "JD_SCAN_EXCLUSIVE",
                   (int)kind);
}

static jd_status check_scan(jd_shard *shard, const char *axes, jd_op op,
                            jd_scan_kind kind, struct scan *scan)
{
    struct jd_collective *call = &scan->call;
    const struct jd_buffers buffers = { call->count, call->count, 0,
                                        JD_SAME_BUFFER };
    jd_status status = jd__checks_call(shard, axes, call, 1, &scan->axis_comm);
    if (status == JD_OK)
        status = jd__checks_buffers(call, &buffers);
    if (status == JD_OK)
        status = check_words(op, kind);
    if (status != JD_OK)
        return status;
    scan->op = reductions[op];
    scan->is_exclusive = kind == JD_SCAN_EXCLUSIVE;
    call->rest = jd__signature_scan((int)op, (int)kind);
    status = shard->mesh->platform->check_reduce(call, scan->op);
    return status == JD_OK ? jd__checks_host(shard, call) : status;
}

/* Memory of a long one, where there are elements. */
static jd_status make_parts(const struct scan *scan, struct scan_parts *parts)
{
    size_t wide = jd_dtype_size(type_of_parts(scan));
    size_t count = scan->call.count;
    if (is_short(scan) || count == 0)
        return JD_OK;
    if (count <= PTRDIFF_MAX / (NUM_VECTORS * wide))
        parts->sum = malloc(NUM_VECTORS * wide * count);
    if (!parts->sum)
        return jd__fail_no_memory("jd_scan", wide * count);
    parts->before = (char *)parts->sum + wide * count;
    parts->got = (char *)parts->before + wide * count;
    return JD_OK;
}

/* On the host's buffers. */
static jd_status run_scan(const struct scan *scan)
{
    struct scan_parts parts = { 0 };
    jd_status status = make_parts(scan, &parts);
    if (status == JD_OK)
        status =
            jd__axis_comm_enter(scan->axis_comm, &scan->call, scan->call.rest);
    if (status == JD_OK) {
        status = is_short(scan) ? scan_short(scan) : scan_long(scan, &parts);
        status =
            jd__axis_comm_leave(scan->axis_comm, scan->call.activity, status);
    }
    free(parts.sum);
    return status;
}

jd_status jd_scan(jd_shard *shard, const char *axes, const void *in, void *out,
                  size_t count, jd_dtype dtype, jd_op op, jd_scan_kind kind)
{
    JD_NOTE_CALLER();
    struct scan scan = { .call = { .activity = JD_ACTIVITY_SCAN,
                                   .in = in,
                                   .out = out,
                                   .count = count,
                                   .dtype = dtype } };
    struct jd_host_copies copies;
    jd_status status = check_scan(shard, axes, op, kind, &scan);
    if (status != JD_OK)
        return status;
    jd__host_copies_begin(&copies, shard, "jd_scan");
    scan.call.in = jd__host_copies_in(&copies, in, bytes_of(&scan));
    scan.call.out = jd__host_copies_out(&copies, out, bytes_of(&scan));
    if (copies.status == JD_OK)
        status = run_scan(&scan);
    return jd__host_copies_end(&copies, status);
}
