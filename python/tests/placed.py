# SPDX-License-Identifier: BSD-3-Clause
"""A process of a job that test_sites.py starts. usage: placed.py WHAT

Lines that sentences are to name have their WHAT behind them, in a comment.
"""
import sys

import jd

import placed_other


def start(**options):
    jd.initialize(**options)
    return jd.make_mesh((-1,), ('data',))


def unlike():
    """Process 1 calls something else, in the other file."""
    import numpy as np
    with start():
        if jd.process_index() == 1:
            placed_other.tail(np.ones(2))
        else:
            jd.psum(np.ones(3), 'data')  # unlike


def late():
    """Process 1 waits for a key instead."""
    with start(collective_timeout=3):
        if jd.process_index() == 1:
            jd.kv_get('nobody sets it')  # key
        jd.barrier('data')  # late


def alike():
    """Two calls that are alike, at two lines; the first time at one. Numbers
    of lines are not compared: process 1 has called from more of them."""
    with start():
        if jd.process_index() == 1:
            jd.kv_set('a', '1')
            jd.kv_set('b', '1')
        jd.barrier('data')
        if jd.process_index() == 1:
            jd.barrier('data')  # one
        else:
            jd.barrier('data')  # two


def threads():
    """A body each on its own line."""
    def body(_):
        if jd.axis_index() == 0:
            jd.barrier('data')  # first
        else:
            jd.barrier('data')  # second
    with start() as mesh:
        jd.shard_map(mesh, body)


def within():
    """Behind a "with" of the package's, and in the program's own."""
    import numpy as np
    with start():
        x, y = np.ones(1), np.zeros(1)
        with jd.group():  # with
            jd.send(x, 'data', 0)
            jd.recv(y, 'data', 0)
        [jd.barrier() for _ in range(1)]  # comprehension


def between():
    """A call that comes, as a signal's may, when another has its line and is
    not made yet."""
    lib = jd._ffi.lib
    barrier = lib.jd_barrier

    def interrupted(*arguments):
        jd.kv_set('a', '1')
        return barrier(*arguments)
    with start():
        lib.jd_barrier = interrupted
        jd.barrier('data')  # outer


if __name__ == '__main__':
    globals()[sys.argv[1]](*sys.argv[2:])
