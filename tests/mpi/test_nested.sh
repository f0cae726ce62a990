#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_nested.sh - a program that jd itself has joined to a world runs an
# mpirun: what MPI_Init needed for that is gone from the environment.
# usage: test_nested.sh BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$1
output=$(mktemp)
trap 'rm -f "$output"' EXIT

clear_foreign_variables
if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
export OMPI_MCA_mpi_yield_when_idle=1
command -v mpirun >/dev/null || tap_skip_all "no mpirun here"
status=0
timeout $((60 * ${TEST_TIME_FACTOR:-1})) "$build/tools/jd-run" -n 2 \
    env ${TEST_PRELOAD:+"LD_PRELOAD=$TEST_PRELOAD"} \
    "$build/tests/mpi/test_nested" >"$output" 2>&1 </dev/null || status=$?
(($(grep -c '^inside$' "$output") == 2)) || status=1
tap_result "mpirun by system() in a world without a launcher" "$status" "$output"
tap_done
