#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_runner.sh - sees tests/mpi/run notice what a test may do wrong.
# usage: test_runner.sh BUILD_DIR
# shellcheck disable=SC2317 # tap_check calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect NAME TEXT LIST [OPTION...]: a run of the list prints the text.
expect() {
    local status=0
    printf '%s\n' "$3" >"$work/list"
    "$here/run" --list "$work/list" "${@:4}" "$build" >"$work/out" 2>&1 ||
        status=$?
    echo "exit status $status" >>"$work/out"
    if [[ $(<"$work/out") == *"$2"* ]]; then
        tap_ok "$1"
    else
        tap_not_ok "$1"
        echo "# wanted: $2"
        tap_comment <"$work/out"
    fi
}

# Each of some jobs is in one part.
divides_the_list() {
    local part
    for part in {1..9}; do
        echo "misbehave 1 3$part"
    done >"$work/list"
    for part in 1 2 3; do
        "$here/run" --list "$work/list" --part "$part/3" --seed 7 "$build" \
            >"$work/part$part" || return 1
    done
    # As many as there are, and one of them has not all.
    (($(cat "$work"/part? | grep -c '^ok') == 9)) &&
        (($(grep -c '^ok' "$work/part1") < 9))
}
tap_check "parts of a list are the list" divides_the_list

# Those that are named are run whatever the part; with --drawn the part of them.
draws_named() {
    local all drawn
    all=$("$here/run" --list "$work/list" --part 1/3 --seed 7 "$build" \
        misbehave | grep -c '^ok') || return 1
    drawn=$("$here/run" --list "$work/list" --part 1/3 --seed 7 --drawn \
        "$build" misbehave | grep -c '^ok') || return 1
    ((all == 9 && drawn == $(grep -c '^ok' "$work/part1")))
}
tap_check "those that are named are run all, or drawn" draws_named

# under MPI VERSION FUNCTION STATUS...: what lib/launcher.sh says there.
under() {
    # shellcheck disable=SC2034 # the functions use them
    local launcher_mpi=$1 launcher_version=$2
    # shellcheck source-path=SCRIPTDIR source=../lib/launcher.sh
    source "$here/../lib/launcher.sh"
    "${@:3}"
}

knows_exits() {
    under openmpi 4 exits_with 117 117 && ! under openmpi 4 exits_with 117 9 &&
        under mpich 4 exits_with 117 9 && ! under mpich 4 exits_with 0 9 &&
        ! under mpich 4 exits_with 117 1
}
tap_check "only MPICH's launcher returns 9 for another status" knows_exits

knows_recovery() {
    under openmpi 4 recovers_with 0 && ! under openmpi 4 recovers_with 117 &&
        under openmpi 5 recovers_with 117 && ! under openmpi 5 recovers_with 9 &&
        under mpich 5 recovers_with 9 && ! under mpich 5 recovers_with 1
}
tap_check "what a launcher returns that went on" knows_recovery

expect "a good test is ok" "ok 1 - misbehave -n 2" "misbehave 2 30"
expect "the runner then succeeds" "exit status 0" "misbehave 2 30"
expect "a failed check" "not ok 1 - misbehave -n 2 fail" \
    "misbehave 2 30 arg=fail"
expect "the runner then fails" "exit status 1" "misbehave 2 30 arg=fail"
expect "a wrong exit status" "exit status 3, not 0" "misbehave 1 30 arg=exit"
expect "a wanted exit status" "ok 1 - misbehave -n 1 exit" \
    "misbehave 1 30 arg=exit
    exit: 3"
expect "success where failure is wanted" "exit status 0, not another" \
    "misbehave 1 30
    exit: nonzero"
expect "success where a job is wanted that went on" \
    "ok 1 - misbehave -n 2 recovery" "misbehave 2 30 recovery"
expect "the launcher is told to go on" "-recovery -n 1" \
    "misbehave 1 30 arg=fail recovery
    exit: 5"
expect "a missing text" "no 'rain' on stderr" "misbehave 1 30
    stderr: rain"
expect "a text on the other stream" "no 'on stderr' on stdout" \
    "misbehave 1 30
    stdout: on stderr"
expect "an unwanted text" "'on stderr' on stderr" "misbehave 1 30
    no stderr: on stderr"
expect "a skip and its reason" "# SKIP there is no weather" \
    "misbehave 2 30 arg=skip"
expect "a hang" "timed out after 1 s" "misbehave 2 1 arg=hang"
expect "a hang has no status" "not ok 1 - misbehave -n 2 hang" \
    "misbehave 2 1 arg=hang
    exit: nonzero"
expect "what a hang waits in" "    misbehave S " "misbehave 1 4 arg=hang"
expect "a process left behind" "processes left behind, killed now" \
    "misbehave 1 30 arg=leave"
expect "a program that was not built" "was not built" "no_such_program 1 30"
expect "two programs in one job" "ok 1 - misbehave:test_status -n 1:2" \
    "misbehave:test_status 1:2 30"
expect "a program of another folder" "/tests/other/misbehave was not built" \
    "misbehave 1 30" --programs tests/other
expect "a command before each program" "exit status 0" \
    "misbehave 2 30 arg=fail" --before "env true"
expect "a bad line" "Bail out!" "misbehave two 30"
expect "an unknown word" "Bail out!" "misbehave 2 30 wrong"
expect "a last line without newline is run" "1..2" "misbehave 1 30
misbehave 1 30"
expect "those that wait are counted on, in the list's order" \
    "ok 1 - misbehave -n 1 exit
ok 2 - misbehave -n 1
ok 3 - misbehave -n 2" "misbehave 1 30 waits
misbehave 2 30 waits
misbehave 1 30 arg=exit
    exit: 3"
expect "a failure among those that wait" "not ok 2 - misbehave -n 1 exit
# exit status 3, not 0" "misbehave 1 30 waits
misbehave 1 30 arg=exit waits
misbehave 2 30 waits"
expect "more that wait than run at a time" "ok 12 - misbehave -n 1" "$(for ((i = 0; i < 12; i++)); do echo misbehave 1 30 waits; done)"
tap_done
