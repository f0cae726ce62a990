# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# srun without PMIx serves nothing that Open MPI can use: refused at once, with
# the remedy, where Open MPI would abort inside MPI_Init.
# needs: slurm
for mpi in none pmi2; do
    refused srun --mpi=$mpi -N2 -n4 "$build/tests/cluster/where"
    expect 'FAILED_PRECONDITION.*srun --mpi=pmix'
    expect_count 0 '^process '
    expect_count 0 'MPI_Init|MPI_ERRORS_ARE_FATAL|PMI support'
done
