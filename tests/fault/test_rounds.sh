#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_rounds.sh BUILD_DIR [CALL...] - a process dies in place of each message of
# each collective among 5 and 8 processes that stand for hosts: in each round
# of each algorithm, process 3 where the host seems to have a processor for each
# of them, and process 4, the first of the second four, where they are a crowd.
# All others name it and end with 117, and nobody is left.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"

build=$(cd "$1" && pwd)
shift
calls=("$@")
((${#calls[@]} > 0)) || calls=(barrier psum psum-long scatter-long gather-long
    broadcast-long all-to-all-short all-to-all ragged permute)
# What all begin with differs in a crowd, and how a long broadcast goes.
crowded_calls=(barrier psum psum-long broadcast-long)
limit=$((60 * ${TEST_TIME_FACTOR:-1}))
most=40 # messages of a call; the last that there is ends the search

# processes_left PATTERN: into $work/left. Those that are just going have a moment
# for it: mpirun may end before they have.
processes_left() {
    local pid
    for pid in $(pgrep -f "$1"); do
        timeout 10 tail --pid="$pid" -f /dev/null || true
    done
    pgrep -f "$1" >"$work/left"
}

# Before the program and behind FILE: each process writes its standard error to
# FILE.RANK, and its exit status at its end.
# shellcheck disable=SC2016
own_end=(sh -c '"$@" 2>"$0.$OMPI_COMM_WORLD_RANK"
    echo "exit $?" >>"$0.$OMPI_COMM_WORLD_RANK"')

# try_message CALL PROCESSES VICTIM NUMBER: into $work/out and $work/err. mpirun leaves
# the others alone: on a machine with much to do it would end them before they
# have had their say.
try_message() {
    local status=0 word="round-$$-$1-$2-$3-$4"
    rm -f "$work"/each.*
    timeout --kill-after=5 "$limit" mpirun --oversubscribe --enable-recovery \
        -n "$2" "${own_end[@]}" "$work/each" \
        "$build/tests/fault/dies_in_round" "$1" "$3" "$4" "$word" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
    cat "$work"/each.* >>"$work/err"
    ((status < 124)) || echo "mpirun ended with $status, limit $limit s" \
        >>"$work/err"
    if processes_left "dies_in_round $1 $3 $4 $word"; then
        echo "left behind: $(tr '\n' ' ' <"$work/left")" >>"$work/err"
    fi
    return "$status"
}

# count_sentences VICTIM: every other process has one sentence about it, and ends
# with that code.
count_sentences() {
    grep -cE 'process '"$1"' \(dies_in_round, pid [0-9]+ on [^)]*\): connection closed without shutdown \(killed or crashed\).*; this process ends with exit code 117$' \
        "$work/err" || true
}
count_codes() {
    grep -cx 'exit 117' "$work/err" || true
}

# try_call CALL PROCESSES VICTIM: each message; prints what is wrong.
try_call() {
    local number status named ended
    for ((number = 1; number <= most; number++)); do
        status=0
        try_message "$1" "$2" "$3" "$number" || status=$?
        ! grep -q 'no such message' "$work/out" || break
        named=$(count_sentences "$3") ended=$(count_codes)
        if ((status >= 124 || named != $2 - 1 || ended != $2 - 1)) ||
            grep -q 'left behind' "$work/err"; then
            echo "message $number: of $(($2 - 1)) others $named name process $3," \
                "$ended end with 117"
            cat "$work/err"
            return 1
        fi
    done
    ((number > 1 && number <= most)) || { echo "$number messages"; return 1; }
    ((status == 0)) || { cat "$work/err" && return 1; }
    echo "$((number - 1)) messages"
}

# try_calls WAY THREADS VICTIM CALL...: on a host that seems to have so many
# hardware threads.
try_calls() {
    local way=$1 victim=$3 call count
    export HWLOC_SYNTHETIC="pu:$2"
    shift 3
    for count in 5 8; do
        for call in "$@"; do
            if try_call "$call" "$count" "$victim" >"$work/said" 2>&1; then
                tap_ok "$call among $count $way, $(tail -n 1 "$work/said")"
            else
                tap_not_ok "$call among $count $way"
                tap_comment <"$work/said"
            fi
        done
    done
}

main() {
    clear_foreign_variables
    if ((EUID == 0)); then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    export OMPI_MCA_mpi_yield_when_idle=1 JD_SHARED_MEMORY=0
    command -v mpirun >/dev/null || tap_skip_all "no mpirun here"
    work=$(mktemp -d "${TMPDIR:-/tmp}/jdt.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    try_calls roomy 64 3 "${calls[@]}"
    try_calls crowded 2 4 "${crowded_calls[@]}"
    tap_done
}

main "$@"
