/* SPDX-License-Identifier: BSD-3-Clause */
/* namespace_absent.c - jd was built without libpmix: PMI is served alone. */
#include "runtime/wireup/server/namespace.h"

jd_status namespace_serve(struct serving *serving)
{
    (void)serving;
    return jd_fail(JD_UNIMPLEMENTED,
                   "this jd-pmix-server was built without libpmix, by which "
                   "Open MPI asks; install libpmix-dev and build jd again");
}
