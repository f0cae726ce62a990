#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_alone.sh - programs that no launcher started: worlds of one process.
# usage: test_alone.sh BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# works NAME COMMAND...: it ends well, within its time.
works() {
    local name=$1 status=0
    shift
    env ${TEST_PRELOAD:+"LD_PRELOAD=$TEST_PRELOAD"} \
        timeout $((60 * ${TEST_TIME_FACTOR:-1})) "$@" \
        >"$work/out" 2>&1 </dev/null || status=$?
    tap_result "$name" "$status" "$work/out"
}

clear_foreign_variables
works "a program that never initialises jd" "$build/tests/mpi/test_start" alone
works "an MPI of one where variables say two" \
    "$build/tests/mpi/test_misstart" worlds_of_one
works "an MPI of one where a launcher says two" env TPU_WORKER_ID=0 \
    TPU_WORKER_HOSTNAMES=a,b "$build/tests/mpi/test_misstart" unserved
hello=$build/mpi_examples/01_hello/hello
works "a child after jd_mpi_comm()" env TEST_CHILD="$hello" \
    "$build/tests/mpi/test_start" children
works "a child's mpirun after jd_mpi_comm()" \
    env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    TEST_CHILD="mpirun --oversubscribe -n 2 $hello" \
    "$build/tests/mpi/test_start" children

# A shell in which a launcher has left its variables.
left=(SLURM_JOB_ID=77 SLURM_STEP_NODELIST=localhost SLURM_PROCID=0
    SLURM_LOCALID=0 SLURM_STEP_NUM_TASKS=2)
works "variables that are left over, and a word against them" \
    env "${left[@]}" JD_NUM_PROCESSES=1 JD_PROCESS_ID=0 "$hello"
# shellcheck disable=SC2016
[[ ! -x $build/runtime/wireup/server/jd-pmix-server ]] ||
    works "variables that are left over are named" \
        env "${left[@]}" JD_INITIALIZATION_TIMEOUT=2 bash -c '
            set -o pipefail
            ! "$1" 2>"$2" && cat "$2" &&
            grep -qF "that there are 2 processes is from SLURM_STEP_NUM_TASKS (method slurm): where these variables are left over, JD_NUM_PROCESSES=1 and JD_PROCESS_ID=0 start this process alone" "$2"' \
        - "$hello" "$work/sentence"
works "1,000 times initialised and shut down" \
    env GLIBC_TUNABLES=glibc.malloc.tcache_count=0 \
    "$build/tests/mpi/test_rounds" right 1000
works "jd-info --topology" "$build/tools/jd-info" --topology
tap_done
