/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * partings.h - where the members of a communicator part ways: the first of its
 * calls that they make differently, or that some have not come to while others
 * wait in it.
 */
#ifndef TOOLS_JD_TRACE_PARTINGS_H
#define TOOLS_JD_TRACE_PARTINGS_H

#include "tools/jd-trace/traced.h"

enum parting_kind {
    PARTING_DIFFERS, /* its calls are not alike */
    PARTING_WAITS,   /* some have not come */
};

struct parting_member {
    int index;                            /* of its process */
    const struct traced_process *process; /* NULL: it has no file */
    const struct traced_call *call;       /* NULL: it has not come */
    uint64_t made;                        /* its calls there */
};

struct parting {
    enum parting_kind kind;
    uint64_t comm, sequence;
    uint32_t text;
    struct parting_member *members; /* those that have come are the first */
    int num_come, num_absent;
    int num_unknown; /* members of processes that cannot be told */
    bool is_root;    /* of the absent somebody waits for nobody */
};

struct parting_list {
    struct parting *partings; /* the likeliest cause first */
    int count;
};

/* False without memory. */
bool partings_find(const struct traced_job *job, struct parting_list *list);
void partings_finish(struct parting_list *list);

/* What the members of a call must have alike. */
bool partings_alike(const struct traced_call *a, const struct traced_call *b);

/* The call that the process of that place in the job is stuck in: others have
 * not come to it. NULL: none. */
const struct traced_call *partings_stuck(const struct parting_list *list,
                                         const struct traced_process *process);

#endif
