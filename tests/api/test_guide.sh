#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_guide.sh - the pieces of C in the porting guide compile as they stand, in
# C11 and in C++11.
# usage: test_guide.sh SOURCE_DIR
# CC and CXX name the compilers.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
source_dir=$1
read -ra cc <<<"${CC:-cc}"
read -ra cxx <<<"${CXX:-c++}"
include=(-I "$source_dir/include" -DOMPI_SKIP_MPICXX)
# shellcheck source-path=SCRIPTDIR source=../lib/mpi_flags.sh
source "$here/../lib/mpi_flags.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# cut FILE: each ```c block into $work/piece.N; prints how many there are.
cut_pieces() {
    rm -f "$work"/piece.*
    awk -v piece="$work/piece." '
        /^```/ { if (inside) { inside = 0; next } }
        /^```c$/ { inside = 1; n++; printf "" >(piece n); next }
        inside { print >(piece n) }
        END { print n + 0 }' "$1"
}

# wrap PIECE: a function around it, with the names that the guide speaks of,
# unless the piece makes them itself.
wrap() {
    echo '#include <jd.h>'
    echo '#include <jd_mpi.h>'
    echo '#include <stdio.h>'
    echo 'extern void *given(void);'
    echo 'void piece(void);'
    echo 'static int n = 4, left, right, rows = 8;'
    echo 'static size_t width = 16;'
    echo 'static jd_route up[4], down[4];'
    echo 'static double u[1024], gathered[1000];'
    echo 'static jd_mesh *mesh;'
    echo 'static jd_shard *me;'
    echo 'void piece(void) {'
    cat "$1"
    echo '}'
    echo 'void use(void); void use(void) { (void)n; (void)left; (void)right;'
    echo '(void)rows; (void)width; (void)up; (void)down; (void)u;'
    echo '(void)gathered; (void)mesh; (void)me; }'
}

# compile NAME FILE COMPILER...
compile() {
    local name=$1 file=$2 status=0
    shift 2
    if ! command -v "$1" >/dev/null; then
        tap_skip "$name" "no such compiler here"
        return
    fi
    "$@" -fsyntax-only -Wall -Wno-unused-variable -Werror "${include[@]}" \
        "${mpi_flags[@]}" "$file" >"$work/out" 2>&1 || status=$?
    tap_result "$name" "$status" "$work/out"
}

for page in mpi_examples/05_port_mpi/README.md \
    mpi_examples/05_port_mpi/pitfalls/README.md; do
    count=$(cut_pieces "$source_dir/$page")
    ((count > 0)) || tap_not_ok "$page has pieces of C"
    for ((i = 1; i <= count; i++)); do
        wrap "$work/piece.$i" >"$work/piece_$i.c"
        compile "piece $i of $page in C11" "$work/piece_$i.c" \
            "${cc[@]}" -x c -std=c11 -Wpedantic
        compile "piece $i of $page in C++11" "$work/piece_$i.c" \
            "${cxx[@]}" -x c++ -std=c++11 -Wpedantic
    done
done

# It sees a piece that does not compile.
echo 'jd_no_such_call();' >"$work/planted"
wrap "$work/planted" >"$work/planted.c"
if "${cc[@]}" -x c -std=c11 -fsyntax-only -Werror=implicit "${include[@]}" \
    "${mpi_flags[@]}" "$work/planted.c" 2>"$work/out" ||
    ! grep -q jd_no_such_call "$work/out"; then
    tap_not_ok "a wrong piece is seen"
else
    tap_ok "a wrong piece is seen"
fi
tap_done
