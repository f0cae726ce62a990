# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# gpu_results.sh - the results of scripts/test-gpu, and what they show. Source it;
# it runs nothing by itself. What it is given: work, limit, stand_in and only.
# shellcheck disable=SC2154

# ---- results --------------------------------------------------------------

# How many have passed, failed, were skipped or left out: all:passed, of the part in
# hand part:passed, and of each row of the table at the end, shared:passed.
declare -A counts=()
row=all

# note passed|failed|skipped|left_out
note() {
    local place
    for place in all part "$row"; do
        counts[$place:$1]=$((${counts[$place:$1]:-0} + 1))
    done
}

skip() {
    note skipped
    say "skipped  $1: $2"
}

pass() {
    note passed
    say "passed   $1"
}

fail() {
    note failed
    say "FAILED   $1"
}

# run_logged COMMAND...: its output goes to $work/log, its status and when it began
# to `status` and `start`.
run_logged() {
    status=0 start=$EPOCHREALTIME
    timeout --kill-after=10 "$limit" "$@" >"$work/log" 2>&1 </dev/null ||
        status=$?
}

# report NAME COMMAND...: of what was run; its output is shown where it failed.
report() {
    local name=$1 seconds
    seconds=$(seconds_since "$start")
    shift
    if ((status == 0)); then
        pass "$name ($seconds s)"
    else
        fail "$name (exit status $status, $seconds s)"
        say "    $*"
        tail -n 60 "$work/log" | sed 's/^/    /'
    fi
}

attempt() {
    local name=$1
    shift
    run_logged "$@"
    report "$name" "$@"
}

# say_beside LABEL TEXT: the label stands beside the text's first line.
say_beside() {
    local label=$1 line
    while IFS= read -r line; do
        say "$(printf '%-*s' "${#1}" "$label")${line% }"
        label=
    done < <(fold -s -w $((90 - ${#1})) <<<"$2")
}

# part NAME ROW TEXT COMMAND...: unless other parts were asked for, what it runs;
# TEXT is what that shows.
part() {
    local kind text=$3
    row=$2
    if [[ -n $only && ,$only, != *,$1,* ]]; then
        note left_out
        return
    fi
    for kind in passed failed skipped; do
        counts[part:$kind]=0
    done
    "${@:4}"
    say_beside "         $(word_of_part): " "$text"
}

# Whether anything of the part in hand has.
has_passed() {
    [[ ${counts[part:passed]} -gt 0 ]]
}

word_of_part() {
    if [[ ${counts[part:failed]} -gt 0 ]]; then
        echo 'not shown'
    elif ! has_passed; then
        echo 'not looked at'
    elif [[ -n $stand_in ]]; then
        echo 'would show'
    elif [[ ${counts[part:skipped]} -gt 0 ]]; then
        echo 'shown in part'
    else
        echo 'shown'
    fi
}

# ---- the table ------------------------------------------------------------

# state_of ROW: how much of it was seen here.
state_of() {
    local passed=${counts[$1:passed]:-0} failed=${counts[$1:failed]:-0}
    local missed=$((${counts[$1:skipped]:-0} + ${counts[$1:left_out]:-0}))
    if ((failed > 0)); then
        echo FAILED
    elif ((passed == 0)); then
        echo no
    elif [[ -n $stand_in ]]; then
        echo rehearsed
    elif ((missed > 0)); then
        echo 'in part'
    else
        echo yes
    fi
}

# say_row ROW NEEDS TEXT
say_row() {
    say_beside "$(printf '%-28s %-10s ' "$2" "$(state_of "$1")")" "$3"
}

say_table() {
    say
    say "What there is to show, what it takes, and whether this run showed it:"
    say_beside "$(printf '%-28s %-10s ' 'it takes' 'shown')" 'what'
    say_row alone '1 GPU, a process' "the module, discovery, memory, copies, staging, \
streams, the folds' bits, exit"
    say_row shared '1 GPU, 2 to 4 processes' "NCCL's calls, types and operations, pairs, \
graphs with its kernels, deadlines, abort, a peer's death, counts over 2^31; nothing \
of speed"
    say_row several 'several GPUs of a host' "NVLink, peer access and NVLS, several GPUs \
of one process, failures inside a host, bandwidth beside NCCL's"
    say_row hosts 'several hosts' "InfiniBand, GPUDirect, NCCL's start and trees among \
many, heartbeats beside NCCL's own time-outs: this script starts no job on another host"
}
