/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_wait.c - how a group's members wait for each other, and give up. */
#include "base/clock.h"
#include "base/proc.h"
#include "collectives/cpu/shm/shm_p2p.h"
#include "collectives/cpu/shm/shm_private.h"
#include "runtime/recorder/recorder.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * A neighbour that is on time answers within 0.1 us to some us; a process that
 * has to be scheduled needs more than any spin should last.
 */
#define SPINS 1000
#define BARE_SPINS 200     /* before the processor is told that we wait */
#define YIELDS_PER_LOOK 64 /* reading the clock costs as much as a yield */
#define YIELDS_BEFORE_SLEEP 2000
#define LONGEST_SLEEP 1000000 /* ns: MPI must not be left alone for longer */
#define LET_GO_SECONDS 10.0   /* seconds for those who are to let go */

/* What one wait is for. */
struct jd_target {
    struct jd_shm_group *group;
    const struct jd_shm_work *work; /* or, where this is NULL: */
    void *arg;
    enum jd_flag flag;
    const _Atomic uint64_t *word; /* of member, where one is waited for */
    int member;                   /* -1: the flag of all */
    uint64_t value;
};

int jd__shm_spins(const struct jd_shm_spec *spec)
{
    return spec->size > 1 && spec->size <= spec->cores ? SPINS : 0;
}

static void relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static const _Atomic uint64_t *flag_of(const struct jd_target *target,
                                       int member)
{
    struct jd_segment *control = target->group->members[member].control;
    uint64_t turn = target->group->round % 2;
    if (target->member >= 0)
        return target->word;
    switch (target->flag) {
    case JD_FLAG_STEP:
        return &control->step;
    case JD_FLAG_GATHERED:
        return &control->gathered[turn].round;
    case JD_FLAG_RELEASED:
        return &control->released[turn].round;
    default:
        return &control->slots[turn].round;
    }
}

/* ---- giving up ---------------------------------------------------------- */

jd_status jd__shm_fail_revoked(const struct jd_shm_group *group)
{
    const struct jd_wait *wait = &group->spec.wait;
    return jd_fail(JD_ABORTED,
                   "%s%s: another member gave up waiting, or failed, and the "
                   "members are out of step; the job should end (the one that "
                   "gave up says why)",
                   wait->operation, wait->detail ? wait->detail : "");
}

/* No flag tells that this member has let go: its own thread may be copying. */
void jd__shm_abort(struct jd_shm_group *group)
{
    atomic_store(&group->own->is_aborted, true);
}

/* In two levels not everybody reads a flag of everybody. */
static void tell_all(const struct jd_shm_group *group)
{
    for (int i = 0; i < 2; i++) {
        atomic_store(&group->own->gathered[i].round, JD_SHM_REVOKED);
        atomic_store(&group->own->released[i].round, JD_SHM_REVOKED);
    }
    for (int i = 0; i < group->size; i++)
        if (i != group->index)
            atomic_store(&group->members[i].control->is_told, true);
}

/* The step comes last: who sees it revoked sees all of it. */
void jd__shm_revoke(struct jd_shm_group *group)
{
    struct jd_segment *own = group->own;
    if (group->is_revoked)
        return;
    group->is_revoked = true;
    for (int i = 0; i < 2; i++)
        atomic_store(&own->slots[i].round, JD_SHM_REVOKED);
    if (group->levels)
        tell_all(group);
    jd__shm_p2p_revoke(group);
    atomic_store(&own->step, JD_SHM_REVOKED);
}

/* Whether the member has come to this group's present meeting, and is still in
 * the call that it began. */
static bool is_inside(const struct jd_shm_group *group, int member)
{
    const struct jd_segment *control = group->members[member].control;
    return atomic_load(&control->slots[group->round % 2].round) >=
               group->round &&
           atomic_load(&control->left) < group->round;
}

/* Whether the member may still read or write our buffers. */
static bool holds_on(const struct jd_target *target, int member)
{
    const struct jd_shm_group *group = target->group;
    const struct jd_shm_member *m = &group->members[member];
    if (atomic_load(&m->control->step) == JD_SHM_REVOKED)
        return false;
    if (target->work ? !target->work->holds_on(target->arg, member)
                     : !is_inside(group, member))
        return false;
    char state = m->pid ? jd__proc_state(m->pid) : 'R';
    return state && state != 'Z' && state != 'X';
}

