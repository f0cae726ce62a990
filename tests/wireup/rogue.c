/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rogue - a stranger's service on the port where a job would have its own. It
 * plays process 0 of that job, and hands out a variable to process 1.
 *
 *     rogue PORT COUNT NAME=VALUE [JOB]
 *
 * It says "listens", and "handed out" when process 1 was let in and all have
 * joined; then it stays until it is killed.
 */
#include "base/clock.h"
#include "runtime/coordination/client/agent.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/server/sockets.h"
#include "runtime/topology/host.h"
#include "runtime/wireup/wireup.pb-c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_MESSAGE (64 << 20)
#define SECONDS 600

static const struct jd_auth open_auth = { .way = JD_AUTH_OPEN };
static const char *job = "explicit";

static void check(jd_status status)
{
    if (status == JD_OK)
        return;
    fprintf(stderr, "rogue: %s\n", jd_error_message());
    exit(1);
}

static struct jd_server *serve(struct jd_loop *loop, int port, int count)
{
    struct jd_listen listen = { .port = port, .variable = "the test" };
    struct jd_server_spec spec = {
        .loop = loop,
        .service = { .auth = &open_auth,
                     .job = job,
                     .count = count,
                     .heartbeat_timeout = -1,
                     .max_message = MAX_MESSAGE,
                     .host = "here",
                     .program = "rogue",
                     .pid = (uint32_t)getpid() },
    };
    struct jd_server *server;
    check(jd__listen_open(&listen, &spec.listeners));
    check(jd__sockets_create(&spec, &server));
    return server;
}

static void on_push(void *arg, const Jd__Message *message)
{
    (void)arg, (void)message;
}

static void on_lost(void *arg, const char *why)
{
    (void)arg, (void)why;
}

/* Process 0 of the job, on the victims' host: they start no server. */
static struct jd_agent *play_process_0(struct jd_loop *loop,
                                       struct jd_server *server, int count)
{
    static struct jd_endpoints endpoints;
    static char boot_id[40];
    struct jd_agent *agent;
    struct jd_agent_spec spec = {
        .loop = loop,
        .auth = &open_auth,
        .job = job,
        .count = count,
        .host = "here",
        .boot_id = boot_id,
        .program = "rogue",
        .pid = (uint32_t)getpid(),
        .fd = jd__sockets_connect(server),
        .endpoints = &endpoints,
        .heartbeat_timeout = -1,
        .notice = -1,
        .max_message = MAX_MESSAGE,
        .on_push = on_push,
        .on_lost = on_lost,
    };
    char host[72];
    if (gethostname(host, sizeof host) == 0)
        spec.host = host;
    jd__host_boot_id(boot_id, sizeof boot_id);
    check(jd__agent_create(&spec, &agent));
    return agent;
}

static void ask(struct jd_agent *agent, Jd__Message__BodyCase body,
                void *message, double timeout)
{
    struct jd_call call = { .operation = "rogue", .timeout = timeout };
    jd__call_init(&call, body, message);
    call.request.timeout_ms = (int64_t)(1000 * timeout);
    check(jd__agent_call(agent, &call));
    jd__call_finish(&call);
}

static void hand_out(struct jd_agent *agent, char *variable)
{
    static const char key[] = "\0jd/wireup/env/1";
    uint8_t value[4096];
    Jd__Environment environment = JD__ENVIRONMENT__INIT;
    Jd__Set body = JD__SET__INIT;
    Jd__Entry entry = JD__ENTRY__INIT, *pointer = &entry;
    environment.variables = &variable;
    environment.n_variables = 1;
    environment.liveness_path = (char *)"/nowhere";
    entry.key = jd__wire_bytes(key, sizeof key - 1);
    entry.value =
        jd__wire_bytes(value, jd__environment__pack(&environment, value));
    body.entries = &pointer;
    body.n_entries = 1;
    ask(agent, JD__MESSAGE__BODY_SET, &body, 0);
}

static void say(const char *word)
{
    puts(word);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    Jd__Join join = JD__JOIN__INIT;
    struct jd_loop *loop;
    if (argc < 4 || argc > 5 || strlen(argv[3]) > 4000)
        return 2;
    if (argc == 5)
        job = argv[4];
    int count = atoi(argv[2]);
    check(jd__auth_start());
    check(jd__loop_create("rogue", &loop));
    struct jd_server *server = serve(loop, atoi(argv[1]), count);
    struct jd_agent *agent = play_process_0(loop, server, count);
    check(jd__loop_start(loop));
    check(jd__agent_meet(agent, jd__clock_now() + SECONDS));
    hand_out(agent, argv[3]);
    say("listens");
    ask(agent, JD__MESSAGE__BODY_JOIN, &join, SECONDS);
    say("handed out");
    for (;;)
        pause();
}
