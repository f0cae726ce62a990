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

static int member(const struct jd_wait *wait, int i)
{
    return wait->processes ? wait->processes[i] : i;
}

/* True where pids of that process mean something to us. */
static bool can_be_seen(const struct jd_topology *topology, int self, int other)
{
    const struct jd_process_info *a = &topology->processes[self];
    const struct jd_process_info *b = &topology->processes[other];
    return a->host == b->host && a->pid_namespace &&
           a->pid_namespace == b->pid_namespace;
}

/* What can be seen of the members on this host that are not plainly running:
 * they are the likely culprits. */
static void print_suspects(FILE *out, const struct jd_wait *wait)
{
    int hidden = 0, named = 0;
    for (int i = 0; i < wait->num_processes; i++) {
        int index = member(wait, i);
        const struct jd_process_info *p = &wait->topology->processes[index];
        if (index == wait->self)
            continue;
        if (!can_be_seen(wait->topology, wait->self, index)) {
            hidden++;
            continue;
        }
        char state = jd__peers_state(p->pid);
        if (state && strchr("RSDI", state))
            continue;
        if (named++ >= MAX_NAMED)
            continue;
        fprintf(out, "; process %d (%s, pid %d on %s) ", index, p->program,
                p->pid, wait->topology->hosts[p->host].name);
        jd__peers_print_state(out, p->pid);
    }
    if (named > MAX_NAMED)
        fprintf(out, "; and %d more like these", named - MAX_NAMED);
    if (!named)
        fprintf(out,
                "; those on this host are running, so one of them has "
                "not made this call%s",
                hidden ? ", or one of another host" : "");
}

static void print_members(FILE *out, const struct jd_wait *wait)
{
    int *others = malloc((size_t)wait->num_processes * sizeof *others);
    int count = 0;
    for (int i = 0; others && i < wait->num_processes; i++)
        if (member(wait, i) != wait->self)
            others[count++] = member(wait, i);
    fprintf(out, "process%s ", count == 1 ? "" : "es");
    if (others)
        jd__print_ranges(out, others, count);
    free(others);
}

/* The sentence about the wait, malloc'ed; NULL without memory. */
static char *describe(const struct jd_wait *wait, double waited)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "%s%s: process %d has waited %.3g s for ", wait->operation,
            wait->detail ? wait->detail : "", wait->self, waited);
    print_members(out, wait);
    if (wait->topology)
        print_suspects(out, wait);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Without a service nobody knows who else waits: the lowest member of each
 * host that is running speaks for it. */
static bool is_speaker(const struct jd_wait *wait)
{
    if (!wait->topology)
        return true;
    for (int i = 0; i < wait->num_processes; i++) {
        int index = member(wait, i);
        if (index >= wait->self)
            break;
        int pid = wait->topology->processes[index].pid;
        char state = can_be_seen(wait->topology, wait->self, index)
                         ? jd__peers_state(pid)
                         : 0;
        if (state && strchr("RSDI", state))
            return false;
    }
    return true;
}

static void notice(const struct jd_wait *wait, double waited)
{
    if (!is_speaker(wait))
        return;
    char *text = describe(wait, waited);
    if (wait->timeout < 0)
        jd__log(JD_LOG_WARNING, "%s; it has no deadline (%s sets one)",
                text ? text : wait->operation, wait->variable);
    else
        jd__log(JD_LOG_WARNING, "%s; it gives up after %.3g s (%s)",
                text ? text : wait->operation, wait->timeout, wait->variable);
    free(text);
}

static jd_status fail_deadline(const struct jd_wait *wait, double waited)
{
    char *text = describe(wait, waited);
    jd_fail(JD_DEADLINE_EXCEEDED, "%s; the deadline was %.3g s (%s changes it)",
            text ? text : wait->operation, wait->timeout, wait->variable);
    free(text);
    return JD_DEADLINE_EXCEEDED;
}

jd_status jd__wait_for_mpi(const struct jd_wait *wait, MPI_Request *requests,
                           int count)
{
    double begin = -1, next_notice = wait->notice;
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
        double now = jd__clock_now();
        begin = begin < 0 ? now : begin;
        if (wait->timeout >= 0 && now - begin >= wait->timeout)
            return fail_deadline(wait, now - begin);
        if (next_notice >= 0 && now - begin >= next_notice) {
            notice(wait, now - begin);
            next_notice *= 2;
        }
    }
}
