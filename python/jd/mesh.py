# SPDX-License-Identifier: BSD-3-Clause
"""Devices along named axes, and a local device's place among them."""
from __future__ import annotations

import ctypes
import threading
from typing import Any, Callable, Sequence, Union

from . import devices as _devices
from . import errors
from ._ffi import (OK, call, encode, int_array, lib, raise_last, shard_body,
                   string_array)
from ._streams import written_by

Axes = Union[str, Sequence[str], None]

_thread = threading.local()  # .shards: those that this thread works on


def encode_axes(axes: Axes) -> bytes | None:
    """Axes for C: a name, several joined by commas, or NULL for all."""
    if axes is None:
        return None
    if not isinstance(axes, (str, bytes)):
        axes = ','.join(axes)
    return encode(axes, 'axes')


class Mesh:
    """Devices at the places of a grid whose axes have names.

        mesh = jd.make_mesh((2, -1), ("data", "model"))

    Making one is local, but all processes of the mesh make the same ones in
    the same order, and destroy() is collective among them. One that is not
    destroyed lasts until the process ends: when Python collects it differs
    from process to process, so that is no moment to destroy it.

    As a context manager it is destroyed at the end of the block (not where
    that raises: a failed process meets nobody). Source: jax.sharding.Mesh.
    """

    def __init__(self, handle: int):
        self._handle: int | None = handle

    @property
    def handle(self) -> int:
        """C's jd_mesh pointer."""
        if self._handle is None:
            raise errors.FailedPrecondition('the mesh was destroyed')
        return self._handle

    def set_nccl(self, **options: int) -> None:
        """Sets options of NCCL for the mesh's collectives, by the names that
        ncclConfig_t has for them.

            mesh.set_nccl(maxCTAs=8, CTAPolicy=1)

        All processes of the mesh set the same, before its first collective;
        those before one that is refused stay set. Raises InvalidArgument and
        FailedPrecondition. Source: jd_mesh_set_nccl, which has the names.
        """
        for name, value in options.items():
            call('jd_mesh_set_nccl', self.handle, encode(name, 'name'), value)

    @property
    def axis_names(self) -> tuple[str, ...]:
        names = lib.jd_mesh_axis_names(self.handle)
        return tuple(names[i].decode() for i in range(self.ndim))

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        return tuple(lib.jd_mesh_axis_sizes(self.handle)[:self.ndim])

    @property
    def shape(self) -> dict[str, int]:
        """The size of each axis, by its name."""
        return dict(zip(self.axis_names, self.axis_sizes))

    @property
    def ndim(self) -> int:
        return lib.jd_mesh_ndim(self.handle)

    @property
    def devices(self) -> list[_devices.Device]:
        """Those at its places, row-major."""
        return _devices.list_devices('jd_mesh_devices', self.handle)

    @property
    def local_devices(self) -> list[_devices.Device]:
        """Those of them that are this process's."""
        return _devices.list_devices('jd_mesh_local_devices', self.handle)

    @property
    def shard(self) -> 'Shard':
        """The shard of a process with exactly one device in the mesh;
        InvalidArgument where it has none or several: see shard_map()."""
        handle = lib.jd_mesh_shard(self.handle)
        if not handle:
            raise_last()
        return Shard(self, handle)

    def visualize(self) -> str:
        """A picture for a person: host and process at each place."""
        return written_by('jd_mesh_visualize', self.handle)

    def visualize_svg(self) -> str:
        """The same as a picture in SVG, with a colour for each host."""
        return written_by('jd_mesh_visualize_svg', self.handle)

    def destroy(self) -> None:
        """Frees the mesh and its shards. Collective: all its processes, in
        the same order as the collectives on its devices."""
        handle, self._handle = self._handle, None
        lib.jd_mesh_destroy(handle)

    def __enter__(self) -> 'Mesh':
        push_shard(self)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        pop_shard()
        if kind is None:
            self.destroy()

    def __repr__(self) -> str:
        if self._handle is None:
            return 'Mesh(destroyed)'
        return 'Mesh(' + ', '.join(f'{name!r}: {size}' for name, size
                                   in self.shape.items()) + ')'


def make_mesh(axis_shapes: Sequence[int], axis_names: Sequence[str], *,
              devices: Sequence[_devices.Device] | None = None) -> Mesh:
    """A mesh of all devices of the default platform, or of the given ones.

    One size may be -1: what is left of all devices. No communication, but all
    processes of the mesh make the same meshes in the same order. Raises
    InvalidArgument. Source: jax.make_mesh; jd_mesh_create.
    """
    if isinstance(axis_names, str):
        raise errors.InvalidArgument(
            f'axis_names is "{axis_names}": it has to be a list of names, '
            f'("{axis_names}",)')
    if len(axis_shapes) != len(axis_names):
        raise errors.InvalidArgument(
            f'{len(axis_shapes)} sizes and {len(axis_names)} names of axes')
    chosen = None
    if devices is not None:
        chosen = (ctypes.c_void_p * len(devices))(
            *[device._pointer for device in devices])
        _check_count(axis_shapes, len(devices))
    handle = ctypes.c_void_p()
    call('jd_mesh_create', ctypes.byref(handle), len(axis_names),
         int_array(axis_shapes), string_array(axis_names, 'an axis'), chosen)
    return Mesh(handle.value)


