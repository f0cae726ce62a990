# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# Programs that know nothing of launchers run over two hosts where nobody serves
# MPI, as they do under mpirun: those of tests/mpi, and 04_digits with the same
# numbers to the last digit. srun starts them, or nothing that knows of the
# others: with explicit variables, and as a TPU-style pod.
# needs: slurm
# timeout: 700
digits() {
    "$@" "$build/mpi_examples/04_digits/digits" \
        "$here/../../mpi_examples/04_digits/digits.csv" 2>"$work/err" || {
        cat "$work/err"
        return 1
    }
}

# The folder of the runner is on both hosts; TMPDIR is each host's own.
programs() {
    TMPDIR=$BED_DIR "$here/../mpi/run" --jobs 1 --list "$here/programs" \
        --launcher "$*" "$build"
}

digits bed_mpirun --host h0:2,h1:2 -n 4 >"$work/mpirun"
for mpi in none pmi2; do
    digits srun --mpi=$mpi -N2 -n4 --ntasks-per-node=2 >"$work/$mpi"
    diff "$work/mpirun" "$work/$mpi"
    programs env "SLURM_CONF=$SLURM_CONF" srun --mpi=$mpi -N2 --overcommit
done
for kind in explicit pod; do
    digits "$here/start_apart" "$kind" -n 4 >"$work/$kind"
    diff "$work/mpirun" "$work/$kind"
    programs "$here/start_apart" "$kind"
done
