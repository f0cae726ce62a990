#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_killed.sh - the server, a process and process 0 are killed at each stage
# of a start without a launcher, and at the end: nobody waits for ever, who
# died is said, and nothing is left.
# usage: test_killed.sh BUILD_DIR
# The conditions are called by is().
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=place.sh
source "$here/place.sh"
# shellcheck source-path=SCRIPTDIR source=../lib/launcher.sh
source "$here/../lib/launcher.sh"

# ---- who dies ----------------------------------------------------------------

# A stand-in that waits before it becomes the server.
make_stand_in() {
    mkdir -p "$work/libexec"
    cat >"$work/libexec/jd-pmix-server" <<SCRIPT
#!/bin/sh
echo \$\$ >"$GATES/server"
while [ -e "$GATES/server.hold" ]; do sleep 0.01; done
exec "$build/runtime/wireup/server/jd-pmix-server"
SCRIPT
    chmod +x "$work/libexec/jd-pmix-server"
}

server_pid() {
    if [[ -e $GATES/server ]]; then
        cat "$GATES/server"
    else
        pgrep -x jd-pmix-server
    fi
}

# kill_one VICTIM: "server" or a process.
kill_one() {
    if [[ $1 == server ]]; then
        kill -KILL "$(server_pid)"
    else
        kill -KILL "$(head -n 1 "$GATES/init.$1")"
    fi
}

# knows_all: the supervisor knows all processes. (The kernel has called
# these descriptors by two names.)
knows_all() {
    local supervisor known
    supervisor=$(pgrep -x jd-pmix-keeper) || return 1
    known=$(find "/proc/$supervisor/fd" -lname '*pidfd*' 2>/dev/null | wc -l)
    ((known == count))
}

# survivors VICTIM: sets alive.
survivors() {
    local i
    alive=()
    for i in 0 1 2 3; do
        [[ $i == "$1" ]] || alive+=("$i")
    done
}

# ---- what is said ------------------------------------------------------------

# culprit VICTIM: the beginning of every survivor's sentence.
culprit() {
    if [[ $1 == server ]]; then
        echo "MPI's server of host .* \(jd-pmix-server, pid [0-9]+\) was killed"
    else
        echo "process $1 \(staged, pid [0-9]+ on .*\): connection closed \
without shutdown \(killed or crashed\)"
    fi
}

supervisor_speaks() {
    grep -qE "the PMIx server of this host \(pid [0-9]+\) was killed by signal \
9 \(Killed\); the host's 4 processes cannot go on without it" "$work"/err.*
}

# one_line PROCESS...: jd speaks once on each.
one_line() {
    local i
    for i in "$@"; do
        (($(grep -cE "^jd $i/4 .* error " "$work/err.$i") == 1)) || return 1
    done
}

# ---- the stages --------------------------------------------------------------

# is_missed: process 2, by all. The deadline is that of process 3; where process
# 0 does not run when it is over, process 3 hears nothing, and the others wait
# for their own.
is_missed() {
    local gone
    gone='process 2 \(staged, pid [0-9]+ on .*\), which came and went again'
    says "waiting for $gone" 0 1 3 ||
        { says 'no answer from the coordination service' 3 &&
            says "waiting for processes 2-3: $gone" 0 1; }
}

# All but process 3 are at the service. Who was let in hears of process 0's
# end; a process may be started again, until the deadline. Process 3 begins when
# the killed one's connection has been closed: a process ends after that.
test_meeting() {
    local JD_INITIALIZATION_TIMEOUT=$((30 * deadline_factor))
    export JD_INITIALIZATION_TIMEOUT JD_WAIT_NOTICE=200ms
    new_job localhost
    begin 0 1 2
    until_true says 'has waited .* for process 3, which has not come' 0 || true
    kill_one 2
    await_end 2
    JD_INITIALIZATION_TIMEOUT=$((3 * deadline_factor)) begin 3
    finish
    is "meeting: a process is killed" ended 1 0 1 3 and is_missed and \
        place_is_clean
    new_job localhost
    begin 0 1 2
    until_true says 'has waited .* for process 3, which has not come' 0 || true
    kill_one 0
    finish
    is "meeting: process 0 is killed" ended 1 1 2 and says \
        'the coordination service, process 0 \(staged, pid [0-9]+ on .*\), is '\
'lost' 1 2 and place_is_clean
    export -n JD_WAIT_NOTICE JD_INITIALIZATION_TIMEOUT
    unset JD_WAIT_NOTICE
}

# begin_held STAGE PROCESS...: comes back when all are there, the held ones,
# and the supervisor knows them.
begin_held() {
    new_job localhost
    hold "$@"
    begin 0 1 2 3
    until_true marked "$1" 0 1 2 3 || true
    until_true knows_all || true
}

