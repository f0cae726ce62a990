#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_preemption.sh - stops 06_preemption by signals, as launchers send them,
# starts it again, and holds its end against a run that was never stopped.
# usage: test_preemption.sh BUILD_DIR

# Functions are called through `check`:
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
program=$(cd "$1" && pwd)/mpi_examples/06_preemption/preemption
data=$here/../../mpi_examples/04_digits/digits.csv
limit=$((100 * ${TEST_TIME_FACTOR:-1}))
epochs=2000 # some seconds, of which a signal needs milliseconds
work=$(mktemp -d)
launcher=0

clean_up() {
    ((launcher == 0)) || kill -KILL "$launcher" 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT

# under_mpirun DIR: the program's start on four processes.
under_mpirun() {
    exec mpirun --oversubscribe --timeout "$limit" \
        ${TEST_PRELOAD:+-x "LD_PRELOAD=$TEST_PRELOAD"} \
        -n 4 "$program" --epochs "$epochs" "$1" "$data"
}

# alone DIR: the same as one process.
alone() {
    exec env LD_PRELOAD="${TEST_PRELOAD:-}" timeout --kill-after=5 "$limit" \
        "$program" --epochs "$epochs" "$1" "$data"
}

# run HOW DIR: to the end, into out, err and status.
run() {
    mkdir -p "$2"
    status=0
    ("$1" "$2") >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# process_ids [INDEX]: the job's processes, or the one with that index, each
# known by a variable of this test and by what mpirun gave it.
process_ids() {
    local folder
    for folder in /proc/[0-9]*; do
        if grep -qzx "PREEMPTION_TEST=$$" "$folder/environ" 2>/dev/null &&
            grep -qzx "OMPI_COMM_WORLD_RANK=${1:-.*}" "$folder/environ" \
                2>/dev/null; then
            echo "${folder#/proc/}"
        fi
    done
}

to_one() {
    kill -TERM "$(process_ids 2)"
}

to_all() {
    # shellcheck disable=SC2046
    kill -TERM $(process_ids)
}

to_launcher() {
    kill -USR1 "$launcher"
}

# stop HOW SEND DIR: starts it, and when all processes are in their training
# sends the signal. Into out, err and status.
stop() {
    local line
    mkdir -p "$3"
    rm -f "$work/pipe"
    mkfifo "$work/pipe"
    ("$1" "$3") >"$work/pipe" 2>"$work/err" </dev/null &
    launcher=$!
    exec 3<"$work/pipe"
    : >"$work/out"
    while IFS= read -r -t "$limit" line <&3; do
        echo "$line" >>"$work/out"
        [[ $line != epoch* ]] || break
    done
    "$2" || true
    timeout "$limit" cat <&3 >>"$work/out" || true
    exec 3<&-
    status=0
    wait "$launcher" || status=$?
    launcher=0
}

# stopped_at: the steps at which processes stopped, each once.
stopped_at() {
    sed -n 's/^process [0-9]* stops before epoch //p' "$work/out" | sort -u
}

# is_silent: no warning, and nothing but what mpirun says of its own.
is_silent() {
    ! grep -v '^mpirun: Forwarding signal 10 to job$' "$work/err"
}

# agree COUNT: so many processes stopped at one step, which was saved, and the
# job ended in order.
agree() {
    local step
    step=$(stopped_at)
    [[ $(grep -c ' stops before epoch ' "$work/out") == "$1" ]] &&
        [[ $step =~ ^[0-9]+$ ]] && ((step > 0 && step < epochs)) &&
        grep -q "^saved .*/checkpoint: epoch $step of $epochs\$" "$work/out" &&
        ((status == 0)) && is_silent
}

# ends_as STEP DIR: the last run began there, came to its end, and left what
# the uninterrupted one did.
ends_as() {
    grep -qx "begins with epoch $1" "$work/out" &&
        grep -q "^epoch $epochs " "$work/out" && ((status == 0)) &&
        diff -r "$2/checkpoint" "$3/checkpoint" &&
        [[ $(tail -n 2 "$work/out" | head -n 1) == "$(cat "$3/last")" ]]
}

# remember DIR: the last epoch's line of the last run.
remember() {
    tail -n 2 "$work/out" | head -n 1 >"$1/last"
}

# check_signal NAME SEND: stop, and go on.
check_signal() {
    local step dir=$work/$2
    stop under_mpirun "$2" "$dir"
    tap_check "$1: all stop at one step" agree 4
    step=$(stopped_at)
    run under_mpirun "$dir"
    tap_check "$1: the rest brings the same numbers" \
        ends_as "$step" "$dir" "$work/whole"
}

to_alone() {
    kill -TERM "$launcher"
}

# timeout passes the signal on.
check_alone() {
    local step
    run alone "$work/whole_alone"
    remember "$work/whole_alone"
    stop alone to_alone "$work/alone"
    tap_check "one process: it stops" agree 1
    step=$(stopped_at)
    run alone "$work/alone"
    tap_check "one process: the rest brings the same numbers" \
        ends_as "$step" "$work/alone" "$work/whole_alone"
}

# refused STATUS TEXT: the last run ended so, with the text once.
refused() {
    ((status == $1)) && [[ $(grep -cF -e "$2" "$work/err") == 1 ]]
}

# refuse ARGS...: the program with these arguments, as four processes.
refuse() {
    status=0
    mpirun --oversubscribe --timeout "$limit" \
        ${TEST_PRELOAD:+-x "LD_PRELOAD=$TEST_PRELOAD"} -n 4 "$program" "$@" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
}

check_bad_input() {
    refuse "$work/missing" "$data"
    tap_check "a missing folder shows at once" refused 1 \
        "could not create $work/missing/checkpoint.tmp-"
    mkdir "$work/bad"
    cp -r "$work/whole/checkpoint" "$work/bad"
    truncate --size=-1 "$work/bad/checkpoint/weights.0.npy"
    refuse "$work/bad" "$data"
    tap_check "a file that is cut off is no checkpoint" refused 1 \
        "$work/bad/checkpoint/weights.0.npy, block 0 ([0:64,0:10])"
    refuse --epochs 1x "$work/bad" "$data"
    tap_check "a wrong command line" refused 2 "usage: preemption [--epochs N] DIR"
}

main() {
    clear_foreign_variables
    if ((EUID == 0)); then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    command -v mpirun >/dev/null || tap_skip_all "no mpirun here"
    export PREEMPTION_TEST=$$
    run under_mpirun "$work/whole"
    tap_check "the uninterrupted run" grep -q "^epoch $epochs " "$work/out"
    remember "$work/whole"
    check_signal "SIGTERM to one process" to_one
    check_signal "SIGTERM to all" to_all
    export JD_PREEMPTION_SIGNAL=USR1
    check_signal "SIGUSR1 to mpirun" to_launcher
    unset JD_PREEMPTION_SIGNAL
    check_alone
    check_bad_input
    tap_done
}

main
