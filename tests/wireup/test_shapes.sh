#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_shapes.sh - worlds without a launcher on hosts of every kind: several
# jobs at once, names and addresses, users, disks, latecomers.
# usage: test_shapes.sh BUILD_DIR
# The conditions are called by is().
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=place.sh
source "$here/place.sh"

# run_job [HOST]: to its end.
run_job() {
    new_job "${1:-localhost}"
    begin 0 1 2 3
    finish
}

# ---- several jobs ------------------------------------------------------------

# Each job's number in MPI is in the names of its shared memory.
count_numbers() {
    local numbers
    numbers=$(find /dev/shm -name '*_segment.*' |
        sed -E 's/.*\.([0-9a-f]+)\.[0-9]+$/\1/' | sort -u | wc -l)
    ((numbers == $1))
}

# Of each job one is jd-run's, and one jd_initialize() has started.
count_servers() {
    (($(find /tmp -maxdepth 1 -name 'jd-wireup-*' | wc -l) == $1))
}

# Their processes' marks are in folders of their own.
test_several() {
    local jobs=3 i words=()
    new_job localhost
    for ((i = 0; i < jobs; i++)); do
        mkdir "$GATES/$i"
        : >"$GATES/$i/world.0.hold"
        GATES=$GATES/$i timeout --kill-after=5 "$limit" \
            "$build/tools/jd-run" -n 2 "$staged" \
            >"$work/out.$i" 2>"$work/err.$i" </dev/null &
        pids[i]=$!
        words+=("$GATES/$i/world.0" "$GATES/$i/world.1")
    done
    for word in "${words[@]}"; do until_true test -e "$word" || true; done
    is "several jobs at once have servers and names of their own" \
        count_servers "$((2 * jobs))" and until_true count_numbers "$jobs"
    rm -f "$GATES"/*/world.0.hold
    finish
    is "and all end well" ended 0 0 1 2 and \
        test "$(cat "$work"/out.* | sort | uniq -c | tr -s ' ')" = \
        " 3 2 processes" and place_is_clean
}

# ---- who is who --------------------------------------------------------------

# server_has PATTERN: a variable of the server or of its supervisor.
server_has() {
    local pid
    for pid in $(pgrep jd-pmix); do
        tr '\0' '\n' <"/proc/$pid/environ" | grep -E -e "^$1=" >/dev/null &&
            return 0
    done
    return 1
}

# Messages name a process by its variables in /proc.
test_identity() {
    hold_run
    is "the server is not taken for the process that has started it" \
        server_has GATES and test "$(server_has JD_PROCESS_ID; echo $?)" = 1
    finish_run
    is "and its world is made" world and place_is_clean
}

# ---- names and addresses -----------------------------------------------------

# As Debian's installer writes it.
test_loopback_name() {
    echo "127.0.0.1 localhost" >"$work/hosts"
    echo "127.0.1.1 $(hostname)" >>"$work/hosts"
    mount --bind "$work/hosts" /etc/hosts
    run_job "$(hostname)"
    umount /etc/hosts
    is "the host's name is 127.0.1.1" world and place_is_clean
}

# Beside loopback, where the kernel sees to 127.0.0.1.
test_ipv6() {
    run_job '[::1]'
    is "IPv6's loopback" world and place_is_clean
    if ! ip link add jd0 type veth peer name jd1 2>/dev/null; then
        tap_skip "a host with IPv6 alone" "ip(8) cannot make veth links here"
        return
    fi
    ip addr add fd00:7::1/64 dev jd0 nodad
    ip link set jd0 up
    ip link set jd1 up
    run_job '[fd00:7::1]'
    ip link del jd0
    is "a host with IPv6 alone" world and place_is_clean
}

# ---- users -------------------------------------------------------------------

test_nobody() {
    if ! $is_root; then
        tap_skip "another user, without a home" \
            "only root can become another; this was one already"
        return
    fi
    as=(setpriv --reuid=65534 --regid=65534 --clear-groups
        env HOME=/nonexistent)
    run_job
    is "another user, without a home" world and place_is_clean
    as=()
}

# ---- cores -------------------------------------------------------------------

# yields STAGE WORD: for each process.
yields() {
    (($(cat "$GATES/$1".? | grep -cx "yield $2") == count))
}

# Without a launcher that tells, the meeting does.
test_cores() {
    as=(taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')"
        env -u OMPI_MCA_mpi_yield_when_idle)
    run_job
    is "those that share a core let each other run" world and yields mpi 1 and \
        yields init 0 and yields world 0 and place_is_clean
    as=()
}

# ---- disks -------------------------------------------------------------------

# What is left under the mount is checked when it has gone. Process 0 fails
# while the others come out of the meeting: jd_initialize returns it where it is
# still in it.
test_disks() {
    mount -t tmpfs -o ro tmpfs /tmp
    hold_run
    is "/tmp is read-only: /dev/shm is taken" \
        test -n "$(find /dev/shm -path '*/jd-wireup-*/life')"
    finish_run
    is "and the world is made" world and place_is_clean
    JD_TMPDIR=/tmp run_job
    is "what JD_TMPDIR names is taken, or refused with its name" ended 1 0 and \
        says "MPI's server for host .*: a directory with room for 9 MiB cannot \
be made in /tmp: Read-only file system; JD_TMPDIR names another place" 0 and \
        ended '1|117' 1 2 3 and \
        says 'process 0 .*: reported an error: UNAVAILABLE: .* made in '\
'/tmp: Read-only file system; JD_TMPDIR names' 1 2 3 and place_is_clean
    JD_TMPDIR=$work/place run_job
    is "JD_TMPDIR names another" world and place_is_clean
    umount /tmp
    mount -t tmpfs -o size=1M,mode=1777 tmpfs /tmp
    run_job
    is "/tmp is full: /dev/shm is taken" world and place_is_clean
    JD_TMPDIR=/tmp run_job
    is "and said where JD_TMPDIR names it" ended 1 0 and \
        says 'made in /tmp: No space left on device; JD_TMPDIR names' 0 1 2 3 \
        and place_is_clean
    umount /tmp
}

