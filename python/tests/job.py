# SPDX-License-Identifier: BSD-3-Clause
"""A process of a job that test_jobs.py starts. usage: job.py WHAT [ARGS...]

Process 0 prints "right" where all is as it should be.
"""
import os
import signal
import sys
import threading

import jd


def say(text):
    print(text, flush=True)


def right(*_):
    """Collectives, utilities and arrays among processes."""
    import numpy as np
    with jd.initialize(), jd.make_mesh((-1,), ('data',)) as mesh:
        i, n = jd.process_index(), jd.process_count()
        assert jd.psum(float(i + 1), 'data') == n * (n + 1) / 2
        assert jd.all_gather(np.arange(2) + i, 'data', tiled=True).tolist() \
            == [k for j in range(n) for k in (j, j + 1)]
        got = jd.broadcast_one_to_all({'a': np.full(3, i), 'b': i},
                                      source=n - 1)
        assert got['a'].tolist() == [n - 1] * 3 and got['b'] == n - 1
        assert jd.process_allgather(i).tolist() == list(range(n))
        assert jd.process_allgather([[i]], tiled=True)[0][0].shape == \
            ((n,) if n > 1 else ())
        rows = jd.NamedSharding(mesh, jd.P('data'))
        columns = jd.NamedSharding(mesh, jd.P(None, 'data'))
        x = np.arange(7. * 5).reshape(7, 5)
        array = jd.make_array_from_one(
            rows, x if i == n - 1 else None, n - 1, shape=x.shape,
            dtype=x.dtype)
        assert all((block.data == x[block.index]).all()
                   for block in array.addressable_shards)
        array = jd.reshard(jd.device_put(x, rows), columns, donate=True)
        assert (jd.gather_array(array) == x).all()
        assert (jd.gather_array(array, 0) is None) == (i != 0)
        try:
            array.to_host()
            assert n == 1
        except jd.FailedPrecondition:
            assert n > 1
        jd.kv_set(f'from/{i}', str(i))
        jd.wait_at_barrier('set', 30)
        assert len(jd.kv_dir_get('from')) == n
        assert jd.live_processes(30) == list(range(n))
        jd.sync_global_devices('the end')
        if i == 0:
            say(f'right: {n} processes')


def start():
    """The job, its mesh and its first call: a barrier of all."""
    jd.initialize()
    mesh = jd.make_mesh((-1,), ('data',))
    jd.barrier('data', shard=mesh.shard)
    return mesh


def raises(kind, *_):
    """One of them raises, and the others wait for it."""
    mesh = start()
    if jd.process_index() == 1:
        if kind == 'error':
            raise ValueError('the loss\nis not finite')
        if kind == 'jd':
            jd.kv_try_get('nothing')
        if kind == 'exit':
            sys.exit(3)
        if kind == 'callback':
            jd.on_preemption(lambda: 1 // 0)
            os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait(30)
        if kind == 'body':
            jd.shard_map(mesh, lambda me: [][1])
    jd.barrier('data', shard=mesh.shard)
    say('went on')


def aborts(*_):
    """By jd.abort(), with text that Python has not written yet."""
    jd.initialize()
    print('kept in a buffer')
    jd.abort(7, 'why')


def all_raise(*_):
    """All do, alike."""
    start()
    raise ValueError('all alike')


def caught(*_):
    """An exception that is caught is nobody else's business."""
    mesh = start()
    try:
        jd.kv_try_get('nothing')
    except jd.NotFound:
        pass
    jd.barrier('data', shard=mesh.shard)
    jd.sync_global_devices('the end')
    if jd.process_index() == 0:
        say('right')


def failure(*_):
    """A survivor's callback hears of it."""
    mesh = start()
    if jd.process_index() == 1:
        raise ValueError('of process 1')
    jd.on_peer_failure(lambda found: say(
        f'heard of {found.processes}: {found.text}'))
    threading.Event().wait(30)
    jd.barrier('data', shard=mesh.shard)


def interrupted(where, *_):
    """SIGINT comes to process 1 while it waits."""
    mesh = start()
    if jd.process_index() != 1:
        jd.kv_get('nobody sets it')
    # The timer's thread runs while the main one is in C: it was there then.
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        if where == 'collective':
            jd.barrier('data', shard=mesh.shard)
        elif where == 'key':
            jd.kv_get('nobody sets it either')
        elif where == 'barrier':
            jd.wait_at_barrier('nobody else comes')
    except KeyboardInterrupt:
        say('KeyboardInterrupt was raised')
        raise


def interrupted_alone(*_):
    """As above, in a world of one, where nothing ends the wait."""
    jd.initialize()
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    jd.kv_get('nobody sets it')


def preempted(*_):
    """All stop at one step; process 1 gets the signal, and all hear of it."""
    start()
    heard = threading.Event()
    jd.on_preemption(heard.set)
    step = 0
    while not jd.reached_preemption_sync_point(step):
        if step == 2 and jd.process_index() == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        jd.sync_global_devices('step')
        step += 1
    assert heard.wait(30)
    steps = jd.process_allgather(step) if 'numpy' in sys.modules else step
    jd.acknowledge_preemption()
    jd.wait_at_barrier('acknowledged', 30)
    assert not jd.reached_preemption_sync_point(step + 1), steps
    jd.sync_global_devices('the end')
    if jd.process_index() == 0:
        say('right')


def with_mpi(*_):
    """mpi4py's communicator is the world, in the order that it has."""
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    backwards = world.Split(0, -world.rank)
    with jd.from_mpi4py(backwards):
        assert jd.process_index() == world.size - 1 - world.rank
        ours = jd.mpi_comm()
        assert ours.rank == jd.process_index()
        assert ours.allreduce(ours.rank + 1) == \
            ours.size * (ours.size + 1) // 2
        jd.sync_global_devices('the end')
        if ours.rank == 0:
            say(f'right: {ours.size} processes')


def with_jd(*_):
    """mpi4py comes after jd: it finds MPI initialised."""
    with jd.initialize():
        ours = jd.mpi_comm()
        assert ours.allgather(ours.rank) == list(range(jd.process_count()))
        if ours.rank == 0:
            say(f'right: {ours.size} processes')


def forked(*_):
    """A child of fork() raises, and is nobody's business; so is its exit."""
    mesh = start()
    pid = os.fork()
    if pid == 0:
        raise ValueError('of the child')
    assert os.waitpid(pid, 0)[1] == 1 << 8
    jd.barrier('data', shard=mesh.shard)
    jd.sync_global_devices('the end')
    if jd.process_index() == 0:
        say('right')


if __name__ == '__main__':
    globals()[sys.argv[1]](*sys.argv[2:])
