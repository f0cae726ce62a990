# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# Inside an allocation: mpirun wins over Slurm's variables, and a program that
# is started without either is a world of one.
# needs: slurm
run salloc -N2 -n4 --ntasks-per-node=2 mpirun "$build/tests/cluster/where"
expect_places 0:h0 1:h0 2:h1 3:h1

run salloc -N2 -n4 "$build/mpi_examples/01_hello/hello"
expect_count 1 '^1 devices in 1 processes: 1$'
