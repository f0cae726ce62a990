/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.c - one frame from standard input, and whether it makes sense. */
#include "runtime/wireup/server/plan.h"
#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PLAN = 64 << 20, RESOLVE_SECONDS = 10 };

/* ---- reading ------------------------------------------------------------ */

static jd_status fail_short(size_t got, size_t wanted)
{
    return jd_fail(JD_INVALID_ARGUMENT,
                   "the plan on standard input ends after %zu of %zu bytes; "
                   "jd-pmix-server is started by jd itself, in "
                   "jd_initialize()",
                   got, wanted);
}

/* Until there is something to read, or its end. */
static jd_status await_plan(int fd, double begin, double timeout)
{
    for (;;) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        double left = begin + timeout - jd__clock_now();
        if (left <= 0)
            return jd_fail(JD_DEADLINE_EXCEEDED,
                           "no plan has come on standard input in %.3g s",
                           timeout);
        int ready = poll(&wait, 1, (int)(1e3 * left) + 1);
        if (ready > 0)
            return JD_OK;
        if (ready < 0 && errno != EINTR)
            return jd_fail(JD_INTERNAL, "poll of standard input failed: %s",
                           strerror(errno));
    }
}

static jd_status read_all(int fd, double begin, double timeout, uint8_t *data,
                          size_t size)
{
    size_t got = 0;
    while (got < size) {
        jd_status status = await_plan(fd, begin, timeout);
        if (status != JD_OK)
            return status;
        ssize_t n = read(fd, data + got, size - got);
        if (n == 0)
            return fail_short(got, size);
        if (n > 0)
            got += (size_t)n;
        else if (errno != EINTR && errno != EAGAIN)
            return jd_fail(JD_INVALID_ARGUMENT,
                           "standard input cannot be read: %s",
                           strerror(errno));
    }
    return JD_OK;
}

/* ---- what it must be ---------------------------------------------------- */

static jd_status fail_plan(const char *what)
{
    return jd_fail(JD_INVALID_ARGUMENT,
                   "the plan on standard input is none: %s", what);
}

/* Each process of the job is on one host. */
static const char *check_processes(const Jd__Plan *plan)
{
    const char *wrong = NULL;
    size_t seen = 0;
    bool *is_there = calloc(plan->count, sizeof *is_there);
    if (!is_there)
        return "there is no memory for its processes";
    for (size_t h = 0; h < plan->n_hosts; h++)
        for (size_t i = 0; i < plan->hosts[h]->n_processes; i++) {
            uint32_t process = plan->hosts[h]->processes[i];
            if (process >= plan->count || is_there[process])
                wrong = "a process is there twice, or is none of the job's";
            else
                is_there[process] = true;
            seen++;
        }
    free(is_there);
    if (!wrong && seen != plan->count)
        wrong = "not every process has a host";
    return wrong;
}

static const char *check_hosts(const Jd__Plan *plan)
{
    if (plan->host >= plan->n_hosts)
        return "its host is none of the hosts";
    for (size_t h = 0; h < plan->n_hosts; h++) {
        const Jd__PlanHost *host = plan->hosts[h];
        if (!host->n_processes || !host->name[0] || strpbrk(host->name, ",;"))
            return "a host has no name or no process";
        for (size_t i = 1; i < host->n_processes; i++)
            if (host->processes[i - 1] >= host->processes[i])
                return "a host's processes are not sorted";
    }
    return plan_has_process(plan->hosts[plan->host], plan->process)
               ? check_processes(plan)
               : "who starts the server is on another host";
}

