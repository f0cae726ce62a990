#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_job_table.sh - jd-info --job looks at a job that runs.
# usage: test_job_table.sh BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$1
# shellcheck source-path=SCRIPTDIR source=late_job.sh
source "$here/late_job.sh"

# The two that wait have been seen to wait; at most 20 s.
look_until_both_wait() {
    local deadline=$((SECONDS + 20))
    while look && ((SECONDS < deadline)); do
        (($(grep -c 'waits in jd_sync_global_devices' "$work/shown") < 2)) ||
            return 0
        sleep 0.05
    done
    return 1
}

with_secret() {
    local status=0
    start JD_SECRET=sesame
    JD_SECRET=sesame look_until_both_wait || status=$?
    expect "the table of a job with JD_SECRET" "$status" \
        '^process +state +host +pid +program +heard +caused +doing$' \
        '^0 +CONNECTED +[^ ]+ +[0-9]+ +late +[0-9.]+ s +- +waits in jd_sync_global_devices "met", for [0-9.e-]+ s$' \
        '^1 +CONNECTED +[^ ]+ +[0-9]+ +late +[0-9.]+ s +- +nothing of jd yet$' \
        '^2 +CONNECTED .* waits in jd_sync_global_devices'
    status=0
    JD_SECRET=sesame look --json || status=$?
    expect "as JSON" "$status" '"process": 1, "state": "CONNECTED"' \
        '"waits": "waits in jd_sync_global_devices \\"met\\", for '
    python3 -m json.tool "$work/shown" >/dev/null 2>"$work/why" && status=0 ||
        status=1
    tap_result "the JSON is JSON" "$status" "$work/why"
    status=0
    JD_SECRET=guess look || status=$?
    expect "another secret is not let in" $((status != 1)) \
        "^jd-info: the job at $address: this program is not let in by the coordination service: it does not know the job's secret \(here it is from JD_SECRET\); set the same everywhere$"
    finish "the job was not disturbed"
}

without_secret() {
    local status=0
    start
    look || status=$?
    expect "a job without JD_SECRET lets nobody look" $((status != 1)) \
        "only the job's own processes know its secret; start the job with JD_SECRET_FILE set, and jd-info with the same$"
    finish "nor was this one"
    status=0
    look || status=$?
    expect "a job that is over" $((status != 1)) \
        'this program has not reached the coordination service in [0-9.]+ s; it tried .*Connection refused$'
}

has_tables() { (($(grep -c '^process  ' "$work/shown") >= $1)); }

# await_tables N: so many are printed, within 20 s.
await_tables() {
    local deadline=$((SECONDS + 20))
    until has_tables "$1"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.05
    done
}

# Table after table, and the job's end is the end.
watched() {
    local status=0 watcher
    start JD_SECRET=sesame
    JD_SECRET=sesame look --watch=0.1 &
    watcher=$!
    await_tables 3 || status=$?
    expect "a table again and again" "$status" \
        "^[0-9:]+  job at $address, 3 processes, every 0.1 s$" \
        '^2 +CONNECTED ' '^$'
    finish "a job that is watched"
    status=0
    wait "$watcher" || status=$?
    expect "it ends with the job" "$status" \
        "^the job at $address is over: process 0, which serves it, has gone$"
}

# On a terminal of six lines two of three rows fit.
on_a_terminal() {
    local status=0
    start JD_SECRET=sesame
    JD_SECRET=sesame python3 "$here/terminal.py" 6 3 \
        "$build/tools/jd-info" --job "$address" --watch=0.1 \
        >"$work/shown" 2>&1 || status=$?
    expect "a terminal shows what fits" "$status" \
        $'^\e\\[H\e\\[2J[0-9:]+  job at ' \
        '^0 +CONNECTED ' '^1 +CONNECTED ' \
        '^and 1 more, that caused less; --json has all'
    ! grep -q '^2 ' "$work/shown" && status=0 || status=1
    tap_result "and no more" "$status" "$work/shown"
    finish "a job that is watched on a terminal"
}

clear_foreign_variables
command -v mpirun >/dev/null || tap_skip_all "no mpirun here"
if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
with_secret
without_secret
watched
on_a_terminal
tap_done
