#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts what meson's testlog.json files say.

Each result of a TAP test counts, or the test itself where it has none; a test
that failed without a failed result of its own (a crash, a time limit) counts
as one failure. Prints each skip with its reason and each failure with its
name, and last "N passed, N failed, N skipped"; fails where one failed.
"""
import argparse
import collections
import json
import os
import re
import sys

RESULT = re.compile(r'^(not )?ok\b\s*\d*\s*-?\s*([^#]*)(#.*)?$')
SKIP_ALL = re.compile(r'^1\.\.0\s*#\s*skip\S*\s*(.*)$', re.IGNORECASE)
SKIP = re.compile(r'#\s*skip\S*\s*(.*)$', re.IGNORECASE)
NESTED_OK = re.compile(r'^#\s*ok\b\s*\d+')
FIRST_LINES = 10
LAST_LINES = 30
# What is never cut out: the library's last words, and the runners'.
WORDS = re.compile(r'\bjd \d+/\d+ \S+ error |^[#\s]*(not ok|no line|no \')')


class Tally:
    def __init__(self):
        self.passed = 0
        self.failures = []  # lists of lines, the name first
        self.skips = collections.Counter()

    def skip(self, name, reason):
        self.skips[f'{name}: {reason or "no reason given"}'] += 1

    def add_tap_line(self, name, line):
        """Counts one line; gives 1 for a result, 0 for anything else."""
        skip_all = SKIP_ALL.match(line)
        result = RESULT.match(line)
        if skip_all:
            self.skip(name, skip_all.group(1))
        elif not result:
            return 0
        else:
            title = f'{name}: {result.group(2).strip()}'
            skip = SKIP.match(result.group(3) or '')
            if skip:
                self.skip(title, skip.group(1))
            elif result.group(1):
                self.failures.append([title])
            else:
                self.passed += 1
        return 1

    def add_tap(self, name, output):
        """Counts the results in a test's output; gives (results, failed).
        What a failed result says of itself is the comment below it."""
        results = 0
        failed_before = len(self.failures)
        after_failure = False
        for line in output.splitlines():
            failed = len(self.failures)
            if self.add_tap_line(name, line):
                results += 1
                after_failure = len(self.failures) > failed
            elif after_failure and line.startswith('#'):
                self.failures[-1].append(line)
        return results, len(self.failures) - failed_before

    def add_test(self, build, test):
        name = f'{build}: {test["name"].split(":", 1)[-1]}'
        output = test.get('stdout') or ''
        errors = test.get('stderr') or ''
        state = test['result']
        results, failed = self.add_tap(name, output)
        if state in ('OK', 'SKIP', 'EXPECTEDFAIL'):
            if results == 0 and state == 'SKIP':
                lines = (output + errors).split('\n')
                self.skip(name, next(filter(None, reversed(lines)), ''))
            elif results == 0:
                self.passed += 1
        elif failed == 0:
            self.failures.append([f'{name}: {state.lower()}'] +
                                 (output + errors).splitlines())


def shortened(lines):
    """Without what passed in a runner of its own: that hid what had not."""
    lines = [line for line in lines if not NESTED_OK.match(line)]
    if len(lines) <= FIRST_LINES + LAST_LINES:
        return lines
    cut = lines[FIRST_LINES:-LAST_LINES]
    words = [line for line in cut if WORDS.search(line)]
    if len(words) < len(cut):
        words = words[-LAST_LINES:] + ['...']
    return lines[:FIRST_LINES] + words + lines[-LAST_LINES:]


def build_of(path):
    return os.path.basename(os.path.dirname(os.path.dirname(path)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--failed', action='append', default=[],
                        help='what failed before it had tests')
    parser.add_argument('--skipped', action='append', default=[],
                        help='NAME: REASON of what was left out')
    parser.add_argument('log', nargs='*', help='a testlog.json')
    arguments = parser.parse_args()

    tally = Tally()
    tally.failures += [[text] for text in arguments.failed]
    for skip in arguments.skipped:
        tally.skip(*skip.split(': ', 1))
    for path in arguments.log:
        with open(path, encoding='utf-8') as log:
            for line in log:
                tally.add_test(build_of(path), json.loads(line))

    for text, times in tally.skips.items():
        print(f'skipped: {text}' + (f' ({times} times)' if times > 1 else ''))
    for title, *lines in tally.failures:
        print('failed:', title)
        for line in shortened(lines):
            print('   ', line)
    print(f'{tally.passed} passed, {len(tally.failures)} failed, '
          f'{sum(tally.skips.values())} skipped')
    return 1 if tally.failures or tally.passed == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