static int count_holding(const struct jd_target *target, int *ret_member)
{
    const struct jd_shm_group *group = target->group;
    int count = 0;
    for (int i = 0; i < group->size; i++)
        if (i != group->index && holds_on(target, i) && count++ == 0)
            *ret_member = i;
    return count;
}

static void sleep_for(long nanoseconds)
{
    nanosleep(&(struct timespec){ .tv_nsec = nanoseconds }, NULL);
}

/*
 * A member that came while this one revoked has its store still to itself, or
 * reads the revocation. A barrier on all processors makes one of the two sure,
 * so that a meeting needs none; without it, time does.
 */
static void make_visible(void)
{
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0)
        sleep_for(LONGEST_SLEEP);
}

/* Keeps the sentence that is there; adds to it where somebody does not let
 * go. */
static jd_status let_go(const struct jd_target *target, jd_status status)
{
    struct jd_shm_group *group = target->group;
    int member = -1;
    double begin = jd__clock_now();
    jd__shm_revoke(group);
    make_visible();
    while (count_holding(target, &member) &&
           jd__clock_now() < begin + LET_GO_SECONDS)
        sleep_for(LONGEST_SLEEP);
    int count = count_holding(target, &member);
    if (count == 0)
        return status;
    int process = group->members[member].process;
    char *why = strdup(jd_error_message());
    jd_fail(status,
            "%s; and process %d (member %d) has not let go of the buffers "
            "within %g s: do not use them",
            why ? why : "out of memory", process, group->members[member].number,
            LET_GO_SECONDS);
    free(why);
    if (group->spec.on_stuck)
        group->spec.on_stuck(group->spec.arg, process, jd_error_message());
    return status;
}

jd_status jd__shm_let_go(struct jd_shm_group *group, jd_status status)
{
    struct jd_target target = { .group = group };
    return let_go(&target, status);
}

/* ---- waiting ------------------------------------------------------------ */

static bool has_come(const struct jd_target *target, int member,
                     bool *ret_revoked)
{
    uint64_t value =
        atomic_load_explicit(flag_of(target, member), memory_order_acquire);
    *ret_revoked = value == JD_SHM_REVOKED;
    return value >= target->value;
}

static int list_behind(const struct jd_target *target, int first, int end,
                       int *places)
{
    int count = 0;
    bool is_revoked;
    for (int i = first; i < end; i++)
        if (!has_come(target, i, &is_revoked))
            places[count++] = i;
    return count;
}

/* Whether a leader is waited for, who has to wait for others itself. */
static bool is_handed_on(const struct jd_target *target)
{
    return !target->work && target->member < 0 &&
           (target->flag == JD_FLAG_GATHERED ||
            target->flag == JD_FLAG_RELEASED);
}

/* Those that have not come to the meeting, whatever leader is waited for. */
static int list_absent(const struct jd_target *target, int *places)
{
    struct jd_target meeting = *target;
    meeting.flag = JD_FLAG_ROUND;
    return list_behind(&meeting, 0, target->group->size, places);
}

/* Leaders that have come, and do not go on. */
static int list_stuck(const struct jd_target *target, int *places)
{
    const struct jd_shm_levels *levels = target->group->levels;
    int count = 0;
    if (target->flag == JD_FLAG_RELEASED)
        return list_behind(target, levels->leader, levels->leader + 1, places);
    for (int i = 0; i < levels->num_leaders; i++)
        count += list_behind(target, levels->leaders[i], levels->leaders[i] + 1,
                             places + count);
    return count;
}

/* The places of those that have not come. */
static int find_places(void *arg, int *places)
{
    const struct jd_target *target = arg;
    if (target->work)
        return target->work->find_missing(target->arg, places);
    if (is_handed_on(target)) {
        int count = list_absent(target, places);
        return count ? count : list_stuck(target, places);
    }
    int first = target->member < 0 ? 0 : target->member;
    int end = target->member < 0 ? target->group->size : first + 1;
    return list_behind(target, first, end, places);
}

