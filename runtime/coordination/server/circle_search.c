/* SPDX-License-Identifier: BSD-3-Clause */
/* circle_search.c - a circle among who waits for whom. */
#include "runtime/coordination/server/circle_search.h"

#include <string.h>

#define LONGEST_CIRCLE 64 /* waits */
#define MOST_TRIES 64     /* circles that are not held, before it is given up */
#define MOST_LOOKED 4096  /* at processes, in one search */
#define MOST_MISSING 16   /* of a barrier, that are looked at */

/* ---- a step ------------------------------------------------------------- */

static bool is_noticed(const struct jd_service *service, double since)
{
    return service->notice >= 0 && service->now - since >= service->notice;
}

/* One with several threads may yet do what others wait for. */
static bool is_in_vain(const struct jd_service *service,
                       const struct jd_pending_request *waiter)
{
    return waiter->kind == JD_WAIT_BARRIER && waiter->is_alone &&
           is_noticed(service, waiter->since);
}

static bool is_blocked(const struct jd_service *service,
                       const struct jd_blocked *blocked)
{
    return blocked && jd__blocked_is_fresh(service, blocked) &&
           blocked->is_alone && is_noticed(service, blocked->since);
}

/* What one thread has told last names what the others are in. */
static struct jd_blocked *
find_told_last(const struct jd_service_process *member)
{
    struct jd_blocked *last = member->blocked;
    for (struct jd_blocked *b = last; b; b = b->next)
        if (b->turn > last->turn)
            last = b;
    return last;
}

/* By the numbers of the waits, whoever has told last. */
static void put_in_order(struct jd_circle_step *steps, int count,
                         struct jd_blocked *blocked)
{
    int at = count;
    for (; at > 0 && steps[at - 1].blocked->wait > blocked->wait; at--)
        steps[at] = steps[at - 1];
    steps[at] = (struct jd_circle_step){ .member = blocked->member,
                                         .blocked = blocked };
}

/* The waits of each of its threads; 0: one may do what others wait for. */
static int list_blocked(const struct jd_service *service,
                        struct jd_service_process *member,
                        struct jd_circle_step steps[JD_CIRCLE_OWN])
{
    struct jd_blocked *last = find_told_last(member);
    int count = 0;
    if (!is_blocked(service, last))
        return 0;
    put_in_order(steps, count++, last);
    for (int i = 0; i < last->num_others; i++) {
        struct jd_blocked *other = jd__blocked_find(member, last->others[i]);
        if (!is_blocked(service, other))
            return 0;
        put_in_order(steps, count++, other);
    }
    for (int i = 0; i < count; i++)
        steps[i].number = i;
    return count;
}

/* The member's waits. Where one is at the service, what it told before is over.
 */
int jd__circle_search_list(const struct jd_service *service,
                           struct jd_service_process *member,
                           struct jd_circle_step steps[JD_CIRCLE_OWN])
{
    const struct jd_pending_request *waiter = jd__pending_of(member);
    if (!waiter)
        return list_blocked(service, member, steps);
    steps[0] = (struct jd_circle_step){ .member = member, .barrier = waiter };
    return is_in_vain(service, waiter) ? 1 : 0;
}

static bool are_same(const struct jd_circle_step *a,
                     const struct jd_circle_step *b)
{
    return a->blocked == b->blocked && a->barrier == b->barrier;
}

/* Processes in the same call may wait for what is under way between them; of a
 * transfer nothing is. */
bool jd__circle_search_is_one_call(const struct jd_circle_step *from,
                                   const struct jd_circle_step *to)
{
    if (from->barrier || to->barrier)
        return false;
    const struct jd_blocked *one = from->blocked, *other = to->blocked;
    bool are_unlike = one->comm && other->comm && one->comm != other->comm;
    return !(one->is_transfer && other->is_transfer) && !are_unlike &&
           strcmp(one->operation, other->operation) == 0;
}

/* Those in the same call; how many. */
static int keep_same_call(const struct jd_circle_step *from,
                          struct jd_circle_step nexts[JD_CIRCLE_OWN], int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (!are_same(from, &nexts[i]) &&
            jd__circle_search_is_one_call(from, &nexts[i]))
            nexts[kept++] = nexts[i];
    return kept;
}

/* Those of other names first: threads in the call of that name for another
 * group are not why one does not come. */
