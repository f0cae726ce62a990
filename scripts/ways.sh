# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# ways.sh - the ways in which scripts/test builds jd. Source it after steps.sh;
# it runs nothing by itself.
# shellcheck disable=SC2034,SC2154 # of those who source it, and of steps.sh

# The ways to build jd, in their order, and what is told to the compiler, to
# configure, to ninja and to meson test.
ways=()
declare -A compiler=() setup=() target=() suites=()

# way NAME "SETUP OPTIONS" "TEST OPTIONS" [TARGET [COMPILER]]
way() {
    ways+=("$1")
    setup[$1]=$2 suites[$1]=$3 target[$1]=${4:-all} compiler[$1]=${5:-}
}

# Those beside the first: what the compiler may change. The interface for Fortran
# is of the first alone.
declare_other_ways() {
    local portable='--suite=unit --suite=env --suite=mpi --suite=conformance'
    local compiled='--suite=unit --suite=env --suite=compiled --suite=conformance'
    # Nobody runs the kernels.
    local kernels='-Dfortran=disabled -Dcuda-architectures=80' sanitized
    if command -v clang >/dev/null; then
        way test-clang "$kernels" "$compiled --suite=fuzz" all clang
    else
        skipped+=("build-test-clang: no clang here, nor fuzz targets")
    fi
    # With more optimisation gcc's sanitizers bring warnings that are wrong.
    sanitized="$kernels -Db_lundef=false -Doptimization=1"
    way test-asan "-Db_sanitize=address,undefined $sanitized" "$portable"
    way test-tsan "-Db_sanitize=thread $sanitized" --suite=coordination \
        coordination-tests
    if ls "$root"/build-test/collectives/*/platform_cuda.so >/dev/null 2>&1; then
        way test-no-cuda \
            "-Dcuda=disabled -Dlibdw=disabled -Dprobes=disabled $kernels" \
            '--suite=unit --suite=api --no-suite=source'
    else
        skipped+=("build-test: no CUDA and NCCL here to link a module with")
    fi
}

configure_way() {
    local options
    read -ra options <<<"-Dtests=enabled ${setup[$1]}"
    case ${compiler[$1]} in
    clang) CC=clang CXX=clang++ configure "$root/build-$1" "${options[@]}" ;;
    *) configure "$root/build-$1" "${options[@]}" ;;
    esac
}

compile_way() {
    ninja -k 0 -C "$root/build-$1" "${target[$1]}"
}
