# SPDX-License-Identifier: BSD-3-Clause
"""A class for each status of jd_status.h, with jd's sentence as its text.

    try:
        jd.wait_at_barrier("loaded", timeout=5)
    except jd.DeadlineExceeded as error:
        print(error)    # names every process that is missing
"""
from __future__ import annotations


class Error(Exception):
    """What a call of jd failed with; ``status`` is jd_status's number."""

    status = 2


class Cancelled(Error):
    """The call was cancelled by its caller."""

    status = 1


class Unknown(Error):
    """An error of unknown kind."""

    status = 2


class InvalidArgument(Error, ValueError):
    """An argument, option or variable is wrong."""

    status = 3


class DeadlineExceeded(Error, TimeoutError):
    """The deadline passed first."""

    status = 4


class NotFound(Error, LookupError):
    """What was asked for does not exist."""

    status = 5


class AlreadyExists(Error):
    """What was to be made exists already."""

    status = 6


class PermissionDenied(Error):
    """The caller may not do this."""

    status = 7


class ResourceExhausted(Error):
    """Memory or another resource has run out."""

    status = 8


class FailedPrecondition(Error):
    """The job is not in a state that allows this."""

    status = 9


class Aborted(Error):
    """The operation was aborted, here or by a peer."""

    status = 10


class OutOfRange(Error):
    """Past the valid range."""

    status = 11


class Unimplemented(Error, NotImplementedError):
    """Not supported by this version or platform."""

    status = 12


class Internal(Error):
    """An invariant of jd or of a library below it broke."""

    status = 13


class Unavailable(Error):
    """A peer or service cannot be reached."""

    status = 14


class DataLoss(Error):
    """Data was lost or damaged."""

    status = 15


class Unauthenticated(Error):
    """The peer did not prove who it is."""

    status = 16


CLASSES = {kind.status: kind for kind in (
    Cancelled, Unknown, InvalidArgument, DeadlineExceeded, NotFound,
    AlreadyExists, PermissionDenied, ResourceExhausted, FailedPrecondition,
    Aborted, OutOfRange, Unimplemented, Internal, Unavailable, DataLoss,
    Unauthenticated)}


def make_error(status: int, sentence: str) -> Error:
    """The exception of a status, UNKNOWN's where this version has no class."""
    return CLASSES.get(status, Unknown)(sentence)


def status_of(error: BaseException) -> int:
    """What jd is told of an exception: its own status, else UNKNOWN."""
    return error.status if isinstance(error, Error) else Unknown.status
