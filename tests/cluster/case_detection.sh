# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# What jd-info finds out from real launchers' variables.
# needs: slurm

# found METHOD COUNT COMMAND...: jd-info's answer in each process it starts.
found() {
    local method=$1 count=$2
    shift 2
    run "$@" "$build/tools/jd-info"
    expect_count "$count" "^method +$method( |\$)"
    expect_count "$count" "^num_processes +$count( |\$)"
}

found openmpi 4 bed_mpirun -n 4 --host h0:2,h1:2
found slurm 4 srun --mpi=none -N2 -n4
found slurm 4 srun --mpi=pmi2 -N2 -n4
found slurm 4 srun --mpi=pmix -N2 -n4
found slurm 2 salloc -N2 -n4 srun --mpi=pmix -N1 -n2
found openmpi 4 salloc -N2 -n4 mpirun
found none 1 salloc -N2 -n4

# srun tells where process 0 is, with -m arbitrary on two hosts too, because
# each knows its own processes; mpirun does not.
run srun --mpi=none -N2 -n4 "$build/tools/jd-info"
expect_count 4 '^coordinator_address +h0:[0-9]+ '
printf '%s\n' h1 h1 h0 h1 >"$work/hosts"
SLURM_HOSTFILE=$work/hosts run srun --mpi=none -N2 -n4 -m arbitrary \
    "$build/tools/jd-info"
expect_count 4 '^coordinator_address +h1:[0-9]+ '
