# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# munged does not answer in a Slurm job: its processes do not do without it.
# Where they know each other by MPI the job goes on, and nobody can look at it.
# needs: slurm
# timeout: 120
munged=$(<"$BED_DIR/munge/pid")
trap 'kill -CONT "$munged"' EXIT
kill -STOP "$munged"

by_hand=(env SLURM_JOB_ID=17 JD_COORDINATOR_ADDRESS=h1:4321
    JD_NUM_PROCESSES=2 JD_PROCESS_ID=1 JD_INITIALIZATION_TIMEOUT=60)
refused bed_on h0 "${by_hand[@]}" "$build/tests/cluster/where"
expect 'in a Slurm job \(SLURM_JOB_ID is set\) the processes know each other by munge, but munged has not answered within 5 s; .* give the job a secret with JD_SECRET_FILE'

run bed_mpirun --mca ras ^slurm --host h0:2 -n 2 env SLURM_JOB_ID=17 \
    "$build/tests/cluster/where"
expect_places 0:h0 1:h0
expect_count 1 'warning jd-info --job cannot look at this job: in a Slurm job .*JD_SECRET_FILE'
