#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_refusals.sh - starts that nothing serves, where jd-pmix-server is not
# installed either: jd must refuse at once, with the reason and the remedy,
# before MPI_Init aborts with its own text.
# usage: test_refusals.sh BUILD_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# refuse NAME VARIABLE=VALUE... -- TEXT...: hello under these variables ends
# within 2 s with exit status 1, and each text is in its one line of stderr.
refuse() {
    local name=$1 variables=() text status=0
    shift
    while [[ $1 != -- ]]; do
        variables+=("$1")
        shift
    done
    shift
    env -i "PATH=$PATH" JD_LIBEXEC=/nowhere ${TEST_PRELOAD:+"LD_PRELOAD=$TEST_PRELOAD"} \
        ${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"} \
        ${LSAN_OPTIONS:+"LSAN_OPTIONS=$LSAN_OPTIONS"} "${variables[@]}" \
        timeout $((20 * ${TEST_TIME_FACTOR:-1})) \
        "$build/mpi_examples/01_hello/hello" \
        >"$work/stdout" 2>"$work/stderr" || status=$?
    {
        echo "exit status $status"
        cat "$work/stdout" "$work/stderr"
    } >"$work/all"
    if ((status != 1)) || (($(wc -l <"$work/stderr") != 1)); then
        tap_not_ok "$name"
        tap_comment <"$work/all"
        return
    fi
    for text in "$@"; do
        grep -qF -e "$text" "$work/stderr" && continue
        tap_not_ok "$name"
        echo "# wanted: $text"
        tap_comment <"$work/all"
        return
    done
    tap_ok "$name"
}

slurm=(SLURM_JOB_ID=77 SLURM_STEP_NODELIST=n1 SLURM_PROCID=0 SLURM_LOCALID=0
    SLURM_STEP_NUM_TASKS=4)

refuse "plain srun" "${slurm[@]}" -- \
    "jd 0/4 " \
    "the job has 4 processes (SLURM_STEP_NUM_TASKS), but no PMIx server serves them (PMIX_NAMESPACE is not set), so Open MPI v" \
    "cannot join them to one world; start it with \`srun --mpi=pmix\`" \
    "; jd can join them itself, but jd-pmix-server is not in /nowhere; "
refuse "srun --mpi=pmi2" "${slurm[@]}" PMI_RANK=0 PMI_SIZE=4 PMI_FD=9 \
    PMI_JOBID=77.0 -- \
    "no PMIx server serves them" "srun --mpi=pmix"
refuse "the mpiexec of another MPI" PMI_RANK=0 PMI_SIZE=2 PMI_FD=9 -- \
    "the job has 2 processes (PMI_SIZE)" \
    "the mpiexec of another MPI cannot start it"
refuse "Flux without PMIx" FLUX_TASK_RANK=0 FLUX_JOB_SIZE=2 \
    FLUX_TASK_LOCAL_ID=0 FLUX_JOB_NNODES=1 FLUX_JOB_ID=f1 -- \
    "(FLUX_JOB_SIZE)" "flux run -o pmi=pmix"
refuse "torchrun" RANK=0 WORLD_SIZE=2 MASTER_ADDR=n1 MASTER_PORT=29500 -- \
    "(WORLD_SIZE)" "start it with the mpirun of this MPI, \`mpirun -n N\`"
refuse "torchrun's variables without an address" RANK=0 WORLD_SIZE=2 -- \
    "the job has 2 processes (WORLD_SIZE), but nothing tells where process 0 is: MASTER_ADDR is not set, and no PMIx server serves them; set JD_COORDINATOR_ADDRESS to HOST:PORT, process 0's host and a free port there, in every process, or start it with the mpirun"
refuse "explicit variables without an address" JD_NUM_PROCESSES=2 \
    JD_PROCESS_ID=1 -- "nothing tells where process 0 is: JD_COORDINATOR_ADDRESS is not set"
refuse "an address that is misspelt" JD_NUM_PROCESSES=2 JD_PROCESS_ID=1 \
    JD_COORDINATOR_ADRESS=localhost:1234 -- \
    "nothing tells where process 0 is" \
    "; the variable JD_COORDINATOR_ADRESS is no option of jd, and is not read: did you mean JD_COORDINATOR_ADDRESS?"
refuse "slices without a coordinator" TPU_WORKER_ID=0 \
    TPU_WORKER_HOSTNAMES=a,b MEGASCALE_NUM_SLICES=2 MEGASCALE_SLICE_ID=0 -- \
    "nothing tells where process 0 is: MEGASCALE_COORDINATOR_ADDRESS is not set"
refuse "one task, and more ranks in it" "${slurm[@]}" SLURM_STEP_NUM_TASKS=1 \
    RANK=0 WORLD_SIZE=4 -- \
    "the launcher (method slurm) says 1 process (SLURM_STEP_NUM_TASKS), but torchrun says 4 (WORLD_SIZE): each would be a world of one; set JD_CLUSTER_DETECTION_METHOD=torchrun to take the latter"
refuse "a launcher that is left out" "${slurm[@]}" \
    JD_CLUSTER_DETECTION_METHOD=deactivate -- \
    "but slurm says 4 (SLURM_STEP_NUM_TASKS): each would be a world of one; leave JD_CLUSTER_DETECTION_METHOD out"
refuse "a launcher that is named, and absent" "${slurm[@]}" \
    JD_CLUSTER_DETECTION_METHOD=openmpi,flux -- \
    "JD_CLUSTER_DETECTION_METHOD is \"openmpi,flux\", but no such launcher has started this process (openmpi: OMPI_COMM_WORLD_RANK"
refuse "mpirun's variables and no mpirun in a step of four" "${slurm[@]}" \
    OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 -- \
    "the launcher (method openmpi) says 1 process (OMPI_COMM_WORLD_SIZE), but slurm says 4" \
    "unset \${!OMPI_*} \${!PMIX_*}"
refuse "explicit variables" JD_NUM_PROCESSES=2 JD_PROCESS_ID=1 -- \
    "jd 1/2 " "the job has 2 processes (JD_NUM_PROCESSES)"
refuse "a pod of a TPU slice" TPU_WORKER_ID=0 TPU_WORKER_HOSTNAMES=a,b -- \
    "the job has 2 processes (TPU_WORKER_HOSTNAMES)"
refuse "an indexed Kubernetes Job does not tell the count" \
    KUBERNETES_SERVICE_HOST=10.0.0.1 JOB_COMPLETION_INDEX=1 -- \
    "FAILED_PRECONDITION" "JD_NUM_PROCESSES"
refuse "a PMIx server without an address" "${slurm[@]}" PMIX_RANK=0 \
    PMIX_NAMESPACE=77.0 -- "(PMIX_SERVER_URI* is not set)"
refuse "a PMIx server that has ended" "${slurm[@]}" PMIX_RANK=0 \
    PMIX_NAMESPACE=77.0 "PMIX_SERVER_URI3=77.0;tcp4://127.0.0.1:1" -- \
    "the PMIx server that PMIX_SERVER_URI3 names (77.0;tcp4://127.0.0.1:1) does not answer (Connection refused): the launcher that set it has ended"
refuse "a count that is no number" JD_NUM_PROCESSES=four -- \
    "INVALID_ARGUMENT: JD_NUM_PROCESSES is \"four\", but it must be an integer from 1 to 2147483647; correct it or leave it out"
refuse "an empty count" JD_NUM_PROCESSES= -- \
    "JD_NUM_PROCESSES is \"\", but it must be an integer"
refuse "a bad level" JD_LOG=loud -- \
    "JD_LOG is \"loud\", but it must be one of error|warning|info|debug"
refuse "too many devices" JD_NUM_CPU_DEVICES=131073 -- \
    "JD_NUM_CPU_DEVICES is \"131073\", but it must be an integer from 1 to 131072"
refuse "a duration with a wrong unit" JD_INITIALIZATION_TIMEOUT=5days -- \
    "JD_INITIALIZATION_TIMEOUT is \"5days\", but it must be a duration"
refuse "a rank that is not below its size" OMPI_COMM_WORLD_RANK=4 \
    OMPI_COMM_WORLD_SIZE=4 -- "OMPI_COMM_WORLD_RANK"
tap_done
