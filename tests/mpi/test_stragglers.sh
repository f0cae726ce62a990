#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_stragglers.sh - of 4 processes the one that the others wait for is said.
# With --even, by hand: where there is none nobody is, as far as the machine runs
# all of them alike; half a minute for each job.
# usage: test_stragglers.sh BUILD_DIR [--even]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$1
# shellcheck source-path=SCRIPTDIR source=watched_job.sh
source "$here/watched_job.sh"
said='makes others wait'

# start STRAGGLER: four processes; returns when the service listens, with its
# address.
start() {
    rm -f "$work/stop"
    local -x JD_SECRET=sesame
    job_start 4 200 straggle "$work/stop" "$1"
}

finish() {
    local status=0
    touch "$work/stop"
    job_end || status=$?
    tap_result "$1" "$status" "$work/err"
}

# expect NAME FILE PATTERN
expect() {
    local status=0
    grep -qE -e "$3" "$2" || status=1
    tap_result "$1" "$status" "$2"
}

# The seconds that others waited for each process, one a line.
caused() {
    JD_SECRET=sesame "$build/tools/jd-info" --job "$address" --json \
        >"$work/table" 2>&1 || return 1
    sed -n 's/.*"caused_seconds": \([0-9.]*\).*/\1/p' "$work/table"
}

# wait_until SECONDS COMMAND...
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.2
    done
}

# shellcheck disable=SC2317
is_said() {
    grep -q "$said" "$work/err"
}

# More than what a straggler needs to be said.
# shellcheck disable=SC2317
has_run() {
    local at
    at=$(ps -o etimes= -p "$launcher") || return 0
    ((at >= 30))
}

with_a_straggler() {
    start 2
    wait_until 90 is_said || true
    expect "the straggler is said with its host and the call" "$work/err" \
        "^jd 0/4 .* info process 2 \(straggle, pid [0-9]+ on [^ ]+\) $said: 3 for [0-9.]+ s each of the last minute, most of it in jd_psum at straggle\+0x[0-9a-f]+; "
    caused >"$work/seconds" || true
    local status=0
    awk '{ s[NR] = $1 } END { exit !(NR == 4 && s[3] > 6 && s[3] > 3 * s[1] &&
        s[3] > 3 * s[2] && s[3] > 3 * s[4]) }' "$work/seconds" || status=1
    tap_result "and the table has its seconds" "$status" "$work/table"
    finish "the job was not disturbed"
    status=0
    (($(grep -c "$said" "$work/err") == 1)) || status=1
    tap_result "it is said once, and no other" "$status" "$work/err"
}

# without_one STRAGGLER NAME
without_one() {
    start "$1"
    wait_until 60 has_run
    finish "a job in which $2"
    local status=0
    ! is_said || status=1
    tap_result "nobody is said in it" "$status" "$work/err"
}

clear_foreign_variables
command -v mpirun >/dev/null || tap_skip_all "no mpirun here"
if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
export OMPI_MCA_mpi_yield_when_idle=1
if [[ ${2:-} == --even ]]; then
    without_one turns "each is late in its turn"
    without_one -1 "nobody is late"
else
    with_a_straggler
fi
tap_done
