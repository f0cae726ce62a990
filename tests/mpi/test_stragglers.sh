#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_stragglers.sh - of 4 processes the one that the others wait for is said,
# with the line of the program at which they wait, and jd-info shows it; where
# each is late in its turn, nobody is. By hand, for they need a machine that runs
# all processes alike, and the second much time:
#   --small        one of 8 is late by 5 ms in each step of 20 ms;
#   --even [JOBS]  where there is no straggler nobody is said; half a minute for
#                  each of so many jobs (2): each late in its turn, none late.
# usage: test_stragglers.sh BUILD_DIR [--small | --even [JOBS]]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$1
# shellcheck source-path=SCRIPTDIR source=watched_job.sh
source "$here/watched_job.sh"
said='makes others wait'

# start PROCESSES STRAGGLER [MS MORE]: returns when the service listens, with
# its address.
start() {
    local count=$1
    shift
    rm -f "$work/stop"
    local -x JD_SECRET=sesame
    job_start "$count" 250 straggle "$work/stop" "$@"
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

# job_info ARGUMENT...: jd-info about the job.
job_info() {
    JD_SECRET=sesame "$build/tools/jd-info" --job "$address" "$@"
}

# The seconds that others waited for each process, one a line.
caused() {
    job_info --json >"$work/table" 2>&1 || return 1
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

# has_run SECONDS: the job has, or is over.
# shellcheck disable=SC2317
has_run() {
    local at
    at=$(ps -o etimes= -p "$launcher") || return 0
    ((at >= $1))
}

# Where the program makes the call that the others wait in, as a pattern. Where
# no libdw reads lines, it is a place in the file.
call_site() {
    local line
    line=$(grep -n -m 1 'jd_psum(' "$here/straggle.c")
    if grep -q 'libdw\.so\.1' <<<"$(ldconfig -p 2>/dev/null)"; then
        echo "jd_psum at straggle\.c:${line%%:*} \([a-z.0-9_]+\+0x[0-9a-f]+\)"
    else
        echo "jd_psum at straggle\+0x[0-9a-f]+"
    fi
}

# straggler PROCESSES WHO WAITERS [MS MORE]
straggler() {
    local count=$1 who=$2 waiters=$3 site status=0 watcher
    shift 3
    site=$(call_site)
    start "$count" "$who" "$@"
    wait_until 150 is_said || true
    expect "the straggler is said with its host, the call and its line" \
        "$work/err" \
        "^jd 0/$count .* info process $who \(straggle, pid [0-9]+ on [^ ]+\) $said: $waiters for [0-9.]+ s each of the last minute, most of it in $site; "
    job_info --watch=0.1 >"$work/watched" 2>&1 &
    watcher=$!
    wait_until 30 grep -qE "^$who " "$work/watched" || true
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" || true
    expect "and --watch shows that line" "$work/watched" \
        "^$who +CONNECTED .* [0-9.]+ s  .*; $waiters wait for it in $site\$"
    caused >"$work/seconds" || true
    awk -v who="$who" -v count="$count" '
        { s[NR - 1] = $1 }
        END {
            for (i = 0; i < count; i++)
                if (i != who && s[who] <= 3 * s[i])
                    exit 1
            exit !(NR == count && s[who] > 6)
        }' "$work/seconds" || status=1
    tap_result "and the table has its seconds" "$status" "$work/table"
    finish "the job was not disturbed"
    status=0
    (($(grep -c "$said" "$work/err") == 1)) || status=1
    tap_result "it is said once, and no other" "$status" "$work/err"
}

# without_one SECONDS STRAGGLER NAME: a straggler is said within 20 s.
without_one() {
    start 4 "$2"
    wait_until 90 has_run "$1"
    finish "a job in which $3"
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
case ${2:-} in
    --even)
        for ((job = 0; job < ${3:-2}; job += 2)); do
            without_one 30 turns "each is late in its turn"
            ((job + 1 == ${3:-2})) || without_one 30 -1 "nobody is late"
        done
        ;;
    --small) straggler 8 5 7 20 5 ;;
    *)
        straggler 4 2 3
        without_one 20 turns "each is late in its turn"
        ;;
esac
tap_done
