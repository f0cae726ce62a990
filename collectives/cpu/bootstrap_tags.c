/* SPDX-License-Identifier: BSD-3-Clause */
/* bootstrap_tags.c - the tags of MPI that communicators have. */
#include "collectives/cpu/bootstrap_tags.h"
#include "collectives/channel/channel.h"
#include "runtime/mpi/lock.h"
#include "runtime/topology/topology.h"

#include <inttypes.h>
#include <string.h>

static struct jd_tags tags = JD_TAGS;

/* Each process has fewer devices of the platform than this. */
static int64_t devices_bound(const struct jd_device_list *list)
{
    int most = 0;
    for (int i = 0; i < list->count; i++)
        if (list->devices[i]->local_ordinal > most)
            most = list->devices[i]->local_ordinal;
    return (int64_t)most + 1;
}

/* The devices of all platforms in one row of numbers: how many that is, and
 * where those of the spec's platform begin. */
static int64_t number_devices(const struct jd_comm_spec *spec,
                              int64_t *ret_first)
{
    const struct jd_topology *topology = spec->runtime->topology;
    int64_t bound = 0;
    for (int i = 0; i < topology->num_platforms; i++) {
        const struct jd_device_list *list = &topology->platforms[i];
        if (strcmp(list->platform, spec->members[0]->platform) == 0)
            *ret_first = bound;
        bound += devices_bound(list);
    }
    return bound;
}

static int highest_tag(MPI_Comm comm)
{
    int *highest = NULL, found = 0;
    jd__mpi_lock();
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &highest, &found);
    jd__mpi_unlock();
    return found ? *highest : 32767; /* what MPI promises at least */
}

jd_status jd__bootstrap_plan_tags(const struct jd_comm_spec *spec,
                                  struct jd_device_numbers *ret_numbers,
                                  struct jd_tag_range *ret_lent)
{
    int64_t first = 0, bound = number_devices(spec, &first);
    int64_t pairs = bound * bound;
    int64_t highest = highest_tag(spec->runtime->world.comm);
    int64_t room = highest - JD_TAG_FIRST_COMM;
    if (pairs > room / 4)
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "%s: a process has %" PRId64 " devices, whose pairs "
                       "need %" PRId64 " tags of MPI to find each other, and "
                       "this MPI has %" PRId64 "; set JD_NUM_CPU_DEVICES to "
                       "less",
                       spec->operation, bound, 2 * pairs, highest);
    ret_lent->first = (int)(JD_TAG_FIRST_COMM + 2 * pairs);
    ret_lent->count = (int)(room - 2 * pairs);
    *ret_numbers = (struct jd_device_numbers){
        .first = first,
        .bound = bound,
        .first_tag = JD_TAG_FIRST_COMM + (spec->is_started ? pairs : 0),
    };
    return JD_OK;
}

jd_status jd__bootstrap_borrow_tags(const struct jd_comm_spec *spec, int most,
                                    int *ret_first)
{
    struct jd_tag_range space;
    struct jd_device_numbers numbers;
    int64_t count = (int64_t)most * most;
    jd_status status = jd__bootstrap_plan_tags(spec, &numbers, &space);
    if (status != JD_OK)
        return status;
    return jd__tags_take(&tags, space,
                         count > INT32_MAX ? INT32_MAX : (int)count,
                         spec->operation, ret_first);
}

void jd__bootstrap_give_tags(int first_tag)
{
    if (first_tag >= 0)
        jd__tags_give(&tags, first_tag);
}

int jd__bootstrap_tags_lent(void)
{
    return jd__tags_lent(&tags);
}
