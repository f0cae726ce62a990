# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# steps.sh - what quickstart and test have in common: one line per step with
# its time, quiet unless it fails. Source it; it runs nothing by itself.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# seconds_since START: START is an $EPOCHREALTIME; with one decimal.
seconds_since() {
    local us=$((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}))
    printf '%d.%d' $((us / 1000000)) $((us / 100000 % 10))
}

# step NAME COMMAND...: runs it, prints the name and the time; where it fails,
# its whole output, and the step's status is its status. It runs in a shell of its
# own.
step() {
    local name=$1 log start=$EPOCHREALTIME status=0
    shift
    printf '%-50s ' "$name"
    log=$("$@" 2>&1 </dev/null) || status=$?
    if ((status == 0)); then
        printf '%6s s\n' "$(seconds_since "$start")"
    else
        printf 'failed\n\n'
        printf '%s\n' "$log" >&2
    fi
    return "$status"
}

# configure BUILD OPTION...: a build directory for these options and compilers.
# One that is there follows changes of the meson files by itself, and is made
# anew where the options are others.
configure() {
    local build=$1 wanted
    shift
    wanted="${CC:-} ${CXX:-} $*"
    if [[ ! -f $build/build.ninja ]]; then
        meson setup "$build" "$root" "$@"
    elif [[ -f $build/options && $(<"$build/options") != "$wanted" ]]; then
        rm -rf "$build"
        meson setup "$build" "$root" "$@"
    else
        return 0
    fi
    echo "$wanted" >"$build/options"
}

# Open MPI refuses to run as root unless it is told twice.
allow_root() {
    if ((EUID == 0)); then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
}
