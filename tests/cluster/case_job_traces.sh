# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# jd-trace --job on a job of two hosts: one process of each shows what all of its
# host have called, with the clocks of both by one; and the files show the same.
# timeout: 90
# shellcheck source-path=SCRIPTDIR source=../lib/partings.sh
source "$here/../lib/partings.sh"
export JD_LOG=info JD_SECRET=sesame
export JD_COLLECTIVE_TIMEOUT=$((20 * ${TEST_TIME_FACTOR:-1}))
export JD_TRACE_DIR=$work/traces
bed_mpirun -n 4 --host h0:2,h1:2 -x JD_LOG -x JD_SECRET -x JD_TRACE_DIR \
    -x JD_COLLECTIVE_TIMEOUT "$build/tests/mpi/late" "$work/go" psum \
    >"$work/job.log" 2>&1 &
job=$!

listens() {
    grep -q 'coordination service listens at' "$work/job.log"
}
look() {
    output=$("$build/tools/jd-trace" --job "$address" 2>&1)
}
is_named() {
    look && grep -q '^culprit: process 1 on h0: ' <<<"$output"
}
bed_wait 30 "the service" listens
address=$(sed -n 's/.*service listens at \([^ ]*\) .*/\1/p' "$work/job.log")
bed_wait 60 "process 1's name" is_named || {
    echo "$output"
    false
}
echo "$output"
expect "^Job [0-9a-f]{16}, which runs at $address: calls of 4 of 4 processes, of 2 hosts\$"
expect '^    processes 0,2-3 wait in jd_psum of 1 x F64 at '
partings <<<"$output" >"$work/live"

! wait "$job"
output=$("$build/tools/jd-trace" "$work/traces" 2>&1)
partings <<<"$output" >"$work/files"
[[ -s $work/live ]]
diff "$work/live" "$work/files"
