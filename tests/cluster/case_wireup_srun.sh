# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# srun without PMIx serves nothing that Open MPI can use: jd makes the world,
# with a server of its own on each host, and the same programs run.
# needs: slurm
# timeout: 120
# Servers end when the last process of their host has. /tmp is the machine's own,
# where other tests have servers too: the folders of this bed's have the number of
# its namespace of processes in their names.
number=$(printf %06x $(($(stat -Lc %i /proc/self/ns/pid) & 0xffffff)))
list_left() {
    pgrep -a -x jd-pmix-server || true
    compgen -G "/tmp/jd-wireup-*-$number-*" || true
    bed_on h1 bash -c 'compgen -G "/dev/shm/*segment*"' || true
}
nothing_is_left() { [[ -z $(list_left) ]]; }

for mpi in none pmi2; do
    run srun --mpi=$mpi -N2 -n4 --ntasks-per-node=2 "$build/tests/cluster/where"
    expect_places 0:h0 1:h0 2:h1 3:h1
done
run srun --mpi=none -N2 -n4 --ntasks-per-node=2 -m cyclic \
    "$build/tests/cluster/where"
expect_places 0:h0 1:h1 2:h0 3:h1

# Uneven: two on one host, one on the other.
run srun --mpi=none -N2 -n3 -m plane=2 "$build/tests/cluster/where"
expect_places 0:h0 1:h0 2:h1

# One line says how the world was made.
run env JD_LOG=info srun --mpi=none -N2 -n4 "$build/tests/cluster/where"
expect_count 1 'jd 0/4 h0:[0-9]+ info no launcher serves MPI here: 4 processes on 2 hosts met at h0:[0-9]+ \(SLURM_STEP_NODELIST.*\), and jd-pmix-server joined them to one world$'
# Its own process is let in by munge at the first try.
expect_count 0 'info process 0: this process: connected, but nothing of jd answered'

# A coordinator on loopback: each knows at once of the other host.
refused env JD_COORDINATOR_ADDRESS=localhost:4321 srun --mpi=none -N2 -n4 \
    "$build/tests/cluster/where"
expect_count 4 "INVALID_ARGUMENT: jd_initialize: JD_COORDINATOR_ADDRESS is localhost:4321, which only processes of process 0's own host can reach, but [13] of 4 processes are on this host \(SLURM_STEP_TASKS_PER_NODE, SLURM_NODEID\); give process 0's host by a name or address that the others can reach, or none\$"

# Two jobs at once do not meet.
run srun --mpi=none -N2 -n2 --exclusive "$build/tests/cluster/where" &
run srun --mpi=none -N2 -n2 --overlap "$build/tests/cluster/where"
wait $!

# Nor do two steps of one job, both there at once: the second comes and goes
# while the first is held.
steps_at_once() {
    local status=0
    JD_LOG=info srun --mpi=none --overlap -N2 -n2 "$build/tests/mpi/late" \
        "$work/go" >"$work/held.log" 2>&1 &
    bed_wait 30 "the first step" grep -q 'joined them to one world' \
        "$work/held.log" || status=1
    [[ $(list_left) == */jd-wireup-* ]] || status=1 # it is seen
    run srun --mpi=none --overlap -N2 -n2 "$build/tests/cluster/where" || status=1
    touch "$work/go"
    wait $! || status=1
    cat "$work/held.log"
    return $status
}
in_one_job() {
    local status=0
    SLURM_JOB_ID=$(salloc --no-shell -N2 -n2 2>&1 |
        sed -n 's/.*Granted job allocation \([0-9]*\)/\1/p')
    export SLURM_JOB_ID
    "$@" || status=1
    scancel "$SLURM_JOB_ID"
    unset SLURM_JOB_ID
    return $status
}
in_one_job steps_at_once
expect_places 0:h0 1:h1

bed_wait 10 "the servers' ends" nothing_is_left || {
    list_left
    false
}
