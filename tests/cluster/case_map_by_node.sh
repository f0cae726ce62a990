# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# mpirun deals processes to hosts by turns: a mesh of one axis counts by
# processes, and where one of several does not, a deadline says so.
run bed_mpirun -n 4 --host h0:2,h1:2 --map-by node "$build/tests/cluster/ported"
expect 'process 1 is index 1, its left 0, gathered 0 1 2 3$'
expect 'process 2 is index 2, its left 1, gathered 0 1 2 3$'

run bed_mpirun -n 4 --host h0:2,h1:2 --map-by node \
    -x JD_COLLECTIVE_TIMEOUT=3 "$build/tests/cluster/ported" missing
expect 'DEADLINE_EXCEEDED: .*; process 0 is index 0 of "p", "q", process 1 '\
'index 2, process 2 index 1, process 3 index 3$'
