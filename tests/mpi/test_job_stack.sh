#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_job_stack.sh - jd-info --job --stack shows where a process of a job that
# runs stands, and a deadline where the one does that has not come.
# usage: test_job_stack.sh BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$1
# shellcheck source-path=SCRIPTDIR source=late_job.sh
source "$here/late_job.sh"

# pid_of PROCESS: as the table of the job has it.
pid_of() {
    "$build/tools/jd-info" --job "$address" |
        awk -v process="$1" '$1 == process { print $4 }'
}

# All have come, and 1 is where it waits; at most 20 s.
until_all_are_in() {
    local deadline=$((SECONDS + 20))
    until (($("$build/tools/jd-info" --job "$address" 2>&1 |
        grep -cE 'waits in jd_sync|nothing of jd yet') == 3)); do
        ((SECONDS < deadline)) || return 1
        sleep 0.05
    done
}

# The reason why a stack cannot be read here, or nothing.
why_not() {
    command -v gdb >/dev/null || command -v eu-stack >/dev/null || {
        echo "neither gdb nor eu-stack here"
        return
    }
    look --stack 1 || grep -o 'its stack may not be read there: .*' "$work/shown" ||
        true
}

# A real tool, on a process that waits and on the one that serves.
by_a_real_tool() {
    local status=0 reason
    reason=$(why_not)
    if [[ -n $reason ]]; then
        tap_skip "where process 1 stands" "$reason"
        return
    fi
    look --stack 1 || status=$?
    expect "where process 1 stands" "$status" '^process 1 \(late, pid [0-9]+ on ' \
        '^#[0-9]+ .* wait_for_file' '^#[0-9]+ .* main'
    status=0
    look --stack 0 || status=$?
    expect "and process 0, which serves" "$status" '^process 0 \(late, pid ' \
        '^#[0-9]+ .* main'
}

not_there() {
    local status=0
    look --stack 99 || status=$?
    expect "there is no such process" $((status != 1)) \
        "^jd-info: the job at $address: the stack: there is no process 99: the job's last is 2$"
    status=0
    JD_SECRET=guess look --stack 1 || status=$?
    expect "another secret is not let in" $((status != 1)) \
        'it does not know the job.s secret'
}

# One that is stopped cannot answer; it goes on, and one that is dead is known
# to be so.
stopped() {
    local status=0 pid
    pid=$(pid_of 1)
    kill -STOP "$pid"
    look --stack 1 || status=$?
    kill -CONT "$pid"
    expect "one that is stopped is named" $((status != 1)) \
        "the stack: process 1 \(late, pid $pid on .*\) has not shown its stack within 15 s, and was last heard [0-9.]+ s ago; one that is stopped"
}

with_secret() {
    local -x JD_SECRET=sesame
    start
    until_all_are_in || echo "# they have not come"
    by_a_real_tool
    not_there
    stopped
    finish "the job was not disturbed"
}

# fake NAME SCRIPT: a tool of that name, the first in PATH, and no other.
fake() {
    mkdir -p "$work/tools"
    printf '#!/bin/sh\n%s\n' "$2" >"$work/tools/$1"
    chmod +x "$work/tools/$1"
}

# The job's processes have these tools.
by_a_fake_tool() {
    local status=0
    local -x JD_SECRET=sesame
    fake eu-stack "cat '$work/said'; kill -0 \$2"
    PATH=$work/tools:$PATH start
    until_all_are_in || echo "# they have not come"
    echo "ptrace: Operation not permitted." >"$work/said"
    look --stack 2 || status=$?
    expect "what is not allowed" $((status != 1)) \
        'process 2 \(late, pid [0-9]+ on .*\): its stack may not be read there: the tool.s last line is "ptrace: Operation not permitted."; a child must be let trace it: sysctl kernel.yama.ptrace_scope at most 1'
    printf '#0 \e[2Jhere\n' >"$work/said"
    status=0
    look --stack 2 || status=$?
    expect "a terminal is not to obey it" "$status" '^#0 \?\[2Jhere$'
    finish "a job whose stacks were asked for"
}

turned_off() {
    local status=0
    local -x JD_SECRET=sesame
    start JD_STACK=0
    until_all_are_in || echo "# they have not come"
    look --stack 1 || status=$?
    expect "JD_STACK=0" $((status != 1)) \
        'process 1 \(late, .*\): it has JD_STACK=0: nobody may ask for its stack$'
    finish "a job that shows none"
}

# to_its_deadline SCRIPT [WHERE]: a job that waits for 1 in vain, there, whose
# eu-stack is that. Leaves its status.
to_its_deadline() {
    local late_in=${2-psum}
    status=0
    fake eu-stack "$1"
    PATH=$work/tools:$PATH start JD_COLLECTIVE_TIMEOUT=2 JD_BARRIER_TIMEOUT=2
    job_end || status=$?
    cp "$work/err" "$work/shown"
}

# Those that give up: one of them shows it, and none goes before it has.
at_a_deadline() {
    local status shown
    to_its_deadline "printf '#0 \\033[2Jhere in %s\\n' \$2"
    expect "a deadline shows where the one stands" $((status == 0)) \
        '^jd [02]/3 .* warning jd_psum over axis "p": where the one stands that it has waited for, process 1 \(late, pid [0-9]+ on .*\):$' \
        '^#0 \?\[2Jhere in [0-9]+$' \
        'jd_psum over axis "p": process [02] has waited 2(\.[0-9]+)? s for process 1 .*; the deadline was 2 s'
    shown=$(grep -c '^#0 ' "$work/err") || true
    expect "once for all that give up" $((shown != 1)) '^#0'
}