# The starter is process 0. The others have met, and say what they wait for: a
# failure that reaches one before is returned by its jd_initialize.
begin_starting() {
    new_job localhost
    make_stand_in
    : >"$GATES/server.hold"
    JD_WAIT_NOTICE=100ms JD_LIBEXEC=$work/libexec begin 0 1 2 3
    until_true test -s "$GATES/server" || true
    until_true says 'hands out: process [0-9] has waited' 1 2 3 || true
}

# A server that comes up when its starter has gone ends by itself.
test_starting() {
    local victim
    begin_starting
    kill_one server
    finish
    is "server being started: it is killed" ended 1 0 and ended 117 1 2 3 and \
        says 'jd-pmix-server \(pid [0-9]+\) was killed by signal 9 \(Killed\) '\
'before it was ready' 0 1 2 3 and one_line 0 1 2 3 and place_is_clean
    for victim in 2 0; do
        begin_starting
        kill_one "$victim"
        survivors "$victim"
        until_true says "$(culprit "$victim")" "${alive[@]:1}" || true
        let_go
        finish
        is "server being started: process $victim is killed" \
            ended 117 "${alive[@]}" and says "$(culprit "$victim")" \
            "${alive[@]}" and one_line "${alive[@]}" and place_is_clean
    done
}

# kill_and_see STAGE VICTIM: and lets go when the survivors have spoken.
kill_and_see() {
    kill_one "$2"
    survivors "$2"
    until_true says "$(culprit "$2")" "${alive[@]}" || true
    let_go
    finish
}

# All are held, so that nobody has come into MPI_Init.
test_before_mpi() {
    local victim
    for victim in server 2 0; do
        begin_held mpi 0 1 2 3
        kill_one "$victim"
        survivors "$victim"
        until_true says "$(culprit "$victim")" "${alive[@]}" || true
        finish
        is "before MPI_Init: ${victim/#[0-9]/process $victim} is killed" \
            ended 117 "${alive[@]}" and says "$(culprit "$victim")" \
            "${alive[@]}" and one_line "${alive[@]}" and place_is_clean
    done
}

# Process 3 is held, so that the others are in MPI_Init's fence. MPI aborts by
# itself where its server goes (MPICH by SIGPIPE), perhaps before jd has spoken. The kernel closes
# the server's connections one after the other: process 3 may hear of another
# process's abort before its own connection is closed.
test_in_mpi() {
    local victim
    begin_held mpi 3
    kill_one server
    finish
    is "during MPI_Init: server is killed" ended '1|117|141|195' 0 1 2 3 and \
        supervisor_speaks and says "$(culprit server)|$(culprit '[012]')" 3 and \
        one_line 3 and place_is_clean
    for victim in 2 0; do
        begin_held mpi 3
        kill_and_see mpi "$victim"
        is "during MPI_Init: process $victim is killed" \
            ended 117 "${alive[@]}" and says "$(culprit "$victim")" \
            "${alive[@]}" and one_line "${alive[@]}" and place_is_clean
    done
}

# The others are in MPI_Barrier.
test_world() {
    local victim
    for victim in server 2 0; do
        begin_held world 3
        kill_and_see world "$victim"
        is "in the world: ${victim/#[0-9]/process $victim} is killed" \
            ended 117 "${alive[@]}" and says "$(culprit "$victim")" \
            "${alive[@]}" and one_line "${alive[@]}" and place_is_clean
    done
}

# jd_shutdown has succeeded everywhere: the job is done, and stays so.
test_finalize() {
    local victim
    begin_held finalize 3
    kill_one server
    until_true supervisor_speaks || true
    let_go
    finish
    is "during MPI_Finalize: server is killed" ended '0|15|137|141|195' 0 1 2 3 and \
        supervisor_speaks and place_is_clean
    for victim in 2 0; do
        if ! is_open_mpi; then
            tap_skip "during MPI_Finalize: process $victim is killed" \
                "MPI_Finalize of MPICH waits for all, up to JD_SHUTDOWN_TIMEOUT"
            continue
        fi
        begin_held finalize 3
        kill_one "$victim"
        survivors "$victim"
        let_go
        finish
        is "during MPI_Finalize: process $victim is killed" \
            ended 0 "${alive[@]}" and until_true grep -qE \
            "process $victim of this host ended before MPI_Finalize was done" \
            "$work"/err.0 and place_is_clean
    done
}

# The server goes on, and cleans up itself.
test_supervisor() {
    local stage
    for stage in mpi world finalize; do
        begin_held "$stage" 0 3
        pkill -KILL -x jd-pmix-keeper
        let_go
        finish
        is "stage $stage: the server's supervisor is killed" world and \
            place_is_clean
    done
    begin_held world 3
    pkill -KILL -x jd-pmix-keeper
    kill_and_see world 2
    survivors 2
    is "in the world: the server's supervisor and process 2 are killed" \
        ended 117 "${alive[@]}" and one_line "${alive[@]}" and place_is_clean
}

main() {
    test_meeting
    test_starting
    test_before_mpi
    test_in_mpi
    test_world
    test_finalize
    test_supervisor
    tap_done
}

place_enter "$0" "$@"
find_launcher "$build"
main
