/* SPDX-License-Identifier: BSD-3-Clause */
/* queued.c - how many collectives this process has queued on its GPUs. */
#include "runtime/recorder/queued.h"
#include "runtime/recorder/recorder.h"

#include <pthread.h>

/* By the communicator's place in the ring. */
struct mark {
    uint64_t id; /* 0: its calls are done when they return, or it is over */
    uint64_t told;
};

static struct {
    pthread_mutex_t lock;
    struct mark marks[JD_RING_COMMS];
    uint64_t over[JD_QUEUED_MOST]; /* whose places others have taken */
    int num_over;
    bool is_partial, has_told_so;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t id_of(const struct jd_ring_comm *comm)
{
    return atomic_load(&comm->id);
}

static void end_mark(struct mark *mark)
{
    bool was_told = mark->id && mark->told;
    if (was_told && state.num_over < JD_QUEUED_MOST)
        state.over[state.num_over++] = mark->id;
    else if (was_told)
        state.is_partial = true;
    mark->id = 0;
}

static void begin_mark(struct mark *mark, uint64_t id)
{
    if (mark->id == id)
        return;
    end_mark(mark);
    *mark = (struct mark){ .id = id };
}

void jd__queued_mark(const struct jd_ring_comm *comm)
{
    const struct jd_ring *ring = jd__recorder_own();
    pthread_mutex_lock(&state.lock);
    if (comm && ring && comm >= ring->comms &&
        comm < ring->comms + JD_RING_COMMS)
        begin_mark(&state.marks[comm - ring->comms], id_of(comm));
    else
        state.is_partial = true;
    pthread_mutex_unlock(&state.lock);
}

/* One that nobody uses may be made again, and counts from 1 then. */
static void end_unused(const struct jd_ring *ring)
{
    for (int i = 0; i < JD_RING_COMMS; i++) {
        struct mark *mark = &state.marks[i];
        if (mark->id && (mark->id != id_of(&ring->comms[i]) ||
                         !atomic_load(&ring->comms[i].users)))
            end_mark(mark);
    }
}

static bool is_new(const struct jd_ring *ring, int place)
{
    const struct mark *mark = &state.marks[place];
    return mark->id && mark->told != jd__ring_collectives(&ring->comms[place]);
}

/* The fewest of its members of this process. */
static struct jd_queued count_all(const struct jd_ring *ring, uint64_t id)
{
    struct jd_queued queued = { .comm = id, .calls = UINT64_MAX };
    for (int i = 0; i < JD_RING_COMMS; i++)
        if (state.marks[i].id == id) {
            uint64_t calls = jd__ring_collectives(&ring->comms[i]);
            state.marks[i].told = calls;
            queued.calls = calls < queued.calls ? calls : queued.calls;
        }
    return queued;
}

/* Those that are over first: they may be there again. */
static int take_over(struct jd_queued told[JD_QUEUED_MOST])
{
    int count = state.num_over;
    for (int i = 0; i < count; i++)
        told[i] = (struct jd_queued){ .comm = state.over[i], .is_over = true };
    state.num_over = 0;
    return count;
}

int jd__queued_take(struct jd_queued told[JD_QUEUED_MOST])
{
    const struct jd_ring *ring = jd__recorder_own();
    int count = 0;
    pthread_mutex_lock(&state.lock);
    state.has_told_so = state.is_partial;
    if (ring)
        end_unused(ring);
    count = take_over(told);
    for (int i = 0; ring && i < JD_RING_COMMS && count < JD_QUEUED_MOST; i++)
        if (is_new(ring, i))
            told[count++] = count_all(ring, state.marks[i].id);
    pthread_mutex_unlock(&state.lock);
    return count;
}

bool jd__queued_is_new(void)
{
    const struct jd_ring *ring = jd__recorder_own();
    pthread_mutex_lock(&state.lock);
    if (ring)
        end_unused(ring);
    bool is = state.num_over > 0 || state.is_partial != state.has_told_so;
    for (int i = 0; ring && !is && i < JD_RING_COMMS; i++)
        is = is_new(ring, i);
    pthread_mutex_unlock(&state.lock);
    return is;
}

bool jd__queued_is_partial(void)
{
    pthread_mutex_lock(&state.lock);
    bool is = state.is_partial;
    pthread_mutex_unlock(&state.lock);
    return is;
}

static const struct jd_ring_comm *find_comm(const struct jd_ring *ring,
                                            uint64_t id, int member)
{
    for (int i = 0; ring && i < JD_RING_COMMS; i++)
        if (id_of(&ring->comms[i]) == id &&
            atomic_load(&ring->comms[i].member) == member)
            return &ring->comms[i];
    return NULL;
}

uint64_t jd__queued_calls(uint64_t comm, int member)
{
    const struct jd_ring_comm *found =
        find_comm(jd__recorder_own(), comm, member);
    return found ? jd__ring_collectives(found) : 0;
}

/* From the newest on. Where there are transfers between, sequences count them
 * too, and which one it is is not known. */
char *jd__queued_describe(uint64_t comm, int member, uint64_t number)
{
    const struct jd_ring *ring = jd__recorder_own();
    const struct jd_ring_comm *found = find_comm(ring, comm, member);
    uint64_t last = ring ? jd__ring_last(ring) : 0;
    struct jd_ring_call call;
    if (!found || atomic_load(&found->transfers))
        return NULL;
    for (uint64_t i = last; i > 0 && last - i < JD_RING_CALLS; i--)
        if (jd__ring_read(ring, i, &call) && call.comm == comm &&
            call.member == member && call.sequence == number)
            return jd__recorder_own_call(i);
    return NULL;
}
