/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - what all waits have in common, and the loop that waits for MPI. */
#include "runtime/process/wait.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/ranges.h"
#include "base/standing.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/coordination/failure/failure_report.h"
#include "runtime/mpi/lock.h"
#include "runtime/mpi/message_count.h"
#include "runtime/mpi/world.h"
#include "runtime/process/wait_queued.h"
#include "runtime/process/wait_stack.h"
#include "runtime/process/wait_text.h"
#include "runtime/recorder/recorder.h"
#include "runtime/topology/topology.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define TESTS_BEFORE_YIELD 64 /* some 10 us of polling */
#define TESTS_PER_CLOCK 64    /* reading the clock costs as much as a test */
#define TESTS_BEFORE_SLEEP 4000
#define TESTS_PER_SLEEP 16   /* each takes in what came meanwhile */
#define LONGEST_SLEEP 200000 /* ns: who comes late is late by far more */
#define NEARLY 0.8            /* of a deadline that others have too */
#define FIRST_TELL 0.5        /* seconds; then at doubling intervals */
#define LONGEST_TELL 8.0      /* between two */

/* Requests, and their other ends. */
struct requests {
    MPI_Request *requests;
    struct jd_wait_end *ends;
    int count;
    int *came; /* bytes, of each or of the one that is done; NULL: not asked */
};

/* How who is missing is found out; of a wait for MPI by what is open. */
struct wait_search {
    jd_wait_missing_f find;
    void *arg;
    int most;
    const struct requests *open;
};

static bool is_done(MPI_Request request)
{
    int done = 0;
    MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    return done;
}

/* The other ends of the open requests; their number. */
static int find_ends(const struct requests *open, struct jd_wait_end *ends)
{
    int missing = 0;
    jd__mpi_lock();
    for (int i = 0; i < open->count; i++)
        if (!is_done(open->requests[i]))
            ends[missing++] = open->ends[i];
    jd__mpi_unlock();
    return missing;
}

static int compare_members(const void *a, const void *b)
{
    const struct jd_wait_end *left = a, *right = b;
    return jd__ranges_compare(&left->member, &right->member);
}

/* Each once; how many are left. */
static int sort_members(struct jd_wait_end *members, int count)
{
    int left = 0;
    if (count)
        qsort(members, (size_t)count, sizeof *members, compare_members);
    for (int i = 0; i < count; i++)
        if (i == 0 || members[i].member != members[i - 1].member)
            members[left++] = members[i];
    return left;
}

/* Asks the wait who is missing. */
static void find_all(const struct jd_wait *wait,
                     const struct wait_search *search,
                     struct jd_missing *missing)
{
    struct jd_wait_end *members = missing->members;
    if (!search->open) {
        missing->count = search->find(search->arg, missing->processes);
        if (missing->count && wait->find_members)
            missing->num_members = wait->find_members(search->arg, members);
        return;
    }
    missing->count = find_ends(search->open, members);
    for (int i = 0; i < missing->count; i++)
        missing->processes[i] = members[i].process;
    if (wait->names_members)
        missing->num_members = missing->count;
}

/* Each once. None where memory has run out. */
static struct jd_missing list_missing(const struct jd_wait *wait,
                                      const struct wait_search *search)
{
    size_t most = (size_t)search->most;
    struct jd_missing missing = { malloc(most * sizeof(int)), 0,
                                  malloc(most * sizeof(struct jd_wait_end)), 0,
                                  NULL };
    if (!missing.processes || !missing.members)
        return missing;
    find_all(wait, search, &missing);
    missing.count = jd__ranges_sort(missing.processes, missing.count);
    missing.num_members = sort_members(missing.members, missing.num_members);
    return missing;
}

static void free_missing(struct jd_missing *missing)
{
    free(missing->processes);
    free(missing->members);
    free(missing->note);
}

static bool is_missing(const struct jd_missing *missing, int process)
{
    for (int i = 0; i < missing->count; i++)
        if (missing->processes[i] == process)
            return true;
    return false;
}

/* Without a service nobody knows who else waits: of the processes on a host
 * that have come and run, the lowest speaks. */
static bool is_speaker(const struct jd_wait *wait,
                       const struct wait_search *search,
                       const struct jd_missing *missing)
{
    for (int i = 0; i < search->most; i++) {
        int index =
            search->open ? search->open->ends[i].process : wait->processes[i];
        if (index < wait->self && !is_missing(missing, index) &&
            jd__wait_sees_running(wait, index))
            return false;
    }
    return true;
}