static int put_unlike_first(const struct jd_circle_step *from,
                            struct jd_circle_step nexts[JD_CIRCLE_OWN],
                            int count)
{
    struct jd_circle_step alike[JD_CIRCLE_OWN];
    int unlike = 0, num_alike = 0;
    for (int i = 0; i < count; i++) {
        if (are_same(from, &nexts[i]))
            continue;
        bool is_alike =
            from->blocked && nexts[i].blocked &&
            strcmp(from->blocked->operation, nexts[i].blocked->operation) == 0;
        if (is_alike)
            alike[num_alike++] = nexts[i];
        else
            nexts[unlike++] = nexts[i];
    }
    memcpy(nexts + unlike, alike, (size_t)num_alike * sizeof *alike);
    return unlike + num_alike;
}

/*
 * Which of the waits of a process that is waited for are in the way; how many.
 * Where one is in the same call, that one: it has come, and what is under way
 * has until the circle is certain to come. So it goes by those who wait for one
 * alone; of those who wait for many at once the ways would be as many as there
 * are pairs. Else all of them: one of them would have to come to the call.
 */
static int choose_nexts(const struct jd_circle_step *from,
                        struct jd_circle_step nexts[JD_CIRCLE_OWN], int count,
                        bool *ret_is_same_call)
{
    struct jd_circle_step same[JD_CIRCLE_OWN];
    memcpy(same, nexts, (size_t)count * sizeof *nexts);
    int num_same = keep_same_call(from, same, count);
    *ret_is_same_call = num_same > 0;
    if (!num_same)
        return put_unlike_first(from, nexts, count);
    memcpy(nexts, same, (size_t)num_same * sizeof *nexts);
    return from->blocked->count == 1 ? num_same : 0;
}

static int list_missing(const struct jd_service *service,
                        const struct jd_circle_step *step,
                        int missing[MOST_MISSING])
{
    if (step->barrier)
        return jd__barriers_list_missing(service, step->barrier, missing,
                                         MOST_MISSING);
    int count = step->blocked->count;
    if (count > MOST_MISSING)
        count = MOST_MISSING;
    for (int i = 0; i < count; i++)
        missing[i] = step->blocked->awaited[i].process;
    return count;
}

/* ---- the way ------------------------------------------------------------ */

/* Its steps are written before they are read. */
void jd__circle_search_begin(struct jd_circle_path *path,
                             struct jd_service *service)
{
    service->num_searches++;
    path->service = service;
    path->looked = 0;
}

static bool is_dead(const struct jd_circle_path *path,
                    const struct jd_circle_step *step)
{
    return step->member->dead_in == path->service->num_searches &&
           step->member->dead & (1u << step->number);
}

static void kill_waits(const struct jd_circle_path *path,
                       struct jd_service_process *member, uint32_t waits)
{
    uint64_t search = path->service->num_searches;
    member->dead = (member->dead_in == search ? member->dead : 0) | waits;
    member->dead_in = search;
}

static void kill_step(const struct jd_circle_path *path,
                      const struct jd_circle_step *step)
{
    kill_waits(path, step->member, 1u << step->number);
}

/* The place of the wait on the way; -1: it is not there. */
static int place_of(const struct jd_circle_path *path,
                    const struct jd_circle_step *step)
{
    int i = path->count - 1;
    while (i >= 0 && !are_same(&path->steps[i], step))
        i--;
    return i;
}

/* Whether the way is back where it has been, by more calls than one. */
static bool is_closed(struct jd_circle_path *path,
                      const struct jd_circle_step *next)
{
    const struct jd_circle_step *steps = path->steps;
    path->first = place_of(path, next);
    path->end = path->count;
    for (int i = path->first; i >= 0 && i < path->count; i++)
        if (!jd__circle_search_is_one_call(
                &steps[i], i + 1 < path->count ? &steps[i + 1] : next))
            return true;
    return false;
}

static bool follow_waits(struct jd_circle_path *path,
                         const struct jd_circle_step *step);

/* The waits of a process; none where too many have been looked at. */
static int look_at(struct jd_circle_path *path, int process,
                   struct jd_circle_step steps[JD_CIRCLE_OWN])
{
    if (path->looked == MOST_LOOKED)
        return 0;
    path->looked++;
    return jd__circle_search_list(path->service,
                                  &path->service->members[process], steps);
}

