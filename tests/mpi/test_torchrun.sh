#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_torchrun.sh - the example under PyTorch's real torchrun, in its forms of
# one host, without a variable of jd. tests/cluster/case_torchrun.sh has those
# of two. TORCHRUN names it where it is not in PATH.
# usage: test_torchrun.sh BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$1
torchrun=${TORCHRUN:-torchrun}
command -v "$torchrun" >/dev/null ||
    tap_skip_all "there is no torchrun here (pip install torch)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clear_foreign_variables

# joins NAME OPTION...: torchrun with these starts one job of two processes.
joins() {
    local name=$1 status=0
    shift
    timeout $((120 * ${TEST_TIME_FACTOR:-1})) "$torchrun" --nproc-per-node 2 \
        "$@" --no-python "$build/mpi_examples/01_hello/hello" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
    cat "$work/err" >>"$work/out"
    grep -qx '2 devices in 2 processes: 3' "$work/out" || status=1
    tap_result "$name" "$status" "$work/out"
}

# A port of this test's own for what wants one; two tests at once differ.
port=$((20000 + $$ % 10000))
joins "torchrun"
joins "torchrun --standalone" --standalone
joins "torchrun with a c10d rendezvous" --rdzv-backend c10d \
    --rdzv-endpoint "localhost:$port"
joins "torchrun --master-port" --master-port "$port"
tap_done
