# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# A code that was ported from MPI in Fortran prints what it printed on one
# process: over two hosts by mpirun and by srun where nobody serves MPI, and on
# one by jd-run.
# needs: slurm
# timeout: 120
examples=$build/mpi_examples/12_hydro
deck=$here/../../mpi_examples/12_hydro/blast.in
[[ -x $examples/hydro_mpi ]] ||
    skip "jd is built without Fortran, or without MPI's modules for it"

# But for the speed, and for what launchers say.
lasting() { sed -E '/^(\[head|srun):/d; / cells\/s/d' <<<"$output"; }

run "$examples/hydro_mpi" "$deck"
expect_count 1 "^result: mass and energy are kept "
wanted=$(lasting)

# ported LAUNCHER...
ported() {
    run "$@" "$examples/hydro_jd" "$deck"
    [[ $(lasting) == "$wanted" ]] || {
        echo "hydro_jd does not print that"
        return 1
    }
}

ported bed_mpirun -n 4 --host h0:2,h1:2
ported srun --mpi=none -N2 -n4 --ntasks-per-node=2
ported bed_on h0 "$build/tools/jd-run" -n 3
