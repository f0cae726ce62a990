# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that are spread over the devices of a mesh.

    rows = jd.NamedSharding(mesh, jd.P("data", None))
    table = jd.device_put(values, rows)
    for block in table.addressable_shards:
        block.data[...] += 1            # a view: no copy
    columns = jd.reshard(table, jd.NamedSharding(mesh, jd.P(None, "data")))

A view of a block keeps the array's memory for as long as it is there, also
after jd.shutdown(). include/jd_array.h says which calls are collective.
"""
from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Callable, Sequence

from . import errors
from ._ffi import OK, array_fill, call, encode, jd_equality, lib, long_array
from ._streams import written_by
from .devices import Device, DeviceMemory, make_device
from .dtypes import (as_input, as_output, dtype_number, leaf_without_data,
                     memory_array, numpy_dtype, numpy_module, one_leaf)
from .mesh import Mesh, fail_with
from .shardings import NamedSharding, Spec, slices, spec_text

if TYPE_CHECKING:
    import numpy


class _Memory:
    """What a view has for its owner: it keeps the array."""

    def __init__(self, array: 'Array'):
        self.array = array


class ArrayShard:
    """A block of an array on a device of this process.

    ``device``, ``index`` (slices of the array), ``shape`` and ``replica_id``
    say which; ``data`` is its memory. Source: jax.Shard.
    """

    def __init__(self, array: 'Array', block: Any, ndim: int):
        self._array = array
        self._data = block.data
        self._lent: Any = None
        self.device: Device = make_device(block.device)
        self.index = slices(block.index, ndim)
        self.shape = tuple(block.shape[:ndim])
        self.replica_id: int = block.replica_id

    @property
    def dtype(self) -> 'numpy.dtype':
        return self._array.dtype

    @property
    def data(self) -> 'numpy.ndarray':
        """On cpu a view that may be written; on cuda a copy in host memory,
        and ``__cuda_array_interface__`` has the memory itself."""
        self._check_there()
        if self.device.platform == 'cpu':
            return memory_array(self._array.lend(), self._data, self.shape,
                                self.dtype)
        host = numpy_module().empty(self.shape, self.dtype)
        if host.size:
            call('jd_device_copy', host.ctypes.data, self._data, host.nbytes)
        return host

    def _check_there(self) -> None:
        if self._array.is_donated:
            raise errors.FailedPrecondition(
                'the array of this block was donated to reshard(): use the '
                'one that it returned')

    @property
    def __array_interface__(self) -> dict:
        data = self.data
        self._lent = data  # who asks keeps this block, and so the view
        return data.__array_interface__

    def __array__(self, dtype: Any = None,
                  copy: bool | None = None) -> 'numpy.ndarray':
        data = self.data if dtype is None else self.data.astype(dtype)
        return data.copy() if copy else data

    @property
    def __cuda_array_interface__(self) -> dict:
        if self.device.platform != 'cuda':
            raise AttributeError('__cuda_array_interface__')
        self._check_there()
        self._lent = self._array.lend()
        return {'shape': self.shape, 'typestr': self.dtype.str,
                'strides': None, 'data': (self._data or 0, False),
                'version': 3}

    def __dlpack__(self, **options: Any) -> Any:
        """NumPy's capsule of the view; the consumer keeps the array by it."""
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.data.__dlpack_device__()

    def __repr__(self) -> str:
        return (f'ArrayShard(device={self.device}, index={self.index}, '
                f'replica_id={self.replica_id})')


