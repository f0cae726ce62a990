#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_under_tools.sh - a user's program with a mesh under valgrind, gdb, strace
# and perf, and built with ASan and TSan: it gives the right sum and exit code,
# and the tool reports nothing that is jd's. What Open MPI and its libraries do
# is left out by suppressions, those of valgrind as they are installed.
# usage: test_under_tools.sh SOURCE_DIR BUILD_DIR SANITIZE
# shellcheck disable=SC2317 # check() calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=../lib/launcher.sh
source "$here/../lib/launcher.sh"
source_dir=$1
build=$(realpath "$2")
[[ $3 == none ]] || tap_skip_all "jd itself is built with b_sanitize=$3"
clear_foreign_variables
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
read -ra cc <<<"${CC:-cc}"
program=$build/tests/api/under_tools
jd_run=("$build/tools/jd-run" -n 2)
find_launcher "$build"
mpirun=("${launcher[@]}" -n 2)
[[ -e $build/runtime/wireup/server/jd-pmix-server ]] && has_server=1

# check NAME TOOL COMMAND...: the command, where the tool is there and works.
check() {
    local name=$1 tool=$2 status=0
    shift 2
    if ! command -v "$tool" >/dev/null; then
        tap_skip "$name" "$tool is not installed"
        return
    fi
    "$@" >"$work/out" 2>&1 || status=$?
    tap_result "$name" "$status" "$work/out"
}

# sums EXPECTED COMMAND...: it ends in order and prints that sum.
sums() {
    local output status=0
    output=$(timeout --kill-after=5 300 "${@:2}" 2>&1 </dev/null) || status=$?
    echo "$output"
    [[ $output == *"the sum is $1"* ]] && return "$status"
    return 1
}

# What the reports are of: valgrind ends with 99 where one is left.
valgrind_words=(valgrind -q --error-exitcode=99
    --suppressions="$source_dir/tools/valgrind.supp")

# Some containers forbid it.
may_trace() {
    strace -o /dev/null true 2>/dev/null
}

under_strace() {
    if ! may_trace; then
        echo "processes may not be traced here"
        return 77
    fi
    sums 3 "${jd_run[@]}" strace -f -qq -o /dev/null "$program"
}

under_gdb() {
    if ! gdb -batch -ex run true 2>&1 |
        grep "exited normally" >/dev/null; then
        echo "gdb cannot run a program here"
        return 77
    fi
    # Its own exit code is not the program's, which it prints.
    sums 3 "${jd_run[@]}" gdb -batch -ex run -ex "info threads" "$program" |
        tee "$work/gdb" || return 1
    [[ $(grep -c "exited normally" "$work/gdb") == 2 ]] &&
        ! grep -E "received signal|exited with code" "$work/gdb"
}

under_perf() {
    if ! perf stat -o /dev/null true 2>/dev/null; then
        echo "perf may not count here"
        return 77
    fi
    sums 3 "${jd_run[@]}" perf stat -o /dev/null "$program"
}

# What a tool finds in the library: each probe's name and where its arguments are.
notes() {
    readelf -n "$build/libjd.so" 2>/dev/null |
        awk '/Provider: jd$/ { getline; name = $2 }
             /Arguments:/ && name { print name ":", $0; name = "" }'
}

# Tools do not read thread-local memory.
probes_can_be_read() {
    local probes
    probes=$(notes)
    echo "$probes"
    [[ $(cut -d: -f1 <<<"$probes" | sort -u | xargs) == "enter leave met" ]] &&
        ! grep -q "%fs" <<<"$probes"
}

# shellcheck disable=SC2016 # the dollars are gdb's
at_probes() {
    local call='printf "%s over %s, call %d of %d\n", (char *)$_probe_arg1, '
    call+='(char *)$_probe_arg2, (int)$_probe_arg3, (int)$_probe_arg4'
    gdb -batch -ex start -ex "break -probe-stap jd:enter" -ex continue \
        -ex "$call" -ex 'info symbol $_probe_arg5' \
        -ex "tbreak -probe-stap jd:leave" -ex "delete 2" -ex continue \
        -ex 'printf "left with %d\n", (int)$_probe_arg1' -ex kill "$program"
}

under_gdb_at_probes() {
    at_probes </dev/null | tee "$work/gdb"
    grep -qF 'jd_psum over axis "p", call 1 of 100000' "$work/gdb" &&
        grep -q "^main + " "$work/gdb" && grep -q "^left with 0" "$work/gdb"
}

# check_probes NAME TOOL FUNCTION: where the library has any.
check_probes() {
    if [[ -z $(notes) ]]; then
        tap_skip "$1" "jd is built without probes (sys/sdt.h), or no readelf"
    else
        check "$@"
    fi
}

# compile SANITIZER: the user's program alone, beside jd as it is built.
compile() {
    "${cc[@]}" -g -fsanitize="$1" -o "$work/$1" "$here/under_tools.c" \
        -I"$source_dir/include" -L"$build" -ljd \
        -Wl,-rpath,"$build" || return 1
    # A compiler without the sanitizer's library, a kernel that it does not know
    printf 'int main(void) { return 0; }\n' >"$work/nothing.c"
    "${cc[@]}" -fsanitize="$1" -o "$work/nothing" "$work/nothing.c" &&
        "$work/nothing"
}

# sanitized SANITIZER SUM STARTER...
sanitized() {
    if ! compile "$1"; then
        echo "programs with -fsanitize=$1 do not build or start here"
        return 77
    fi
    # Leaks of what MPI has unloaded cannot be told from others.
    local leaks=1
    (($# == 2)) || leaks=0
    { suppress deadlock && suppress race && suppress mutex; } >"$work/supp"
    ASAN_OPTIONS=detect_leaks=$leaks \
        TSAN_OPTIONS=suppressions=$work/supp:print_suppressions=0 \
        sums "$2" "${@:3}" "$work/$1"
}

# suppress KIND: what goes through MPI's libraries.
suppress() {
    printf "$1:%s\n" libmpi libopen- libpmix mca_ libhwloc libevent
}

check "valgrind, alone" valgrind sums 1 "${valgrind_words[@]}" "$program"
check "valgrind under mpirun" valgrind \
    sums 3 "${mpirun[@]}" "${valgrind_words[@]}" "$program"
check_probes "its probes" readelf probes_can_be_read
check_probes "gdb at its probes" gdb under_gdb_at_probes
check "the program built with ASan" true sanitized address 1
check "with ASan under mpirun" true sanitized address 3 "${mpirun[@]}"
check "with TSan under mpirun" true sanitized thread 3 "${mpirun[@]}"
if [[ ${has_server-} ]]; then
    check "valgrind under jd-run" valgrind \
        sums 3 "${jd_run[@]}" "${valgrind_words[@]}" "$program"
    check "gdb under jd-run" gdb under_gdb
    check "strace under jd-run" strace under_strace
    check "perf under jd-run" perf under_perf
    check "with ASan under jd-run" true sanitized address 3 "${jd_run[@]}"
    check "with TSan under jd-run" true sanitized thread 3 "${jd_run[@]}"
else
    tap_skip "under jd-run" "jd-pmix-server is not built"
fi
tap_done
