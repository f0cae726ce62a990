# SPDX-License-Identifier: BSD-3-Clause
"""Where the program calls jd: "train.py:12 (step)", under a number of libjd's.

It is the innermost frame that is neither of this package nor of contextlib,
whose "with" stands between the two.
"""
from __future__ import annotations

import contextlib
import os
import sys
from types import CodeType, FrameType
from typing import Callable

KEPT = 4096  # places in code; then all are looked up anew

# Files whose frames are not the program's; the package's join them when they
# are first seen.
_passed = {contextlib.contextmanager.__code__.co_filename}

# The number of a place by its code and the instruction there. The code is
# kept, or another might get its id.
_known: dict[tuple[int, int], tuple[int | None, CodeType]] = {}

_is_on = True


def configure() -> None:
    """Before the world begins: with JD_RECORDER=0 no place is looked for, but
    with JD_CHECK_SITES."""
    global _is_on
    _is_on = (not _says('JD_RECORDER', ('0', 'false', 'no', 'off')) or
              _says('JD_CHECK_SITES', ('1', 'true', 'yes', 'on')))


def _says(variable: str, words: tuple[str, ...]) -> bool:
    return os.environ.get(variable, '').lower() in words


def here(name: Callable[[bytes], int | None]) -> int | None:
    """The number of the line that the program is in; None: it is in none. name
    makes one of a text. For the caller of who asks."""
    if not _is_on:
        return None
    frame = sys._getframe(2)
    while frame and frame.f_code.co_filename in _passed:
        frame = frame.f_back
    if frame is None:
        return None
    found = _known.get((id(frame.f_code), frame.f_lasti))
    return found[0] if found else _add(frame, name)


def _add(frame: FrameType | None, name: Callable) -> int | None:
    while frame and _is_passed(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None
    code = frame.f_code
    number = name(describe(code, frame.f_lineno).encode(errors='replace'))
    if len(_known) >= KEPT:
        _known.clear()
    _known[id(code), frame.f_lasti] = number, code
    return number


# As the code has it: nothing asks for the working folder, which may be gone.
_package = os.path.dirname(here.__code__.co_filename)


def _is_passed(file: str) -> bool:
    if os.path.dirname(file) == _package:
        _passed.add(file)
    return file in _passed


def describe(code: CodeType, line: int | None) -> str:
    """As traces and sentences have it; what a folder is called for, with it:
    "model/__init__.py"."""
    folder, file = os.path.split(code.co_filename)
    if file.startswith('__'):
        file = os.path.join(os.path.basename(folder), file)
    where = f'{file}:{line}' if line else file
    function = code.co_name
    return where if function == '<module>' else f'{where} ({function})'