/* Their processes, for a sentence. */
static int find_missing(void *arg, int *processes)
{
    const struct jd_target *target = arg;
    int count = find_places(arg, processes);
    for (int i = 0; i < count; i++)
        processes[i] = target->group->processes[processes[i]];
    return count;
}

static bool has_several(const struct jd_shm_group *group)
{
    for (int i = 1; i < group->size; i++)
        for (int j = 0; j < i; j++)
            if (group->processes[i] == group->processes[j])
                return true;
    return false;
}

static int find_members(void *arg, struct jd_wait_end *members)
{
    const struct jd_target *target = arg;
    const struct jd_shm_group *group = target->group;
    int *places = malloc((size_t)group->size * sizeof *places);
    int count = places && has_several(group) ? find_places(arg, places) : 0;
    for (int i = 0; i < count; i++)
        members[i] =
            (struct jd_wait_end){ group->processes[places[i]],
                                  group->members[places[i]].number, false };
    free(places);
    return count;
}

static struct jd_wait *wait_of(struct jd_shm_group *group)
{
    struct jd_wait *wait = &group->spec.wait;
    wait->processes = group->processes;
    wait->find_members = find_members;
    wait->member = group->members[group->index].number;
    return wait;
}

/* A leader that is late with what it hands on may be about to do so. */
static bool is_exact(const struct jd_target *target)
{
    bool is_revoked;
    for (int i = 0; is_handed_on(target) && i < target->group->size; i++) {
        struct jd_target meeting = *target;
        meeting.flag = JD_FLAG_ROUND;
        if (!has_come(&meeting, i, &is_revoked))
            return true;
    }
    return !is_handed_on(target);
}

static bool has_given_up(const struct jd_segment *control)
{
    return atomic_load(&control->is_aborted) ||
           atomic_load_explicit(&control->step, memory_order_acquire) ==
               JD_SHM_REVOKED;
}

int jd__shm_find_failed(const struct jd_shm_group *group)
{
    for (int i = 0; i < group->size; i++)
        if (i != group->index && has_given_up(group->members[i].control))
            return group->members[i].number;
    return -1;
}

/* A member that has come may give up while others are waited for. */
static bool somebody_revoked(const struct jd_shm_group *group)
{
    for (int i = 0; i < group->size; i++)
        if (has_given_up(group->members[i].control))
            return true;
    return false;
}

/* Members that wait for the same one give up within a moment; where the job
 * has failed, its sentence says more. */
static jd_status give_up_too(struct jd_target *target,
                             const struct jd_wait_state *state)
{
    struct jd_shm_group *group = target->group;
    struct jd_wait *wait = wait_of(group);
    jd_status status = jd__wait_check(wait);
    if (status == JD_OK)
        status =
            jd__wait_give_up(wait, state, find_missing, target, group->size);
    return status == JD_OK ? jd__shm_fail_revoked(group) : status;
}

/* MPI's progress yields too where MPI is told to, as it is where processes are
 * more than cores: one of the two in a turn, so that the flags are looked at
 * each time that the processor has come back. */
static void give_way(const struct jd_shm_group *group, unsigned turns)
{
    bool is_early = turns < YIELDS_BEFORE_SLEEP;
    if (is_early && (turns % 2 || !group->spec.make_progress)) {
        sched_yield();
        return;
    }
    if (group->spec.make_progress)
        group->spec.make_progress(group->spec.arg);
    if (is_early)
        return;
    jd__clock_sleep_step((turns - YIELDS_BEFORE_SLEEP) / 100, LONGEST_SLEEP);
}

/* All but this one have come, of whom it is known that they need no other. */
static bool is_last(const struct jd_target *target, int member)
{
    bool is_revoked;
    if (target->work || is_handed_on(target))
        return false;
    for (int i = 0; target->member < 0 && i < target->group->size; i++)
        if (i != member && !has_come(target, i, &is_revoked))
            return false;
    return true;
}

