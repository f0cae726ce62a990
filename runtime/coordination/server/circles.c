/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * circles.c - processes that wait for each other in a circle: in calls that
 * they have told of (blocked.c), and at barriers, which are the service's own.
 * None of them can go on. Each that has told of its wait is asked again, twice
 * and for a while, and what all of them have then confirmed ends the job. Those
 * at barriers are asked once, for the place in the program; who does not say it
 * in time has none.
 *
 * A process with several threads may yet do what others wait for unless each of
 * them waits without an end: then its other waits are held by others, which are
 * asked too.
 */
#include "base/text.h"
#include "runtime/coordination/server/service_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_CIRCLE 64 /* waits */
#define MOST_STEPS 256    /* with those that hold the others of its processes */
#define MOST_SAID 8       /* of a circle, in the sentence */
#define MOST_MISSING 16   /* of a barrier, that are looked at */
#define MOST_OWN (1 + JD_BLOCKED_OTHERS) /* waits of a process */
#define NOTICE_SECONDS                                                         \
    0.4 /* for the notices of the others, which are due too; and between looks \
         */
#define PLACE_SECONDS                                                          \
    2.0 /* for a place: its line is looked for, the first time in a library */

/* What a thread of a process waits for: one of the two, the other is NULL. */
struct circle_step {
    struct jd_service_process *member;
    struct jd_blocked *blocked;
    const struct jd_pending_request *barrier;
    int number; /* among the waits of its process */
};

/* One way through who waits for whom. */
struct path {
    struct jd_service *service;
    struct circle_step steps[MOST_STEPS];
    int first;      /* of those in the circle; the way may lead to it */
    int end;        /* behind the last of them */
    int count;      /* with what holds the other waits of their processes */
    uint32_t *dead; /* of each process, its waits from which no way comes back,
                     * by their bits */
};

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
        if (b->told > last->told)
            last = b;
    return last;
}

/* The waits of each of its threads; 0: one may do what others wait for. */
static int list_blocked(const struct jd_service *service,
                        struct jd_service_process *member,
                        struct circle_step steps[MOST_OWN])
{
    struct jd_blocked *last = find_told_last(member);
    if (!is_blocked(service, last))
        return 0;
    steps[0] = (struct circle_step){ .member = member, .blocked = last };
    for (int i = 0; i < last->num_others; i++) {
        struct jd_blocked *other = jd__blocked_find(member, last->others[i]);
        if (!is_blocked(service, other))
            return 0;
        steps[i + 1] = (struct circle_step){ .member = member,
                                             .blocked = other,
                                             .number = i + 1 };
    }
    return 1 + last->num_others;
}

/* The member's waits. Where one is at the service, what it told before is over.
 */
static int list_steps(const struct jd_service *service,
                      struct jd_service_process *member,
                      struct circle_step steps[MOST_OWN])
{
    const struct jd_pending_request *waiter = jd__pending_of(member);
    if (!waiter)
        return list_blocked(service, member, steps);
    steps[0] = (struct circle_step){ .member = member, .barrier = waiter };
    return is_in_vain(service, waiter) ? 1 : 0;
}

static bool are_same(const struct circle_step *a, const struct circle_step *b)
{
    return a->blocked == b->blocked && a->barrier == b->barrier;
}

/* Processes in the same call may wait for what is under way between them; of a
 * transfer nothing is. */
static bool are_in_one_call(const struct circle_step *from,
                            const struct circle_step *to)
{
    if (from->barrier || to->barrier)
        return false;
    return !(from->blocked->is_transfer && to->blocked->is_transfer) &&
           strcmp(from->blocked->operation, to->blocked->operation) == 0;
}

/* Whether a process in those waits can be waited for in vain; what is under way
 * has until the circle is certain to come. Through a call it goes by those
 * who wait for one alone; of those who wait for many at once the ways would be
 * as many as there are pairs. */
