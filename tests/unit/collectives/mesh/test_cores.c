/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cores.c - who may use too few cores, on made-up hosts. */
#include "collectives/mesh/cores.h"
#include "tests/unit/made_mesh.h"

static struct jd_process_info processes[2];
static struct jd_host host;
static struct jd_topology topology;
static struct jd_runtime runtime;
static struct jd_mesh mesh;

/* Two processes of a host of so many hardware threads, which may use so many of
 * them each; they have so many devices each, all in the mesh. */
static void make_host(int threads, int allowed, int devices)
{
    make_mesh(&mesh, 1, (int[]){ 2 * devices }, devices);
    host = (struct jd_host){ .num_processes = 2, .num_threads = threads };
    for (int i = 0; i < 2; i++)
        processes[i] = (struct jd_process_info){ .index = i,
                                                 .cores_allowed = allowed,
                                                 .num_devices = devices };
    topology.processes = processes;
    topology.hosts = &host;
    runtime.topology = &topology;
    mesh.runtime = &runtime;
}

static bool are_few(int threads, int allowed, int devices)
{
    make_host(threads, allowed, devices);
    return jd__cores_are_few_for_gpus(&mesh, 1);
}

START_TEST(threads_of_nccl_want_some_cores)
{
    ck_assert(are_few(8, 1, 1));
    ck_assert(are_few(8, 3, 1));
    ck_assert(!are_few(8, 4, 1));
    ck_assert(!are_few(8, 8, 1));
    ck_assert(!are_few(7, 1, 1)); /* the host has no more for each */
    ck_assert(!are_few(8, 0, 1)); /* not known */
}
END_TEST

START_TEST(only_of_who_is_in_the_mesh)
{
    make_host(64, 1, 1);
    mesh.size = 1;
    ck_assert(jd__cores_are_few_for_gpus(&mesh, 0));
    ck_assert(!jd__cores_are_few_for_gpus(&mesh, 1));
}
END_TEST

static bool are_fewer(int threads, int allowed, int devices)
{
    make_host(threads, allowed, devices);
    return jd__cores_are_fewer_than_devices(&mesh, 1);
}

START_TEST(bodies_want_a_core_each)
{
    ck_assert(are_fewer(8, 1, 2));
    ck_assert(!are_fewer(8, 2, 2));
    ck_assert(!are_fewer(1, 1, 2)); /* the host has no more */
    ck_assert(!are_fewer(8, 0, 2));
    make_host(8, 1, 2);
    mesh.size = 3; /* one device of process 1 */
    ck_assert(!jd__cores_are_fewer_than_devices(&mesh, 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cores");
    TCase *tcase = unit_case(suite, "cores");
    tcase_add_test(tcase, threads_of_nccl_want_some_cores);
    tcase_add_test(tcase, only_of_who_is_in_the_mesh);
    tcase_add_test(tcase, bodies_want_a_core_each);
    return unit_main(suite);
}
