# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# The bed itself: Slurm starts a plain MPI program on two hosts.
# needs: slurm
run srun --mpi=pmix -N2 -n4 "$build/tests/cluster/world"
expect_count 4 '^rank [0-3] of 4 on h[01], sum 6$'
expect ' on h0, '
expect ' on h1, '