# at_a_barrier WHERE CALL: so does the deadline of a wait at the service, whose
# sentence comes after it.
at_a_barrier() {
    local status shown
    to_its_deadline "printf '#0 here in %s\\n' \$2" "$1"
    expect "a deadline of $2 shows it too" $((status == 0)) \
        "^jd [02]/3 .* warning $2 \"met\": where the one stands that it has waited for, process 1 \(late, pid [0-9]+ on .*\):\$" \
        '^#0 here in [0-9]+$' \
        "$2 \"met\": gave up after [0-9.]+ s, waiting for process 1 .*; the deadline was 2 s \(JD_BARRIER_TIMEOUT changes it\)"
    shown=$(grep -c '^#0 ' "$work/err") || true
    expect "once for all that give up" $((shown != 1)) '^#0'
}

# A time that the program gave is its own: nobody is stopped for it.
by_its_own_plan() {
    local status
    to_its_deadline "printf '#0 here in %s\\n' \$2" plan
    ! grep -q '^#0 ' "$work/err" || status=0
    expect "a wait's own timeout shows none" $((status == 0)) \
        'jd_wait_at_barrier "met": gave up after [0-9.]+ s, waiting for process 1 .*; the deadline was 2 s \(its timeout changes it\)'
}

at_a_barrier_without_tools() {
    local status
    to_its_deadline "echo 'ptrace: Operation not permitted.'; exit 1" ''
    expect "nor can it there" $((status == 0)) \
        ' info jd_sync_global_devices "met": where process 1 stands is not known: .*process 1 \(late, .*its stack may not be read there' \
        'jd_sync_global_devices "met": gave up after '
}

# It says why it has none at info level, and the deadline stays what it is.
at_a_deadline_without_tools() {
    local status
    to_its_deadline "echo 'ptrace: Operation not permitted.'; exit 1"
    expect "where it cannot be read" $((status == 0)) \
        ' info jd_psum over axis "p": where process 1 stands is not known: .*process 1 \(late, .*its stack may not be read there' \
        '; the deadline was 2 s'
}

# hide_tools: a PATH with what a job needs, and neither gdb nor eu-stack.
hide_tools() {
    local name path
    mkdir -p "$work/bare"
    for name in mpirun orted ssh rsh timeout sh sed sleep rm; do
        path=$(command -v "$name") || continue
        ln -sf "$path" "$work/bare/$name"
    done
}

by_a_signal() {
    local status=0
    local -x JD_SECRET=sesame
    hide_tools
    PATH=$work/bare start JD_STACK_SIGNAL=RTMIN+3
    until_all_are_in || echo "# they have not come"
    look --stack 1 || status=$?
    expect "without tools a signal takes one thread's stack" "$status" \
        '^process 1 \(late, pid [0-9]+ on ' \
        '^Thread [0-9]+, which has called jd last, and no other: taken by SIGRTMIN\+3 \(JD_STACK_SIGNAL\), as no tool could read all$' \
        "^#[0-9]+ +0x[0-9a-f]+ $(in_late wait_for_file)" \
        "^#[0-9]+ +0x[0-9a-f]+ $(in_late main)"
    status=0
    look --stack 0 || status=$?
    expect "also of one that waits in jd" "$status" '^process 0 \(late, pid ' \
        "^#[0-9]+ +0x[0-9a-f]+ $(in_late main)"
    finish "a job whose stacks a signal has taken"
}

# in_late FUNCTION: how a frame of it looks, as a pattern; without libdw a place
# in the file is all.
in_late() {
    if ldconfig -p 2>/dev/null | grep 'libdw\.so\.1' >/dev/null; then
        echo "late\.c:[0-9]+ \($1\+0x[0-9a-f]+\)"
    else
        echo "late\+0x[0-9a-f]+"
    fi
}

# The tool is not let, as in a container.
at_a_deadline_by_a_signal() {
    local status late_in=psum
    status=0
    fake eu-stack "echo 'ptrace: Operation not permitted.'; exit 1"
    PATH=$work/tools:$PATH start JD_COLLECTIVE_TIMEOUT=2 JD_BARRIER_TIMEOUT=2 \
        JD_STACK_SIGNAL=USR2
    job_end || status=$?
    cp "$work/err" "$work/shown"
    expect "and a deadline shows it" $((status == 0)) \
        '^jd [02]/3 .* warning jd_psum over axis "p": where the one stands that it has waited for, process 1 \(late, pid [0-9]+ on .*\):$' \
        '^Thread [0-9]+, which has called jd last, and no other: taken by SIGUSR2 ' \
        "^#[0-9]+ +0x[0-9a-f]+ $(in_late wait_for_file)"
}

refused_signal() {
    local status=0
    local -x JD_SECRET=sesame
    JD_STACK_SIGNAL=SEGV timeout 60 mpirun --oversubscribe -n 2 \
        "$build/tests/mpi/late" >"$work/shown" 2>&1 || status=$?
    expect "a signal that cannot be used" $((status == 0)) \
        'JD_STACK_SIGNAL is "SEGV", but it must be one of USR1, USR2, '
}

clear_foreign_variables
command -v mpirun >/dev/null || tap_skip_all "no mpirun here"
if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
with_secret
by_a_fake_tool
turned_off
at_a_deadline
at_a_deadline_without_tools
at_a_barrier '' jd_sync_global_devices
at_a_barrier barrier jd_wait_at_barrier
by_its_own_plan
at_a_barrier_without_tools
by_a_signal
at_a_deadline_by_a_signal
refused_signal
tap_done