def _check_count(shape: Sequence[int], count: int) -> None:
    """C takes as many devices as the sizes say: they have to be there."""
    product = 1
    for size in shape:
        product *= size
    if product != count:
        raise errors.InvalidArgument(
            f'the sizes {tuple(shape)} make {product} places, and there are '
            f'{count} devices for them')


def mesh_shape(n: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Cuts n into sizes as even as can be; those that are 0 are filled in.

    Needs no initialize(). Source: MPI_Dims_create; jd_mesh_shape.
    """
    sizes = int_array(shape)
    call('jd_mesh_shape', n, len(shape), sizes)
    return tuple(sizes)


# ---- shards ----------------------------------------------------------------


class Shard:
    """One local device's place in a mesh: what collectives are called on."""

    def __init__(self, mesh: Mesh, handle: int):
        self.mesh = mesh
        self._handle = handle

    @property
    def handle(self) -> int:
        """C's jd_shard pointer; the mesh's, and gone with it."""
        self.mesh.handle  # raises where the mesh was destroyed
        return self._handle

    @property
    def device(self) -> _devices.Device:
        found = lib.jd_shard_device(self.handle)
        if not found:
            raise_last()
        return _devices.make_device(found)

    @property
    def coordinates(self) -> tuple[int, ...]:
        """Its index along each axis of the mesh."""
        indices = int_array([0] * self.mesh.ndim)
        call('jd_shard_coordinates', self.handle, len(indices), indices)
        return tuple(indices)

    @property
    def stream(self) -> int | None:
        """The cudaStream_t that its collectives are queued on."""
        found = lib.jd_shard_stream(self.handle)
        if not found:
            raise_last(errors.Unimplemented.status)
        return found

    def use_stream(self, stream: int | None) -> None:
        """Has it take the caller's cudaStream_t; None: its own again."""
        call('jd_shard_use_stream', self.handle, stream)

    def groups(self, axis_name: Axes,
               axis_index_groups: Sequence[Sequence[int]]) -> 'Shard':
        """The shard whose collectives along the axes are among its group.

        No communication, but all members make the same groups.
        Source: axis_index_groups of jax.lax; jd_shard_groups.
        """
        derived = ctypes.c_void_p()
        call('jd_shard_groups', ctypes.byref(derived), self.handle,
             encode_axes(axis_name), len(axis_index_groups),
             int_array(len(group) for group in axis_index_groups),
             int_array(i for group in axis_index_groups for i in group))
        return Shard(self.mesh, derived.value)

    def synchronize(self) -> None:
        """Waits until what was queued on its stream is done; on cpu it is."""
        call('jd_shard_synchronize', self.handle)


def push_shard(shard: Any) -> None:
    _thread.__dict__.setdefault('shards', []).append(shard)


def pop_shard() -> None:
    _thread.shards.pop()


def current_shard() -> Shard:
    """What collectives are called on where no shard is given: the one of the
    body of shard_map() that runs on this thread, or that of ``with mesh``."""
    shards = getattr(_thread, 'shards', None)
    if not shards:
        raise errors.InvalidArgument(
            'no shard: give one (shard=mesh.shard), or call it inside '
            '"with mesh:" or in a body of jd.shard_map()')
    found = shards[-1]
    return found.shard if isinstance(found, Mesh) else found


class _Bodies:
    """What the bodies of one shard_map() return or raise."""

    def __init__(self, mesh: Mesh, body: Callable[[Shard], Any]):
        self.mesh, self.body = mesh, body
        self.results: dict[int, Any] = {}
        self.failures: list[BaseException] = []

    def run(self, handle: int, _: Any) -> int:
        """Called by C, on a thread for each device."""
        shard = Shard(self.mesh, handle)
        push_shard(shard)
        try:
            self.results[shard.device.id] = self.body(shard)
            return OK
        except BaseException as error:  # it goes on in the caller's thread
            self.failures.append(error)
            return fail_with(error)
        finally:
            pop_shard()


def fail_with(error: BaseException) -> int:
    """Makes an exception this thread's failure, for a C that waits for it."""
    text = str(error) if isinstance(error, errors.Error) else describe(error)
    return lib.jd_fail_with(errors.status_of(error), b'%s',
                            text.replace('\0', ' ').encode())


def describe(error: BaseException) -> str:
    """An exception on one line, "ValueError: no such thing"."""
    text = ' '.join(str(error).split())
    name = type(error).__name__
    return f'{name}: {text}' if text else name


def shard_map(mesh: Mesh, body: Callable[[Shard], Any]) -> list[Any]:
    """Runs body(shard) for each device that this process has in the mesh, a
    thread each, and returns what they return, in the order of the devices.

    Where a body raises, the others' collectives on the mesh are ended and the
    first exception is raised here as it is; the other processes hear of it as
    by report_error(), and end. Collective: the processes of the mesh, where
    the bodies are. Source: jax.shard_map; jd_shard_map.
    """
    bodies, failure = _Bodies(mesh, body), None
    try:
        call('jd_shard_map', mesh.handle, shard_body(bodies.run), None)
    except errors.Error as error:
        failure = error
    if bodies.failures:
        _add_note(bodies.failures[0], failure)
        raise bodies.failures[0]
    if failure:
        raise failure
    return [bodies.results[device.id] for device in mesh.local_devices]


def _add_note(error: BaseException, failure: errors.Error | None) -> None:
    """jd's sentence, which names the device, below the traceback; Python 3.11
    and newer have a place for it."""
    if failure and hasattr(error, 'add_note'):
        error.add_note(str(failure))
