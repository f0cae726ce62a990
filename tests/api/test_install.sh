#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_install.sh - jd installs; what is installed works, started through PATH
# from another folder, also where it was moved to; a program outside the tree
# builds against it with pkg-config alone and runs, and with cmake; so do the
# examples, which are installed; and uninstalling leaves nothing.
# usage: test_install.sh SOURCE_DIR
# shellcheck disable=SC2317 # check() calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=installed/installed.sh
source "$here/installed/installed.sh"
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clear_foreign_variables
prefix=$work/prefix
read -ra cc <<<"${CC:-cc}"

# check NAME COMMAND...: one result; later ones need it.
check() {
    tap_run "$@" || tap_done
}

# What is installed matters here, not how fast it runs.
configure() {
    meson setup --prefix="$prefix" --libdir=lib -Ddefault_library=both \
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

# As a packager builds it, with no option.
has_no_tests() {
    [[ -z $(find "$work/build/tests" -type f | tee /dev/stderr) ]] &&
        meson test -C "$work/build" --no-rebuild | tee /dev/stderr |
        grep SKIP
}

# The module jd is where pkg-config says, as doc/fortran.md has it.
compile_fortran() {
    # shellcheck disable=SC2046 # the flags are words
    (cd "$work" && gfortran -o fortran-program \
        "$source_dir/mpi_examples/01_hello/hello.f90" \
        $(pkg-config --cflags --libs jd-fortran)) &&
        LD_LIBRARY_PATH=$prefix/lib "$work/fortran-program"
}

# The library inside, and all that it needs as shared ones.
compile_static() {
    local flags
    flags=$(pkg-config --static --cflags --libs jd)
    mkdir -p "$work/elsewhere"
    # shellcheck disable=SC2086 # the flags are words
    "${cc[@]}" -std=c11 -o "$work/elsewhere/static-program" \
        "$work/program.c" ${flags/-ljd/-l:libjd.a}
}

# by_path FOLDER COMMAND...: started by its name alone, where none of it is.
by_path() {
    (cd / && PATH=$1:$PATH LD_LIBRARY_PATH="" timeout 120 "${@:2}")
}

# topology_of BIN: jd-run finds jd-info, which finds jd-pmix-server, without
# which two processes are no job, and the platform of GPUs.
topology_of() {
    local output
    output=$(unset JD_PLATFORM && by_path "$1" jd-run -n 2 jd-info --topology) ||
        return 1
    echo "$output"
    [[ $output == *"1 host, 1 slice, 2 processes"* ]] || return 1
    [[ -z $(find "${1%/bin}/lib/jd" -name platform_cuda.so 2>/dev/null) ||
        $output != *platform_cuda.so* ]]
}

bench_of() {
    local output
    output=$(by_path "$1" jd-bench collectives --launcher "jd-run -n 2" \
        --sizes 8:8 --launches 1 --rounds 1 --sample 1 --against nothing) || return 1
    echo "$output"
    [[ $output == *psum* ]]
}

static_program_runs() {
    local output
    output=$(by_path "$prefix/bin:$work/elsewhere" jd-run -n 2 static-program |
        sort) || return 1
    echo "$output"
    [[ $output == "0 of 2, 2 device"$'\n'"1 of 2, 2 device" ]]
}

install_into() {
    DESTDIR=$work/moved meson install --no-rebuild -C "$work/build" &&
        [[ ! -e $prefix ]]
}

run_program() {
    local output
    output=$(LD_LIBRARY_PATH=$prefix/lib "$work/program") || return 1
    echo "$output"
    [[ $output == "$1" ]]
}

public_headers() {
    diff <(cd "$source_dir" &&
        printf '%s\n' include/jd*.h include/jd*.hpp |
        sed 's|.*/||' | sort) <(ls "$prefix/include/jd")
}

# Where man, bash-completion and zsh look for them.
for_readers() {
    (cd "$prefix/share" && ls -l man/man1/jd-run.1 man/man3/jd_psum.3 \
        man/man7/jd.7 bash-completion/completions/jd-run \
        zsh/site-functions/_jd)
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
check "without -Dtests=enabled no test is built, and one says so" has_no_tests
# Where servers are: only with libpmix is there one.
[[ -e $work/build/runtime/wireup/server/jd-pmix-server ]] && has_server=1
moved=$work/moved$prefix
check "meson install with DESTDIR" install_into
if [[ ${has_server-} ]]; then
    check "moved: jd-run, jd-info by PATH find what they need" \
        topology_of "$moved/bin"
    check "moved: jd-bench does" bench_of "$moved/bin"
else
    tap_skip "moved: jd-run, jd-info by PATH" "jd-pmix-server is not built"
fi
rm -rf "$work/moved"
check "meson install" meson install --no-rebuild -C "$work/build"
check "the public headers are installed, and no others" public_headers
check "the manual and the completions are installed" for_readers
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
check "pkg-config finds this version" version_is_ours "$version"
check "a program builds with pkg-config's flags" compile
check "it runs" run_program "0 of 1, 1 device"
if [[ -e $prefix/lib/libjd_fortran.so ]] && command -v gfortran >/dev/null; then
    check "so does one in Fortran, which runs" compile_fortran
else
    tap_skip "so does one in Fortran" "libjd_fortran is not built"
fi
check "one with libjd.a inside builds with pkg-config --static" compile_static
if [[ ${has_server-} ]]; then
    check "jd-run, jd-info by PATH find what they need" topology_of "$prefix/bin"
    check "the program with libjd.a does, from its own folder" \
        static_program_runs
else
    tap_skip "jd-run, jd-info, libjd.a by PATH" "jd-pmix-server is not built"
fi
printf '#include <jd_mpi.h>\n' >>"$work/program.c"
check "one that includes jd_mpi.h builds with MPI's flags too" compile_mpi
check_cmake
check_examples
check_subproject
check "ninja uninstall" ninja -C "$work/build" uninstall
check "it leaves no file" nothing_is_left
tap_done
