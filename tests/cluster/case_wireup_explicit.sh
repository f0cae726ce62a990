# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# Processes that no launcher has started, on two hosts: with explicit variables,
# and with those of a TPU-style pod.
# timeout: 120

# start HOST NAME=VALUE... -- COMMAND...: in the background, into out.N.
started=()
start() {
    local host=$1 variables=()
    shift
    while [[ $1 != -- ]]; do
        variables+=("$1")
        shift
    done
    shift
    bed_on "$host" env "${variables[@]}" "$@" \
        >"$work/out.${#started[@]}" 2>&1 </dev/null &
    started+=($!)
}

# finish: all have ended well; what they said is the output.
finish() {
    local pid status=0
    for pid in "${started[@]}"; do
        wait "$pid" || status=$?
    done
    output=$(cat "$work"/out.*)
    echo "$output"
    rm -f "$work"/out.*
    started=()
    return $status
}

# explicit INDEX HOST COMMAND...
explicit() {
    start "$2" JD_COORDINATOR_ADDRESS=h0:4321 JD_NUM_PROCESSES=4 \
        "JD_PROCESS_ID=$1" JD_SECRET=sesame -- "${@:3}"
}

# Indices that are not in the order of hosts; process 0 comes last.
explicit 3 h0 "$build/tests/cluster/where"
explicit 1 h0 "$build/tests/cluster/where"
explicit 2 h1 "$build/tests/cluster/where"
explicit 0 h0 "$build/tests/cluster/where"
finish
expect_count 1 'process 0 of 4 on h0, '
expect_count 1 'process 1 of 4 on h0, '
expect_count 1 'process 2 of 4 on h1, '
expect_count 1 'process 3 of 4 on h0, '

# A TPU-style pod: worker 0 is the coordinator.
for worker in 0 1; do
    start h$worker TPU_WORKER_ID=$worker TPU_WORKER_HOSTNAMES=h0,h1 \
        JD_SECRET=sesame -- "$build/mpi_examples/01_hello/hello"
done
finish
expect_count 1 '^2 devices in 2 processes: 3$'
expect_count 0 'the job has no secret'

# Without a secret it works too, and says so once.
for index in 0 1; do
    start h$index JD_COORDINATOR_ADDRESS=h0:4321 JD_NUM_PROCESSES=2 \
        JD_PROCESS_ID=$index -- "$build/mpi_examples/01_hello/hello"
done
finish
expect_count 1 '^2 devices in 2 processes: 3$'
expect_count 1 'warning the job has no secret: whoever reaches port 4321 of this host can come in as one of its processes, read and change what they tell each other and end the job, and whoever has that port first can play its coordination service; set JD_SECRET_FILE, the same for all processes \(JD_REQUIRE_SECRET=1 makes this an error\)$'

# Where one is required, it does not.
for index in 0 1; do
    start h$index JD_COORDINATOR_ADDRESS=h0:4321 JD_NUM_PROCESSES=2 \
        JD_PROCESS_ID=$index JD_REQUIRE_SECRET=1 -- \
        "$build/mpi_examples/01_hello/hello"
done
finish || true
expect_count 2 'JD_REQUIRE_SECRET is set, and the job has neither a secret nor'

# One that never comes is named on those that did.
for index in 0 2; do
    start h$((index / 2)) JD_COORDINATOR_ADDRESS=h0:4321 JD_NUM_PROCESSES=3 \
        JD_PROCESS_ID=$index JD_INITIALIZATION_TIMEOUT=6 JD_SECRET=sesame -- \
        "$build/mpi_examples/01_hello/hello"
done
! finish || false
expect_count 2 'DEADLINE_EXCEEDED: jd_initialize: the meeting at the coordination service: gave up after .* s, waiting for process 1, which has not come; the deadline was .* s \(JD_INITIALIZATION_TIMEOUT changes it\)$'

# A coordinator on loopback, and processes on two hosts. Nobody knows of the
# hosts: whoever gives up says what it may be, process 0, one beside it, and one
# that finds nothing on its own host.
for index in 0 1 2; do
    start h$((index / 2)) JD_COORDINATOR_ADDRESS=localhost:4321 \
        JD_NUM_PROCESSES=3 JD_PROCESS_ID=$index JD_INITIALIZATION_TIMEOUT=6 \
        JD_SECRET=sesame -- "$build/mpi_examples/01_hello/hello"
done
! finish || false
loopback='localhost:4321 \(JD_COORDINATOR_ADDRESS\) is a loopback address, which only processes of process 0.s own host can reach: where there are others, give its host by a name or address that they can reach$'
expect_count 2 "DEADLINE_EXCEEDED: jd_initialize: .*, waiting for process 2, which has not come; .*; $loopback"
expect_count 1 "DEADLINE_EXCEEDED: jd_initialize: process 2 has not reached the coordination service in .* s; it tried .*127.0.0.1:4321: Connection refused.*; $loopback"
