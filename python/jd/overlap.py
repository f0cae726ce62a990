# SPDX-License-Identifier: BSD-3-Clause
"""Calls that go on while the program computes.

    total = jd.psum_start(gradient, "data")
    compute_meanwhile()
    gradient = total.wait()

What each does is what the call without _start does (collectives.py); until
wait() has returned its arrays are neither written nor, where a result comes
into them, read. All members start them in the same order; other calls may
come anywhere between. A Request keeps its arrays. include/jd_overlap.h has the
rest.
"""
from __future__ import annotations

import contextlib
from ctypes import byref, c_int, c_void_p
from typing import TYPE_CHECKING, Any, Iterator, Optional, Sequence

from . import errors
from ._ffi import call, lib
from .collectives import (_divide, _member, _thread, axis_size,
                          halo_arguments)
from .dtypes import address, as_input, as_output, dtype_number
from .mesh import Axes, Shard, encode_axes

if TYPE_CHECKING:
    import numpy


class Request:
    """A call that was started. One that is dropped is waited for, and what
    it returns is lost: wait() tells it."""

    def __init__(self, result: Any = None, kept: Any = None) -> None:
        self._handle = c_void_p()
        self._result, self._kept = result, kept

    def _start(self, name: str, *args: Any) -> 'Request':
        call(name, *args, byref(self._handle))
        return self

    def wait(self) -> Any:
        """The call's result, when it is done. Source: MPI_Wait; jd_wait."""
        try:
            call('jd_wait', byref(self._handle))
        finally:
            self._kept = None
        return self._result

    def test(self) -> bool:
        """Whether the call is done; then wait() returns at once. What the
        call raises is raised here. Never waits. Source: MPI_Test; jd_test."""
        is_done = c_int()
        try:
            call('jd_test', byref(self._handle), byref(is_done))
        finally:
            if not self._handle:
                self._kept = None
        return bool(is_done.value)

    def __del__(self) -> None:
        if self._handle:
            lib.jd_wait(byref(self._handle))  # wherever the program is


def _start(name: str, x: Any, shape: Optional[Sequence[int]], count: int,
           axis_name: Axes, out: Any, member: Shard) -> Request:
    x = as_input(x)
    out = as_output(out, x.dtype, x.shape if shape is None else shape)
    return Request(out, x)._start(name, member.handle, encode_axes(axis_name),
                                  address(x), address(out), count,
                                  dtype_number(x.dtype))


def _reduce(name: str, x: Any, axis_name: Axes, out: Any,
            shard: Shard | None) -> Request:
    x = as_input(x)
    return _start(name, x, None, x.size, axis_name, out,
                  _member(shard, axis_name))


def psum_start(x: Any, axis_name: Axes = None, *, out: Any = None,
               shard: Shard | None = None) -> Request:
    """jd.psum(), started. Source: MPI_Iallreduce."""
    return _reduce('jd_psum_start', x, axis_name, out, shard)


def pmean_start(x: Any, axis_name: Axes = None, *, out: Any = None,
                shard: Shard | None = None) -> Request:
    """jd.pmean(), started."""
    return _reduce('jd_pmean_start', x, axis_name, out, shard)


def pmax_start(x: Any, axis_name: Axes = None, *, out: Any = None,
               shard: Shard | None = None) -> Request:
    """jd.pmax(), started."""
    return _reduce('jd_pmax_start', x, axis_name, out, shard)


def pmin_start(x: Any, axis_name: Axes = None, *, out: Any = None,
               shard: Shard | None = None) -> Request:
    """jd.pmin(), started."""
    return _reduce('jd_pmin_start', x, axis_name, out, shard)


def pprod_start(x: Any, axis_name: Axes = None, *, out: Any = None,
                shard: Shard | None = None) -> Request:
    """jd.pprod(), started."""
    return _reduce('jd_pprod_start', x, axis_name, out, shard)


def pand_start(x: Any, axis_name: Axes = None, *, out: Any = None,
               shard: Shard | None = None) -> Request:
    """jd.pand(), started."""
    return _reduce('jd_pand_start', x, axis_name, out, shard)


