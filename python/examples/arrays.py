# SPDX-License-Identifier: BSD-3-Clause
"""arrays.py - a table that no process holds all of, by rows, then by columns.

mpi_examples/10_sharded_arrays in Python: its README says what each step shows.

    mpirun --oversubscribe -n 4 python3 python/examples/arrays.py
"""
import sys

import jd
import numpy as np


def table_at(rows, columns):
    """Numbers that can be worked out again, to check with."""
    i, j = np.arange(rows.start, rows.stop), np.arange(columns.start,
                                                       columns.stop)
    return np.sin(0.001 * np.outer(i + 1, j + 1))


def is_first():
    return jd.process_index() == 0


def show(what, array):
    if is_first():
        print(f'\n{what}')
        jd.visualize_array_sharding(array)


def reshard(array, sharding):
    """The array as the sharding says, and how many milliseconds it took."""
    jd.sync_global_devices('ready')
    begin = jd.wtime()
    array = jd.reshard(array, sharding, donate=True)
    return array, 1e3 * (jd.wtime() - begin)


def make_table(shape, rows, columns):
    """By rows, then by columns: nobody has it whole at any time."""
    table = jd.make_array_from_callback(
        shape, rows, lambda index: table_at(*index), 'float64')
    show('by rows, as it is made:', table)
    table, first = reshard(table, columns)
    table, back = reshard(table, rows)
    table, again = reshard(table, columns)
    show('by columns, as it is used:', table)
    if is_first():
        print(f'\n{8e-6 * shape[0] * shape[1]:.3f} MB to columns {first:.2f} '
              f'ms, back {back:.2f} ms, once more {again:.2f} ms')
    return table


def make_norms(table, mesh):
    """One number for each column, cut as the table's columns are."""
    norms = jd.zeros(table.shape[1:], table.dtype,
                     jd.NamedSharding(mesh, jd.P('data')))
    for block, result in zip(table.addressable_shards,
                             norms.addressable_shards):
        result.data[...] = np.sqrt((block.data ** 2).sum(axis=0))
    return norms


def run(mesh, shape):
    table = make_table(shape, jd.NamedSharding(mesh, jd.P('data', None)),
                       jd.NamedSharding(mesh, jd.P(None, 'data')))
    norms = jd.process_allgather(make_norms(table, mesh))
    whole = table_at(slice(0, shape[0]), slice(0, shape[1]))
    right = np.allclose(norms, np.sqrt((whole ** 2).sum(axis=0)), 1e-12)
    gathered = jd.gather_array(table, root=0)  # None on the others
    if is_first():
        print(f'norms of columns 0 and {shape[1] - 1}: {norms[0]:.6f} and '
              f'{norms[-1]:.6f}')
        right = right and (gathered == whole).all()
        print('result:', 'right' if right else 'WRONG')
    return right


def main():
    shape = tuple(map(int, sys.argv[1:3])) or (1200, 10)
    with jd.initialize():
        with jd.make_mesh((-1,), ('data',)) as mesh:
            if is_first():
                print(mesh.visualize(), end='')
            right = run(mesh, shape)
        jd.sync_global_devices('the end')
    return 0 if right else 1


if __name__ == '__main__':
    sys.exit(main())
