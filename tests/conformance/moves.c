/* SPDX-License-Identifier: BSD-3-Clause */
/* moves.c - the operations that move whole vectors, and the barrier. */
#include "operations.h"

#include <string.h>

void draw_order(const struct attempt *a, int order[MAX_MEMBERS])
{
    for (int i = 0; i < a->span->size; i++) {
        int other = (int)draw(a, 50 + (uint64_t)i, (uint64_t)i + 1);
        order[i] = order[other];
        order[other] = i;
    }
}

static void plan_move(struct attempt *a)
{
    a->in_count = a->out_count = a->count;
    a->place = 0;
}

/* ---- ppermute, pshuffle, pbroadcast ------------------------------------- */

/* One of the members in three has nowhere to send to. */
static int draw_routes(const struct attempt *a, jd_route routes[MAX_MEMBERS])
{
    int order[MAX_MEMBERS], n = 0;
    draw_order(a, order);
    for (int i = 0; i < a->span->size; i++)
        if (draw(a, 200 + (uint64_t)i, 3) > 0)
            routes[n++] = (jd_route){ i, order[i] };
    return n;
}

/* Each member lists the routes from another one on. */
static int list_routes(const struct attempt *a, jd_route listed[MAX_MEMBERS])
{
    jd_route routes[MAX_MEMBERS];
    int n = draw_routes(a, routes);
    for (int i = 0; i < n; i++)
        listed[i] = routes[(i + a->span->index) % n];
    return n;
}

static jd_status run_ppermute(const struct attempt *a)
{
    jd_route listed[MAX_MEMBERS];
    int n = list_routes(a, listed);
    return jd_ppermute(a->span->shard, a->axes, a->in, a->out, a->count,
                       a->dtype, listed, n);
}

static jd_status run_ppermute_keep(const struct attempt *a)
{
    jd_route listed[MAX_MEMBERS];
    int n = list_routes(a, listed);
    return jd_ppermute_keep(a->span->shard, a->axes, a->in, a->out, a->count,
                            a->dtype, listed, n);
}

/* Where no route ends, what was there before stays. */
static void expect_ppermute_keep(const struct attempt *a, char *wanted)
{
    jd_route routes[MAX_MEMBERS];
    int n = draw_routes(a, routes);
    for (int i = 0; i < n; i++)
        if (routes[i].to == a->span->index)
            expect_given(a, routes[i].from, 0, a->count, wanted);
}

static void expect_ppermute(const struct attempt *a, char *wanted)
{
    memset(wanted, 0, a->count * a->size);
    expect_ppermute_keep(a, wanted);
}

/* Not beyond the axis, beyond it, far beyond it, and nowhere. */
static int draw_by(const struct attempt *a)
{
    int by = (int)draw(a, 3, 4 * (uint64_t)a->span->size + 1);
    return by - 2 * a->span->size;
}

static jd_edge draw_edge(const struct attempt *a)
{
    static const jd_edge edges[] = { JD_EDGE_WRAP, JD_EDGE_ZERO, JD_EDGE_KEEP };
    return edges[draw(a, 4, 3)];
}

static jd_status run_shift(const struct attempt *a)
{
    return jd_shift(a->span->shard, a->axes, draw_by(a), a->in, a->out,
                    a->count, a->dtype, draw_edge(a));
}

static void expect_shift(const struct attempt *a, char *wanted)
{
    int size = a->span->size, from = a->span->index - draw_by(a);
    if (draw_edge(a) == JD_EDGE_WRAP)
        expect_given(a, (from + 2 * size) % size, 0, a->count, wanted);
    else if (from >= 0 && from < size)
        expect_given(a, from, 0, a->count, wanted);
    else if (draw_edge(a) == JD_EDGE_ZERO)
        memset(wanted, 0, a->count * a->size);
}

static jd_status run_pshuffle(const struct attempt *a)
{
    int order[MAX_MEMBERS];
    draw_order(a, order);
    return jd_pshuffle(a->span->shard, a->axes, a->in, a->out, a->count,
                       a->dtype, order);
}

static void expect_pshuffle(const struct attempt *a, char *wanted)
{
    int order[MAX_MEMBERS];
    draw_order(a, order);
    expect_given(a, order[a->span->index], 0, a->count, wanted);
}

static int draw_source(const struct attempt *a)
{
    return (int)draw(a, 1, (uint64_t)a->span->size);
}

/* Only the source's in is looked at. */
static jd_status run_pbroadcast(const struct attempt *a)
{
    int source = draw_source(a);
    bool gives = source == a->span->index || a->in == a->out || draw(a, 2, 2);
    return jd_pbroadcast(a->span->shard, a->axes, source, gives ? a->in : NULL,
                         a->out, a->count, a->dtype);
}

static void expect_pbroadcast(const struct attempt *a, char *wanted)
{
    expect_given(a, draw_source(a), 0, a->count, wanted);
}

#define MOVE(id)                                                               \
    const struct operation operation_##id = {                                  \
        .name = #id,                                                           \
        .call = "jd_" #id,                                                     \
        .plan = plan_move,                                                     \
        .run = run_##id,                                                       \
        .expect = expect_##id,                                                 \
    };
MOVE(ppermute)
MOVE(ppermute_keep)
MOVE(shift)
MOVE(pshuffle)
MOVE(pbroadcast)

/* ---- barrier ------------------------------------------------------------ */

/* How often the members of this process have come to a barrier; of others 0. */
static atomic_int arrivals[MAX_MEMBERS];

void barrier_reset(void)
{
    for (int i = 0; i < MAX_MEMBERS; i++)
        atomic_store(&arrivals[i], 0);
}

static void plan_barrier(struct attempt *a)
{
    a->in_count = 0;
    a->out_count = 1; /* a byte: whether everybody had come */
    a->place = NO_PLACE;
}

static jd_status run_barrier(const struct attempt *a)
{
    int own = member_id(a, a->span->index);
    int turn = atomic_fetch_add(&arrivals[own], 1) + 1;
    jd_status status = jd_barrier(a->span->shard, a->axes);
    char all_here = 1;
    for (int i = 0; i < a->span->size; i++) {
        int other = atomic_load(&arrivals[member_id(a, i)]);
        all_here = all_here && (other == 0 || other >= turn);
    }
    if (status == JD_OK)
        status = jd_device_copy(a->out, &all_here, 1);
    return status;
}

static void expect_barrier(const struct attempt *a, char *wanted)
{
    (void)a;
    *wanted = 1;
}

const struct operation operation_barrier = {
    .name = "barrier",
    .call = "jd_barrier",
    .has_no_type = true,
    .plan = plan_barrier,
    .run = run_barrier,
    .expect = expect_barrier,
};
