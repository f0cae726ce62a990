# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# mpirun on one of the job's own hosts, and on a host that has no process.
export -f bed_mpirun
run bed_on h1 bash -c 'bed_mpirun -n 3 --host h1:1,h0:2 "$@"' - \
    "$build/tests/cluster/where"
expect_places 0:h1 1:h0 2:h0

run bed_on h0 bash -c 'bed_mpirun -n 2 --host h1:2 "$@"' - \
    "$build/tests/cluster/where"
expect_places 0:h1 1:h1
