# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# A training on two hosts is stopped as Slurm does it, and goes on: by scancel,
# by sbatch --signal ahead of the time limit, and by a signal to one process
# that mpirun has started.
# needs: slurm
# timeout: 240
program=$build/mpi_examples/06_preemption/preemption
data=$here/../../mpi_examples/04_digits/digits.csv
epochs=1000000 # nobody waits for them

# start DIR COMMAND...: in the background, until it trains.
start() {
    mkdir "$work/$1"
    "${@:2}" >"$work/$1/out" 2>&1 </dev/null &
    starter=$!
    bed_wait 60 "the training" grep -q '^epoch' "$work/$1/out"
}

train() {
    echo "$program" --epochs "$epochs" "$work/$1" "$data"
}

# expect_stop DIR: all four processes at one step, and it is saved.
expect_stop() {
    local step
    run cat "$work/$1/out"
    expect_count 4 '^process [0-3] stops before epoch [0-9]*$'
    step=$(od -An -t d4 -j 128 "$work/$1/checkpoint/epoch.0.npy" | tr -d ' ')
    expect_count 4 " stops before epoch $step\$"
    expect_count 1 "^saved .*/checkpoint: epoch $step of $epochs\$"
}

# job_id NAME: the one before may still be ending.
job_id() {
    squeue --noheader --name="$1" --format=%A
}

# shellcheck disable=SC2046
start scancel srun --job-name=scancel --mpi=pmix -N2 -n4 --ntasks-per-node=2 $(train scancel)
scancel --signal=TERM "$(job_id scancel)"
wait "$starter"
expect_stop scancel

export JD_PREEMPTION_SIGNAL=USR1
# shellcheck disable=SC2046
start user srun --job-name=user --mpi=pmix -N2 -n4 --ntasks-per-node=2 $(train user)
scancel --signal=USR1 "$(job_id user)"
wait "$starter"
expect_stop user
unset JD_PREEMPTION_SIGNAL

mkdir "$work/batch"
cat >"$work/script" <<SCRIPT
#!/bin/bash
srun --mpi=pmix $(train batch)
SCRIPT
# Slurm looks every 30 s, and signals up to so much earlier than it is told: from
# 10 s after the start on.
run sbatch --wait -N2 -n4 --ntasks-per-node=2 --time=2 --signal=TERM@80 \
    --output="$work/batch/out" "$work/script"
expect_stop batch

# One process, by its id: the newest of this training.
# shellcheck disable=SC2046
start mpirun bed_mpirun -n 4 --host h0:2,h1:2 $(train mpirun)
kill -TERM "$(pgrep --newest --full "^$program .*$work/mpirun ")"
wait "$starter"
expect_stop mpirun
