# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# The bed itself: mpirun starts a plain MPI program on two hosts.
run bed_mpirun -n 4 --host h0:2,h1:2 "$build/tests/cluster/world"
expect_count 4 '^rank [0-3] of 4 on h[01], sum 6$'
expect_count 2 ' on h1, '
