#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_numpy.sh - what Fortran saves is what NumPy reads, its dimensions the other
# way round: x(i, j) is x[j - 1, i - 1]. usage: test_numpy.sh BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clear_foreign_variables

find_python() {
    local candidate
    for candidate in "${TEST_PYTHON:-python3}" /usr/bin/python3; do
        ! "$candidate" -c 'import numpy' 2>/dev/null ||
            { echo "$candidate"; return; }
    done
}

# read_array NAME: all of its blocks, where the index says, are the numbers.
read_array() {
    "$python" - "$work/saved" "$1" <<'TEXT'
import sys

import numpy

folder, name = sys.argv[1:]
whole = numpy.full((7, 5), -1, numpy.float32)
for line in open(folder + '/index.jd'):
    words = line.split()
    if words[0] == 'block' and words[-1].startswith(name + '.'):
        at = tuple(slice(*map(int, part.split(':')))
                   for part in words[1].split(','))
        whole[at] = numpy.load(folder + '/' + words[-1])
wanted = [[100 * i + j for i in range(1, 6)] for j in range(1, 8)]
print(whole)
sys.exit(not (whole == wanted).all())
TEXT
}

python=$(find_python)
[[ -n $python ]] || tap_skip_all "no NumPy here"
for processes in 1 3; do
    rm -rf "$work/saved"
    status=0
    "$build/tools/jd-run" -n "$processes" "$build/tests/fortran/save_numbers" \
        "$work/saved" >"$work/out" 2>&1 || status=$?
    tap_result "$processes processes save it" "$status" "$work/out"
    for name in columns whole; do
        status=0
        read_array "$name" >"$work/out" 2>&1 || status=$?
        tap_result "NumPy reads \"$name\" of $processes" "$status" "$work/out"
    done
done
tap_done
