# SPDX-License-Identifier: BSD-3-Clause
"""What processes tell each other beside their data: a key-value store,
barriers, who is alive, what went wrong, and preemption.

Any process may call these at any time after initialize(). A timeout is in
seconds: 0 is JD_BARRIER_TIMEOUT (600 s), a negative one is no deadline.
"""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

from . import _ffi
from ._endings import end_job
from ._ffi import POINTER, call, encode, int_array, jd_kv_entry, string_array
from ._streams import free

Value = Union[str, bytes]


def _bytes(value: Value) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


# ---- the key-value store ---------------------------------------------------


def kv_set(key: str, value: Value, *, allow_overwrite: bool = False) -> None:
    """Sets the key's value; AlreadyExists where it is there.
    Source: DistributedRuntimeClient.key_value_set."""
    data = _bytes(value)
    call('jd_kv_set', encode(key, 'key'), data, len(data), allow_overwrite)


def _got(name: str, *args: Any) -> bytes:
    value, size = ctypes.c_void_p(), ctypes.c_size_t()
    call(name, *args, ctypes.byref(value), ctypes.byref(size))
    try:
        return ctypes.string_at(value, size.value)
    finally:
        free(value)


def kv_get(key: str, timeout: float = 0) -> bytes:
    """Waits until the key is there and gives its value; DeadlineExceeded
    names the key. Source: blocking_key_value_get."""
    return _got('jd_kv_get', encode(key, 'key'), timeout)


def kv_try_get(key: str) -> bytes:
    """Without waiting; NotFound. Source: key_value_try_get."""
    return _got('jd_kv_try_get', encode(key, 'key'))


def _entries(found: Any, count: int) -> list[tuple[str, bytes]]:
    try:
        return [(found[i].key.decode(),
                 ctypes.string_at(found[i].value, found[i].size))
                for i in range(count)]
    finally:
        free(found)


def kv_dir_get(directory: str) -> dict[str, bytes]:
    """All under "directory/", in the order of the keys; "" has all.
    Source: key_value_dir_get."""
    found, count = POINTER(jd_kv_entry)(), ctypes.c_size_t()
    call('jd_kv_dir_get', encode(directory, 'directory'),
         ctypes.byref(found), ctypes.byref(count))
    return dict(_entries(found, count.value))


def kv_delete(key: str) -> int:
    """Deletes the key and all under it; how many there were.
    Source: key_value_delete."""
    count = ctypes.c_size_t()
    call('jd_kv_delete', encode(key, 'key'), ctypes.byref(count))
    return count.value


def kv_increment(key: str, by: int = 1) -> int:
    """Adds to the key's decimal number and gives the sum; a key that is not
    there counts as 0. Source: key_value_increment."""
    total = ctypes.c_int64()
    call('jd_kv_increment', encode(key, 'key'), by, ctypes.byref(total))
    return total.value


def kv_set_many(entries: Mapping[str, Value], *,
                allow_overwrite: bool = False) -> None:
    """kv_set() for many in one round trip: all or none."""
    data = [_bytes(value) for value in entries.values()]
    listed = (jd_kv_entry * max(1, len(data)))(*[
        jd_kv_entry(encode(key, 'key'),
                    ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p),
                    len(value))
        for key, value in zip(entries, data)])
    call('jd_kv_set_many', listed, len(data), allow_overwrite)


def kv_get_many(keys: Iterable[str], timeout: float = 0) -> dict[str, bytes]:
    """Waits until all the keys are there and gives their values, in one
    round trip; DeadlineExceeded names those that are missing."""
    keys = list(keys)
    found = POINTER(jd_kv_entry)()
    call('jd_kv_get_many', string_array(keys, 'key'), len(keys), timeout,
         ctypes.byref(found))
    return dict(_entries(found, len(keys)))


# ---- barriers --------------------------------------------------------------


def wait_at_barrier(barrier_id: str, timeout: float = 0,
                    process_ids: Sequence[int] | None = None) -> None:
    """Waits until all processes, or those of the list, have come.

    Raises DeadlineExceeded naming every one that is missing, Aborted where
    one has died, Cancelled by cancel_barrier().
    Source: DistributedRuntimeClient.wait_at_barrier.
    """
    listed = None if process_ids is None else int_array(process_ids)
    call('jd_wait_at_barrier', encode(barrier_id, 'barrier_id'), timeout,
         listed, 0 if listed is None else len(listed))


def cancel_barrier(barrier_id: str) -> None:
    """Ends the wait of all who wait there, with Cancelled."""
    call('jd_cancel_barrier', encode(barrier_id, 'barrier_id'))


def live_processes(timeout: float = 0) -> list[int]:
    """Waits until every living process has called this, and gives all of
    them the same sorted list. Source: get_live_nodes."""
    found, count = POINTER(ctypes.c_int)(), ctypes.c_size_t()
    call('jd_live_processes', timeout, ctypes.byref(found),
         ctypes.byref(count))
    try:
        return found[:count.value]
    finally:
        free(found)


# ---- failure ---------------------------------------------------------------


@dataclass(frozen=True)
class PeerFailure:
    """Which processes failed, the sentence, and how many seconds ago."""

    processes: tuple[int, ...]
    text: str
    age: float


def report_error(status: int, text: str) -> None:
    """Tells all other processes that something went wrong here, which ends
    them; this one goes on. status is that of a class: jd.Internal.status.
    Source: ReportErrorToService."""
    call('jd_report_error', status, encode(text, 'text'))


# What C may call has to stay, those of before too: one may be running.
_callbacks: dict[str, list] = {}


def _register(name: str, kind: Any, function: Callable | None) -> None:
    callback = kind() if function is None else kind(function)
    call(name, callback, None)
    _callbacks.setdefault(name, []).append(callback)


def on_peer_failure(callback: Callable[[PeerFailure], Any] | None) -> None:
    """Has callback(failure) run when another process has failed, on a thread
    of its own; the process ends with exit code 117 when it returns. What it
    raises is printed, and ends the process too. None: no callback any more.
    Source: jd_on_peer_failure.
    """
    def run(found: Any, _: Any) -> None:
        failure = found.contents
        try:
            callback(PeerFailure(
                tuple(failure.processes[:failure.num_processes]),
                failure.text.decode(errors='replace'), failure.age))
        except BaseException as error:
            end_job(error)

    _register('jd_on_peer_failure', _ffi.on_peer_failure,
              None if callback is None else run)


# ---- preemption ------------------------------------------------------------


def on_preemption(callback: Callable[[], Any] | None) -> None:
    """Has callback() run when any process of the job has received
    JD_PREEMPTION_SIGNAL (SIGTERM), on a thread of its own, once until
    acknowledge_preemption(). What it raises ends the job, as where nobody
    catches it. None: no callback any more. Source: jd_on_preemption.
    """
    def run(_: Any) -> None:
        try:
            callback()
        except BaseException as error:
            end_job(error)

    _register('jd_on_preemption', _ffi.on_preemption,
              None if callback is None else run)


def acknowledge_preemption() -> None:
    """The program has dealt with the preemption: polls are False again."""
    call('jd_acknowledge_preemption')


def forget_callbacks() -> None:
    """Before Python ends: nothing of it may be called afterwards."""
    for name in list(_callbacks):
        kind = getattr(_ffi, name[len('jd_'):])
        getattr(_ffi.lib, name)(kind(), None)