def por_start(x: Any, axis_name: Axes = None, *, out: Any = None,
              shard: Shard | None = None) -> Request:
    """jd.por(), started."""
    return _reduce('jd_por_start', x, axis_name, out, shard)


def pxor_start(x: Any, axis_name: Axes = None, *, out: Any = None,
               shard: Shard | None = None) -> Request:
    """jd.pxor(), started."""
    return _reduce('jd_pxor_start', x, axis_name, out, shard)


def _blocks(x: Any, axis_name: Axes,
            shard: Shard | None) -> tuple[Any, int, int, Shard]:
    """x, whose first dimension has blocks for the members; their number and
    the elements of each."""
    member, x = _member(shard, axis_name), as_input(x)
    n = axis_size(axis_name, shard=member)
    if x.ndim == 0:
        raise errors.InvalidArgument('x has no dimension to cut into blocks')
    _divide(x.shape[0], n, 'first one', 0)
    return x, n, x.size // n, member


def psum_scatter_start(x: Any, axis_name: Axes = None, *, out: Any = None,
                       shard: Shard | None = None) -> Request:
    """jd.psum_scatter(tiled=True) along the first dimension, started."""
    x, n, count, member = _blocks(x, axis_name, shard)
    return _start('jd_psum_scatter_start', x, (x.shape[0] // n, *x.shape[1:]),
                  count, axis_name, out, member)


def all_gather_start(x: Any, axis_name: Axes = None, *, out: Any = None,
                     shard: Shard | None = None) -> Request:
    """jd.all_gather(), started: a new first dimension."""
    member, x = _member(shard, axis_name), as_input(x)
    n = axis_size(axis_name, shard=member)
    return _start('jd_all_gather_start', x, (n, *x.shape), x.size, axis_name,
                  out, member)


def all_to_all_start(x: Any, axis_name: Axes = None, *, out: Any = None,
                     shard: Shard | None = None) -> Request:
    """jd.all_to_all(tiled=True) along the first dimension, started."""
    x, _, count, member = _blocks(x, axis_name, shard)
    return _start('jd_all_to_all_start', x, None, count, axis_name, out,
                  member)


def pbroadcast_start(x: Any, axis_name: Axes, source: int, *, out: Any = None,
                     shard: Shard | None = None) -> Request:
    """jd.pbroadcast(), started."""
    member, x = _member(shard, axis_name), as_input(x)
    out = as_output(out, x.dtype, x.shape)
    return Request(out, x)._start(
        'jd_pbroadcast_start', member.handle, encode_axes(axis_name), source,
        address(x), address(out), x.size, dtype_number(x.dtype))


def barrier_start(axis_name: Axes = None, *,
                  shard: Shard | None = None) -> Request:
    """jd.barrier(), started."""
    return Request()._start('jd_barrier_start',
                            _member(shard, axis_name).handle,
                            encode_axes(axis_name))


@contextlib.contextmanager
def group_start(*, shard: Shard | None = None) -> Iterator[Request]:
    """jd.group(), started at the end of the block.

        with jd.group_start() as moves:
            jd.send(right, "x", (i + 1) % n)
            jd.recv(left, "x", (i - 1) % n)
        compute_meanwhile()
        moves.wait()
    """
    member, arrays = _member(shard, None), []
    call('jd_group_begin', member.handle)
    _thread.__dict__.setdefault('groups', []).append(arrays)
    request = Request(None, arrays)
    try:
        yield request
        request._start('jd_group_start', member.handle)
    finally:
        _thread.groups.pop()


def halo_start(block: 'numpy.ndarray', widths: Sequence[Any],
               axes: Sequence[Axes], *, periodic: Sequence[bool] = (),
               corners: bool = False,
               shard: Shard | None = None) -> Request:
    """jd.halo_exchange(), started; wait() returns the block."""
    return Request(block)._start(
        'jd_halo_start',
        *halo_arguments(block, widths, axes, periodic, corners, shard))
