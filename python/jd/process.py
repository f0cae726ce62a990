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
from typing import Any, Sequence

from . import _endings, _sites, errors
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


_TEXTS = ('coordinator_address', 'coordinator_bind_address',
          'cluster_detection_method')
_PAIRS = (('num_processes', 'process_id'), ('num_slices', 'slice_index'))
_TIMEOUTS = ('initialization_timeout', 'heartbeat_timeout',
             'shutdown_timeout', 'collective_timeout')


def make_options(given: dict[str, Any]) -> jd_options:
    """jd_options of what initialize() is given; None is not given."""
    given = {name: value for name, value in given.items()
             if value is not None}
    options = jd_options()
    for count, index in _PAIRS:
        if index in given and count not in given:
            raise errors.InvalidArgument(
                f'jd.initialize: {index} is given and {count} is not: give '
                'both or neither')
        if count in given:
            setattr(options, count, given[count])
            setattr(options, index, given.get(index, -1))
    for name in _TEXTS:
        if name in given:
            setattr(options, name, encode(given[name], name))
    for name in _TIMEOUTS:
        setattr(options, name, given.get(name, 0))
    if 'local_device_ids' in given:
        ids = given['local_device_ids']
        ids = [ids] if isinstance(ids, int) else list(ids)
        options.local_device_ids = int_array(ids)
        options.num_local_device_ids = len(ids)
    return options


def initialize(coordinator_address: str | None = None,
               num_processes: int | None = None,
               process_id: int | None = None,
               local_device_ids: int | Sequence[int] | None = None,
               cluster_detection_method: str | None = None,
               initialization_timeout: float = 0,
               coordinator_bind_address: str | None = None, *,
               num_slices: int | None = None, slice_index: int | None = None,
               heartbeat_timeout: float = 0, shutdown_timeout: float = 0,
               collective_timeout: float = 0) -> Job:
    """Joins this process to the job; without arguments all is found out.

    What is given counts before variables and what is detected
    (doc/options.md); durations are seconds, and 0 is the default.

    Collective: every process, once, before other threads start; again after
    shutdown(). Blocks until all have come, initialization_timeout at most.
    From then on an exception that nobody catches ends the whole job.
    Source: jax.distributed.initialize; jd_initialize_with.
    """
    made = make_options(locals())
    _endings.begin()
    _sites.configure()
    call('jd_initialize_with', ctypes.byref(made), ctypes.sizeof(made))
    return Job()


def shutdown() -> None:
    """Leaves the job, after all have come here: shutdown_timeout at most.

    A process that ends well without it is treated as if it had called it.
    Raises Aborted where a process has failed, DeadlineExceeded naming those
    that did not come. Source: jax.distributed.shutdown.
    """
    _endings.flush()
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
    _endings.flush()
    lib.jd_abort(code, encode(why, 'why'))


def version() -> str:
    """The version of the library that runs. Source: jd_version."""
    return lib.jd_version().decode()


def wtime() -> float:
    """Seconds since some moment of this process's own. Source: MPI_Wtime."""
    return lib.jd_wtime()
