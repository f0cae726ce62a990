/* SPDX-License-Identifier: BSD-3-Clause */
/* members.c - what the members of a communicator tell each other. */
#include "collectives/cuda/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From here on NCCL itself can have several ranks on a GPU. */
#define SHARING_VERSION 23000

enum { WHO_BYTES = 384 };

void jd__cuda_member_describe(const struct jd_comm_spec *spec,
                              struct jd_cuda_member *ret_member)
{
    const jd_device *device = spec->members[spec->index];
    memset(ret_member, 0, sizeof *ret_member);
    ret_member->process = device->process_index;
    ret_member->ordinal = device->local_ordinal;
    ret_member->shares = jd__options_integer(spec->runtime->settings,
                                             JD_OPTION_OVERSUBSCRIBE) != 0;
    ret_member->nccl = spec->nccl;
    snprintf(ret_member->uuid, sizeof ret_member->uuid, "%s", device->uuid);
}

void jd__cuda_member_fail(struct jd_cuda_member *member, jd_status status)
{
    member->status = status;
    snprintf(member->text, sizeof member->text, "%s", jd_error_message());
}

/* ---- sentences ---------------------------------------------------------- */

/* "process 1 (its device 0, on node-b)" */
static void print_member(const struct jd_comm_spec *spec,
                         const struct jd_cuda_member *members, int index,
                         char *text, size_t size)
{
    snprintf(text, size, "process %d (its device %d, on %s)",
             members[index].process, members[index].ordinal,
             spec->members[index]->host);
}

static void print_version(int version, char *text, size_t size)
{
    snprintf(text, size, "%d.%d.%d", version / 10000, version / 100 % 100,
             version % 100);
}

jd_status jd__cuda_members_fail(const struct jd_comm_spec *spec,
                                const struct jd_cuda_member *members, int index)
{
    char who[WHO_BYTES];
    const struct jd_cuda_member *member = &members[index];
    if (index == spec->index)
        return jd_fail((jd_status)member->status, "%s", member->text);
    print_member(spec, members, index, who, sizeof who);
    return jd_fail((jd_status)member->status,
                   "%s%s: %s cannot take part in NCCL's communicator: %s",
                   spec->operation, spec->detail, who, member->text);
}

static jd_status fail_versions(const struct jd_comm_spec *spec,
                               const struct jd_cuda_member *members, int a,
                               int b)
{
    char first[WHO_BYTES], second[WHO_BYTES], version_a[32], version_b[32];
    print_member(spec, members, a, first, sizeof first);
    print_member(spec, members, b, second, sizeof second);
    print_version(members[a].nccl_version, version_a, sizeof version_a);
    print_version(members[b].nccl_version, version_b, sizeof version_b);
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s%s: %s has NCCL %s and %s has NCCL %s; the members of a "
                   "communicator need the same: let the loader find one "
                   "libnccl.so.2 on all hosts (LD_LIBRARY_PATH)",
                   spec->operation, spec->detail, first, version_a, second,
                   version_b);
}

static void print_option(const struct jd_cuda_member *member, int option,
                         char *text, size_t size)
{
    if (jd__nccl_options_has(&member->nccl, option))
        snprintf(text, size, "%d", (int)member->nccl.values[option]);
    else
        snprintf(text, size, "none");
}

static jd_status fail_options(const struct jd_comm_spec *spec,
                              const struct jd_cuda_member *members, int a,
                              int b)
{
    char first[WHO_BYTES], second[WHO_BYTES], value_a[16], value_b[16];
    int option = jd__nccl_options_differ(&members[a].nccl, &members[b].nccl);
    print_member(spec, members, a, first, sizeof first);
    print_member(spec, members, b, second, sizeof second);
    print_option(&members[a], option, value_a, sizeof value_a);
    print_option(&members[b], option, value_b, sizeof value_b);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s%s: %s has %s %s and %s has %s; let all processes of "
                   "the mesh set the same with jd_mesh_set_nccl()",
                   spec->operation, spec->detail, first,
                   jd__nccl_options_row(option)->name, value_a, second,
                   value_b);
}