/* Looks after what must go on while the member does not come. */
static jd_status wait_one_turn(struct jd_target *target, int member,
                               struct jd_wait_state *state, unsigned turns)
{
    struct jd_shm_group *group = target->group;
    give_way(group, turns);
    if (turns % YIELDS_PER_LOOK && turns < YIELDS_BEFORE_SLEEP)
        return JD_OK;
    if (somebody_revoked(group))
        return give_up_too(target, state);
    struct jd_wait *wait = wait_of(group);
    state->is_exact = is_exact(target);
    jd_status status =
        jd__wait_look(wait, state, find_missing, target, group->size);
    if (is_last(target, member))
        jd__recorder_wait_is_for_one();
    return status;
}

static jd_status await_slowly(struct jd_target *target, int member)
{
    struct jd_wait_state state = jd__wait_start(&target->group->spec.wait);
    bool is_revoked;
    for (unsigned turns = 1; !has_come(target, member, &is_revoked); turns++) {
        jd_status status = wait_one_turn(target, member, &state, turns);
        if (status != JD_OK)
            return let_go(target, status);
    }
    if (state.begin >= 0) /* members that had come are passed here too */
        jd__recorder_wait_ends(target->group->processes[member]);
    jd__wait_end(&state);
    return is_revoked ? let_go(target, give_up_too(target, &state)) : JD_OK;
}

static jd_status await_member(struct jd_target *target, int member)
{
    bool is_revoked;
    for (int i = 0; i < target->group->spins; i++) {
        if (has_come(target, member, &is_revoked))
            return is_revoked ? await_slowly(target, member) : JD_OK;
        if (i > BARE_SPINS)
            relax_cpu();
    }
    return await_slowly(target, member);
}

jd_status jd__shm_await_flags(struct jd_shm_group *group, enum jd_flag flag,
                              uint64_t value)
{
    struct jd_target target = {
        .group = group, .flag = flag, .member = -1, .value = value
    };
    jd_status status = JD_OK;
    for (int i = 0; i < group->size && status == JD_OK; i++)
        if (i != group->index)
            status = await_member(&target, i);
    return status;
}

jd_status jd__shm_await_members(struct jd_shm_group *group, enum jd_flag flag,
                                const int *members, int count)
{
    struct jd_target target = {
        .group = group, .flag = flag, .member = -1, .value = group->round
    };
    jd_status status = JD_OK;
    for (int i = 0; i < count && status == JD_OK; i++)
        if (members[i] != group->index)
            status = await_member(&target, members[i]);
    return status;
}

jd_status jd__shm_check_told(struct jd_shm_group *group)
{
    struct jd_target target = { .group = group, .member = -1 };
    if (!atomic_load(&group->own->is_told))
        return JD_OK;
    struct jd_wait_state state = jd__wait_start(&group->spec.wait);
    return let_go(&target, give_up_too(&target, &state));
}

jd_status jd__shm_await_word(struct jd_shm_group *group, int member,
                             const _Atomic uint64_t *word, uint64_t value)
{
    struct jd_target target = {
        .group = group, .word = word, .member = member, .value = value
    };
    return member == group->index ? JD_OK : await_member(&target, member);
}

jd_status jd__shm_await_work(struct jd_shm_group *group,
                             const struct jd_shm_work *work, void *arg)
{
    struct jd_target target = { .group = group, .work = work, .arg = arg };
    struct jd_wait_state state = jd__wait_start(&group->spec.wait);
    jd_status status = JD_OK;
    int spins = 0;
    unsigned turns = 0;
    while (status == JD_OK) {
        enum jd_work done = work->work(arg, &status);
        if (done != JD_WORK_IDLE)
            jd__wait_end(&state);
        if (done == JD_WORK_DONE)
            return JD_OK;
        if (done == JD_WORK_MOVED) {
            state = jd__wait_start(&group->spec.wait);
            spins = 0;
            turns = 0;
        } else if (done == JD_WORK_IDLE && spins++ < group->spins) {
            relax_cpu();
        } else if (done == JD_WORK_IDLE) {
            status = wait_one_turn(&target, -1, &state, ++turns);
        }
    }
    return let_go(&target, status);
}
