/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.c - a ring, as a message of trace.proto. */
#include "runtime/recorder/trace.h"
#include "base/clock.h"
#include "runtime/recorder/clock_samples.h"
#include "runtime/recorder/own_ranges.h"
#include "runtime/recorder/site.h"
#include "runtime/recorder/trace_columns.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SITES = 1024 }; /* beyond that a call has none */

struct site {
    uint64_t address;
    struct jd_site_text text;
};

/* All that the message points to. */
struct packing {
    const struct jd_ring *ring;
    double lines_until;
    struct site sites[MAX_SITES];
    size_t num_sites;
    Jd__TraceComm comms[JD_RING_COMMS];
    size_t num_comms;
    char *names[JD_RING_NAMES], *site_texts[MAX_SITES];
    Jd__TraceComm *comm_pointers[JD_RING_COMMS];
    size_t num_calls;
    struct jd_trace_columns columns;
    char *own_names[JD_RING_OWN_NAMES];
    size_t num_own;
    struct jd_trace_own_columns own;
    int64_t clock_at[JD_RING_CLOCKS], clock_offset[JD_RING_CLOCKS],
        clock_error[JD_RING_CLOCKS];
};

/* ---- what several calls have -------------------------------------------- */

static void describe_site(const struct packing *p, struct site *site)
{
    site->text = jd__clock_now() < p->lines_until
                     ? jd__site_in(p->ring, site->address)
                     : jd__site_in_file(p->ring, site->address);
}

/* Its place and 1. */
static uint32_t find_site(struct packing *p, uint64_t address)
{
    size_t i = 0;
    while (i < p->num_sites && p->sites[i].address != address)
        i++;
    if (!address || i == MAX_SITES)
        return 0;
    if (i == p->num_sites) {
        p->sites[i].address = address;
        p->site_texts[i] = p->sites[i].text.text;
        p->num_sites++;
    }
    return (uint32_t)i + 1;
}

static void add_comm(struct packing *p, const struct jd_ring_call *call)
{
    const struct jd_ring_comm *comm = jd__ring_find_comm(p->ring, call->comm);
    Jd__TraceComm *added = &p->comms[p->num_comms];
    jd__trace_comm__init(added);
    added->id = call->comm;
    added->member = call->member;
    added->size = comm ? comm->size : 0;
    added->text = (char *)(comm ? comm->text : "a communicator of the past");
    p->comm_pointers[p->num_comms++] = added;
}

/* Its place and 1. A member of its own is a place of its own. */
static uint32_t find_comm(struct packing *p, const struct jd_ring_call *call)
{
    size_t i = 0;
    while (i < p->num_comms &&
           (p->comms[i].id != call->comm || p->comms[i].member != call->member))
        i++;
    if (!call->comm || i == JD_RING_COMMS)
        return 0;
    if (i == p->num_comms)
        add_comm(p, call);
    return (uint32_t)i + 1;
}

/* ---- calls -------------------------------------------------------------- */