/* What lets NCCL take a GPU twice. */
static const char *sharing_of(int version)
{
    return version >= SHARING_VERSION
               ? "JD_OVERSUBSCRIBE=1 and NCCL_MULTI_RANK_GPU_ENABLE=1"
               : "JD_OVERSUBSCRIBE=1 and another NCCL_HOSTID in each process "
                 "(slow: they talk over sockets), or with NCCL 2.30 or newer "
                 "NCCL_MULTI_RANK_GPU_ENABLE=1";
}

static jd_status fail_duplicate(const struct jd_comm_spec *spec,
                                const struct jd_cuda_member *members, int a,
                                int b)
{
    char first[WHO_BYTES], second[WHO_BYTES];
    const jd_device *device = spec->members[a];
    print_member(spec, members, a, first, sizeof first);
    print_member(spec, members, b, second, sizeof second);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s%s: %s and %s are both on GPU %s (%s, PCI bus id %s), "
                   "and NCCL takes a GPU once; give each process GPUs of its "
                   "own (local_device_ids of jd_initialize, "
                   "JD_LOCAL_DEVICE_IDS, srun --gpus-per-task); to have them "
                   "share it set %s",
                   spec->operation, spec->detail, first, second,
                   members[a].uuid, device->kind, device->pci_bus_id,
                   sharing_of(members[a].nccl_version));
}

/* ---- looking ------------------------------------------------------------ */

static bool is_same_gpu(const struct jd_cuda_member *a,
                        const struct jd_cuda_member *b)
{
    return a->uuid[0] && memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0;
}

/* By GPU, and those of one GPU in their own order: both are of one array. */
static int compare_by_gpu(const void *a, const void *b)
{
    const struct jd_cuda_member *one = *(const struct jd_cuda_member *const *)a;
    const struct jd_cuda_member *two = *(const struct jd_cuda_member *const *)b;
    int order = memcmp(one->uuid, two->uuid, sizeof one->uuid);
    return order ? order : (one > two) - (one < two);
}

/* Two members of one GPU that are not both to share it. */
struct duplicate {
    const struct jd_cuda_member *first, *second; /* NULL: there are none */
};

/* Of members in the order of compare_by_gpu, the pair whose second is the
 * earliest. Where the first of a GPU shares it, all before a second do. */
static struct duplicate find_duplicate(const struct jd_cuda_member *const *by,
                                       int size)
{
    struct duplicate found = { NULL, NULL };
    for (int i = 1, first = 0; i < size; i++) {
        if (!is_same_gpu(by[first], by[i]))
            first = i;
        else if (!(by[first]->shares && by[i]->shares) &&
                 (!found.second || by[i] < found.second))
            found = (struct duplicate){ by[first], by[i] };
    }
    return found;
}

/* Those whose processes are to share a GPU are left to NCCL. */
static jd_status check_gpus(const struct jd_comm_spec *spec,
                            const struct jd_cuda_member *members)
{
    const struct jd_cuda_member **by = malloc((size_t)spec->size * sizeof *by);
    if (!by)
        return jd__fail_no_memory(spec->operation,
                                  (size_t)spec->size * sizeof *by);
    for (int i = 0; i < spec->size; i++)
        by[i] = &members[i];
    qsort(by, (size_t)spec->size, sizeof *by, compare_by_gpu);
    struct duplicate found = find_duplicate(by, spec->size);
    free(by);
    if (!found.second)
        return JD_OK;
    return fail_duplicate(spec, members, (int)(found.first - members),
                          (int)(found.second - members));
}

jd_status jd__cuda_members_check(const struct jd_comm_spec *spec,
                                 const struct jd_cuda_member *members)
{
    for (int i = 0; i < spec->size; i++)
        if (members[i].status != JD_OK)
            return jd__cuda_members_fail(spec, members, i);
    for (int i = 1; i < spec->size; i++)
        if (members[i].nccl_version != members[0].nccl_version)
            return fail_versions(spec, members, 0, i);
    for (int i = 1; i < spec->size; i++)
        if (jd__nccl_options_differ(&members[i].nccl, &members[0].nccl) >= 0)
            return fail_options(spec, members, 0, i);
    return check_gpus(spec, members);
}
