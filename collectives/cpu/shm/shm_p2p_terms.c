/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_p2p_terms.c - what the two ends of a transfer say of it, and the sentence
 * where that does not match. A sender that waits compares itself; one that has
 * left its send hears of it from the receiver, at its next transfer with it.
 */
#include "collectives/check/any_size.h"
#include "collectives/cpu/shm/shm_p2p_private.h"
#include "collectives/platform/transfer_pair.h"

struct terms jd__shm_p2p_terms_of(const struct jd_transfer *transfer)
{
    return (struct terms){ .count = transfer->call.count,
                           .dtype = (uint32_t)transfer->call.dtype,
                           .tag = transfer->tag,
                           .is_any_size = transfer->came,
                           .rest = transfer->call.rest };
}

static bool are_equal(struct terms a, struct terms b)
{
    return a.count == b.count && a.dtype == b.dtype && a.tag == b.tag &&
           a.rest == b.rest;
}

/* ---- sentences ---------------------------------------------------------- */

static jd_status fail_unequal(const struct batch *batch,
                              const struct jd_transfer *transfer,
                              struct terms theirs)
{
    const struct jd_shm_group *group = batch->group;
    const struct jd_transfer_pair pair = {
        .own = transfer,
        .process = group->processes[group->index],
        .other = group->processes[transfer->member],
        .member = group->index,
        .count = theirs.count,
        .rest = theirs.rest,
        .dtype = theirs.dtype,
        .tag = theirs.tag,
    };
    return jd__transfer_fail_pair(&pair, jd__transfer_activity(transfer));
}

static struct jd_any_size_end end_of(const struct batch *batch, int member,
                                     struct terms terms)
{
    return (struct jd_any_size_end){ batch->group->processes[member], member,
                                     terms.count, terms.dtype, terms.tag };
}

/* Of a transfer of any size, the sender's end and the receiver's. */
static void order_ends(const struct batch *batch,
                       const struct jd_transfer *transfer, struct terms theirs,
                       struct jd_any_size_end *ret_sent,
                       struct jd_any_size_end *ret_wanted)
{
    struct jd_any_size_end own =
        end_of(batch, batch->group->index, jd__shm_p2p_terms_of(transfer));
    struct jd_any_size_end other = end_of(batch, transfer->member, theirs);
    *ret_sent = transfer->sends ? own : other;
    *ret_wanted = transfer->sends ? other : own;
}

static bool terms_match(const struct batch *batch,
                        const struct jd_transfer *transfer, struct terms theirs)
{
    struct terms own = jd__shm_p2p_terms_of(transfer);
    struct jd_any_size_end sent, wanted;
    if (!own.is_any_size && !theirs.is_any_size)
        return are_equal(own, theirs);
    order_ends(batch, transfer, theirs, &sent, &wanted);
    return jd__any_size_fits(&sent, &wanted);
}

static jd_status fail_terms(const struct batch *batch,
                            const struct jd_transfer *transfer,
                            struct terms theirs)
{
    struct jd_any_size_end sent, wanted;
    if (!transfer->came && !theirs.is_any_size)
        return fail_unequal(batch, transfer, theirs);
    order_ends(batch, transfer, theirs, &sent, &wanted);
    return jd__any_size_fail(
        jd__signature_activity_name(jd__transfer_activity(transfer)),
        transfer->call.detail, &sent, &wanted);
}

bool jd__shm_p2p_terms_agree(struct batch *batch, const struct rail *rail,
                             struct terms theirs)
{
    const struct jd_transfer *transfer = &batch->transfers[rail->transfer];
    if (terms_match(batch, transfer, theirs))
        return true;
    if (batch->status == JD_OK)
        batch->status = fail_terms(batch, transfer, theirs);
    return false;
}

/* ---- of a send that was left -------------------------------------------- */

/* The first of those that were not told yet is kept. */
void jd__shm_p2p_terms_complain(const struct batch *batch,
                                const struct rail *rail, struct terms sent)
{
    struct complaint *complaint = &own_box(batch, rail)->complaint;
    uint64_t heard = atomic_load_explicit(&other_box(batch, rail)->heard,
                                          memory_order_acquire);
    if (atomic_load(&complaint->number) != heard)
        return;
    complaint->sent = sent;
    complaint->wanted = jd__shm_p2p_terms_of(&batch->transfers[rail->transfer]);
    atomic_store_explicit(&complaint->number, rail->number,
                          memory_order_release);
}

/* The send as it was. */
static struct jd_transfer left_send(const struct batch *batch,
                                    const struct rail *rail, struct terms sent)
{
    return (struct jd_transfer){
        .member = rail->member,
        .sends = true,
        .tag = sent.tag,
        .call = { .activity = JD_ACTIVITY_SEND,
                  .detail = call_of(batch, rail)->detail,
                  .count = (size_t)sent.count,
                  .dtype = (jd_dtype)sent.dtype,
                  .rest = sent.rest },
    };
}

static jd_status fail_left(const struct batch *batch, const struct rail *rail,
                           const struct complaint *complaint)
{
    struct jd_transfer send = left_send(batch, rail, complaint->sent);
    jd_status status = fail_terms(batch, &send, complaint->wanted);
    return jd_fail(status,
                   "%s; this is of an earlier jd_send, which returned before "
                   "its receive was there, as short ones do",
                   jd_error_message());
}

bool jd__shm_p2p_terms_hear(struct batch *batch, const struct rail *rail)
{
    const struct complaint *complaint = &other_box(batch, rail)->complaint;
    _Atomic uint64_t *heard = &own_box(batch, rail)->heard;
    uint64_t number =
        atomic_load_explicit(&complaint->number, memory_order_acquire);
    if (number == JD_SHM_REVOKED)
        return false;
    if (number == atomic_load_explicit(heard, memory_order_relaxed))
        return true;
    if (batch->status == JD_OK)
        batch->status = fail_left(batch, rail, complaint);
    atomic_store_explicit(heard, number, memory_order_release);
    return true;
}
