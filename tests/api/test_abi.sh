#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_abi.sh - programs that were built with earlier headers of this SONAME go
# on: no call and no type that tests/api/abi/jd.abi records has gone or changed.
# What is new is welcome.
# usage: test_abi.sh [--record] SOURCE_DIR
# --record writes jd.abi anew: after calls were added, so that they are held to
# from then on; after a change that is meant, together with a new SONAME
# (doc/building.md).
#
# The record is of a library that is made of the headers alone, each call
# without a body: it needs no build with debug information, and what the headers
# declare is what libjd.so exports (test_symbols.sh).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=declared.sh
source "$here/declared.sh"
record=$here/abi/jd.abi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# definitions INCLUDE_DIR: a source with each JD_API function, without a body.
definitions() {
    echo '#include <jd.h>'
    echo '#include <jd_mpi.h>'
    echo '#undef jd_initialize'
    declarations "$1"/jd*.h |
        sed -E 's/( JD_[A-Z]+(\([0-9, ]*\))?)*$/ { for (;;) {} }/'
}

# library INCLUDE_DIR FILE: with an mpi.h that is the same for each MPI.
library() {
    mkdir -p "$work/mpi"
    echo 'typedef struct mpi_communicator *MPI_Comm; typedef int MPI_Fint;' \
        >"$work/mpi/mpi.h"
    definitions "$1" >"$2.c"
    cc -g -w -std=gnu11 -shared -fPIC -I"$1" -I"$work/mpi" -o "$2" "$2.c"
}

# record_of LIBRARY: its interface.
record_of() {
    abidw --no-architecture --no-corpus-path --no-comp-dir-path \
        --no-show-locs --no-parameter-names --no-elf-needed "$1"
}

# fits RECORD LIBRARY: nothing of the record has gone or is another.
fits() {
    abidiff --no-architecture --no-added-syms --no-show-locs \
        --suppressions "$here/abi/abi.suppr" "$1" "$2"
}

# planted WANTED NAME FILE SED_COMMAND: headers with that change fit (0) or do not
# (1); a change that changes nothing is none.
planted() {
    local status=0 folder=$work/planted
    rm -rf "$folder"
    cp -r "$include" "$folder"
    sed -i -E "$4" "$folder/$3"
    if diff -q "$include/$3" "$folder/$3" >/dev/null; then
        tap_not_ok "$2: $3 has no such text"
        return
    fi
    library "$folder" "$work/planted.so" &&
        fits "$work/first.abi" "$work/planted.so" >"$work/out" 2>&1 || status=1
    tap_result "$2" "$((status != $1))" "$work/out"
}

if [[ $1 == --record ]]; then
    library "$2/include" "$work/libjd.so"
    record_of "$work/libjd.so" >"$record"
    exit 0
fi
if ! command -v abidw abidiff >/dev/null; then
    tap_skip_all "no abidw and abidiff here (Debian: abigail-tools)"
fi
include=$1/include
status=0
{ library "$include" "$work/libjd.so" &&
    fits "$record" "$work/libjd.so"; } >"$work/out" 2>&1 || status=$?
((status == 0)) || echo "A change that is meant: tests/api/test_abi.sh" \
    "--record . and a new SONAME, see doc/building.md" >>"$work/out"
tap_result "the interface has all that tests/api/abi/jd.abi records" \
    "$status" "$work/out"

record_of "$work/libjd.so" >"$work/first.abi"
planted 0 "a new call is no breach" jd_process.h \
    's/^(JD_API double jd_wtime.*)/\1 JD_API int jd_new(void);/'
planted 0 "nor is a new type" jd_dtype.h 's/^\} jd_dtype;/JD_NEW = 99, &/'
planted 0 "nor an option at the end" jd_process.h \
    's/^\} jd_options;/double newest; &/'
planted 1 "a call that has gone is seen" jd_process.h \
    's/^JD_API double jd_wtime.*//'
planted 1 "a parameter of another type is seen" jd_process.h \
    's/jd_abort\(int code/jd_abort(long code/'
planted 1 "another result is seen" jd_process.h \
    's/^JD_API double jd_wtime/JD_API float jd_wtime/'
planted 1 "an option in the middle is seen" jd_process.h \
    's/^    int num_slices;/    int other; &/'
planted 1 "a longer struct that programs make is seen" jd_collectives.h \
    's/^\} jd_route;/int new; &/'
planted 1 "a code with another number is seen" jd_status.h \
    's/(DATA_LOSS, )15/\199/'
tap_done