static struct jd_blocked_wait blocked_wait(const struct jd_wait *wait,
                                           const struct jd_missing *missing,
                                           double waited)
{
    return (struct jd_blocked_wait){ .operation = wait->operation,
                                     .detail = wait->detail,
                                     .processes = missing->processes,
                                     .count = missing->count,
                                     .members = missing->members,
                                     .num_members = missing->num_members,
                                     .waited = waited };
}

/* Leaves out this process, and what is no process's number; how many stay. */
static int keep_others(const struct jd_wait *wait, int *processes, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (processes[i] >= 0 && processes[i] != wait->self &&
            processes[i] < wait->topology->num_processes)
            processes[kept++] = processes[i];
    return kept;
}

/* Who keeps the wait from ending, as far as is known. Those that the service
 * knows are written into followed. */
static struct jd_missing find_culprits(const struct jd_wait *wait,
                                       const struct jd_missing *missing,
                                       double waited,
                                       struct jd_followed *followed)
{
    struct jd_missing behind = { wait->behind, wait->num_behind, NULL, 0,
                                 NULL };
    struct jd_blocked_wait asked = blocked_wait(wait, missing, waited);
    if (!missing->count)
        return *missing;
    followed->count = 0;
    if (wait->is_handed_on)
        jd__failure_report_follow(&asked, followed);
    followed->count = keep_others(wait, followed->processes, followed->count);
    if (followed->count)
        return (struct jd_missing){
            followed->processes, followed->count, followed->members,
            sort_members(followed->members, followed->num_members), NULL
        };
    return behind.count ? behind : *missing;
}

static void warn_of_wait(const struct jd_wait *wait, char *text, char *end)
{
    const char *said = text ? text : wait->operation;
    if (wait->timeout < 0)
        jd__log(JD_LOG_WARNING, "%s; it has no deadline (%s sets one)%s", said,
                wait->variable, end ? end : "");
    else
        jd__log(JD_LOG_WARNING, "%s; it gives up after %.3g s (%s)%s", said,
                wait->timeout, wait->variable, end ? end : "");
    free(text);
    free(end);
}

static jd_status end_late(const struct jd_wait *wait, char *text)
{
    jd_fail(JD_DEADLINE_EXCEEDED, "%s; the deadline was %.3g s (%s changes it)",
            text ? text : wait->operation, wait->timeout, wait->variable);
    free(text);
    return JD_DEADLINE_EXCEEDED;
}

static void notice_wait(const struct jd_wait *wait,
                        const struct wait_search *search,
                        const struct jd_missing *missing, double waited)
{
    struct jd_followed followed;
    struct jd_missing culprits =
        find_culprits(wait, missing, waited, &followed);
    if (!missing->count || !is_speaker(wait, search, &culprits))
        return;
    char *text = jd__wait_describe(wait, &culprits, missing, waited);
    warn_of_wait(wait, text, jd__wait_describe_calls(&culprits, text));
}

/* Of the lowest; of none that is seen to be stopped or to have ended. */
static void show_stack(const struct jd_wait *wait,
                       const struct jd_missing *missing)
{
    struct jd_missing first = *missing;
    first.count = missing->count > 0;
    if (first.count && !jd__wait_sees_gone(wait, &first))
        jd__wait_stack_show(wait->operation, wait->detail, first.processes[0]);
}

static jd_status fail_deadline(const struct jd_wait *wait,
                               const struct jd_missing *missing, double waited)
{
    struct jd_followed followed;
    struct jd_missing culprits =
        find_culprits(wait, missing, waited, &followed);
    char *text = jd__wait_describe(wait, &culprits, missing, waited);
    char *calls = jd__wait_describe_calls(&culprits, text);
    show_stack(wait, &culprits);
    jd_status status = end_late(wait, text);
    if (calls && calls[0])
        jd__fail_suffix(status, "%s", calls);
    free(calls);
    return status;
}

struct jd_wait_state jd__wait_start(const struct jd_wait *wait)
{
    return (struct jd_wait_state){ .begin = -1,
                                   .next_notice = wait->notice,
                                   .next_tell = FIRST_TELL };
}

void jd__wait_end(const struct jd_wait_state *state)
{
    if (state->told)
        jd__standing_end();
}

static bool is_cancelled(const struct jd_wait *wait)
{
    return wait->is_cancelled &&
           atomic_load_explicit(wait->is_cancelled, memory_order_relaxed);
}

jd_status jd__wait_check(const struct jd_wait *wait)
{
    jd_status status = jd__failure_exit_check(wait->operation);
    if (status != JD_OK || !is_cancelled(wait))
        return status;
    return jd_fail(JD_ABORTED,
                   "%s%s: another device of this process has failed, and this "
                   "one waits no longer",
                   wait->operation, wait->detail ? wait->detail : "");
}

