/* SPDX-License-Identifier: BSD-3-Clause */
/* munge_absent.c - in place of munge.c where there is no libmunge. */
#include "runtime/coordination/auth/munge.h"

static const char why[] =
    "this jd was built without munge; install libmunge's headers and build it "
    "again with -Dmunge=enabled, or give the job a secret with JD_SECRET_FILE";

jd_status jd__munge_look(double timeout, const struct jd_clock *clock,
                         bool *ret_is_there)
{
    (void)timeout, (void)clock;
    *ret_is_there = false;
    return JD_OK;
}

jd_status jd__munge_encode(const void *payload, size_t size, double timeout,
                           const struct jd_clock *clock, char **ret_credential)
{
    (void)payload, (void)size, (void)timeout, (void)clock;
    (void)ret_credential;
    return jd_fail(JD_UNIMPLEMENTED, "%s", why);
}

struct jd_munge_question *jd__munge_ask(struct jd_loop *loop,
                                        const struct jd_munge_spec *spec,
                                        jd_munge_done_f done, void *arg)
{
    (void)loop, (void)spec, (void)done, (void)arg;
    jd_fail(JD_UNIMPLEMENTED, "%s", why);
    return NULL;
}

void jd__munge_cancel(struct jd_munge_question *question)
{
    (void)question;
}

void jd__munge_set_socket(const char *path)
{
    (void)path;
}
