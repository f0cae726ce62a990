#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_compile.sh - the headers of C++ compile without a warning: each alone and
# twice, and all that the tests do with them, by each compiler that is here.
# What must not compile says in words of jd's why. usage: test_compile.sh SOURCE_DIR
# CXX names the compiler that jd is built with.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=../lib/mpi_flags.sh
source "$here/../lib/mpi_flags.sh"
include=$1/include
read -ra cxx <<<"${CXX:-c++}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compiles STANDARD FILE COMPILER...
compiles() {
    "${@:3}" -std="$1" -x c++ -Wall -Wextra -Wpedantic -Wshadow -Werror \
        -fsyntax-only -I"$include" -DOMPI_SKIP_MPICXX "${mpi_flags[@]}" "$2"
}

# check NAME STANDARD FILE COMPILER...
check() {
    local status=0
    compiles "${@:2}" >"$work/out" 2>&1 || status=1
    tap_result "$1" "$status" "$work/out"
}

for header in "$include"/jd*.hpp; do
    name=${header##*/}
    printf '#include <%s>\n#include <%s>\n' "$name" "$name" >"$work/twice.cpp"
    check "$name alone" c++17 "$work/twice.cpp" "${cxx[@]}"
done
for compiler in g++ clang++; do
    for standard in c++17 c++20; do
        for program in "$here"/test_cxx{,_arrays}.cpp; do
            name="${program##*/} by $compiler as $standard"
            if command -v "$compiler" >/dev/null; then
                check "$name" "$standard" "$program" "$compiler"
            else
                tap_skip "$name" "no $compiler here"
            fi
        done
    done
done

# refuses TEXT STATEMENT: it does not compile, and the text says why.
refuses() {
    cat >"$work/refused.cpp" <<SOURCE
#include <jd.hpp>
void f(jd::shard me, double *p, jd::mesh &mesh);
void f(jd::shard me, double *p, jd::mesh &mesh)
{
    (void)me, (void)p, (void)mesh;
    $2
}
SOURCE
    if compiles c++17 "$work/refused.cpp" "${cxx[@]}" >"$work/out" 2>&1; then
        tap_not_ok "refused: $2"
    elif [[ -z $1 ]] || grep -qF "$1" "$work/out"; then
        tap_ok "refused: $2"
    else
        tap_not_ok "refused in these words: $1"
        tap_comment <"$work/out"
    fi
}

check_refused() {
    printf '#include <jd.hpp>\nvoid f(jd::shard me);\nvoid f(jd::shard me)\n' \
        >"$work/allowed.cpp"
    printf '{\n    double x = jd::psum(me, "a", 1.0);\n    (void)x;\n}\n' \
        >>"$work/allowed.cpp"
    check "what is right is not refused" c++17 "$work/allowed.cpp" "${cxx[@]}"
    refuses "jd::span(pointer, count)" 'jd::psum(me, "a", p, p);'
    refuses "specialise jd::dtype_of" \
        'long double x[2]; jd::psum(me, "a", x, x);'
    refuses "elements of unlike types" \
        'float x = 0; jd::psum(me, "a", 1.0, x);'
    refuses "elements that are const" \
        'const float x = 0; jd::psum(me, "a", x, x);'
    refuses "has no bools" 'jd::all_gather(me, "a", true);'
    refuses "" 'jd::mesh other(mesh);'
}

check_refused
tap_done
