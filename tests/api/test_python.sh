#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_python.sh - the Python package: its tests, and that pip installs it
# without a network. TEST_PYTHON is the Python to take, else the first of those
# here that has NumPy, else one without.
# usage: test_python.sh SOURCE_DIR BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
source_dir=$1
build=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clear_foreign_variables

# Whether it is a Python that jd is for.
is_python() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null
}

choose_python() {
    local candidate
    [[ -z ${TEST_PYTHON:-} ]] || { echo "$TEST_PYTHON"; return; }
    for candidate in python3 /usr/bin/python3; do
        ! "$candidate" -c 'import numpy' 2>/dev/null ||
            ! is_python "$candidate" || { echo "$candidate"; return; }
    done
    for candidate in python3 /usr/bin/python3; do
        ! is_python "$candidate" || { echo "$candidate"; return; }
    done
}

# What setuptools needs to make a wheel.
can_install() {
    "$python" - <<'TEXT'
import importlib.metadata as metadata, sys
found = {}
for name in ('pip', 'setuptools', 'wheel'):
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        if name != 'wheel':
            sys.exit(f'no {name} here')
version = found['setuptools']
if 'wheel' not in found and tuple(map(int, version.split('.')[:2])) < (70, 1):
    sys.exit(f'setuptools {version} here, and no wheel')
TEXT
}

# As doc/python.md says it, from a copy: setuptools writes beside its sources.
install() {
    cp -R "$source_dir/python" "$work/source" &&
        "$python" -m pip install --quiet --no-index --no-build-isolation \
            --no-deps --target "$work/lib/python/site-packages" "$work/source" &&
        (cd "$work" && PYTHONPATH=lib/python/site-packages \
            JD_LIBRARY=$build/libjd.so "$python" -c 'import jd
with jd.initialize():
    assert jd.process_count() == 1 and "site-packages" in jd.__file__')
}

python=$(choose_python)
[[ -n $python ]] || tap_skip_all "no Python 3.9 or newer here"

status=0
if can_install 2>"$work/out"; then
    install >"$work/out" 2>&1 || status=1
else
    status=77
fi
tap_result "pip installs it without a network" "$status" "$work/out"

JD_LIBRARY=$build/libjd.so JD_PLATFORM=cpu TEST_BUILD=$build \
    PYTHONPATH=$source_dir/python PYTHONDONTWRITEBYTECODE=1 \
    "$python" "$source_dir/python/tests/tap.py" \
    "$source_dir"/python/tests/test_*.py >"$work/results" 2>"$work/errors" ||
    true
tap_replay < <(sed '/^1\.\./d' "$work/results")
# A crash of Python's is no result.
status=0
grep -q '^1\.\.' "$work/results" || status=1
tap_result "all of them ran" "$status" "$work/errors"
tap_done
