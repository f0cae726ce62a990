# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# A second interface of both hosts that swallows every packet: MPI waits for
# what it sends there, and says nothing. JD_INTERFACE keeps MPI off it too.
# timeout: 120
hello=$build/mpi_examples/01_hello/hello

# The cases after this one have one interface again, however this one ends.
remove() {
    local i
    for i in 0 1; do
        bed_on h$i ip link del eth1 2>/dev/null || true
    done
}
trap remove EXIT

for i in 0 1; do
    # Its other end takes what is meant for nobody's address, and drops it.
    bed_on h$i ip link add eth1 type veth peer name nowhere
    bed_on h$i ip addr add 192.168.77.$((i + 1))/24 dev eth1
    bed_on h$i ip link set nowhere up
    bed_on h$i ip link set eth1 up
    bed_on h$i ip neigh add 192.168.77.$((2 - i)) lladdr 02:00:00:00:00:01 \
        dev eth1 nud permanent
done

# apart NAME=VALUE...: two processes that no launcher starts; both failures
# and successes are looked at.
apart() {
    local index started=() pid status=0
    for index in 0 1; do
        bed_on h$index env JD_COORDINATOR_ADDRESS=10.78.0.1:4321 \
            JD_NUM_PROCESSES=2 "JD_PROCESS_ID=$index" JD_SECRET=sesame "$@" \
            "$hello" >"$work/out.$index" 2>&1 </dev/null &
        started+=($!)
    done
    for pid in "${started[@]}"; do
        wait "$pid" || status=$?
    done
    output=$(cat "$work"/out.*)
    echo "$output"
    return $status
}

for chosen in eth0 10.78.0.0/16 ^eth1; do
    apart JD_INTERFACE="$chosen"
    expect_count 1 '^2 devices in 2 processes: 3$'
    run bed_mpirun -n 2 --host h0:1,h1:1 --mca oob_tcp_if_include 10.78.0.0/24 \
        -x JD_INTERFACE="$chosen" "$hello"
    expect_count 1 '^2 devices in 2 processes: 3$'
done

# Without it, the sentence says what to try.
! apart JD_INITIALIZATION_TIMEOUT=8 || { echo "this should hang"; exit 1; }
expect 'error jd_initialize\(\) has waited .* s in MPI_Comm_dup, its step 3 of 6'
expect 'where some are on other hosts, MPI may wait for an interface that leads nowhere: JD_INTERFACE chooses the one that all hosts share'
