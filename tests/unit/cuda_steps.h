/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_steps.h - the steps of the cuda platform's collectives (task.h) without
 * a GPU: each member's are written down when they are queued, and done, on host
 * memory, when all members have queued theirs.
 *
 *     struct steps *steps = steps_of(size);
 *     ... jd__cuda_all_gather(&steps->members[i].comm, &call, 1) for
 * each i steps_run(steps);
 *
 * It fails the test where members' steps do not go together (other lengths,
 * other calls, a send that nobody receives), where a step touches what is
 * neither the call's buffers nor its scratch, and where one is sent to or
 * received from whom the call has not wanted to be connected with.
 */
#ifndef TESTS_UNIT_CUDA_STEPS_H
#define TESTS_UNIT_CUDA_STEPS_H

#include "collectives/cuda/check.h"
#include "collectives/cuda/task.h"
#include "tests/unit/unit.h"

enum { STEPS_MEMBERS = 8 };

struct step;

struct steps_range {
    const char *begin;
    size_t bytes;
};

struct steps_member {
    struct jd_comm comm;
    struct jd_collective call;
    struct step *steps;
    int num_steps, capacity, next;
    struct steps_range in, out, scratch;
    size_t most_scratch;        /* of all calls */
    struct jd_cuda_terms terms; /* of the last call */
    bool keeps_out;
    bool wants[STEPS_MEMBERS], is_connected[STEPS_MEMBERS]; /* in the call */
};

struct steps {
    int size;
    struct steps_member members[STEPS_MEMBERS];
    struct jd_runtime runtime;
    int collectives; /* calls of NCCL's that were done together */
    int messages;    /* groups that had a message */
};

/* With an environment that has JD_DETERMINISTIC, or not. */
struct steps *steps_of(int size, bool is_deterministic);
void steps_run(struct steps *steps);
void steps_free(struct steps *steps);

#endif
