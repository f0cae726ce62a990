#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_rehearsal.sh - scripts/test-gpu on the stand-ins: what it runs, and what it
# says of it. usage: test_rehearsal.sh SOURCE_DIR BUILD_DIR
# shellcheck disable=SC2317 # tap_check calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
source=$1 build=$2
clear_foreign_variables
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# rehearse GPUS PARTS [VARIABLE...]: into $work/out, $work/err and status.
rehearse() {
    status=0
    env "${@:3}" "$source/scripts/test-gpu" --stand-in "$1" --only "$2" \
        --no-build --build "$build" >"$work/out" 2>"$work/err" </dev/null ||
        status=$?
}

# ends STATUS TEXT...: each text is on a line.
ends() {
    local text
    ((status == $1)) || return 1
    for text in "${@:2}"; do
        grep -qE -e "$text" "$work/out" || return 1
    done
}

rehearse 1 sharing,failures,large
tap_check "processes on one GPU: parts pass, and say what they would show" ends 0 \
    '^passed   NCCL between 2 processes on one GPU' \
    "^         NCCL's bytes go via STANDIN/socket" \
    '^passed   test_cuda_program -n 3 .* stopped, on one GPU' \
    '^passed   psum of 3000017 U8, 2 processes on one GPU' \
    '^         would show: who does not come'
tap_check "what takes several GPUs is not looked at" ends 0 \
    '^skipped  failures, on several GPUs: there are not 3 GPUs here but 1' \
    '^         not looked at: what members of one host hear'
tap_check "a table says what was seen" ends 0 \
    '^1 GPU, a process  .* no  .* the module' \
    "^1 GPU, 2 to 4 processes .* rehearsed  NCCL's calls" \
    '^several GPUs of a host .* no  .* NVLink' \
    '^several hosts .* no  .* InfiniBand' \
    "^On stand-ins: none of this is a GPU's result"

rehearse 1 sharing,large STANDIN_NCCL_VERSION=23000
tap_check "an NCCL that can have ranks share a GPU" ends 0 \
    '^passed   NCCL between 2 processes on one GPU'
rehearse 1 sharing,failures,large STANDIN_NCCL_VERSION=23000 \
    NCCL_MULTI_RANK_GPU_ENABLE=0
tap_check "one that refuses: skipped, with its words" ends 0 \
    '^skipped  NCCL between 2 .*: NCCL 2.30.0 refuses .*: Duplicate GPU detected' \
    '^skipped  failures, on one GPU: NCCL 2.30.0 refuses' \
    '^skipped  counts over 2\^31, 2 processes on one GPU: NCCL 2.30.0 refuses' \
    '^1 GPU, 2 to 4 processes .* no  '

rehearse 1 sharing STANDIN_FAIL=ncclCommInitRankConfig:1:2
tap_check "a failure is shown, and in the table" ends 1 \
    '^FAILED   NCCL between 2 processes on one GPU' \
    'ncclCommInitRankConfig failed: system error' \
    '^         not shown: NCCL lets' \
    '^1 GPU, 2 to 4 processes .* FAILED'

rehearse 3 programs,sharing,large,examples
tap_check "on three GPUs" ends 0 \
    '^passed   test_cuda_program -n 3 .* graphs, on several GPUs' \
    '^passed   tests/nccl_standin/test_cuda_threads -n 1 .* late, on several' \
    '^passed   NCCL between 3 GPUs, a process each' \
    '^passed   psum of 3000017 F32, 3 processes with a GPU each' \
    '^passed   mpi_examples/01_hello, 3 process' \
    '^several GPUs of a host .* rehearsed'

# The stand-in's GPUs have 1 GiB.
status=0
JD_PLATFORM=cuda JD_PLATFORM_DIR=$build/tests/nccl_standin \
    "$build/tests/conformance/conform" --large >"$work/out" 2>"$work/err" ||
    status=$?
tap_check "counts that a GPU has no memory for" ends 0 \
    '^large psum of 2\^31 \+ 5 U8 skipped: each GPU needs 2.0 GiB, and 1.0 GiB beside: '
tap_done
