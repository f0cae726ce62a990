#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_run.sh - the programs of this folder run alone and by MPI's launcher;
# where they throw, the job ends at once, with the sentence.
# usage: test_run.sh BUILD_DIR
# shellcheck disable=SC2317 # tap_check calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=../lib/launcher.sh
source "$here/../lib/launcher.sh"
build=$1 programs=$1/tests/cxx
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clear_foreign_variables
find_launcher "$1"

# run PROCESSES PROGRAM ARGS...: 0 processes are one without a launcher.
run() {
    local start=() folder
    (($1 == 0)) || start=("${launcher[@]}" -n "$1")
    folder=$(mktemp -d -p "$work")
    status=0
    timeout --kill-after=5 $((60 * ${TEST_TIME_FACTOR:-1})) "${start[@]}" \
        env ${TEST_PRELOAD:+"LD_PRELOAD=$TEST_PRELOAD"} \
        "$programs/$2" "${@:3}" ${FOLDER:+"$folder"} \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# ends STATUS [STREAM TEXT]
ends() {
    exits_with "$1" "$status" || return 1
    [[ -z ${2-} ]] || grep -qF -e "$3" "$work/$2"
}

# lacks TEXT: on standard error.
lacks() {
    ! grep -qF -e "$1" "$work/err"
}

# with_devices DEVICES PROCESSES PROGRAM ARGS...
with_devices() {
    export JD_NUM_CPU_DEVICES=$1
    run "${@:2}"
    unset JD_NUM_CPU_DEVICES
}

check_all() {
    local shape devices processes
    for shape in "1 0" "1 2" "1 4" "3 0" "2 2"; do
        read -r devices processes <<<"$shape"
        with_devices "$devices" "$processes" test_cxx
        tap_check "test_cxx: $processes processes of $devices" ends 0
        FOLDER=1 with_devices "$devices" "$processes" test_cxx_arrays
        tap_check "test_cxx_arrays: $processes processes of $devices" ends 0
    done
}

# line_of TEXT: of the program's source.
line_of() {
    grep -nF "$1" "$here/test_cxx_fails.cpp" | cut -d: -f1
}

has_libdw() {
    [[ $(ldconfig -p) == *libdw.so.1* ]] &&
        [[ $("$build/tools/jd-info" --build) =~ libdw\ +[0-9] ]]
}

check_lines() {
    run 3 test_cxx_fails differs
    if has_libdw; then
        tap_check "a mismatch has the lines of the program" ends 1 err \
            "process 1 calls at test_cxx_fails.cpp:$(line_of 'sum = jd::psum')"
        tap_check "and no line of jd's headers" lacks "called at jd_"
    else
        tap_skip "a mismatch has the lines of the program" "no libdw here"
    fi
}

check_failures() {
    run 3 test_cxx_fails run
    tap_check "an exception out of jd::run() on one process" ends 1 err \
        'jd::error: INVALID_ARGUMENT: jd_psum: the mesh has no axis "elsewhere"'
    tap_check "it names the program's line" ends 1 err "test_cxx_fails.cpp:$(
        grep -n 'jd::psum(me, "elsewhere", 1);' "$here/test_cxx_fails.cpp" |
            cut -d: -f1): "
    check_lines
    run 3 test_cxx_fails foreign
    tap_check "a std::exception out of jd::run()" ends 1 err \
        "std::exception: UNKNOWN: the input is empty"
    run 2 test_cxx_fails report
    tap_check "an exception that is reported" ends 3 err \
        "DATA_LOSS: the input is empty"
    run 3 test_cxx_fails unwound
    tap_check "a mesh that is unwound on one process" ends 0
    with_devices 2 0 test_cxx_fails body
    tap_check "an exception out of a body" ends 0 out "caught: the input is empty"
    with_devices 2 0 test_cxx_fails error
    tap_check "a jd::error out of a body" ends 0 out \
        "caught: jd_shard_map: device 1 (process 0, number 1): DATA_LOSS: the input is cut off"
    run 0 test_cxx_fails callback
    tap_check "an exception out of a callback" ends 1 err \
        "jd_abort: jd::on_preemption: the callback threw: nothing is saved"
}

if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
command -v "${launcher[0]}" >/dev/null || tap_skip_all "no ${launcher[0]} here"
check_all
check_failures
tap_done
