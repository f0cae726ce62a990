# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# installed.sh - how other build systems use the jd that test_install.sh has
# installed. Source it there: it uses its variables and check().
# shellcheck disable=SC2154,SC2317

# cmake_build BUILD PREFIX VERSION [ARGUMENT]...: the project of this folder,
# against what is in the prefix, and nothing of it in CMake's registry.
cmake_build() {
    CC=${cc[*]} cmake -S "$here/installed" -B "$work/$1" \
        -DCMAKE_PREFIX_PATH="$2" -DJD_WANTED="$3" \
        -DHELLO="$source_dir/mpi_examples/01_hello/hello.c" "${@:4}" &&
        cmake --build "$work/$1"
}

# cmake_runs BUILD: both programs do.
cmake_runs() {
    local output
    output=$(timeout 60 "$work/$1/hello") || return 1
    echo "$output"
    [[ $output == "1 devices in 1 processes: 1" ]] &&
        timeout 60 "$work/$1/mpi_hello"
}

# takes VERSION PREFIX: find_package of that version is content.
takes() {
    cmake_build "version-$1" "$2" "$1" --log-level=ERROR
}

# refuses VERSION PREFIX: it is not, because of the version.
refuses() {
    local output
    ! output=$(cmake_build "version-$1" "$2" "$1" 2>&1) || return 1
    echo "$output"
    [[ $(tr -s '\n ' ' ' <<<"$output") == *"requested version \"$1\"."* ]]
}

# CMake finds the compiler; what else it needs it has from jd::fortran.
cmake_fortran() {
    cmake_build cmake-fortran "$1" "$version" \
        -DHELLO_F="$source_dir/mpi_examples/01_hello/hello.f90" &&
        timeout 60 "$work/cmake-fortran/hello_f"
}

# A component that the prefix has not is said by its name.
refuses_fortran() {
    local output
    ! output=$(cmake_build cmake-no-fortran "$1" "$version" \
        -DHELLO_F="$source_dir/mpi_examples/01_hello/hello.f90" 2>&1) || return 1
    echo "$output"
    [[ $(tr -s '\n ' ' ' <<<"$output") == *"has no component fortran."* ]]
}

# check_cmake_fortran PREFIX
check_cmake_fortran() {
    if [[ ! -e $1/lib/libjd_fortran.so ]] || ! command -v gfortran >/dev/null; then
        tap_skip "jd::fortran" "libjd_fortran is not built"
        return
    fi
    check "moved: jd::fortran builds, and it runs" cmake_fortran "$1"
    mv "$1/lib/libjd_fortran.so" "$work/libjd_fortran.so"
    check "without its library the component is refused" refuses_fortran "$1"
    mv "$work/libjd_fortran.so" "$1/lib"
}

is_static() {
    cmake_build cmake-static "$1" "$version" && cmake_runs cmake-static &&
        ! ldd "$work/cmake-static/hello" | grep libjd
}

# The prefix copied to another place, and the first one away: what is built and
# run there is the copy's.
check_cmake() {
    local moved_prefix=$work/cmake-moved major minor patch
    if ! command -v cmake >/dev/null; then
        tap_skip "find_package(jd CONFIG)" "no cmake here"
        return
    fi
    check "find_package(jd $version CONFIG)" \
        cmake_build cmake "$prefix" "$version"
    check "what cmake built runs" cmake_runs cmake
    IFS=. read -r major minor patch <<<"$version"
    mv "$prefix" "$moved_prefix"
    check "moved: cmake builds" cmake_build cmake-moved-use "$moved_prefix" \
        "$major.$minor"
    check "moved: it runs" cmake_runs cmake-moved-use
    check_cmake_fortran "$moved_prefix"
    check "no file for cmake names the first prefix" \
        no_file_names "$moved_prefix/lib/cmake" "$prefix"
    check "a later patch is refused" refuses \
        "$major.$minor.$((patch + 1))" "$moved_prefix"
    check "another minor of 0 is refused" refuses "$major.$((minor - 1))" \
        "$moved_prefix"
    check "another major is refused" refuses "$((major + 1))" "$moved_prefix"
    mkdir "$work/shared"
    mv "$moved_prefix"/lib/libjd.so* "$work/shared"
    check "with libjd.a alone cmake takes that" is_static "$moved_prefix"
    mv "$work/shared"/* "$moved_prefix/lib"
    mv "$moved_prefix" "$prefix"
}

# no_file_names FOLDER TEXT
no_file_names() {
    ! grep -r -F "$2" "$1"
}

# The examples that meson has built, by their names; those of nvcc and of Fortran
# are not of C.
meson_examples() {
    find "$work/build/mpi_examples" -type f -executable ! -name '*.so' \
        ! -name '*cuda*' ! -name '*_f' ! -name 'hydro_*' -printf '%f\n' | sort
}

# builds_examples FOLDER: all of them are there, and one runs.
builds_examples() {
    diff <(meson_examples) <(find "$1" -maxdepth 1 -type f -executable \
        -printf '%f\n' | sort) &&
        [[ $(timeout 60 "$1/hello") == "1 devices in 1 processes: 1" ]]
}

# -O0: to be quick. As a user's with read-only sources.
make_examples() {
    mkdir "$work/examples-make"
    make -C "$work/examples-make" -j2 -f "$examples/Makefile" CFLAGS=-O0 &&
        builds_examples "$work/examples-make"
}

cmake_examples() {
    CC=${cc[*]} cmake -S "$examples" -B "$work/examples-cmake" \
        -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS=-O0 &&
        cmake --build "$work/examples-cmake" -j 2 &&
        builds_examples "$work/examples-cmake"
}

check_examples() {
    local examples=$prefix/share/doc/jd/examples
    if command -v make >/dev/null && command -v mpicc >/dev/null; then
        check "the examples that are installed build with make" make_examples
    else
        tap_skip "the examples build with make" "no make or no mpicc here"
    fi
    if command -v cmake >/dev/null; then
        check "they build with cmake" cmake_examples
    else
        tap_skip "the examples build with cmake" "no cmake here"
    fi
}

# jd as a meson subproject: it configures there, and the program's link has the
# subproject's libjd.
is_subproject() {
    local project=$work/subproject
    cp -r "$here/installed/subproject" "$project"
    mkdir "$project/subprojects"
    ln -s "$source_dir" "$project/subprojects/jd"
    meson setup --wrap-mode=forcefallback -Doptimization=0 -Ddebug=false \
        -Dhello="$(realpath "$source_dir")/mpi_examples/01_hello/hello.c" \
        "$project/build" "$project" &&
        ninja -C "$project/build" -t commands hello | tail -n 1 |
        grep 'subprojects/jd/libjd\.so'
}

subproject_runs() {
    ninja -C "$work/subproject/build" hello &&
        [[ $(timeout 60 "$work/subproject/build/hello") == \
            "1 devices in 1 processes: 1" ]]
}

# That all of jd compiles there is tried with --full: it is compiled once more.
check_subproject() {
    check "jd configures as a meson subproject" is_subproject
    if [[ -n ${TEST_FULL-} ]]; then
        check "it builds there, and hello runs" subproject_runs
    else
        tap_skip "it builds there" "takes a minute: scripts/test --full does"
    fi
}
