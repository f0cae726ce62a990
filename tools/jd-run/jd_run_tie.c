/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_run_tie.c - the pipe whose end is jd-run's end. */
#include "base/tie.h"
#include "tools/jd-run/jd_run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Shell scripts name the descriptors below by themselves. */
enum { LOWEST = 10 };

static void tie_self(void)
{
    struct jd_env *env;
    if (jd__env_from_process(&env) != JD_OK)
        return;
    jd__tie_to_jd_run(env);
    jd__env_destroy(env);
}

/* The write end is nobody's but jd-run's, and stays open until it ends. */
jd_status run_tie_create(int *ret_read_end)
{
    int ends[2];
    tie_self();
    if (pipe2(ends, O_CLOEXEC) == 0) {
        *ret_read_end = fcntl(ends[0], F_DUPFD, LOWEST);
        close(ends[0]);
        if (*ret_read_end >= 0)
            return JD_OK;
        close(ends[1]);
    }
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "the processes cannot be told when jd-run ends: pipe: %s; "
                   "a higher limit of files (ulimit -n)",
                   strerror(errno));
}
