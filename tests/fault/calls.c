/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.c - each collective, among all devices. */
#include "calls.h"

#include <jd.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A block for each member; a long one goes from memory to memory. */
enum { MOST_MEMBERS = 64, FEW = 1, MANY = 1 << 16 };

struct place {
    jd_shard *me;
    int index, members;
    double *in, *out;
};

static atomic_int made;
static void (*after_each)(void);

int calls_made(void)
{
    return atomic_load(&made);
}

static jd_status psum_few(const struct place *p)
{
    return jd_psum(p->me, NULL, p->in, p->out, FEW, JD_F64);
}

static jd_status psum_many(const struct place *p)
{
    return jd_psum(p->me, NULL, p->in, p->out, MANY, JD_F64);
}

static jd_status all_gather(const struct place *p)
{
    return jd_all_gather(p->me, NULL, p->in, p->out, MANY, JD_F64);
}

static jd_status psum_scatter(const struct place *p)
{
    return jd_psum_scatter(p->me, NULL, p->in, p->out, MANY, JD_F64);
}

static jd_status all_to_all(const struct place *p)
{
    return jd_all_to_all(p->me, NULL, p->in, p->out, MANY, JD_F64);
}

/* As all_to_all, but for a row more or less. */
static jd_status ragged(const struct place *p)
{
    int64_t begin[MOST_MEMBERS], size[MOST_MEMBERS], to[MOST_MEMBERS];
    for (int i = 0; i < p->members; i++) {
        begin[i] = (int64_t)i * MANY;
        to[i] = (int64_t)p->index * MANY;
        size[i] = MANY - (p->index + i) % 2;
    }
    size_t rows = (size_t)p->members * MANY;
    return jd_ragged_all_to_all(p->me, NULL, p->in, rows, p->out, rows, 1,
                                begin, size, to, size, p->members, JD_F64);
}

static jd_status ragged_gather(const struct place *p)
{
    int64_t counts[MOST_MEMBERS];
    for (int i = 0; i < p->members; i++)
        counts[i] = MANY - i;
    return jd_ragged_all_gather(p->me, NULL, p->in, (size_t)counts[p->index],
                                p->out, counts, JD_F64);
}

static jd_status ppermute(const struct place *p)
{
    jd_route routes[MOST_MEMBERS];
    for (int i = 0; i < p->members; i++)
        routes[i] = (jd_route){ i, (i + 1) % p->members };
    return jd_ppermute(p->me, NULL, p->in, p->out, MANY, JD_F64, routes,
                       p->members);
}

static jd_status pbroadcast(const struct place *p)
{
    return jd_pbroadcast(p->me, NULL, 1, p->in, p->out, MANY, JD_F64);
}

/* To the right neighbour, from the left one. */
static jd_status exchange(const struct place *p)
{
    int right = (p->index + 1) % p->members;
    int left = (p->index + p->members - 1) % p->members;
    JD_CHECK(jd_group_begin(p->me));
    JD_CHECK(jd_send(p->me, NULL, right, p->in, MANY, JD_F64));
    JD_CHECK(jd_recv(p->me, NULL, left, p->out, MANY, JD_F64));
    return jd_group_end(p->me);
}

/* Handed on from the first to the last: only two at a time are in it. */
static jd_status hand_on(const struct place *p)
{
    jd_status status = JD_OK;
    if (p->index > 0)
        status = jd_recv(p->me, NULL, p->index - 1, p->out, MANY, JD_F64);
    if (status == JD_OK && p->index + 1 < p->members)
        status = jd_send(p->me, NULL, p->index + 1, p->in, MANY, JD_F64);
    return status;
}

static jd_status barrier(const struct place *p)
{
    return jd_barrier(p->me, NULL);
}

static const struct call {
    const char *name;
    jd_status (*make)(const struct place *place);
    int blocks; /* of in and out: 1, or one for each member */
} calls[] = {
    { "psum-few", psum_few, 1 },
    { "psum-many", psum_many, 1 },
    { "all-gather", all_gather, MOST_MEMBERS },
    { "psum-scatter", psum_scatter, MOST_MEMBERS },
    { "all-to-all", all_to_all, MOST_MEMBERS },
    { "ragged", ragged, MOST_MEMBERS },
    { "ragged-gather", ragged_gather, MOST_MEMBERS },
    { "ppermute", ppermute, 1 },
    { "pbroadcast", pbroadcast, 1 },
    { "exchange", exchange, 1 },
    { "hand-on", hand_on, 1 },
    { "jd-barrier", barrier, 0 },
};

static jd_mesh *make_mesh(void)
{
    static const char *const names[] = { "data" };
    jd_mesh *mesh;
    JD_CHECK(jd_mesh_create(&mesh, 1, (int[]){ -1 }, names, NULL));
    return mesh;
}

static struct place place_of(jd_shard *me)
{
    return (struct place){ .me = me,
                           .index = jd_axis_index(me, NULL),
                           .members = jd_axis_size(me, NULL) };
}

static void count(void)
{
    atomic_fetch_add(&made, 1);
    if (after_each)
        after_each();
}

/* Of memory of the device, and of any. */
static jd_status repeat(jd_shard *me, void *arg)
{
    const struct call *call = arg;
    struct place place = place_of(me);
    void *memory;
    int blocks = call->blocks > place.members ? place.members : call->blocks;
    size_t bytes = (size_t)blocks * MANY * sizeof(double);
    JD_CHECK(jd_device_alloc(jd_shard_device(me), bytes, &memory));
    place.in = memory;
    place.out = calloc(1, bytes ? bytes : 1);
    for (;;) {
        JD_CHECK(call->make(&place));
        count();
    }
}

static jd_status meet(jd_shard *me, void *arg)
{
    double value = 1;
    struct place place = place_of(me);
    place.in = place.out = &value;
    (void)arg;
    return psum_few(&place);
}

/* The members of a mesh meet for the first time, again and again. */
static void repeat_first(void)
{
    for (;;) {
        jd_mesh *mesh = make_mesh();
        JD_CHECK(jd_shard_map(mesh, meet, NULL));
        jd_mesh_destroy(mesh);
        count();
    }
}

void calls_make(const char *name, void (*after)(void))
{
    after_each = after;
    if (strcmp(name, "first") == 0)
        repeat_first();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(name, calls[i].name) == 0)
            JD_CHECK(jd_shard_map(make_mesh(), repeat, (void *)&calls[i]));
    _exit(92);
}
