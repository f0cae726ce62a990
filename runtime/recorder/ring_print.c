/* SPDX-License-Identifier: BSD-3-Clause */
/* ring_print.c - a call of a ring in words. */
#include "jd_dtype.h"
#include "runtime/recorder/ring.h"
#include "runtime/recorder/site.h"

#include <inttypes.h>

/* The public calls that say it belong to a higher room. */
static const char *dtype_name(uint8_t dtype)
{
    switch (dtype) {
#define NAME_ROW(name, number, size)                                           \
    case number:                                                               \
        return #name;
        JD_DTYPE_MAP(NAME_ROW)
        JD_STORAGE_DTYPE_MAP(NAME_ROW)
#undef NAME_ROW
    default:
        return NULL;
    }
}

void jd__ring_print(FILE *out, const struct jd_ring *ring,
                    const struct jd_ring_call *call)
{
    const struct jd_ring_comm *comm = jd__ring_find_comm(ring, call->comm);
    const char *dtype = dtype_name(call->dtype);
    fprintf(out, "%.39s", ring->names[call->name % JD_RING_NAMES]);
    if (dtype && call->count)
        fprintf(out, " of %" PRIu64 " x %s", call->count, dtype);
    if (comm)
        fprintf(out, " over %.99s", comm->text);
    if (call->comm)
        fprintf(out, " (call %" PRIu64 " there)", call->sequence);
    struct jd_site_text site = jd__site_in(ring, call->site);
    if (site.text[0])
        fprintf(out, ", called at %s", site.text);
}
