# SPDX-License-Identifier: BSD-3-Clause
"""Arrays saved in a directory, and restored on other devices.

    jd.checkpoint.save("run/checkpoint", {"weights": weights, "step": step})
    found = jd.checkpoint.restore("run/checkpoint", {"weights": rows})
"""
from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any, Mapping, Union

from ._ffi import call, encode, jd_leaf, lib, string_array
from .arrays import Array
from .dtypes import numpy_dtype
from .shardings import NamedSharding

Path = Union[str, 'os.PathLike[str]']


def _directory(path: Path) -> bytes:
    return encode(os.fspath(path), 'the directory')


def save(directory: Path, arrays: Mapping[str, Array]) -> None:
    """Saves the arrays under their names; what is there is replaced at once,
    when all of the new one is on the disk.

    Collective: every process of the job, with the same names in the same
    order. What one cannot do fails on all alike. Source: jd_array_save.
    """
    handles = (ctypes.c_void_p * max(1, len(arrays)))(
        *[array.handle for array in arrays.values()])
    call('jd_array_save', _directory(directory),
         string_array(arrays, 'a name'), handles, len(arrays))


def restore(directory: Path,
            shardings: Mapping[str, NamedSharding]) -> dict[str, Array]:
    """The arrays of these names, as the shardings say.

    Collective, as save(). Raises NotFound where there is no checkpoint, and
    only then. Source: jd_array_restore.
    """
    count = max(1, len(shardings))
    handles = (ctypes.c_void_p * count)(
        *[sharding.handle for sharding in shardings.values()])
    made = (ctypes.c_void_p * count)()
    call('jd_array_restore', _directory(directory),
         string_array(shardings, 'a name'), handles, len(shardings), made)
    return {name: Array(made[i], sharding)
            for i, (name, sharding) in enumerate(shardings.items())}


@dataclass(frozen=True)
class Description:
    """What an array in a checkpoint is."""

    dtype: Any
    shape: tuple[int, ...]


class Checkpoint:
    """What is in a checkpoint, without the values.

        with jd.checkpoint.Checkpoint("run/checkpoint") as found:
            print(found.names, found.describe("weights"))
            found.verify()

    Not collective, and needs no initialize(). Source: jd_checkpoint_open.
    """

    def __init__(self, directory: Path):
        handle = ctypes.c_void_p()
        call('jd_checkpoint_open', ctypes.byref(handle),
             _directory(directory))
        self._handle: int | None = handle.value

    @property
    def names(self) -> list[str]:
        """In the order in which they were saved."""
        return [lib.jd_checkpoint_name(self._handle, i).decode()
                for i in range(lib.jd_checkpoint_count(self._handle))]

    def describe(self, name: str) -> Description:
        """An array's type and shape; NotFound names those that are there."""
        leaf = jd_leaf()
        call('jd_checkpoint_leaf', self._handle, encode(name, 'name'),
             ctypes.byref(leaf))
        return Description(numpy_dtype(leaf.dtype),
                           tuple(leaf.shape[:leaf.ndim]))

    def verify(self, name: str | None = None) -> None:
        """Reads an array's blocks, or all, and compares their checksums;
        DataLoss names file, block and offset."""
        call('jd_checkpoint_verify', self._handle,
             None if name is None else encode(name, 'name'))

    def close(self) -> None:
        handle, self._handle = self._handle, None
        lib.jd_checkpoint_close(handle)

    def __enter__(self) -> 'Checkpoint':
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, '_handle', None):
            self.close()
