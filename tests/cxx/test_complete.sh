#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_complete.sh - jd.hpp leaves no call of C out: each public function is
# called by a header of C++, in a template that some test makes, or jd.hpp says
# that it is plain on purpose.
# usage: test_complete.sh SOURCE_DIR PROGRAM...
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=../api/declared.sh
source "$here/../api/declared.sh"
include=$1/include
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The names in the list at the end of jd.hpp's comment.
plain() {
    sed -n '/^ \* Plain on purpose/,/^ \*\//p' "$include/jd.hpp" |
        grep -oE '\bjd_[a-z0-9_]+' | sort
}

# What the headers' code names, whatever their comments say.
named() {
    code_of "$include"/jd*.hpp | grep -oE '\bjd_[a-z0-9_]+\b' | sort -u
}

called() {
    local program
    for program in "$@"; do
        nm --dynamic --undefined-only --format=posix "$program"
    done | awk '{ sub(/@.*/, "", $1); print $1 }' | grep '^jd_' | sort -u
}

# none NAME FILE: nothing is in it.
none() {
    local status=0
    [[ ! -s $2 ]] || status=1
    tap_result "$1" "$status" "$2"
}

declared "$include"/jd*.h | sort -u >"$work/declared"
plain >"$work/plain"
named >"$work/named"
called "$@" >"$work/called"

comm -23 "$work/declared" <(sort -u "$work/plain" "$work/named") >"$work/out"
none "each call of C is wrapped, or plain on purpose" "$work/out"
comm -23 "$work/plain" "$work/declared" >"$work/out"
none "what jd.hpp calls plain exists" "$work/out"
comm -23 <(comm -12 "$work/declared" "$work/named") \
    <(sort -u "$work/plain" "$work/called") >"$work/out"
none "a test calls each wrapper" "$work/out"
grep -onE '\bjd_[a-z0-9_]+\(' "$here"/test_*.cpp |
    grep -v 'jd_barrier(' >"$work/out" || true
none "by C++ and not by C" "$work/out"

# A new call of C is seen.
echo 'JD_API jd_status jd_planted(int *ret_value);' >"$work/jd_planted.h"
declared "$include"/jd*.h "$work/jd_planted.h" | sort -u >"$work/declared"
comm -23 "$work/declared" <(sort -u "$work/plain" "$work/named") >"$work/out"
if [[ $(<"$work/out") == jd_planted ]]; then
    tap_ok "a call that is left out is seen"
else
    tap_not_ok "a call that is left out is seen"
    tap_comment <"$work/out"
fi
tap_done
