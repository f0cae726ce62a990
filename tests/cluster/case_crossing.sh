# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# Shards of two hosts that come to the collectives of a 2x2 mesh in opposite
# orders, at the thread level of the program's own MPI.
# timeout: 120
run bed_mpirun -n 2 --host h0:1,h1:1 -x JD_NUM_CPU_DEVICES=2 \
    "$build/tests/mpi/test_crossing" serialized
run bed_mpirun -n 4 --host h0:2,h1:2 "$build/tests/mpi/test_crossing" single
run bed_mpirun -n 4 --host h0:2,h1:2 --map-by node \
    "$build/tests/mpi/test_crossing" single