hold_run() {
    new_job localhost
    hold world 0
    begin 0 1 2 3
    until_true marked world 0 1 2 3 || true
}

finish_run() {
    let_go
    finish
}

test_no_disk() {
    local place
    for place in /tmp /dev/shm /var/tmp; do
        mount -t tmpfs -o ro tmpfs "$place"
    done
    run_job
    for place in /tmp /dev/shm /var/tmp; do umount "$place"; done
    is "no place at all: each is named" ended 1 0 and \
        says 'cannot be made in /tmp: Read-only file system, /dev/shm: '\
'Read-only file system, /var/tmp: Read-only file system; JD_TMPDIR names' \
        0 1 2 3 and place_is_clean
    JD_TMPDIR=here run_job
    is "JD_TMPDIR is no absolute path" ended 1 0 1 2 3 and \
        says 'jd_initialize: JD_TMPDIR is "here", but it must be an absolute '\
'path; correct it or leave it out' 0 1 2 3 and place_is_clean
}

# ---- a start that fails for all ----------------------------------------------

takes_for_dead() { says 'closed without shutdown|exit code 117' "$@"; }

# Process 0 waits for process 1, or is taken for dead by it.
is_seen() {
    says 'process 0 has waited [0-9.]+ s for process 1' 0 || takes_for_dead 1
}

test_parting() {
    new_job localhost
    hold records 1
    JD_NUM_SLICES=2 JD_WAIT_NOTICE=300ms begin 0 1 2 3
    until_true is_seen || true
    finish_run
    is "a failure of all is everybody's own" ended 1 0 1 2 3 and says \
        'INVALID_ARGUMENT: jd_initialize: process 0 says slice -1 of 2 ' \
        0 1 2 3 and not takes_for_dead 1 and place_is_clean
}

# ---- time, and another MPI ---------------------------------------------------

# missed WHO: what is said of it.
missed() {
    echo "gave up after .* s, waiting for $1, which has not come; the deadline \
was .* s \\(JD_INITIALIZATION_TIMEOUT changes it\\)"
}

# is_missed: process 3, by all. The deadline is that of process 2; where process
# 0 does not run when it is over, process 2 hears nothing, and the others wait
# for their own.
is_missed() {
    says "$(missed 'process 3')" 0 1 2 ||
        { says 'no answer from the coordination service' 2 &&
            says "$(missed 'processes 2-3: .*; process 3')" 0 1; }
}

# Process 3 is started when the others have said that they miss it. Where it
# never is, process 2 comes when the others miss both.
test_late() {
    new_job localhost
    export JD_WAIT_NOTICE=300ms
    begin 0 1 2
    is "who is late is named" until_true says \
        'process 0 has waited [0-9.]+ s for process 3, which has not come' 0
    begin 3
    finish
    unset JD_WAIT_NOTICE
    is "and awaited" ended 0 0 1 2 3 and place_is_clean
    new_job localhost
    JD_WAIT_NOTICE=300ms JD_INITIALIZATION_TIMEOUT=$((30 * deadline_factor)) begin 0 1
    until_true says 'has waited [0-9.]+ s for processes 2-3: ' 0 || true
    JD_INITIALIZATION_TIMEOUT=$((2 * deadline_factor)) begin 2
    finish
    is "but not for ever, and all that came say so" ended 1 0 1 2 and \
        is_missed and place_is_clean
}

test_other_mpi() {
    PLAY_MPI='HAL MPI 1.2' run_job
    is "an MPI that jd does not know is refused with the remedy" ended 1 0 1 2 3 and says \
        'UNIMPLEMENTED: jd_initialize: the job has 4 processes '\
'\(JD_NUM_PROCESSES\), and jd starts Open MPI, MPICH and its descendants '\
'\(Cray MPICH, Intel MPI, MVAPICH\), but this program is linked with HAL MPI '\
'1\.2; call MPI_Init in the program and then jd_initialize_on\(MPI_COMM_WORLD, NULL, 0\)' 0 1 2 3 and \
        place_is_clean
}

main() {
    test_several
    test_identity
    test_loopback_name
    test_ipv6
    test_nobody
    test_cores
    test_disks
    test_no_disk
    test_parting
    test_late
    test_other_mpi
    tap_done
}

place_enter "$0" "$@"
main
