/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_out.c - an Environment into the store, or into a frame. */
#include "runtime/wireup/server/hand_out.h"

#include <stdlib.h>

/* For the starter: a frame, as in wire.h. */
static jd_status frame_environment(struct serving *serving,
                                   const Jd__Environment *environment)
{
    size_t size = jd__environment__get_packed_size(environment);
    uint8_t *at =
        jd__wire_bytes_reserve(&serving->environments, JD_WIRE_HEADER + size);
    if (!at)
        return jd__fail_no_memory("what a process is handed out", size);
    jd__wire_put_u32(at, (uint32_t)size);
    jd__environment__pack(environment, at + JD_WIRE_HEADER);
    serving->environments.end += JD_WIRE_HEADER + size;
    return JD_OK;
}

static jd_status store_environment(const struct serving *serving,
                                   uint32_t process,
                                   const Jd__Environment *environment)
{
    struct store_key key;
    size_t size = jd__environment__get_packed_size(environment);
    uint8_t *data = malloc(size);
    if (!data)
        return jd__fail_no_memory("what a process is handed out", size);
    jd__environment__pack(environment, data);
    store_key(&key, "env/%u", (unsigned)process);
    jd_status status = store_set(serving->agent, &key, data, size);
    free(data);
    return status;
}

jd_status hand_out(struct serving *serving, uint32_t process, char **variables,
                   size_t count)
{
    const struct directory *directory = serving->directory;
    Jd__Environment environment = JD__ENVIRONMENT__INIT;
    environment.variables = variables;
    environment.n_variables = count;
    environment.liveness_path = (char *)directory->liveness;
    if (serving->plan->asks_by_pmi)
        environment.pmi_path = (char *)directory->pmi;
    return serving->agent ? store_environment(serving, process, &environment)
                          : frame_environment(serving, &environment);
}
