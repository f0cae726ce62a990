/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preduce.c - jd_preduce: a reduction by a function of the program's, which
 * need not commute. Short ones come to all members whole, who fold them alike;
 * of long ones each member folds a part, which then goes to all. Either in
 * pieces that need no more than some memory.
 */
#include "base/numbers.h"
#include "base/progress.h"
#include "collectives/api/checks.h"
#include "collectives/api/host_copies.h"
#include "jd_collectives.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 1 << 20, /* bytes of all members that are in memory at a time */
    LONG = 16 << 10, /* bytes from which on each folds a part */
    FEW = 2 << 10,   /* bytes that need no allocation */
    MOST_ELEMENT = UINT16_MAX,
};

struct program_fold {
    struct jd_axis_comm *axis_comm;
    struct jd_collective call; /* in bytes */
    size_t count, element;     /* elements, and bytes of one */
    jd_reduce_f function;
    void *context;
    char *scratch; /* a piece of each member */
};

static size_t members_of(const struct program_fold *f)
{
    return (size_t)f->axis_comm->size;
}

/* ---- looking at it ------------------------------------------------------ */

static jd_status check_arguments(const struct program_fold *f)
{
    if (!f->function)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_preduce: function is NULL; it joins two members' "
                       "elements");
    if (f->element == 0 || f->element > MOST_ELEMENT)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_preduce: element_bytes is %zu; an element has 1 to "
                       "%d bytes",
                       f->element, (int)MOST_ELEMENT);
    if (f->count <= (SIZE_MAX >> 17) / f->element)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_preduce: count is %zu; that many elements of %zu bytes "
                   "do not fit into an address space (was it negative?)",
                   f->count, f->element);
}

static jd_status check_all(struct program_fold *f, jd_shard *shard,
                           const char *axes)
{
    jd_status status = check_arguments(f);
    f->call.count = f->count * f->element;
    const struct jd_buffers buffers = { f->call.count, f->call.count, 0,
                                        JD_SAME_BUFFER };
    if (status == JD_OK)
        status = jd__checks_call(shard, axes, &f->call, 1, &f->axis_comm);
    if (status == JD_OK)
        status = jd__checks_buffers(&f->call, &buffers);
    return status == JD_OK ? jd__checks_host(shard, &f->call) : status;
}

/* ---- folding ------------------------------------------------------------ */

/* What members give each other; scratch then has a piece of each. in_step is
 * between the pieces for them, 0: all get the same, which is a gather where the
 * platform reads pieces that follow each other alone. */
static jd_status exchange_pieces(const struct program_fold *f, size_t begin,
                                 size_t bytes, size_t in_step)
{
    const struct jd_platform *platform = f->axis_comm->shard->mesh->platform;
    struct jd_collective call = f->call;
    const struct jd_pieces pieces = {
        .rows = 1,
        .width = bytes,
        .in_step = in_step,
        .in_pitch = bytes,
        .out_step = bytes,
        .out_pitch = bytes,
        .rest = jd__signature_preduce(f->count, f->element),
    };
    call.in = bytes ? (const char *)f->call.in + begin : NULL;
    call.out = f->scratch;
    call.count = bytes;
    if (in_step == 0 && platform->streams) {
        call.rest = pieces.rest;
        return platform->all_gather(jd__axis_comm_handle(f->axis_comm), &call,
                                    1);
    }
    return platform->all_to_all(jd__axis_comm_handle(f->axis_comm), &call,
                                &pieces);
}

/* The first piece becomes all of them joined in the members' order. */
static void fold_pieces(const struct program_fold *f, size_t count)
{
    size_t bytes = count * f->element;
    for (size_t i = 1; i < members_of(f) && count; i++)
        f->function(f->scratch, f->scratch + i * bytes, count, f->context);
}

static jd_status fold_whole(const struct program_fold *f, size_t first,
                            size_t count)
{
    size_t begin = first * f->element, bytes = count * f->element;
    jd_status status = exchange_pieces(f, begin, bytes, 0);
    if (status != JD_OK || bytes == 0)
        return status;
    fold_pieces(f, count);
    memcpy((char *)f->call.out + begin, f->scratch, bytes);
    return JD_OK;
}

/* each elements for each member. */
static jd_status fold_parts(const struct program_fold *f, size_t first,
                            size_t each)
{
    const struct jd_platform *platform = f->axis_comm->shard->mesh->platform;
    struct jd_collective call = f->call;
    size_t begin = first * f->element, bytes = each * f->element;
    jd_status status = exchange_pieces(f, begin, bytes, bytes);
    if (status != JD_OK)
        return status;
    fold_pieces(f, each);
    call.in = f->scratch;
    call.out = (char *)f->call.out + begin;
    call.count = bytes;
    return platform->all_gather(jd__axis_comm_handle(f->axis_comm), &call, 1);
}

/* As many elements of each member as are in memory at a time. */
static size_t most_of_each(const struct program_fold *f)
{
    size_t most = PIECE / (members_of(f) * f->element);
    return most ? most : 1;
}

/* What is left of a long one is short. */
static jd_status fold_elements(const struct program_fold *f)
{
    size_t most = most_of_each(f), done = 0, members = members_of(f);
    jd_status status = JD_OK;
    if (f->call.count >= LONG && members > 1)
        while (status == JD_OK && f->count - done >= members) {
            size_t each =
                jd__numbers_smaller(most, (f->count - done) / members);
            status = fold_parts(f, done, each);
            done += each * members;
        }
    while (status == JD_OK && (done < f->count || f->count == 0)) {
        size_t count = jd__numbers_smaller(most, f->count - done);
        status = fold_whole(f, done, count);
        done += count;
        if (count == 0)
            break;
    }
    return status;
}

static jd_status fold_in_memory(struct program_fold *f)
{
    alignas(max_align_t) char few[FEW];
    size_t bytes = members_of(f) *
                   jd__numbers_smaller(most_of_each(f), f->count) * f->element;
    char *many = bytes > FEW ? malloc(bytes) : NULL;
    if (bytes > FEW && !many)
        return jd__fail_no_memory("jd_preduce", bytes);
    f->scratch = many ? many : few;
    jd_status status = jd__axis_comm_enter(
        f->axis_comm, &f->call, jd__signature_preduce(f->count, f->element));
    if (status == JD_OK)
        status = jd__axis_comm_leave(f->axis_comm, f->call.activity,
                                     fold_elements(f));
    free(many);
    return status;
}

jd_status jd_preduce(jd_shard *shard, const char *axes, const void *in,
                     void *out, size_t count, size_t element_bytes,
                     jd_reduce_f function, void *context)
{
    JD_NOTE_CALLER();
    struct program_fold f = { .call = { .activity = JD_ACTIVITY_PREDUCE,
                                        .in = in,
                                        .out = out,
                                        .dtype = JD_U8 },
                              .count = count,
                              .element = element_bytes,
                              .function = function,
                              .context = context };
    struct jd_host_copies copies;
    jd_status status = check_all(&f, shard, axes);
    if (status != JD_OK)
        return status;
    jd__host_copies_begin(&copies, shard, "jd_preduce");
    f.call.in = jd__host_copies_in(&copies, in, f.call.count);
    f.call.out = jd__host_copies_out(&copies, out, f.call.count);
    if (copies.status == JD_OK)
        status = fold_in_memory(&f);
    return jd__host_copies_end(&copies, status);
}
