# SPDX-License-Identifier: BSD-3-Clause
"""Where jd and mpi4py meet. mpi4py is imported when one of these is called."""
from __future__ import annotations

import ctypes
import inspect
from typing import TYPE_CHECKING, Any

from . import _endings, _sites, errors
from ._ffi import call, jd_options, lib, raise_last
from .dtypes import need
from .process import Job, initialize, make_options

if TYPE_CHECKING:
    from mpi4py import MPI


def _library_version(function: Any) -> str:
    text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
    function(text, ctypes.byref(length))
    return text.value.decode(errors='replace').strip('\0').strip()


def _mpi4py() -> Any:
    """mpi4py's MPI, after a look whether it is the one that jd works on."""
    module = need('mpi4py.MPI', "a communicator of mpi4py's")
    ours = _library_version(lib.handle().MPI_Get_library_version)
    theirs = module.Get_library_version().strip('\0').strip()
    if ours != theirs:
        raise errors.FailedPrecondition(
            f'mpi4py works on "{theirs}", and libjd on "{ours}": a '
            "communicator of one is nothing to the other. Build mpi4py with "
            "jd's MPI (pip install --no-binary mpi4py mpi4py), or jd with "
            "mpi4py's")
    return module


def _handle_type(module: Any) -> Any:
    """An MPI_Comm is a pointer in Open MPI, and an int in MPICH."""
    size = module._sizeof(module.Comm)
    return ctypes.c_void_p if size == 8 else ctypes.c_int


def from_mpi4py(comm: 'MPI.Comm', **options: Any) -> Job:
    """initialize() on the program's own communicator, with its options: its
    processes are the job, in its order. MPI stays mpi4py's to finalise.

    Collective: every process of comm. Raises FailedPrecondition where mpi4py
    and libjd work on unlike MPI libraries. Source: jd_initialize_on.
    """
    module = _mpi4py()
    kind = _handle_type(module)
    unknown = set(options) - set(inspect.signature(initialize).parameters)
    if unknown:
        raise TypeError(f'jd.from_mpi4py: initialize() has no {unknown}')
    made = make_options(options)
    _endings.begin()
    _sites.configure()
    lib.jd_initialize_on.argtypes = (kind, ctypes.POINTER(jd_options),
                                     ctypes.c_size_t)
    call('jd_initialize_on', kind.from_address(module._addressof(comm)),
         ctypes.byref(made), ctypes.sizeof(made))
    return Job()


def mpi_comm() -> 'MPI.Intracomm':
    """A communicator of all processes, its ranks the process indices, for
    what stays MPI's. jd's own: not to be freed, valid until shutdown().
    Source: jd_mpi_comm.
    """
    module = _mpi4py()
    kind = _handle_type(module)
    lib.jd_mpi_comm.restype = kind
    handle = lib.jd_mpi_comm()
    comm = module.Intracomm()
    kind.from_address(module._addressof(comm)).value = handle
    if comm == module.COMM_NULL:
        raise_last(errors.FailedPrecondition.status)
    return comm
