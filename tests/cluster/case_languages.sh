# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# The examples in Fortran and in C++, over two hosts by mpirun and by srun where
# nobody serves MPI, and on one by jd-run: they print what those in C do.
# needs: slurm
# timeout: 240
examples=$build/mpi_examples
compgen -G "$examples/*/*_f" >/dev/null ||
    compgen -G "$examples/*/*_cxx" >/dev/null ||
    skip "jd is built without Fortran and C++"

# in_c PROGRAM: its name in C.
in_c() {
    case $1 in
    05_port_mpi/stencil | 08_shallow_water/shallow) echo "$1_jd" ;;
    *) echo "$1" ;;
    esac
}

# But for times, and for what launchers say: "[head:213] plm:rsh: Warning: ...",
# "srun: job 4 queued ...".
lasting() { sed -E '/^(\[head|srun):/d; / ms\b| cells\/s/d' <<<"$output"; }

# print_the_same "PROGRAM..." LAUNCHER...
print_the_same() {
    local program language wanted
    for program in $1; do
        run "${@:2}" "$examples/$(in_c "$program")"
        wanted=$(lasting)
        for language in f cxx; do
            [[ -x $examples/${program}_$language ]] || continue
            run "${@:2}" "$examples/${program}_$language"
            [[ -n $wanted && $(lasting) == "$wanted" ]] || {
                echo "${program}_$language does not print that"
                return 1
            }
        done
    done
}

all="01_hello/hello 03_psum/psum 05_port_mpi/stencil 07_mesh/matmul"
all+=" 08_shallow_water/shallow"
print_the_same "$all" bed_mpirun -n 4 --host h0:2,h1:2
print_the_same "01_hello/hello 05_port_mpi/stencil" \
    srun --mpi=none -N2 -n4 --ntasks-per-node=2
print_the_same "05_port_mpi/stencil" bed_on h0 "$build/tools/jd-run" -n 4
