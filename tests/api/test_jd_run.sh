#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_jd_run.sh - jd-run with programs that know nothing of jd: what they are
# told, their output, signals, failures, and that nobody is left behind.
# usage: test_jd_run.sh JD_RUN JD_INFO JOB_PROCESS WAITS_ALONE MPI_FIRST
# The conditions are called by is().
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=../lib/launcher.sh
source "$here/../lib/launcher.sh"
clear_foreign_variables
jd_run=$(realpath "$1")
jd_info=$(realpath "$2")
find_launcher "${jd_run%/tools/jd-run}"
# UCX, which MPICH may bring along, would take SIGHUP for itself.
export UCX_DEBUG_SIGNO=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The name is this test's own, so that those left behind can be told.
process=$work/process.$$
cp "$3" "$process"
waiting=$work/waiting.$$
cp "$4" "$waiting"
first=$work/first.$$
cp "$5" "$first"
server=${jd_run%/tools/jd-run}/runtime/wireup/server/jd-pmix-server

# check NAME STATUS: the result of a condition, with what the run printed.
check() {
    if (($2 == 0)); then
        tap_ok "$1"
    else
        tap_not_ok "$1"
        echo "# exit status $status; standard output, standard error:"
        { head -c 2000 "$work/out" && echo; } | tap_comment
        { head -c 2000 "$work/err" && echo; } | tap_comment
    fi
}

# run COMMAND...: to its end; sets status, $work/out and $work/err.
run() {
    status=0
    timeout --kill-after=5 60 "$@" >"$work/out" 2>"$work/err" || status=$?
}

# begin COMMAND...: in the background; sets pid.
begin() {
    rm -f "$work"/up.*
    : >"$work/out"
    "$@" >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
}

# finish: waits for what begin has started; sets status.
finish() {
    status=0
    wait "$pid" || status=$?
}

# until_true COMMAND...: within 20 s.
until_true() {
    local i
    for ((i = 0; i < 1000; i++)); do
        if "$@"; then
            return 0
        fi
        sleep 0.02
    done
    return 1
}

# is_up N: the processes 0 to N-1 have marked "up".
is_up() {
    local i
    for ((i = 0; i < $1; i++)); do
        [[ -e $work/up.$i ]] || return 1
    done
}

# fifos NAME...: where one process waits until another has come so far.
fifos() {
    local name
    for name in "$@"; do
        rm -f "$work/$name"
        mkfifo "$work/$name"
    done
}

# ended STATUS: of the last run.
ended() { ((status == $1)); }
# out TEXT, err TEXT: all that was printed.
out() { [[ $(<"$work/out") == "$1" ]]; }
err() { [[ $(<"$work/err") == "$1" ]]; }
out_has() { grep -qE -e "$1" "$work/out"; }
err_has() { grep -qE -e "$1" "$work/err"; }

# is NAME CONDITION...: the conditions, separated by "and", hold.
is() {
    local name=$1 result=0 words=()
    shift
    for word in "$@" and; do
        if [[ $word != and ]]; then
            words+=("$word")
            continue
        fi
        "${words[@]}" || result=1
        words=()
    done
    check "$name" "$result"
}

# nobody: no process of this test is there, zombies aside.
nobody() {
    ! pgrep -f "^$process " >/dev/null
}

nobody_waits() {
    ! pgrep -f "^$waiting " >/dev/null
}

count_lines() { (($(grep -cE -e "$1" "$work/out") == $2)); }

# ---- what a process is told ------------------------------------------------

