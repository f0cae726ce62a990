# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# srun --mpi=pmix over two hosts, the same binary as under mpirun.
# needs: slurm
run srun --mpi=pmix -N2 -n4 --ntasks-per-node=2 "$build/tests/cluster/where"
expect_places 0:h0 1:h0 2:h1 3:h1

run srun --mpi=pmix -N2 -n4 "$build/mpi_examples/01_hello/hello"
expect_count 1 '^4 devices in 4 processes: 10$'

run srun --mpi=pmix -N2 -n4 "$build/mpi_examples/02_topology/topology"
expect_count 1 'processes: 4, hosts: 2, devices: 4'

# A step smaller than its job.
run salloc -N2 -n4 srun --mpi=pmix -N1 -n2 "$build/tests/cluster/where"
expect_places 0:h0 1:h0
