# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# jd-info --job looks at a job of Slurm on two hosts: munge vouches for its
# user, and nobody has to know a secret.
# needs: slurm
# timeout: 90
JD_LOG=info srun --job-name=table --mpi=pmix -N2 -n4 \
    "$build/tests/mpi/late" "$work/go" \
    >"$work/job.log" 2>&1 &
job=$!

listens() {
    grep -q 'coordination service listens at' "$work/job.log"
}
both_hosts_wait() {
    look && expect_count 3 'waits in jd_sync_global_devices "met"' >/dev/null
}
look() {
    # Inside the allocation's own environment: munge is a Slurm job's way.
    output=$(SLURM_JOB_ID=$id "$build/tools/jd-info" --job "$address" 2>&1)
}

bed_wait 30 "the service" listens
address=$(sed -n 's/.*service listens at \([^ ]*\) .*/\1/p' "$work/job.log")
id=$(squeue --noheader --name=table --format=%A) # others may be ending
bed_wait 20 "the table" both_hosts_wait || {
    echo "$output"
    false
}
echo "$output"
expect '^0 +CONNECTED +h0 '
expect '^3 +CONNECTED +h1 '
expect '^1 +CONNECTED .* nothing of jd yet$'

# One whom munge does not vouch for.
refused env JD_SECRET=guess "$build/tools/jd-info" --job "$address"
expect 'it brings no munge credential, which this job asks for; set JD_SECRET_FILE where there is no munge$'

touch "$work/go"
wait "$job"
