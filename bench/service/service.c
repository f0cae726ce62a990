/* SPDX-License-Identifier: BSD-3-Clause */
/* service.c - the coordination service of a job, in a process of its
 * own: what runs in process 0's background thread, and nothing else. */
#include "bench/service/parts.h"
#include "runtime/coordination/server/sockets.h"
#include "runtime/coordination/server/speakers.h"

#include <malloc.h>
#include <unistd.h>

enum { MAX_MESSAGE = 64 << 20 };

/* Loopback alone, on a port of the kernel's. */
static bool listen_on_loopback(struct jd_listeners *listeners)
{
    struct jd_listen listen = { .loopback = true, .variable = "bench-service" };
    return jd__listen_open(&listen, listeners) == JD_OK;
}

static jd_status start(const struct bench_server *server,
                       struct jd_listeners listeners)
{
    struct jd_loop *loop;
    struct jd_server *running;
    jd_status status = jd__loop_create("jd-coordinate", &loop);
    if (status != JD_OK)
        return status;
    struct jd_server_spec spec = {
        .loop = loop,
        .listeners = listeners,
        .service = { .auth = &server->auth,
                     .job = "bench",
                     .count = server->count,
                     .heartbeat_timeout = -1,
                     .max_message = MAX_MESSAGE,
                     .speakers = JD_SPEAK_SOME,
                     .host = "localhost",
                     .program = "bench-service",
                     .pid = (uint32_t)getpid() },
    };
    status = jd__sockets_create(&spec, &running);
    return status == JD_OK ? jd__loop_start(loop) : status;
}

static int serve(int report_fd, void *arg)
{
    const struct bench_server *server = arg;
    struct jd_listeners listeners;
    if (!bench_allow_files(server->count))
        return 1;
    malloc_trim(0); /* memory that is free is not to be counted as its own */
    if (!listen_on_loopback(&listeners) || start(server, listeners) != JD_OK) {
        bench_complain("the service cannot start: %s", jd_error_message());
        return 1;
    }
    if (write(report_fd, &listeners.port, sizeof listeners.port) !=
        (ssize_t)sizeof listeners.port)
        return 1;
    for (;;)
        pause(); /* until the parent ends it */
}

bool bench_service_start(int count, struct bench_server *server)
{
    *server = (struct bench_server){ .name = "jd", .pipe = -1, .count = count };
    if (jd__auth_start() != JD_OK)
        return bench_complain("%s", jd_error_message());
    jd__auth_make(&server->auth);
    return bench_server_fork(server, serve, server);
}
