#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_strangers.sh - strangers take all the connections to a job's service
# that they can get, from before its start to its end: it starts, saves its
# checkpoints and ends as if there were none.
# usage: test_strangers.sh [--seconds N] [--limit SOFT:HARD]... BUILD_DIR
# Each limit of open files with each kind of attack, for N seconds (2).

# Functions are called through `tap_check`:
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"

seconds=2
limits=()
while [[ $1 == --* ]]; do
    case $1 in
    --seconds) seconds=$2 ;;
    --limit) limits+=("$2") ;;
    *) exit 2 ;;
    esac
    shift 2
done
programs=$(cd "$1" && pwd)/tests/fault
processes=3
limit=$(((60 + 2 * seconds) * ${TEST_TIME_FACTOR:-1}))
each=$(awk -v factor="${TEST_DEADLINE_FACTOR:-1}" 'BEGIN { print 1e-4 * factor }')

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Outside the range in which kernels choose.
free_port() {
    for ((port = 20000 + RANDOM % 10000; ; port++)); do
        (: <"/dev/tcp/127.0.0.1/$port") 2>"$work/refused" || return 0
    done
}

# begin_attack KIND, end_attack: beside the job; its words are in $work/attack.
begin_attack() {
    coproc ATTACK { exec "$programs/stranger" "$port" "$1" >"$work/attack"; }
    attacker=$ATTACK_PID
    attack_fd=${ATTACK[1]}
}

end_attack() {
    exec {attack_fd}>&-
    wait "$attacker"
}

# besiege SOFT HARD KIND: the job under these limits of open files.
besiege() {
    local i pids=()
    free_port
    begin_attack "$3"
    for ((i = 0; i < processes; i++)); do
        (
            ulimit -Sn "$1"
            ulimit -Hn "$2"
            exec env JD_COORDINATOR_ADDRESS="127.0.0.1:$port" \
                JD_NUM_PROCESSES="$processes" JD_PROCESS_ID="$i" \
                timeout --kill-after=5 "$limit" \
                "$programs/besieged" "$work/checkpoint" "$seconds"
        ) >>"$work/out" 2>>"$work/err" </dev/null &
        pids+=($!)
    done
    status=0
    for i in "${pids[@]}"; do
        wait "$i" || status=$?
    done
    end_attack
}

# The processor's time of the service's thread, as a share of a core: a tenth, and
# so much for each stranger; how many come in a second is the machine's affair.
took_its_share() {
    local share strangers
    share=$(sed -n 's/.* the service took \([0-9.]*\) of a core.*/\1/p' "$work/out")
    strangers=$(sed -n 's/\([0-9]*\) connections$/\1/p' "$work/attack")
    awk -v share="${share:-1e9}" -v strangers="${strangers:-0}" \
        -v seconds="$seconds" -v each="$each" \
        'BEGIN { exit !(share < 0.1 + each * strangers / seconds) }' && return
    echo "# the service took ${share:-an unknown part} of a core for" \
        "${strangers:-no} strangers in $seconds s, more than a tenth and $each s each"
    return 1
}

# unharmed SOFT HARD KIND
unharmed() {
    rm -f "$work/out" "$work/err"
    besiege "$@"
    sed "s/^/# $1:$2 $3: /" "$work/out" "$work/attack"
    ((status == 0)) && grep -q "^[1-9][0-9]* steps; " "$work/out" &&
        ! grep -q "cannot be accepted" "$work/err" && took_its_share
}

clear_foreign_variables
export JD_SECRET=besieged JD_INITIALIZATION_TIMEOUT=$((limit / 2))
hard=$(ulimit -Hn)
[[ $hard != unlimited ]] || hard=1048576
if ((${#limits[@]})); then
    kinds=(hold flood babble)
else
    kinds=(hold flood)
    limits=(256:256 1024:1024 "1024:$hard")
fi
for pair in "${limits[@]}"; do
    for kind in "${kinds[@]}"; do
        tap_check "files $pair, strangers $kind" \
            unharmed "${pair%:*}" "${pair#*:}" "$kind"
    done
done
tap_done
