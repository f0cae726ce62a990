# SPDX-License-Identifier: BSD-3-Clause
"""A process's place in the job: initialise, index, count, end.

    jd.initialize()
    print(jd.process_index(), "of", jd.process_count())
    jd.shutdown()

    with jd.initialize():
        ...
"""
from __future__ import annotations

import ctypes
import sys
from typing import Any, Sequence

from . import _endings, errors
from ._ffi import call, encode, int_array, jd_options, lib, raise_last


class Job:
    """What initialize() returns: shuts down at the end of a with block.

    Where the block raises it does not, as that would wait for the others: the
    exception goes on, and ends the job where nobody catches it.
    """

    def __enter__(self) -> 'Job':
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            shutdown()


def make_options(coordinator_address: str | None = None,
                 num_processes: int | None = None,
                 process_id: int | None = None,
                 local_device_ids: int | Sequence[int] | None = None,
                 cluster_detection_method: str | None = None,
                 initialization_timeout: float = 0,
                 coordinator_bind_address: str | None = None,
                 num_slices: int | None = None,
                 slice_index: int | None = None, *,
                 heartbeat_timeout: float = 0, shutdown_timeout: float = 0,
                 collective_timeout: float = 0) -> jd_options:
    """jd_options of what initialize() is given."""
    for index, count in (('process_id', 'num_processes'),
                         ('slice_index', 'num_slices')):
        if locals()[index] is not None and locals()[count] is None:
            raise errors.InvalidArgument(
                f'jd.initialize: {index} is given and {count} is not: give '
                'both or neither')
    options = jd_options(initialization_timeout=initialization_timeout,
                         heartbeat_timeout=heartbeat_timeout,
                         shutdown_timeout=shutdown_timeout,
                         collective_timeout=collective_timeout)
    for name in ('coordinator_address', 'coordinator_bind_address',
                 'cluster_detection_method'):
        if locals()[name] is not None:
            setattr(options, name, encode(locals()[name], name))
    for count, index in (('num_processes', 'process_id'),
                         ('num_slices', 'slice_index')):
        if locals()[count] is not None:
            place = locals()[index]
            setattr(options, count, locals()[count])
            setattr(options, index, -1 if place is None else place)
    if local_device_ids is not None:
        ids = ([local_device_ids] if isinstance(local_device_ids, int)
               else list(local_device_ids))
        options.local_device_ids = int_array(ids)
        options.num_local_device_ids = len(ids)
    return options


def initialize(*args: Any, **options: Any) -> Job:
    """Joins this process to the job; without arguments all is found out.

    What may be said: coordinator_address, num_processes, process_id,
    local_device_ids, cluster_detection_method, initialization_timeout,
    coordinator_bind_address, num_slices, slice_index, heartbeat_timeout,
    shutdown_timeout, collective_timeout; durations in seconds, 0 being the
    default.

    Collective: every process, once, before other threads start; again after
    shutdown(). Blocks until all have come, initialization_timeout at most.
    From then on an exception that nobody catches ends the whole job.
    Source: jax.distributed.initialize; jd_initialize_with.
    """
    made = make_options(*args, **options)
    _endings.begin()
    call('jd_initialize_with', ctypes.byref(made), ctypes.sizeof(made))
    return Job()


def shutdown() -> None:
    """Leaves the job, after all have come here: shutdown_timeout at most.

    A process that ends well without it is treated as if it had called it.
    Raises Aborted where a process has failed, DeadlineExceeded naming those
    that did not come. Source: jax.distributed.shutdown.
    """
    sys.stdout.flush()
    call('jd_shutdown')
    _endings.finish()


def is_initialized() -> bool:
    """Source: jax.distributed.is_initialized."""
    return bool(lib.jd_is_initialized())


def _known(value: int) -> int:
    if value < 0:
        raise_last(errors.FailedPrecondition.status)
    return value


def process_index() -> int:
    """This process's index; FailedPrecondition where initialize() was needed
    and not called. Source: jax.process_index."""
    return _known(lib.jd_process_index())


def process_count() -> int:
    """How many processes there are. Source: jax.process_count."""
    return _known(lib.jd_process_count())


def abort(code: int, why: str) -> None:
    """Ends the whole job at once with the exit code; does not return.
    Source: MPI_Abort; jd_abort."""
    _endings._flush()
    lib.jd_abort(code, encode(why, 'why'))


def version() -> str:
    """The version of the library that runs. Source: jd_version."""
    return lib.jd_version().decode()


def wtime() -> float:
    """Seconds since some moment of this process's own. Source: MPI_Wtime."""
    return lib.jd_wtime()
