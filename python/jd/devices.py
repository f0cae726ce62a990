# SPDX-License-Identifier: BSD-3-Clause
"""The global table of devices, and their memory."""
from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Sequence

from . import dtypes, errors
from ._ffi import call, encode, lib, raise_last

if TYPE_CHECKING:
    import numpy


@dataclass(frozen=True)
class Device:
    """One device of the job, as jd_device.h says; strings are never None."""

    id: int
    process_index: int
    local_ordinal: int
    platform: str
    kind: str
    host: str
    slice_index: int
    numa_node: int
    pci_bus_id: str
    uuid: str
    memory_bytes: int
    index: int
    _pointer: int = field(repr=False, compare=False, default=0)

    @property
    def device_kind(self) -> str:
        """JAX's name of kind."""
        return self.kind

    def __str__(self) -> str:
        return f'{self.platform}:{self.id}'


def make_device(pointer: Any) -> Device:
    """A Device of a pointer to a jd_device."""
    values = {}
    for name, _ in pointer.contents._fields_:
        value = getattr(pointer.contents, name)
        values[name] = value.decode() if isinstance(value, bytes) else value
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    return Device(**values, _pointer=address)


def list_devices(name: str, *args: Any) -> list[Device]:
    """Those that a function of C lists; its failure is raised."""
    count = ctypes.c_int()
    found = getattr(lib, name)(*args, ctypes.byref(count))
    if not found and count.value != 0:
        raise_last(errors.FailedPrecondition.status)
    return [make_device(found[i]) for i in range(count.value)]


def devices(platform: str | None = None) -> list[Device]:
    """All devices of the job, by process index, then local ordinal.

    Those of the default platform, or of the named one; NotFound where the job
    has none of that name. Not collective. Source: jax.devices.
    """
    if platform is None:
        return list_devices('jd_devices')
    found = list_devices('jd_platform_devices', encode(platform, 'platform'))
    if not found:
        raise_last(errors.NotFound.status)
    return found


def local_devices() -> list[Device]:
    """Those of this process. Source: jax.local_devices."""
    return list_devices('jd_local_devices')


def _counted(count: int) -> int:
    if count < 0:
        raise_last(errors.FailedPrecondition.status)
    return count


def device_count() -> int:
    """How many devices the job has. Source: jax.device_count."""
    return _counted(lib.jd_device_count())


def local_device_count() -> int:
    """How many of them are this process's. Source: jax.local_device_count."""
    return _counted(lib.jd_local_device_count())


class DeviceMemory:
    """Memory of a local device, zeroed: jd_device_alloc.

    On cpu ``array`` is a NumPy view of it, which collectives read and write in
    place; on cuda it offers ``__cuda_array_interface__``, and device_copy()
    fills and reads it. It is freed when neither it nor a view is left, or
    belongs to an Array after array_from_shards().
    """

    def __init__(self, device: Device, shape: Sequence[int], dtype: Any):
        self.device = device
        self.shape = tuple(int(length) for length in shape)
        self.dtype = dtypes.numpy_module().dtype(dtype)
        dtypes.dtype_number(self.dtype)
        self.nbytes = self.dtype.itemsize
        for length in self.shape:
            self.nbytes *= length
        data = ctypes.c_void_p()
        call('jd_device_alloc', device._pointer, self.nbytes,
             ctypes.byref(data))
        self.address = data.value
        self.owner: Any = None  # the Array that has taken it
        self._free = weakref.finalize(self, lib.jd_device_free, self.address)

    @property
    def array(self) -> 'numpy.ndarray':
        """A view that may be written, and keeps the memory."""
        if self.device.platform != 'cpu':
            raise errors.Unimplemented(
                f'memory of {self.device} is not the host\'s: device_copy() '
                'reads and writes it')
        return dtypes.memory_array(self, self.address, self.shape, self.dtype)

    @property
    def __cuda_array_interface__(self) -> dict:
        if self.device.platform != 'cuda':
            raise AttributeError('__cuda_array_interface__')
        return {'shape': self.shape, 'typestr': self.dtype.str,
                'strides': None, 'data': (self.address or 0, False),
                'version': 3}

    def give_to(self, owner: Any) -> None:
        """From now on an Array frees it, and lives as long as its views."""
        self._free.detach()
        self.owner = owner


def device_alloc(device: Device, shape: Sequence[int],
                 dtype: Any) -> DeviceMemory:
    """Memory of one of this process's devices, zeroed.

    Not collective. Raises InvalidArgument for another process's device,
    ResourceExhausted naming what limits it. Source: jd_device_alloc.
    """
    return DeviceMemory(device, shape, dtype)


def _bytes_of(side: Any, what: str) -> tuple[int | None, int]:
    if isinstance(side, DeviceMemory):
        return side.address, side.nbytes
    array = dtypes.as_input(side, what)
    return dtypes.address(array), array.nbytes


def device_copy(to: Any, source: Any) -> None:
    """Copies bytes; each side is an array or a DeviceMemory, of one length.

    Returns when the copy is done. On cuda shard_synchronize() comes first.
    Source: jd_device_copy.
    """
    if not isinstance(to, DeviceMemory):
        dtypes.as_written(to, 'to')
    into, size = _bytes_of(to, 'to')
    origin, length = _bytes_of(source, 'source')
    if size != length:
        raise errors.InvalidArgument(
            f'to has {size} bytes and source {length}')
    call('jd_device_copy', into, origin, size)
