#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_headers.sh - a header of the stand-in says what the real one says; NCCL's
# where the major and minor numbers of their versions are the same.
# usage: test_headers.sh STANDIN_PROGRAM REAL_PROGRAM, which print what they say
# (cuda_header.c, nccl_header.c).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Patch numbers may differ.
patched='^(NCCL_VERSION_CODE|ncclConfig_t.version) '
"$1" | grep -Ev "$patched" >"$work/standin"
"$2" | grep -Ev "$patched" >"$work/real"
standin=$(head -n 1 "$work/standin")
real=$(head -n 1 "$work/real")
[[ $standin == "$real" ]] ||
    tap_skip_all "the installed header is $real's, the stand-in's $standin's"

status=0
diff "$work/standin" "$work/real" >"$work/diff" || status=$?
tap_result "names, values and layouts" "$status" "$work/diff"
tap_done
