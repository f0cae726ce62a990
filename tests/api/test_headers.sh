#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_headers.sh - each public header compiles alone, and twice, as C11 and
# as C++11, 17 and 20, without a warning. usage: test_headers.sh SOURCE_DIR
# CC and CXX name the compilers.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
read -ra cc <<<"${CC:-cc}"
read -ra cxx <<<"${CXX:-c++}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Open MPI's own headers are not ours to warn about.
read -ra mpi_flags < <({ pkg-config --cflags ompi-c 2>/dev/null ||
    mpicc --showme:compile; } | sed -E 's/(^| )-I/\1-isystem /g')

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
command -v "${cxx[0]}" >/dev/null && sees c++11 'struct s { int class; };'
tap_done
