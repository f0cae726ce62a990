/* SPDX-License-Identifier: BSD-3-Clause */
/* file_limit.c - room for as many connections as there are processes. */
#include "runtime/coordination/net/child.h"
#include "runtime/coordination/net/listen.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

/* ---- raised here, and as it was in children ----------------------------- */

/* Written before the handler is there to read it. */
static struct {
    rlim_t before, raised;
} files;

/* In a forked child. Another limit is the program's own, and stays. */
static void put_back(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur != files.raised)
        return;
    limit.rlim_cur = files.before;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, put_back);
}

/* Returns 0, or the errno. */
static int raise_to(const struct rlimit *limit, rlim_t soft)
{
    struct rlimit raised = { soft, limit->rlim_max };
    if (setrlimit(RLIMIT_NOFILE, &raised) != 0)
        return errno;
    if (limit->rlim_cur != files.raised)
        files.before = limit->rlim_cur;
    files.raised = soft;
    pthread_once(&once, watch_forks);
    return 0;
}

void jd__file_limit_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    rlim_t soft =
        limit.rlim_max < JD_CHILD_FILES ? limit.rlim_max : JD_CHILD_FILES;
    if (soft > limit.rlim_cur)
        raise_to(&limit, soft);
}

/* ---- as many as are needed ---------------------------------------------- */

/* 0 where /proc does not show it. */
static rlim_t count_open_files(void)
{
    rlim_t count = 0;
    DIR *fds = opendir("/proc/self/fd");
    while (fds && readdir(fds))
        count++;
    if (fds)
        closedir(fds);
    return count > 3 ? count - 3 : 0; /* ".", ".." and the directory's own */
}

static void print_limit(char text[24], rlim_t limit)
{
    if (limit == RLIM_INFINITY)
        strcpy(text, "unlimited");
    else
        snprintf(text, 24, "%ju", (uintmax_t)limit);
}

static jd_status fail_limit(const struct rlimit *limit, size_t needed,
                            rlim_t open, const char *what, const char *why)
{
    char soft[24], hard[24];
    print_limit(soft, limit->rlim_cur);
    print_limit(hard, limit->rlim_max);
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s need %zu open files beside the %ju that this process "
                   "has, but its limit (RLIMIT_NOFILE) is %s, %s at most%s%s; "
                   "raise the hard limit to %ju or more where the job is "
                   "started (ulimit -n, LimitNOFILE)",
                   what, needed, (uintmax_t)open, soft, hard,
                   why ? " and cannot be raised: " : "", why ? why : "",
                   (uintmax_t)needed + (uintmax_t)open);
}

jd_status jd__file_limit_allow(size_t needed, const char *what)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return jd_fail(JD_INTERNAL, "getrlimit(RLIMIT_NOFILE): %s",
                       strerror(errno));
    rlim_t open = count_open_files();
    if (limit.rlim_cur >= open && needed <= limit.rlim_cur - open)
        return JD_OK;
    if (limit.rlim_max < open || needed > limit.rlim_max - open)
        return fail_limit(&limit, needed, open, what, NULL);
    int error = raise_to(&limit, limit.rlim_max);
    return error ? fail_limit(&limit, needed, open, what, strerror(error))
                 : JD_OK;
}
