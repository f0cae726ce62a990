/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - the one loop that waits for MPI. */
#include "runtime/wait.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "runtime/peers.h"
#include "runtime/topology.h"
#include "runtime/world.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TESTS_BEFORE_YIELD 64 /* some 10 us of polling */
#define TESTS_PER_CLOCK 64    /* reading the clock costs as much as a test */
#define MAX_NAMED 8           /* processes that a sentence names one by one */

/* The processes that have not come, sorted. */
struct missing {
    int *processes;
    int count;
};

static int compare_ints(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Those at the other ends of the open requests. None where memory has run
 * out. */
static struct missing find_missing(const struct jd_wait *wait,
                                   MPI_Request *requests, int count)
{
    struct missing missing = { malloc((size_t)count * sizeof(int)), 0 };
    for (int i = 0; missing.processes && i < count; i++) {
        int done = 0;
        MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
        if (!done)
            missing.processes[missing.count++] = wait->processes[i];
    }
    if (missing.count)
        qsort(missing.processes, (size_t)missing.count, sizeof(int),
              compare_ints);
    return missing;
}

static bool is_missing(const struct missing *missing, int process)
{
    for (int i = 0; i < missing->count; i++)
        if (missing->processes[i] == process)
            return true;
    return false;
}

/* True where pids of that process mean something to us. */
static bool can_be_seen(const struct jd_topology *topology, int self, int other)
{
    const struct jd_process_info *a = &topology->processes[self];
    const struct jd_process_info *b = &topology->processes[other];
    return a->host == b->host && a->pid_namespace &&
           a->pid_namespace == b->pid_namespace;
}

static bool is_running(int pid)
{
    char state = jd__peers_state(pid);
    return state && strchr("RSDI", state);
}

/* What can be seen of the missing: a stopped or ended one is the culprit. */
static void print_suspects(FILE *out, const struct jd_wait *wait,
                           const struct missing *missing)
{
    int hidden = 0, named = 0;
    for (int i = 0; i < missing->count; i++) {
        int index = missing->processes[i];
        const struct jd_process_info *p = &wait->topology->processes[index];
        if (!can_be_seen(wait->topology, wait->self, index)) {
            hidden++;
        } else if (!is_running(p->pid) && named++ < MAX_NAMED) {
            fprintf(out, "; process %d (%s, pid %d on %s) ", index, p->program,
                    p->pid, wait->topology->hosts[p->host].name);
            jd__peers_print_state(out, p->pid);
        }
    }
    if (named > MAX_NAMED)
        fprintf(out, "; and %d more like these", named - MAX_NAMED);
    if (!named && hidden < missing->count)
        fputs(missing->count == 1
                  ? "; no message has come from it: it runs on this host, but "
                    "has not made this call, or waits for one that has not"
                  : "; no message has come from them: those on this host run, "
                    "but have not made this call, or wait for one that has not",
              out);
    if (hidden)
        fprintf(out, "; other hosts cannot be seen from here");
}

/* The sentence about the wait, malloc'ed; NULL without memory. */
static char *describe(const struct jd_wait *wait, const struct missing *missing,
                      double waited)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "%s%s: process %d has waited %.3g s for process%s ",
            wait->operation, wait->detail ? wait->detail : "", wait->self,
            waited, missing->count == 1 ? "" : "es");
    jd__print_ranges(out, missing->processes, missing->count);
    print_suspects(out, wait, missing);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Without a service nobody knows who else waits: of the processes on a host
 * that have come and run, the lowest speaks. */
static bool is_speaker(const struct jd_wait *wait, int count,
                       const struct missing *missing)
{
    for (int i = 0; i < count; i++) {
        int index = wait->processes[i];
        if (index < wait->self && !is_missing(missing, index) &&
            can_be_seen(wait->topology, wait->self, index) &&
            is_running(wait->topology->processes[index].pid))
            return false;
    }
    return true;
}

static void notice(const struct jd_wait *wait, int count,
                   const struct missing *missing, double waited)
{
    if (!missing->count || !is_speaker(wait, count, missing))
        return;
    char *text = describe(wait, missing, waited);
    if (wait->timeout < 0)
        jd__log(JD_LOG_WARNING, "%s; it has no deadline (%s sets one)",
                text ? text : wait->operation, wait->variable);
    else
        jd__log(JD_LOG_WARNING, "%s; it gives up after %.3g s (%s)",
                text ? text : wait->operation, wait->timeout, wait->variable);
    free(text);
}

/* How far one wait is. */
struct progress {
    double begin;       /* negative: not begun */
    double next_notice; /* seconds after begin; negative: never */
};

static jd_status fail_deadline(const struct jd_wait *wait,
                               const struct missing *missing, double waited)
{
    char *text = describe(wait, missing, waited);
    jd_fail(JD_DEADLINE_EXCEEDED, "%s; the deadline was %.3g s (%s changes it)",
            text ? text : wait->operation, wait->timeout, wait->variable);
    free(text);
    return JD_DEADLINE_EXCEEDED;
}

/* Speaks, or gives up, where it is time for it. */
static jd_status look_at_clock(const struct jd_wait *wait,
                               MPI_Request *requests, int count,
                               struct progress *progress)
{
    double now = jd__clock_now();
    if (progress->begin < 0)
        progress->begin = now;
    double waited = now - progress->begin;
    bool is_late = wait->timeout >= 0 && waited >= wait->timeout;
    bool is_notice =
        progress->next_notice >= 0 && waited >= progress->next_notice;
    if (!is_late && !is_notice)
        return JD_OK;
    struct missing missing = find_missing(wait, requests, count);
    jd_status status = JD_OK;
    if (is_late)
        status = missing.count || !missing.processes
                     ? fail_deadline(wait, &missing, waited)
                     : JD_OK;
    else
        notice(wait, count, &missing, waited);
    if (is_notice)
        progress->next_notice *= 2;
    free(missing.processes);
    return status;
}

jd_status jd__wait_for_mpi(const struct jd_wait *wait, MPI_Request *requests,
                           int count)
{
    struct progress progress = { .begin = -1, .next_notice = wait->notice };
    for (unsigned tests = 1;; tests++) {
        int done = 0;
        int code = MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
        if (code != MPI_SUCCESS)
            return jd__check_mpi(code, "MPI_Testall", wait->operation);
        if (done)
            return JD_OK;
        if (tests > TESTS_BEFORE_YIELD)
            sched_yield();
        if (tests % TESTS_PER_CLOCK)
            continue;
        jd_status status = look_at_clock(wait, requests, count, &progress);
        if (status != JD_OK)
            return status;
    }
}