/* ---- told to the service ------------------------------------------------ */

/* What is waited for may be under way for a while. MPI's messages may be so on
 * one host too: where they go by TCP, a buffer that was full is tried again
 * after 0.2, 0.4, ... s. */
static bool is_far(const struct jd_wait *wait, const struct wait_search *search,
                   const struct jd_missing *missing)
{
    const struct jd_process_info *all = wait->topology->processes;
    if (search->open)
        return true;
    for (int i = 0; i < missing->count; i++)
        if (all[missing->processes[i]].host != all[wait->self].host)
            return true;
    return false;
}

/* While it lasts, and others' waits, this process does nothing that another
 * waits for. A thread that has not called jd yet may do so for a device, unless
 * there will be none, or as many of the program's wait as there are devices. */
static bool is_alone(const struct jd_wait *wait,
                     const struct jd_standing *others)
{
    int devices = wait->topology->processes[wait->self].num_devices;
    return others->is_whole && !wait->is_moving &&
           (devices == 1 || others->knows_all || others->num_users >= devices);
}

/* One whose data move does not stand. */
static void stand_in(const struct jd_wait *wait, uint64_t number,
                     struct jd_blocked_wait *blocked,
                     struct jd_standing *others)
{
    if (wait->is_moving)
        jd__standing_end();
    else
        jd__standing_in(number, jd__recorder_current_call());
    jd__standing_look(others);
    blocked->is_alone = is_alone(wait, others);
    blocked->others = others->waits;
    blocked->num_others = blocked->is_alone ? others->count : 0;
}

/* It is time for it, or the service asks. */
static bool is_tell_due(const struct jd_wait_state *state, double waited)
{
    return state->is_exact && waited >= FIRST_TELL &&
           (waited >= state->next_tell ||
            state->look != jd__failure_report_looks());
}

/* What a death does otherwise is told by the service, much sooner than this;
 * where it is not, there is none (any more). */
static jd_status fail_ended(const struct jd_wait *wait,
                            struct jd_wait_state *state,
                            const struct jd_missing *missing, double waited)
{
    for (int i = 0; i < missing->count; i++) {
        int index = missing->processes[i];
        char seen = jd__proc_state(wait->topology->processes[index].pid);
        if (!jd__wait_sees(wait, index) || (seen && seen != 'Z' && seen != 'X'))
            return JD_OK;
    }
    if (!missing->count || state->num_ended++ == 0)
        return JD_OK;
    char *text = jd__wait_describe(wait, missing, missing, waited);
    jd_fail(JD_ABORTED, "%s, and cannot come; the job should end",
            text ? text : wait->operation);
    free(text);
    return JD_ABORTED;
}

/* 1 and the messages that have come from the process; 0 where none of it is
 * waited for. */
static uint64_t count_messages(const struct requests *open, int process)
{
    uint64_t here = 0;
    bool waits = false;
    jd__mpi_lock();
    for (int i = 0; i < open->count; i++) {
        if (!open->ends[i].receives || open->ends[i].process != process)
            continue;
        bool done = is_done(open->requests[i]);
        here += done;
        waits |= !done;
    }
    jd__mpi_unlock();
    return waits ? 1 + here + jd__message_count_from(process) : 0;
}

static void tell_service(const struct jd_wait *wait,
                         struct jd_wait_state *state,
                         const struct wait_search *search,
                         const struct jd_missing *missing, double waited)
{
    uint64_t messages[JD_WAIT_NAMED];
    struct jd_standing others;
    if (!missing->count)
        return;
    if (!state->told)
        state->told = jd__failure_report_number();
    struct jd_blocked_wait blocked = blocked_wait(wait, missing, waited);
    blocked.number = state->told;
    for (int i = 0; search->open && i < missing->count && i < JD_WAIT_NAMED;
         i++)
        messages[i] = count_messages(search->open, missing->processes[i]);
    blocked.messages = search->open ? messages : NULL;
    blocked.is_far = is_far(wait, search, missing);
    stand_in(wait, state->told, &blocked, &others);
    blocked.is_transfer = wait->is_transfer;
    blocked.comm = jd__recorder_current_comm();
    blocked.look = state->look;
    jd__failure_report_blocked(&blocked);
    if (waited >= state->next_tell)
        state->next_tell =
            waited + (waited < LONGEST_TELL ? waited : LONGEST_TELL);
}

