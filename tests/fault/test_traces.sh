#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_traces.sh BUILD_DIR - what a job leaves in JD_TRACE_DIR in which process 3
# of 4 fails, in each of the ways that there are: a file of each process, the dead
# one's too, and jd-trace names process 3 in its first five lines.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"

build=$(cd "$1" && pwd)
limit=$((60 * ${TEST_TIME_FACTOR:-1}))

# run_job WHERE WHO HOW: its traces in $work/traces. mpirun leaves the others alone:
# on a machine with much to do it would end them before they have written theirs.
run_job() {
    local status=0
    rm -rf "$work/traces" "$work"/each.*
    JD_TRACE_DIR=$work/traces timeout --kill-after=5 "$limit" \
        mpirun --oversubscribe --enable-recovery -n 4 \
        "${own_stderr[@]}" "$work/each" \
        "$build/tests/fault/victim" "$@" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
    cat "$work"/each.* >>"$work/err"
    ((status != 124))
}

# ends_with TEXT: the file of process 3 says so.
ends_with() {
    grep -qaF -e "$1" "$work"/traces/*-3.jdtrace
}

# check_files TEXT: one of each process, complete, and nothing beside them.
check_files() {
    local rank files=("$work"/traces/*)
    for rank in 0 1 2 3; do
        compgen -G "$work/traces/*-$rank.jdtrace" >/dev/null ||
            { echo "no file of process $rank"; return 1; }
    done
    ((${#files[@]} == 4)) || { ls "$work/traces"; return 1; }
    ends_with "$1" || { echo "process 3's file does not have: $1"; return 1; }
    ends_with failing || { echo "nor its own range"; return 1; }
}

# check_last_calls: one process says, once, in which call the others are and by
# how many process 3 is behind.
check_last_calls() {
    local line='^jd [0-2]/4 [^ ]+ warning axis "data" \(.*\): .*process(es)? [0-2].*'
    line+='jd_psum of 1 x F64 .*; process 3, no call there: had returned from '
    line+='jd_sync_global_devices'
    (($(grep -cE "$line" "$work/err") == 1)) ||
        { echo "not said once: $line"; return 1; }
}

check_tool() {
    "$build/tools/jd-trace" "$work/traces" >"$work/said" 2>&1 ||
        { cat "$work/said"; return 1; }
    head -n 5 "$work/said" | grep 'process 3' >/dev/null ||
        { echo "process 3 is not in the first lines:"; cat "$work/said"
            return 1; }
}

# A world of one, which ends well.
try_alone() {
    rm -rf "$work/traces"
    if JD_TRACE_DIR=$work/traces "$build/tests/fault/victim" exit 1 return \
        >"$work/err" 2>&1 && grep -qaF left "$work"/traces/*-0.jdtrace; then
        tap_ok "alone"
    else
        tap_not_ok "alone"
        tap_comment <"$work/err"
    fi
}

# try_way "WHERE WHO HOW" TEXT
try_way() {
    local words
    read -ra words <<<"$1"
    if run_job "${words[@]}" && check_files "$2" && check_tool &&
        { [[ $1 != psum* ]] || check_last_calls; } >"$work/why"; then
        tap_ok "$1"
    else
        tap_not_ok "$1"
        tap_comment <"$work/why"
        tap_comment <"$work/err"
    fi
}

main() {
    clear_foreign_variables
    if ((EUID == 0)); then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    export OMPI_MCA_mpi_yield_when_idle=1
    command -v mpirun >/dev/null || tap_skip_all "no mpirun here"
    work=$(mktemp -d "${TMPDIR:-/tmp}/jdt.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    try_alone
    try_way "psum 3 kill" "connection closed without shutdown"
    try_way "loop 3 kill" "connection closed without shutdown"
    try_way "psum 3 _exit" "connection closed without shutdown"
    try_way "psum 3 abort" "connection closed without shutdown"
    try_way "psum 3 exit" "exit code 3"
    try_way "psum 3 jd_abort" "called jd_abort(5): the disk is full"
    try_way "psum 3 check" "ret_mesh is NULL"
    tap_done
}

main "$@"
