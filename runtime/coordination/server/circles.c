/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * circles.c - processes that wait for each other in a circle: in calls that
 * they have told of (blocked.c), and at barriers, which are the service's own.
 * None of them can go on. Each that has told of its wait is asked again, twice
 * and for a while, and what all of them have then confirmed ends the job. Those
 * at barriers are asked once, for the place in the program; who does not say it
 * in time has none. So are those who hold the other threads of processes in it
 * (circle_search.h).
 */
#include "base/text.h"
#include "runtime/coordination/server/circle_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SAID 8 /* of a circle, in the sentence */
#define NOTICE_SECONDS                                                         \
    0.4 /* for the notices of the others, which are due too; and between looks \
         */
#define PLACE_SECONDS                                                          \
    2.0 /* for a place: its line is looked for, the first time in a library */

static double since_of(const struct jd_circle_step *step)
{
    return step->barrier ? step->barrier->since : step->blocked->since;
}

/* ---- its end ------------------------------------------------------------ */

static bool has_threads(const struct jd_circle_step *step)
{
    return step->blocked && step->blocked->num_others > 0;
}

static void print_step(FILE *out, const struct jd_circle_step *step)
{
    if (step->blocked) {
        fprintf(out, "waits in %s", step->blocked->operation);
        jd__blocked_print_place(out, step->blocked);
        return;
    }
    jd__barriers_describe_doing(out, step->barrier);
    jd__processes_print_place(out, step->member, since_of(step));
}

static const char *who_cannot(const struct jd_circle_path *path)
{
    for (int i = path->first; i < path->end; i++)
        if (has_threads(&path->steps[i]))
            return "none of their threads";
    return "none of them";
}

static void print_awaited(FILE *out, const struct jd_circle_step *step,
                          const struct jd_circle_step *next)
{
    if (next->member == step->member)
        fputs(" for another thread of its own", out);
    else
        fprintf(out, " for process %d", next->member->index);
}

/* One that waits for another thread of its own in the same call. */
static bool is_left_out(const struct jd_circle_step *step,
                        const struct jd_circle_step *next)
{
    return next->member == step->member &&
           jd__circle_search_is_one_call(step, next);
}

/* Each once. */
static int count_processes(const struct jd_circle_step *steps, int count)
{
    int processes = 0;
    for (int i = 0, k; i < count; i++) {
        for (k = 0; k < i && steps[k].member != steps[i].member; k++)
            continue;
        processes += k == i;
    }
    return processes;
}

static void print_circle(FILE *out, const struct jd_circle_path *path)
{
    const struct jd_circle_step *steps = path->steps + path->first;
    int count = path->end - path->first, said = 0;
    for (int i = 0; i < count; i++) {
        const struct jd_circle_step *next = &steps[(i + 1) % count];
        if (is_left_out(&steps[i], next) || said++ >= MOST_SAID)
            continue;
        fputs(said > 1 ? ", which " : "it ", out);
        print_step(out, &steps[i]);
        print_awaited(out, &steps[i], next);
    }
    if (said > MOST_SAID)
        fprintf(out, ", and so on, through %d processes in all",
                count_processes(steps, count));
    fprintf(out,
            ", for %.3g s: %s can go on; all members must make the same calls "
            "in the same order",
            path->service->now - since_of(&steps[0]), who_cannot(path));
}

static void fail_circle(const struct jd_circle_path *path)
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

static bool is_asked(const struct jd_circle_step *step)
{
    return step->barrier ? step->member->place_asked > step->barrier->since
                         : step->blocked->asked != 0;
}

/* Where they wait in the program, which their arrivals do not have. */
static void ask_places(const struct jd_circle_path *path)
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
static void look_again(const struct jd_circle_path *path)
{
    struct jd_service *service = path->service;
    for (int i = path->first; i < path->count && !service->circles_due; i++)
        if (path->steps[i].barrier)
            service->circles_due = service->now + NOTICE_SECONDS;
}

/* Some of them are suspected of another circle, and asked once more soon: two
 * that share them would begin each other's time anew for ever. */
static bool is_pending(const struct jd_circle_path *path)
{
    for (int i = path->first; i < path->count; i++)
        if (path->steps[i].blocked && path->steps[i].blocked->list)
            return true;
    return false;
}

/* From now on; what was known of some of them may be over. */
static void suspect_circle(const struct jd_circle_path *path)
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
static bool is_suspected(const struct jd_circle_path *path)
{
    double due = -1, oldest = path->service->now;
    for (int i = path->first; i < path->count; i++) {
        const struct jd_circle_step *step = &path->steps[i];
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
                            const struct jd_circle_step *step)
{
    const struct jd_service_process *member = step->member;
    if (!step->barrier)
        return jd__blocked_is_certain(step->blocked);
    return (member->call && member->told >= member->place_asked) ||
           service->now >= member->place_asked + PLACE_SECONDS;
}

static bool is_certain(const struct jd_circle_path *path)
{
    for (int i = path->first; i < path->count; i++)
        if (!is_step_certain(path->service, &path->steps[i]))
            return false;
    return true;
}

/* Whether there is a circle that this step leads to. */
static bool weigh_circle(struct jd_circle_path *path,
                         const struct jd_circle_step *step)
{
    if (!jd__circle_search_find(path, step))
        return false;
    if (is_suspected(path)) {
        if (is_certain(path))
            fail_circle(path);
    } else if (!is_pending(path)) {
        suspect_circle(path);
    }
    if (!path->service->is_failing)
        look_again(path);
    return true;
}

bool jd__circles_weigh(struct jd_service *service, struct jd_blocked *blocked)
{
    struct jd_circle_step own[JD_CIRCLE_OWN];
    int count = jd__circle_search_list(service, blocked->member, own), i = 0;
    while (i < count && own[i].blocked != blocked)
        i++;
    if (i == count)
        return false;
    struct jd_circle_path path;
    jd__circle_search_begin(&path, service);
    return weigh_circle(&path, &own[i]);
}

/* ---- barriers ----------------------------------------------------------- */

void jd__circles_on_notice(struct jd_service *service,
                           const struct jd_pending_request *waiter)
{
    if (waiter->kind == JD_WAIT_BARRIER && !service->circles_due)
        service->circles_due = service->now + NOTICE_SECONDS;
}

/* Those at one barrier wait for the same: the lowest is enough. */
static void weigh_barriers(struct jd_circle_path *path)
{
    struct jd_service *service = path->service;
    for (int i = 0; i < service->count && !service->is_failing; i++) {
        struct jd_circle_step own[JD_CIRCLE_OWN];
        if (jd__circle_search_list(service, &service->members[i], own) &&
            own->barrier && jd__pending_is_lowest(own->barrier))
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
    struct jd_circle_path path;
    jd__circle_search_begin(&path, service);
    weigh_barriers(&path);
    return service->circles_due ? service->circles_due : INFINITY;
}
