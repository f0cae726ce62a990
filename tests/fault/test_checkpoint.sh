#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_checkpoint.sh - a process is killed, or a call fails, at every write,
# fsync, rename and removal of a save; the disk is full; a file changes while
# it is read. The checkpoint before is whole, and the next save works.
# usage: test_checkpoint.sh BUILD_DIR

# Functions are called through `check`:
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$(cd "$1" && pwd)
saver=$build/tests/fault/saver
interrupt=$build/tests/fault/libinterrupt.so
most_calls=100
limit=$((60 * ${TEST_TIME_FACTOR:-1})) # seconds, for one run
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/place"
dir=$work/place/checkpoint

# alone ARGS...: saver as one process, into out, err and status.
alone() {
    status=0
    env ${TEST_PRELOAD:+"LD_PRELOAD=$TEST_PRELOAD"} timeout "$limit" "$saver" "$@" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# together ARGS...: as three, with what FAULT_* say.
together() {
    status=0
    timeout --kill-after=5 "$limit" mpirun --oversubscribe -n 3 env \
        "LD_PRELOAD=${TEST_PRELOAD:+$TEST_PRELOAD:}$interrupt" "$saver" "$@" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# is_generation N...: the checkpoint is whole, and one of these.
is_generation() {
    local n
    alone check "$dir"
    ((status == 0)) || return 1
    for n in "$@"; do
        [[ $(<"$work/out") != "generation $n" ]] || return 0
    done
    return 1
}

# is_clean: nothing but the checkpoint is there.
is_clean() {
    [[ $(ls "$work/place") == checkpoint ]] ||
        { ls "$work/place" >"$work/out" && return 1; }
}

# recovers N: after a crash in the save of generation N.
recovers() {
    is_generation $(($1 - 1)) "$1" || return 1
    alone save "$dir" $(($1 + 1))
    ((status == 0)) && is_generation $(($1 + 1)) && is_clean
}

# each_call HOW RANK NAME: that process meets it at its first call, at its
# second, and so on, until there is no such call or a test fails. Sets calls.
each_call() {
    local generation=2 name=$3 failed_before=$tap_failed
    rm -rf "$work/place"
    mkdir "$work/place"
    alone save "$dir" 1
    export FAULT_PATH=$work/place FAULT_HOW=$1 FAULT_RANK=$2 FAULT_CALL
    for ((FAULT_CALL = 1; FAULT_CALL < most_calls; FAULT_CALL++)); do
        "try_$name" "$generation" || break
        ((tap_failed == failed_before)) || break
        generation=$((generation + 2))
    done
    calls=$((FAULT_CALL - 1))
    unset FAULT_PATH FAULT_HOW FAULT_RANK FAULT_CALL
}

# try_kill N: fails where nobody was killed.
try_kill() {
    together save "$dir" "$1"
    ((status != 0)) || return 1
    tap_check "killed at call $FAULT_CALL of process $FAULT_RANK" recovers "$1"
}

# has_failed N: alike on all, with the process, and the next save works.
has_failed() {
    ((status == 0)) && is_generation $(($1 + 1)) && is_clean
}

# try_error N: fails where the save did not: where what fails only removes what
# is no longer needed, or there is no such call.
try_error() {
    together fail "$dir" "$1"
    ((status != 3)) || return 1
    tap_check "error $FAULT_HOW at call $FAULT_CALL of process $FAULT_RANK" \
        has_failed "$1"
}

# at_least N: so many calls were tried.
at_least() {
    ((calls >= $1))
}

check_kills() {
    each_call kill 0 kill
    tap_check "process 0 makes many calls ($calls)" at_least 19
    each_call kill 2 kill
    tap_check "process 2 makes some calls ($calls)" at_least 4
    export FAULT_NO_EXCHANGE=1
    each_call kill 0 kill
    tap_check "names that cannot be exchanged: more calls ($calls)" at_least 21
    unset FAULT_NO_EXCHANGE
}

check_errors() {
    each_call 28 0 error # ENOSPC
    tap_check "process 0 has many calls that fail ($calls)" at_least 10
    each_call 5 2 error # EIO
    tap_check "process 2 has some calls that fail ($calls)" at_least 4
}

# says TEXT: the last run ended well, with the text.
says() {
    ((status == 0)) && grep -qE -e "$1" "$work/out"
}

check_sentences() {
    alone save "$dir" 1
    export FAULT_PATH=$work/place FAULT_HOW=28 FAULT_RANK=2 FAULT_CALL=3
    together fail "$dir" 2
    tap_check "process, host, file, offset, cause and remedy are named" says \
        "^RESOURCE_EXHAUSTED: jd_array_save: process 2 on host .* could not write $dir.tmp-[0-9a-f]{16}/matrix.2.npy at offset 128: No space left on device; free space, or use another disk\$"
    unset FAULT_PATH FAULT_HOW FAULT_RANK FAULT_CALL
}

check_two_errors() {
    alone save "$dir" 1
    export FAULT_PATH=.npy FAULT_HOW=28 FAULT_CALL=6 FAULT_SYNC=5
    export FAULT_RANK=1 JD_NUM_CPU_DEVICES=2
    together fail "$dir" 2
    tap_check "the first of two errors is told" says \
        "^RESOURCE_EXHAUSTED: jd_array_save: process 1 on host .* could not write .*: No space left on device;"
    unset FAULT_PATH FAULT_HOW FAULT_CALL FAULT_SYNC FAULT_RANK JD_NUM_CPU_DEVICES
}

check_slow() {
    export FAULT_PATH=$work/place FAULT_HOW=slow
    together save "$dir" 50
    unset FAULT_PATH FAULT_HOW
    tap_check "short and interrupted writes are finished" is_generation 50
}

# The length is looked at before the header is read; the elements follow.
check_readers() {
    local text
    export FAULT_PATH=matrix.1.npy FAULT_CALL=2 FAULT_HOW
    for FAULT_HOW in truncate flip; do
        text='matrix.1.npy ends at offset 2527, 1 bytes too early;'
        [[ $FAULT_HOW == truncate ]] ||
            text='matrix.1.npy, block 1 \(\[3:6,0:100\]\) of "matrix", at offset 128: the CRC32C of 2400 bytes is '
        FAULT_CALL=0 together save "$dir" 60
        FAULT_RANK=1 together damaged "$dir"
        tap_check "$FAULT_HOW while it is read" says "DATA_LOSS: jd_array_restore: process 1 on host .*$text"
    done
    unset FAULT_PATH FAULT_CALL FAULT_HOW
}

# A disk of 2 MiB, which only these processes see.
check_full() {
    local disk=$work/disk name="a full disk"
    mkdir "$disk"
    if ! unshare --mount mount -t tmpfs -o size=2m none "$disk" 2>/dev/null; then
        tap_skip "$name" "no right to mount a small disk here"
        return
    fi
    status=0
    # shellcheck disable=SC2016 # the inner shell expands it
    unshare --mount sh -c 'mount -t tmpfs -o size=2m none "$1" &&
        exec timeout --kill-after=5 "$4" mpirun --oversubscribe -n 3 \
            env "LD_PRELOAD=$3" "$2" full "$1/checkpoint" 8000' \
        sh "$disk" "$saver" "${TEST_PRELOAD:-}" "$limit" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
    tap_check "$name" says "could not write .* No space left on device; free space"
}

main() {
    clear_foreign_variables
    if ((EUID == 0)); then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    command -v mpirun >/dev/null || tap_skip_all "no mpirun here"
    check_kills
    check_errors
    check_sentences
    check_two_errors
    check_slow
    check_readers
    check_full
    tap_done
}

main
