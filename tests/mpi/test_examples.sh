#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_examples.sh - runs the programs of mpi_examples as their READMEs say,
# with 1, 2, 4 and 8 processes, and with bad input.
# usage: test_examples.sh BUILD_DIR

# Functions are called through `check`:
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
examples=$(cd "$1" && pwd)/mpi_examples
data=$here/../../mpi_examples/04_digits/digits.csv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run N PROGRAM ARGS...: under mpirun, into out, err and status.
run() {
    local n=$1 program=$2
    shift 2
    status=0
    timeout --kill-after=5 $((60 * ${TEST_TIME_FACTOR:-1})) \
        mpirun --oversubscribe \
        ${TEST_PRELOAD:+-x "LD_PRELOAD=$TEST_PRELOAD"} \
        -n "$n" "$examples/$program" "$@" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# has FILE TEXT, has_once FILE TEXT, last_line_has FILE TEXT
has() {
    grep -qF -e "$2" "$work/$1"
}

has_once() {
    [[ $(grep -cF -e "$2" "$work/$1") == 1 ]]
}

last_line_has() {
    [[ $(tail -n 1 "$work/$1") == *"$2"* ]]
}

# ends STATUS STREAM TEXT: the last run's exit status, and the text once.
ends() {
    ((status == $1)) && has_once "$2" "$3"
}

# ---- hello, topology, psum ------------------------------------------------

check_small() {
    local n
    for n in 1 2 4 8; do
        run "$n" 01_hello/hello
        tap_check "hello -n $n" ends 0 out \
            "$n devices in $n processes: $((n * (n + 1) / 2))"
        run "$n" 02_topology/topology
        tap_check "topology -n $n" ends 0 out \
            "processes: $n, hosts: 1, devices: $n"
        tap_check "topology -n $n shows the last device" \
            has out " $(((n - 1) << 17)) "
        run "$n" 03_psum/psum
        tap_check "psum -n $n" ends 0 out "result: right"
    done
    run 3 03_psum/psum 1001
    tap_check "psum of uneven blocks" ends 0 out "counts     334 334 333"
    run 8 03_psum/psum 3
    tap_check "psum of empty blocks" ends 0 out "counts     1 1 1 0 0 0 0 0"
    run 2 03_psum/psum 12x
    tap_check "psum: bad COUNT" ends 2 err \
        'psum: COUNT must be a whole number from 1 to 10000000000, not "12x"'
    run 2 03_psum/psum --help
    tap_check "psum --help" ends 0 out "usage: psum [COUNT]"
}

# ---- in C++ ---------------------------------------------------------------

# same_output: something, as the last run's but for times.
same_output() {
    [[ -s $work/c || -s $work/c.err ]] && ((status == wanted)) &&
        diff <(grep -v '^gathering' "$work/c") \
            <(grep -v '^gathering' "$work/out") &&
        cmp "$work/c.err" "$work/err"
}

# same_in_cxx PROCESSES DEVICES PROGRAM ARGS...: PROGRAM_cxx does what PROGRAM does.
same_in_cxx() {
    run_devices "$@"
    cp "$work/out" "$work/c"
    grep '^[a-z]*: ' "$work/err" >"$work/c.err" || true
    wanted=$status
    run_devices "$1" "$2" "$3_cxx" "${@:4}"
    grep '^[a-z]*: ' "$work/err" >"$work/some.err" || true
    mv "$work/some.err" "$work/err"
    tap_check "${3#*/}.cpp, $1 x $2: ${*:4}" same_output
}

check_cxx() {
    if [[ ! -x $examples/01_hello/hello_cxx ]]; then
        tap_skip "the examples in C++" "no C++17 compiler here"
        return
    fi
    same_in_cxx 1 1 01_hello/hello
    same_in_cxx 4 1 01_hello/hello
    same_in_cxx 3 1 03_psum/psum 1001
    same_in_cxx 8 1 03_psum/psum 3
    same_in_cxx 2 1 03_psum/psum 12x
    same_in_cxx 2 1 03_psum/psum 1 2
    same_in_cxx 2 1 03_psum/psum --help
    same_in_cxx 4 1 07_mesh/matmul 100
    same_in_cxx 1 6 07_mesh/matmul 50
    same_in_cxx 2 2 07_mesh/matmul 100
    same_in_cxx 2 1 07_mesh/matmul 0
    same_in_cxx 2 1 07_mesh/matmul --help
}

# ---- mesh, shallow water --------------------------------------------------

# run_devices PROCESSES DEVICES PROGRAM ARGS...: so many in each process.
run_devices() {
    export JD_NUM_CPU_DEVICES=$2
    run "$1" "${@:3}"
    unset JD_NUM_CPU_DEVICES
}

check_mesh() {
    local shape
    for shape in "1 1" "4 1" "3 1" "1 6" "2 2"; do
        # shellcheck disable=SC2086 # two words
        run_devices $shape 07_mesh/matmul 100
        tap_check "matmul: processes and devices $shape" ends 0 out "result: right"
    done
    run 2 07_mesh/matmul 0
    tap_check "matmul: bad SIZE" ends 2 err \
        "matmul: SIZE must be a whole number from 1 to 8192"
}

# same_water NAME: the same lines and picture as the first run's.
same_water() {
    grep '^step' "$work/out" | cmp - "$work/water" &&
        cmp "$work/sea.ppm" "$work/first.ppm"
}

# check_water_in jd|f PROCESSES DEVICES: C or Fortran.
check_water_in() {
    run_devices "$2" "$3" "08_shallow_water/shallow_$1" --size 120 --steps 90 \
        --picture "$work/sea.ppm"
    tap_check "shallow_$1: processes and devices $2 $3" same_water
}

check_water() {
    local shape
    run 1 08_shallow_water/shallow_mpi --size 120 --steps 90 \
        --picture "$work/first.ppm"
    grep '^step' "$work/out" >"$work/water"
    tap_check "shallow water, MPI" has out "step     88  water "
    # shellcheck disable=SC2086 # two words
    for shape in "1 1" "4 1" "6 1" "1 4" "2 2"; do
        check_water_in jd $shape
        [[ ! -x $examples/08_shallow_water/shallow_f ]] ||
            check_water_in f $shape
    done
    run 4 08_shallow_water/shallow_mpi --size 120 --steps 90 \
        --picture "$work/sea.ppm"
    tap_check "shallow water, MPI -n 4" same_water
    run 2 08_shallow_water/shallow_jd --steps 1x
    tap_check "shallow water: bad steps" ends 2 err \
        "--steps 1x is no option with a value it can have"
    run 2 08_shallow_water/shallow_jd --steps 1 --picture "$work/no/sea.ppm"
    tap_check "shallow water: no folder" has err \
        "$work/no/sea.ppm: No such file or directory"
}

# ---- sharded arrays -------------------------------------------------------

check_arrays() {
    local shape
    for shape in "1 1" "4 1" "3 1" "1 6" "2 2"; do
        # shellcheck disable=SC2086 # two words
        run_devices $shape 10_sharded_arrays/arrays
        tap_check "arrays: processes and devices $shape" ends 0 out "result: right"
    done
    run 4 10_sharded_arrays/arrays
    tap_check "arrays: the picture of rows" has out "[300,600)  | 1:0    |"
    tap_check "arrays: the picture of columns" has out \
        "[0,1200) | 0:0    | 1:0    | 2:0    | 3:0    |"
    tap_check "arrays: the norms" has out \
        "norms of columns 0 and 9: 20.774229 and 24.955614"
    run 4 10_sharded_arrays/arrays 3 2
    tap_check "arrays: empty blocks" ends 0 out "result: right"
    run 2 10_sharded_arrays/arrays 5
    tap_check "arrays: no COLUMNS" ends 2 err \
        "arrays: ROWS and COLUMNS must be whole numbers from 1 to 8192"
    run 2 10_sharded_arrays/arrays --help
    tap_check "arrays --help" ends 0 out "usage: arrays [ROWS COLUMNS]"
}

# ---- digits ---------------------------------------------------------------

# accuracy_is_good: in the last epoch's line, at least 0.93.
accuracy_is_good() {
    grep '^epoch' "$work/out" | tail -n 1 |
        awk '{ exit !($NF >= 0.93 && $NF <= 1) }'
}

check_digits() {
    local n
    run 1 04_digits/digits --save "$work/one" "$data"
    tap_check "digits -n 1 learns" accuracy_is_good
    tap_check "digits -n 1" ends 0 out "result: equals the one-process result"
    for n in 2 4 8; do
        run "$n" 04_digits/digits --compare "$work/one" "$data"
        tap_check "digits -n $n learns" accuracy_is_good
        tap_check "digits -n $n equals the saved result of one process" \
            ends 0 out "compare: equals $work/one"
        tap_check "digits -n $n: the last line is the result" \
            last_line_has out "result: equals the one-process result"
        tap_check "digits -n $n: all rows have a reader" has out "-1797 "
    done
    run 2 04_digits/digits --epochs 199 --compare "$work/one" "$data"
    tap_check "digits: another result is seen" ends 1 out \
        "compare: DIFFERS from $work/one"
}

# check_bad_data NAME TEXT: bad.csv, made by the caller, is refused once, in
# these words, not by each process.
check_bad_data() {
    run 4 04_digits/digits "$work/bad.csv"
    tap_check "digits: $1" ends 1 err "digits: $work/bad.csv$2"
}

check_bad_digits() {
    check_bad_data "a missing file" ": No such file or directory"
    : >"$work/bad.csv"
    check_bad_data "an empty file" ": fewer than 5 lines; every fifth is held"
    sed '1000s/^0,0,/0,x1,/' "$data" >"$work/bad.csv"
    check_bad_data "no number" \
        ': line 1000, column 2: "x1" is not a whole number from 0 to 16'
    sed '1797s/[0-9]*$/10/' "$data" >"$work/bad.csv"
    check_bad_data "no digit" \
        ': line 1797, column 65: "10" is not a whole number from 0 to 9'
    sed '3s/,[0-9]*$//' "$data" >"$work/bad.csv"
    check_bad_data "too few columns" ": line 3 has 64 columns where 65 are"
    sed '900s/$/,1/' "$data" >"$work/bad.csv"
    check_bad_data "too many columns" ": line 900 has 66 columns where 65 are"
    sed '2s/^/\n/' "$data" >"$work/bad.csv"
    check_bad_data "an empty line" ": line 2 has 1 column where 65 are"
    rm "$work/bad.csv"
    mkdir "$work/bad.csv"
    check_bad_data "a folder" ": Is a directory"
    rmdir "$work/bad.csv"
    head -c -1 "$data" | sed 's/$/\r/' >"$work/other.csv"
    run 4 04_digits/digits --compare "$work/one" "$work/other.csv"
    tap_check "digits: CR and LF, no last newline" ends 0 out "compare: equals"
    head -n 6 "$data" >"$work/other.csv"
    run 8 04_digits/digits "$work/other.csv"
    tap_check "digits: more processes than rows" ends 0 out "result: equals"
}

check_digits_usage() {
    run 2 04_digits/digits
    tap_check "digits: no FILE" ends 2 err "digits: FILE: the data file is missing"
    run 2 04_digits/digits --epochs 0 "$data"
    tap_check "digits: bad --epochs" ends 2 err \
        'digits: --epochs must be a whole number from 1 to 100000, not "0"'
    run 2 04_digits/digits --what "$data"
    tap_check "digits: unknown option" ends 2 err "digits: --what: unknown option"
    run 2 04_digits/digits --help
    tap_check "digits --help" ends 0 out "usage: digits [OPTION]... FILE"
    run 2 04_digits/digits --epochs 1 --save /dev/full "$data"
    tap_check "digits: a full disk" ends 1 err "/dev/full: No space left on device"
    run 2 04_digits/digits --epochs 1 --compare "$data" "$data"
    tap_check "digits: no parameters to compare with" ends 1 err \
        "parameter 2 of 650 is missing or is not a number"
}

# ---- stencil --------------------------------------------------------------

# check_same N ARGS...: both programs print the same.
check_same() {
    run "$1" 05_port_mpi/stencil_mpi "${@:2}"
    cp "$work/out" "$work/mpi"
    run "$1" 05_port_mpi/stencil_jd "${@:2}"
    tap_check "stencil_jd ${*:2} -n $1" ends 0 out "mean heat"
    tap_check "stencil_jd ${*:2} -n $1 prints what stencil_mpi does" \
        cmp -s "$work/out" "$work/mpi"
    if [[ -x $examples/05_port_mpi/stencil_f ]]; then
        run "$1" 05_port_mpi/stencil_f "${@:2}"
        tap_check "so does stencil_f" cmp -s "$work/out" "$work/mpi"
    fi
}

check_stencil() {
    local n
    for n in 1 2 4 8; do
        check_same "$n"
    done
    check_same 3 61 700 1e-9
    check_same 8 8 1
}

check_stencil_usage() {
    local n
    for n in mpi jd; do
        run 4 "05_port_mpi/stencil_$n" 3
        tap_check "stencil_$n: SIZE too small" ends 2 err \
            "SIZE must be a whole number, 4 to 16384, for 4 processes, not"
    done
    run 2 05_port_mpi/stencil_jd 8 many
    tap_check "stencil_jd: bad STEPS" ends 2 err \
        'STEPS must be a whole number, 1 to 1000000, not "many"'
    run 2 05_port_mpi/stencil_jd 8 8 -1
    tap_check "stencil_jd: bad TOLERANCE" ends 2 err \
        'TOLERANCE must be a number from 0 on, not "-1"'
    run 2 05_port_mpi/stencil_jd --help
    tap_check "stencil_jd --help" ends 0 out "usage: stencil_jd [SIZE"
}

# ---- checkpoint -----------------------------------------------------------

# goes_on N FROM TO SUM: the checkpoint example, with so many processes.
goes_on() {
    run "$1" 11_checkpoint/checkpoint "$work/state"
    tap_check "checkpoint -n $1 from step $2" ends 0 out \
        ", steps $2 to $3: sum of bits $4"
}

check_checkpoint() {
    goes_on 4 0 100 0fc368bade2bb216
    goes_on 2 100 200 e42eda3183d1ca62
    tap_check "checkpoint: what was saved is shown" \
        has_once out 'saved: "population", F64 of 1 dimension'
    goes_on 1 200 300 d597a4ce8dc4a5c8
    run_devices 2 3 11_checkpoint/checkpoint "$work/other" 300
    tap_check "checkpoint: other devices, at once" has out "bits d597a4ce8dc4a5c8"
    printf x >>"$work/state/population.0.npy"
    run 2 11_checkpoint/checkpoint "$work/state"
    tap_check "checkpoint: a damaged file" has err "population.0.npy, block 0 ("
    run 2 11_checkpoint/checkpoint "$work/no/state" 1
    tap_check "checkpoint: no folder" ends 1 err \
        "could not create $work/no/state.tmp-"
    run 2 11_checkpoint/checkpoint "$work/state" many
    tap_check "checkpoint: bad STEPS" ends 2 err "usage: checkpoint DIR [STEPS]"
    run 2 11_checkpoint/checkpoint --help
    tap_check "checkpoint --help" ends 0 out "usage: checkpoint DIR [STEPS]"
}

# ---- hydro ----------------------------------------------------------------

deck=$here/../../mpi_examples/12_hydro/blast.in

# deck_of LINE...: deck.in, and the picture that it asks for.
deck_of() {
    printf '%s\n' "$@" "picture=$work/gas.pgm" >"$work/deck.in"
}

# same_gas: the same lines and picture as the first run's.
same_gas() {
    cmp "$work/out" "$work/gas.out" && cmp "$work/gas.pgm" "$work/first.pgm"
}

# check_port NAME N...: by MPI on one process, and then by jd on so many. Without
# MPI's modules, jd on one comes first.
check_port() {
    local n first=mpi
    [[ -x $examples/12_hydro/hydro_mpi ]] || first=jd
    rm -f "$work/gas.pgm"
    run 1 "12_hydro/hydro_$first" "$work/deck.in"
    tap_check "hydro_$first, $1" ends 0 out \
        "result: mass and energy are kept to 1.0E-10 of themselves"
    cp "$work/out" "$work/gas.out"
    cp "$work/gas.pgm" "$work/first.pgm"
    for n in "${@:2}"; do
        rm -f "$work/gas.pgm"
        run "$n" 12_hydro/hydro_jd "$work/deck.in"
        tap_check "hydro_jd, $1, -n $n" same_gas
    done
}

# has_gas PROGRAM: awk's, of the picture's values as v[column, row], from 1 on;
# what it prints is wrong.
has_gas() {
    local said
    said=$(tr -s '[:space:]' '\n' <"$work/first.pgm" | awk '
        NR == 2 { nx = $1 }
        NR == 3 { ny = $1 }
        NR > 4 { k = NR - 5; v[k % nx + 1, int(k / nx) + 1] = $1 }
        END { '"$1"' }')
    [[ -z $said ]] || { echo "# $said"; return 1; }
}

# is_near PLACE VALUE: the density at a place of Sod's tube, of one that is 1 at
# most, is the exact solution's.
is_near() {
    has_gas "rho = v[int($1 * nx) + 1, 1] / 65535
        if (rho < $2 - 0.002 || rho > $2 + 0.002) print rho \" is not $2\""
}

check_hydro() {
    if [[ ! -x $examples/12_hydro/hydro_jd ]]; then
        tap_skip "hydro" "no Fortran compiler here"
        return
    fi
    deck_of "$(<"$deck")"
    check_port "a blast" 1 2 4 3
    tap_check "hydro: the blast is as wide to the left as to the right" has_gas '
        for (j = 1; j <= ny; j++)
            for (i = 1; i <= nx; i++)
                if (v[i, j] != v[nx + 1 - i, j] || v[i, j] != v[i, ny + 1 - j])
                    print "not at column", i, "row", j'
    tap_check "hydro: the blast has moved the gas" has_gas '
        if (v[1, 1] == v[nx / 2, ny / 2]) print "not"'
    if [[ -x $examples/12_hydro/hydro_mpi ]]; then
        run 4 12_hydro/hydro_mpi "$work/deck.in"
        tap_check "hydro_mpi, a blast, -n 4" same_gas
    fi
    # Blocks that are not alike; states of each shape; gas that moves at once.
    deck_of "x_cells = 31  y_cells = 17  # and so on" "end_step=40" \
        "state density=1 energy=2" \
        "state density=2 energy=1 shape=circle x=0.1 y=0.2 radius=0.3" \
        "state density=0.5 energy=3 x_velocity=0.5 y_velocity=-1 \
shape=rectangle left=0.5 right=0.9 bottom=0.1 top=1" \
        "state density=4 energy=1 x_velocity=-2 shape=point x=0.7 y=0.4"
    check_port "all shapes" 5 6
    deck_of x_cells=200 y_cells=3 y_size=0.015 end_time=0.2 end_step=1000 \
        largest_step=1e-3 "state density=0.125 energy=2" \
        "state density=1 energy=2.5 shape=rectangle left=0 right=0.5 bottom=0 \
top=1"
    check_port "Sod's tube" 2
    tap_check "hydro: in Sod's tube what has expanded" is_near 0.60 0.4263
    tap_check "hydro: in Sod's tube behind the shock" is_near 0.78 0.2656
    tap_check "hydro: in Sod's tube before the shock" is_near 0.95 0.1250
}

# bad_deck N NAME TEXT LINE...: hydro_jd says so once, and ends with 1.
bad_deck() {
    deck_of "${@:4}"
    run "$1" 12_hydro/hydro_jd "$work/deck.in"
    tap_check "hydro: $2" ends 1 err "$3"
}

# own_statuses PROGRAM ARGS...: each of three processes' own, into said.RANK. An
# mpirun that sees one fail ends the rest, and gives them some seconds to.
own_statuses() {
    # shellcheck disable=SC2016 # each process's
    timeout $((60 * ${TEST_TIME_FACTOR:-1})) mpirun --oversubscribe \
        --mca odls_base_sigkill_timeout 5 -n 3 sh -c 'trap "" TERM
            said=$0.$OMPI_COMM_WORLD_RANK
            "$@"
            echo $? >"$said"' "$work/said" "$@" \
        >"$work/out" 2>"$work/err" </dev/null || true
}

# have_said STATUS: processes ended with it, and none with another.
have_said() {
    cat "$work"/said.* >"$work/all" && [[ -s $work/all ]] &&
        ! grep -vx "$1" "$work/all"
}

check_bad_hydro() {
    local state="state density=1 energy=1" at="hydro_jd: $work/deck.in"
    [[ -x $examples/12_hydro/hydro_jd ]] || return 0
    run 3 12_hydro/hydro_jd "$work/none.in"
    tap_check "hydro: a missing deck" ends 1 err \
        "hydro_jd: $work/none.in: the deck cannot be read: "
    bad_deck 3 "a key that is none" \
        "$at, line 2: \"x_cels\" is no key of a deck; its keys are x_cells, " \
        y_cells=20 x_cels=20
    bad_deck 2 "no number" \
        "$at, line 1: x_cells=12x: give a whole number from 3 to 32768" \
        x_cells=12x
    bad_deck 2 "too great a number" \
        "$at, line 2: gamma=11: give a number from 1.010E+00 to 1.000E+01" \
        "" gamma=11
    bad_deck 2 "a key that is there twice" \
        "$at, line 3: y_cells is in line 1 already; take one of the two out" \
        y_cells=4 "" y_cells=4
    bad_deck 2 "half a state" \
        "$at, line 2: the state has no radius; add radius=NUMBER" \
        "$state" "$state shape=circle x=1 y=1"
    bad_deck 2 "no state" "$at: the deck has no state; add one" \
        x_cells=20 y_cells=20
    bad_deck 4 "a grid that is too small for the processes" \
        "$at, line 2: x_cells=5 is too few for 2 blocks, of 3 cells at least; \
give 6 or more, or start fewer processes" y_cells=20 x_cells=5 "$state"
    bad_deck 2 "steps that become too short" \
        "$at: step 1 may have no more than " \
        x_cells=20 y_cells=20 smallest_step=1 "$state"
    own_statuses "$examples/12_hydro/hydro_jd" "$work/none.in"
    tap_check "hydro: all processes end with 1" have_said 1
    deck_of x_cells=20 y_cells=20 end_step=1 "$state" "picture=$work/no/gas.pgm"
    sed -i '$d' "$work/deck.in"
    run 2 12_hydro/hydro_jd "$work/deck.in"
    tap_check "hydro: no folder for the picture" has err \
        "$work/no/gas.pgm: the picture cannot be written: "
    run 2 12_hydro/hydro_jd
    tap_check "hydro: no deck" ends 1 err "hydro_jd: usage: hydro_jd DECK"
}

main() {
    clear_foreign_variables
    if ((EUID == 0)); then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    command -v mpirun >/dev/null || tap_skip_all "no mpirun here"
    check_small
    check_mesh
    check_cxx
    check_water
    check_arrays
    check_checkpoint
    check_digits
    check_bad_digits
    check_digits_usage
    check_stencil
    check_stencil_usage
    check_hydro
    check_bad_hydro
    tap_done
}

main
