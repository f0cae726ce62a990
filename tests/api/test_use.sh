#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_use.sh - programs as users write them run, and leave no public macro
# out. usage: test_use.sh SOURCE_DIR PROGRAM...
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clear_foreign_variables
source_dir=$1
shift

# jd's macros that the headers leave defined, without their guards.
public_macros() {
    local header name
    for header in "$source_dir"/include/jd*.h; do
        sed -nE 's/^#[[:space:]]*define[[:space:]]+((JD|jd)_[A-Za-z_0-9]+).*/\1/p' \
            "$header" | while IFS= read -r name; do
            grep -qE "^#[[:space:]]*undef[[:space:]]+$name\b" "$header" ||
                [[ $name == *_H ]] || echo "$name"
        done
    done | sort -u
}

# uses FILE: prints the public macros that the program does not use.
uses() {
    local name
    for name in $(public_macros); do
        grep -qw "$name" "$here/$1" || echo "$name is not used in $1"
    done
}

for file in use_c.c use_cxx.cpp; do
    uses "$file" >"$work/out"
    tap_result "$file uses each macro" "$(($(wc -l <"$work/out") > 0))" \
        "$work/out"
done
for program in "$@"; do
    name=$(basename "$program")
    status=0
    "$program" >"$work/out" 2>&1 || status=$?
    tap_result "$name runs" "$status" "$work/out"
    status=0
    "$program" fail >"$work/out" 2>&1 || status=$?
    if ((status == 1)) &&
        grep -qE 'use_c.*:[0-9]+: .*INVALID_ARGUMENT: ' "$work/out"; then
        tap_ok "JD_CHECK ends $name"
    else
        tap_not_ok "JD_CHECK ends $name with exit status 1, not $status"
        tap_comment <"$work/out"
    fi
done
tap_done
