#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_symbols.sh - the module of GPUs loads with an NCCL that is older than the
# headers it was built with: what the oldest (2.18) lacks is weak in it.
# usage: test_symbols.sh PLATFORM_CUDA_SO
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v nm >/dev/null || tap_skip_all "there is no nm here"

# NCCL 2.18.1's header has these, of those that jd calls.
cat >"$work/oldest" <<'NAMES'
ncclAllGather
ncclAllReduce
ncclBroadcast
ncclCommAbort
ncclCommDestroy
ncclCommFinalize
ncclCommGetAsyncError
ncclCommInitRankConfig
ncclCommSplit
ncclGetErrorString
ncclGetLastError
ncclGetUniqueId
ncclGetVersion
ncclGroupEnd
ncclGroupStart
ncclRecv
ncclReduceScatter
ncclSend
NAMES
nm -D --undefined-only "$1" >"$work/all"
awk '$1 == "U" && $2 ~ /^nccl/ { print $2 }' "$work/all" | sort >"$work/needed"
status=0
comm -23 "$work/needed" "$work/oldest" >"$work/newer"
[[ ! -s $work/newer ]] || status=1
tap_result "no newer name is needed" "$status" "$work/newer"
tap_check "newer ones are used where they are there" \
    grep -q ' w ncclMemAlloc$' "$work/all"
tap_check "so are those by which a call ends that hangs" \
    grep -q ' w ncclCommRevoke$' "$work/all"
tap_done
