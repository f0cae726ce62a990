# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# Two hosts that are machines of their own, as far as a program sees: boot ids that
# are unlike, and clocks that began at unlike times, whose difference jd-trace finds
# out, of a job that runs and of its files, within the error that it says.
# timeout: 90
unshare --time true 2>/dev/null || skip "this machine has no time namespaces"
offset=86363
cat >>/etc/hosts <<'HOSTS'
10.78.0.101 m0
10.78.0.102 m1
HOSTS
bed_add_host m0 10.78.0.101 37
bed_add_host m1 10.78.0.102 $((37 + offset))

# The topology has both boots.
output=$(bed_mpirun -n 2 --host m0:1,m1:1 "$build/tools/jd-info" --topology --json)
for host in m0 m1; do
    expect "\"name\": \"$host\", \"boot_id\": \"$(<"$BED_DIR/$host.boot")\""
done

export JD_LOG=info JD_SECRET=sesame JD_TRACE=1 JD_TRACE_DIR=$work/traces
bed_mpirun -n 4 --host m0:2,m1:2 -x JD_LOG -x JD_SECRET -x JD_TRACE \
    -x JD_TRACE_DIR "$build/tests/mpi/late" "$work/go" psum \
    >"$work/job.log" 2>&1 &
job=$!

listens() {
    grep -q 'coordination service listens at' "$work/job.log"
}
look() {
    output=$("$build/tools/jd-trace" --job "$address" 2>&1)
}
is_named() {
    look && grep -q '^culprit: process 1 on m0: ' <<<"$output"
}

# "...: -86362.999991 s, off by 202 us at most": the truth is no further away.
expect_offset() {
    expect '^  times of m1 are aligned to the clock of process 0.s host: '
    sed -n 's/^  times of m1 .*host: \(-*[0-9.]*\) s, off by \(.*\) at most$/\1 \2/p' \
        <<<"$output" |
        awk -v truth="-$offset" '
            BEGIN { unit["s"] = 1; unit["ms"] = 1e-3; unit["us"] = 1e-6
                    unit["ns"] = 1e-9 }
            { error = $1 - truth; if (error < 0) error = -error
              print "off by " error " s, said " $2 " " $3
              found = $3 in unit && error <= $2 * unit[$3] + 1e-6 &&
                      $2 * unit[$3] < 1 }
            END { exit !found }'
}
bed_wait 30 "the service" listens
address=$(sed -n 's/.*service listens at \([^ ]*\) .*/\1/p' "$work/job.log")
bed_wait 60 "process 1's name" is_named || {
    echo "$output"
    false
}
echo "$output"
expect_offset
touch "$work/go"
wait "$job"
output=$("$build/tools/jd-trace" "$work/traces" 2>&1)
echo "$output"
expect_offset
