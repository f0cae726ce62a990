# SPDX-License-Identifier: BSD-3-Clause
"""What processes (not devices) do together, as
jax.experimental.multihost_utils names it.

A tree is an array, a number, or dicts, lists and tuples of such; all its
leaves travel in as few messages as they allow. Collective: every process of
the job, in the same order.
"""
from __future__ import annotations

import ctypes
from typing import Any, Callable

from ._ffi import call, encode, jd_equality, lib
from .arrays import (Array, gather_array, global_array_to_host_local_array,
                     host_local_array_to_global_array)
from .dtypes import Leaves, as_input, numpy_module

__all__ = ['assert_equal', 'broadcast_one_to_all',
           'global_array_to_host_local_array',
           'host_local_array_to_global_array', 'process_allgather',
           'reached_preemption_sync_point', 'sync_global_devices']


def _flatten(tree: Any, leaves: list) -> Callable[[Any], Any]:
    """Appends the leaves, in an order that is the same on all processes;
    gives what makes such a tree of an iterator of leaves."""
    if tree is None:
        return lambda found: None
    if isinstance(tree, dict):
        keys = sorted(tree)
        parts = [_flatten(tree[key], leaves) for key in keys]
        return lambda found: {key: part(found)
                              for key, part in zip(keys, parts)}
    if isinstance(tree, (list, tuple)):
        kind, parts = type(tree), [_flatten(item, leaves) for item in tree]
        if hasattr(kind, '_make'):
            return lambda found: kind._make(part(found) for part in parts)
        return lambda found: kind(part(found) for part in parts)
    leaves.append(tree)
    return next


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None, *,
                         source: int = 0) -> Any:
    """The tree of process source, bit for bit, on every process.

    The others' trees say types and shapes. is_source is there as JAX has it:
    whether this process is the source, which source says.
    Source: multihost_utils.broadcast_one_to_all.
    """
    from . import errors
    from .process import process_index
    if is_source is not None and is_source != (process_index() == source):
        raise errors.InvalidArgument(
            f'is_source is {is_source} on process {process_index()}, and the '
            f'source is process {source}: give source=')
    leaves: list = []
    rebuild = _flatten(in_tree, leaves)
    np = numpy_module()
    mine = Leaves([np.array(as_input(leaf), order='C') for leaf in leaves])
    call('jd_broadcast_one_to_all', mine.pointer(), len(mine), source)
    return rebuild(iter(mine.arrays))


def _gathered(array: Any, count: int, tiled: bool) -> Any:
    """Room for an array of each process."""
    if not tiled:
        shape: tuple = (count, *array.shape)
    elif array.ndim:
        shape = (count * array.shape[0], *array.shape[1:])
    else:
        shape = () if count == 1 else (count,)
    return numpy_module().empty(shape, array.dtype)


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Each process's leaves by process index: (P, *S) of a leaf of shape S;
    tiled (P * S0, *S[1:]). Of a tree of Arrays, each whole (tiled is nothing
    to them). Source: multihost_utils.process_allgather.
    """
    from .process import process_count
    leaves: list = []
    rebuild = _flatten(in_tree, leaves)
    if leaves and all(isinstance(leaf, Array) for leaf in leaves):
        return rebuild(iter([gather_array(leaf) for leaf in leaves]))
    mine = Leaves([as_input(leaf) for leaf in leaves])
    count = process_count()
    ours = Leaves([_gathered(array, count, tiled) for array in mine.arrays])
    call('jd_process_allgather', mine.pointer(), ours.pointer(), len(mine),
         bool(tiled))
    return rebuild(iter(ours.arrays))


def sync_global_devices(name: str) -> None:
    """Waits until all processes have come here with the same name.

    Raises DeadlineExceeded naming who is missing, after JD_BARRIER_TIMEOUT.
    Source: multihost_utils.sync_global_devices.
    """
    call('jd_sync_global_devices', encode(name, 'name'))


def assert_equal(in_tree: Any, fail_message: str = '', *,
                 bitwise: bool = False, nan_differs: bool = False,
                 atol: float = 0, rtol: float = 0) -> None:
    """Checks that all processes hold the same; -0.0 equals +0.0, a NaN a NaN.

    bitwise, nan_differs and the tolerances say otherwise, alike on all
    processes. Raises FailedPrecondition on every process, naming the lowest
    that differs, where, and both values.
    Source: multihost_utils.assert_equal, numpy.testing.assert_allclose.
    """
    leaves: list = []
    _flatten(in_tree, leaves)
    mine = Leaves([as_input(leaf) for leaf in leaves])
    what = encode(fail_message, 'fail_message') or None
    if not (bitwise or nan_differs or atol or rtol):
        call('jd_assert_equal', mine.pointer(), len(mine), what)
        return
    rules = jd_equality(bitwise, nan_differs, atol, rtol)
    call('jd_assert_equal_with', mine.pointer(), len(mine), what,
         ctypes.byref(rules), ctypes.sizeof(rules))


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether the job is being preempted and step_id is where all stop.

    Called once in each step, before its collectives, by every process.
    Source: multihost_utils.reached_preemption_sync_point.
    """
    return bool(lib.jd_reached_preemption_sync_point(step_id))