class Array:
    """A type, a shape, a sharding, and the blocks of this process's devices.

    Made by zeros(), device_put() and their kin; given back when nothing in
    Python refers to it or to a view of it. Source: jax.Array.
    """

    def __init__(self, handle: int, sharding: NamedSharding):
        self._handle = handle
        self.sharding = sharding
        self.is_donated = False
        self._lent: weakref.WeakSet = weakref.WeakSet()
        self._release = weakref.finalize(self, lib.jd_array_release, handle)

    @property
    def handle(self) -> int:
        """C's jd_array pointer."""
        return self._handle

    @property
    def dtype(self) -> 'numpy.dtype':
        return numpy_dtype(lib.jd_array_dtype(self._handle))

    @property
    def ndim(self) -> int:
        return lib.jd_array_ndim(self._handle)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(lib.jd_array_shape(self._handle)[:self.ndim])

    @property
    def addressable_shards(self) -> list[ArrayShard]:
        """The blocks of this process's devices, in the mesh's order; none of
        an array that was donated. Source: Array.addressable_shards."""
        count, ndim = ctypes.c_int(), self.ndim
        blocks = lib.jd_array_shards(self._handle, ctypes.byref(count))
        return [ArrayShard(self, blocks[i], ndim) for i in range(count.value)]

    @property
    def is_fully_addressable(self) -> bool:
        return self.sharding.is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        return self.sharding.is_fully_replicated

    def lend(self) -> _Memory:
        """What a view of a block keeps."""
        lent = _Memory(self)
        self._lent.add(lent)
        return lent

    def count_views(self) -> int:
        """How many views of its blocks there are."""
        return len(self._lent)

    def to_host(self, out: Any = None) -> 'numpy.ndarray':
        """The whole array, of which this process has all; never communicates.

        FailedPrecondition where it has not: process_allgather() gathers them.
        Source: numpy.asarray of a jax.Array; jd_array_to_host.
        """
        out = as_output(out, self.dtype, self.shape)
        call('jd_array_to_host', self._handle, one_leaf(out).leaves)
        return out

    def __array__(self, dtype: Any = None,
                  copy: bool | None = None) -> 'numpy.ndarray':
        if copy is False:
            raise ValueError('an array of blocks becomes one of NumPy by a '
                             'copy alone')
        host = self.to_host()
        return host if dtype is None else host.astype(dtype, copy=False)

    def assert_replicas_equal(self, fail_message: str = '', *,
                              bitwise: bool = False,
                              nan_differs: bool = False, atol: float = 0,
                              rtol: float = 0) -> None:
        """Checks that devices that have the same block hold the same in it.

        Collective. Raises FailedPrecondition on every process, naming the
        first that differs. Source: jd_array_assert_replicas_equal.
        """
        rules = jd_equality(bitwise, nan_differs, atol, rtol)
        call('jd_array_assert_replicas_equal', self._handle,
             encode(fail_message, 'fail_message') or None,
             ctypes.byref(rules), ctypes.sizeof(rules))

    def visualize(self) -> str:
        """A picture of which device has which block."""
        return written_by('jd_visualize_array_sharding', self._handle)

    def visualize_svg(self) -> str:
        """The same as a picture in SVG."""
        return written_by('jd_visualize_array_sharding_svg', self._handle)

    def __repr__(self) -> str:
        state = 'donated ' if self.is_donated else ''
        return (f'<{state}jd.Array {self.dtype}{list(self.shape)} as '
                f'"{spec_text(self.sharding.spec)}">')

    def donate_to(self, sharding: NamedSharding) -> int:
        """jd_array_reshard_donate: the new array's handle. Views of blocks
        would see memory that is another's then."""
        if self.count_views():
            raise errors.FailedPrecondition(
                f'{self.count_views()} views of the blocks of {self!r} are '
                'in use, and donating it would take their memory away: '
                'delete them, or reshard() without donate')
        handle = ctypes.c_void_p(self._handle)
        lib.jd_array_retain(self._handle)  # type and shape stay readable
        try:
            call('jd_array_reshard_donate', ctypes.byref(handle),
                 sharding.handle)
        except errors.Error:
            lib.jd_array_release(self._handle)
            raise
        self.is_donated = True
        return handle.value


# ---- making them -----------------------------------------------------------


def _made(name: str, sharding: NamedSharding, *args: Any) -> Array:
    handle = ctypes.c_void_p()
    call(name, ctypes.byref(handle), *args)
    return Array(handle.value, sharding)


def zeros(shape: Sequence[int], dtype: Any,
          sharding: NamedSharding) -> Array:
    """An array of zeros. Not collective. Source: jax.numpy.zeros(device=)."""
    return _made('jd_array_zeros', sharding, sharding.handle,
                 dtype_number(dtype), len(shape), long_array(shape))


def make_array_from_callback(
        shape: Sequence[int], sharding: NamedSharding,
        data_callback: Callable[[tuple[slice, ...]], Any],
        dtype: Any) -> Array:
    """An array of what data_callback(index) gives for each block, a value
    that has its shape or is broadcast to it.

    Called once for each distinct index of this process's devices. What it
    raises is raised here. Source: jax.make_array_from_callback.
    """
    np, raised = numpy_module(), []
    kind, ndim = np.dtype(dtype), len(shape)

    def fill(told: Any, _: Any) -> int:
        try:
            block = told.contents
            where = slices(block.index, block.ndim)
            out = memory_array(None, block.data, block.shape[:block.ndim],
                               kind)
            out[...] = data_callback(where)
            return OK
        except BaseException as error:  # it goes on in the caller
            raised.append(error)
            return fail_with(error)

    try:
        return _made('jd_array_from_blocks', sharding, sharding.handle,
                     dtype_number(kind), ndim, long_array(shape),
                     array_fill(fill), None)
    except errors.Error:
        if not raised:
            raise
    raise raised[0]


def make_array_from_process_local_data(
        sharding: NamedSharding, local_data: Any,
        global_shape: Sequence[int] | None = None) -> Array:
    """An array of what each process has of it, or all of it.

    Not collective; all processes of the mesh call it.
    Source: jax.make_array_from_process_local_data.
    """
    local = as_input(local_data, 'local_data')
    shape = None if global_shape is None else long_array(global_shape)
    if global_shape is not None and len(global_shape) != local.ndim:
        raise errors.InvalidArgument(
            f'global_shape {tuple(global_shape)} and local_data of shape '
            f'{local.shape} have unlike numbers of dimensions')
    return _made('jd_array_from_process_local_data', sharding,
                 sharding.handle, one_leaf(local).leaves, shape)


