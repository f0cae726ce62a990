/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hosts.h - a job of several hosts on this machine: the coordination service
 * in this process, an agent for each of the job's processes, one
 * jd-pmix-server for each host, and MPI programs with what those hand out.
 *
 *     struct job job;
 *     job_open(&job, 4, "0,1;2,3");
 *     job_start_servers(&job);
 *     job_start_members(&job, "plain");
 *     job_expect_word(&job, 0, "ok 0 4 2\n");
 *     job_expect_exit(&job, 0, 0);
 *     job_close(&job);            servers have ended, nothing is left
 */
#ifndef TESTS_WIREUP_HOSTS_H
#define TESTS_WIREUP_HOSTS_H

#include "runtime/coordination/client/agent.h"
#include "runtime/coordination/server/sockets.h"
#include "runtime/wireup/wireup.pb-c.h"

#include <stdbool.h>
#include <sys/types.h>

enum { MAX_PROCESSES = 8, MAX_HOSTS = 4 };

struct child {
    pid_t pid; /* 0: none */
    int in;    /* its standard input, -1: closed */
    int out;   /* its standard output */
};

struct host {
    char name[32];
    uint32_t processes[MAX_PROCESSES];
    size_t count;
    char shared[128]; /* where its processes share memory; "": not known */
};

struct job {
    int count;
    size_t num_hosts;
    struct host hosts[MAX_HOSTS];
    char tmpdir[64];
    struct jd_loop *loop;
    struct jd_server *service;
    struct jd_agent *agents[MAX_PROCESSES];
    struct jd_endpoints endpoints;
    struct jd_auth auth;
    double timeout;           /* of the plan */
    bool is_held;             /* the same */
    bool asks_by_pmi;         /* the same */
    const char *variables[2]; /* more for members, or NULL */
    struct child members[MAX_PROCESSES];
    char errors[80]; /* a file with the servers' standard error */
};

/* hosts: "0,1;2,3". Starts the service and lets every process join. */
void job_open(struct job *job, int count, const char *hosts);

/* The plan of one host, packed into a frame; returns its bytes. */
size_t job_plan_frame(const struct job *job, size_t host, uint8_t *frame,
                      size_t room);
/* What a server with these bytes on its standard input answers; it has ended,
 * or detached itself, with that exit code. */
void job_run_server(const struct job *job, const void *input, size_t size,
                    char *answer, size_t room, int *ret_code);
/* One for each host, all ready. */
void job_start_servers(struct job *job);
/* Until the supervisor holds the pidfds of so many processes. */
void job_await_supervisor(const struct job *job, int count);

void job_start_member(struct job *job, int process, const char *mode);
void job_start_members(struct job *job, const char *mode);
/* The next line of a member, within 60 s. */
void job_expect_word(struct job *job, int process, const char *word);
/* It ends; returns its exit code, where negative a signal. */
int job_await_exit(struct job *job, int process);
/* It ends with this one. */
void job_expect_exit(struct job *job, int process, int code);
/* The same of all that are there. */
void job_expect_exits(struct job *job, int code);
/* Ends the standard input of a member. */
void job_release(struct job *job, int process);

/* The process's agent goes as if it were killed. */
void job_lose_agent(struct job *job, int process);
void job_stop_service(struct job *job);

/* Until no server and no supervisor is left, and nothing of theirs. */
void job_expect_nothing_left(struct job *job);
/* Until no server is left; members may be. */
void job_await_servers_end(struct job *job);
/* How many keys of the servers are in the store below this one. */
size_t job_count_keys(struct job *job, const char *directory);
/* The servers have said this. */
void job_expect_error(const struct job *job, const char *part);
void job_expect_no_error(const struct job *job);
void job_close(struct job *job);

/* Whether a file of /dev/shm that a member has mapped bears this word. */
bool job_shares(const struct job *job, int process, const char *word);
/* Whether one is there whose name ends so: ".NUMBER.RANK". */
bool shm_has(const char *end);

/* The processes of this job that are called so (NULL: any); returns how many
 * were found, at most room. */
int job_find_processes(const struct job *job, const char *name, pid_t *pids,
                       int room);

#endif
