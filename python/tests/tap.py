#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs tests of unittest and prints the Test Anything Protocol.

usage: tap.py FILE...
"""
import importlib.util
import os
import sys
import unittest


class TapResult(unittest.TestResult):
    """One line for each test; what went wrong as comments below it."""

    count = 0

    def _print(self, test, word, rest='', text=''):
        TapResult.count += 1
        name = test.id().split('.', 1)[-1]
        print(f'{word} {TapResult.count} - {name}{rest}')
        for line in text.splitlines():
            print('# ' + line)
        sys.stdout.flush()

    def addSuccess(self, test):
        self._print(test, 'ok')

    def addSkip(self, test, reason):
        self._print(test, 'ok', f' # SKIP {reason}')

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._print(test, 'not ok', text=self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._print(test, 'not ok', text=self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._print(subtest, 'not ok',
                        text=(self.failures + self.errors)[-1][1])


def load(path):
    """The module of a file, whose folder it may import from."""
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main(paths):
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    result = TapResult()
    loader = unittest.TestLoader()
    for path in paths:
        loader.loadTestsFromModule(load(path)).run(result)
    print(f'1..{TapResult.count}')
    return 0 if result.wasSuccessful() else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
