# SPDX-License-Identifier: BSD-3-Clause
"""What C writes to a FILE, as a str."""
from __future__ import annotations

import ctypes
from typing import Any

from ._ffi import call

_c = ctypes.CDLL(None, use_errno=True)
_c.open_memstream.restype = ctypes.c_void_p
_c.open_memstream.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
_c.fclose.argtypes = (ctypes.c_void_p,)
_c.free.argtypes = (ctypes.c_void_p,)
_c.free.restype = None


def free(memory: Any) -> None:
    """Gives back what a call of jd has malloc'ed."""
    _c.free(ctypes.cast(memory, ctypes.c_void_p))


def written_by(name: str, *args: Any) -> str:
    """What the call writes to the FILE that is its last argument."""
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    stream = _c.open_memstream(ctypes.byref(text), ctypes.byref(size))
    if not stream:
        raise MemoryError(f'{name}: no memory for what it writes')
    try:
        try:
            call(name, *args, stream)
        finally:
            _c.fclose(stream)
        return ctypes.string_at(text, size.value).decode(errors='replace')
    finally:
        free(text)