static void tell_own(const struct jd_wait *wait, struct jd_wait_state *state,
                     double waited, bool is_notice)
{
    int self = wait->self;
    const struct wait_search search = { .most = 1 };
    const struct jd_missing missing = { .processes = &self, .count = 1 };
    state->is_exact = true;
    if (!is_tell_due(state, waited) && !is_notice)
        return;
    state->look = jd__failure_report_looks();
    tell_service(wait, state, &search, &missing, waited);
}

jd_status jd__wait_look_own(const struct jd_wait *wait,
                            struct jd_wait_state *state, double waited,
                            const struct jd_wait_own *own)
{
    jd_status status = jd__wait_check(wait);
    bool is_notice = state->next_notice >= 0 && waited >= state->next_notice;
    if (status != JD_OK)
        return status;
    if (wait->timeout >= 0 && waited >= wait->timeout)
        return end_late(wait, own->describe(own->arg, waited));
    tell_own(wait, state, waited, is_notice);
    if (is_notice && !own->is_silent)
        warn_of_wait(wait, own->describe(own->arg, waited), NULL);
    if (is_notice)
        state->next_notice *= 2;
    return JD_OK;
}

/* What is due of notices that fell into the waits before is not made up for. */
static void begin_wait(const struct jd_wait *wait, struct jd_wait_state *state,
                       double now)
{
    jd__recorder_wait_begins(now);
    double begin = wait->first_look ? *wait->first_look : wait->begin;
    state->begin = now;
    state->before = begin > 0 ? now - begin : 0;
    if (wait->first_look && begin <= 0)
        *wait->first_look = now;
    while (state->next_notice > 0 && state->next_notice < state->before)
        state->next_notice *= 2;
}

static double now_of(const struct jd_wait *wait)
{
    return wait->clock ? wait->clock() : jd__clock_now();
}

static jd_status look_at_missing(const struct jd_wait *wait,
                                 struct jd_wait_state *state,
                                 const struct wait_search *search)
{
    jd_status status = jd__wait_check(wait);
    if (status != JD_OK)
        return status;
    double now = now_of(wait);
    if (state->begin < 0)
        begin_wait(wait, state, now);
    double waited = now - state->begin, all = state->before + waited;
    bool is_late = wait->timeout >= 0 && all >= wait->timeout;
    bool is_notice = state->next_notice >= 0 && all >= state->next_notice;
    bool is_tell = is_tell_due(state, waited) || (is_notice && state->is_exact);
    if (!is_late && !is_notice && !is_tell)
        return JD_OK;
    state->look =
        jd__failure_report_looks(); /* before it is seen who is missing */
    struct jd_missing missing = list_missing(wait, search);
    if (wait->num_queues && missing.count)
        state->is_exact = jd__wait_queued_find(wait, &missing);
    if (wait->on_missing && missing.count)
        wait->on_missing(wait->arg, missing.processes, missing.count);
    if (is_tell) {
        tell_service(wait, state, search, &missing, waited);
        status = fail_ended(wait, state, &missing, all);
    }
    if (status != JD_OK || !(is_late || is_notice)) {
        free_missing(&missing);
        return status;
    }
    if (is_late)
        status = missing.count || !missing.processes || !missing.members
                     ? fail_deadline(wait, &missing, all)
                     : JD_OK;
    else
        notice_wait(wait, search, &missing, all);
    if (is_notice)
        state->next_notice *= 2;
    free_missing(&missing);
    return status;
}

jd_status jd__wait_look(const struct jd_wait *wait, struct jd_wait_state *state,
                        jd_wait_missing_f find_missing, void *arg, int count)
{
    struct wait_search search = { find_missing, arg, count, NULL };
    return look_at_missing(wait, state, &search);
}

jd_status jd__wait_give_up(const struct jd_wait *wait,
                           const struct jd_wait_state *state,
                           jd_wait_missing_f find_missing, void *arg, int count)
{
    double waited =
        state->begin < 0 ? 0 : state->before + now_of(wait) - state->begin;
    if (wait->timeout < 0 || waited < NEARLY * wait->timeout)
        return JD_OK;
    struct wait_search search = { find_missing, arg, count, NULL };
    struct jd_missing missing = list_missing(wait, &search);
    jd_status status =
        missing.count ? fail_deadline(wait, &missing, waited) : JD_OK;
    free_missing(&missing);
    return status;
}

/* ---- MPI ---------------------------------------------------------------- */

static void count_end(struct jd_wait_end *end)
{
    if (end->receives)
        jd__message_count_came(end->process);
    end->receives = false;
}

/* Of requests that are done: of one, or all of them. */
static void count_done(const struct requests *all, const int *index)
{
    if (index && *index >= 0)
        count_end(&all->ends[*index]);
    for (int i = 0; !index && i < all->count; i++)
        count_end(&all->ends[i]);
}