/* Whether the way goes on by one of the waits of that process, and back. */
static bool follow_process(struct jd_circle_path *path,
                           const struct jd_circle_step *step, int process)
{
    struct jd_circle_step nexts[JD_CIRCLE_OWN];
    int count = look_at(path, process, nexts);
    bool is_same_call;
    count = choose_nexts(step, nexts, count, &is_same_call);
    for (int i = 0; i < count; i++)
        if (!is_dead(path, &nexts[i]) &&
            (is_closed(path, &nexts[i]) ||
             (path->first < 0 && follow_waits(path, &nexts[i]))))
            return true;
    return false;
}

/* Whether the way, once there, leads back to where it has been. */
static bool follow_waits(struct jd_circle_path *path,
                         const struct jd_circle_step *step)
{
    int missing[MOST_MISSING];
    int count = list_missing(path->service, step, missing);
    if (path->count == LONGEST_CIRCLE)
        return false;
    path->steps[path->count++] = *step;
    for (int i = 0; i < count; i++)
        if (follow_process(path, step, missing[i]))
            return true;
    path->count--;
    kill_step(path, step);
    return false;
}

/* ---- what holds its processes' other waits ------------------------------ */

static bool hold_process(struct jd_circle_path *path, int process);
static bool hold_step(struct jd_circle_path *path,
                      const struct jd_circle_step *step);

/* One that is in the call has come to it. Where it is not known to be the same
 * one, its process must not come to another like it either. */
static bool hold_in_call(struct jd_circle_path *path,
                         const struct jd_circle_step *step,
                         const struct jd_circle_step *next)
{
    bool is_known = step->blocked->comm && next->blocked->comm;
    return hold_step(path, next) &&
           (is_known || hold_process(path, next->member->index));
}

/* Whether that process cannot do what the wait is for. */
static bool hold_awaited(struct jd_circle_path *path,
                         const struct jd_circle_step *step, int process)
{
    struct jd_circle_step nexts[JD_CIRCLE_OWN];
    bool is_same_call, is_held = false;
    int count = look_at(path, process, nexts);
    count = choose_nexts(step, nexts, count, &is_same_call);
    if (is_same_call) {
        for (int i = 0; i < count && !is_held; i++)
            is_held = hold_in_call(path, step, &nexts[i]);
        return is_held;
    }
    path->ways++;
    is_held = hold_process(path, process);
    path->ways--;
    return is_held;
}

static bool hold_one_awaited(struct jd_circle_path *path,
                             const struct jd_circle_step *step)
{
    int missing[MOST_MISSING];
    int count = list_missing(path->service, step, missing);
    bool is_held = false;
    if (path->depth == LONGEST_CIRCLE)
        return false;
    path->depth++;
    for (int i = 0; i < count && !is_held; i++)
        is_held = hold_awaited(path, step, missing[i]);
    path->depth--;
    return is_held;
}

/* Whether one that it waits for cannot go on. A wait that leads back to itself
 * in one call alone is for what is under way. */
static bool hold_step(struct jd_circle_path *path,
                      const struct jd_circle_step *step)
{
    int place = place_of(path, step);
    if (is_dead(path, step))
        return false;
    if (place >= path->first)
        return !path->steps[place].is_open ||
               path->ways > path->steps[place].ways;
    if (path->count == JD_CIRCLE_STEPS)
        return false;
    place = path->count++;
    path->steps[place] = *step;
    path->steps[place].is_open = true;
    path->steps[place].ways = path->ways;
    bool is_held = hold_one_awaited(path, step);
    path->steps[place].is_open = false;
    if (!is_held) /* nor is what leans on it */
        path->count = place;
    return is_held;
}

/* Whether none of its waits can end; else no way through it is a circle. */
static bool hold_process(struct jd_circle_path *path, int process)
{
    struct jd_circle_step own[JD_CIRCLE_OWN];
    int before = path->count;
    int count = look_at(path, process, own);
    for (int i = 0; i < count; i++)
        if (!hold_step(path, &own[i])) {
            kill_waits(path, &path->service->members[process], ~0u);
            path->count = before;
            return false;
        }
    return count > 0;
}

static bool hold_circle(struct jd_circle_path *path)
{
    path->ways = path->depth = 0;
    for (int i = path->first; i < path->end; i++)
        if (!hold_process(path, path->steps[i].member->index))
            return false;
    return true;
}

/* Of a circle through one that can go on after all nothing is left but that
 * this one is dead. */
bool jd__circle_search_find(struct jd_circle_path *path,
                            const struct jd_circle_step *step)
{
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        path->count = 0;
        if (is_dead(path, step) || !follow_waits(path, step))
            return false;
        if (hold_circle(path))
            return true;
    }
    return false;
}