static bool can_lead(const struct circle_step *from,
                     const struct circle_step *to, int count)
{
    for (int i = 0; i < count; i++)
        if (!are_same(from, &to[i]) && are_in_one_call(from, &to[i]) &&
            from->blocked->count > 1)
            return false;
    return count > 0;
}

static int list_missing(const struct jd_service *service,
                        const struct circle_step *step,
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

static double since_of(const struct circle_step *step)
{
    return step->barrier ? step->barrier->since : step->blocked->since;
}

/* ---- the way ------------------------------------------------------------ */

static bool is_dead(const struct path *path, const struct circle_step *step)
{
    return path->dead[step->member->index] & (1u << step->number);
}

static void kill_step(struct path *path, const struct circle_step *step)
{
    path->dead[step->member->index] |= 1u << step->number;
}

/* The place of the wait on the way; -1: it is not there. */
static int place_of(const struct path *path, const struct circle_step *step)
{
    int i = path->count - 1;
    while (i >= 0 && !are_same(&path->steps[i], step))
        i--;
    return i;
}

/* Whether the way is back where it has been, by more calls than one. */
static bool is_closed(struct path *path, const struct circle_step *next)
{
    const struct circle_step *steps = path->steps;
    path->first = place_of(path, next);
    path->end = path->count;
    for (int i = path->first; i >= 0 && i < path->count; i++)
        if (!are_in_one_call(&steps[i],
                             i + 1 < path->count ? &steps[i + 1] : next))
            return true;
    return false;
}

static bool follow_waits(struct path *path, const struct circle_step *step);

/* Whether the way goes on by one of the waits of that process, and back. */
static bool follow_process(struct path *path, const struct circle_step *step,
                           int process)
{
    struct circle_step nexts[MOST_OWN];
    int count =
        list_steps(path->service, &path->service->members[process], nexts);
    if (!can_lead(step, nexts, count))
        return false;
    for (int i = 0; i < count; i++)
        if (!is_dead(path, &nexts[i]) &&
            (is_closed(path, &nexts[i]) ||
             (path->first < 0 && follow_waits(path, &nexts[i]))))
            return true;
    return false;
}

/* Whether the way, once there, leads back to where it has been. */
static bool follow_waits(struct path *path, const struct circle_step *step)
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

static bool hold_process(struct path *path, int process);

/* Whether one that it waits for cannot go on. */
static bool hold_step(struct path *path, const struct circle_step *step)
{
    int missing[MOST_MISSING];
    int count = list_missing(path->service, step, missing);
    if (place_of(path, step) >= path->first)
        return true;
    if (is_dead(path, step) || path->count == MOST_STEPS)
        return false;
    path->steps[path->count++] = *step;
    for (int i = 0; i < count; i++) {
        struct circle_step nexts[MOST_OWN];
        struct jd_service_process *member = &path->service->members[missing[i]];
        if (can_lead(step, nexts, list_steps(path->service, member, nexts)) &&
            hold_process(path, missing[i]))
            return true;
    }
    return false;
}

/* Whether none of its waits can end; else no way through it is a circle. */
static bool hold_process(struct path *path, int process)
{
    struct circle_step own[MOST_OWN];
    int count =
        list_steps(path->service, &path->service->members[process], own);
    for (int i = 0; i < count; i++)
        if (!hold_step(path, &own[i])) {
            path->dead[process] = ~0u;
            return false;
        }
    return count > 0;
}

static bool hold_circle(struct path *path)
{
    for (int i = path->first; i < path->end; i++)
        if (!hold_process(path, path->steps[i].member->index))
            return false;
    return true;
}

/* Of a circle through one that can go on after all there is nothing left but
 * that it is dead. */
static bool find_circle(struct path *path, const struct circle_step *step)
{
    do {
        path->count = 0;
        if (is_dead(path, step) || !follow_waits(path, step))
            return false;
    } while (!hold_circle(path));
    return true;
}

/* ---- its end ------------------------------------------------------------ */

static bool has_threads(const struct circle_step *step)
{
    return step->blocked && step->blocked->num_others > 0;
}

/* Whether the call that is known of its process is this wait's: of several
 * threads it may be another's. "jd_psum of 1 x F64 over axis ..., called at
 * ..." is one in "jd_psum over axis ...". */
static bool is_call_known(const struct circle_step *step)
{
    const char *call = step->member->call;
    if (!has_threads(step) || !call)
        return true;
    const char *operation = step->blocked->operation;
    const char *over = strstr(operation, " over ");
    size_t length = over ? (size_t)(over - operation) : strlen(operation);
    return strncmp(call, operation, length) == 0 &&
           (call[length] == ' ' || call[length] == ',') &&
           (!over || strstr(call, over));
}

static void print_step(FILE *out, const struct circle_step *step)
{
    if (step->barrier)
        jd__barriers_describe_doing(out, step->barrier);
    else
        fprintf(out, "waits in %s", step->blocked->operation);
    if (is_call_known(step))
        jd__processes_print_place(out, step->member, since_of(step));
}

static const char *who_cannot(const struct path *path)
{
    for (int i = path->first; i < path->end; i++)
        if (has_threads(&path->steps[i]))
            return "none of their threads";
    return "none of them";
}

static void print_awaited(FILE *out, const struct circle_step *step,
                          const struct circle_step *next)
{
    if (next->member == step->member)
        fputs(" for another thread of its own", out);
    else
        fprintf(out, " for process %d", next->member->index);
}

/* One that waits for another thread of its own in the same call. */
static bool is_left_out(const struct circle_step *step,
                        const struct circle_step *next)
{
    return next->member == step->member && are_in_one_call(step, next);
}

static void print_circle(FILE *out, const struct path *path)
{
    const struct circle_step *steps = path->steps + path->first;
    int count = path->end - path->first, said = 0, i = 0;
    for (; i < count && said < MOST_SAID; i++) {
        const struct circle_step *next = &steps[(i + 1) % count];
        if (is_left_out(&steps[i], next))
            continue;
        fputs(said++ ? ", which " : "it ", out);
        print_step(out, &steps[i]);
        print_awaited(out, &steps[i], next);
    }
    if (i < count)
        fprintf(out, ", and so on, through %d processes in all", count);
    fprintf(out,
            ", for %.3g s: %s can go on; all members must make the same calls "
            "in the same order",
            path->service->now - since_of(&steps[0]), who_cannot(path));
}

static void fail_circle(const struct path *path)
{
    struct jd_text written;
    struct jd_service_process *member = path->steps[path->first].member;
    FILE *out = jd__text_begin(&written);
    if (out)
        print_circle(out, path);
    char *text = jd__text_end(&written);
    jd__failures_add(path->service, member, "%s",
                     text ? text : "it waits in a circle of processes");
    member->is_stuck = true;
    free(text);
}

static bool is_asked(const struct circle_step *step)
{
    return step->barrier ? step->member->place_asked > step->barrier->since
                         : step->blocked->asked != 0;
}

/* Where they wait in the program, which their arrivals do not have. */
static void ask_places(const struct path *path)
{
    struct jd_service *service = path->service;
    for (int i = path->first; i < path->count; i++) {
        struct jd_service_process *member = path->steps[i].member;
        if (!path->steps[i].barrier || is_asked(&path->steps[i]))
            continue;
        member->place_asked = service->now;
        jd__blocked_look(service, member);
    }
}

/* Where there are barriers: their members do not tell of them again. */
static void look_again(const struct path *path)
{
    struct jd_service *service = path->service;
    for (int i = path->first; i < path->count && !service->circles_due; i++)
        if (path->steps[i].barrier)
            service->circles_due = service->now + NOTICE_SECONDS;
}

/* From now on; what was known of some of them may be over. */
static void suspect_circle(const struct path *path)
{
    double seconds = 0;
    ask_places(path);
    for (int i = path->first; i < path->count; i++)
        if (path->steps[i].blocked)
            seconds =
                fmax(seconds, jd__blocked_seconds(path->steps[i].blocked));
    for (int i = path->first; i < path->count; i++)
        if (path->steps[i].blocked)
            jd__blocked_suspect(path->service, path->steps[i].blocked, seconds);
}

/* The waits that were told of are suspected together, and barriers are older
 * than that: it was a circle at one moment, and nothing has come to it since.
 */
static bool is_suspected(const struct path *path)
{
    double due = -1, oldest = path->service->now;
    for (int i = path->first; i < path->count; i++) {
        const struct circle_step *step = &path->steps[i];
        if (!is_asked(step))
            return false;
        if (step->barrier)
            continue;
        if (due >= 0 && step->blocked->due != due)
            return false;
        due = step->blocked->due;
        oldest = fmin(oldest, step->blocked->suspected);
    }
    for (int i = path->first; i < path->count; i++)
        if (path->steps[i].barrier && path->steps[i].barrier->since > oldest)
            return false;
    return true;
}

/* The barrier is the service's own; its member has said where it stands, or has
 * had the time to. */
static bool is_step_certain(const struct jd_service *service,
                            const struct circle_step *step)
{
    const struct jd_service_process *member = step->member;
    if (!step->barrier)
        return jd__blocked_is_certain(step->blocked);
    return (member->call && member->told >= member->place_asked) ||
           service->now >= member->place_asked + PLACE_SECONDS;
}

static bool is_certain(const struct path *path)
{
    for (int i = path->first; i < path->count; i++)
        if (!is_step_certain(path->service, &path->steps[i]))
            return false;
    return true;
}

/* Whether there is a circle that this step leads to. */
static bool weigh_circle(struct path *path, const struct circle_step *step)
{
    if (!find_circle(path, step))
        return false;
    if (!is_suspected(path))
        suspect_circle(path);
    else if (is_certain(path))
        fail_circle(path);
    if (!path->service->is_failing)
        look_again(path);
    return true;
}

bool jd__circles_weigh(struct jd_service *service, struct jd_blocked *blocked)
{
    struct circle_step own[MOST_OWN];
    int count = list_steps(service, blocked->member, own), i = 0;
    while (i < count && own[i].blocked != blocked)
        i++;
    if (i == count)
        return false;
    struct path path = { .service = service,
                         .dead = calloc((size_t)service->count,
                                        sizeof *path.dead) };
    bool is_there = path.dead && weigh_circle(&path, &own[i]);
    free(path.dead);
    return is_there;
}

/* ---- barriers ----------------------------------------------------------- */

void jd__circles_on_notice(struct jd_service *service,
                           const struct jd_pending_request *waiter)
{
    if (waiter->kind == JD_WAIT_BARRIER && !service->circles_due)
        service->circles_due = service->now + NOTICE_SECONDS;
}

/* Those at one barrier wait for the same: the lowest is enough. */
static void weigh_barriers(struct path *path)
{
    struct jd_service *service = path->service;
    for (int i = 0; i < service->count && !service->is_failing; i++) {
        struct circle_step own[MOST_OWN];
        if (list_steps(service, &service->members[i], own) && own->barrier &&
            jd__pending_is_lowest(own->barrier))
            weigh_circle(path, own);
    }
}

double jd__circles_tick(struct jd_service *service)
{
    if (!service->circles_due || service->has_failed || service->is_failing)
        return INFINITY;
    if (service->now < service->circles_due)
        return service->circles_due;
    service->circles_due = 0;
    struct path path = { .service = service,
                         .dead = calloc((size_t)service->count,
                                        sizeof *path.dead) };
    if (path.dead)
        weigh_barriers(&path);
    free(path.dead);
    return service->circles_due ? service->circles_due : INFINITY;
}
