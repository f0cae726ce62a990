# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# Three hosts without PMIx: as many processes on each as Slurm likes, in any
# order. With -m arbitrary process 0 need not be on the first host of the list,
# and a process on another one has to look for it.
# needs: slurm
# timeout: 120
[[ -e $BED_DIR/h2.pid ]] || skip "this needs three hosts (--hosts 3)"
where=$build/tests/cluster/where

# on_three OPTION...: where, on all hosts.
on_three() {
    run srun -p all -N3 "$@" "$where"
}

# as_slurm_does OPTION...: the same, and each process is where Slurm itself,
# with the same options, puts the task of that number.
as_slurm_does() {
    local places
    places=$(srun -p all -N3 --mpi=none "$@" --label hostname)
    on_three "$@"
    # shellcheck disable=SC2086 # a word each
    expect_places ${places//: /:}
}

# arbitrary HOST...: process 0 on the first, and so on.
arbitrary() {
    printf '%s\n' "$@" >"$work/hosts"
    export SLURM_HOSTFILE=$work/hosts
}

as_slurm_does -n5 -m block --mpi=none
as_slurm_does -n5 -m cyclic --mpi=pmi2

# Process 0 on the last host of the list, and on the one in the middle.
arbitrary h2 h0 h2 h1 h2
on_three --mpi=none -n5 -m arbitrary
expect_places 0:h2 1:h0 2:h2 3:h1 4:h2
arbitrary h1 h2 h0 h1
JD_LOG=info on_three --mpi=pmi2 -n4 -m arbitrary
expect_places 0:h1 1:h2 2:h0 3:h1
expect_count 1 ' info no launcher serves MPI here: 4 processes on 3 hosts met at h1:[0-9]+ \(SLURM_STEP_NODELIST, SLURM_NODEID, SLURM_JOB_ID\), and '

# A first job's service is on h0 at the very port: the second passes it over.
# Both end in order.
unset SLURM_HOSTFILE
export JAX_COORDINATOR_PORT=5000
JD_LOG=info srun -N2 -n2 --mpi=none "$build/tests/mpi/late" "$work/go" \
    >"$work/first.log" 2>&1 &
first=$!
listens() {
    grep -q 'coordination service listens at' "$work/first.log"
}
bed_wait 30 "the first job" listens
arbitrary h2 h0 h1
on_three --mpi=none -n3 -m arbitrary
expect_places 0:h2 1:h0 2:h1
touch "$work/go"
wait "$first"

# Process 0 never starts: the others say where they have looked.
export JD_INITIALIZATION_TIMEOUT=10
# shellcheck disable=SC2016 # the inner shell expands it
refused srun -p all -N3 -n3 -m arbitrary --mpi=none bash -c \
    '((SLURM_PROCID == 0)) || exec "$0"' "$where"
tried='has not found the coordination service in .* s; SLURM_DISTRIBUTION is arbitrary: process 0 is on one of 2 hosts of SLURM_STEP_NODELIST, which were tried in turn:'
expect_count 1 "DEADLINE_EXCEEDED: jd_initialize: process 1 $tried h1:5000, h2:5000 \\(Connection refused\\); see whether process 0 has started, or set JD_COORDINATOR_ADDRESS to its host"
expect_count 1 "DEADLINE_EXCEEDED: jd_initialize: process 2 $tried h0:5000, h2:5000 \\(Connection refused\\); see"
