# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# Launchers inside one another: a job of several processes is that job or is
# refused, and never several worlds of one; one process is one.
# needs: slurm
# timeout: 120
hello=$build/mpi_examples/01_hello/hello

# A workflow manager under mpirun that submits: mpirun's variables come through
# srun, of which mpirun is not the inner one, whether its server is on the host
# of the task (the first) or not.
inherited='FAILED_PRECONDITION: jd_initialize: the launcher \(method openmpi\) says 1 process \(OMPI_COMM_WORLD_SIZE\), but slurm says 4 \(SLURM_STEP_NUM_TASKS\): each would be a world of one; its variables come from an mpirun around the other: take them out before that starts \(in bash: unset \$\{!OMPI_\*\} \$\{!PMIX_\*\}\), or set JD_NUM_PROCESSES=1 and JD_PROCESS_ID=0 if that is meant$'
refused mpirun -n 1 srun -N2 -n4 "$hello"
expect "$inherited"
expect_count 0 'devices in'
refused mpirun -n 1 srun -N2 -n4 bash -c "$hello; exit \$?"
expect "$inherited"
refused bed_mpirun -n 1 --host h0 srun -N2 -n4 --mpi=pmix "$hello"
expect "$inherited"
cat >"$work/script" <<SCRIPT
#!/bin/bash
srun "$hello"
SCRIPT
refused mpirun -n 1 sbatch --wait -N2 -n4 --output="$work/output" "$work/script"
run cat "$work/output"
expect "$inherited"
expect_count 0 'devices in'

# The remedy.
# shellcheck disable=SC2016
run mpirun -n 1 bash -c 'unset ${!OMPI_*} ${!PMIX_*}; exec "$@"' - \
    srun -N2 -n4 "$hello"
expect_count 1 '^4 devices in 4 processes: 10$'

# mpirun inside a task or an allocation is the inner one, and says 1.
run srun -N1 -n2 bash -c "mpirun -n 1 --host \$(hostname) $hello; exit \$?"
expect_count 2 '^1 devices in 1 processes: 1$'
run salloc -N2 -n4 mpirun -n 1 "$hello"
expect_count 1 '^1 devices in 1 processes: 1$'

# A launcher that is asked for and is not there; one that is left out.
refused srun -N2 -n4 env JD_CLUSTER_DETECTION_METHOD=torchrun "$hello"
expect 'JD_CLUSTER_DETECTION_METHOD is "torchrun", but no such launcher has started this process'
refused bed_mpirun -n 4 --host h0:2,h1:2 -x JD_CLUSTER_DETECTION_METHOD=slurm "$hello"
expect 'JD_CLUSTER_DETECTION_METHOD is "slurm", but no such launcher'
for method in ^openmpi deactivate; do
    refused bed_mpirun -n 4 --host h0:2,h1:2 \
        -x JD_CLUSTER_DETECTION_METHOD="$method" "$hello"
    expect 'but openmpi says 4 \(OMPI_COMM_WORLD_SIZE\): each would be a world of one; leave JD_CLUSTER_DETECTION_METHOD out'
done

# A step of one task in which a script starts four with PyTorch's variables.
cat >"$work/ranks" <<RANKS
#!/bin/bash
for rank in 0 1 2 3; do
    RANK=\$rank WORLD_SIZE=4 LOCAL_RANK=\$rank LOCAL_WORLD_SIZE=4 \\
        MASTER_ADDR=\$(hostname) MASTER_PORT=29500 "$hello" &
    started+=(\$!)
done
for pid in "\${started[@]}"; do
    wait "\$pid" || status=\$?
done
exit \${status:-0}
RANKS
chmod +x "$work/ranks"
refused srun -n1 "$work/ranks"
expect_count 4 'the launcher \(method slurm\) says 1 process .*, but torchrun says 4 \(WORLD_SIZE\)'
run srun -n1 env JD_CLUSTER_DETECTION_METHOD=torchrun "$work/ranks"
expect_count 1 '^4 devices in 4 processes: 10$'
