# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# Another user has the port where a step's service would be, on its host, before
# the step starts, and knows the job's name. Munge says who he is not.
# needs: slurm
# timeout: 120
evil=OMPI_MCA_mca_base_component_path=$work/plugins
id=$(salloc --no-shell -N2 -n2 2>&1 |
    sed -n 's/.*Granted job allocation \([0-9]*\)/\1/p')
bed_exec h0 setpriv --reuid=65534 --regid=65534 --clear-groups \
    "$build/tests/wireup/rogue" 4321 2 "$evil" "slurm-$id.0" \
    >"$work/rogue" 2>&1 </dev/null &
rogue=$!
bed_wait 30 "the rogue" grep -q listens "$work/rogue"

refused env "SLURM_JOB_ID=$id" JD_COORDINATOR_ADDRESS=h0:4321 \
    JD_INITIALIZATION_TIMEOUT=10 srun --mpi=none --kill-on-bad-exit=0 -N2 -n2 \
    "$build/tests/cluster/where"
expect_count 1 'jd_initialize: the coordination service cannot start: .*rogue \(pid [0-9]+, user 65534\)'
expect_count 1 'process 1 has not reached the coordination service in .*what answers there (shows no munge credential, which a Slurm job.s service has|does not know the job.s secret)'
grep -q 'handed out' "$work/rogue" && { echo "the rogue was believed"; exit 1; }

kill "$rogue"
scancel "$id"
