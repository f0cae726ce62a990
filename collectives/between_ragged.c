/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * between_ragged.c - ragged_all_to_all between teams: first each tells each
 * other what is to come, and all hear whether it fits; then the rows go.
 */
#include "collectives/between_private.h"

#include <inttypes.h>

/* One entry: how many rows, and where they go. */
struct told {
    int64_t rows;
    int64_t offset;
};

/* A ragged_all_to_all in bytes. */
struct ragged {
    struct jd_clique *clique;
    const struct jd_collective *call;
    const struct jd_ragged *arrays;
    size_t row;        /* bytes */
    struct told *tell; /* an entry for each of the arrays' */
    struct told *told;
    char *scratch; /* of the exchanges */
};

static int entries_of(const struct ragged *r)
{
    return r->arrays->per_member * r->clique->size;
}

static bool fits(int64_t offset, int64_t rows, size_t length)
{
    return offset >= 0 && rows >= 0 && (uint64_t)offset <= length &&
           (uint64_t)rows <= length - (uint64_t)offset;
}

/* What this member can see without the others. */
static jd_status check_own(const struct ragged *r)
{
    const struct jd_ragged *a = r->arrays;
    for (int k = 0; k < entries_of(r); k++)
        if (!fits(a->input_offsets[k], a->send_sizes[k], a->in_rows))
            return jd_fail(JD_INVALID_ARGUMENT,
                           "%s%s: input_offsets[%d] is %" PRId64
                           " and send_sizes[%d] %" PRId64
                           ", which is not within in's %zu rows",
                           jd__activity_name(r->call->activity),
                           r->call->detail, k, a->input_offsets[k], k,
                           a->send_sizes[k], a->in_rows);
    return JD_OK;
}

static jd_status check_told(const struct ragged *r)
{
    const struct jd_ragged *a = r->arrays;
    const char *name = jd__activity_name(r->call->activity);
    for (int k = 0; k < entries_of(r); k++) {
        const struct told *told = &r->told[k];
        int member = k / a->per_member;
        if (told->rows != a->recv_sizes[k])
            return jd_fail(JD_INVALID_ARGUMENT,
                           "%s%s: recv_sizes[%d] is %" PRId64
                           ", but member %d sends %" PRId64
                           " rows there; recv_sizes are the others' "
                           "send_sizes for this member",
                           name, r->call->detail, k, a->recv_sizes[k], member,
                           told->rows);
        if (!fits(told->offset, told->rows, a->out_rows))
            return jd_fail(JD_INVALID_ARGUMENT,
                           "%s%s: member %d sends %" PRId64
                           " rows to row %" PRId64
                           ", which is not within out's %zu rows",
                           name, r->call->detail, member, told->rows,
                           told->offset, a->out_rows);
    }
    return JD_OK;
}

static jd_status tell(const struct ragged *r)
{
    const struct jd_ragged *a = r->arrays;
    size_t per = (size_t)a->per_member;
    for (int k = 0; k < entries_of(r); k++)
        r->tell[k] = (struct told){ a->send_sizes[k], a->output_offsets[k] };
    for (int i = 0; i < r->clique->size; i++) {
        size_t first = (size_t)i * per, bytes = per * sizeof *r->tell;
        r->clique->between->sends[i] = jd__strip_flat(r->tell + first, bytes);
        r->clique->between->receives[i] =
            jd__strip_flat(r->told + first, bytes);
    }
    return jd__between_exchange(r->clique, r->scratch, false, NULL, NULL);
}

/* Moves every member's k-th chunk. */
static jd_status move(const struct ragged *r, int k)
{
    const struct jd_ragged *a = r->arrays;
    struct jd_between *between = r->clique->between;
    for (int i = 0; i < r->clique->size; i++) {
        int entry = i * a->per_member + k;
        between->sends[i] =
            jd__strip_flat((const char *)r->call->in +
                               (size_t)a->input_offsets[entry] * r->row,
                           (size_t)a->send_sizes[entry] * r->row);
        between->receives[i] = jd__strip_flat(
            (char *)r->call->out + (size_t)r->told[entry].offset * r->row,
            (size_t)r->told[entry].rows * r->row);
    }
    return jd__between_exchange(r->clique, r->scratch, false, NULL, NULL);
}

/* A second meeting: whether each member found that all is well. */
static jd_status agree(const struct ragged *r, struct jd_meeting meeting)
{
    jd_status status = check_own(r);
    if (status == JD_OK)
        status = check_told(r);
    meeting.signature.status = (int32_t)status;
    return jd__between_meet(r->clique, &meeting);
}

/* Cuts the memory for the entries off the scratch's end. */
static void take_scratch(struct ragged *r, struct jd_meeting *meeting)
{
    size_t bytes = jd__between_exchange_scratch(r->clique);
    size_t told = (size_t)entries_of(r) * sizeof *r->told;
    bytes = (bytes + 63) / 64 * 64;
    r->scratch = jd__between_scratch(r->clique, meeting, bytes + 2 * told);
    if (!r->scratch)
        return;
    r->tell = (struct told *)(void *)(r->scratch + bytes);
    r->told = r->tell + entries_of(r);
}

jd_status jd__between_ragged(struct jd_clique *clique,
                             const struct jd_collective *call,
                             const struct jd_ragged *ragged)
{
    struct ragged r = { .clique = clique,
                        .call = call,
                        .arrays = ragged,
                        .row = call->count * jd_dtype_size(call->dtype) };
    struct jd_meeting meeting = { .call = call,
                                  .signature = jd__between_sign(call) };
    meeting.signature.digest = (uint64_t)ragged->per_member;
    take_scratch(&r, &meeting);
    jd_status status = jd__between_meet(clique, &meeting);
    if (status == JD_OK)
        status = tell(&r);
    if (status == JD_OK)
        status = agree(&r, meeting);
    for (int k = 0; k < ragged->per_member && status == JD_OK; k++)
        status = move(&r, k);
    return status;
}
