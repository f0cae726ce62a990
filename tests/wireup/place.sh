# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# place.sh - a machine of a test's own, as far as /tmp, /dev/shm, mounts, network
# (loopback) and processes go: what a job leaves behind is all that is there. Source it after
# ../lib/tap.sh; then
#
#     place_enter "$0" "$@"      comes back inside, or skips the file
#     new_job localhost
#     hold world 0
#     begin 0 1 2 3              processes of the job, in the background
#     until_true marked world 0 1 2 3
#     let_go
#     finish                     waits for all of them
#     is "a name" world and place_is_clean
#
# The build folder is /mnt/build there, and the test's files are in /mnt/work.
# TEST_TIME_FACTOR multiplies what is waited for, TEST_DEADLINE_FACTOR the
# deadlines of jd that are to pass.

build=/mnt/build
work=/mnt/work
staged=$build/tests/wireup/staged
export is_root=true # before it was made one

# place_enter SCRIPT BUILD_DIR: root has the rights; others get a user
# namespace, where the kernel gives them one.
place_enter() {
    local words=(--mount --net --pid --fork --kill-child --mount-proc)
    if [[ -z ${PLACE_USER:-} ]]; then
        ((EUID == 0)) || words+=(--user --map-root-user)
        unshare "${words[@]}" true 2>/dev/null ||
            tap_skip_all "no mount, network and pid namespaces for this user"
        PLACE_USER=$EUID exec unshare "${words[@]}" "$@"
    fi
    [[ $PLACE_USER == 0 ]] || is_root=false
    unset PLACE_USER
    clear_foreign_variables
    make_place "$2"
}

make_place() {
    mount -t tmpfs -o mode=0755 tmpfs /mnt
    mkdir -p "$build" "$work"
    mount --bind "$1" "$build"
    ip link set lo up
    chmod 1777 "$work"
    export GATES=$work/gates
    export JD_SECRET=a-secret-of-this-test-alone-and-of-no-other
    export OMPI_MCA_mpi_yield_when_idle=1 TMPDIR=$work
    mkdir -m 1777 "$work/place"
    [[ -z ${TEST_PRELOAD:-} ]] ||
        preload=$build/tests/lib/${TEST_PRELOAD##*/}
    cp "$(dirname "${BASH_SOURCE[0]}")/../lib/lsan.supp" "$work"
    mount -t tmpfs -o mode=1777 tmpfs /tmp # where the source may be
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    export LSAN_OPTIONS=print_suppressions=0:suppressions=$work/lsan.supp
}

# ---- jobs --------------------------------------------------------------------

count=4
port=29100
factor=${TEST_TIME_FACTOR:-1}
# shellcheck disable=SC2034 # the tests use it
deadline_factor=${TEST_DEADLINE_FACTOR:-1}
limit=$((60 * factor)) # seconds, for one process

# new_job HOST: the next port, no gates, nothing written yet.
new_job() {
    port=$((port + 1))
    address=$1:$port
    rm -rf "$GATES"
    rm -f "$work"/out.* "$work"/err.* "$work"/code.* "$work"/pid.*
    mkdir -m 1777 "$GATES"
    pids=()
}

# hold STAGE PROCESS...: they stay there until they are let go.
hold() {
    local stage=$1 i
    shift
    for i in "$@"; do : >"$GATES/$stage.$i.hold"; done
}

let_go() { rm -f "$GATES"/*.hold; }

# begin PROCESS...: of the job, with explicit variables, in the background.
begin() {
    local i
    for i in "$@"; do
        { JD_COORDINATOR_ADDRESS=$address JD_NUM_PROCESSES=$count \
            JD_PROCESS_ID=$i LD_PRELOAD=$preload \
            timeout --kill-after=5 "$limit" "${as[@]}" "$staged" \
            >"$work/out.$i" 2>"$work/err.$i" </dev/null
        } 2>/dev/null & # where the shell says who was killed
        pids[i]=$!
    done
}
preload="" # of sanitized builds
as=() # words before the program: another user

# await_end PROCESS: sets its exit code in codes.
await_end() {
    codes[$1]=0
    wait "${pids[$1]}" 2>/dev/null || codes[$1]=$?
}

# finish: waits for all; codes[i] is the exit code of process i.
finish() {
    local i
    codes=()
    for i in "${!pids[@]}"; do await_end "$i"; done
}

# ---- conditions --------------------------------------------------------------

# until_true COMMAND...: within half a minute.
until_true() {
    local end=$((SECONDS + 30 * factor))
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.02
    done
}

# marked STAGE PROCESS...: all have come there.
marked() {
    local stage=$1 i
    shift
    for i in "$@"; do [[ -e $GATES/$stage.$i ]] || return 1; done
}

# says PATTERN PROCESS...: each of them has written it to standard error.
says() {
    local pattern=$1 i
    shift
    for i in "$@"; do
        grep -qE -e "$pattern" "$work/err.$i" || return 1
    done
}

not() { ! "$@"; }

# ended CODE PROCESS...: each of them, with an extended pattern of a code.
ended() {
    local code=$1 i
    shift
    for i in "$@"; do [[ ${codes[i]:-none} =~ ^($code)$ ]] || return 1; done
}

# world: one world of all, without a word of complaint.
world() {
    ended 0 "${!pids[@]}" && [[ $(cat "$work"/out.*) == "$count processes" ]] &&
        ! grep -h . "$work"/err.*
}

is_nobody() { ! pgrep 'jd-pmix|staged' >/dev/null; }

is_empty() {
    [[ -z $(find "$@" -mindepth 1 2>/dev/null) ]]
}

# place_is_clean: soon, for the supervisor may still be at it.
place_is_clean() {
    until_true is_nobody && until_true is_empty /tmp /dev/shm "$work/place"
}

# ---- results -----------------------------------------------------------------

# is NAME CONDITION...: the conditions, separated by "and", hold.
is() {
    local name=$1 result=0 words=() failed=""
    shift
    for word in "$@" and; do
        if [[ $word != and ]]; then
            words+=("$word")
            continue
        fi
        "${words[@]}" >&2 || { result=1 failed+="${words[*]}; "; }
        words=()
    done
    if ((result == 0)); then
        tap_ok "$name"
        return
    fi
    tap_not_ok "$name"
    show "$failed"
    clear_place
}

show() {
    echo "# does not hold: $1"
    echo "# codes: ${codes[*]:-none}"
    head -n 40 "$work"/out.* "$work"/err.* "$work/second" 2>/dev/null | tap_comment
    pgrep -a 'jd-pmix|staged' | tap_comment || true
    find /tmp /dev/shm "$work/place" -mindepth 1 2>/dev/null | tap_comment
}

# So that one failure is not the next one's.
clear_place() {
    pkill -KILL 'jd-pmix|staged' || true # of this pid namespace alone
    until_true is_nobody || true
    find /tmp /dev/shm -mindepth 1 -delete 2>/dev/null || true
}
