/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collective_calls.h - a mesh of eight devices, 2 x 4, on the fake platform,
 * and what its device 6 (data 1, model 2) hands to that: for the tests of the
 * public collectives.
 *
 *     tcase_add_checked_fixture(calls, start, finish);
 *     UNIT_OK(jd_psum(me, "model", in, out, 3, JD_F32));
 *     expect_call("all_reduce", "jd_psum", 3);
 *     REFUSED(jd_psum(me, "model", in, out, 1, JD_PRED), JD_UNIMPLEMENTED,
 * "...");
 */
#ifndef TESTS_UNIT_COLLECTIVE_CALLS_H
#define TESTS_UNIT_COLLECTIVE_CALLS_H

#include "jd_collectives.h"
#include "tests/unit/fake_platform.h"

static const char *const names[] = { "data", "model" };
static jd_mesh *mesh;
static jd_shard *me;
static float in[64], out[64];

static inline void start(void)
{
    fake_start("8");
    mesh = fake_mesh(2, (int[]){ 2, 4 }, names);
    me = &mesh->shards[6];
}

static inline void finish(void)
{
    jd_mesh_destroy(mesh);
}

/* The call was this one, with the test's buffers. */
static inline void expect_call(const char *function, const char *name,
                               size_t count)
{
    ck_assert_str_eq(fake.last.function, function);
    ck_assert_str_eq(jd__signature_activity_name(fake.last.call.activity),
                     name);
    ck_assert_uint_eq(fake.last.call.count, count);
    ck_assert_int_eq(fake.last.call.dtype, JD_F32);
    ck_assert_ptr_eq(fake.last.call.in, in);
    ck_assert_ptr_eq(fake.last.call.out, out);
    ck_assert_str_eq(fake.last.call.detail, " over axis \"model\"");
    ck_assert_int_eq(fake.last.comm->size, 4);
    ck_assert_int_eq(fake.last.comm->index, 2);
}

/* Fails with the sentence, and has not come to the platform. */
#define REFUSED(call, status, sentence)                                        \
    do {                                                                       \
        int calls_ = fake.calls, made_ = fake.made;                            \
        UNIT_FAILS(call, status, sentence);                                    \
        ck_assert_int_eq(fake.calls, calls_);                                  \
        ck_assert_int_eq(fake.made, made_);                                    \
    } while (0)

#endif
