# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# PyTorch's real torchrun on two hosts, without a variable of jd.
# timeout: 180
torchrun=${TORCHRUN:-torchrun}
command -v "$torchrun" >/dev/null ||
    skip "there is no torchrun here (pip install torch)"

# joins OPTION...: an agent on each host, with its number where static.
joins() {
    local node started=() pid status=0
    for node in 0 1; do
        bed_on h$node "$torchrun" --nnodes 2 --nproc-per-node 2 \
            "${@//NODE/$node}" --no-python \
            "$build/mpi_examples/01_hello/hello" \
            >"$work/out.$node" 2>&1 </dev/null &
        started+=($!)
    done
    for pid in "${started[@]}"; do
        wait "$pid" || status=$?
    done
    output=$(cat "$work"/out.*)
    echo "$output"
    ((status == 0))
    expect_count 1 '^4 devices in 4 processes: 10$'
}

joins --rdzv-backend c10d --rdzv-id bed --rdzv-endpoint h0:29400
joins --rdzv-backend c10d --rdzv-id bed --rdzv-endpoint h1:29401
joins --node-rank NODE --master-addr h0 --master-port 29402
