# SPDX-License-Identifier: BSD-3-Clause
"""How arrays lie on a mesh, written as JAX writes it.

    jd.NamedSharding(mesh, jd.P("data", None, ("model", "pipe")))
    jd.NamedSharding(mesh, "data,-,model+pipe")     # the same, as in C
"""
from __future__ import annotations

import ctypes
import weakref
from typing import Any, Sequence, Union

from . import errors
from ._ffi import call, encode, jd_range, lib, long_array
from ._streams import written_by
from .devices import Device
from .mesh import Mesh


class PartitionSpec(tuple):
    """One entry for each dimension: an axis, several, or None for none.

    Source: jax.sharding.PartitionSpec, which is taken wherever this one is.
    """

    def __new__(cls, *entries: Any) -> 'PartitionSpec':
        return super().__new__(cls, entries)

    def __repr__(self) -> str:
        return f'PartitionSpec({", ".join(repr(entry) for entry in self)})'


P = PartitionSpec
Spec = Union[str, Sequence[Any]]


def _entry(entry: Any) -> str:
    if entry is None or (not isinstance(entry, str) and len(entry) == 0):
        return '-'
    if not isinstance(entry, str):
        return '+'.join(entry)
    if any(mark in entry for mark in ',+') or entry in ('', '-'):
        raise errors.InvalidArgument(
            f'the spec\'s entry "{entry}" is no axis: several axes are a '
            'tuple of them, and a dimension that is not cut is None')
    return entry


def spec_text(spec: Spec) -> str:
    """A spec as C takes it."""
    if isinstance(spec, str):
        return spec
    return ','.join(_entry(entry) for entry in spec)


def spec_tuple(text: str) -> PartitionSpec:
    """A spec as JAX writes it."""
    entries = text.split(',') if text else []
    return PartitionSpec(*[
        None if entry == '-' else
        tuple(entry.split('+')) if '+' in entry else entry
        for entry in entries])


class NamedSharding:
    """Says which device of a mesh has which block of an array.

    Dimensions that the spec does not name are not cut, and axes that it does
    not name have replicas. Blocks are of ceil(n / ways) elements, the last
    ones shorter or empty; with even=True an array whose dimension does not
    divide is refused, as JAX does. Not collective. Raises InvalidArgument.
    Source: jax.sharding.NamedSharding; jd_sharding_create.
    """

    def __init__(self, mesh: Mesh, spec: Spec = (), *, even: bool = False):
        handle = ctypes.c_void_p()
        call('jd_sharding_create_even' if even else 'jd_sharding_create',
             ctypes.byref(handle), mesh.handle,
             encode(spec_text(spec), 'the spec'))
        self._handle = handle.value
        self._mesh = mesh
        weakref.finalize(self, lib.jd_sharding_release, self._handle)

    @property
    def handle(self) -> int:
        """C's jd_sharding pointer."""
        return self._handle

    @property
    def mesh(self) -> Mesh:
        """The mesh that it was made on, which may be destroyed."""
        return self._mesh

    def make_mesh(self) -> Mesh:
        """Another mesh like the one that it was made on, which may be gone.
        As jd.make_mesh() otherwise. Source: jd_sharding_mesh."""
        handle = ctypes.c_void_p()
        call('jd_sharding_mesh', ctypes.byref(handle), self._handle)
        return Mesh(handle.value)

    @property
    def spec(self) -> PartitionSpec:
        """In its shortest form: ("data",) for ("data", None)."""
        return spec_tuple(lib.jd_sharding_spec(self._handle).decode())

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device has all of an array."""
        return bool(lib.jd_sharding_is_fully_replicated(self._handle))

    @property
    def is_fully_addressable(self) -> bool:
        """Whether every device is of this process."""
        return bool(lib.jd_sharding_is_fully_addressable(self._handle))

    def is_equivalent_to(self, other: 'NamedSharding', ndim: int) -> bool:
        """Whether both put the same block of every array of ndim dimensions
        on the same device."""
        return bool(lib.jd_sharding_is_equivalent(self._handle, other.handle,
                                                  ndim))

    def index(self, device: Device,
              shape: Sequence[int]) -> tuple[slice, ...]:
        """Which elements of an array of that shape the device has."""
        return self._place(device, shape)[0]

    def replica_id(self, device: Device, shape: Sequence[int]) -> int:
        """Its number among the devices that have the same ones."""
        return self._place(device, shape)[1]

    def _place(self, device: Device, shape: Sequence[int]) -> tuple:
        ranges = (jd_range * max(1, len(shape)))()
        replica = ctypes.c_int()
        call('jd_sharding_index', self._handle, len(shape), long_array(shape),
             device._pointer, ranges, ctypes.byref(replica))
        return slices(ranges, len(shape)), replica.value

    def devices_indices_map(self, shape: Sequence[int]
                            ) -> dict[Device, tuple[slice, ...]]:
        """index() of each device, in the mesh's order."""
        return {device: self.index(device, shape)
                for device in self._mesh.devices}

    def shard_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the longest block."""
        longest = long_array(shape)
        call('jd_sharding_shard_shape', self._handle, len(shape),
             long_array(shape), longest)
        return tuple(longest)

    def visualize(self, shape: Sequence[int]) -> str:
        """A picture of which device has which block."""
        return written_by('jd_visualize_sharding', self._handle, len(shape),
                          long_array(shape))

    def visualize_svg(self, shape: Sequence[int]) -> str:
        """The same as a picture in SVG."""
        return written_by('jd_visualize_sharding_svg', self._handle,
                          len(shape), long_array(shape))

    def __eq__(self, other: Any) -> bool:
        return (isinstance(other, NamedSharding) and
                self._mesh is other._mesh and self.spec == other.spec)

    def __hash__(self) -> int:
        return hash((id(self._mesh), self.spec))

    def __repr__(self) -> str:
        return f'NamedSharding({self._mesh!r}, {self.spec!r})'


def slices(ranges: Any, ndim: int) -> tuple[slice, ...]:
    """jd_range as Python cuts with."""
    return tuple(slice(ranges[i].begin, ranges[i].end) for i in range(ndim))


def visualize_sharding(shape: Sequence[int], sharding: NamedSharding) -> None:
    """Prints sharding.visualize(shape). Source: jax.debug."""
    print(sharding.visualize(shape), end='')
