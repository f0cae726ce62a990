# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# The training and the stencil over two hosts, by mpirun and by srun: the
# same results as on one process.
# needs: slurm
# timeout: 120
digits=$build/mpi_examples/04_digits/digits
data=$here/../../mpi_examples/04_digits/digits.csv
run "$digits" --save "$work/one" "$data"

check_digits() {
    run "$@" "$digits" --compare "$work/one" "$data"
    expect_count 1 '^compare: equals '
    expect_count 1 '^result: equals the one-process result '
    expect ' h0 .*-449 '
    expect ' h1 .*-1797 '
}

check_digits bed_mpirun -n 4 --host h0:2,h1:2
check_digits srun --mpi=pmix -N2 -n4 --ntasks-per-node=2

# Neighbours on different hosts: every row of the halo crosses the network.
run srun --mpi=pmix -N2 -n4 --ntasks-per-node=2 -m cyclic \
    "$build/mpi_examples/05_port_mpi/stencil_jd"
expect_count 1 '^after 1000 steps: mean heat 0\.117166990$'
