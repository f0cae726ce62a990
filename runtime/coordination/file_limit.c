/* SPDX-License-Identifier: BSD-3-Clause */
/* file_limit.c - room for as many connections as there are processes. */
#include "runtime/coordination/listen.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

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

jd_status jd__address_allow_files(size_t needed, const char *what)
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
    struct rlimit raised = { limit.rlim_max, limit.rlim_max };
    if (setrlimit(RLIMIT_NOFILE, &raised) != 0)
        return fail_limit(&limit, needed, open, what, strerror(errno));
    return JD_OK;
}
