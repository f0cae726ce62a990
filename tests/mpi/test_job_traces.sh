#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_job_traces.sh - jd-trace --job shows of a job that runs what the files that
# it leaves show later. usage: test_job_traces.sh BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$1
# shellcheck source-path=SCRIPTDIR source=late_job.sh
source "$here/late_job.sh"
# shellcheck source-path=SCRIPTDIR source=../lib/partings.sh
source "$here/../lib/partings.sh"
factor=${TEST_TIME_FACTOR:-1}

# trace [OPTION...]: jd-trace's words into $work/shown.
trace() {
    JD_SECRET=sesame "$build/tools/jd-trace" --job "$address" "$@" \
        >"$work/shown" 2>&1
}

# until_named: they wait for process 1 so long that it is; at most 60 s.
until_named() {
    local deadline=$((SECONDS + 60))
    until trace && grep -q '^culprit: process 1 ' "$work/shown"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.1
    done
}

# until_shown TEXT: it is among what is shown, however that ends; at most 60 s.
until_shown() {
    local deadline=$((SECONDS + 60))
    until trace || true && grep -qE -e "$1" "$work/shown"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.1
    done
}

# sites: of each call site what it is, how often and how many bytes.
sites() {
    python3 -c 'import json, sys
print([[site[key] for key in ("call", "site", "calls", "bytes")]
    for site in json.load(sys.stdin)["sites"]])'
}

# same NAME ONE OTHER
same() {
    local status=0
    diff "$work/$2" "$work/$3" >"$work/why" 2>&1 || status=1
    [[ -s $work/$2 ]] || status=1
    tap_result "$1" "$status" "$work/why"
}

pictures() {
    local status=0
    trace --json --svg "$work/svg" --perfetto "$work/perfetto" || status=$?
    sites <"$work/shown" >"$work/sites" || status=1
    expect "as JSON" "$status" "\"address\": \"$address\"" '"files": 3' \
        '"culprits": \[' '"processes": \[1\]' '"missing": \[\]'
    status=0
    python3 -c 'import sys, xml.dom.minidom as x
x.parse(sys.argv[1])' "$work/svg" && python3 -m json.tool "$work/perfetto" \
        >"$work/why" 2>&1 || status=1
    grep -q '(culprit)' "$work/perfetto" || status=1
    tap_result "as pictures" "$status" "$work/why"
}

# What it shows while they wait, and the files when they have given up.
as_the_files() {
    local status=0 late_in=psum
    local -x JD_SECRET=sesame
    start "JD_COLLECTIVE_TIMEOUT=$((20 * factor))" "JD_TRACE_DIR=$work/traces"
    until_named || status=$?
    partings <"$work/shown" >"$work/live"
    expect "who others wait for is named" "$status" \
        '^culprit: process 1 on .*: last call of jd: jd_psum of 1 x F64 at ' \
        '^  axis "p", call 2: some wait for others$' \
        '^    processes 0,2 wait in jd_psum of 1 x F64 at ' \
        "^Job [0-9a-f]{16}, which runs at $address: calls of 3 of 3 processes, of 1 host$"
    pictures
    job_end || true
    "$build/tools/jd-trace" "$work/traces" >"$work/shown" 2>&1 || true
    partings <"$work/shown" >"$work/files"
    same "the files say the same of where they part ways" live files
    "$build/tools/jd-trace" --json "$work/traces" 2>&1 | sites >"$work/later"
    same "and of their call sites" sites later
    status=0
    trace || status=$?
    expect "a job that is over" $((status != 1)) \
        "^jd-trace: the job at $address: this program has not reached the coordination service in "
}

# Where nobody can read another's calls, each is asked; one that is stopped is
# named, and the rest is shown.
each_alone() {
    local status=0 pid late_in=psum
    local -x JD_SECRET=sesame
    start JD_SHARED_MEMORY=0
    until_shown ': calls of 3 of 3' || status=$?
    expect "each shows its own" "$status" ': calls of 3 of 3 processes, of 1 host$'
    pid=$(JD_SECRET=sesame "$build/tools/jd-info" --job "$address" |
        awk '$1 == 2 { print $4 }')
    kill -STOP "$pid"
    status=0
    trace || status=$?
    kill -CONT "$pid"
    expect "one that is stopped is named" "$status" \
        "^jd-trace: warning: host .*, process 2 shows nothing: the job at $address: its calls: process 2 \(late, pid $pid on .*\) has not shown what it has called within 15 s, and was last heard [0-9.]+ s ago; one that is stopped" \
        ': calls of 2 of 3 processes, of 1 host$' '^  not shown: process 2$'
    status=0
    JD_SECRET=guess "$build/tools/jd-trace" --job "$address" \
        >"$work/shown" 2>&1 || status=$?
    expect "another secret is not let in" $((status != 1)) \
        "^jd-trace: the job at $address: .*it does not know the job.s secret"
    finish "the job was not disturbed"
}

without_recorder() {
    local status=0
    local -x JD_SECRET=sesame
    start JD_RECORDER=0
    until_shown 'records nothing' || true
    trace || status=$?
    touch "$work/go"
    expect "a job that records nothing" $((status != 1)) \
        'process 0 shows nothing: .*it records nothing \(JD_RECORDER=0\)' \
        "^jd-trace: the job at $address: none of its 3 processes has shown what it has called$"
    finish "nor was this one"
}

# A job that makes call after call while it is looked at.
while_it_goes_on() {
    local status=0
    local -x JD_SECRET=sesame
    rm -f "$work/stop"
    job_start 4 100 straggle "$work/stop" -1
    until_shown ': calls of 4 of 4' || status=$?
    for _ in 1 2 3 4 5; do
        trace --json || status=$?
        python3 -m json.tool "$work/shown" >"$work/why" 2>&1 || status=1
    done
    trace || status=$?
    expect "a job that goes on, five times" "$status" \
        ': calls of 4 of 4 processes, of 1 host$' '^  jd_psum at straggle.c:'
    touch "$work/stop"
    status=0
    job_end || status=$?
    tap_result "it went on" "$status" "$work/err"
}

clear_foreign_variables
command -v mpirun >/dev/null || tap_skip_all "no mpirun here"
if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
as_the_files
each_alone
without_recorder
while_it_goes_on
tap_done
