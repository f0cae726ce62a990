#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_install_abi.sh - a jd of MPI's standard ABI (-Dmpi=abi) installs; a project
# outside the tree finds it with CMake, and with pkg-config, and its programs run
# under the launcher of the MPI whose mpicc_abi is in PATH. Debian 12 has no such
# MPI: PyPI's mpich 5 is one. usage: test_install_abi.sh SOURCE_DIR
# shellcheck disable=SC2317 # check() calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
source_dir=$(cd "$1" && pwd)
mpicc_abi=$(command -v mpicc_abi) ||
    tap_skip_all "no MPI of the standard ABI here (mpicc_abi in PATH)"
launcher=$(dirname "$(realpath "$mpicc_abi")")/mpiexec
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clear_foreign_variables
prefix=$work/prefix
hello=$source_dir/mpi_examples/01_hello/hello.c
version=$(sed -nE "s/^ *version: '([0-9.]+)',/\1/p" "$source_dir/meson.build")
read -ra cc <<<"${CC:-cc}"

# check NAME COMMAND...: one result; later ones need it.
check() {
    tap_run "$@" || tap_done
}

# What is installed matters here, not how fast it runs.
installs() {
    meson setup --prefix="$prefix" --libdir=lib -Dmpi=abi -Dfortran=disabled \
        -Dcuda=disabled -Dmanual=disabled -Doptimization=0 -Ddebug=false \
        "$work/build" "$source_dir" &&
        ninja -C "$work/build" install
}

# loads PROGRAM: libmpi_abi, and no other MPI's library.
loads() {
    ldd "$1" | tee "$work/ldd"
    [[ $(grep -oE 'libmpi[^ ]*\.so' "$work/ldd" | sort -u) == libmpi_abi.so ]]
}

# says COMMAND...: what two processes of hello do.
says() {
    local said
    said=$(timeout 120 "$@") || return
    echo "$said"
    [[ $said == '2 devices in 2 processes: 3' ]]
}

cmake_builds() {
    CC=${cc[*]} cmake -S "$here/installed" -B "$work/cmake" \
        -DCMAKE_PREFIX_PATH="$prefix" -DJD_WANTED="$version" -DHELLO="$hello" &&
        cmake --build "$work/cmake"
}

# mpi_headers: the names of those among the dependencies on standard input.
mpi_headers() {
    tr ' ' '\n' | sed -n 's|.*/\(mpi[^/]*\.h\)$|\1|p' | sort -u
}

# mpi.h was read as mpicc_abi has it read: one may be for both interfaces.
reads_its_headers() {
    printf '#include <mpi.h>\n' >"$work/mpi.c"
    diff <("$mpicc_abi" -M "$work/mpi.c" | mpi_headers) \
        <(cat "$work"/cmake/CMakeFiles/mpi_hello.dir/*.d | mpi_headers)
}

pkg_config_builds() {
    # shellcheck disable=SC2046 # the flags are words
    PKG_CONFIG_PATH=$prefix/lib/pkgconfig "${cc[@]}" -o "$work/hello" "$hello" \
        $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs jd)
}

check "a jd of -Dmpi=abi is built and installed" installs
export LD_LIBRARY_PATH=$prefix/lib
check "its library needs libmpi_abi, and no MPI beside" loads "$prefix/lib/libjd.so"
check "a program builds with pkg-config" pkg_config_builds
check "it runs under that MPI's mpiexec" says "$launcher" -n 2 "$work/hello"
if command -v cmake >/dev/null; then
    check "find_package(jd $version CONFIG): hello and mpi.h's user build" \
        cmake_builds
    check "with the mpi.h of the standard ABI" reads_its_headers
    check "it needs libmpi_abi, and no MPI beside" loads "$work/cmake/hello"
    check "it runs under that MPI's mpiexec" says "$launcher" -n 2 \
        "$work/cmake/hello"
    check "so does the one that includes jd_mpi.h" timeout 120 "$launcher" -n 2 \
        "$work/cmake/mpi_hello"
else
    tap_skip "find_package(jd CONFIG)" "no cmake here"
fi
if [[ -e $work/build/runtime/wireup/server/jd-pmix-server ]]; then
    check "and under jd-run" says "$prefix/bin/jd-run" -n 2 "$work/hello"
else
    tap_skip "and under jd-run" "jd-pmix-server is not built"
fi
tap_done
