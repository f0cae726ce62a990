# SPDX-License-Identifier: BSD-3-Clause
"""The program's own named ranges in jd's recorder.

    with jd.trace("forward"):
        ...
"""
from __future__ import annotations

import contextlib
from typing import Iterator

from ._ffi import call, encode


@contextlib.contextmanager
def trace(name: str) -> Iterator[None]:
    """A range of that name, which jd-trace shows; as a decorator too.

    Up to 32 within one another. Not collective; each thread has its own.
    Source: jax.profiler.TraceAnnotation; jd_trace_begin, jd_trace_end.
    """
    call('jd_trace_begin', encode(name, 'name'))
    try:
        yield
    finally:
        call('jd_trace_end')
