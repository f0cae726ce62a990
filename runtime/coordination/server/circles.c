/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * circles.c - processes that wait for each other in a circle: in calls that
 * they have told of (blocked.c), and at barriers, which are the service's own.
 * None of them can go on. Each that has told of its wait is asked again, twice
 * and for a while, and what all of them have then confirmed ends the job. Those
 * at barriers are asked once, for the place in the program; who does not say it
 * in time has none.
 */
#include "base/text.h"
#include "runtime/coordination/server/service_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_CIRCLE 64 /* processes */
#define MOST_SAID 8       /* of them, in the sentence */
#define MOST_MISSING 16   /* of a barrier, that are looked at */
#define NOTICE_SECONDS                                                         \
    0.4 /* for the notices of the others, which are due too; and between looks \
         */
#define PLACE_SECONDS                                                          \
    2.0 /* for a place: its line is looked for, the first time in a library */

/* What a process waits for: one of the two, the other is NULL. */
struct circle_step {
    struct jd_service_process *member;
    struct jd_blocked *blocked;
    const struct jd_pending_request *barrier;
};

/* One way through who waits for whom. */
struct path {
    struct jd_service *service;
    struct circle_step steps[LONGEST_CIRCLE];
    int count;
    int first;  /* of those in the circle; the way may lead to it */
    bool *dead; /* processes from which no way comes back */
};

/* ---- a step ------------------------------------------------------------- */

static bool is_noticed(const struct jd_service *service, double since)
{
    return service->notice >= 0 && service->now - since >= service->notice;
}

/* One with several threads may yet do what others wait for. */
static bool find_barrier(const struct jd_service *service,
                         struct circle_step *step)
{
    step->barrier = jd__pending_of(step->member);
    return step->barrier && step->barrier->kind == JD_WAIT_BARRIER &&
           step->barrier->is_alone && is_noticed(service, step->barrier->since);
}

static bool find_blocked(const struct jd_service *service,
                         struct circle_step *step)
{
    step->blocked = step->member->blocked;
    return jd__blocked_now(service, step->member) && step->blocked->is_alone &&
           is_noticed(service, step->blocked->since);
}

/* The member's wait. Where it is at the service, what it told before is over.
 */
static bool find_step(const struct jd_service *service,
                      struct jd_service_process *member,
                      struct circle_step *ret_step)
{
    *ret_step = (struct circle_step){ .member = member };
    if (jd__pending_of(member))
        return find_barrier(service, ret_step);
    return find_blocked(service, ret_step);
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

/* Whether the other can be waited for in vain; what is under way has until the
 * circle is certain to come. Through a call it goes by those
 * who wait for one alone; of those who wait for many at once the ways would be
 * as many as there are pairs. */
static bool can_lead(const struct circle_step *from,
                     const struct circle_step *to)
{
    return !are_in_one_call(from, to) || from->blocked->count == 1;
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

/* The place of the member on the way; -1: it is not there. */
static int place_of(const struct path *path,
                    const struct jd_service_process *member)
{
    int i = path->count - 1;
    while (i >= 0 && path->steps[i].member != member)
        i--;
    return i;
}

/* Whether the way is back where it has been, by more calls than one. */
static bool is_closed(struct path *path, const struct circle_step *next)
{
    const struct circle_step *steps = path->steps;
    path->first = place_of(path, next->member);
    for (int i = path->first; i >= 0 && i < path->count; i++)
        if (!are_in_one_call(&steps[i],
                             i + 1 < path->count ? &steps[i + 1] : next))
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
    for (int i = 0; i < count; i++) {
        struct circle_step next;
        if (path->dead[missing[i]] ||
            !find_step(path->service, &path->service->members[missing[i]],
                       &next) ||
            !can_lead(step, &next))
            continue;
        if (is_closed(path, &next) ||
            (path->first < 0 && follow_waits(path, &next)))
            return true;
    }
    path->count--;
    path->dead[step->member->index] = true;
    return false;
}

/* ---- its end ------------------------------------------------------------ */

static void print_step(FILE *out, const struct circle_step *step)
{
    if (step->barrier)
        jd__barriers_describe_doing(out, step->barrier);
    else
        fprintf(out, "waits in %s", step->blocked->operation);
    jd__processes_print_place(out, step->member, since_of(step));
}

static void print_circle(FILE *out, const struct path *path)
{
    const struct circle_step *steps = path->steps + path->first;
    int count = path->count - path->first;
    for (int i = 0; i < count && i < MOST_SAID; i++) {
        fputs(i ? ", which " : "it ", out);
        print_step(out, &steps[i]);
        fprintf(out, " for process %d", steps[(i + 1) % count].member->index);
    }
    if (count > MOST_SAID)
        fprintf(out, ", and so on, through %d processes in all", count);
    fprintf(out,
            ", for %.3g s: none of them can go on; all members must make the "
            "same calls in the same order",
            path->service->now - since_of(&steps[0]));
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
    path->count = 0;
    if (!follow_waits(path, step))
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
    struct circle_step step;
    if (!find_step(service, blocked->member, &step) || step.blocked != blocked)
        return false;
    struct path path = { .service = service,
                         .dead = calloc((size_t)service->count, sizeof(bool)) };
    bool is_there = path.dead && weigh_circle(&path, &step);
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
        struct circle_step step;
        if (find_step(service, &service->members[i], &step) && step.barrier &&
            jd__pending_is_lowest(step.barrier) && !path->dead[i])
            weigh_circle(path, &step);
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
                         .dead = calloc((size_t)service->count, sizeof(bool)) };
    if (path.dead)
        weigh_barriers(&path);
    free(path.dead);
    return service->circles_due ? service->circles_due : INFINITY;
}
