# SPDX-License-Identifier: BSD-3-Clause
"""What tests ask for, and skip without."""
import importlib
import os
import unittest


def imported(name):
    """The module, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def need(name):
    """Skips a class or a test where the module is not there."""
    return unittest.skipUnless(imported(name), f'no {name} here')


def build(path):
    """A program of the build folder."""
    return os.path.join(os.environ['TEST_BUILD'], path)
