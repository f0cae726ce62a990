# SPDX-License-Identifier: BSD-3-Clause
"""Collectives over named mesh axes on NumPy arrays, as jax.lax names them.

    with jd.make_mesh((-1,), ("data",)):
        total = jd.psum(gradient, "data")               # a new array
        jd.psum(gradient, "data", out=gradient)         # in place

What holds for all of them (include/jd_collectives.h has the rest):

axis_name   one name, several, or None for all axes of the mesh.
x           an array: contiguous, of a type that jd has; a number is one too.
            Type and count are the array's. It is never copied to make it fit.
out         where the result goes; a new array where it is not given. x itself
            is in place, for a result of x's shape.
shard       what it is called on: that of ``with mesh`` or of the body of
            shard_map() where it is not given.
axis_index_groups
            lists of indices along the axes: a collective of each list alone.
Collective  all members along the axes, with the same shape and type.
Blocks      without the GIL, collective_timeout at most.
Raises      InvalidArgument, DeadlineExceeded, Aborted, Unimplemented, ...:
            each carries jd's sentence.
"""
from __future__ import annotations

import contextlib
import ctypes
import threading
from typing import (TYPE_CHECKING, Any, Callable, Iterator, Optional,
                    Sequence)

from . import errors
from ._ffi import (call, int_array, jd_halo_dim, jd_route, lib, long_array,
                   longs_at, raise_last, reduce_function)
from .dtypes import (address, as_input, as_output, as_written, dtype_number,
                     numpy_module)
from .mesh import Axes, Shard, current_shard, encode_axes

if TYPE_CHECKING:
    import numpy

Groups = Optional[Sequence[Sequence[int]]]

# .groups: for each group that the thread has open, the arrays of its sends and
# receives, which are noted only until its end.
_thread = threading.local()


def _member(shard: Shard | None, axes: Axes, groups: Any = None) -> Shard:
    shard = shard or current_shard()
    return shard if groups is None else shard.groups(axes, groups)


def axis_index(axis_name: Axes = None, *, shard: Shard | None = None) -> int:
    """The shard's index along the axes. Source: jax.lax.axis_index."""
    found = lib.jd_axis_index(_member(shard, None).handle,
                              encode_axes(axis_name))
    if found < 0:
        raise_last()
    return found


def axis_size(axis_name: Axes = None, *, shard: Shard | None = None) -> int:
    """How many members there are along the axes. Source:
    jax.lax.axis_size."""
    found = lib.jd_axis_size(_member(shard, None).handle,
                             encode_axes(axis_name))
    if found < 0:
        raise_last()
    return found


# ---- reductions ------------------------------------------------------------


def _reduce(name: str, x: Any, axis_name: Axes, out: Any, shard: Any,
            groups: Any) -> 'numpy.ndarray':
    member = _member(shard, axis_name, groups)
    x = as_input(x)
    out = as_output(out, x.dtype, x.shape)
    call(name, member.handle, encode_axes(axis_name), address(x),
         address(out), x.size, dtype_number(x.dtype))
    return out