def make_array_from_single_device_arrays(
        shape: Sequence[int], sharding: NamedSharding,
        arrays: Sequence[DeviceMemory | None], dtype: Any = None) -> Array:
    """An array of blocks that are there: one DeviceMemory for each of this
    process's devices, None for an empty block. It takes them over.

    dtype is needed where all are None.
    Source: jax.make_array_from_single_device_arrays.
    """
    there = [memory for memory in arrays if memory is not None]
    if dtype is None and not there:
        raise errors.InvalidArgument('no block says the type: give dtype')
    kind = numpy_module().dtype(there[0].dtype if dtype is None else dtype)
    for memory in there:
        if memory.dtype != kind:
            raise errors.InvalidArgument(
                f'a block is {memory.dtype}, and the array {kind}')
    buffers = (ctypes.c_void_p * max(1, len(arrays)))(
        *[memory and memory.address for memory in arrays])
    array = _made('jd_array_from_shards', sharding, sharding.handle,
                  dtype_number(kind), len(shape), long_array(shape), buffers,
                  len(arrays))
    for memory in there:
        memory.give_to(array.lend())
    return array


def make_array_from_one(sharding: NamedSharding, data: Any = None,
                        source: int = 0, *,
                        shape: Sequence[int] | None = None,
                        dtype: Any = None) -> Array:
    """An array of the data that process source alone has, with its type and
    shape; the other processes give these and no data.

        jd.make_array_from_one(rows, x if i == 0 else None,
                               shape=(8, 6), dtype='float32')

    Collective. Source: jd_array_from_one.
    """
    if data is not None:
        leaf = one_leaf(as_input(data, 'data'))
    elif shape is not None and dtype is not None:
        leaf = leaf_without_data(shape, dtype)
    else:
        raise errors.InvalidArgument(
            'a process that is not the source gives shape and dtype')
    return _made('jd_array_from_one', sharding, sharding.handle, leaf.leaves,
                 source)


def device_put(x: Any, sharding: NamedSharding, *,
               donate: bool = False) -> Array:
    """Puts a value that every process has, or an Array, onto the sharding's
    devices.

    Collective. Raises InvalidArgument on every process where values differ.
    Source: jax.device_put; jd_device_put, jd_array_reshard.
    """
    if isinstance(x, Array):
        return reshard(x, sharding, donate=donate)
    return _made('jd_device_put', sharding, one_leaf(as_input(x)).leaves,
                 sharding.handle)


def reshard(x: Array, sharding: NamedSharding, *,
            donate: bool = False) -> Array:
    """An array of the same value that lies as the sharding says.

    Collective: all processes of both meshes. With donate x is gone, and its
    memory is used again; no view of its blocks may be in use then.
    Source: jax.device_put of an array; jd_array_reshard(_donate).
    """
    if not donate:
        return _made('jd_array_reshard', sharding, x.handle, sharding.handle)
    return Array(x.donate_to(sharding), sharding)


# ---- between arrays and processes' values ----------------------------------


def gather_array(x: Array, root: int | None = None,
                 out: Any = None) -> 'numpy.ndarray | None':
    """The whole array: on every process of its mesh, or with a root on that
    one alone (None elsewhere). Collective.

    Source: multihost_utils.process_allgather, tiled;
    jd_process_allgather_array, jd_process_gather_array.
    """
    from .process import process_index
    if root is not None and process_index() != root:
        call('jd_process_gather_array', x.handle, None, root)
        return None
    out = as_output(out, x.dtype, x.shape)
    if root is None:
        call('jd_process_allgather_array', x.handle, one_leaf(out).leaves)
    else:
        call('jd_process_gather_array', x.handle, one_leaf(out).leaves, root)
    return out


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh,
                                     pspecs: Spec) -> Array:
    """An array of all, of what this process's devices have together.

    No communication; all processes of the mesh.
    Source: multihost_utils.host_local_array_to_global_array.
    """
    local = as_input(local_inputs, 'local_inputs')
    return _made('jd_host_local_array_to_global_array',
                 NamedSharding(global_mesh, pspecs), one_leaf(local).leaves,
                 global_mesh.handle, encode(spec_text(pspecs), 'pspecs'))


def global_array_to_host_local_array(global_inputs: Array, global_mesh: Mesh,
                                     pspecs: Spec,
                                     out: Any = None) -> 'numpy.ndarray':
    """What this process's devices have of an array, together.

    No communication; all processes of the mesh.
    Source: multihost_utils.global_array_to_host_local_array.
    """
    layout = NamedSharding(global_mesh, pspecs)
    shape = global_inputs.shape
    parts = [layout.index(device, shape)
             for device in global_mesh.local_devices]
    box = [max(part[k].stop for part in parts) -
           min(part[k].start for part in parts) for k in range(len(shape))]
    out = as_output(out, global_inputs.dtype, box if parts else shape)
    call('jd_global_array_to_host_local_array', global_inputs.handle,
         global_mesh.handle, encode(spec_text(pspecs), 'pspecs'),
         one_leaf(out).leaves)
    return out


def visualize_array_sharding(x: Array) -> None:
    """Prints x.visualize(). Source: jax.debug.visualize_array_sharding."""
    print(x.visualize(), end='')
