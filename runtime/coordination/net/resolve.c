/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resolve.c - a name becomes addresses before a deadline. getaddrinfo has
 * none, so it runs on a thread of its own. Caller and thread share a request;
 * the last of the two to leave frees it.
 */
#include "base/clock.h"
#include "base/parse.h"
#include "base/thread.h"
#include "runtime/coordination/net/addresses.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FOREVER 1e9 /* seconds; more would not fit a timespec everywhere */

struct resolve_request {
    char *host; /* constant */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock: */
    int references;
    bool done;
    int code; /* getaddrinfo's, and errno where that is EAI_SYSTEM */
    int error;
    struct addrinfo *found;
};

static void release_request(struct resolve_request *request)
{
    pthread_mutex_lock(&request->lock);
    bool last = --request->references == 0;
    pthread_mutex_unlock(&request->lock);
    if (!last)
        return;
    if (request->found)
        freeaddrinfo(request->found);
    pthread_cond_destroy(&request->changed);
    pthread_mutex_destroy(&request->lock);
    free(request->host);
    free(request);
}

/* Takes host, also where it fails. */
static struct resolve_request *make_request(char *host)
{
    struct resolve_request *request = calloc(1, sizeof *request);
    if (!request) {
        free(host);
        return NULL;
    }
    request->host = host;
    request->references = 1;
    pthread_mutex_init(&request->lock, NULL);
    jd__clock_init_condition(&request->changed);
    return request;
}

static void look_up(struct resolve_request *request, int flags)
{
    struct addrinfo hints = { .ai_flags = flags, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    int code = getaddrinfo(request->host, NULL, &hints, &found);
    int error = errno;
    pthread_mutex_lock(&request->lock);
    request->code = code;
    request->error = error;
    request->found = code == 0 ? found : NULL;
    request->done = true;
    pthread_cond_signal(&request->changed);
    pthread_mutex_unlock(&request->lock);
}

static void *run_resolver(void *arg)
{
    struct resolve_request *request = arg;
    pthread_setname_np(pthread_self(), "jd-resolve");
    look_up(request, 0);
    release_request(request);
    return NULL;
}

/* Starts a thread that nobody joins, without signals. Returns an errno. */
static int start_thread(struct resolve_request *request)
{
    pthread_t thread;
    request->references++;
    int error = jd__thread_start_detached(NULL, run_resolver, request, &thread);
    if (error)
        request->references--;
    return error;
}

/* True where the answer came in time. */
static bool wait_for_answer(struct resolve_request *request, double timeout)
{
    struct timespec until = jd__clock_timespec(
        jd__clock_now() + (timeout < FOREVER ? timeout : FOREVER));
    int error = 0;
    pthread_mutex_lock(&request->lock);
    while (!request->done && error == 0)
        error =
            pthread_cond_timedwait(&request->changed, &request->lock, &until);
    bool done = request->done;
    pthread_mutex_unlock(&request->lock);
    return done;
}

/* Looks the host up, numerically at once, else on a thread. */
static jd_status answer_request(struct resolve_request *request, bool numeric,
                                double timeout)
{
    look_up(request, AI_NUMERICHOST);
    if (numeric || request->code == 0)
        return JD_OK;
    request->done = false;
    int error = start_thread(request);
    if (error)
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "looking up \"%s\": no thread can be made: %s; raise "
                       "the limit of processes (ulimit -u)",
                       request->host, strerror(error));
    if (wait_for_answer(request, timeout))
        return JD_OK;
    return jd_fail(JD_DEADLINE_EXCEEDED,
                   "looking up \"%s\": the resolver has not answered within "
                   "%.3g s; give the host's IP address instead, or mend its "
                   "name service (/etc/resolv.conf)",
                   request->host, timeout);
}

/* Each address once, as far as there is room. */
static void collect_endpoints(const struct addrinfo *found, int port,
                              struct jd_endpoints *ret_endpoints)
{
    struct jd_endpoints endpoints = { .count = 0 };
    struct jd_endpoint endpoint;
    for (; found && endpoints.count < JD_MAX_ENDPOINTS;
         found = found->ai_next) {
        bool known = false;
        if (!jd__addresses_from_sockaddr(found->ai_addr, &endpoint))
            continue;
        for (int i = 0; i < endpoints.count && !known; i++)
            known =
                jd__addresses_in_network(&endpoint, &endpoints.items[i],
                                         endpoint.family == AF_INET ? 32 : 128);
        endpoint.port = (uint16_t)port;
        if (!known)
            endpoints.items[endpoints.count++] = endpoint;
    }
    *ret_endpoints = endpoints;
}

static jd_status read_answer(const struct resolve_request *request,
                             bool numeric, int port,
                             struct jd_endpoints *ret_endpoints)
{
    int code = request->code;
    if (code == 0) {
        collect_endpoints(request->found, port, ret_endpoints);
        return JD_OK;
    }
    if (numeric)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "\"[%s]:%d\" is no address: between the brackets stands "
                       "an IPv6 address (\"[fd00::1]:1234\")",
                       request->host, port);
    return jd_fail(
        code == EAI_MEMORY ? JD_RESOURCE_EXHAUSTED : JD_NOT_FOUND,
        "looking up \"%s\": %s; give a name that this host can look up "
        "(getent hosts %s), or an IP address",
        request->host,
        code == EAI_SYSTEM ? strerror(request->error) : gai_strerror(code),
        request->host);
}

jd_status jd__resolve_address(const char *text, double timeout,
                              struct jd_endpoints *ret_endpoints)
{
    size_t length;
    int port;
    if (!jd__parse_address(text, &length, &port))
        return jd_fail(JD_INVALID_ARGUMENT,
                       "\"%s\" is no address: it is \"host:port\", the port "
                       "1 to 65535, an IPv6 address in brackets "
                       "(\"node7:1234\", \"[fd00::1]:1234\")",
                       text);
    bool numeric = text[0] == '[';
    char *host =
        numeric ? strndup(text + 1, length - 2) : strndup(text, length);
    struct resolve_request *request = host ? make_request(host) : NULL;
    if (!request)
        return jd__fail_no_memory("looking up a host", sizeof *request);
    jd_status status = answer_request(request, numeric, timeout);
    if (status == JD_OK)
        status = read_answer(request, numeric, port, ret_endpoints);
    release_request(request);
    return status;
}