static int64_t to_nanoseconds(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

static void add_call(struct packing *p, const struct jd_ring_call *call)
{
    size_t i = p->num_calls++;
    p->columns.number[i] = call->number;
    p->columns.name[i] = call->name;
    p->columns.comm[i] = find_comm(p, call);
    p->columns.sequence[i] = call->sequence;
    p->columns.dtype[i] = call->dtype;
    p->columns.count[i] = call->count;
    p->columns.rest[i] = call->rest;
    p->columns.site[i] = find_site(p, call->site);
    p->columns.state[i] = call->state;
    p->columns.status[i] = call->status;
    p->columns.came_ns[i] = to_nanoseconds(call->came);
    p->columns.met_ns[i] = to_nanoseconds(call->met);
    p->columns.left_ns[i] = to_nanoseconds(call->left);
    p->columns.last[i] = call->last;
    p->columns.gpu[i] = call->gpu;
}

/* The newest calls are the first whose lines are looked for. */
static void read_ring(struct packing *p)
{
    struct jd_ring_call call;
    uint64_t last = jd__ring_last(p->ring);
    uint64_t number = last > JD_RING_CALLS ? last - JD_RING_CALLS : 0;
    while (++number <= last)
        if (jd__ring_read(p->ring, number, &call))
            add_call(p, &call);
    for (size_t i = p->num_sites; i-- > 0;)
        describe_site(p, &p->sites[i]);
}

/* ---- the program's own ranges ------------------------------------------- */

static void add_own_range(struct packing *p, const struct jd_own_range *range)
{
    size_t i = p->num_own++;
    p->own.name[i] = range->name;
    p->own.thread[i] = range->thread;
    p->own.depth[i] = range->depth;
    p->own.begin_ns[i] = (int64_t)range->begin;
    p->own.end_ns[i] = (int64_t)range->end;
}

static void read_own_ranges(struct packing *p)
{
    struct jd_own_range range;
    uint64_t last = atomic_load(&p->ring->own_count);
    uint64_t number = last > JD_RING_OWN_RANGES ? last - JD_RING_OWN_RANGES : 0;
    while (++number <= last)
        if (jd__own_ranges_read(p->ring, number, &range))
            add_own_range(p, &range);
}

static void set_own_ranges(struct packing *p, Jd__Trace *trace,
                           Jd__TraceOwnRanges *ranges)
{
    for (int i = 0; i < JD_RING_OWN_NAMES; i++)
        p->own_names[i] = (char *)p->ring->own_names[i].text;
    ranges->names = p->own_names;
    ranges->n_names = p->num_own ? JD_RING_OWN_NAMES : 0;
    jd__trace_own_columns_set(ranges, &p->own, p->num_own);
    trace->own_ranges = ranges;
}

/* ---- clocks ------------------------------------------------------------- */

static void set_clocks(struct packing *p, Jd__Trace *trace,
                       Jd__TraceClocks *clocks)
{
    struct jd_clock_sample samples[JD_RING_CLOCKS];
    int count = jd__clock_samples_read(p->ring, samples);
    for (int i = 0; i < count; i++) {
        p->clock_at[i] = samples[i].at;
        p->clock_offset[i] = samples[i].offset;
        p->clock_error[i] = samples[i].error;
    }
    clocks->at = p->clock_at;
    clocks->offset = p->clock_offset;
    clocks->error = p->clock_error;
    clocks->n_at = clocks->n_offset = clocks->n_error = (size_t)count;
    trace->clocks = clocks;
}

/* ---- the message -------------------------------------------------------- */

static void set_texts(struct packing *p, Jd__Trace *trace)
{
    for (int i = 0; i < JD_RING_NAMES; i++)
        p->names[i] = (char *)p->ring->names[i];
    trace->names = p->names;
    trace->n_names = JD_RING_NAMES;
    trace->comms = p->comm_pointers;
    trace->n_comms = p->num_comms;
    trace->sites = p->site_texts;
    trace->n_sites = p->num_sites;
}

static void set_about(const struct jd_ring *ring,
                      const struct jd_trace_about *about, Jd__Trace *trace)
{
    trace->version = JD_TRACE_VERSION;
    trace->job = (char *)about->job;
    trace->process = atomic_load(&ring->process);
    trace->processes = about->processes;
    trace->pid = (uint32_t)atomic_load(&ring->pid);
    trace->host = (char *)about->host;
    trace->boot_id = (char *)ring->boot_id;
    trace->step = (char *)ring->step;
    trace->end = (char *)about->end;
    trace->written_ns = to_nanoseconds(jd__clock_now());
    trace->writer = about->writer;
}

static void *pack_trace(struct packing *p, const struct jd_trace_about *about,
                        size_t *ret_size)
{
    Jd__Trace trace = JD__TRACE__INIT;
    Jd__TraceCalls calls = JD__TRACE_CALLS__INIT;
    Jd__TraceOwnRanges own_ranges = JD__TRACE_OWN_RANGES__INIT;
    Jd__TraceClocks clocks = JD__TRACE_CLOCKS__INIT;
    set_about(p->ring, about, &trace);
    set_texts(p, &trace);
    jd__trace_columns_set(&calls, &p->columns, p->num_calls);
    trace.calls = &calls;
    set_own_ranges(p, &trace, &own_ranges);
    set_clocks(p, &trace, &clocks);
    *ret_size = jd__trace__get_packed_size(&trace);
    void *bytes = malloc(*ret_size);
    if (bytes)
        jd__trace__pack(&trace, bytes);
    return bytes;
}

void *jd__trace_pack(const struct jd_ring *ring,
                     const struct jd_trace_about *about, size_t *ret_size)
{
    struct packing *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->ring = ring;
    p->lines_until = jd__clock_now() + JD_TRACE_LINES_SECONDS;
    read_ring(p);
    read_own_ranges(p);
    void *bytes = pack_trace(p, about, ret_size);
    free(p);
    return bytes;
}
