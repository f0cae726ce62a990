# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# A host whose link goes down: both sides end within the heartbeat timeout, and
# each says who is missing. What they say goes to files, because the launcher
# is cut off too; it ends nobody, so that each comes to say it. The last signs
# of life of two processes of a host may be a fifth of the timeout apart.
# timeout: 90
cat >"$work/start" <<'TEXT'
#!/bin/bash
exec "$BUILD/tests/fault/witness" "$BUILD/tests/mpi/late" "$FAULT_DIR/never" \
    2>"$FAULT_DIR/err.$OMPI_COMM_WORLD_RANK"
TEXT
chmod +x "$work/start"

export BUILD=$build FAULT_DIR=$work JD_HEARTBEAT_TIMEOUT=5 JD_LOG=info
bed_mpirun -x BUILD -x FAULT_DIR -x JD_HEARTBEAT_TIMEOUT -x JD_LOG \
    --enable-recovery --mca orte_abort_on_non_zero_status 0 \
    -n 4 --host h0:2,h1:2 "$work/start" >"$work/mpirun.log" 2>&1 &
launcher=$!

have_met() {
    grep -qs 'coordination service listens' "$work/err.0"
}
have_ended() {
    [[ -s $work/code.0 && -s $work/code.1 && -s $work/code.2 &&
        -s $work/code.3 ]]
}

bed_wait 30 "the processes" have_met
ip link set veth-h1 down
bed_wait 30 "the end of all" have_ended || {
    tail -n 5 "$work"/err.* "$work/mpirun.log"
    false
}
ip link set veth-h1 up
kill -KILL "$launcher"

output=$(tail -n 3 "$work"/err.* "$work"/code.*)
echo "$output"
expect_count 4 '^117$'
expect_count 2 '^jd [01]/4 .* error processes 2-3 \(all of h1\) failed: process 2 \(late, pid [0-9]+ on h1\): no sign of life for [0-9.]+ s \(its host is down or cut off, or it is stopped; JD_HEARTBEAT_TIMEOUT is 5 s\), '
expect_count 2 '^jd [23]/4 .* error process 0 \(late, pid [0-9]+ on h0\): no sign of life for [0-9.]+ s \('
