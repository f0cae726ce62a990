#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_containers.sh - worlds without a launcher in containers: a program that
# is process 1 there, equal pids, long names, users that nobody knows; and what
# a killed server leaves is removed by the next.
# usage: test_containers.sh BUILD_DIR
# The conditions are called by is().
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=place.sh
source "$here/place.sh"

# run_job: to its end.
run_job() {
    new_job localhost
    begin 0 1 2 3
    finish
}

# ---- what is left ------------------------------------------------------------

# has_litter: of a server and of MPI's shared memory.
has_litter() {
    [[ -n $(find /tmp -maxdepth 1 -name 'jd-wireup-[1-9]*') ]] &&
        [[ -n $(find /dev/shm -maxdepth 1 -name 'jd-wireup-[1-9]*') ]]
}

# Nobody but the next start can remove it: server and supervisor are killed at once.
# Other folders stay, of whatever name, and another user's, and one of another
# namespace of pids that was made just now.
test_left() {
    local other=/tmp/jd-wireup-999999-abcdef-000000-abcdef pids
    new_job localhost
    hold world 0
    begin 0 1 2 3
    until_true marked world 0 1 2 3 || true
    pids=$(pgrep jd-pmix)
    # shellcheck disable=SC2086
    kill -STOP $pids
    # shellcheck disable=SC2086
    kill -KILL $pids
    let_go
    finish
    until_true is_nobody || true # a killed one may end after its job
    is "a killed server and supervisor leave their folders" has_litter
    mkdir -p /tmp/jd-wireup-notes /tmp/jd-wireup-1-0-0-abcdef
    mkdir "$other" && touch "$other/file"
    ! $is_root || chown -R 65534 "$other"
    run_job
    $is_root || mkdir -p "$other" # it was this user's, and of another boot
    is "the next start removes them, and no other's" world and \
        test -d /tmp/jd-wireup-notes and test -d /tmp/jd-wireup-1-0-0-abcdef \
        and test -d "$other"
    rm -rf /tmp/jd-wireup-notes /tmp/jd-wireup-1-0-0-abcdef "$other"
    is "and nothing is left" place_is_clean
}

# Of two jobs at once each leaves the other's alone.
test_used() {
    local first second=0
    new_job localhost
    hold world 0
    begin 0 1 2 3
    until_true marked world 0 1 2 3 || true
    first=$(find /tmp -maxdepth 1 -name 'jd-wireup-*')
    touch -d '1 hour ago' "$first"
    GATES=$work/place timeout --kill-after=5 "$limit" \
        "$build/tools/jd-run" -n 2 "$staged" >"$work/second" 2>&1 </dev/null ||
        second=$?
    rm -f "$work"/place/*
    is "a job beside another's folder runs to its end" test "$second" = 0 and \
        grep -qx "2 processes" "$work/second"
    is "a server that runs keeps its folder" test -S "$first/life"
    let_go
    finish
    is "and its world is whole" world and place_is_clean
}

# ---- containers --------------------------------------------------------------

# For MPI's messages by TCP, which leave loopback out.
add_interface() {
    ip link add jd0 type veth peer name jd1 2>/dev/null || return 1
    ip addr add 10.77.0.1/24 dev jd0
    ip link set jd0 up
    ip link set jd1 up
}

# Each process is the first of its own namespace of pids: all pids are 1, and
# the server ends with process 0.
test_first() {
    if ! add_interface; then
        tap_skip "processes that are all process 1" \
            "ip(8) cannot make veth links here"
        return
    fi
    as=(unshare --pid --fork --kill-child --mount-proc)
    run_job
    as=()
    ip link del jd0
    is "processes that are all process 1 make a world, and leave nothing" \
        world and place_is_clean
}

# has_said: one process has made the sum, and nobody has complained.
has_said() {
    ended 0 0 1 2 3 && grep -q . "$work"/out.0 && ! grep -h . "$work"/err.*
}

# Pods of one node have names of their own and count pids for themselves: they
# are hosts, between which nobody expects shared memory.
test_pods() {
    local staged=$build/mpi_examples/01_hello/hello
    if ! add_interface; then
        tap_skip "pods of one node" "ip(8) cannot make veth links here"
        return
    fi
    # shellcheck disable=SC2016
    as=(unshare --uts --pid --fork --kill-child --mount-proc sh -c
        'hostname "pod$JD_PROCESS_ID" && exec "$@"' sh)
    run_job
    as=()
    ip link del jd0
    is "pods of one node make a world, and say nothing of memory" \
        has_said and place_is_clean
}

test_long_name() {
    # shellcheck disable=SC2016
    as=(unshare --uts sh -c
        'hostname "$(printf "%064d" 0 | tr 0 n)" && exec "$@"' sh)
    if ! "${as[@]}" true; then
        tap_skip "a host's name of 64 letters" "it cannot be set here"
    else
        run_job
        is "a host's name of 64 letters" world and place_is_clean
    fi
    as=()
}

test_unknown_user() {
    if ! $is_root; then
        tap_skip "a user that nobody knows, without HOME" \
            "only root can become another; this was one already"
        return
    fi
    as=(setpriv --reuid=54321 --regid=54321 --clear-groups env -u HOME)
    run_job
    as=()
    is "a user that nobody knows, without HOME" world and place_is_clean
}

main() {
    test_left
    test_used
    test_first
    test_pods
    test_long_name
    test_unknown_user
    tap_done
}

place_enter "$0" "$@"
main
