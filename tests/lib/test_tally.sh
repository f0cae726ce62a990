#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_tally.sh - the counting of scripts/test is honest: nothing that failed
# or was skipped counts as passed. usage: test_tally.sh TALLY_PY
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=tap.sh
source "$here/tap.sh"
tally=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/build-x/meson-logs/testlog.json
mkdir -p "$(dirname "$log")"

# counts NAME LAST_LINE STATUS [TALLY_ARGUMENT...]: with the log as it is.
counts() {
    local name=$1 last=$2 wanted=$3 status=0
    shift 3
    "$tally" "$@" -- "$log" >"$work/out" 2>&1 || status=$?
    if [[ $(tail -n 1 "$work/out") == "$last" ]] && ((status == wanted)); then
        tap_ok "$name"
    else
        tap_not_ok "$name"
        echo "# wanted: $last, exit status $wanted, not $status"
        tap_comment <"$work/out"
    fi
}

# says NAME TEXT: the last tally has the line.
says() {
    if grep -qxF -e "$2" "$work/out"; then
        tap_ok "$1"
    else
        tap_not_ok "$1"
        tap_comment <"$work/out"
    fi
}

# logged RESULT STDOUT: the log of one test.
logged() {
    printf '{"name": "jd:s / t", "result": "%s", "stdout": "%s"}\n' "$1" "$2" \
        >"$log"
}

logged OK 'ok 1 - a\nok 2 - b\n1..2'
counts "results of TAP" "2 passed, 0 failed, 0 skipped" 0
logged OK ''
counts "a plain test" "1 passed, 0 failed, 0 skipped" 0
logged FAIL 'ok 1 - a\nnot ok 2 - b\n# why\n1..2'
counts "a failed result" "1 passed, 1 failed, 0 skipped" 1
says "it is named" "failed: build-x: s / t: b"
says "its comment is shown" "    # why"
logged FAIL "not ok 1 - a$(printf '\\n# ok %d - b' {1..50})\\n# not ok 51 - c\\n# why$(
    printf '\\n# ok %d - d' {52..100})"
counts "a failure in a runner of its own" "0 passed, 1 failed, 0 skipped" 1
says "is not cut out among what passed there" "    # not ok 51 - c"
says "and says why" "    # why"
logged FAIL "not ok 1 - a$(printf '\\n# noise %d' {1..50})\\n# $(
    )jd 1/2 h:9 error why$(printf '\\n# noise %d' {51..100})"
counts "a long comment" "0 passed, 1 failed, 0 skipped" 1
says "the library's last words are not cut out" "    # jd 1/2 h:9 error why"
says "what was is marked" "    ..."
logged ERROR 'ok 1 - a'
counts "a crash after a passed result" "1 passed, 1 failed, 0 skipped" 1
logged TIMEOUT ''
counts "a time limit" "0 passed, 1 failed, 0 skipped" 1
logged OK 'ok 1 - a # SKIP no weather\nok 2 - b\n1..2'
counts "a skipped result" "1 passed, 0 failed, 1 skipped" 0
says "its reason is shown" "skipped: build-x: s / t: a: no weather"
logged SKIP '1..0 # SKIP no root'
counts "all skipped is no success" "0 passed, 0 failed, 1 skipped" 1
logged SKIP 'first\nno gpu\n'
counts "a plain skip" "0 passed, 0 failed, 1 skipped" 1
says "its reason is the last line" "skipped: build-x: s / t: no gpu"
logged OK 'ok 1 - a'
counts "a build that failed" "1 passed, 1 failed, 0 skipped" 1 \
    '--failed=the build of y'
counts "a build that was left out" "1 passed, 0 failed, 1 skipped" 0 \
    '--skipped=y: no clang here'
: >"$log"
counts "no test at all is no success" "0 passed, 0 failed, 0 skipped" 1
tap_done