static jd_status check_plan(const Jd__Plan *plan)
{
    const char *wrong = NULL;
    if (plan->count == 0 || plan->count > INT32_MAX)
        wrong = "the job has no processes";
    else if (plan->n_addresses == 0 && !plan->is_held)
        wrong = "it has no address of the coordination service";
    else if (plan->is_held && plan->n_hosts != 1)
        wrong = "jd-run's processes are on one host";
    else if (plan->auth_way < JD_AUTH_OPEN || plan->auth_way > JD_AUTH_MUNGE ||
             (plan->auth_key.len && plan->auth_key.len != JD_AUTH_KEY))
        wrong = "its secret is none";
    else if (plan->tmpdir[0] && plan->tmpdir[0] != '/')
        wrong = "its tmpdir is no absolute path";
    else if (!(plan->timeout > 0) || isnan(plan->heartbeat_timeout))
        wrong = "its timeouts are none";
    else
        wrong = check_hosts(plan);
    return wrong ? fail_plan(wrong) : JD_OK;
}

static jd_status read_body(int fd, double begin, double timeout, size_t size,
                           Jd__Plan **ret_plan)
{
    uint8_t *data = malloc(size);
    if (!data)
        return jd__fail_no_memory("the plan", size);
    jd_status status = read_all(fd, begin, timeout, data, size);
    Jd__Plan *plan =
        status == JD_OK ? jd__plan__unpack(NULL, size, data) : NULL;
    free(data);
    if (status == JD_OK)
        status = plan ? check_plan(plan) : fail_plan("it cannot be unpacked");
    if (status == JD_OK)
        *ret_plan = plan;
    else if (plan)
        jd__plan__free_unpacked(plan, NULL);
    return status;
}

jd_status plan_read(int fd, double timeout, Jd__Plan **ret_plan)
{
    uint8_t head[JD_WIRE_HEADER];
    double begin = jd__clock_now();
    jd_status status = read_all(fd, begin, timeout, head, sizeof head);
    if (status != JD_OK)
        return status;
    size_t size = jd__wire_get_u32(head);
    if (size == 0 || size > MAX_PLAN)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "the plan on standard input is none: it would have %zu "
                       "bytes; jd-pmix-server is started by jd itself, in "
                       "jd_initialize()",
                       size);
    return read_body(fd, begin, timeout, size, ret_plan);
}

/* ---- questions ---------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

bool plan_has_process(const Jd__PlanHost *host, uint32_t process)
{
    return bsearch(&process, host->processes, host->n_processes, sizeof process,
                   compare_numbers) != NULL;
}

void plan_print_name(const Jd__Plan *plan, char name[PLAN_NAME_SIZE])
{
    char service[24] = ""; /* an older library does not say which */
    if (plan->service)
        snprintf(service, sizeof service, "-%llx",
                 (unsigned long long)plan->service);
    snprintf(name, PLAN_NAME_SIZE, "jd-%.80s-%u%s", plan->job,
             (unsigned)plan->attempt, service);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_", *c))
            *c = '_';
}

size_t plan_host_of(const Jd__Plan *plan, uint32_t process)
{
    size_t host = 0;
    while (host + 1 < plan->n_hosts &&
           !plan_has_process(plan->hosts[host], process))
        host++;
    return host;
}

void plan_print_host(FILE *out, const Jd__Plan *plan, size_t host)
{
    const char *name = plan->hosts[host]->name;
    size_t same = 0;
    while (strcmp(plan->hosts[same]->name, name) != 0)
        same++;
    fputs(name, out);
    if (same < host)
        fprintf(out, "-%zu", host);
}

jd_status plan_endpoints(const Jd__Plan *plan,
                         struct jd_endpoints *ret_endpoints)
{
    struct jd_endpoints all = { .count = 0 }, some;
    for (size_t i = 0; i < plan->n_addresses; i++) {
        jd_status status =
            jd__resolve_address(plan->addresses[i], RESOLVE_SECONDS, &some);
        if (status != JD_OK)
            return status;
        for (int k = 0; k < some.count && all.count < JD_MAX_ENDPOINTS; k++)
            all.items[all.count++] = some.items[k];
    }
    *ret_endpoints = all;
    return JD_OK;
}

struct jd_auth plan_auth(const Jd__Plan *plan)
{
    struct jd_auth auth = { .way = (enum jd_auth_way)plan->auth_way };
    if (plan->auth_key.len == sizeof auth.key)
        memcpy(auth.key, plan->auth_key.data, sizeof auth.key);
    return auth;
}
