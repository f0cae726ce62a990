# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# srun's distributions of tasks over hosts: process ids are Slurm's, and each
# device is listed under the host it is in. With -m arbitrary process 0 is not
# on the first host of the list. A mesh of one axis counts by processes.
# needs: slurm
run srun --mpi=pmix -N2 -n4 --ntasks-per-node=2 -m cyclic "$build/tests/cluster/where"
expect_places 0:h0 1:h1 2:h0 3:h1
run srun --mpi=pmix -N2 -n4 --ntasks-per-node=2 -m cyclic "$build/tests/cluster/ported"
expect 'process 1 is index 1, its left 0, gathered 0 1 2 3$'

printf '%s\n' h1 h1 h0 h1 >"$work/hosts"
export SLURM_HOSTFILE=$work/hosts
run srun --mpi=pmix -N2 -n4 -m arbitrary "$build/tests/cluster/where"
expect_places 0:h1 1:h1 2:h0 3:h1
