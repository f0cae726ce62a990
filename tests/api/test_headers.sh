#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_headers.sh - each public header compiles alone, and twice, as C11 and
# as C++11, 17 and 20, without a warning; the version in them is meson's.
# usage: test_headers.sh SOURCE_DIR
# CC and CXX name the compilers.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=../lib/mpi_flags.sh
source "$here/../lib/mpi_flags.sh"
read -ra cc <<<"${CC:-cc}"
read -ra cxx <<<"${CXX:-c++}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compiles STANDARD HEADER: its messages are the output.
compiles() {
    local compiler=("${cc[@]}") language=c flags=()
    [[ $1 != c++* ]] || compiler=("${cxx[@]}") language=c++
    [[ $2 != jd_mpi.h ]] || flags=("${mpi_flags[@]}")
    printf '#include <%s>\n#include <%s>\n' "$2" "$2" |
        "${compiler[@]}" -x "$language" "-std=$1" -Wall -Wextra -Wpedantic \
            -Werror -fsyntax-only "${include[@]}" "${flags[@]}" -
}

# check STANDARD HEADER
check() {
    local status=0
    if [[ $1 == c++* ]] && ! command -v "${cxx[0]}" >/dev/null; then
        tap_skip "$2 as $1" "no C++ compiler here"
        return
    fi
    compiles "$1" "$2" >"$work/out" 2>&1 || status=1
    tap_result "$2 as $1" "$status" "$work/out"
}

# sees STANDARD LINE: a header with this line does not pass.
sees() {
    echo "$2" >"$work/planted.h"
    if compiles "$1" planted.h >/dev/null 2>&1; then
        tap_not_ok "a bad header as $1 is seen"
    else
        tap_ok "a bad header as $1 is seen"
    fi
}

# is_version MAJOR MINOR PATCH: the headers say so, and compare so.
is_version() {
    cat >"$work/version.h" <<HEADER
#include <jd.h>
#if JD_VERSION_MAJOR != $1 || JD_VERSION_MINOR != $2 || JD_VERSION_PATCH != $3
#error "the headers' version is another"
#endif
#if !JD_VERSION_GE($1, $2, $3) || JD_VERSION_GE($1, $2, $3 + 1) || \\
    JD_VERSION_GE($1, $2 + 1, 0) || JD_VERSION_GE($1 + 1, 0, 0) || \\
    !JD_VERSION_GE($1, $2 - 1, 99) || !JD_VERSION_GE($1 - 1, 99, 99)
#error "JD_VERSION_GE compares wrongly"
#endif
HEADER
    compiles c11 version.h
}

check_version() {
    local version status=0
    version=$(sed -nE "s/^ *version: '([0-9.]+)',/\1/p" "$1/meson.build")
    IFS=. read -ra version <<<"$version"
    is_version "${version[@]}" >"$work/out" 2>&1 || status=1
    tap_result "JD_VERSION_* are meson's version" "$status" "$work/out"
    if is_version "${version[0]}" "${version[1]}" "$((version[2] + 1))" \
        >/dev/null 2>&1; then
        tap_not_ok "another version is seen"
    else
        tap_ok "another version is seen"
    fi
}

include=(-I"$1/include" -I"$work")
for header in "$1"/include/jd*.h; do
    for standard in c11 c++11 c++17 c++20; do
        check "$standard" "$(basename "$header")"
    done
done
sees c11 'static inline size_t f(void) { return 0; }'
sees c11 'struct twice { int a; };'
sees c11 'enum { A, B, };
struct empty {};'
check_version "$1"
command -v "${cxx[0]}" >/dev/null && sees c++11 'struct s { int class; };'
tap_done
