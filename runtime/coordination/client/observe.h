/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * observe.h - a look at another job: connects to its coordination service as
 * an observer, who is let in like any other but can change nothing, and asks
 * for the table of its processes.
 *
 *     status = jd__observe(env, settings, "10.0.0.1:40123", 10, &answer);
 *     ... answer->reply->rows ...
 *     jd__message__free_unpacked(answer, NULL);
 */
#ifndef RUNTIME_COORDINATION_CLIENT_OBSERVE_H
#define RUNTIME_COORDINATION_CLIENT_OBSERVE_H

#include "base/options.h"
#include "runtime/coordination/net/wire.h"

/*
 * Blocks: at most timeout seconds to look the name up and again to be let in.
 * Returns: JD_OK; as jd__resolve_address, jd__secret_find and jd__agent_meet,
 *   with the address.
 */
jd_status jd__observe(const struct jd_env *env,
                      const struct jd_settings *settings, const char *address,
                      double timeout, Jd__Message **ret_answer);

#endif
