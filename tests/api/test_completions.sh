#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_completions.sh - bash and zsh offer the options that the tools' own tables
# have, no more and no fewer; and files, programs and jd-bench's names where such
# are wanted.
# usage: test_completions.sh SOURCE_DIR BUILD_DIR
# shellcheck disable=SC2317 # same() and has() call the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
source_dir=$(realpath "$1")
build=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clear_foreign_variables
# shellcheck source-path=SCRIPTDIR source=../../packaging/completions/jd.bash
source "$source_dir/packaging/completions/jd.bash"
PATH=$build/tools:$build/bench:$PATH
mkdir "$work/here"
cd "$work/here"
touch one.file

# in_bash WORD...: what is offered for the last one, a line each.
in_bash() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _jd "$1" "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\n' "${COMPREPLY[@]-}" | sed '/^$/d' | sort -u
}

# The same in zsh, whose own functions say here what they were asked for; zsh
# itself leaves of that what begins as the word does.
in_zsh() {
    zsh -f -c '
        _describe() { [[ $1 == -o ]] && shift; print -l -- "${(@)${(P@)2}%%:*}" }
        _files() { print -l -- *(N) }
        _command_names() { print -l -- ${(k)commands} }
        _normal() { print -l -- *(N) }
        _message() { : }
        words=("${@:2}") CURRENT=$(( $# - 1 ))
        source $1' zsh "$source_dir/packaging/completions/_jd" "$@" |
        awk -v word="${!#}" 'index($0, word) == 1' | sort -u
}

# table FILE...: the options of the tables that getopt_long() is given, but for
# those by which a tool starts its own processes.
table() {
    grep -hoE '\{ "[a-z-]+", (no|required|optional)_argument' "$@" |
        sed -E 's/^\{ "([a-z-]+)".*/--\1/' | grep -vxE -e '--child' | sort -u
}

# same NAME WANTED_FILE COMMAND...: what the command prints is that.
same() {
    local status=0
    "${@:3}" >"$work/found" 2>&1 || status=$?
    diff "$2" "$work/found" >"$work/out" || status=1
    tap_result "$1" "$status" "$work/out"
}

# has NAME LINE COMMAND...: that is among it.
has() {
    "${@:3}" >"$work/out" 2>&1 || true
    tap_result "$1" "$(($(grep -cxF -e "$2" "$work/out") == 0))" "$work/out"
}

# check SHELL: in_bash or in_zsh.
check() {
    local shell=${1#in_} name files
    for name in run info trace; do
        table "$source_dir/tools/jd-$name"/*.c >"$work/wanted"
        same "$shell: jd-$name has its table's options" "$work/wanted" \
            "$1" "jd-$name" --
    done
    for name in checkpoint collectives halo init overlap pipeline recorder reshard; do
        mapfile -t files < <(find "$source_dir/bench" -path "*/$name*.c")
        # --job: what each of their processes is started with.
        table "${files[@]}" | grep -vxe --job >"$work/wanted"
        same "$shell: jd-bench $name has its table's options" "$work/wanted" \
            "$1" jd-bench "$name" --
    done
    has "$shell: a constant of jd-bench scale" --latency "$1" jd-bench scale --
    has "$shell: jd-bench's names" reshard "$1" jd-bench ''
    has "$shell: jd-run -n" -n "$1" jd-run -
    has "$shell: a program for jd-run" bash "$1" jd-run -n 2 bas
    has "$shell: a file for the program" one.file "$1" jd-run -n 2 cat one
    has "$shell: a file for jd-info --env" one.file "$1" jd-info --env one
    has "$shell: a file for jd-trace" one.file "$1" jd-trace one
    same "$shell: nothing for what is a number" /dev/null "$1" jd-trace --top ''
}

check in_bash
if command -v zsh >/dev/null; then
    check in_zsh
else
    tap_skip "zsh" "no zsh here"
fi
tap_done
