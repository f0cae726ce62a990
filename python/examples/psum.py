# SPDX-License-Identifier: BSD-3-Clause
"""psum.py - statistics of numbers that no process holds all of.

mpi_examples/03_psum in Python: its README says what each step shows.

    mpirun --oversubscribe -n 4 python3 python/examples/psum.py [COUNT]
"""
import sys

import jd
import numpy as np

BINS = 10  # numbers are 0..9: one bin each


def block_of(total, index, size):
    """The share of member index of size: as even as can be."""
    each, rest = divmod(total, size)
    first = each * index + min(index, rest)
    return np.arange(first, first + each + (index < rest))


def mean_and_deviation(numbers, total):
    """Two small sums travel together."""
    sums = np.array([numbers.sum(), (numbers ** 2).sum()], 'float64')
    mean, square = jd.psum(sums, 'data') / total
    return mean, np.sqrt(square - mean ** 2)


def run(total):
    """What all members find out together; member 0 prints it."""
    index, size = jd.axis_index('data'), jd.axis_size('data')
    mine = block_of(total, index, size)
    numbers = mine % BINS
    mean, deviation = mean_and_deviation(numbers, total)
    bins = np.bincount(numbers, minlength=BINS)
    jd.psum(bins, 'data', out=bins)  # in place
    counts = jd.all_gather(len(mine), 'data')
    end = jd.pbroadcast(mine[-1] + 1 if len(mine) else 0, 'data', size - 1)
    right = end == total and (bins == [
        total // BINS + (i < total % BINS) for i in range(BINS)]).all()
    if index == 0:
        print(f'{size} devices, {total} numbers')
        print('counts    ', *counts)
        print('histogram ', *bins)
        print(f'mean       {mean:.6f}')
        print(f'deviation  {deviation:.6f}')
        print('result:', 'right' if right else 'WRONG')
    return right


def main():
    """One process for each device: no shard_map() is needed."""
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
    with jd.initialize():
        with jd.make_mesh((-1,), ('data',)):
            right = run(total)
        jd.sync_global_devices('the end')
    return 0 if right else 1


if __name__ == '__main__':
    sys.exit(main())