def psum(x: Any, axis_name: Axes = None, *, out: Any = None,
         shard: Shard | None = None,
         axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """The sum of the members' x, on each of them. Source: jax.lax.psum."""
    return _reduce('jd_psum', x, axis_name, out, shard, axis_index_groups)


def pmean(x: Any, axis_name: Axes = None, *, out: Any = None,
          shard: Shard | None = None,
          axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """Their mean; not of integers. Source: jax.lax.pmean."""
    return _reduce('jd_pmean', x, axis_name, out, shard, axis_index_groups)


def pmax(x: Any, axis_name: Axes = None, *, out: Any = None,
         shard: Shard | None = None,
         axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """The greatest; any() of truth values. Source: jax.lax.pmax."""
    return _reduce('jd_pmax', x, axis_name, out, shard, axis_index_groups)


def pmin(x: Any, axis_name: Axes = None, *, out: Any = None,
         shard: Shard | None = None,
         axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """The least; all() of truth values. Source: jax.lax.pmin."""
    return _reduce('jd_pmin', x, axis_name, out, shard, axis_index_groups)


def pprod(x: Any, axis_name: Axes = None, *, out: Any = None,
          shard: Shard | None = None,
          axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """Their product. Source: XLA's product; jd_pprod."""
    return _reduce('jd_pprod', x, axis_name, out, shard, axis_index_groups)


def pand(x: Any, axis_name: Axes = None, *, out: Any = None,
         shard: Shard | None = None,
         axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """Their bits joined by and; all() of truth values. Source: MPI_BAND."""
    return _reduce('jd_pand', x, axis_name, out, shard, axis_index_groups)


def por(x: Any, axis_name: Axes = None, *, out: Any = None,
        shard: Shard | None = None,
        axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """Their bits joined by or; any() of truth values. Source: MPI_BOR."""
    return _reduce('jd_por', x, axis_name, out, shard, axis_index_groups)


def pxor(x: Any, axis_name: Axes = None, *, out: Any = None,
         shard: Shard | None = None,
         axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """Their bits joined by exclusive or. Source: MPI_BXOR."""
    return _reduce('jd_pxor', x, axis_name, out, shard, axis_index_groups)


def _locate(name: str, x: Any, axis_name: Axes, index: Any, out: Any,
            shard: Any, groups: Any
            ) -> 'tuple[numpy.ndarray, numpy.ndarray]':
    member = _member(shard, axis_name, groups)
    x = as_input(x)
    if index is not None:
        index = as_input(index)
        if index.dtype != 'int64' or index.shape != x.shape:
            raise errors.InvalidArgument(
                f'{name}: index is of {index.dtype}, of shape '
                f"{index.shape}; it is of int64, of x's shape {x.shape}")
    out = as_output(out, x.dtype, x.shape)
    found = numpy_module().empty(x.shape, 'int64')
    given = None if index is None else longs_at(address(index))
    call(name, member.handle, encode_axes(axis_name), address(x), given,
         address(out), longs_at(address(found)), x.size,
         dtype_number(x.dtype))
    return out, found


def pmaxloc(x: Any, axis_name: Axes = None, *, index: Any = None,
            out: Any = None, shard: Shard | None = None,
            axis_index_groups: Groups = None
            ) -> 'tuple[numpy.ndarray, numpy.ndarray]':
    """The greatest, and whose it is: the index of int64 that came with it, or
    where there is none the member's axis_index(); of equal ones the least.
    Source: MPI_MAXLOC."""
    return _locate('jd_pmaxloc', x, axis_name, index, out, shard,
                   axis_index_groups)


def pminloc(x: Any, axis_name: Axes = None, *, index: Any = None,
            out: Any = None, shard: Shard | None = None,
            axis_index_groups: Groups = None
            ) -> 'tuple[numpy.ndarray, numpy.ndarray]':
    """The least, and whose it is, as pmaxloc(). Source: MPI_MINLOC."""
    return _locate('jd_pminloc', x, axis_name, index, out, shard,
                   axis_index_groups)


class _Join:
    """A function of two arrays as C calls it; what it raises goes on later.
    """

    def __init__(self, function: Callable[[Any, Any], Any], dtype: Any):
        self.function, self.dtype = function, dtype
        self.failure: BaseException | None = None

    def run(self, into: int, other: int, count: int, _: Any) -> None:
        if self.failure:
            return
        try:
            a, b = (numpy_module().frombuffer(
                (ctypes.c_char * (count * self.dtype.itemsize)).from_address(
                    where), self.dtype) for where in (into, other))
            a[...] = self.function(a, b)
        except BaseException as error:
            self.failure = error


def preduce(function: Callable[[Any, Any], Any], x: Any,
            axis_name: Axes = None, *, out: Any = None,
            shard: Shard | None = None,
            axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """The members' x joined by function(a, b) in the members' order.

    It gets two arrays of one dimension and as many elements, of which a has
    those of the members before, and gives such a one; it is the same on all
    members, associative, and calls nothing of jd. What it raises is raised
    here, on the members where it does. On cpu. Source: MPI_Op_create.
    """
    member = _member(shard, axis_name, axis_index_groups)
    x = as_input(x)
    out = as_output(out, x.dtype, x.shape)
    join = _Join(function, x.dtype)
    call('jd_preduce', member.handle, encode_axes(axis_name), address(x),
         address(out), x.size, x.dtype.itemsize, reduce_function(join.run),
         None)
    if join.failure:
        raise join.failure
    return out


_OPS = ('sum', 'prod', 'max', 'min', 'and', 'or', 'xor')  # jd_op


def scan(x: Any, axis_name: Axes = None, op: str = 'sum', *,
         exclusive: bool = False, out: Any = None,
         shard: Shard | None = None,
         axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """What the members up to this one reduce to by op: 'sum', 'prod', 'max',
    'min', 'and', 'or', 'xor'; exclusive: those before it. Not jax.lax.scan.
    Source: MPI_Scan, MPI_Exscan."""
    if op not in _OPS:
        raise errors.InvalidArgument(
            f'jd_scan: op is {op!r}; it is one of {", ".join(_OPS)}')
    member = _member(shard, axis_name, axis_index_groups)
    x = as_input(x)
    out = as_output(out, x.dtype, x.shape)
    call('jd_scan', member.handle, encode_axes(axis_name), address(x),
         address(out), x.size, dtype_number(x.dtype), _OPS.index(op),
         int(exclusive))
    return out


# ---- along a dimension -----------------------------------------------------


def _dimension(k: int, ndim: int, what: str) -> int:
    """k from the front; -1 is the last one."""
    if not -ndim <= k < ndim:
        raise errors.InvalidArgument(
            f'{what} is {k}: x has {ndim} dimensions')
    return k % ndim


def _product(lengths: Sequence[int]) -> int:
    result = 1
    for length in lengths:
        result *= length
    return result


def _divide(length: int, n: int, what: str, k: int) -> int:
    if length % n:
        raise errors.InvalidArgument(
            f'dimension {k} of x, the {what}, has {length} elements, which do '
            f'not divide by the {n} members')
    return length // n


def psum_scatter(x: Any, axis_name: Axes = None, *,
                 scatter_dimension: int = 0, tiled: bool = False,
                 out: Any = None, shard: Shard | None = None,
                 axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """The sum of the members' x, of which each gets its own block.

    Untiled, the dimension is as long as there are members, and is gone in the
    result; tiled, the result has the nth part of it.
    Source: jax.lax.psum_scatter.
    """
    member = _member(shard, axis_name, axis_index_groups)
    x, n = as_input(x), axis_size(axis_name, shard=member)
    k = _dimension(scatter_dimension, x.ndim, 'scatter_dimension')
    each = _divide(x.shape[k], n, 'scatter_dimension', k)
    if not tiled and each != 1:
        raise errors.InvalidArgument(
            f'dimension {k} of x has {x.shape[k]} elements: untiled it has '
            f'one for each of the {n} members (tiled=True gives each a block)')
    shape = x.shape[:k] + ((each,) if tiled else ()) + x.shape[k + 1:]
    out = as_output(out, x.dtype, shape)
    rows, axes = _product(x.shape[:k]), encode_axes(axis_name)
    count = each * _product(x.shape[k + 1:])
    number = dtype_number(x.dtype)
    if k == 0:
        call('jd_psum_scatter', member.handle, axes, address(x), address(out),
             count, number)
    else:
        call('jd_psum_scatter_2d', member.handle, axes, address(x),
             address(out), rows, count, number)
    return out


def all_gather(x: Any, axis_name: Axes = None, *, axis: int = 0,
               tiled: bool = False, out: Any = None,
               shard: Shard | None = None,
               axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """The members' x, one after another along a dimension.

    Untiled the dimension is a new one, tiled they are joined along the one
    that x has. Source: jax.lax.all_gather.
    """
    member = _member(shard, axis_name, axis_index_groups)
    x, n = as_input(x), axis_size(axis_name, shard=member)
    k = _dimension(axis, x.ndim + (not tiled), 'axis')
    rest = x.shape[k + 1:] if tiled else x.shape[k:]
    joined = n * x.shape[k] if tiled else n
    out = as_output(out, x.dtype, x.shape[:k] + (joined,) + rest)
    rows, axes = _product(x.shape[:k]), encode_axes(axis_name)
    number = dtype_number(x.dtype)
    if k == 0:
        call('jd_all_gather', member.handle, axes, address(x), address(out),
             x.size, number)
    else:
        call('jd_all_gather_2d', member.handle, axes, address(x),
             address(out), rows, _product(x.shape[k:]), number)
    return out


def _exchanged_shape(x: Any, n: int, split: int, concat: int,
                     tiled: bool) -> tuple[int, ...]:
    each = _divide(x.shape[split], n, 'split_axis', split)
    shape = list(x.shape)
    if tiled:
        shape[split] = each
        shape[concat] *= n
        return tuple(shape)
    if each != 1:
        raise errors.InvalidArgument(
            f'dimension {split} of x has {x.shape[split]} elements: untiled '
            f'it has one for each of the {n} members (tiled=True splits it)')
    del shape[split]
    shape.insert(concat, n)
    return tuple(shape)


def all_to_all(x: Any, axis_name: Axes, split_axis: int, concat_axis: int, *,
               tiled: bool = False, out: Any = None,
               shard: Shard | None = None,
               axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """Gives each member a part of x, split along one dimension, and joins
    what comes from them along another.

    Untiled, split_axis is as long as there are members, and is replaced by a
    new concat_axis. Source: jax.lax.all_to_all.
    """
    member = _member(shard, axis_name, axis_index_groups)
    x, n = as_input(x), axis_size(axis_name, shard=member)
    split = _dimension(split_axis, x.ndim, 'split_axis')
    concat = _dimension(concat_axis, x.ndim, 'concat_axis')
    out = as_output(out, x.dtype,
                    _exchanged_shape(x, n, split, concat, tiled))
    shape = list(x.shape)
    if not tiled and split != concat:  # the new one: a single index, at first
        concat += concat > split
        shape.insert(concat, 1)
        split += concat <= split
    call('jd_all_to_all_nd', member.handle, encode_axes(axis_name), address(x),
         address(out), len(shape), long_array(shape), split, concat,
         dtype_number(x.dtype))
    return out


def ragged_all_to_all(operand: Any, output: 'numpy.ndarray',
                      input_offsets: Sequence[int],
                      send_sizes: Sequence[int],
                      output_offsets: Sequence[int],
                      recv_sizes: Sequence[int], *, axis_name: Axes = None,
                      shard: Shard | None = None,
                      axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """Exchanges blocks of unlike lengths, in rows of the first dimension.

    Written into output, which is returned; rows that nothing comes to stay.
    The lists have as many numbers for each member, and offsets in output are
    the sender's to say. Source: jax.lax.ragged_all_to_all.
    """
    member = _member(shard, axis_name, axis_index_groups)
    x = as_input(operand, 'operand')
    output = as_written(output, 'output')
    if output.dtype != x.dtype:
        raise errors.InvalidArgument(
            f'operand is {x.dtype}, and output {output.dtype}')
    if not x.ndim or x.shape[1:] != output.shape[1:]:
        raise errors.InvalidArgument(
            f'operand of shape {x.shape} and output of shape {output.shape} '
            'have rows of unlike shapes')
    lists = [long_array(numbers) for numbers in
             (input_offsets, send_sizes, output_offsets, recv_sizes)]
    if len({len(numbers) for numbers in lists}) != 1:
        raise errors.InvalidArgument(
            'input_offsets, send_sizes, output_offsets and recv_sizes have '
            f'{", ".join(str(len(numbers)) for numbers in lists)} numbers: '
            'they have equally many')
    call('jd_ragged_all_to_all', member.handle, encode_axes(axis_name),
         address(x), len(x), address(output), len(output),
         _product(x.shape[1:]), *lists, len(lists[0]), dtype_number(x.dtype))
    return output


def ragged_all_gather(x: Any, counts: Sequence[int],
                      axis_name: Axes = None, *, out: Any = None,
                      shard: Shard | None = None,
                      axis_index_groups: Groups = None) -> 'numpy.ndarray':
    """The members' x, of unlike lengths, joined along the first dimension.

    counts has the length of each member's x, this one's too, and is the same
    on all of them. Source: MPI_Allgatherv.
    """
    member = _member(shard, axis_name, axis_index_groups)
    x, n = as_input(x), axis_size(axis_name, shard=member)
    if not x.ndim:
        raise errors.InvalidArgument(
            'x is a number: it has a first dimension, along which it is '
            'joined')
    lengths = [int(count) for count in counts]
    if len(lengths) != n:
        raise errors.InvalidArgument(
            f'counts has {len(lengths)} numbers: it has one for each of the '
            f'{n} members')
    if min(lengths) < 0:
        raise errors.InvalidArgument(
            f'counts has {min(lengths)}: a length is 0 or more')
    out = as_output(out, x.dtype, (sum(lengths),) + x.shape[1:])
    row = _product(x.shape[1:])
    call('jd_ragged_all_gather', member.handle, encode_axes(axis_name),
         address(x), x.size, address(out),
         long_array([row * length for length in lengths]),
         dtype_number(x.dtype))
    return out


# ---- moving ----------------------------------------------------------------

# In the order of enum jd_edge.
_EDGES = ('wrap', 'zero', 'keep')


def _routes(perm: Sequence[tuple[int, int]]) -> Any:
    return (jd_route * len(perm))(*[jd_route(a, b) for a, b in perm])


def ppermute(x: Any, axis_name: Axes, perm: Sequence[tuple[int, int]], *,
             out: Any = None, shard: Shard | None = None) -> 'numpy.ndarray':
    """Sends x along each (source, destination) of perm; zeros where none ends.

    perm is the same list on all members. Source: jax.lax.ppermute.
    """
    member, x = _member(shard, axis_name), as_input(x)
    out = as_output(out, x.dtype, x.shape)
    call('jd_ppermute', member.handle, encode_axes(axis_name), address(x),
         address(out), x.size, dtype_number(x.dtype), _routes(perm), len(perm))
    return out


def ppermute_keep(x: Any, axis_name: Axes, perm: Sequence[tuple[int, int]],
                  out: 'numpy.ndarray', *,
                  shard: Shard | None = None) -> 'numpy.ndarray':
    """The same, but where no route ends out stays as it is: the halo at the
    wall of a domain. Source: MPI_Sendrecv with MPI_PROC_NULL."""
    member, x = _member(shard, axis_name), as_input(x)
    if out is None:
        raise errors.InvalidArgument('out is what is kept: it has to be given')
    out = as_output(out, x.dtype, x.shape)
    call('jd_ppermute_keep', member.handle, encode_axes(axis_name),
         address(x), address(out), x.size, dtype_number(x.dtype),
         _routes(perm), len(perm))
    return out


def pshuffle(x: Any, axis_name: Axes, perm: Sequence[int], *,
             out: Any = None, shard: Shard | None = None) -> 'numpy.ndarray':
    """Member i gets member perm[i]'s x. Source: jax.lax.pshuffle."""
    member, x = _member(shard, axis_name), as_input(x)
    size = axis_size(axis_name, shard=member)
    if len(perm) != size:
        raise errors.InvalidArgument(
            f'perm has {len(perm)} numbers, and there are {size} members')
    out = as_output(out, x.dtype, x.shape)
    call('jd_pshuffle', member.handle, encode_axes(axis_name), address(x),
         address(out), x.size, dtype_number(x.dtype), int_array(perm))
    return out


def shift(x: Any, axis_name: Axes, by: int, *, edge: str = 'wrap',
          out: Any = None, shard: Shard | None = None) -> 'numpy.ndarray':
    """Sends x to the member by places further along the axes.

    edge: where nothing comes from beyond the ends of the axis: 'wrap' (it goes
    around), 'zero', or 'keep' (out, which has to be given, stays as it is).
    """
    member, x = _member(shard, axis_name), as_input(x)
    if edge not in _EDGES:
        raise errors.InvalidArgument(
            f'edge is {edge!r}; it is one of {", ".join(map(repr, _EDGES))}')
    if edge == 'keep' and out is None:
        raise errors.InvalidArgument('out is what is kept: it has to be given')
    out = as_output(out, x.dtype, x.shape)
    call('jd_shift', member.handle, encode_axes(axis_name), by, address(x),
         address(out), x.size, dtype_number(x.dtype), _EDGES.index(edge))
    return out


def pbroadcast(x: Any, axis_name: Axes, source: int, *, out: Any = None,
               shard: Shard | None = None) -> 'numpy.ndarray':
    """Gives every member that of the member source; the others' x says type
    and shape alone. Source: jax.lax.pbroadcast."""
    member, x = _member(shard, axis_name), as_input(x)
    out = as_output(out, x.dtype, x.shape)
    call('jd_pbroadcast', member.handle, encode_axes(axis_name), source,
         address(x), address(out), x.size, dtype_number(x.dtype))
    return out


# ---- sends and receives ----------------------------------------------------


def _keep_noted(array: Any) -> None:
    """In a group the buffer is used at its end only."""
    if getattr(_thread, 'groups', None):
        _thread.groups[-1].append(array)


def send(x: Any, axis_name: Axes, to: int, *, tag: int | None = None,
         shard: Shard | None = None) -> None:
    """Sends x to a member. Collective: the two; but the first collective
    along the axes is of all members. Source: jax.lax.psend; jd_send."""
    member, x = _member(shard, axis_name), as_input(x)
    _keep_noted(x)
    on = (member.handle, encode_axes(axis_name), to)
    data = (address(x), x.size, dtype_number(x.dtype))
    if tag is None:
        call('jd_send', *on, *data)
    else:
        call('jd_send_tagged', *on, tag, *data)


def recv(out: 'numpy.ndarray', axis_name: Axes, source: int, *,
         tag: int | None = None,
         shard: Shard | None = None) -> 'numpy.ndarray':
    """Receives into out, of the sender's type and count, and returns it.
    Source: jax.lax.precv; jd_recv."""
    member = _member(shard, axis_name)
    out = as_written(out)
    _keep_noted(out)
    on = (member.handle, encode_axes(axis_name), source)
    data = (address(out), out.size, dtype_number(out.dtype))
    if tag is None:
        call('jd_recv', *on, *data)
    else:
        call('jd_recv_tagged', *on, tag, *data)
    return out


class Received:
    """What jd.recv_any_size() got: of a group, when that has ended."""

    def __init__(self, out: 'numpy.ndarray') -> None:
        self._out = out
        self._unknown = ctypes.c_size_t(-1).value
        self._count = ctypes.c_size_t(self._unknown)

    @property
    def count(self) -> int:
        """How many elements came."""
        if self._count.value == self._unknown:
            raise errors.FailedPrecondition(
                'nothing has come yet: a group receives at its end')
        return self._count.value

    @property
    def data(self) -> 'numpy.ndarray':
        """What came: the begin of out, in one dimension."""
        return self._out.reshape(-1)[:self.count]


def recv_any_size(out: 'numpy.ndarray', axis_name: Axes, source: int, *,
                  shard: Shard | None = None) -> Received:
    """Receives as much as a member sends, which out has room for.

    Source: MPI_Probe, MPI_Get_count; jd_recv_any_size."""
    member = _member(shard, axis_name)
    out = as_written(out)
    received = Received(out)
    _keep_noted(received)
    call('jd_recv_any_size', member.handle, encode_axes(axis_name), source,
         address(out), out.size, ctypes.byref(received._count),
         dtype_number(out.dtype))
    return received


def sendrecv(x: Any, axis_name: Axes, to: int | None,
             out: 'numpy.ndarray', source: int | None, *,
             shard: Shard | None = None) -> 'numpy.ndarray':
    """Sends x to a member and receives into out from one, both at once, and
    returns out. None is nobody: then out stays as it is. Source:
    MPI_Sendrecv; jd_sendrecv."""
    member, x = _member(shard, axis_name), as_input(x)
    out = as_written(out)
    if out.dtype != x.dtype:
        raise errors.InvalidArgument(f'x is {x.dtype}, and out {out.dtype}')
    call('jd_sendrecv', member.handle, encode_axes(axis_name),
         -1 if to is None else to, address(x), x.size,
         -1 if source is None else source, address(out), out.size,
         dtype_number(x.dtype))
    return out


def _halo_dims(shape: Sequence[int], widths: Sequence[Any],
               axes: Sequence[Axes], periodic: Sequence[bool]) -> Any:
    if not len(shape) == len(widths) == len(axes) == len(periodic):
        raise errors.InvalidArgument(
            f'block has {len(shape)} dimensions, and there are {len(widths)} '
            f'widths, {len(axes)} axes and {len(periodic)} of periodic')
    pairs = [(w, w) if isinstance(w, int) else tuple(w) for w in widths]
    return (jd_halo_dim * len(shape))(*[
        jd_halo_dim(size, before, after,
                    None if axis is None else encode_axes(axis), around)
        for size, (before, after), axis, around
        in zip(shape, pairs, axes, periodic)])


def halo_exchange(block: 'numpy.ndarray', widths: Sequence[Any],
                  axes: Sequence[Axes], *, periodic: Sequence[bool] = (),
                  corners: bool = False,
                  shard: Shard | None = None) -> 'numpy.ndarray':
    """Fills the halos of block out of its neighbours' blocks; returns it.

    For each dimension: the width of its halo, or (before, after); the axis
    that it is cut along, or None; whether that is periodic. Where there is no
    neighbour the halo stays as it is. jd_halo.h has the rest.
    """
    call('jd_halo_exchange',
         *halo_arguments(block, widths, axes, periodic, corners, shard))
    return block


def halo_arguments(block: Any, widths: Sequence[Any], axes: Sequence[Axes],
                   periodic: Sequence[bool], corners: bool,
                   shard: Shard | None) -> tuple[Any, ...]:
    """What C is given for them."""
    block = as_written(block)
    dims = _halo_dims(block.shape, widths, axes,
                      tuple(periodic) or (False,) * block.ndim)
    return (_member(shard, None).handle, address(block),
            dtype_number(block.dtype), block.ndim, dims, corners)


@contextlib.contextmanager
def group(*, shard: Shard | None = None) -> Iterator[Shard]:
    """Sends and receives inside the block proceed together at its end.

        with jd.group():
            jd.send(right, "x", (i + 1) % n)
            jd.recv(left, "x", (i - 1) % n)

    After an exception in the block nothing proceeds: the others would get
    half of what they wait for. Source: ncclGroupStart, ncclGroupEnd.
    """
    member = _member(shard, None)
    call('jd_group_begin', member.handle)
    _thread.__dict__.setdefault('groups', []).append([])
    try:
        yield member
        call('jd_group_end', member.handle)
    finally:
        _thread.groups.pop()


# ---- waiting ---------------------------------------------------------------


def barrier(axis_name: Axes = None, *, shard: Shard | None = None) -> None:
    """Waits until all members along the axes have come here."""
    call('jd_barrier', _member(shard, axis_name).handle,
         encode_axes(axis_name))


def shard_synchronize(*, shard: Shard | None = None) -> None:
    """Waits until what was queued on the shard's stream is done."""
    _member(shard, None).synchronize()