test_environment() {
    # shellcheck disable=SC2016 # the processes expand it
    run "$jd_run" -n 3 sh -c 'echo "$JD_PROCESS_ID of $JD_NUM_PROCESSES"'
    sort -o "$work/out" "$work/out"
    is "index and count" ended 0 and out $'0 of 3\n1 of 3\n2 of 3' and err ""
    # shellcheck disable=SC2016
    run "$jd_run" -n 3 sh -c 'echo "$JD_COORDINATOR_ADDRESS $JD_SECRET"'
    is "one address and one secret of 32 bytes" \
        out_has '^127\.0\.0\.1:[0-9]{2,5} [0-9a-f]{64}$' and \
        test "$(sort -u "$work/out" | wc -l)" = 1
    cp "$work/out" "$work/first"
    # shellcheck disable=SC2016
    run "$jd_run" -n 3 sh -c 'echo "$JD_COORDINATOR_ADDRESS $JD_SECRET"'
    is "another secret each time" ended 0 and \
        test "$(cut -d' ' -f2 "$work/out" "$work/first" | sort -u | wc -l)" = 2
    # shellcheck disable=SC2016
    run env JD_SECRET=mine "$jd_run" -n 1 sh -c 'echo "$JD_SECRET"'
    is "the user's secret stays" out mine
    # shellcheck disable=SC2016
    run env JD_SECRET_FILE=/s "$jd_run" -n 1 sh -c 'echo "${JD_SECRET-none}"'
    is "the user's secret file stays, alone" out none
    # shellcheck disable=SC2016
    run env OMPI_MCA_btl=tcp,self SLURM_JOB_ID=7 "$jd_run" -n 1 \
        sh -c 'echo "$OMPI_MCA_btl $SLURM_JOB_ID"'
    is "what the user has set and the allocation stay" out "tcp,self 7"
    run taskset -c "$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')" \
        "$jd_run" sh -c 'echo here'
    is "as many as allowed cores" ended 0 and out here
}

# An outer launcher's captured environment: jd-info must see nothing of it.
# What is explicit, or chooses the method, is the user's own.
test_outer_launchers() {
    local file line entries failed=()
    for file in "$here"/../env/*.env; do
        case ${file##*/} in
        explicit_* | method_* | json_*) continue ;;
        esac
        entries=()
        while IFS= read -r line; do
            [[ ! $line =~ ^[A-Za-z_][A-Za-z_0-9]*= ]] || entries+=("$line")
        done <"$file"
        run env -i ${entries[@]+"${entries[@]}"} PATH="$PATH" \
            "$jd_run" -n 1 "$jd_info"
        if ! ended 0 || ! out_has '^num_processes +1 +JD_NUM_PROCESSES' ||
            ! out_has '^local_process_id +not told' ||
            ! out_has '^slice_index +not told' ||
            grep -qE '^[a-z]+ +yes ' "$work/out"; then
            failed+=("${file##*/}")
        fi
    done
    status=0
    is "no outer launcher is seen: ${failed[*]}" test ${#failed[@]} = 0
    run env PMIX_RANK=1 PMIX_NAMESPACE=n PMIX_SERVER_URI2=u PMIX_MCA_psec=x \
        OMPI_MCA_ess=pmi FLUX_JOB_ID=1 "$jd_run" -n 1 env
    is "nor its server" test "$(grep -cE '^(PMIX|FLUX|OMPI)' "$work/out")" = 1
}

# ---- output ----------------------------------------------------------------

# are_whole LENGTH MICROSECONDS: all lines are so long; but where the run took
# so long that a process may have paused for the 0.2 s after which another's
# line comes between.
are_whole() {
    [[ $(awk '{ print length($0) }' "$work/out" | sort -u) == "$1" ]] ||
        (($2 >= 200000))
}

