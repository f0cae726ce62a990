/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_contradiction.c - an MPI of one process whose launcher says more, and
 * what each MPI's user can do.
 */
#include "runtime/process/contradiction.h"
#include "tests/unit/played_mpi.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static const struct {
    const char *version, *name, *method, *remedy;
} starts[] = {
    { "Open MPI v4.1.4, package: x", "Open MPI v4.1.4", "slurm",
      "start it with `srun --mpi=pmix` (`srun --mpi=list` shows whether Slurm "
      "has it), or with the mpirun of this MPI inside the allocation" },
    { "Open MPI v4.1.4, package: x", "Open MPI v4.1.4", "torchrun",
      "start it with the mpirun of this MPI, `mpirun -n N` over the same "
      "hosts" },
    { "MPICH Version:\t4.0.2\nx", "MPICH Version: 4.0.2", "slurm",
      "start it with `srun --mpi=pmi2` (`srun --mpi=list` shows whether Slurm "
      "has it), or with the mpiexec of this MPI inside the allocation" },
    { "MPICH Version:\t4.0.2\nx", "MPICH Version: 4.0.2", "openmpi",
      "start it with the mpiexec of this MPI, `mpiexec -n N` over the same "
      "hosts; the launcher of another MPI cannot start it" },
};

START_TEST(each_mpi_has_its_remedy)
{
    char sentence[512];
    struct jd_cluster cluster = { .method = starts[_i].method,
                                  .num_processes = { true, 4, "TOLD" } };
    struct jd_env *env = unit_env("");
    library_version = starts[_i].version;
    snprintf(sentence, sizeof sentence,
             "jd_initialize: the launcher (method %s) says 4 processes (TOLD), "
             "but MPI_COMM_WORLD of %s has this process alone: each would be a "
             "world of one; %s, or set JD_NUM_PROCESSES=1 and JD_PROCESS_ID=0 "
             "if that is meant",
             starts[_i].method, starts[_i].name, starts[_i].remedy);
    UNIT_FAILS(jd__contradiction_check_mpi(env, &cluster, 1, false),
               JD_FAILED_PRECONDITION, sentence);
    UNIT_OK(jd__contradiction_check_mpi(env, &cluster, 4, false));
    UNIT_OK(jd__contradiction_check_mpi(env, &cluster, 1, true));
    jd__env_destroy(env);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contradiction");
    TCase *unserved = unit_case(suite, "unserved");
    tcase_add_loop_test(unserved, each_mpi_has_its_remedy, 0,
                        (int)(sizeof starts / sizeof *starts));
    return unit_main(suite);
}
