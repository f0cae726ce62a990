# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# mpirun over two hosts: processes and devices of both are one job.
run bed_mpirun -n 4 --host h0:2,h1:2 "$build/tests/cluster/where"
expect_places 0:h0 1:h0 2:h1 3:h1

run bed_mpirun -n 4 --host h0:2,h1:2 --map-by node "$build/tests/cluster/where"
expect_places 0:h0 1:h1 2:h0 3:h1

run bed_mpirun -n 4 --host h0:2,h1:2 "$build/mpi_examples/01_hello/hello"
expect_count 1 '^4 devices in 4 processes: 10$'

run bed_mpirun -n 4 --host h0:2,h1:2 "$build/mpi_examples/02_topology/topology"
expect_count 1 'processes: 4, hosts: 2, devices: 4'
