#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_tools.sh - jd-info's live reports and jd-bench's answers to its flags.
# usage: test_tools.sh JD_INFO JD_BENCH
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
clear_foreign_variables
jd_info=$1
jd_bench=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# says NAME STATUS TEXT COMMAND...: the command ends with the status and prints
# the text, on either stream.
says() {
    local name=$1 wanted=$2 text=$3 status=0
    shift 3
    "$@" >"$work/out" 2>&1 </dev/null || status=$?
    if ((status == wanted)) && grep -qF -e "$text" "$work/out"; then
        tap_ok "$name"
    else
        tap_not_ok "$name"
        echo "# exit status $status, wanted $wanted and: $text"
        tap_comment <"$work/out"
    fi
}

says "jd-info shows what it would set for MPI" 0 "OMPI_MCA_pml " "$jd_info"
says "and why not" 0 "left alone: JD_TUNE_MPI is 0" \
    env JD_TUNE_MPI=0 "$jd_info"
says "a variable of the user's stands" 0 "left alone: OMPI_MCA_pml is set" \
    env OMPI_MCA_pml=ob1 "$jd_info"
says "more processes than cores" 0 "9999 processes (OMPI_COMM_WORLD_LOCAL_SIZE) share " \
    env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=9999 \
    OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=9999 "$jd_info"
says "jd-info --topology alone" 0 "job: 1 host, 1 slice, 1 process, 1 cpu device" \
    "$jd_info" --topology
says "several devices" 0 "    device 2: cpu 2, " \
    env JD_NUM_CPU_DEVICES=3 "$jd_info" --topology
says "as JSON" 0 '"process_index": 0, "local_ordinal": 0' \
    "$jd_info" --topology --json
says "a job that cannot start" 1 "jd-info: jd_initialize: the job has 2 processes" \
    env JD_NUM_PROCESSES=2 JD_PROCESS_ID=0 "$jd_info" --topology
says "--topology is of this job" 2 "--env does not go with --topology" \
    "$jd_info" --topology --env /dev/null
"$jd_info" --topology --json >"$work/json"
says "the JSON is JSON" 0 "" python3 -m json.tool "$work/json"

says "jd-bench --help" 0 "Usage: jd-bench NAME" "$jd_bench" --help
says "jd-bench --version" 0 "jd-bench 0." "$jd_bench" --version
says "jd-bench without a name" 2 "Usage: jd-bench NAME" "$jd_bench"
says "an unknown measurement" 2 'there is no measurement "speed"' \
    "$jd_bench" speed
says "jd-bench init --help" 0 "Usage: jd-bench init" "$jd_bench" init --help
says "too many launches" 2 '--launches is "201", but it must be from 1 to 200' \
    "$jd_bench" init --launches 201
says "no processes" 2 '--processes is "2,0", but it must be a comma list' \
    "$jd_bench" init --processes 2,0
if command -v mpirun >/dev/null; then
    says "a launch that fails" 1 'jd-bench: mpirun -n 1 of "mpi" failed' \
        env PATH=/nowhere "$jd_bench" init --launches 1 --processes 1
    says "one launch of each" 0 "jd - mpi-same" \
        env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        "$jd_bench" init --launches 1 --processes 1
fi
tap_done
