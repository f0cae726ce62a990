# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
#
# snippets.sh - compiles the code that pages and headers show, in each language
# that it is for. Source it, after CC and CXX are set.

# shellcheck source-path=SCRIPTDIR source=../lib/mpi_flags.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/mpi_flags.sh"
read -ra cc <<<"${CC:-cc}"
read -ra cxx <<<"${CXX:-}"

# compile_snippet LANGUAGE INCLUDE_DIR FILE: what is C is C11 and C++11, cpp is
# C++17. 77, and why, where there is no compiler for it.
compile_snippet() {
    local flags=(-Wall -Wextra -Wno-unused -Werror -fsyntax-only "-I$2"
        "${mpi_flags[@]}")
    if [[ $1 == c ]]; then
        "${cc[@]}" -std=c11 -x c "${flags[@]}" "$3" || return 1
        ((${#cxx[@]} == 0)) ||
            "${cxx[@]}" -std=c++11 -x c++ "${flags[@]}" "$3"
    elif ((${#cxx[@]})); then
        "${cxx[@]}" -std=c++17 -x c++ "${flags[@]}" "$3"
    else
        echo "no C++ compiler here"
        return 77
    fi
}
