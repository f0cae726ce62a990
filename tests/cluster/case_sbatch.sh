# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# A batch script: mpirun and srun in it, and a program of its own that is a
# world of one although the script is Slurm's task 0.
# needs: slurm
cat >"$work/script" <<SCRIPT
#!/bin/bash
set -e
mpirun "$build/tests/cluster/where"
srun --mpi=pmix "$build/tests/cluster/where"
"$build/mpi_examples/01_hello/hello"
SCRIPT
run sbatch --wait -N2 -n4 --ntasks-per-node=2 --output="$work/output" \
    "$work/script"
run cat "$work/output"
expect_count 8 '^process [0-3] of 4 on h[01], '
expect_count 1 '^1 devices in 1 processes: 1$'