/* Within the lock: MPI's status says how long what came is. What went has no
 * length, and none is none's. */
static int count_bytes(const struct requests *all, int index,
                       const MPI_Status *status, int *ret_came)
{
    *ret_came = 0;
    if (index < 0 || !all->ends[index].receives)
        return MPI_SUCCESS;
    return MPI_Get_count(status, MPI_BYTE, ret_came);
}

static int count_all_bytes(const struct requests *all,
                           const MPI_Status *statuses)
{
    int code = MPI_SUCCESS;
    for (int i = 0; i < all->count && code == MPI_SUCCESS; i++)
        code = count_bytes(all, i, &statuses[i], &all->came[i]);
    return code;
}

static int test_locked(const struct requests *all, int *ret_index, int *done)
{
    MPI_Status came[JD_WAIT_CAME];
    MPI_Status *any = all->came ? came : MPI_STATUS_IGNORE;
    MPI_Status *each = all->came ? came : MPI_STATUSES_IGNORE;
    int code =
        ret_index ? MPI_Testany(all->count, all->requests, ret_index, done, any)
                  : MPI_Testall(all->count, all->requests, done, each);
    if (code != MPI_SUCCESS || !*done || !all->came)
        return code;
    return ret_index ? count_bytes(all, *ret_index, came, all->came)
                     : count_all_bytes(all, came);
}

/* Leaves *done false where another thread is in MPI. ret_index: of one that is
 * done; NULL: all are to be. */
static int test_requests(const struct requests *all, int *ret_index, int *done)
{
    if (!jd__mpi_try_lock())
        return MPI_SUCCESS;
    int code = test_locked(all, ret_index, done);
    jd__mpi_unlock();
    return code;
}

/*
 * Between two tests: a wait that is long already leaves the processor to
 * others, a hundredth of its length at a time. More than one test in a turn, as
 * MPI moves what is long by pieces, and only in them.
 */
static void give_way(unsigned tests)
{
    if (tests <= TESTS_BEFORE_YIELD)
        return;
    if (tests < TESTS_BEFORE_SLEEP || tests % TESTS_PER_SLEEP) {
        sched_yield();
        return;
    }
    jd__clock_sleep_step((tests - TESTS_BEFORE_SLEEP) / (16 * TESTS_PER_SLEEP),
                         LONGEST_SLEEP);
}

static bool is_for_one(const struct jd_wait *wait, const struct requests *all)
{
    return all->count == 1 && !wait->is_handed_on;
}

/* From whom what was waited for came last, where that is certain. */
static void record_end(const struct jd_wait *wait,
                       const struct jd_wait_state *state,
                       const struct requests *all)
{
    if (state->begin >= 0)
        jd__recorder_wait_ends(is_for_one(wait, all) ? all->ends[0].process
                                                     : -1);
}

static jd_status wait_for(const struct jd_wait *wait,
                          const struct requests *all, int *ret_index)
{
    struct wait_search search = { NULL, NULL, all->count, all };
    struct jd_wait_state state = jd__wait_start(wait);
    state.is_exact = true;
    for (unsigned tests = 1;; tests++) {
        int done = 0, code = test_requests(all, ret_index, &done);
        if (code != MPI_SUCCESS)
            return jd__mpi_check(code,
                                 ret_index ? "MPI_Testany" : "MPI_Testall",
                                 wait->operation);
        if (done) {
            count_done(all, ret_index);
            record_end(wait, &state, all);
            jd__wait_end(&state);
            return JD_OK;
        }
        give_way(tests);
        if (tests % TESTS_PER_CLOCK)
            continue;
        jd_status status = look_at_missing(wait, &state, &search);
        if (status != JD_OK)
            return status;
        if (is_for_one(wait, all))
            jd__recorder_wait_is_for_one();
    }
}

jd_status jd__wait_for_mpi(const struct jd_wait *wait, MPI_Request *requests,
                           struct jd_wait_end *ends, int count, int *ret_came)
{
    struct requests all = { requests, ends, count, ret_came };
    return wait_for(wait, &all, NULL);
}

jd_status jd__wait_for_any_mpi(const struct jd_wait *wait,
                               MPI_Request *requests, struct jd_wait_end *ends,
                               int count, int *ret_index, int *ret_came)
{
    struct requests all = { requests, ends, count, ret_came };
    jd_status status = wait_for(wait, &all, ret_index);
    if (status == JD_OK && *ret_index == MPI_UNDEFINED)
        *ret_index = -1;
    return status;
}
