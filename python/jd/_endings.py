# SPDX-License-Identifier: BSD-3-Clause
"""How a process of Python ends without leaving the others to wait.

An exception that nobody catches ends the job as JD_CHECK() does in C: the
traceback first, as always, and then jd's one line, which all others get too.
SIGINT in a wait of jd's raises KeyboardInterrupt within seconds.
"""
from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import traceback
from types import TracebackType
from typing import Any, Callable

from . import _ffi, errors
from .mesh import describe

GRACE = 1.0  # seconds that a call may take to return by itself after SIGINT
LAST_GRACE = 2.0  # and after the job has been told
INTERRUPTED = 130  # exit code, as a shell's

_package = os.path.dirname(os.path.abspath(__file__))


def _place_of(error: BaseException) -> tuple[str, int]:
    """The program's own line, not one of this package, that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if os.path.dirname(os.path.abspath(frame.filename)) != _package:
            return frame.filename, frame.lineno or 0
    return 'python', 0


def flush() -> None:
    """jd ends a process without Python's own end: what was printed stays."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass  # there is none, or nobody reads it any more


def _sentence(error: BaseException) -> str:
    if isinstance(error, errors.Error):
        return str(error)
    return describe(error)


def end_job(error: BaseException) -> None:
    """Ends the whole job by an exception, with exit code 1; by a peer's
    failure, where there is one, with 117. It does not return."""
    traceback.print_exception(type(error), error, error.__traceback__)
    _check_failed(error)


def _check_failed(error: BaseException) -> None:
    file, line = _place_of(error)
    status = errors.status_of(error)
    flush()
    _ffi.lib.jd_fail_with(status, b'%s', _plain(_sentence(error)))
    _ffi.lib.jd_check_failed(status, b'uncaught exception', _plain(file), line)


def _plain(text: str) -> bytes:
    return text.replace('\0', ' ').encode(errors='replace')


# ---- what nobody catches ---------------------------------------------------


class _Hook:
    """sys.excepthook while this process is in a job."""

    def __init__(self) -> None:
        self.pid = 0
        self.previous: Callable | None = None

    def install(self) -> None:
        if self.previous is None:
            self.previous, self.pid = sys.excepthook, os.getpid()
            sys.excepthook = self.run

    def remove(self) -> None:
        if self.previous is not None and sys.excepthook == self.run:
            sys.excepthook = self.previous
            self.previous = None

    def run(self, kind: type[BaseException], error: BaseException,
            trace: TracebackType | None) -> None:
        concerns_others = self._concerns_others()
        if not concerns_others or not issubclass(kind, errors.Aborted):
            (self.previous or sys.__excepthook__)(kind, error, trace)
        if concerns_others:
            if issubclass(kind, KeyboardInterrupt):
                _report_interrupt('KeyboardInterrupt (SIGINT)')
            else:
                _check_failed(error)

    # Of Aborted there is no traceback: it is another's failure, in as many
    # processes as the job has, and jd's one line has the program's line.

    def _concerns_others(self) -> bool:
        """Not at a prompt, which goes on, nor in a child of fork(), nor in a
        world of one."""
        at_prompt = hasattr(sys, 'ps1') or sys.flags.interactive
        return (not at_prompt and os.getpid() == self.pid and
                _ffi.lib.jd_process_count() != 1)


def _report_interrupt(text: str) -> bool:
    flush()
    return _ffi.lib.jd_report_error(errors.Cancelled.status,
                                    _plain(text)) == _ffi.OK


# ---- SIGINT in a wait ------------------------------------------------------


class _InterruptWatch:
    """Sees that the main thread is in a call of jd when SIGINT comes.

    Python runs its handler, which raises KeyboardInterrupt, when the call has
    returned. One that waits for others may not for long: then the job is told
    that this process was interrupted, which ends the wait, and the others.
    """

    def __init__(self) -> None:
        self.fd = -1

    def start(self) -> None:
        """Only where SIGINT is Python's and nobody else listens to signals."""
        if (self.fd >= 0 or
                threading.current_thread() is not threading.main_thread() or
                signal.getsignal(signal.SIGINT) is not
                signal.default_int_handler):
            return
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        if before != -1:
            signal.set_wakeup_fd(before, warn_on_full_buffer=False)
            os.close(reader)
            os.close(writer)
            return
        self.fd = writer
        threading.Thread(target=self._watch, args=(reader,), daemon=True,
                         name='jd-interrupts').start()

    def stop(self) -> None:
        if (self.fd < 0 or
                threading.current_thread() is not threading.main_thread()):
            return
        before = signal.set_wakeup_fd(-1)
        if before not in (-1, self.fd):
            signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        os.close(self.fd)  # which ends the thread
        self.fd = -1

    def forget(self) -> None:
        """In a child of fork(): its signals are not its parent's."""
        if self.fd >= 0:
            signal.set_wakeup_fd(-1)
            os.close(self.fd)
            self.fd = -1

    def _watch(self, reader: int) -> None:
        while True:
            signals = os.read(reader, 64)
            if not signals:
                os.close(reader)
                return
            if signal.SIGINT in signals:
                self._end_wait()

    def _end_wait(self) -> None:
        waits = _Wait()
        if not waits.lasts(GRACE):
            return
        text = f'KeyboardInterrupt (SIGINT) in {waits.name}()'
        _report_interrupt(text)
        if waits.lasts(LAST_GRACE):
            flush()
            _ffi.lib.jd_abort(INTERRUPTED, _plain(text))


class _Wait:
    """The call of jd that the main thread is in, if any."""

    def __init__(self) -> None:
        self.frame = self._current()
        self.name = self.frame and self.frame.f_locals.get('name', 'jd')

    def _current(self) -> Any:
        ident = threading.main_thread().ident
        frame = sys._current_frames().get(ident)
        return frame if frame and frame.f_code is _ffi.call.__code__ else None

    def lasts(self, seconds: float) -> bool:
        """Whether it is still the same one after that time."""
        if self.frame is None:
            return False
        threading.Event().wait(seconds)
        return self._current() is self.frame


# ---- together --------------------------------------------------------------

_hook = _Hook()
_watch = _InterruptWatch()


def begin() -> None:
    """Before initialize(): it may fail, or be interrupted, too."""
    _hook.install()
    _watch.start()


def finish() -> None:
    """After shutdown()."""
    _hook.remove()
    _watch.stop()


def _at_exit() -> None:
    """Python ends; jd, and what others wait for, end in C's exit handler."""
    from .coordination import forget_callbacks
    if _ffi.lib.is_loaded():
        forget_callbacks()
    _watch.stop()


os.register_at_fork(after_in_child=_watch.forget)
atexit.register(_at_exit)
