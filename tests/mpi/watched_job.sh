# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# watched_job.sh - a job in the background that is looked at while it runs.
# Source it after ../lib/tap.sh, with $build set; then
#
#     job_start 4 100 late "$work/go"    processes, seconds, program, arguments
#     ... "$build/tools/jd-info" --job "$address" ...
#     job_end || status=$?
#
# $work is a folder of the test's own, which goes with it; the job's output is
# in $work/out and $work/err.

work=$(mktemp -d)
launcher=0

# Called by the trap:
# shellcheck disable=SC2317
job_clean_up() {
    ((launcher == 0)) || kill -KILL "$launcher" 2>/dev/null || true
    rm -rf "$work"
}
trap job_clean_up EXIT

# Returns when the service listens, with its address.
job_start() {
    local deadline=$((SECONDS + 60)) count=$1 limit=$2 program=$3
    shift 3
    : >"$work/err"
    (
        export JD_LOG=info
        exec timeout --kill-after=5 $((limit * ${TEST_TIME_FACTOR:-1})) \
            mpirun --oversubscribe -n "$count" \
            ${TEST_PRELOAD:+-x "LD_PRELOAD=$TEST_PRELOAD"} \
            "${build:?}/tests/mpi/$program" "$@" \
            >"$work/out" 2>"$work/err" </dev/null
    ) &
    launcher=$!
    address=
    while [[ -z $address ]] && ((SECONDS < deadline)); do
        address=$(sed -n 's/.*service listens at \([^ ]*\) .*/\1/p' "$work/err")
        sleep 0.05
    done
}

# Waits for its end, and returns its exit status.
job_end() {
    local status=0
    wait "$launcher" || status=$?
    launcher=0
    return "$status"
}
