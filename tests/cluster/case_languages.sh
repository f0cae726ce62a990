# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# The examples in Fortran and in C++, over two hosts by mpirun and by srun where
# nobody serves MPI, and on one by jd-run: they print what those in C do.
# needs: slurm
# timeout: 120
examples=$build/mpi_examples
others=()
for program in 01_hello/hello 03_psum/psum 05_port_mpi/stencil 07_mesh/matmul \
    08_shallow_water/shallow; do
    for language in f cxx; do
        [[ ! -x $examples/${program}_$language ]] ||
            others+=("${program}_$language")
    done
done
((${#others[@]})) || skip "jd is built without Fortran and C++"

# in_c NAME_LANGUAGE: the same program in C.
in_c() {
    case ${1%_*} in
    05_port_mpi/stencil | 08_shallow_water/shallow) echo "${1%_*}_jd" ;;
    *) echo "${1%_*}" ;;
    esac
}

# But for times, and for what launchers say: "[head:213] plm:rsh: Warning: ...",
# "srun: job 4 queued ...".
lasting() { sed -E '/^(\[head|srun):/d; / ms\b/d' <<<"$output"; }

# print_the_same LAUNCHER...
print_the_same() {
    local other wanted
    for other in "${others[@]}"; do
        run "$@" "$examples/$(in_c "$other")"
        wanted=$(lasting)
        run "$@" "$examples/$other"
        [[ -n $wanted && $(lasting) == "$wanted" ]] || {
            echo "$other does not print that"
            return 1
        }
    done
}

print_the_same bed_mpirun -n 4 --host h0:2,h1:2
print_the_same srun --mpi=none -N2 -n4 --ntasks-per-node=2
print_the_same bed_on h0 "$build/tools/jd-run" -n 4
