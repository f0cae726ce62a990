# SPDX-License-Identifier: BSD-3-Clause
"""Where libjd is: found, loaded, and its version compared."""
from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import sysconfig
from typing import Iterator

SONAME = 'libjd.so.0'
VERSION = '0.1.0'  # this package's; libjd's has to begin with the same two


class LibraryNotFound(ImportError):
    """libjd is in none of the places that were looked at."""


def _folders_of_prefix() -> Iterator[str]:
    """Where a prefix that has this package or this Python keeps libraries."""
    here = os.path.dirname(os.path.abspath(__file__))
    # prefix/lib/python3.11/site-packages/jd
    above = os.path.abspath(os.path.join(here, *[os.pardir] * 4))
    multiarch = sysconfig.get_config_var('MULTIARCH') or ''
    seen = set()
    for prefix in (above, sys.prefix):
        for lib in ('lib', os.path.join('lib', multiarch), 'lib64'):
            folder = os.path.normpath(os.path.join(prefix, lib))
            if folder not in seen:
                seen.add(folder)
                yield folder


def _folder_of_pkg_config() -> str:
    """What pkg-config says; why it says nothing is an OSError."""
    command = ['pkg-config', '--variable=libdir', 'jd']
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=20,
                              universal_newlines=True, check=False)
    except subprocess.TimeoutExpired:
        raise OSError('it did not answer in 20 s') from None
    if done.returncode != 0 or not done.stdout.strip():
        raise OSError('it knows no jd')
    return done.stdout.strip()


def _load(path: str) -> ctypes.CDLL:
    """Its symbols are for all: Open MPI's plugins look for those of MPI."""
    if os.path.isabs(path) and not os.path.exists(path):
        raise OSError('there is no such file')
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


def _load_named(named: str) -> ctypes.CDLL:
    """What JD_LIBRARY names, and nothing else."""
    path = os.path.abspath(named)
    if os.path.isdir(path):
        path = os.path.join(path, SONAME)
    try:
        return _load(path)
    except OSError as error:
        raise LibraryNotFound(
            f'JD_LIBRARY is "{named}", and {path} cannot be loaded: {error}; '
            'set it to the path of libjd.so, or to the folder that has it, or '
            'unset it') from None


def _load_from(place: str, path: str, tried: list) -> ctypes.CDLL | None:
    try:
        return _load(path)
    except OSError as error:
        tried.append(f'{place} ({error})')
        return None


def _load_found() -> ctypes.CDLL:
    """The first of the places that has it."""
    tried: list = []
    for folder in _folders_of_prefix():
        path = os.path.join(folder, SONAME)
        found = _load_from(path, path, tried)
        if found:
            return found
    try:
        path = os.path.join(_folder_of_pkg_config(), SONAME)
        found = _load_from(f'{path} of pkg-config', path, tried)
    except OSError as error:
        tried.append(f'pkg-config --variable=libdir jd ({error})')
        found = None
    found = found or _load_from(
        f'{SONAME} of the loader: LD_LIBRARY_PATH and ldconfig', SONAME, tried)
    if found:
        return found
    raise LibraryNotFound(
        'libjd was not found. JD_LIBRARY is not set, and these have it not: '
        + '; '.join(tried) + '. Install jd (doc/building.md), or set '
        'JD_LIBRARY to the path of libjd.so')


def load_library() -> ctypes.CDLL:
    """libjd, of this package's version."""
    named = os.environ.get('JD_LIBRARY')
    library = _load_named(named) if named else _load_found()
    library.jd_version.restype = ctypes.c_char_p
    version = library.jd_version().decode()
    if version.split('.')[:2] != VERSION.split('.')[:2]:
        raise LibraryNotFound(
            f'{library._name} is jd {version}, and this Python package is of '
            f'jd {VERSION}: install the one that comes with the other')
    return library
