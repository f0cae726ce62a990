/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_jobs.h - what the tests of both versions of PMI do alike: a job whose
 * members ask by it, and what is the same whatever they say.
 */
#ifndef WIREUP_PMI_JOBS_H
#define WIREUP_PMI_JOBS_H

#include "tests/unit/unit.h"
#include "tests/wireup/hosts.h"

#include <signal.h>
#include <stdio.h>

static struct job job;

static void open_pmi(int count, const char *hosts)
{
    job_open(&job, count, hosts);
    job.asks_by_pmi = true;
    job_start_servers(&job);
}

static void expect_all(const char *word, const char *mapping)
{
    char line[128];
    for (int i = 0; i < job.count; i++) {
        snprintf(line, sizeof line, "%s %d %d %s\n", word, i, job.count,
                 mapping);
        job_expect_word(&job, i, line);
    }
}

struct pmi_shape {
    int count;
    const char *hosts, *mapping;
};

/* All have what all have put. */
static void run_plain(const struct pmi_shape *shape)
{
    open_pmi(shape->count, shape->hosts);
    job_start_members(&job, "plain");
    expect_all("ok", shape->mapping);
    job_expect_exits(&job, 0);
    job_expect_nothing_left(&job);
    job_expect_no_error(&job);
    ck_assert_uint_le(job_count_keys(&job, "fence"), job.num_hosts);
    job_close(&job);
}

/* One aborts, and its host ends; how: as the server says it. */
static void run_abort(const char *how)
{
    open_pmi(3, "0,1,2");
    job_start_members(&job, "abort");
    expect_all("up", "(vector,(0,1,3))");
    job_release(&job, 2);
    job_expect_exit(&job, 2, 7);
    job_expect_exits(&job, -SIGKILL);
    job_expect_nothing_left(&job);
    job_expect_error(&job, "jd-pmix-server on node-0: process 2 (pid ");
    job_expect_error(&job, how);
    job_close(&job);
}

static void run_death(void)
{
    open_pmi(4, "0,1;2,3");
    job_start_members(&job, "wait");
    expect_all("up", "(vector,(0,2,2))");
    kill(job.members[3].pid, SIGKILL);
    job_expect_exit(&job, 3, -SIGKILL);
    job_lose_agent(&job, 3);
    for (int i = 0; i < 3; i++)
        job_expect_exit(&job, i, -SIGKILL);
    job_expect_nothing_left(&job);
    job_close(&job);
}

#endif
