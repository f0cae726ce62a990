/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of the cuda platform: NCCL's own unique ids, made by
 * ncclGetUniqueId (which needs no GPU and no driver), come to all members by
 * the comm of the cpu platform through which those of a comm of GPUs meet.
 * Here its members are cpu devices, and every two of them have a root.
 */
#include "jd.h"

#include "expect.h"

#if HAVE_NCCL
#include "collectives/cuda/host.h"
#include "collectives/cuda/ids.h"

enum { MOST = 64 };

const struct jd_platform *jd__host_cpu(void)
{
    return &jd__platform_cpu;
}

static struct jd_comm_spec spec;
static struct jd_comm *control;

/* The members are numbered backwards. */
static void open_control(void)
{
    static const jd_device *members[MOST];
    const jd_device *const *all = jd_platform_devices("cpu", &spec.size);
    EXPECT_OK(jd__runtime_get(&spec.runtime, "test"));
    EXPECT(spec.size <= MOST, "%d devices", spec.size);
    for (int i = 0; i < spec.size; i++)
        members[i] = all[spec.size - 1 - i];
    spec.members = members;
    spec.index = spec.size - 1 - spec.runtime->world.index;
    spec.axes = "\"data\"";
    spec.detail = " over axis \"data\"";
    spec.operation = "jd_psum";
    EXPECT_OK(jd__platform_cpu.comm_create(&spec, &control));
}

static void exchange(struct jd_cuda_member *members)
{
    int64_t bytes = (int64_t)spec.size * (int64_t)sizeof *members;
    jd_leaf leaf = { members, JD_U8, 1, &bytes };
    EXPECT_OK(jd__cuda_ids_exchange(&spec, control, JD_OK, members));
    EXPECT_OK(jd_assert_equal(&leaf, 1, "records"));
}

/* The roots' ids are NCCL's, and no two are the same. */
static void check_ids(const struct jd_cuda_member *members)
{
    static const ncclUniqueId nothing;
    ncclUniqueId ids[MOST];
    int roots = jd__cuda_num_roots(spec.size);
    EXPECT(roots == (spec.size + 1) / 2, "%d roots", roots);
    memset(ids, 0, sizeof ids);
    jd__cuda_ids_of(members, spec.size, ids);
    for (int i = 0; i < roots; i++) {
        EXPECT(memcmp(&ids[i], &nothing, sizeof nothing) != 0, "root %d", i);
        for (int j = 0; j < i; j++)
            EXPECT(memcmp(&ids[i], &ids[j], sizeof ids[i]) != 0, "%d and %d", i,
                   j);
    }
}

static void check_members(const struct jd_cuda_member *members)
{
    int version;
    EXPECT(ncclGetVersion(&version) == ncclSuccess, "no version");
    for (int i = 0; i < spec.size; i++) {
        EXPECT(members[i].process == spec.size - 1 - i, "%d: %d", i,
               members[i].process);
        EXPECT(members[i].nccl_version == version, "%d",
               members[i].nccl_version);
        EXPECT(members[i].is_root == jd__cuda_is_root(i, spec.size), "%d", i);
    }
}

static void try_twice(void)
{
    static struct jd_cuda_member first[MOST], second[MOST];
    exchange(first);
    check_members(first);
    check_ids(first);
    exchange(second);
    EXPECT(memcmp(first[0].id, second[0].id, sizeof first[0].id) != 0,
           "the ids of two exchanges are the same");
}

/* One comes with a failure; all have its sentence. */
static void try_failure(void)
{
    static struct jd_cuda_member members[MOST];
    int culprit = spec.size / 2;
    jd_status status = JD_OK;
    if (spec.index == culprit)
        status = jd_fail(JD_INTERNAL, "jd_psum: cudaSetDevice failed");
    status = jd__cuda_ids_exchange(&spec, control, status, members);
    if (spec.index == culprit)
        expect_sentence(status, JD_INTERNAL, "jd_psum: cudaSetDevice failed");
    else
        expect_sentence(status, JD_INTERNAL,
                        "jd_psum over axis \"data\": process %d (its device "
                        "0, on %s) cannot take part in NCCL's communicator: "
                        "jd_psum: cudaSetDevice failed",
                        spec.size - 1 - culprit, spec.members[culprit]->host);
}

/* Each root is the first of its part, and parts are even. */
static void try_roots(int size)
{
    int roots = jd__cuda_num_roots(size), found = 0, last = 0;
    for (int i = 0; i < size; i++) {
        if (!jd__cuda_is_root(i, size))
            continue;
        EXPECT(found > 0 || i == 0, "the first of %d is %d", size, i);
        EXPECT(i - last <= 2, "%d of %d follows %d", i, size, last);
        last = i;
        found++;
    }
    EXPECT(found == roots && size - last <= 2, "%d of %d roots of %d", found,
           roots, size);
}

int main(void)
{
    EXPECT_OK(jd_initialize());
    open_control();
    for (int size = 1; size < 1000; size++)
        try_roots(size);
    try_twice();
    try_failure();
    try_twice();
    jd__platform_cpu.comm_destroy(control);
    return jd_shutdown();
}

#else

int main(void)
{
    SKIP("NCCL was not found when jd was built");
}

#endif
