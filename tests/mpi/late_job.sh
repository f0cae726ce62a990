# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# late_job.sh - a job of three processes, of which 1 comes late, for the tests of
# jd-info --job. Source it after ../lib/tap.sh, with $build set; then
#
#     start NAME=VALUE...           as watched_job.sh's job_start; $late_in is
#                                   "psum", "barrier" or "plan" where they
#                                   wait in that
#     look --json || status=$?      jd-info's words, into $work/shown
#     expect "as JSON" "$status" '"process": 1'
#     finish "the job was not disturbed"

# shellcheck source-path=SCRIPTDIR source=watched_job.sh
source "$(dirname "${BASH_SOURCE[0]}")/watched_job.sh"

# start NAME=VALUE...: returns when the service listens, with its address.
start() {
    rm -f "$work/go"
    (($# == 0)) || local -x "${@?}"
    job_start 3 100 late "$work/go" "${late_in:-}"
}

finish() {
    local status=0
    touch "$work/go"
    job_end || status=$?
    cp "$work/err" "$work/why"
    tap_result "$1" "$status" "$work/why"
}

# look [OPTION...]
look() {
    "$build/tools/jd-info" --job "$address" "$@" >"$work/shown" 2>&1
}

# expect NAME STATUS PATTERN...: each is in what was shown.
expect() {
    local name=$1 status=$2 pattern
    shift 2
    for pattern in "$@"; do
        grep -qE -e "$pattern" "$work/shown" || {
            echo "no '$pattern'" >>"$work/shown"
            status=1
        }
    done
    tap_result "$name" "$status" "$work/shown"
}
