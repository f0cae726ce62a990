#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_library.sh - the module jd has every public function of C's headers, or
# the file left_out says why not, and each is called by a test; its programs run
# by jd-run and without a launcher; sentences name the line of the program.
# usage: test_library.sh SOURCE_DIR BUILD_DIR

# Functions are called through `tap_check`:
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=../api/declared.sh
source "$here/../api/declared.sh"
source_dir=$1 build=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# ---- what there is --------------------------------------------------------

functions_of_c() {
    declared "$source_dir"/include/jd*.h | sort -u
}

# The names that the modules make public, in a program's `use jd`.
public_names() {
    grep -hE '^ *public :: ' "$source_dir"/fortran/*.f90 |
        grep -oE '\bjd_[a-z0-9_]+' | sort -u
}

left_out() {
    sed -n 's/^\(jd_[a-z0-9_]*\): .*/\1/p' "$here/left_out" | sort
}

# The names that programs use, comments aside.
used_names() {
    cat "$source_dir"/tests/fortran/*.f90 \
        "$source_dir"/mpi_examples/*/*.f90 | sed 's/!.*//' |
        grep -oE '\bjd_[a-z0-9_]+' | sort -u
}

# is_empty: what was found, which is shown otherwise.
is_empty() {
    [[ ! -s $work/out ]]
}

check_complete() {
    : >"$work/err"
    comm -23 <(functions_of_c) <(sort -u <(public_names) <(left_out)) >"$work/out"
    tap_check "every function of C is in the module or left out" is_empty
    comm -12 <(public_names) <(left_out) >"$work/out"
    tap_check "nothing is left out that is there" is_empty
    comm -13 <(functions_of_c) <(left_out) >"$work/out"
    tap_check "what is left out is a function of C" is_empty
    comm -23 <(public_names) <(used_names) >"$work/out"
    tap_check "each public name is used by a program" is_empty
}

# constants FILE: "NAME NUMBER" of C's enums, in lower case.
constants_of_c() {
    sed -nE 's/^ *X\(([A-Z0-9]+|[A-Z_]+), ([0-9]+), .*/\1 \2/p' \
        "$source_dir"/include/jd_status.h "$source_dir"/include/jd_dtype.h |
        tr '[:upper:]' '[:lower:]' | sort
}

constants_of_fortran() {
    sed -n '/Statuses/,/most dim/p' "$source_dir/fortran/types.f90" |
        grep -oE 'jd_[a-z0-9_]+ = [0-9]+' |
        sed 's/^jd_//; s/ = / /' | sort
}

check_constants() {
    diff <(constants_of_c) <(constants_of_fortran) >"$work/out" || true
    tap_check "statuses and types have C's numbers" is_empty
}

# ---- how it runs ----------------------------------------------------------

# run COMMAND...: into out, err and status.
run() {
    status=0
    timeout --kill-after=5 60 "$@" >"$work/out" 2>"$work/err" </dev/null ||
        status=$?
}

succeeds() {
    ((status == 0))
}

# says_line MARK: the line of test_ends.f90 that ends in "! MARK".
says_line() {
    local line
    line=$(grep -n "! $1\$" "$here/test_ends.f90" | cut -d: -f1)
    ((status == 1)) && grep -qF "error test_ends.f90:$line (" "$work/err"
}

check_launchers() {
    local program
    for program in test_collectives test_process; do
        run "$build/tests/fortran/$program"
        tap_check "$program without a launcher" succeeds
        if [[ -x $build/runtime/wireup/server/jd-pmix-server ]]; then
            run "$build/tools/jd-run" -n 2 "$build/tests/fortran/$program"
            tap_check "$program by jd-run" succeeds
        else
            tap_skip "$program by jd-run" "built without PMIx"
        fi
    done
}

has_lines() {
    [[ $(ldconfig -p) == *libdw.so.1* ]] &&
        [[ $("$build/tools/jd-info" --build) =~ libdw\ +[0-9] ]]
}

# Standard error is a file, which Fortran writes when it pleases.
has_own_words() {
    ((status != 0)) && grep -qx 'its own words' "$work/err"
}

check_words() {
    local how
    for how in direct abort; do
        run "$build/tests/fortran/test_ends" "$how"
        tap_check "what was written before is there, $how" has_own_words
    done
}

check_lines() {
    local how
    for how in direct procedure check body; do
        run "$build/tests/fortran/test_ends" "$how"
        if has_lines; then
            tap_check "a failure names its line, $how" says_line "$how"
        else
            tap_skip "a failure names its line, $how" "no libdw here"
        fi
    done
}

clear_foreign_variables
check_complete
check_constants
check_launchers
check_lines
check_words
tap_done
