#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_install.sh - jd installs, a program outside the tree builds against it
# with pkg-config alone and runs, and uninstalling leaves nothing.
# usage: test_install.sh SOURCE_DIR
# shellcheck disable=SC2317 # check() calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clear_foreign_variables
prefix=$work/prefix
read -ra cc <<<"${CC:-cc}"

# check NAME COMMAND...: one result; later ones need it.
check() {
    local name=$1 status=0
    shift
    "$@" >"$work/out" 2>&1 || status=$?
    tap_result "$name" "$status" "$work/out"
    ((status == 0)) || tap_done
}

# What is installed matters here, not how fast it runs.
configure() {
    meson setup --prefix="$prefix" --libdir=lib -Dtests=disabled \
        -Doptimization=0 -Ddebug=false -Dcuda-architectures=80 \
        "$work/build" "$source_dir"
}

# As the README says it.
compile() {
    # shellcheck disable=SC2046 # the flags are words
    (cd "$work" && "${cc[@]}" -std=c11 -Wall -Wextra -Wpedantic -Werror \
        -o program program.c $(pkg-config --cflags --libs jd) "$@")
}

# mpi.h of Open MPI is not clean of warnings everywhere, and not ours.
compile_mpi() {
    # shellcheck disable=SC2046 # the flags are words
    compile $(pkg-config --cflags --libs ompi-c 2>/dev/null ||
        mpicc --showme:compile --showme:link) -Wno-error
}

run_program() {
    local output
    output=$(LD_LIBRARY_PATH=$prefix/lib "$work/program") || return 1
    echo "$output"
    [[ $output == "$1" ]]
}

public_headers() {
    diff <(cd "$source_dir" &&
        printf '%s\n' {runtime,collectives,arrays}/jd*.h |
        sed 's|.*/||' | sort) <(ls "$prefix/include/jd")
}

# The compiler must not find another jd than the one that was installed.
version_is_ours() {
    [[ $(pkg-config --modversion jd) == "$1" ]]
}

nothing_is_left() {
    [[ -z $(find "$prefix" -type f -o -type l | tee /dev/stderr) ]]
}

cat >"$work/program.c" <<'SOURCE'
#include <jd.h>
#include <stdio.h>

int main(void)
{
    JD_CHECK(jd_initialize());
    printf("%d of %d, %d device\n", jd_process_index(), jd_process_count(),
           jd_device_count());
    return jd_shutdown();
}
SOURCE

version=$(sed -nE "s/^ *version: '([0-9.]+)',/\1/p" "$source_dir/meson.build")
check "meson setup --prefix" configure
check "meson compile" ninja -C "$work/build"
check "meson install" meson install --no-rebuild -C "$work/build"
check "the public headers are installed, and no others" public_headers
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
check "pkg-config finds this version" version_is_ours "$version"
check "a program builds with pkg-config's flags" compile
check "it runs" run_program "0 of 1, 1 device"
printf '#include <jd_mpi.h>\n' >>"$work/program.c"
check "one that includes jd_mpi.h builds with MPI's flags too" compile_mpi
check "ninja uninstall" ninja -C "$work/build" uninstall
check "it leaves no file" nothing_is_left
tap_done
