# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# Python over two hosts, where nobody serves MPI and where PMIx does.
# needs: slurm
# timeout: 120
root=$here/../..
for python in "${TEST_PYTHON:-python3}" /usr/bin/python3 ''; do
    [[ -n $python ]] || skip "no python3 with NumPy here"
    ! "$python" -c 'import numpy' 2>/dev/null || break
done
export JD_LIBRARY=$build/libjd.so PYTHONPATH=$root/python
export PYTHONDONTWRITEBYTECODE=1

for mpi in none pmix; do
    run srun --mpi=$mpi -N2 -n4 --ntasks-per-node=2 \
        "$python" "$root/python/tests/job.py" right
    expect_count 1 '^right: 4 processes$'
done

# One raises on the other host: all end, and say who.
refused srun --mpi=none -N2 -n4 --ntasks-per-node=2 \
    "$python" "$root/python/tests/job.py" raises error
expect 'process 1 .*uncaught exception: UNKNOWN: ValueError: the loss'
