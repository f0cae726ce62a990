/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h - the parts of `bench-service`: servers in child processes, clients
 * of them in this one, and jobs under a launcher.
 *
 *     bench_service_start(&settings, &server);
 *     agents = bench_agents_create(&server, 2000);
 *     seconds = bench_agents_run(agents, BENCH_LEFT);
 *     bench_server_freeze(&server);
 *     bench_agents_destroy(agents);
 *     bench_server_end(&server);
 *
 * What fails prints its sentence on stderr. No child outlives this process,
 * whatever ends it: the kernel kills it then.
 */
#ifndef BENCH_SERVICE_PARTS_H
#define BENCH_SERVICE_PARTS_H

#include "runtime/coordination/auth/auth.h"
#include "runtime/coordination/net/wire.h"

#include <stdbool.h>
#include <sys/types.h>

#define BENCH_DEADLINE 60.0 /* seconds: of every wait without its own */

enum {
    BENCH_KEY = 16,         /* bytes of a key */
    BENCH_VALUE = 32,       /* bytes of a value */
    BENCH_CONNECTIONS = 64, /* of the widest pattern */
    BENCH_MAX_SAMPLES = 200,
    BENCH_BATCH_KEYS = 10000,
};

/* How much is measured. */
struct bench_plan {
    bool is_quick;
    int samples;
    double sample_seconds;
    int storm;  /* connections */
    int agents; /* of the simulated job */
    int scale;  /* of the largest job */
    int rounds; /* of a small barrier */
    double beat_seconds;
    int failures; /* of each kind */
};

/* Prints "bench-service: " and the sentence; returns false. */
__attribute__((format(printf, 1, 2))) bool bench_complain(const char *format,
                                                          ...);

/* ---- child.c: processes -------------------------------------------------- */

/* The first and the second core that this process may use, where there are
 * two: servers run on the one, clients on the other. */
void bench_pin_client(bool is_pinned);
void bench_pin_beside_server(void);

struct bench_server {
    const char *name;
    pid_t pid; /* 0: it does not run */
    int port;
    int pipe; /* of its words; -1: none */
    struct jd_auth auth;
    int count; /* of the processes that it waits for */
};

/* Forks serve(report_fd, arg), which writes its port to the descriptor as an
 * int; waits for that. */
bool bench_server_fork(struct bench_server *server,
                       int (*serve)(int report_fd, void *arg), void *arg);
/* Stops it, so that it does not see how its clients go. */
void bench_server_freeze(const struct bench_server *server);
void bench_server_end(struct bench_server *server);
/* CPU seconds that the server has used, and the bytes of its memory. */
double bench_server_cpu(const struct bench_server *server);
double bench_server_memory(const struct bench_server *server);

/* Starts a program with its stdout and stderr in pipes; the command's last
 * word is NULL. child_signal: what it gets when this process ends. */
enum { BENCH_NO_PROGRAM = 127 }; /* the exit code where there is none */
struct bench_program {
    pid_t pid;
    int out, err;
};
bool bench_program_start(const char *const *command, int child_signal,
                         struct bench_program *program);
/* All that it says until both pipes are closed or the deadline is there, each
 * with a NUL behind. */
bool bench_program_collect(struct bench_program *program, double deadline,
                           struct jd_bytes *out, struct jd_bytes *err);
/* Waits for its end until the deadline, then kills it; returns what waitpid
 * said, or -1 where it was killed. */
int bench_program_end(struct bench_program *program, double deadline);
/* Makes room for that many open files; complains where the limit is lower. */
bool bench_allow_files(int count);
/* How many of so many connections the limit of open files allows, where it is
 * raised as far as this user may. */
int bench_most_connections(int count);
/* As bench_server_memory, of this process. */
double bench_own_memory(void);

/* ---- the servers --------------------------------------------------------- */

/* echo.c: answers each frame with one of jd's size, at once. */
bool bench_echo_start(struct bench_server *server);
/* redis.c: not there where redis-server is not installed: pid 0 and true. */
bool bench_redis_start(struct bench_server *server);
/* service.c: the real service, of a job of count processes. */
bool bench_service_start(int count, struct bench_server *server);

/* ---- frames.c: jd's messages as a client writes them --------------------- */

/* The id of the first of a client's requests: from here on ids have three
 * bytes, which stand at this place in a frame. */
enum { BENCH_FIRST_ID = 1 << 14, BENCH_LAST_ID = 1 << 21, BENCH_ID_AT = 5 };
void bench_frame_set_id(uint8_t *frame, uint64_t id);

