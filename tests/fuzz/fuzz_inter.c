/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_inter.c - what members of other hosts send by MPI, over any bytes:
 * what is taken has only numbers that can be used as indices, and what is
 * refused has its sentence. The first bytes of an input are the number of
 * members, and how many of them are in the sender's group.
 */
#include "collectives/cpu/inter/inter_result.h"
#include "collectives/platform/ragged_fault.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_MEMBERS = 8, MOST_BYTES = 64 };

/* One input. */
struct attempt {
    int size, group;
    int *processes; /* on the heap, so that one too far is seen */
    struct jd_inter_ends ends;
};

static void fill(struct fuzz_input *input, void *record, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)record)[i] = fuzz_byte(input);
}

static void expect_vote(const struct attempt *a, const struct jd_vote *vote)
{
    if (vote->member >= 0) {
        FUZZ_EXPECT(a->processes[vote->member] >= 0, "no process");
        FUZZ_EXPECT(vote->count <= a->group, "%d votes", (int)vote->count);
    }
}

static void try_result(const struct attempt *a, struct fuzz_input *input)
{
    char message[JD_INTER_RESULT_SPACE];
    struct jd_inter_result result;
    fill(input, message, sizeof message);
    size_t length = jd__inter_result_unpack(message, &result);
    FUZZ_EXPECT(length <= sizeof message, "%zu bytes", length);
    jd_status status = jd__inter_result_check(&result, a->group, a->size,
                                              MOST_BYTES, &a->ends);
    if (status != JD_OK) {
        FUZZ_EXPECT(*jd_error_message(), "no sentence");
        return;
    }
    FUZZ_EXPECT(result.votes[0].member >= 0, "nobody speaks");
    expect_vote(a, &result.votes[0]);
    expect_vote(a, &result.votes[1]);
    FUZZ_EXPECT(result.bytes <= MOST_BYTES, "%u", (unsigned)result.bytes);
    if (result.failed >= 0) {
        FUZZ_EXPECT(a->processes[result.failed] >= 0, "no process");
        FUZZ_EXPECT(*jd_status_name((jd_status)result.status), "no status");
    }
}

static void try_kind(const struct attempt *a, struct fuzz_input *input)
{
    struct jd_inter_head head;
    fill(input, &head, sizeof head);
    FUZZ_EXPECT(jd__inter_fail_kind(&head, &a->ends) == JD_ABORTED, "taken");
}

static void try_fault(const struct attempt *a, struct fuzz_input *input)
{
    struct jd_ragged_fault fault;
    fill(input, &fault, sizeof fault);
    if (jd__ragged_fault_is_fault(&fault, a->size))
        FUZZ_EXPECT(jd__ragged_fault_fail("fuzz", NULL, a->processes, &fault) !=
                        JD_OK,
                    "no failure");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = { data, data + size };
    struct attempt a = { .size = 1 + fuzz_byte(&input) % MOST_MEMBERS };
    a.group = 1 + fuzz_byte(&input) % a.size;
    a.ends = (struct jd_inter_ends){ .operation = "fuzz" };
    a.processes = calloc((size_t)a.size, sizeof *a.processes);
    FUZZ_EXPECT(a.processes, "no memory");
    while (!fuzz_is_empty(&input))
        switch (fuzz_byte(&input) % 3) {
        case 0:
            try_result(&a, &input);
            break;
        case 1:
            try_kind(&a, &input);
            break;
        default:
            try_fault(&a, &input);
        }
    free(a.processes);
    return 0;
}