test_output() {
    run "$jd_run" -n 2 --tag "$process" line a err b out c
    sort -o "$work/out" "$work/out"
    sort -o "$work/err" "$work/err"
    is "tags" out $'[0] a\n[0] c\n[1] a\n[1] c' and err $'[0] b\n[1] b'
    run "$jd_run" -n 100 "$process" line a
    is "100 processes" ended 0 and count_lines '^a$' 100
    head -c 3000000 /dev/urandom >"$work/random"
    run "$jd_run" -n 1 cat "$work/random"
    is "every byte of a binary file" ended 0 and \
        cmp -s "$work/out" "$work/random"
    begin "$jd_run" -n 2 "$process" only 0 out "name? " mark "$work/up" wait -
    is "a line without an end is passed on while its process waits" \
        until_true out "name? "
    kill -TERM "$pid"
    finish
    local begin=${EPOCHREALTIME//[!0-9]/}
    run "$jd_run" -n 2 "$process" long 1000000 line "" long 1000000 line ""
    local took=$((${EPOCHREALTIME//[!0-9]/} - begin))
    is "long lines of two processes stay whole" ended 0 and \
        count_lines '' 4 and test "$(tr -d x <"$work/out" | wc -c)" = 4 and \
        test "$(wc -c <"$work/out")" = 4000004 and are_whole 1000000 "$took"
    run "$jd_run" -n 2 --tag --timeout 20 sh -c "
        if [ \$JD_PROCESS_ID = 0 ]; then
            printf half
            until grep -q whole '$work/out'; do sleep 0.02; done; echo rest
        else
            until grep -q half '$work/out'; do sleep 0.02; done; echo whole
        fi"
    is "with the tag, a line that is interrupted is ended" ended 0 and \
        out $'[0] half\n[1] whole\n[0] rest'
    status=0
    timeout 20 "$jd_run" -n 1 yes 2>"$work/err" | head -n 1 >"$work/out" ||
        status=$?
    is "a reader that goes" ended 141 and err_has "killed by SIGPIPE"
    status=0
    "$jd_run" -n 1 echo a >/dev/full 2>"$work/err" || status=$?
    is "a full disk" ended 1 and \
        err_has "^jd-run: standard output cannot be written: No space left"
    status=0
    "$jd_run" -n 2 sh -c 'echo a; echo b >&2' >&- 2>&- <&- || status=$?
    is "closed standard streams" ended 0
    run sh -c 'ls /proc/self/fd; echo 10'
    sort "$work/out" >"$work/first"
    # shellcheck disable=SC2016
    run "$jd_run" -n 1 sh -c 'ls /proc/self/fd; [ "${JD_RUN_PIPE%:*}" = 10 ]'
    sort -o "$work/out" "$work/out"
    is "no descriptor but the pipe that ends with jd-run is handed on" \
        ended 0 and cmp -s "$work/out" "$work/first"
}

test_input() {
    status=0
    fifos read.1 read.2
    # The others could read all of it before process 0 begins.
    printf 'one\ntwo\n' | timeout 20 "$jd_run" -n 3 --tag sh -c "
        [ \$JD_PROCESS_ID = 0 ] || { cat; exec >'$work/read.'\$JD_PROCESS_ID; }
        [ \$JD_PROCESS_ID != 0 ] || cat '$work/read.1' '$work/read.2' -" \
        >"$work/out" 2>"$work/err" || status=$?
    is "standard input is process 0's" ended 0 and out $'[0] one\n[0] two'
}

# ---- failures --------------------------------------------------------------

test_failures() {
    run "$jd_run" -n 4 "$process" err $'warned\n' only 2 err $'bad\n' exit 3
    is "an exit code" ended 3 and \
        err_has '^jd-run: process 2 \(pid [0-9]+\) ended with exit code 3$'
    # The others go on once jd-run has seen that process 1 has ended.
    rm -f "$work/first"
    run "$jd_run" -n 3 sh -c "
        [ \$JD_PROCESS_ID != 1 ] || { echo \$\$ >'$work/first'; exit 0; }
        until [ -s '$work/first' ]; do sleep 0.02; done
        while [ -e /proc/\$(cat '$work/first') ]; do sleep 0.02; done
        echo later"
    is "one that succeeds ends nobody" ended 0 and count_lines later 2 and err ""
    run "$jd_run" -n 3 "$process" only 1 err "no end" kill SEGV
    is "a signal, and the last words without an end come first" ended 139 and \
        err_has '^no end$' and err_has \
        '^jd-run: process 1 \(pid [0-9]+\) was killed by SIGSEGV( \(core dumped\))?$' and \
        test "$(head -n 1 "$work/err")" = "no end"
    # jd-run is stopped meanwhile, so that it sees all of it at once: the one
    # who fails has ended, and is not reaped.
    fifos pid go.0 go.1 told
    begin "$jd_run" -n 2 sh -c "
        [ \$JD_PROCESS_ID = 0 ] || echo \$\$ >'$work/pid'
        read -r other <'$work/go.'\$JD_PROCESS_ID
        [ \$JD_PROCESS_ID = 0 ] || { printf cause >&2; exit 5; }
        until grep -q '^State:.Z' /proc/\$other/status; do sleep 0.02; done
        echo survivor >&2; echo >'$work/told'; exit 117"
    read -r -t 20 other <>"$work/pid" || true
    kill -STOP "$pid"
    echo "$other" >"$work/go.0"
    echo >"$work/go.1"
    read -r -t 20 <>"$work/told" || true
    kill -CONT "$pid"
    finish
    sed -i 's/(pid [0-9]*) //' "$work/err"
    is "what the first failure has written comes before the others'" ended 5 \
        and err $'cause\njd-run: process 1 ended with exit code 5\nsurvivor'
    run "$jd_run" -n 3 --grace 20 sh -c "
        case \$JD_PROCESS_ID in
        1) echo cause >&2; kill -KILL \$\$ ;;
        *) echo survivor >&2; exit 117 ;;
        esac"
    is "117 is not the first failure" ended 137 and \
        err_has 'process 1 .* was killed by SIGKILL'
    fifos gone.0 gone.2
    run "$jd_run" -n 3 --grace 20 sh -c "
        if [ \$JD_PROCESS_ID != 1 ]; then
            echo \$\$ >'$work/gone.'\$JD_PROCESS_ID
            exit 117
        fi
        for gone in '$work/gone.0' '$work/gone.2'; do
            tail -s 0.02 --pid=\$(cat \$gone) -f /dev/null
        done
        exit 5"
    is "nor where it comes before" ended 5
    run "$jd_run" -n 2 "$process" only 1 exit 117
    is "but where there is no other" ended 117
    run "$jd_run" -n 3 sh -c "
        [ \$JD_PROCESS_ID = 1 ] && exit 4; exec '$process' wait -"
    is "the others are ended" ended 4 and nobody and test "$(grep -vc \
        'still there 2 s after SIGTERM, and killed$' "$work/err")" = 1
    fifos up.0 up.2
    run "$jd_run" -n 3 sh -c "
        if [ \$JD_PROCESS_ID != 1 ]; then
            exec '$process' ignore TERM mark '$work/up' wait -
        fi
        cat '$work/up.0' '$work/up.2'
        exit 7"
    is "those that ignore SIGTERM are killed" ended 7 and nobody and \
        err_has '^jd-run: processes 0,2 still there 2 s after SIGTERM, and killed$'
    rm -f "$work"/up.*
    run "$jd_run" -n 2 --grace 20 sh -c "
        [ \$JD_PROCESS_ID = 1 ] || { sleep 1.5; echo saved; exit 0; }
        exit 7"
    is "--grace lets the others finish" ended 7 and out saved
    run "$jd_run" -n 2 --timeout 300ms "$process" wait -
    is "--timeout" ended 124 and nobody and err_has \
        '^jd-run: processes 0-1 still running after 0.3 s \(--timeout\), and ended now$'
    run "$jd_run" -n 2 --timeout 500ms sh -c 'kill -STOP $$'
    is "of stopped ones" ended 124 and nobody
}

test_missing() {
    run "$jd_run" -n 3 no_such_program
    is "a program that is not there" ended 127 and err \
        "jd-run: no_such_program cannot be started: there is no program of that name in PATH, nor a file here"
    run "$jd_run" -n 3 ./no_such_program
    is "nor the file" ended 127 and err \
        "jd-run: ./no_such_program cannot be started: there is no such file"
    echo text >"$work/text"
    run "$jd_run" "$work/text"
    is "a file that is not executable" ended 126 and err_has \
        "cannot be started: it is not executable for this user; chmod \+x it"
    run "$jd_run" "$work"
    is "a folder" ended 126 and err_has "cannot be started: it is a directory"
    printf '#!/no/such/shell\n' >"$work/script"
    chmod +x "$work/script"
    run "$jd_run" "$work/script"
    is "an interpreter that is not there" ended 127 and \
        err_has "is there, but not the interpreter that it names"
    mv "$work/script" "$work/no_such_program"
    run env -C "$work" "$jd_run" no_such_program
    is "a file here that is not in PATH" ended 127 and \
        err_has "for the file in this folder write \./no_such_program"
    run bash -c "ulimit -n 40; exec '$jd_run' -n 40 true"
    is "too many pipes" ended 1 and \
        err_has "^jd-run: the pipes of so many processes need 96 open files"
}

# ---- signals ---------------------------------------------------------------

test_signals() {
    local name names=(HUP QUIT USR1 USR2 CONT INT TERM) words=()
    for name in "${names[@]}"; do
        words+=(catch "$name")
    done
    begin env --default-signal=INT,QUIT,HUP "$jd_run" -n 2 --tag \
        "$process" "${words[@]}" mark "$work/up" wait -
    until_true is_up 2 || true
    for name in "${names[@]}"; do
        kill -"$name" "$pid"
        until_true count_lines "\] $name\$" 2 || true
    done
    finish
    is "each signal reaches all" ended 0 and count_lines '^\[0\]' 7 and \
        count_lines '^\[1\]' 7
    begin "$jd_run" -n 2 "$process" mark "$work/up" wait -
    until_true is_up 2 || true
    kill -TERM "$pid"
    finish
    is "a signal that ends the processes" ended 143 and err_has \
        'was killed by SIGTERM, which jd-run passed on$' and nobody
    begin "$jd_run" -n 2 "$process" note TERM mark "$work/up" wait -
    until_true is_up 2 || true
    kill -TERM "$pid"
    until_true count_lines '^TERM$' 2 || true
    sleep 0.4 # sooner it would be taken for the first one
    is "SIGTERM is theirs to take" kill -0 "$pid"
    kill -TERM "$pid"
    finish
    is "a second one kills them" ended 143 and nobody and \
        err 'jd-run: processes 0-1 killed at the second SIGTERM'
    begin "$jd_run" -n 2 "$process" ignore INT mark "$work/up" wait -
    until_true is_up 2 || true
    kill -KILL "$pid"
    finish
    is "jd-run killed leaves nobody" ended 137 and until_true nobody
    # The shells are jd-run's processes, the programs theirs.
    begin "$jd_run" -n 2 sh -c "'$waiting' '$work/up'; echo"
    until_true is_up 2 || true
    kill -KILL "$pid"
    finish
    is "nor programs of jd behind a shell" ended 137 and is_up 2 and \
        until_true nobody_waits
    echo "'$waiting' '$work/up'; echo" >"$work/inner"
    begin "$jd_run" -n 1 sh -c "'$jd_run' -n 2 sh '$work/inner'; echo"
    until_true is_up 2 || true
    kill -KILL "$pid"
    finish
    is "nor those of a jd-run behind one" ended 137 and is_up 2 and \
        until_true nobody_waits
    begin nohup "$jd_run" -n 1 "$process" catch HUP catch TERM \
        mark "$work/up" wait -
    until_true is_up 1 || true
    kill -HUP "$pid"
    sleep 0.2 # in which it would be passed on
    kill -TERM "$pid"
    finish
    is "what jd-run was told to ignore is not passed on" ended 0 and out TERM
}

is_stopped() { [[ $(ps -o stat= -p "$1") == T* ]]; }

all_stopped() {
    local child
    is_stopped "$pid" || return 1
    for child in $(pgrep -P "$pid" -f "^$process "); do
        is_stopped "$child" || return 1
    done
}

# Job control, so that the processes are in a group that can be continued.
test_suspend() {
    set -m
    begin "$jd_run" -n 2 "$process" catch TERM mark "$work/up" wait -
    set +m
    until_true is_up 2 || true
    kill -TSTP "$pid"
    is "SIGTSTP stops jd-run and its processes" until_true all_stopped
    kill -CONT "$pid"
    kill -TERM "$pid"
    finish
    is "SIGCONT continues them" ended 0 and count_lines TERM 2
}

test_left() {
    run "$jd_run" -n 1 "$process" fork - line later exit 0
    is "a child that ends soon may end" ended 0 and out later and err ""
    run "$jd_run" -n 1 "$process" fork - wait -
    is "one that does not is ended" ended 0 and nobody and \
        err_has '^jd-run: left behind by processes that have ended, and ended now: process'
    run "$jd_run" -n 1 "$process" fork - ignore TERM fork - wait -
    is "or killed" ended 0 and nobody
    rm -f "$work"/up.*
    run "$jd_run" -n 1 sh -c "'$process' fork - catch TERM mark '$work/up' wait -
        while [ ! -e '$work/up.0' ]; do sleep 0.02; done
        exec '$process' ignore TERM exit 6"
    is "it gets its SIGTERM when the processes are gone" ended 6 and \
        out TERM and nobody
    begin "$jd_run" -n 1 sh -c "
        '$process' fork - catch TERM mark '$work/left' wait -
        while [ ! -e '$work/left.0' ]; do sleep 0.02; done
        exec '$process' note TERM mark '$work/up' wait -"
    until_true is_up 1 || true
    kill -TERM "$pid"
    until_true count_lines '^TERM$' 1 || true
    sleep 0.4
    kill -TERM "$pid"
    finish
    is "after a second signal too" ended 143 and out $'TERM\nTERM' and nobody
}

# ---- flags -----------------------------------------------------------------

test_flags() {
    run "$jd_run" --help
    is "--help" ended 0 and out_has '^Usage: jd-run \[-n N\]'
    run "$jd_run" --version
    is "--version" ended 0 and out_has '^jd-run [0-9]'
    run "$jd_run" -n 2
    is "no program" ended 2 and err_has "there is no program to start"
    for count in 0 -1 4097 two 2x ""; do
        run "$jd_run" -n "$count" true
        is "-n \"$count\"" ended 2 and err_has \
            "^jd-run: -n is \"$count\", but it must be from 1 to 4096 processes"
    done
    run "$jd_run" --timeout 0 true
    is "--timeout 0" ended 2 and err_has '--timeout is "0", but it must be'
    run "$jd_run" --grace soon true
    is "--grace soon" ended 2 and err_has '--grace is "soon", but it must be'
    run "$jd_run" -n 1 echo --tag -n 3
    is "the program's own flags are its own" ended 0 and out "--tag -n 3"
    run "$jd_run" -n 1 -- echo a
    is "--" ended 0 and out a
}

# ---- programs that call MPI_Init themselves ----------------------------------

# What a server leaves would be here, and in /dev/shm by the same name.
begin_served() {
    export JD_TMPDIR=$work/places
    mkdir -p "$JD_TMPDIR"
    begin "$@"
}

# The server's folder is there from the start on, before its processes are.
find_served() {
    local folder supervisor
    folder=$(find "$JD_TMPDIR" -mindepth 1 -maxdepth 1 -name 'jd-wireup-*')
    served=${folder##*/}
    supervisor=$(pgrep -x jd-run-keeper -P "$pid") || return 1
    server_pid=$(pgrep -x jd-run-server -P "$supervisor") || return 1
    [[ $served ]]
}

nothing_served() {
    [[ ! $(ls -A "$JD_TMPDIR") && ! -e /dev/shm/$served ]] &&
        ! pgrep -f "^$first " >/dev/null && ! kill -0 "$server_pid" 2>/dev/null
}

sorted_out() { [[ $(sort "$work/out") == "$1" ]]; }

test_mpi_first() {
    export OMPI_MCA_mpi_yield_when_idle=1
    run "$jd_run" -n 3 "$first" world
    is "a program of MPI alone is one world" ended 0 and \
        sorted_out $'rank 0 of 3\nrank 1 of 3\nrank 2 of 3' and err ""
    run "$jd_run" -n 3 "$first" jd
    is "and jd_initialize() takes it over" ended 0 and err "" and \
        sorted_out $'process 0 of 3\nprocess 1 of 3\nprocess 2 of 3'
    run "$jd_run" -n 2 "$jd_run" -n 2 "$first" world
    is "a jd-run in a jd-run has a world of its own" ended 0 and \
        sorted_out $'rank 0 of 2\nrank 0 of 2\nrank 1 of 2\nrank 1 of 2'
    run "$jd_run" -n 2 "$jd_run" -n 1 env
    is "and tells nothing of the one around it" ended 0 and \
        test "$(grep -cE '^(PMIX_|JSM_|OMPI_MCA_btl)' "$work/out")" = 0
    run "$jd_run" -n 2 "$first" abort
    is "MPI_Abort ends all" ended 7 and err_has 'ended with exit code 7$'
}

test_mpi_first_unserved() {
    run env JD_LIBEXEC=/nonexistent "$jd_run" -n 2 "$first" world
    is "without a server: worlds of one" ended 0 and err "" and \
        out $'rank 0 of 1\nrank 0 of 1'
    run env JD_LIBEXEC=/nonexistent "$jd_run" -n 2 "$first" jd
    is "which jd_initialize() refuses" ended 3 and err_has \
        'the world of .* has this process alone .*: each process has a world of its own'
    run env JD_TMPDIR=/nonexistent "$jd_run" -n 2 "$process" line here
    is "a server that cannot start is said, and no more" ended 0 and \
        out $'here\nhere' and err_has '^jd-run: MPI is served from jd_init.* /none'
}

# PMI is a connection, which a program that is started later could not have.
test_mpi_first_by_pmi() {
    run "$jd_run" -n 2 "$first" world
    is "a program of MPI alone, by PMI: worlds of one" ended 0 and err "" and \
        out $'rank 0 of 1\nrank 0 of 1'
    run "$jd_run" -n 2 "$first" jd
    is "which jd_initialize() refuses, and says what to do" ended 3 and err_has \
        'each process has a world of its own; start the program with the mpiexec of this MPI, .* or call jd_initialize\(\) before MPI_Init, where'
    run "${launcher[@]}" -n 2 "$first" jd
    is "and takes over by MPI's own launcher" ended 0 and err "" and \
        sorted_out $'process 0 of 2\nprocess 1 of 2'
}

# The rank's end is jd-run's to see, the others' and the server's then too.
test_mpi_first_killed() {
    begin_served "$jd_run" -n 3 "$first" wait "$work/up"
    until_true is_up 3 || true
    server_pid=
    is "the server is there" find_served
    pkill -KILL -n -f "^$first "
    finish
    is "a rank is killed" ended 137 and until_true nothing_served
    begin_served "$jd_run" -n 3 "$first" wait "$work/up"
    until_true is_up 3 || true
    find_served || true
    kill -KILL "$pid"
    finish
    is "jd-run is killed" ended 137 and until_true nothing_served
    # libpmix 5 lets processes be whose server has gone.
    begin_served "$jd_run" -n 3 --timeout 20s "$first" wait "$work/up"
    until_true is_up 3 || true
    find_served || true
    kill -KILL "$server_pid"
    finish
    is "the server is killed" test "$status" != 0 and err_has \
        'PMIx server of this host \(pid [0-9]+\) was killed by signal 9' and \
        until_true nothing_served
    begin_served "$jd_run" -n 2 "$process" catch TERM mark "$work/up" wait -
    until_true is_up 2 || true
    find_served || true
    kill -KILL "$server_pid"
    until_true nothing_served || true
    kill -TERM "$pid"
    finish
    is "which is nothing to those that do not use it" ended 0 and \
        count_lines '^TERM$' 2
}

test_environment
test_outer_launchers
test_output
test_input
test_failures
test_missing
test_signals
test_suspend
test_left
test_flags
if ! is_open_mpi; then
    test_mpi_first_by_pmi
elif [[ -x $server ]]; then
    test_mpi_first
    test_mpi_first_unserved
    test_mpi_first_killed
else
    tap_skip "programs that call MPI_Init themselves" "no $server"
fi
tap_done