void bench_key(int i, char key[BENCH_KEY + 1]);
bool bench_frame_challenge(struct jd_bytes *out);
bool bench_frame_hello(struct jd_bytes *out, const struct bench_server *server,
                       int process, const Jd__Challenge *challenge);
/* Of the requests behind the server's Welcome; off where it has no key. */
struct jd_seal bench_frame_seal(const struct bench_server *server,
                                const Jd__Challenge *challenge);
bool bench_frame_admitted(struct jd_bytes *out);
bool bench_frame_reply(struct jd_bytes *out);
bool bench_frame_join(struct jd_bytes *out, uint64_t id);
bool bench_frame_arrive(struct jd_bytes *out, uint64_t id);
bool bench_frame_leave(struct jd_bytes *out, uint64_t id);
bool bench_frame_heartbeat(struct jd_bytes *out, uint64_t id);
bool bench_frame_preempted(struct jd_bytes *out);
bool bench_frame_step(struct jd_bytes *out, uint64_t round);
bool bench_frame_acknowledge(struct jd_bytes *out, uint64_t round);
/* Sets count keys from the first on. */
bool bench_frame_set(struct jd_bytes *out, uint64_t id, int first, int count);
bool bench_frame_get(struct jd_bytes *out, uint64_t id, int count);

/* ---- agents.c: many agents in one process -------------------------------- */

enum bench_phase {
    BENCH_CONNECTING,
    BENCH_WELCOME, /* let in */
    BENCH_JOINED,
    BENCH_PASSED, /* a barrier of all */
    BENCH_LEFT,
};

struct bench_agents;
struct bench_agents *bench_agents_create(const struct bench_server *server,
                                         int count);
/* Resets the connections, which leaves nothing of them in the kernel. */
void bench_agents_destroy(struct bench_agents *agents);
/* At most 512 are in their handshake at a time; or each comes when its turn is
 * (jd__agent_turn); or all as fast as they can. */
enum bench_coming { BENCH_COME_SOME, BENCH_COME_IN_TURN, BENCH_COME_AS_FAST };
void bench_agents_come(struct bench_agents *agents, enum bench_coming coming);
/* Every agent goes on to that phase, by itself; returns how long that took,
 * negative where it failed. */
double bench_agents_run(struct bench_agents *agents, enum bench_phase phase);
/* Back from BENCH_PASSED, for another barrier. */
void bench_agents_rewind(struct bench_agents *agents);
/* One says that it is to be preempted: until all have heard at which step they
 * stop. And one dies: until all others have heard it, the first of them after
 * *ret_first. Seconds, negative where it failed. */
double bench_agents_preempt(struct bench_agents *agents);
double bench_agents_fail(struct bench_agents *agents, double *ret_first);
/* So many heartbeats, evenly over the seconds, of the agents in turn. */
bool bench_agents_beat(struct bench_agents *agents, double per_second,
                       double seconds, long *ret_sent);
/* The socket, and the MACs of what is sent on it; the caller may use both
 * between runs. */
int bench_agents_fd(const struct bench_agents *agents, int i);
struct jd_seal *bench_agents_seal(struct bench_agents *agents, int i);

/* ---- client.c: one process that asks ------------------------------------- */

/* Connections on which the same request is sent again and again. */
struct bench_client {
    const char *name;
    int fds[BENCH_CONNECTIONS];
    struct jd_seal *seals[BENCH_CONNECTIONS]; /* NULL: requests are bare */
    int count;
    struct jd_bytes request;
    bool has_id;
    uint64_t next_id;
    size_t reply_size;
    int epoll;
};

/* Asks once, so that the size of a reply is known; then it may be used. */
bool bench_client_prepare(struct bench_client *client);
/* The patterns: seconds per request, negative where it failed. */
double bench_client_blocking(struct bench_client *client, int in_flight,
                             double seconds);
double bench_client_many(struct bench_client *client, double seconds);
/* Frees all but the sockets. */
void bench_client_finish(struct bench_client *client);
/* A connected, blocking socket; -1 where it failed. */
int bench_connect(const struct bench_server *server);
/* Makes it blocking or not, with BENCH_DEADLINE on each call where it is. */
void bench_set_blocking(int fd, bool blocking);

/* ---- the sections: false where one could not be measured ----------------- */

bool bench_store(const struct bench_plan *plan);
bool bench_many_agents(const struct bench_plan *plan);
bool bench_agents(const struct bench_plan *plan);
bool bench_call(const struct bench_plan *plan);
bool bench_failures(const struct bench_plan *plan);
/* What a process of theirs does under the launcher. */
int bench_call_child(const char *samples);
int bench_failure_child(const char *stderr_path);

#endif
